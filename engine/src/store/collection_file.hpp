// Output that map() keeps, from a worker in another process: appended to a file in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include <gristmill/error.hpp>

#include "os/memory.hpp"
#include "store/output_area.hpp"
#include "store/warm_file.hpp"

namespace gristmill::store {

// No batch crosses a border of windows, unless it begins at one: so each can be mapped on its own.
inline constexpr std::uint64_t kCollectionWindowBytes = std::uint64_t{64} << 20;

// The caller's side: owns the file, and what is mapped of it.
//
// Threads: one at a time.
class CollectionFile {
  public:
    static Result<CollectionFile> create();

    std::uint64_t id() const { return id_; } // of no other file of this process
    int fd() const { return fd_.get(); }
    // Those bytes, mapped; nullptr when they do not lie in the file, or cannot be mapped.
    const std::byte *at(std::uint64_t offset, std::uint64_t bytes);
    // Gives the descriptor back; what is mapped stays.
    void close() { fd_.reset(); }
    bool is_open() const { return fd_.valid(); }
    std::uint64_t bytes() const { return kept_bytes_; } // that have memory, as of shorten()
    // Gives the memory behind the first `bytes` back. Nothing in the file matters any more.
    void shorten(std::uint64_t bytes);

    bool counted = false; // by whoever limits the descriptors that are open

  private:
    std::uint64_t id_ = 0;
    os::UniqueFd fd_;
    std::uint64_t kept_bytes_ = 0;
    std::map<std::uint64_t, os::Mapping> windows_; // by offset
};

// The worker's side. A batch is written in place where the file has memory already, otherwise to a
// warm private buffer, and appended as a whole.
//
// Threads: the worker's.
class CollectionFileArea final : public OutputArea {
  public:
    // `start`: where to go on in the file, which outlives this.
    CollectionFileArea(WarmFile &file, std::uint64_t start) : file_(file), position_(start) {}

    bool has_room() override { return true; }
    OutputLocation finish(const OutputTail &tail) override;

  protected:
    bool grow(std::uint64_t bytes) override;

  private:
    // Where a batch with so many bytes begins.
    std::uint64_t begin_of(std::uint64_t bytes) const;
    void use(std::byte *data, std::uint64_t bytes);

    WarmFile &file_;
    std::uint64_t position_;     // in the file, behind the last batch
    bool in_place_ = false;      // the batch in hand lies in the file, at begin_
    std::uint64_t begin_ = 0;
    os::Mapping buffer_;
};

} // namespace gristmill::store
