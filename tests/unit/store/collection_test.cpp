#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "store/collection.hpp"
#include "support/random.hpp"

namespace gristmill::store {
namespace {

bool write(OutputArea &area, const std::string &text) {
    std::byte *room = area.reserve(text.size());
    if (!room)
        return false;
    std::copy_n(bytes_of(text).data(), text.size(), room);
    return area.commit(text.size());
}

std::string at(const OutputLocation &location) {
    return {reinterpret_cast<const char *>(location.data), location.bytes + location.fault_bytes};
}

TEST(CollectionArea, keeps_everything_until_its_chunks_go) {
    test::Random random(3);
    CollectionArea area;
    std::vector<std::pair<OutputLocation, std::string>> batches;
    for (int batch = 0; batch < 300; ++batch) {
        std::string content;
        for (std::uint64_t pieces = random.below(4); pieces > 0; --pieces) {
            const std::string piece(random.below(random.one_in(20) ? 400'000 : 3000),
                                    char('a' + batch % 26));
            ASSERT_TRUE(write(area, piece));
            content += piece;
        }
        const std::uint64_t fault_bytes = random.below(content.size() + 1);
        const OutputLocation location = area.finish({0, fault_bytes});
        EXPECT_EQ(location.fault_bytes, fault_bytes);
        EXPECT_EQ(location.place, content.empty() ? OutputPlace::none : OutputPlace::collection);
        if (!content.empty())
            batches.emplace_back(location, content);
    }
    const Chunks chunks = area.take_chunks();
    for (const auto &[location, content] : batches)
        ASSERT_EQ(at(location), content);
    EXPECT_TRUE(area.has_room());
    ASSERT_TRUE(write(area, "a new run"));
    EXPECT_EQ(at(area.finish({})), "a new run");
}

TEST(CollectionArea, a_batch_larger_than_a_chunk_lies_in_one_piece) {
    CollectionArea area;
    const std::string half(40 * kMiB, 'x');
    ASSERT_TRUE(write(area, half));
    ASSERT_TRUE(write(area, half));
    const OutputLocation location = area.finish({});
    EXPECT_EQ(location.bytes, 80 * kMiB);
    EXPECT_EQ(at(location).find_first_not_of('x'), std::string::npos);
}

TEST(CollectionArea, abandoned_output_leaves_no_trace) {
    CollectionArea area;
    ASSERT_TRUE(write(area, "wrong"));
    area.abandon();
    ASSERT_TRUE(write(area, "right"));
    EXPECT_EQ(at(area.finish({})), "right");
    area.abandon();
    EXPECT_EQ(area.finish({}).place, OutputPlace::none);
}

TEST(CollectionArea, no_memory_is_no_crash) {
    CollectionArea area;
    ASSERT_TRUE(write(area, "first"));
    EXPECT_EQ(area.reserve(std::uint64_t{1} << 60), nullptr);
    EXPECT_EQ(text_of(area.committed()), "first");
    ASSERT_TRUE(write(area, " second"));
    EXPECT_EQ(at(area.finish({})), "first second");
}

TEST(ChunkPool, keeps_chunks_while_an_engine_lives) {
    ChunkPool pool;
    pool.add_engine();
    pool.add_engine();
    EXPECT_FALSE(pool.has_warm());
    Result<os::Mapping> chunk = pool.take(kChunkBytes);
    ASSERT_TRUE(chunk);
    const std::byte *data = chunk->data();
    pool.give_back(std::move(*chunk));
    EXPECT_TRUE(pool.has_warm());
    pool.remove_engine();
    EXPECT_TRUE(pool.has_warm()) << "one engine is left";
    Result<os::Mapping> again = pool.take(100);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->data(), data);
    EXPECT_FALSE(pool.has_warm());
    pool.give_back(std::move(*again));
    pool.remove_engine();
    EXPECT_FALSE(pool.has_warm()) << "nobody would use it";
}

TEST(ChunkPool, keeps_nothing_without_an_engine_and_no_odd_sizes) {
    ChunkPool pool;
    pool.give_back(pool.take(kChunkBytes).value());
    EXPECT_FALSE(pool.has_warm());
    pool.add_engine();
    pool.give_back(pool.take(1000).value());
    pool.give_back(pool.take(kChunkBytes + 1).value());
    EXPECT_FALSE(pool.has_warm());
    pool.remove_engine();
}

TEST(ChunkPool, keeps_half_a_gib_at_most) {
    ChunkPool pool;
    pool.add_engine();
    std::vector<os::Mapping> chunks;
    for (int i = 0; i < 12; ++i)
        chunks.push_back(pool.take(kChunkBytes).value());
    for (os::Mapping &chunk : chunks)
        pool.give_back(std::move(chunk));
    std::vector<os::Mapping> warm;
    while (pool.has_warm())
        warm.push_back(pool.take(kChunkBytes).value());
    EXPECT_EQ(warm.size(), 8u);
    pool.remove_engine();
}

} // namespace
} // namespace gristmill::store
