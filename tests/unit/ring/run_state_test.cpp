// How the shared block is laid out, and how it becomes new for the next run.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include <gtest/gtest.h>

#include "ring/run_state.hpp"

namespace gristmill::ring {
namespace {

using State = RunState<SystemAtomics>;

struct Block {
    explicit Block(std::uint64_t bytes)
        : data(static_cast<std::byte *>(::operator new(bytes, std::align_val_t{128}))) {
        std::memset(data, 0, bytes);
    }
    ~Block() { ::operator delete(data, std::align_val_t{128}); }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    std::byte *data;
};

TEST(RunState, ring_size_follows_the_workers) {
    EXPECT_EQ(State::entries_for(1), 64u);
    EXPECT_EQ(State::entries_for(8), 64u);
    EXPECT_EQ(State::entries_for(9), 128u);
    EXPECT_EQ(State::entries_for(4096), 32768u);
    EXPECT_EQ(State::entries_for_small_batches(1), 1024u);
}

TEST(RunState, parts_do_not_overlap_and_are_aligned) {
    for (const std::uint32_t workers : {1u, 3u, 64u})
        for (const std::uint32_t nodes : {1u, 2u, 17u}) {
            const std::uint32_t entries = State::entries_for(workers);
            const std::uint64_t bytes = State::block_bytes(workers, nodes, entries);
            const Block block(bytes);
            const State state = State::create(block.data, workers, nodes, entries);
            const auto at = [&](const void *part) {
                return static_cast<std::uint64_t>(static_cast<const std::byte *>(part) -
                                                  block.data);
            };
            EXPECT_GE(at(&state.slot(0)), sizeof(State::Header));
            EXPECT_EQ(at(&state.slot(0)) % alignof(State::Slot), 0u);
            EXPECT_GE(at(&state.cursor(0)), at(&state.slot(workers - 1)) + sizeof(State::Slot));
            EXPECT_GE(at(&state.entry(0)), at(&state.cursor(nodes - 1)) + sizeof(State::Cursor));
            EXPECT_EQ(at(&state.entry(0)) % alignof(State::Entry), 0u);
            EXPECT_EQ(at(&state.entry(entries - 1)) + sizeof(State::Entry), bytes);
        }
}

TEST(RunState, sequences_wrap_into_laps) {
    const Block block(State::block_bytes(1, 1, 4));
    const State state = State::create(block.data, 1, 1, 4);
    EXPECT_EQ(&state.entry(1), &state.entry(5));
    EXPECT_NE(&state.entry(1), &state.entry(2));
    EXPECT_EQ(state.lap(3), 0u);
    EXPECT_EQ(state.lap(4), 1u);
    EXPECT_EQ(state.lap(4 * 7 + 2), 7u);
}

TEST(RunState, a_view_of_the_block_is_the_same_state) {
    const Block block(State::block_bytes(2, 1, 4));
    const State made = State::create(block.data, 2, 1, 4);
    made.header().published.store(9);
    const State view(block.data);
    EXPECT_EQ(view.header().published.load(), 9u);
    EXPECT_EQ(&view.slot(1), &made.slot(1));
}

TEST(RunState, each_run_may_have_a_ring_of_its_own_length) {
    const std::uint64_t bytes = State::block_bytes(1, 1, 16);
    const Block block(bytes);
    const State state = State::create(block.data, 1, 1, 16, 4);
    const std::byte *behind = block.data + bytes - 12 * sizeof(State::Entry);
    EXPECT_TRUE(std::all_of(behind, static_cast<const std::byte *>(block.data) + bytes,
                            [](std::byte b) { return b == std::byte{}; }))
        << "memory that no run needs is not touched";
    EXPECT_EQ(&state.entry(1), &state.entry(5));
    state.reset(16);
    EXPECT_NE(&state.entry(1), &state.entry(5));
    EXPECT_EQ(&state.entry(1), &state.entry(17));
    EXPECT_EQ(state.entry(15).home.load(), kNoHome);
    state.entry(3).state = 12345;
    state.entry(15).state = 12345;
    state.reset(4);
    EXPECT_EQ(state.entry(3).state.load(), 0u);
    state.reset(16);
    EXPECT_EQ(state.entry(15).state.load(), 0u);
}

TEST(RunState, reset_forgets_the_last_run_but_not_its_number) {
    const Block block(State::block_bytes(2, 2, 4));
    const State state = State::create(block.data, 2, 2, 4);
    auto &h = state.header();
    h.run = RunWord{7, true}.pack();
    h.published = 9;
    h.head = 8;
    h.target = 3;
    h.ended = 1;
    h.ready_count = 2;
    h.publish_wake_at = 5;
    h.publisher_wants_input = 1;
    state.slot(1).wants_room = 1;
    state.slot(1).start_failed = 1;
    state.slot(1).ring_released = 77;
    state.slot(1).overflow_released = 78;
    state.cursor(1) = 6;
    state.entry(2).state = 12345;
    state.reset(4);
    EXPECT_EQ(RunWord::unpack(h.run.load()).id, 7u);
    EXPECT_EQ(h.published.load() + h.head.load() + h.ended.load(), 0u);
    EXPECT_EQ(h.publisher_wants_input.load(), 0u);
    EXPECT_EQ(h.target.load(), kNoSequence);
    EXPECT_EQ(h.ready_count.load(), 0);
    EXPECT_EQ(h.publish_wake_at.load(), -1);
    EXPECT_EQ(state.slot(1).wants_room.load() + state.slot(1).start_failed.load(), 0u);
    EXPECT_EQ(state.slot(1).ring_released.load() + state.slot(1).overflow_released.load(), 0u);
    EXPECT_EQ(state.cursor(1).load(), 0u);
    EXPECT_EQ(state.entry(2).state.load(), 0u);
}

} // namespace
} // namespace gristmill::ring
