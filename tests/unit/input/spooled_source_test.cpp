// What is cut from bytes that come once: whole records, all of them, as many as were asked for.
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/record_oracle.hpp"

#include "packers.hpp"
#include "spool_cuts.hpp"

namespace gristmill::input {
namespace {

using test::SpooledRun;
using Next = SpooledSource::Next;

using namespace test::spooled;

// How many batches follow one another on a node, each time, when so many lines of ten bytes come.
std::vector<std::uint64_t> turns_of_nodes(const CutSize &size, std::size_t lines) {
    SpooledRun run(kLines, kNoLimit, 0, std::uint64_t{1} << 20, {}, {{1, {}}, {1, {}}, {1, {}}});
    std::string all;
    for (std::size_t i = 0; i < lines; ++i)
        all += std::to_string(100'000'000 + i) + "\n";
    std::string taken;
    std::vector<std::uint64_t> turns;
    std::optional<std::uint32_t> before;
    for (std::size_t written = 0;;) {
        written += run.pipe().write(std::string_view(all).substr(written, 4096));
        if (written == all.size())
            run.pipe().close();
        for (Next next; (next = run.next(size)) != Next::wait_for_data;) {
            if (next == Next::end) {
                EXPECT_EQ(taken, all);
                return turns;
            }
            EXPECT_EQ(next, Next::cut);
            const std::uint32_t node = run.spool().node(run.cuts().back().cut.slot);
            if (before != node)
                turns.push_back(0);
            before = node;
            ++turns.back();
            taken += run.cuts().back().bytes;
            run.release_all();
        }
    }
}

TEST(SpooledSource, batches_take_turns_among_the_nodes) {
    const std::vector<std::uint64_t> turns = turns_of_nodes({0, 1000}, 2000);
    EXPECT_EQ(turns, std::vector<std::uint64_t>(20, 1));
}

TEST(SpooledSource, no_more_is_read_than_the_node_is_given) {
    SpooledRun run(kLines, kNoLimit, 0, std::uint64_t{1} << 20, {}, {{1, {}}, {1, {}}});
    std::string lines;
    while (lines.size() < 3000)
        lines += "123456789\n";
    run.pipe().write(lines);
    ASSERT_EQ(run.next({0, 1000}), Next::cut);
    int left = 0;
    ASSERT_EQ(::ioctl(run.pipe().fd(), FIONREAD, &left), 0);
    EXPECT_EQ(left, 2000) << "it would have to move to another node";
}

TEST(SpooledSource, small_batches_of_a_given_size_take_turns_in_groups) {
    const std::vector<std::uint64_t> turns = turns_of_nodes({0, 500, true}, 10'000);
    EXPECT_EQ(turns, (std::vector<std::uint64_t>{64, 64, 64, 8}));
}

// --- how much -----------------------------------------------------------------------------------

TEST(SpooledSource, waits_until_as_much_is_there_as_is_wanted) {
    SpooledRun run(kLines, kNoLimit, 0);
    EXPECT_EQ(run.next({0, 10}), Next::wait_for_data);
    EXPECT_FALSE(run.source().flush_pending()) << "nothing is there";
    run.pipe().write("on");
    EXPECT_EQ(run.next({0, 10}), Next::wait_for_data);
    EXPECT_FALSE(run.source().flush_pending()) << "no record is whole";
    run.pipe().write("e\ntwo");
    EXPECT_EQ(run.next({0, 10}), Next::wait_for_data);
    EXPECT_TRUE(run.source().flush_pending());
    run.pipe().write("\nthree\n");
    ASSERT_EQ(run.next({0, 10}), Next::cut);
    EXPECT_FALSE(run.source().flush_pending());
    EXPECT_EQ(run.cuts()[0].bytes, "one\ntwo\n") << "the next would be more than wanted";
    EXPECT_EQ(run.source().bytes(), 8u);
}

TEST(SpooledSource, flush_takes_the_whole_records_that_are_there) {
    for (const Framing &framing : {kLines, delimited("$$"), fixed(4), kFrames}) {
        SpooledRun run(framing, kNoLimit, 0);
        const std::string record = framing.kind == Framing::Kind::fixed   ? "abcd"
                                   : framing.kind == Framing::Kind::u32le ? frame("abc")
                                                                          : "abc" + framing.delimiter;
        run.pipe().write(record + record + record.substr(0, record.size() - 1));
        EXPECT_EQ(run.next({0, 1000}), Next::wait_for_data);
        EXPECT_TRUE(run.source().flush_pending());
        ASSERT_EQ(run.next({0, 1000}, true), Next::cut);
        EXPECT_EQ(run.cuts()[0].bytes, record + record);
        EXPECT_FALSE(run.cuts()[0].cut.ends_source);
        EXPECT_EQ(run.next({0, 1000}, true), Next::wait_for_data);
        EXPECT_FALSE(run.source().flush_pending());
        run.pipe().write(record.substr(record.size() - 1));
        run.pipe().close();
        ASSERT_EQ(run.next({0, 1000}), Next::cut);
        EXPECT_EQ(run.cuts()[1].bytes, record);
        EXPECT_FALSE(run.cuts()[1].cut.ends_source);
        EXPECT_EQ(run.next({0, 1000}), Next::end);
        EXPECT_EQ(run.next({0, 1000}), Next::end);
    }
}

TEST(SpooledSource, no_read_asks_for_more_than_it_may) {
    SpooledRun run(kLines, kNoLimit, 10);
    run.pipe().write("fivefivefivefivefivefivefive\nfive\nfive\n"); // ten of them tell what it is
    ASSERT_EQ(run.next({0, 1000}, true), Next::cut);
    EXPECT_EQ(run.cuts()[0].bytes, "fivefivefivefivefivefivefive\n");
    ASSERT_EQ(run.next({0, 1000}, true), Next::cut);
    EXPECT_EQ(run.cuts()[1].bytes, "five\nfive\n");
}

// What is decoded is stored by this process: there has to be memory first.
TEST(SpooledSource, memory_is_there_before_anything_is_stored) {
    SpooledRun run(kLines, kNoLimit, 0);
    run.pipe().write(test::pack_gzip(std::string(20'000, '\n')));
    ASSERT_EQ(run.next({0, 30'000}), Next::wait_for_data);
    struct stat facts {};
    ASSERT_EQ(::fstat(run.spool().fd(), &facts), 0);
    EXPECT_EQ(facts.st_blocks * 512, std::int64_t(kSlot));
}

TEST(SpooledSource, an_exact_number_of_records_is_never_flushed) {
    for (const Framing &framing : {kLines, delimited("aba"), fixed(3)}) {
        SpooledRun run(framing, kNoLimit, 0);
        const std::string record =
            framing.kind == Framing::Kind::fixed ? "abc" : "xx" + framing.delimiter;
        run.pipe().write(record + record);
        EXPECT_EQ(run.next({3, 1}), Next::wait_for_data);
        EXPECT_FALSE(run.source().flush_pending());
        EXPECT_EQ(run.next({3, 1}, true), Next::wait_for_data);
        run.pipe().write(record + record);
        ASSERT_EQ(run.next({3, 1}), Next::cut);
        EXPECT_EQ(run.cuts()[0].bytes, record + record + record);
        run.pipe().close();
        ASSERT_EQ(run.next({3, 1}), Next::cut) << "at the end there are fewer";
        EXPECT_EQ(run.cuts()[1].bytes, record);
        EXPECT_EQ(run.next({3, 1}), Next::end);
    }
}

TEST(SpooledSource, an_exact_number_of_records_larger_than_a_slot) {
    const std::string record = std::string(999, 'r') + "\n";
    for (const Framing &framing : {kLines, fixed(1000)}) {
        SpooledRun run(framing, kNoLimit, 0);
        std::size_t written = 0;
        while (written < 200 || run.cuts().empty()) {
            if (written < 200)
                written += run.pipe().write(record) / record.size();
            ASSERT_NE(run.next({150, 1}), Next::failed);
        }
        EXPECT_EQ(run.cuts()[0].bytes.size(), 150'000u);
    }
}

// Much of it, and never as much as is wanted: the slot says how much.
TEST(SpooledSource, more_than_a_slot_is_never_waited_for) {
    for (const Framing &framing : {kLines, delimited("$$"), fixed(1000), kFrames}) {
        SpooledRun run(framing, kNoLimit, 0);
        const std::string record = framing.kind == Framing::Kind::fixed ? std::string(1000, 'x')
                                   : framing.kind == Framing::Kind::u32le
                                       ? frame(std::string(996, 'x'))
                                       : std::string(1000 - framing.delimiter.size(), 'x') +
                                             framing.delimiter;
        std::size_t written = 0;
        for (; run.cuts().empty() && written < 100'000; written += 1000) {
            run.pipe().write(record);
            ASSERT_NE(run.next({0, kMiB}), Next::failed);
        }
        ASSERT_EQ(run.cuts().size(), 1u);
        EXPECT_EQ(run.cuts()[0].bytes.size(), kSlot / 1000 * 1000);
        EXPECT_EQ(written, kSlot / 1000 * 1000 + 1000);
    }
}

TEST(SpooledSource, what_is_not_cut_moves_to_the_next_slot) {
    SpooledRun run(kLines, kNoLimit, 0);
    run.pipe().write(std::string(60'000, 'x') + "\nbeginning");
    ASSERT_EQ(run.next({0, 1000}), Next::cut);
    EXPECT_EQ(run.next({0, 1000}), Next::wait_for_data);
    run.pipe().write(" and end\n");
    EXPECT_EQ(run.next({0, 5}), Next::cut);
    EXPECT_EQ(run.cuts()[1].bytes, "beginning and end\n");
    EXPECT_EQ(run.cuts()[1].cut.begin, 60'001u);
    EXPECT_NE(run.cuts()[1].cut.slot, run.cuts()[0].cut.slot);
}

TEST(SpooledSource, a_slot_is_free_when_its_batches_are_done_and_the_source_has_left_it) {
    SpooledRun run(kLines, kNoLimit, 0);
    run.pipe().write("one\ntwo\n");
    ASSERT_EQ(run.next({0, 1}), Next::cut);
    ASSERT_EQ(run.next({0, 1}), Next::cut);
    EXPECT_EQ(run.cuts()[0].cut.slot, run.cuts()[1].cut.slot);
    run.release_all();
    EXPECT_EQ(run.spool().bytes_in_use(), kSlot) << "the source goes on filling it";
    {
        SpooledRun other(kLines, kNoLimit, 0);
        store::Spool spool = std::move(store::Spool::create(kSlot, kMiB).value());
        test::InputPipe pipe;
        pipe.write("one\n");
        {
            SpooledSource source(spool, pipe.source(), "'pipe'", kLines, kNoLimit, 0);
            SpooledCut cut;
            ASSERT_EQ(source.next({0, 1}, false, true, cut), Next::cut);
            spool.release(cut.slot);
            EXPECT_EQ(spool.bytes_in_use(), kSlot);
        }
        EXPECT_EQ(spool.bytes_in_use(), 0u) << "the source is gone";
    }
}

// --- ends ---------------------------------------------------------------------------------------

TEST(SpooledSource, the_end_without_a_delimiter_is_said_once) {
    for (const std::string &delimiter : {std::string("\n"), std::string("\r\n"), std::string("$$")})
        for (const std::uint64_t records : {0u, 1u, 2u, 5u})
            for (const bool open : {false, true}) {
                SpooledRun run(delimited(delimiter), kNoLimit, 0);
                run.pipe().write("one" + delimiter + "two" + delimiter + "three" +
                                 (open ? "" : delimiter));
                run.pipe().close();
                std::string all;
                while (run.next({records, 1}) == Next::cut) {
                    all += run.cuts().back().bytes;
                    EXPECT_EQ(run.cuts().back().cut.ends_source, open && all.ends_with("three"));
                }
                EXPECT_EQ(all.size(), 11 + (open ? 2 : 3) * delimiter.size());
            }
}

// "$$$": a delimiter, and a "$" that is none.
TEST(SpooledSource, what_looks_like_a_delimiter_at_the_end_and_is_none) {
    for (const std::uint64_t records : {0u, 7u}) {
        SpooledRun run(delimited("$$"), kNoLimit, 0);
        run.pipe().write("a$$$");
        run.pipe().close();
        ASSERT_EQ(run.next({records, 100}), Next::cut);
        EXPECT_EQ(run.cuts()[0].bytes, "a$$$");
        EXPECT_TRUE(run.cuts()[0].cut.ends_source);
    }
}

TEST(SpooledSource, nothing_at_all) {
    for (const Framing &framing : {kLines, fixed(3), kFrames}) {
        SpooledRun run(framing, kNoLimit, 0);
        run.pipe().close();
        EXPECT_EQ(run.next({0, 1}), Next::end);
        EXPECT_EQ(run.source().bytes(), 0u);
    }
}

// --- long records -------------------------------------------------------------------------------

TEST(SpooledSource, a_long_record_moves_to_larger_slots) {
    for (const std::size_t length : {kSlot - 2, kSlot - 1, kSlot, 3 * kSlot, 9 * kSlot}) {
        SpooledRun run(kLines, kNoLimit, 0, 8 * kMiB);
        const std::string data = "short\n" + std::string(length, 'x') + "\nshort\n";
        std::size_t at = 0;
        for (int turns = 0; turns < 1000 && run.next({0, 1}) != Next::end; ++turns) {
            at += run.pipe().write(std::string_view(data).substr(at, 60'000));
            if (at == data.size())
                run.pipe().close();
        }
        ASSERT_EQ(run.cuts().size(), 3u) << length;
        EXPECT_EQ(run.cuts()[1].bytes, data.substr(6, length + 1));
        EXPECT_EQ(run.cuts()[2].bytes, "short\n");
        EXPECT_EQ(run.cuts()[2].cut.begin, length + 7);
        EXPECT_EQ(run.source().bytes(), data.size());
    }
}

// --- frames and fixed records that are damaged --------------------------------------------------

struct Damage {
    Framing framing;
    std::string tail;
    std::string reason;
};

TEST(SpooledSource, damage_fails_behind_what_was_whole_and_says_where) {
    const std::string good = frame("four") + frame("");
    for (const Damage &damage :
         {Damage{kFrames, std::string("\1\0\0", 3), "ends in the middle of a frame's length (at byte 12)"},
          Damage{kFrames, std::string("\5\0\0\0abc", 7),
                 "holds a frame of 5 bytes, but only 3 bytes are left (at byte 12)"},
          Damage{kFrames, frame(std::string(101, 'x')),
                 "holds a frame of 101 bytes, longer than max_record (100 bytes) (at byte 12)"},
          Damage{kFrames, std::string(4, '\xff'),
                 "holds a frame of 4294967295 bytes, longer than max_record (100 bytes) (at byte 12)"},
          Damage{fixed(6), "abc", "ends with a partial record: 3 of 6 bytes (at byte 12)"}})
        for (const std::uint64_t records : {0u, 1u, 9u}) {
            SpooledRun run(damage.framing, 100, 0);
            run.pipe().write(good + damage.tail);
            run.pipe().close();
            std::string all;
            Next next = Next::cut;
            while ((next = run.next({records, 5})) == Next::cut)
                all += run.cuts().back().bytes;
            EXPECT_EQ(all, good) << damage.reason;
            ASSERT_EQ(next, Next::failed);
            EXPECT_EQ(run.source().failure().kind, ErrorKind::source);
            EXPECT_EQ(run.source().failure().message, "'pipe' " + damage.reason);
            EXPECT_EQ(run.next({records, 5}), Next::failed) << "and stays so";
            EXPECT_EQ(run.source().bytes(), good.size());
        }
}

TEST(SpooledSource, a_frame_that_is_too_long_is_not_waited_for) {
    SpooledRun run(kFrames, 100, 0);
    run.pipe().write(frame("ok") + std::string("\x65\0\0\0", 4));
    ASSERT_EQ(run.next({0, 1000}), Next::cut);
    EXPECT_EQ(run.next({0, 1000}), Next::failed) << "its header tells";
    SpooledRun longest(kFrames, 100, 0);
    longest.pipe().write(frame(std::string(100, 'x')));
    EXPECT_EQ(longest.next({0, 1}), Next::cut);
}

// As from a file: however the frame comes, the source has failed.
TEST(SpooledSource, a_frame_that_is_too_long_though_it_is_there) {
    SpooledRun run(kFrames, 100, 0);
    run.pipe().write(frame("ok") + frame(std::string(101, 'x')) + frame("ok"));
    ASSERT_EQ(run.next({0, 1000}), Next::cut);
    EXPECT_EQ(run.cuts()[0].bytes, frame("ok"));
    ASSERT_EQ(run.next({0, 1000}), Next::failed);
    EXPECT_EQ(run.source().failure().message,
              "'pipe' holds a frame of 101 bytes, longer than max_record (100 bytes) (at byte 6)");
}

// --- no room ------------------------------------------------------------------------------------

TEST(SpooledSource, waits_for_room_and_goes_on_when_there_is_some) {
    SpooledRun run(kLines, kNoLimit, 0, 2 * kSlot);
    const std::string line = std::string(29'999, 'x') + "\n";
    std::string expected;
    Next next = Next::cut;
    for (int i = 0; (next = run.next({0, 1})) != Next::wait_for_room; ++i) {
        ASSERT_LT(i, 100);
        if (next == Next::wait_for_data) {
            ASSERT_EQ(run.pipe().write(line), line.size());
            expected += line;
        }
    }
    EXPECT_EQ(run.next({0, 1}), Next::wait_for_room) << "as long as nothing is released";
    EXPECT_LE(run.spool().bytes_in_use(), 2 * kSlot);
    const std::size_t before = run.cuts().size();
    for (int i = 0; i < 10; ++i) {
        while ((next = run.next({0, 1})) == Next::wait_for_room) {
            ASSERT_GT(run.in_flight(), 0u) << "nobody would ever release any";
            run.release_one();
        }
        if (next == Next::wait_for_data) {
            run.pipe().write(line);
            expected += line;
        }
    }
    run.pipe().close();
    while ((next = run.next({0, 1})) != Next::end)
        run.release_all();
    EXPECT_GT(run.cuts().size(), before);
    std::string all;
    for (const test::TakenCut &taken : run.cuts())
        all += taken.bytes;
    EXPECT_EQ(all, expected);
}

TEST(SpooledSource, alone_it_goes_beyond_the_limit) {
    SpooledRun run(kLines, kNoLimit, 0, 2 * kSlot);
    const std::string data = "x\n" + std::string(5 * kSlot, 'x') + "\n";
    std::size_t at = 0;
    Next next = Next::cut;
    bool waited = false;
    for (int i = 0; i < 1000 && (next = run.next({0, 1})) != Next::end; ++i) {
        if (next == Next::wait_for_room) {
            waited = true;
            run.release_all();
        }
        at += run.pipe().write(std::string_view(data).substr(at, 10'000));
        if (at == data.size())
            run.pipe().close();
    }
    ASSERT_EQ(next, Next::end);
    EXPECT_TRUE(waited);
    ASSERT_EQ(run.cuts().size(), 2u);
    EXPECT_EQ(run.cuts()[1].bytes, data.substr(2));
}

TEST(SpooledSource, without_memory_it_fails_behind_what_it_had) {
    SpooledRun run(kLines, kNoLimit, 0);
    run.pipe().write("one\n" + std::string(60'000, 'x'));
    ASSERT_EQ(run.next({0, 1}), Next::cut);
    ASSERT_EQ(::fcntl(run.spool().fd(), F_ADD_SEALS, F_SEAL_GROW), 0);
    run.pipe().write(std::string(5'000, 'x'));
    EXPECT_EQ(run.next({0, 1}), Next::wait_for_room) << "a batch is on its way";
    run.release_all();
    ASSERT_EQ(run.next({0, 1}), Next::failed);
    EXPECT_EQ(run.source().failure().kind, ErrorKind::memory);
    EXPECT_EQ(run.source().bytes(), 4u);
}

} // namespace
} // namespace gristmill::input
