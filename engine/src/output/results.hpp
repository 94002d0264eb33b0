// What stands behind the public Results.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <gristmill/engine.hpp>

#include "store/collected.hpp"

namespace gristmill {

// Records are counted when somebody first asks for them: a caller who only writes the results to
// a file does not pay for it.
//
// Threads: any, once made; what is found out later is guarded by `counted` and `mutex`.
// Owns:    the memory that the batches lie in.
struct Results::State {
    store::Collected memory;
    std::vector<OutputBatch> batches; // record_count: set by count()
    Framing framing;
    bool ends_without_delimiter = false;
    Report report; // output_records: set by count()
    std::vector<RecordFailure> errors;

    std::once_flag counted;
    std::vector<std::uint64_t> first_record; // of batches[i]; one more at the end

    std::mutex mutex;
    // Where the records of batches[i] begin, made when first asked for.
    std::vector<std::unique_ptr<std::vector<std::uint64_t>>> offsets;

    // Counts the output records, the first time.
    void count();
    std::uint64_t byte_size() const;
    template <class Take>
    void for_each_piece(Take &&take) const;
};

} // namespace gristmill
