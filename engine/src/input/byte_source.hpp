// The bytes of a source that can only be read in order, once; decompressed on the way.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/error.hpp>

#include "base/bytes.hpp"
#include "input/decode_ahead.hpp"
#include "input/decoder.hpp"
#include "os/input_descriptor.hpp"

namespace gristmill::input {

// Threads: one at a time. read() never blocks, but for a disk.
class ByteSource {
  public:
    enum class Got : std::uint8_t {
        bytes,
        nothing_yet, // wait for fd()
        end,
        failed // see failure(); all that came before has been given
    };
    struct Read {
        Got got = Got::end;
        std::uint64_t bytes = 0;
    };

    // `buffered`: bytes that come before what the descriptor gives. `name`: for people.
    ByteSource(os::InputDescriptor input, std::string buffered, std::string name);
    // A file that is not compressed, of so many bytes: growth is ignored, shrinking is a failure.
    static ByteSource of_file(os::InputDescriptor input, std::uint64_t file_bytes,
                              std::string name);

    // From now on it is decoded by a thread of its own, about so many bytes ahead. For files only: they
    // never keep anybody waiting. Errors: ErrorKind::system; then nothing has changed.
    Result<void> decode_ahead(std::uint64_t bytes_max);

    // As much as there is, up to the room, which is not empty.
    Read read(std::span<std::byte> room);

    int fd() const { return ahead_ ? ahead_->fd() : input_.fd(); }
    // Are bytes read by system calls only? What is decoded is stored.
    bool plain() const { return !ahead_ && detected_ && !decoder_ && head_given_ == head_.size(); }
    const Error &failure() const { return *failure_; }

  private:
    Read read_raw(std::span<std::byte> room);
    Read detect_compression();
    Read read_decoded(std::span<std::byte> room);
    Read fail(Error error);

    Read read_ahead(std::span<std::byte> room);

    os::InputDescriptor input_;
    std::string name_;
    std::vector<std::byte> head_; // read, and not given yet
    std::uint64_t head_given_ = 0;
    bool detected_ = false;
    bool raw_ended_ = false;
    std::unique_ptr<Decoder> decoder_; // none: the bytes are what they are
    std::uint64_t raw_bytes_ = 0;
    std::optional<std::uint64_t> file_bytes_; // where it ends, if that is known
    std::optional<Error> failure_;
    std::unique_ptr<DecodeAhead> ahead_; // has all but the name
};

} // namespace gristmill::input
