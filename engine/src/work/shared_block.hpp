// The memory that an engine shares with its workers: the run state, and behind it the table of open
// sources.
#pragma once

#include <cstdint>
#include <span>

#include <gristmill/topology.hpp>

#include "os/memory.hpp"
#include "record/source_table.hpp"
#include "work/worker_loop.hpp"

namespace gristmill::work {

inline record::SourceTable sources_in(RunState state) {
    const auto &h = state.header();
    std::byte *at =
        state.block() + round_up(RunState::block_bytes(h.workers, h.nodes, h.capacity), 128);
    return record::SourceTable(
        {reinterpret_cast<record::OpenSource *>(at), record::kSourceSlotsMax});
}

// Owns: the memory, and the descriptor by which other processes map it.
class SharedBlock {
  public:
    // For the workers of a plan; one, when the caller does the work.
    static Result<SharedBlock> create(const Plan &plan);
    // That of another process.
    static Result<SharedBlock> attach(int fd);

    int fd() const { return fd_.get(); }
    RunState state() const { return RunState(mapping_.data()); }

  private:
    os::UniqueFd fd_;
    os::Mapping mapping_;
};

} // namespace gristmill::work
