// What a worker sees of the spool: input that is used where ingress has put it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "os/memory.hpp"

namespace gristmill::record {

// Windows of one file in memory, each mapped when it is first needed, read-only. The pages of a slot
// that is filled again stay mapped, so a batch costs no system call and no page fault.
//
// Threads: one.
// Owns:    the mappings, as long as this.
class SpoolWindows {
  public:
    // Where bytes [offset, offset + bytes) of the file lie; GM_BATCH_PADDING readable bytes follow, as
    // the spool leaves them in each slot. nullptr: the range is too long for a window, or there is
    // no address space (where that is limited it is left to the payload); then it must be read.
    const std::byte *find(int fd, std::uint64_t offset, std::uint64_t bytes);

  private:
    std::vector<os::Mapping> windows_; // by number
    bool refused_ = !os::address_space_unlimited();
};

} // namespace gristmill::record
