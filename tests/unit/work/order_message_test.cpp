// The order of a run as bytes: it comes back whole, or not at all.
#include <string>

#include <gtest/gtest.h>

#include "support/random.hpp"
#include "work/order_message.hpp"

namespace gristmill::work {
namespace {

OrderMessage sample() {
    OrderMessage message;
    message.order.framing.kind = Framing::Kind::fixed;
    message.order.framing.delimiter = std::string("\0$$", 3);
    message.order.framing.record_bytes = 17;
    message.order.max_record_bytes = 1u << 30;
    message.order.read_bytes = 4096;
    message.order.keep_notes = KeepNotes::all;
    message.order.output = OutputMode::collection;
    message.order.count_output = false;
    message.order.whole_attempts = 5;
    message.payload = {PayloadKind::command, {"tr", "", std::string("a\0b", 3)}};
    message.holder = 4711;
    message.ring_generation = 3;
    message.ring_bytes = 1u << 23;
    message.mirrored = false;
    message.isolation = 9;
    message.files = {{1, 2, 3}, {-1, -1, -1}, {7, -1, 100'000}};
    return message;
}

TEST(OrderMessage, comes_back) {
    const auto back = decode_order(encode(sample()));
    ASSERT_TRUE(back.has_value());
    const OrderMessage sent = sample();
    EXPECT_EQ(back->order.framing, sent.order.framing);
    EXPECT_EQ(back->order.max_record_bytes, sent.order.max_record_bytes);
    EXPECT_EQ(back->order.read_bytes, sent.order.read_bytes);
    EXPECT_EQ(back->order.keep_notes, sent.order.keep_notes);
    EXPECT_EQ(back->order.output, sent.order.output);
    EXPECT_EQ(back->order.count_output, sent.order.count_output);
    EXPECT_EQ(back->order.whole_attempts, sent.order.whole_attempts);
    EXPECT_EQ(back->order.payloads, nullptr);
    EXPECT_EQ(back->order.sources, nullptr);
    EXPECT_EQ(back->payload.kind, sent.payload.kind);
    EXPECT_EQ(back->payload.texts, sent.payload.texts);
    EXPECT_EQ(back->holder, sent.holder);
    EXPECT_EQ(back->ring_generation, sent.ring_generation);
    EXPECT_EQ(back->ring_bytes, sent.ring_bytes);
    EXPECT_EQ(back->mirrored, sent.mirrored);
    EXPECT_EQ(back->isolation, sent.isolation);
    ASSERT_EQ(back->files.size(), sent.files.size());
    for (std::size_t i = 0; i < sent.files.size(); ++i) {
        EXPECT_EQ(back->files[i].ring, sent.files[i].ring);
        EXPECT_EQ(back->files[i].overflow, sent.files[i].overflow);
        EXPECT_EQ(back->files[i].collection, sent.files[i].collection);
    }
}

TEST(OrderMessage, with_nothing_in_it_comes_back) {
    EXPECT_TRUE(decode_order(encode({})).has_value());
}

TEST(OrderMessage, cut_anywhere_or_with_more_behind_is_none) {
    const std::string whole = encode(sample());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
        EXPECT_FALSE(decode_order(whole.substr(0, bytes)).has_value()) << bytes;
    EXPECT_FALSE(decode_order(whole + "x").has_value());
}

// Sizes that lie do not make anybody allocate what they say.
TEST(OrderMessage, spoilt_bytes_are_no_crash) {
    const std::string whole = encode(sample());
    const test::SeedRange seeds(20'000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        std::string spoilt = whole;
        for (std::uint64_t changes = random.between(1, 6); changes > 0; --changes)
            spoilt[random.below(spoilt.size())] = static_cast<char>(random.next());
        if (random.one_in(4)) { // a size of its own kind
            const std::uint64_t size = random.next() >> random.below(64);
            spoilt.replace(random.below(spoilt.size() - 8), 8,
                           reinterpret_cast<const char *>(&size), 8);
        }
        static_cast<void>(decode_order(spoilt));
    }
}

} // namespace
} // namespace gristmill::work
