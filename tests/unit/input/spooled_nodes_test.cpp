// Several nodes: batches take turns among them, and whatever the turns, no byte is lost.
#include <algorithm>
#include <string>
#include <sys/ioctl.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/record_oracle.hpp"

#include "spool_cuts.hpp"

namespace gristmill::input {
namespace {

using test::SpooledRun;
using Next = SpooledSource::Next;

using namespace test::spooled;

using Nodes = std::vector<store::SpoolNode>;
const Nodes kTwoNodes{{1, std::nullopt}, {1, std::nullopt}};

std::uint32_t home_of(SpooledRun &run, std::size_t cut) {
    return run.spool().node(run.cuts()[cut].cut.slot);
}

TEST(SpooledNodes, batches_take_turns_among_them) {
    for (const Framing &framing : {kLines, delimited("$$"), fixed(100), kFrames}) {
        SpooledRun run(framing, kNoLimit, 0, kMiB, {}, kTwoNodes);
        const std::string record = framing.kind == Framing::Kind::u32le
                                       ? frame(std::string(96, 'x'))
                                       : std::string(100 - framing.delimiter.size(), 'x') +
                                             framing.delimiter;
        std::string data;
        for (int i = 0; i < 300; ++i)
            data += record;
        ASSERT_EQ(run.pipe().write(data), data.size());
        run.pipe().close();
        while (run.next({0, 2000}) == Next::cut) {
        }
        ASSERT_GE(run.cuts().size(), 14u);
        std::string all;
        for (std::size_t i = 0; i < run.cuts().size(); ++i) {
            EXPECT_EQ(home_of(run, i), i % 2) << i;
            all += run.cuts()[i].bytes;
        }
        EXPECT_EQ(all, data);
    }
}

TEST(SpooledNodes, hardly_more_is_read_than_the_next_batch_needs) {
    SpooledRun run(kLines, kNoLimit, 0, kMiB, {}, kTwoNodes);
    std::string data;
    while (data.size() < 40'000)
        data += std::string(79, 'x') + "\n";
    ASSERT_EQ(run.pipe().write(data), data.size());
    ASSERT_EQ(run.next({0, 8000}), Next::cut);
    int left = 0;
    ASSERT_EQ(::ioctl(run.pipe().fd(), FIONREAD, &left), 0);
    EXPECT_GT(left, 40'000 - 8000 - 1100) << "what is read too early lies on the wrong node";
}

// What is left of one batch is so much that it is the next one: it stays where it is.
TEST(SpooledNodes, what_is_there_already_is_not_moved) {
    SpooledRun run(kLines, kNoLimit, 0, kMiB, {}, kTwoNodes);
    ASSERT_EQ(run.pipe().write("1\n2\n3\n4\n5\n6\n"), 12u);
    run.pipe().close();
    while (run.next({2, 0}) == Next::cut) {
    }
    ASSERT_EQ(run.cuts().size(), 3u);
    EXPECT_EQ(run.cuts()[0].cut.slot, run.cuts()[1].cut.slot) << "two more lie behind it";
}

TEST(SpooledNodes, waits_for_room_as_one_does) {
    SpooledRun run(kLines, kNoLimit, 0, 2 * kSlot, {}, kTwoNodes);
    const std::string line = std::string(1999, 'x') + "\n";
    std::string expected;
    for (int i = 0; i < 20; ++i, expected += line)
        ASSERT_EQ(run.pipe().write(line), line.size());
    run.pipe().close();
    bool waited = false;
    Next next = Next::cut;
    for (int turns = 0; turns < 1000 && (next = run.next({0, 2000})) != Next::end; ++turns)
        if (next == Next::wait_for_room) {
            waited = true;
            ASSERT_GT(run.in_flight(), 0u) << "nobody would ever release any";
            run.release_one();
        }
    EXPECT_EQ(next, Next::end);
    EXPECT_TRUE(waited);
    std::string all;
    for (const test::TakenCut &taken : run.cuts())
        all += taken.bytes;
    EXPECT_EQ(all, expected);
    EXPECT_EQ(run.bytes_left_in_use(), 0u);
}

// Any bytes, any framing, any number of nodes, any order of filling, taking and releasing.
class SpooledAtRandom {
  public:
    explicit SpooledAtRandom(std::uint64_t seed) : random_(seed) {
        const char *const delimiters[] = {"\n", "ab", "aba", "aaaa"};
        const std::uint64_t kind = random_.below(6);
        framing_ = kind == 4   ? kFrames
                   : kind == 5 ? fixed(random_.between(1, 300))
                               : delimited(delimiters[kind]);
        make_records();
        for (std::uint64_t node = random_.between(1, 5); node > 0; --node)
            nodes_.push_back({static_cast<std::uint32_t>(random_.below(4)), std::nullopt});
        size_.bytes = random_.between(1, random_.one_in(2) ? 500 : 3 * kSlot);
        if (random_.one_in(2))
            size_.records = random_.between(1, 40);
    }

    void run() {
        SpooledRun run(framing_, kNoLimit, random_.one_in(3) ? random_.between(1, 5000) : 0,
                       random_.between(2, 12) * kSlot, {}, nodes_);
        std::size_t written = 0;
        Next next = Next::cut;
        for (int turns = 0; next != Next::end; ++turns) {
            ASSERT_LT(turns, 200'000) << "it does not get on";
            const std::size_t most = random_.between(1, random_.one_in(4) ? 60'000 : 900);
            written += run.pipe().write(std::string_view(data_).substr(written, most));
            if (written == data_.size())
                run.pipe().close();
            next = run.next(size_, random_.one_in(8));
            ASSERT_NE(next, Next::failed) << run.source().failure().message;
            if (next == Next::wait_for_room) {
                ASSERT_GT(run.in_flight(), 0u) << "nobody would ever release any";
                run.release_one();
            } else if (run.in_flight() > 0 && random_.one_in(3)) {
                run.release_one();
            }
        }
        check(run);
        EXPECT_EQ(run.source().bytes(), data_.size());
        EXPECT_EQ(run.bytes_left_in_use(), 0u);
    }

  private:
    void make_records() {
        const std::uint64_t count = random_.below(random_.one_in(3) ? 3000 : 60);
        ends_.push_back(0);
        for (std::uint64_t i = 0; i < count; ++i) {
            const bool is_long = random_.one_in(count > 100 ? 1000 : 20);
            const std::uint64_t length = random_.below(is_long ? 3 * kSlot : 60);
            std::string record;
            for (std::uint64_t k = 0; k < length; ++k)
                record += random_.one_in(2) ? 'a' : 'b';
            if (framing_.kind == Framing::Kind::fixed)
                record.resize(framing_.record_bytes, 'x');
            if (framing_.kind == Framing::Kind::u32le)
                record = frame(record);
            data_ += record + framing_.delimiter;
            ends_.push_back(data_.size());
        }
        if (framing_.kind != Framing::Kind::delimiter)
            return;
        if (random_.one_in(2))
            data_ += "open";
        ends_ = {0}; // the delimiter may come to be where none was put
        for (const test::OracleRecord &record : test::oracle_records(data_, framing_.delimiter))
            ends_.push_back(record.next);
    }

    void check(const SpooledRun &run) const {
        std::uint64_t at = 0;
        auto end = ends_.begin();
        for (const test::TakenCut &taken : run.cuts()) {
            ASSERT_EQ(taken.cut.begin, at);
            ASSERT_TRUE(data_.compare(at, taken.bytes.size(), taken.bytes) == 0) << "at " << at;
            at = taken.cut.end;
            const auto next = std::lower_bound(end, ends_.end(), at);
            ASSERT_TRUE(next != ends_.end() && *next == at) << "not a record's end: " << at;
            const auto records = static_cast<std::uint64_t>(next - end);
            if (size_.records > 0) {
                ASSERT_TRUE(records == size_.records ||
                            (at == data_.size() && records < size_.records))
                    << records << " records";
            }
            end = next;
        }
        ASSERT_EQ(at, data_.size());
    }

    test::Random random_;
    Framing framing_;
    std::string data_;
    std::vector<std::uint64_t> ends_; // of records
    Nodes nodes_;
    CutSize size_;
};

TEST(SpooledNodes, at_random_nothing_is_lost) {
    const test::SeedRange seeds(300);
    for (std::uint64_t seed = seeds.first; seed < seeds.last && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(test::replay(seed));
        SpooledAtRandom(seed).run();
    }
}

} // namespace
} // namespace gristmill::input
