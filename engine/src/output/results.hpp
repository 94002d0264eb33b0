// What stands behind the public Results.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <gristmill/engine.hpp>

#include "store/collection.hpp"

namespace gristmill {

// Threads: any, once made; the offset tables grow under the mutex.
// Owns:    the memory that the batches lie in.
struct Results::State {
    std::vector<store::Chunks> chunks;
    std::vector<OutputBatch> batches;
    std::vector<std::uint64_t> first_record; // of batches[i]; one more at the end
    Framing framing;
    bool ends_without_delimiter = false;
    std::uint64_t byte_size = 0;
    Report report;
    std::vector<RecordFailure> errors;

    std::mutex mutex;
    // Where the records of batches[i] begin, made when first asked for.
    std::vector<std::unique_ptr<std::vector<std::uint64_t>>> offsets;

    // Completes what follows from `batches` and `framing`.
    void index();
};

} // namespace gristmill
