#include "input/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "os/os_error.hpp"

namespace gristmill::input {

namespace {
constexpr std::uint64_t kCompressedBytes = 256 * kKiB; // read at once
} // namespace

ByteSource::ByteSource(os::InputDescriptor input, std::string buffered, std::string name)
    : input_(std::move(input)), name_(std::move(name)) {
    const ByteView bytes = bytes_of(buffered);
    head_.assign(bytes.begin(), bytes.end());
    raw_bytes_ = bytes.size();
}

ByteSource ByteSource::of_file(os::InputDescriptor input, std::uint64_t file_bytes,
                               std::string name) {
    ByteSource source(std::move(input), {}, std::move(name));
    source.detected_ = true;
    source.file_bytes_ = file_bytes;
    return source;
}

Result<void> ByteSource::decode_ahead(std::uint64_t bytes_max) {
    auto source = std::make_unique<ByteSource>(std::move(*this));
    name_ = source->name_;
    Result<std::unique_ptr<DecodeAhead>> ahead = DecodeAhead::start(source, bytes_max);
    if (!ahead) {
        *this = std::move(*source);
        return ahead.error();
    }
    ahead_ = std::move(*ahead);
    return {};
}

ByteSource::Read ByteSource::read_ahead(std::span<std::byte> room) {
    const DecodeAhead::Read read = ahead_->read(room);
    switch (read.got) {
    case DecodeAhead::Got::bytes:
        return {Got::bytes, read.bytes};
    case DecodeAhead::Got::nothing_yet:
        return {Got::nothing_yet, 0};
    case DecodeAhead::Got::end:
        return {Got::end, 0};
    case DecodeAhead::Got::failed:
        break;
    }
    return fail(ahead_->failure());
}

ByteSource::Read ByteSource::read(std::span<std::byte> room) {
    if (ahead_)
        return read_ahead(room);
    if (failure_)
        return {Got::failed, 0};
    if (!detected_)
        if (const Read wait = detect_compression(); !detected_)
            return wait;
    if (decoder_)
        return read_decoded(room);
    if (head_given_ < head_.size()) {
        const std::uint64_t bytes = std::min<std::uint64_t>(room.size(), head_.size() - head_given_);
        std::memcpy(room.data(), head_.data() + head_given_, bytes);
        head_given_ += bytes;
        return {Got::bytes, bytes};
    }
    return read_raw(room);
}

ByteSource::Read ByteSource::read_raw(std::span<std::byte> room) {
    if (file_bytes_) {
        room = room.first(std::min<std::uint64_t>(room.size(), *file_bytes_ - raw_bytes_));
        raw_ended_ = raw_ended_ || room.empty();
    }
    if (raw_ended_)
        return {Got::end, 0};
    const os::InputDescriptor::Read read = input_.read(room);
    switch (read.got) {
    case os::InputDescriptor::Got::bytes:
        raw_bytes_ += read.bytes;
        return {Got::bytes, read.bytes};
    case os::InputDescriptor::Got::nothing_yet:
        return {Got::nothing_yet, 0};
    case os::InputDescriptor::Got::end:
        raw_ended_ = true;
        if (file_bytes_)
            return fail({ErrorKind::source, name_ + " shrank from " + std::to_string(*file_bytes_) +
                                                " to " + std::to_string(raw_bytes_) +
                                                " bytes while it was read"});
        return {Got::end, 0};
    case os::InputDescriptor::Got::failed:
        break;
    }
    if (errno == EFAULT) // the room has no memory
        return fail({ErrorKind::memory, "no memory for input on its way"});
    return fail(os::errno_error(ErrorKind::source, errno,
                                "cannot read " + name_ + " (at byte " +
                                    std::to_string(raw_bytes_) + ")",
                                name_));
}

// Reads until the first bytes tell. Sets detected_, or says why it cannot be known yet.
ByteSource::Read ByteSource::detect_compression() {
    for (;;) {
        if (const auto found = detect(head_, raw_ended_)) {
            detected_ = true;
            if (*found == Compression::none)
                return {};
            Result<std::unique_ptr<Decoder>> made = make_decoder(*found);
            if (!made) {
                detected_ = false;
                return fail(made.error());
            }
            decoder_ = std::move(*made);
            return {};
        }
        const std::uint64_t had = head_.size();
        head_.resize(had + kDetectBytes);
        const Read read = read_raw(std::span(head_).subspan(had));
        head_.resize(had + read.bytes);
        if (read.got == Got::nothing_yet || read.got == Got::failed)
            return read;
    }
}

// Here head_ holds compressed bytes.
ByteSource::Read ByteSource::read_decoded(std::span<std::byte> room) {
    for (;;) {
        const ByteView input = ByteView(head_).subspan(head_given_);
        Result<Decoder::Step> step = decoder_->decode(input, room);
        if (!step) {
            Error error = std::move(step.error());
            error.message = name_ + ": " + error.message;
            error.path = name_;
            return fail(std::move(error));
        }
        head_given_ += step->consumed;
        if (step->produced > 0)
            return {Got::bytes, step->produced};
        if (step->consumed > 0 && head_given_ < head_.size())
            continue;
        const std::uint64_t kept = head_.size() - head_given_;
        std::memmove(head_.data(), head_.data() + head_given_, kept);
        head_given_ = 0;
        head_.resize(kept + kCompressedBytes);
        const Read read = read_raw(std::span(head_).subspan(kept));
        head_.resize(kept + read.bytes);
        if (read.got == Got::end) {
            if (step->consumed > 0)
                continue; // it may still hold something
            Result<void> whole = decoder_->finish();
            if (whole)
                return read;
            Error error = std::move(whole.error());
            error.message = name_ + ": " + error.message;
            error.path = name_;
            return fail(std::move(error));
        }
        if (read.got != Got::bytes)
            return read;
    }
}

ByteSource::Read ByteSource::fail(Error error) {
    failure_ = std::move(error);
    return {Got::failed, 0};
}

} // namespace gristmill::input
