// Sources that are read in order, once, and somebody who writes to them.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

#include <gristmill/source.hpp>

#include "support/scratch.hpp"

namespace gristmill::e2e {

enum class Kind : std::uint8_t { file, file_at_offset, pipe, fifo, socket };
inline constexpr Kind kKinds[] = {Kind::file, Kind::file_at_offset, Kind::pipe, Kind::fifo,
                                  Kind::socket};
const char *name_of(Kind kind);

// Writes the bytes in pieces of random length, from a thread of its own, and closes.
class Feeder {
  public:
    // `buffered`: so many bytes are said to have been read already.
    Feeder(Kind kind, const Scratch &scratch, const std::string &bytes, std::uint64_t seed,
           std::size_t buffered = 0);
    Feeder(const Feeder &) = delete;
    Feeder &operator=(const Feeder &) = delete;
    ~Feeder();

    const Source &source() const { return source_; }

  private:
    void feed(int fd, std::string bytes, std::uint64_t seed) const;

    Source source_;
    int reading_ = -1;
    std::thread writer_;
};

} // namespace gristmill::e2e
