// Deflate, as it lies in a gzip member. Which library does it is decided when the engine is built:
// inflater_isal.cpp (x86-64) or inflater_zlib.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.hpp"

namespace gristmill::input {

// One gzip member after the other, each from behind its header to the end of the eight bytes
// (checksum and length) that close it, and that are verified.
//
// Threads: one at a time.
// Owns:    the window, about 100 to 200 KiB whatever comes out.
class Inflater {
  public:
    enum class Status : std::uint8_t {
        going,   // more to come, of input or output
        ended,   // the member ends behind what was consumed; all is well
        damaged, // this is not deflate
        mismatch // checksum or length are those of other data
    };
    struct Step {
        std::size_t consumed = 0;
        std::size_t produced = 0;
        Status status = Status::going;
    };

    // Throws std::bad_alloc.
    Inflater();
    Inflater(const Inflater &) = delete;
    Inflater &operator=(const Inflater &) = delete;
    ~Inflater();

    // Begins the next member.
    void restart() noexcept;

    // `damaged` and `mismatch` come when all that was decoded before has been produced.
    Step step(ByteView input, std::span<std::byte> output) noexcept;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace gristmill::input
