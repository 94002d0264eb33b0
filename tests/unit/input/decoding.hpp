// Feeding a decoder in pieces of any size, and data to feed it with.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "input/decoder.hpp"
#include "support/random.hpp"

namespace gristmill::test {

struct Decoded {
    std::string bytes;
    std::optional<Error> error;
    std::vector<std::uint64_t> frame_ends; // offsets in the compressed data
};

using Pieces = std::function<std::size_t()>; // the size of the next piece

inline Pieces pieces_of(std::size_t size) {
    return [size] { return size; };
}
inline Pieces pieces_up_to(Random &random, std::size_t most) {
    return [&random, most] { return random.between(1, most); };
}

// It is said once and for all.
inline void expect_final(input::Decoder &decoder, const Error &error) {
    std::byte room{};
    const auto again = decoder.decode({}, {&room, 1});
    EXPECT_TRUE(!again && again.error().message == error.message);
    EXPECT_FALSE(decoder.finish().ok());
}

// Takes the decoder's contract at its word. Buffers are of exact size, so that a sanitizer sees
// whoever leaves them.
inline Decoded decode(input::Compression compression, std::string_view packed, const Pieces &in,
                      const Pieces &out) {
    Decoded decoded;
    auto decoder = input::make_decoder(compression);
    if (!decoder)
        throw std::runtime_error(decoder.error().message);
    std::vector<std::byte> piece;
    ByteView pending;
    for (std::size_t at = 0;;) {
        std::vector<std::byte> room(out());
        auto step = (*decoder)->decode(pending, room);
        if (!step) {
            decoded.error = step.error();
            expect_final(**decoder, step.error());
            return decoded;
        }
        EXPECT_LE(step->consumed, pending.size());
        EXPECT_LE(step->produced, room.size());
        decoded.bytes.append(reinterpret_cast<const char *>(room.data()), step->produced);
        pending = pending.subspan(step->consumed);
        EXPECT_EQ((*decoder)->position(), at - pending.size());
        if (step->frame_ended)
            decoded.frame_ends.push_back((*decoder)->position());
        if (step->consumed + step->produced > 0)
            continue;
        if (!pending.empty()) {
            ADD_FAILURE() << "no progress at byte " << (*decoder)->position();
            return decoded;
        }
        if (at == packed.size())
            break;
        const ByteView next = bytes_of(packed.substr(at, in()));
        piece.assign(next.begin(), next.end());
        piece.shrink_to_fit();
        pending = piece;
        at += piece.size();
    }
    if (const auto finished = (*decoder)->finish(); !finished)
        decoded.error = finished.error();
    return decoded;
}

inline Decoded decode(input::Compression compression, std::string_view packed,
                      std::size_t in = std::size_t{1} << 16, std::size_t out = std::size_t{1} << 16) {
    return decode(compression, packed, pieces_of(in), pieces_of(out));
}

// Lines that compress, bytes that do not, runs, or a mixture of them.
inline std::string some_data(Random &random, std::size_t size) {
    std::string data;
    while (data.size() < size) {
        const std::size_t part = random.between(1, 20000);
        switch (random.below(3)) {
        case 0:
            for (const std::size_t end = data.size() + part; data.size() < end;)
                data += R"({"id": )" + std::to_string(random.below(100000)) +
                        R"(, "text": "what is written here is written again"})" + "\n";
            break;
        case 1:
            for (std::size_t i = 0; i < part; ++i)
                data += static_cast<char>(random.below(256));
            break;
        default:
            data.append(part, static_cast<char>(random.below(256)));
        }
    }
    data.resize(size);
    return data;
}

// Where two texts part, for messages that nobody has to scroll.
inline std::string difference(std::string_view got, std::string_view expected) {
    if (got == expected)
        return {};
    const auto at = std::mismatch(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                 got.size(), expected.size())),
                                  expected.begin());
    return std::to_string(got.size()) + " bytes instead of " + std::to_string(expected.size()) +
           ", the same up to byte " + std::to_string(at.first - got.begin());
}

} // namespace gristmill::test
