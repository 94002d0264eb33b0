// Decodes a compressed file before its turn, in a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include <gristmill/error.hpp>

#include "base/bytes.hpp"
#include "os/input_descriptor.hpp"
#include "os/thread.hpp"

namespace gristmill::input {

class ByteSource;

// Threads: read() by one; the decoding one is its own.
// Owns:    the thread, and what it has decoded and nobody has taken.
class DecodeAhead {
  public:
    // Takes the source, which is a file, and never says that there is nothing yet. No more than about
    // `bytes_max` wait to be taken. Errors: ErrorKind::system; then the source is given back.
    static Result<std::unique_ptr<DecodeAhead>> start(std::unique_ptr<ByteSource> &source,
                                                      std::uint64_t bytes_max);
    DecodeAhead(const DecodeAhead &) = delete;
    DecodeAhead &operator=(const DecodeAhead &) = delete;
    ~DecodeAhead();

    enum class Got : std::uint8_t { bytes, nothing_yet, end, failed };
    struct Read {
        Got got = Got::end;
        std::uint64_t bytes = 0;
    };
    Read read(std::span<std::byte> room);
    // Can be read when read() has something to give.
    int fd() const { return ready_.fd(); }
    // After Got::failed.
    const Error &failure() const { return *failure_; }

  private:
    DecodeAhead(std::unique_ptr<ByteSource> source, std::uint64_t bytes_max,
                os::WakeDescriptor ready);
    void run();
    Result<std::uint64_t> decode(std::span<std::byte> room);

    std::unique_ptr<ByteSource> source_; // the thread's
    const std::uint64_t bytes_max_;

    std::mutex mutex_; // guards what follows
    std::condition_variable taken_;
    os::WakeDescriptor ready_; // signalled while there is something to give
    std::deque<std::vector<std::byte>> blocks_;
    std::uint64_t given_ = 0; // of the first block
    std::uint64_t bytes_ = 0; // in all of them
    std::optional<Error> failure_;
    bool ended_ = false;
    bool stopping_ = false;

    std::optional<os::Thread> thread_; // last: it uses all the others
};

} // namespace gristmill::input
