// With zlib, where ISA-L is not to be had.
#include "input/inflater.hpp"

#include <algorithm>
#include <array>
#include <new>

#include <zlib.h>

namespace gristmill::input {

namespace {
constexpr std::size_t kPieceBytes = std::size_t{1} << 30; // sizes of zlib have 32 bits
constexpr int kRawWindow = -15;                           // 32 KiB, no header
} // namespace

struct Inflater::State {
    z_stream zlib{};
    bool body_ended = false;
    std::uint32_t checksum = 0;
    std::uint32_t bytes = 0; // modulo 2^32, as in the trailer
    std::array<std::byte, 8> trailer{};
    std::size_t trailer_bytes = 0;

    ~State() { inflateEnd(&zlib); }
    Step inflate_body(ByteView input, std::span<std::byte> output) noexcept;
    Step read_trailer(ByteView input) noexcept;
};

Inflater::Inflater() : state_(std::make_unique<State>()) {
    if (inflateInit2(&state_->zlib, kRawWindow) != Z_OK)
        throw std::bad_alloc();
}

Inflater::~Inflater() = default;

void Inflater::restart() noexcept {
    inflateReset(&state_->zlib);
    state_->body_ended = false;
    state_->checksum = 0;
    state_->bytes = 0;
    state_->trailer_bytes = 0;
}

Inflater::Step Inflater::step(ByteView input, std::span<std::byte> output) noexcept {
    return state_->body_ended ? state_->read_trailer(input) : state_->inflate_body(input, output);
}

Inflater::Step Inflater::State::inflate_body(ByteView input, std::span<std::byte> output) noexcept {
    const std::size_t given = std::min(input.size(), kPieceBytes);
    const std::size_t room = std::min(output.size(), kPieceBytes);
    // It does not write to what it reads.
    zlib.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(input.data()));
    zlib.avail_in = static_cast<uInt>(given);
    zlib.next_out = reinterpret_cast<Bytef *>(output.data());
    zlib.avail_out = static_cast<uInt>(room);
    const int status = inflate(&zlib, Z_NO_FLUSH);
    Step step{given - zlib.avail_in, room - zlib.avail_out, Status::going};
    checksum = static_cast<std::uint32_t>(
        crc32_z(checksum, reinterpret_cast<const Bytef *>(output.data()), step.produced));
    bytes += static_cast<std::uint32_t>(step.produced);
    body_ended = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        step.status = Status::damaged; // what it produced in this call is in its place
    return step;
}

Inflater::Step Inflater::State::read_trailer(ByteView input) noexcept {
    const std::size_t taken = std::min(input.size(), trailer.size() - trailer_bytes);
    std::copy_n(input.begin(), taken, trailer.begin() + static_cast<std::ptrdiff_t>(trailer_bytes));
    trailer_bytes += taken;
    Step step{taken, 0, Status::going};
    if (trailer_bytes < trailer.size())
        return step;
    const auto number = [this](std::size_t at) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < sizeof value; ++i)
            value |= std::to_integer<std::uint32_t>(trailer[at + i]) << (8 * i);
        return value;
    };
    step.status = number(0) == checksum && number(4) == bytes ? Status::ended : Status::mismatch;
    return step;
}

} // namespace gristmill::input
