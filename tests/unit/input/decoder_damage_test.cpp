// Decoders of what is cut, damaged, or goes on with something else: never a crash, never wrong bytes
// without a word, and all that came before.
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "decoding.hpp"
#include "input/decoder.hpp"
#include "packers.hpp"
#include "support/random.hpp"

namespace gristmill::input {
namespace {

using namespace std::string_literals;
using test::decode;
using test::Decoded;
using test::difference;

constexpr std::array kAll = {Compression::gzip, Compression::zstd, Compression::xz,
                             Compression::lz4};

bool says(const Decoded &decoded, std::string_view text) {
    return decoded.error && decoded.error->message.find(text) != std::string::npos;
}

std::string message(const Decoded &decoded) {
    return decoded.error ? decoded.error->message : "no error";
}

bool is_prefix(std::string_view part, std::string_view whole) {
    return whole.substr(0, part.size()) == part;
}

// With every checksum that the format has.
std::string pack_checked(Compression compression, std::string_view data) {
    switch (compression) {
    case Compression::gzip:
        return test::pack_gzip(data, 6, test::full_gzip_header("extra", "a name", "a comment"));
    case Compression::zstd:
        return test::pack_zstd(data);
    case Compression::xz:
        return test::pack_xz(data);
    case Compression::lz4:
        return test::pack_lz4(data);
    case Compression::none:
        break;
    }
    return {};
}

class Damage : public testing::TestWithParam<Compression> {
  protected:
    const std::string first_ = "the first frame, the first frame, the first of all frames\n";
    const std::string second_ = "{\"n\": 12345678}\n{\"n\": 12345679}\n{\"n\": 12345680}\n";
    const std::string packed_first_ = pack_checked(GetParam(), first_);
    const std::string packed_ = packed_first_ + pack_checked(GetParam(), second_);
    const std::string data_ = first_ + second_;
};

TEST_P(Damage, CutAnywhere) {
    for (std::size_t size = 0; size < packed_.size(); ++size) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, packed_.size()}) {
            const Decoded decoded = decode(GetParam(), packed_.substr(0, size), piece, piece);
            ASSERT_TRUE(is_prefix(decoded.bytes, data_)) << size;
            if (size >= packed_first_.size()) {
                ASSERT_TRUE(is_prefix(first_, decoded.bytes)) << size;
            }
            if (size == packed_first_.size()) {
                ASSERT_FALSE(decoded.error) << message(decoded);
                continue;
            }
            ASSERT_TRUE(says(decoded, "ends in the middle (at byte " + std::to_string(size) + ")"))
                << size << ": " << message(decoded);
            ASSERT_EQ(decoded.error->kind, ErrorKind::source);
            ASSERT_EQ(decoded.error->os_errno, EBADMSG);
        }
    }
}

TEST_P(Damage, AnyBitWrong) {
    std::size_t unharmed = 0;
    for (std::size_t bit = 0; bit < packed_.size() * 8; ++bit) {
        std::string packed = packed_;
        packed[bit / 8] = static_cast<char>(packed[bit / 8] ^ 1 << bit % 8);
        for (const std::size_t piece : {std::size_t{1}, std::size_t{64}, packed_.size()}) {
            const Decoded decoded = decode(GetParam(), packed, piece, piece);
            if (!decoded.error) {
                ASSERT_EQ(difference(decoded.bytes, data_), "") << "bit " << bit;
                ++unharmed;
            } else if (bit / 8 >= packed_first_.size()) {
                ASSERT_TRUE(is_prefix(first_, decoded.bytes)) << "bit " << bit;
            }
        }
    }
    EXPECT_LT(unharmed, packed_.size() * 8 / 8) << "of " << packed_.size() * 8 * 3;
}

// Many wrong bytes at once reach what a single bit does not.
TEST_P(Damage, AnythingWrong) {
    const test::SeedRange seeds(3000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        const std::string data = test::some_data(random, random.between(1, 5000));
        std::string packed = pack_checked(GetParam(), data);
        for (std::uint64_t n = random.between(1, 8); n > 0; --n)
            packed[random.below(packed.size())] = static_cast<char>(random.below(256));
        const auto in = test::pieces_up_to(random, std::size_t{1} << random.below(13));
        const auto out = test::pieces_up_to(random, std::size_t{1} << random.below(13));
        const Decoded decoded = decode(GetParam(), packed, in, out);
        if (!decoded.error) {
            ASSERT_EQ(difference(decoded.bytes, data), "") << test::replay(seed);
        }
    }
}

