// Decoders of whole data: whatever the frames, and in whatever pieces they come.
#include <array>
#include <fstream>
#include <string>
#include <unistd.h>

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
using test::pack;

constexpr std::array kAll = {Compression::gzip, Compression::zstd, Compression::xz,
                             Compression::lz4};

std::optional<Compression> detected(std::string_view bytes, bool at_end = true) {
    return detect(bytes_of(bytes), at_end);
}

TEST(Detect, KnowsEachFormatByItsContent) {
    for (const Compression each : kAll) {
        EXPECT_EQ(detected(pack(each, "some data"), false), each) << name_of(each);
        EXPECT_EQ(detected(pack(each, ""), true), each) << name_of(each);
    }
    EXPECT_EQ(detected(test::pack_gzip("x", 6, test::full_gzip_header("e", "n", "c"))),
              Compression::gzip);
    EXPECT_EQ(detected(test::skippable_frame("x", 15)), Compression::zstd);
}

TEST(Detect, TakesNothingElseForCompressed) {
    const std::string gzip = pack(Compression::gzip, "some data");
    EXPECT_EQ(detected(""), Compression::none);
    EXPECT_EQ(detected("{\"a\": 1}\n"), Compression::none);
    EXPECT_EQ(detected("\x1f"), Compression::none);
    EXPECT_EQ(detected("\x1f\x8b"), Compression::none);
    EXPECT_EQ(detected(gzip.substr(0, kDetectBytes - 1)), Compression::none);
    EXPECT_EQ(detected(gzip.substr(0, kDetectBytes)), Compression::gzip);
    for (const int bit : {5, 6, 7}) {
        std::string flags = gzip;
        flags[3] = static_cast<char>(1 << bit);
        EXPECT_EQ(detected(flags), Compression::none) << bit;
    }
    std::string method = gzip;
    method[2] = 7;
    EXPECT_EQ(detected(method), Compression::none);
    EXPECT_EQ(detected("\x28\xb5\x2f"), Compression::none);
    EXPECT_EQ(detected("\xfd"s + "7zXZ\n"), Compression::none);
}

// Nobody waits for a second byte when the first one says it all, nor decides on too few.
TEST(Detect, AsksForMoreOnlyWhileItMatters) {
    for (const Compression each : kAll) {
        const std::string packed = pack(each, "some data");
        const std::size_t needed = each == Compression::gzip ? 10 : each == Compression::xz ? 6 : 4;
        for (std::size_t size = 0; size < needed; ++size) {
            EXPECT_EQ(detected(packed.substr(0, size), false), std::nullopt) << name_of(each) << size;
            EXPECT_EQ(detected(packed.substr(0, size) + "#", false), Compression::none);
            if (each == Compression::gzip && size == 3)
                break; // from the flags on, any byte might be a header's
        }
        EXPECT_EQ(detected(packed.substr(0, needed), false), each);
    }
}

class EachFormat : public testing::TestWithParam<Compression> {};

// Frames, empty ones among them, with what may lie between and behind them.
std::string some_frames(Compression compression, test::Random &random, std::string &data) {
    std::string packed;
    for (std::uint64_t frames = random.between(1, 4); frames > 0; --frames) {
        if ((compression == Compression::zstd || compression == Compression::lz4) &&
            random.one_in(3))
            packed += test::skippable_frame(std::string(random.below(300), 's'),
                                            static_cast<char>(random.below(16)));
        const std::string part =
            random.one_in(4) ? "" : test::some_data(random, random.between(1, 200000));
        packed += pack(compression, part, random.next());
        data += part;
        if (compression == Compression::xz && random.one_in(3))
            packed.append(random.below(100) * 4, '\0');
    }
    if (compression == Compression::gzip && random.one_in(3))
        packed.append(random.below(1000), '\0');
    return packed;
}

TEST_P(EachFormat, AnyFramesInAnyPieces) {
    const test::SeedRange seeds(60);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        std::string data;
        const std::string packed = some_frames(GetParam(), random, data);
        for (int way = 0; way < 3; ++way) {
            const auto in = test::pieces_up_to(random, std::size_t{1} << random.below(17));
            const auto out = test::pieces_up_to(random, std::size_t{1} << random.between(6, 16));
            const Decoded decoded = decode(GetParam(), packed, in, out);
            ASSERT_FALSE(decoded.error) << decoded.error->message << "; " << test::replay(seed);
            ASSERT_EQ(difference(decoded.bytes, data), "") << test::replay(seed);
        }
    }
}

TEST_P(EachFormat, ByteByByte) {
    test::Random random(1);
    std::string data;
    std::string packed;
    for (const std::size_t size : {0, 1, 1000, 0, 70000, 300}) {
        const std::string part = test::some_data(random, size);
        data += part;
        packed += pack(GetParam(), part, random.next());
    }
    for (const auto &[in, out] : {std::pair{1, 1}, {1, 65536}, {65536, 1}, {1 << 20, 1 << 20}}) {
        const Decoded decoded = decode(GetParam(), packed, std::size_t(in), std::size_t(out));
        EXPECT_FALSE(decoded.error) << decoded.error->message;
        EXPECT_EQ(difference(decoded.bytes, data), "");
        EXPECT_EQ(decoded.frame_ends.size(), 6u);
        EXPECT_EQ(decoded.frame_ends.back(), packed.size());
    }
}

TEST_P(EachFormat, AFrameOfNothing) {
    const Decoded decoded = decode(GetParam(), pack(GetParam(), ""));
    EXPECT_FALSE(decoded.error);
    EXPECT_EQ(decoded.bytes, "");
    EXPECT_EQ(decoded.frame_ends.size(), 1u);
}

TEST_P(EachFormat, NothingAtAllIsNoFrame) {
    const Decoded decoded = decode(GetParam(), "");
    ASSERT_TRUE(decoded.error);
    EXPECT_NE(decoded.error->message.find("ends in the middle (at byte 0)"), std::string::npos);
}

std::uint64_t resident_bytes() {
    std::uint64_t total = 0;
    std::uint64_t resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST_P(EachFormat, ABombTakesNoMemory) {
    constexpr std::uint64_t bytes = 128 * kMiB;
    const std::string packed = pack(GetParam(), std::string(bytes, '\0'));
    EXPECT_LT(packed.size(), kMiB);
    auto decoder = make_decoder(GetParam());
    ASSERT_TRUE(decoder);
    const std::uint64_t before = resident_bytes();
    std::uint64_t most = before;
    std::vector<std::byte> room(64 * kKiB);
    std::uint64_t produced = 0;
    for (ByteView rest = bytes_of(packed);;) {
        const auto step = (*decoder)->decode(rest, room);
        ASSERT_TRUE(step.ok()) << step.error().message;
        rest = rest.subspan(step.value().consumed);
        produced += step.value().produced;
        most = std::max(most, resident_bytes());
        if (step.value().frame_ended)
            break;
    }
    EXPECT_EQ(produced, bytes);
    EXPECT_LT(most - before, 32 * kMiB);
}

INSTANTIATE_TEST_SUITE_P(Decoder, EachFormat, testing::ValuesIn(kAll),
                         [](const auto &each) { return std::string(name_of(each.param)); });

} // namespace
} // namespace gristmill::input
