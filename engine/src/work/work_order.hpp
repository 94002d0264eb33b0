// What a run asks of its workers.
#pragma once

#include <cstdint>

#include <gristmill/options.hpp>

#include "record/source_table.hpp"
#include "work/failure_log.hpp"
#include "work/payload.hpp"

namespace gristmill::work {

enum class OutputMode : std::uint8_t { ring, collection };

struct WorkOrder {
    Framing framing{};
    std::uint64_t max_record_bytes = 0;
    std::uint64_t read_bytes = 0; // no single read asks for more; 0: no limit (tests)
    KeepNotes keep_notes = KeepNotes::lowest;
    OutputMode output = OutputMode::ring;
    bool count_output = true; // its records; collected output is counted when somebody asks
    bool keep_lengths = false; // of output records, behind them, where the payload knows them
    // Tries of a whole batch, whose worker dies or whose payload fails it, before its records are
    // fed one at a time.
    std::uint32_t whole_attempts = 3;
    std::uint32_t batches_per_worker = 0; // of a process, before it makes room for another; 0: any
    PayloadFactory *payloads = nullptr;
    const record::OpenSources *sources = nullptr;
};

} // namespace gristmill::work