// Damage far behind costs nothing of what lies before it, however large the steps.
TEST_P(Damage, GivesAllThatCameBefore) {
    test::Random random(7);
    std::string data;
    while (data.size() < 3 * kMiB)
        data += "line " + std::to_string(random.next()) + "\n";
    std::string packed = pack_checked(GetParam(), data);
    for (std::size_t i = 0; i < 100; ++i)
        packed[packed.size() * 3 / 4 + i] = static_cast<char>(random.below(256));
    const Decoded small = decode(GetParam(), packed, 1000, 1000);
    const Decoded large = decode(GetParam(), packed, 8 * kMiB, 8 * kMiB);
    const Decoded narrow = decode(GetParam(), packed, 8 * kMiB, 100);
    for (const Decoded *each : {&small, &large, &narrow}) {
        ASSERT_TRUE(says(*each, "stream is damaged")) << message(*each);
        EXPECT_EQ(each->error->os_errno, EBADMSG);
        ASSERT_GE(each->bytes.size(), data.size() * 7 / 10);
        EXPECT_TRUE(is_prefix(each->bytes.substr(0, data.size() * 7 / 10), data));
        EXPECT_EQ(difference(each->bytes, small.bytes), "");
    }
}

// A block has been given before the header of the next one is looked at.
TEST(DecodeBlocks, BeforeADamagedHeaderAreGiven) {
    test::Random random(3);
    std::string data;
    while (data.size() < 300 * kKiB)
        data += "line " + std::to_string(random.below(1000)) + "\n";
    const auto number = [](const std::string &packed, std::size_t at, std::size_t bytes) {
        std::size_t value = 0;
        std::memcpy(&value, packed.data() + at, bytes);
        return value;
    };
    std::string zstd = test::pack_zstd(data, 1, true, 0, false);
    zstd[6 + 3 + (number(zstd, 6, 3) >> 3)] = 6; // a block of a kind that is not defined
    std::string lz4 = test::pack_lz4(data, false);
    lz4.replace(7 + 4 + number(lz4, 7, 4), 4, "\xff\xff\xff\x7f"); // longer than any may be
    for (const std::size_t room : {100ul, 999ul, 64 * kKiB, kMiB}) {
        const Decoded from_zstd = decode(Compression::zstd, zstd, kMiB, room);
        EXPECT_TRUE(says(from_zstd, "stream is damaged")) << message(from_zstd);
        EXPECT_EQ(difference(from_zstd.bytes, data.substr(0, 128 * kKiB)), "") << room;
        const Decoded from_lz4 = decode(Compression::lz4, lz4, kMiB, room);
        EXPECT_TRUE(says(from_lz4, "stream is damaged")) << message(from_lz4);
        EXPECT_EQ(difference(from_lz4.bytes, data.substr(0, 64 * kKiB)), "") << room;
    }
}

TEST(DecodeFrames, SayWhichOneHasTheWrongChecksum) {
    for (const Compression each : {Compression::gzip, Compression::zstd, Compression::lz4}) {
        std::string packed = pack_checked(each, "first");
        const std::string end = std::to_string(packed.size());
        // It is last, but for the length in gzip.
        packed[packed.size() - (each == Compression::gzip ? 8 : 4)] ^= 1;
        packed += pack_checked(each, "second");
        for (const std::size_t piece : {std::size_t{1}, packed.size()}) {
            const Decoded decoded = decode(each, packed, piece, kMiB);
            EXPECT_EQ(decoded.bytes, "first");
            EXPECT_TRUE(says(decoded, "that ends at byte " + end + " does not match"))
                << message(decoded);
        }
    }
}

TEST_P(Damage, SomethingElseBehindTheEnd) {
    const bool padded = GetParam() == Compression::gzip || GetParam() == Compression::xz;
    for (const std::string &garbage : {"x"s, "garbage"s, std::string(100000, 'g'), "\x1f"s + "x"s,
                                       "\x28\x2a\x4d\x18"s, padded ? "\0\0\0\0x"s : "\0"s}) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, kMiB}) {
            const Decoded decoded = decode(GetParam(), packed_ + garbage, piece, kMiB);
            EXPECT_EQ(decoded.bytes, data_);
            const std::size_t at = packed_.size() + (padded && garbage[0] == '\0' ? 4 : 0);
            EXPECT_TRUE(says(decoded, "at byte " + std::to_string(at) + ", is no other one"))
                << message(decoded);
            EXPECT_EQ(decoded.error->os_errno, EBADMSG);
        }
    }
}

TEST_P(Damage, SomethingElseFromTheBeginning) {
    for (const std::string_view other : {"plain text", "\x1f\x8c", "\x28\xb5\x2f\xfe"}) {
        const Decoded decoded = decode(GetParam(), other);
        EXPECT_TRUE(says(decoded, "what begins at byte 0 is no ")) << message(decoded);
    }
}

INSTANTIATE_TEST_SUITE_P(Decoder, Damage, testing::ValuesIn(kAll),
                         [](const auto &each) { return std::string(name_of(each.param)); });

TEST(DecodeGzip, ZerosBehindTheLastMemberArePadding) {
    const std::string member = test::pack_gzip("data");
    for (const std::size_t zeros : {1, 2, 511, 100000}) {
        const Decoded decoded = decode(Compression::gzip, member + std::string(zeros, '\0'), 1000, 10);
        EXPECT_FALSE(decoded.error) << message(decoded);
        EXPECT_EQ(decoded.bytes, "data");
    }
    const Decoded decoded = decode(Compression::gzip, member + std::string(10, '\0') + member);
    EXPECT_EQ(decoded.bytes, "data"); // gzip(1) would ignore the rest; we do not lose it silently
    EXPECT_TRUE(says(decoded, "at byte " + std::to_string(member.size() + 10))) << message(decoded);
}

