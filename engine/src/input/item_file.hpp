// Items of a language binding, on their way to the workers: a file in memory whose beginning is given
// back as batches are retired.
#pragma once

#include <cstdint>
#include <string_view>

#include <gristmill/error.hpp>

#include "os/unique_fd.hpp"
#include "store/output_ring.hpp"

namespace gristmill::input {

// Threads: the coordinator's.
// Owns:    the file.
class ItemFile {
  public:
    static Result<ItemFile> create();

    int fd() const { return fd_.get(); }
    std::uint64_t bytes() const { return end_; } // appended so far

    // ErrorKind::memory.
    Result<void> append(std::string_view frames);

    // Bytes [begin, end) will not be read again.
    void release(std::uint64_t begin, std::uint64_t end);

  private:
    os::UniqueFd fd_;
    std::uint64_t end_ = 0;
    std::uint64_t punched_ = 0; // bytes below have no memory
    store::ReleasedPrefix released_;
};

} // namespace gristmill::input
