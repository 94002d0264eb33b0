// The worker's side of a collection file: writing in place where the file has memory already.
#pragma once

#include <cstdint>
#include <map>

#include "os/memory.hpp"

namespace gristmill::store {

// Appending to fresh pages is cheapest by pwrite; to pages that are there, by storing into them.
// What is mapped stays mapped, so that a worker which gets the file again has no page faults.
//
// Threads: the worker's.
// Owns:    its own descriptor of the file, and mappings of it.
class WarmFile {
  public:
    struct Room {
        std::byte *data = nullptr;
        std::uint64_t bytes = 0;
    };

    WarmFile(std::uint64_t id, os::UniqueFd fd) : id_(id), fd_(std::move(fd)) {}

    std::uint64_t id() const { return id_; }
    int fd() const { return fd_.get(); }
    // The first `bytes` of the file may be written in place in this run.
    void set_warm_bytes(std::uint64_t bytes) { warm_bytes_ = bytes; }
    // Where the bytes at `offset` lie, at least `wanted` of them, all within one window; no room
    // when they are not warm, cross a border of windows, or cannot be mapped.
    Room room(std::uint64_t offset, std::uint64_t wanted);

  private:
    struct Window {
        os::Mapping mapping;
        std::uint64_t begin = 0; // the pages [begin, end) are in the page table
        std::uint64_t end = 0;
    };

    std::uint64_t id_;
    os::UniqueFd fd_;
    std::uint64_t warm_bytes_ = 0;
    std::map<std::uint64_t, Window> windows_; // by offset
};

} // namespace gristmill::store