TEST(DecodeGzip, NamesWhatIsWrong) {
    const std::string good = test::pack_gzip("data", 6, test::full_gzip_header("e", "n", "c"));
    const auto with = [&good](std::size_t at, char byte) {
        std::string bad = good;
        bad[at] = byte;
        return decode(Compression::gzip, bad);
    };
    EXPECT_TRUE(says(with(2, 9), "at byte 2: the header names an unknown method of compression"));
    EXPECT_TRUE(says(with(3, '\x3f'), "at byte 3: the header has flags that mean nothing"));
    EXPECT_TRUE(says(with(4, 'x'), "the checksum of the header does not match"));
    EXPECT_TRUE(says(with(good.size() - 8, 'x'), "of the member that ends at byte"));
    EXPECT_TRUE(says(with(good.size() - 1, 'x'), "of the member that ends at byte"));
    EXPECT_EQ(with(good.size() - 1, 'x').bytes, "data");
}

TEST(DecodeGzip, DoesNotMindTimesAndSystems) {
    std::string packed = test::pack_gzip("data");
    for (std::size_t at = 4; at < 10; ++at)
        packed[at] = '\x55';
    const Decoded decoded = decode(Compression::gzip, packed);
    EXPECT_FALSE(decoded.error) << message(decoded);
    EXPECT_EQ(decoded.bytes, "data");
}

TEST(DecodeXz, PaddingComesInFours) {
    const std::string stream = test::pack_xz("data");
    const Decoded good = decode(Compression::xz, stream + std::string(8, '\0') + stream, 5, 3);
    EXPECT_FALSE(good.error) << message(good);
    EXPECT_EQ(good.bytes, "datadata");
    for (const std::string &rest : {""s, stream}) {
        const Decoded bad = decode(Compression::xz, stream + std::string(6, '\0') + rest, 5, 3);
        EXPECT_EQ(bad.bytes, "data");
        EXPECT_TRUE(says(bad, "at byte " + std::to_string(stream.size()) + " has 6 bytes"))
            << message(bad);
    }
}

// A block header that asks for a dictionary of 4 GiB, with its checksum put right.
TEST(DecodeXz, HasALimitOfMemory) {
    std::string packed = test::pack_xz("data");
    constexpr std::size_t header = 12;
    const std::size_t header_bytes = (static_cast<unsigned char>(packed[header]) + 1u) * 4;
    const std::size_t filter = packed.find("\x21\x01", header);
    ASSERT_LT(filter, header + header_bytes);
    packed[filter + 2] = 40;
    const std::uint32_t crc = lzma_crc32(
        reinterpret_cast<const std::uint8_t *>(packed.data()) + header, header_bytes - 4, 0);
    std::memcpy(packed.data() + header + header_bytes - 4, &crc, sizeof crc);
    const Decoded decoded = decode(Compression::xz, packed);
    EXPECT_TRUE(says(decoded, "MiB of memory, the limit is 1024 MiB")) << message(decoded);
    EXPECT_EQ(decoded.error->os_errno, ENOMEM);
    EXPECT_EQ(decoded.error->kind, ErrorKind::source);
}

// One raw block, "data", in a frame with a window of 2^log bytes.
std::string zstd_with_window(int log) {
    return "\x28\xb5\x2f\xfd"s + '\0' + static_cast<char>((log - 10) << 3) + "\x21\0\0data"s;
}

TEST(DecodeZstd, TakesWindowsOfTwoGibibytes) {
    const Decoded good = decode(Compression::zstd, zstd_with_window(31));
    EXPECT_FALSE(good.error) << message(good);
    EXPECT_EQ(good.bytes, "data");
    const Decoded bad = decode(Compression::zstd, zstd_with_window(32));
    EXPECT_TRUE(says(bad, "larger than the limit of 2 GiB")) << message(bad);
    EXPECT_EQ(bad.error->os_errno, ENOMEM);
}

TEST(DecodeZstd, SaysThatItHasNoDictionary) {
    const Decoded decoded =
        decode(Compression::zstd, "\x28\xb5\x2f\xfd\x01\x58\x07\x21\0\0data"s);
    EXPECT_TRUE(says(decoded, "needs a dictionary")) << message(decoded);
    EXPECT_EQ(decoded.error->os_errno, EOPNOTSUPP);
}

TEST(DecodeZstd, SkippableFramesAloneAreNoData) {
    const Decoded decoded = decode(Compression::zstd, test::skippable_frame("what is skipped"), 3, 3);
    EXPECT_TRUE(!decoded.error && decoded.bytes.empty()) << message(decoded);
}

} // namespace
} // namespace gristmill::input
