// A piece of ordered output: what one batch of input became.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gristmill {

struct OutputBatch {
    std::uint64_t sequence = 0;        // number of the input batch within the run
    std::uint32_t source = 0;          // index of the source
    std::uint64_t byte_offset = 0;     // of the batch within its source
    std::span<const std::byte> data{}; // framed like the input
    std::uint64_t record_count = 0;    // output records in `data`
    // Length of each record in bytes, without what frames it, a u32 of this machine each; empty: the
    // records are found by splitting `data`.
    std::span<const std::byte> lengths{};
    bool ends_open = false;            // the last one lacks its delimiter (GM_BATCH_ENDS_OPEN)
};

} // namespace gristmill
