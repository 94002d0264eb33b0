// Records longer than max_record, on their way through the spool; and everything at random.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/record_oracle.hpp"

#include "spool_cuts.hpp"

namespace gristmill::input {
namespace {

using test::OracleRecord;
using test::Random;
using test::SpooledRun;
using Next = SpooledSource::Next;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;
constexpr std::uint64_t kKept = 4096; // of an oversized record

Framing delimited(const std::string &delimiter) { return {Framing::Kind::delimiter, delimiter, 0}; }

// Writes in steps, takes cuts, releases; to the end, or to the failure.
struct Drive {
    CutSize size; // at most so many bytes, another number each time
    std::size_t step_max = 1000;    // written at once
    std::size_t in_flight_max = 3;
    std::uint64_t flush_one_in = 0; // 0: never
};

Next drive(SpooledRun &run, const std::string &data, const Drive &how, Random &random) {
    std::size_t at = 0;
    for (int turns = 0; turns < 2'000'000; ++turns) {
        const bool flush = how.flush_one_in > 0 && random.one_in(how.flush_one_in);
        const Next next = run.next({how.size.records, random.between(1, how.size.bytes)}, flush);
        switch (next) {
        case Next::cut:
            while (run.in_flight() > how.in_flight_max)
                run.release_one();
            break;
        case Next::wait_for_room:
            if (run.in_flight() == 0)
                throw std::logic_error("waits for room that nobody has");
            run.release_one();
            break;
        case Next::wait_for_data: {
            if (at == data.size()) {
                run.pipe().close();
                break;
            }
            const std::size_t step = 1 + random.below(how.step_max);
            at += run.pipe().write(std::string_view(data).substr(at, step));
            break;
        }
        case Next::end:
        case Next::failed:
            run.release_all();
            return next;
        }
    }
    throw std::logic_error("does not end");
}

// The cuts tile the data, and each is whole records; oversized ones are alone. Empty: all is well.
std::string check_cuts(const SpooledRun &run, const std::string &data,
                       const std::vector<OracleRecord> &records, std::uint64_t max_record,
                       std::uint64_t exact) {
    std::size_t record = 0;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < run.cuts().size(); ++i) {
        const SpooledCut &cut = run.cuts()[i].cut;
        const std::string where = "cut " + std::to_string(i) + " of " + std::to_string(cut.begin) +
                                  ".." + std::to_string(cut.end) + ": ";
        if (cut.begin != at || cut.end <= at)
            return where + "does not go on at " + std::to_string(at);
        at = cut.end;
        std::size_t count = 0;
        const std::size_t first = record;
        for (; record < records.size() && records[record].next <= at; ++record)
            ++count;
        if (count == 0 || records[record - 1].next != at)
            return where + "does not end with a record";
        const std::string &bytes = run.cuts()[i].bytes;
        if (cut.record_bytes > 0) {
            const std::uint64_t length = records[first].end - records[first].begin;
            if (count != 1 || cut.record_bytes != length || length <= max_record)
                return where + "is said to be one record of " + std::to_string(cut.record_bytes);
            if (bytes != data.substr(cut.begin, std::min(length, kKept)))
                return where + "its first bytes are others";
            continue;
        }
        if (bytes != data.substr(cut.begin, cut.end - cut.begin))
            return where + "other bytes";
        const bool open = records[record - 1].end == records[record - 1].next;
        if (cut.ends_source != open)
            return where + "ends_source is " + std::to_string(cut.ends_source);
        const bool last = record == records.size() ||
                          (i + 1 < run.cuts().size() && run.cuts()[i + 1].cut.record_bytes > 0);
        if (exact > 0 && (last ? count > exact : count != exact))
            return where + std::to_string(count) + " records";
    }
    return at == data.size() ? "" : "ends at " + std::to_string(at) + " of " + std::to_string(data.size());
}

struct Oversized {
    std::string delimiter;
    std::size_t length;
    bool at_end;
    std::size_t step_max;
    std::uint64_t read_bytes;
};

void expect_oversized(const Oversized &given, std::uint64_t max_record) {
    const std::string tail = given.at_end ? "" : given.delimiter + "behind" + given.delimiter;
    const std::string data = "before" + given.delimiter + std::string(given.length, 'x') + tail;
    SpooledRun run(delimited(given.delimiter), max_record, given.read_bytes);
    Random random(7);
    ASSERT_EQ(drive(run, data, {{0, 1}, given.step_max}, random), Next::end);
    const std::string what = "length " + std::to_string(given.length) + ", delimiter of " +
                             std::to_string(given.delimiter.size()) + ", max_record " +
                             std::to_string(max_record) + ", steps of " +
                             std::to_string(given.step_max);
    EXPECT_EQ(check_cuts(run, data, test::oracle_records(data, given.delimiter), max_record, 0), "")
        << what;
    ASSERT_EQ(run.cuts().size(), given.at_end ? 2u : 3u) << what;
    EXPECT_EQ(run.source().bytes(), data.size());
    if (given.length > 2 * std::max(max_record, kKept) + kMiB) { // certainly not there at once
        EXPECT_EQ(run.cuts()[1].cut.record_bytes, given.length) << what;
    }
    EXPECT_LE(run.spool().counters().resident_bytes_max, 4 * max_record + 4 * (64 << 10) + 2 * kMiB)
        << what;
}

TEST(SpooledOversized, fail_alone_and_cost_no_memory) {
    for (const std::string &delimiter : {std::string("\n"), std::string("abc"), std::string("$$$")})
        for (const bool at_end : {false, true})
            for (const std::size_t length : {5'000u, 9'000u, 70'000u, 2'000'000u})
                for (const std::uint64_t max_record : {std::uint64_t{10}, std::uint64_t{100'000}})
                    expect_oversized({delimiter, length, at_end, 30'000, 0}, max_record);
}

// Never more than a few bytes at a time: each delimiter is divided between reads.
TEST(SpooledOversized, delimiters_that_are_divided_between_reads) {
    for (const std::string &delimiter :
         {std::string("\r\n"), std::string("abc"), std::string("aab"), std::string("$$$$")})
        for (const std::uint64_t read_bytes : {1u, 2u, 3u})
            for (std::size_t length = 4'090; length < 4'120; ++length)
                expect_oversized({delimiter, length, false, 2, read_bytes}, 10);
}

// Parts of a delimiter stand where the window ends.
TEST(SpooledOversized, what_begins_like_a_delimiter) {
    const std::string delimiter = "aab";
    Random random(3);
    for (std::size_t shift = 0; shift < 12; ++shift) {
        std::string record(4'090 + shift, 'x');
        for (int i = 0; i < 3'000; ++i)
            record += "aaxaxa";
        const std::string data = record + "aaab" + record + delimiter + "c";
        SpooledRun run(delimited(delimiter), 10, 5);
        ASSERT_EQ(drive(run, data, {{0, 1}, 7}, random), Next::end);
        EXPECT_EQ(check_cuts(run, data, test::oracle_records(data, delimiter), 10, 0), "");
        EXPECT_EQ(run.cuts()[0].cut.record_bytes, record.size() + 1);
    }
}

TEST(SpooledOversized, many_in_a_row_without_room) {
    std::string data;
    for (int i = 0; i < 60; ++i)
        data += std::string(1'000 + 7'919 * std::size_t(i) % 90'000, char('a' + i % 26)) + "\n";
    SpooledRun run(delimited("\n"), 500, 0, 1);
    Random random(5);
    ASSERT_EQ(drive(run, data, {{0, 1}, 20'000, 100}, random), Next::end);
    EXPECT_EQ(check_cuts(run, data, test::oracle_records(data, "\n"), 500, 0), "");
}

TEST(SpooledOversized, a_source_that_ends_in_the_middle_of_what_is_kept) {
    SpooledRun run(delimited("\n"), 10, 0);
    run.pipe().write(std::string(4'098, 'x'));
    EXPECT_EQ(run.next({0, 1}), Next::wait_for_data);
    run.pipe().close();
    ASSERT_EQ(run.next({0, 1}), Next::cut);
    EXPECT_EQ(run.cuts()[0].cut.record_bytes, 4'098u);
    EXPECT_FALSE(run.cuts()[0].cut.ends_source);
    EXPECT_EQ(run.next({0, 1}), Next::end);
}

// What is behind it in the slot does not count: the number of records stays exact.
TEST(SpooledOversized, many_records_that_are_not_too_long_are_not_divided) {
    std::string data;
    for (int i = 0; i < 2'000; ++i)
        data += std::string(99, 'x') + "\n";
    SpooledRun run(delimited("\n"), 99, 0);
    Random random(9);
    ASSERT_EQ(drive(run, data, {{300, 1}, 777}, random), Next::end);
    EXPECT_EQ(check_cuts(run, data, test::oracle_records(data, "\n"), 99, 300), "");
}

TEST(SpooledOversized, no_max_record_at_all) {
    SpooledRun run(delimited("\n"), ~std::uint64_t{0}, 0);
    run.pipe().write("tw");
    EXPECT_EQ(run.next({0, 10}), Next::wait_for_data);
    run.pipe().write("o\n");
    run.pipe().close();
    ASSERT_EQ(run.next({0, 10}), Next::cut);
    EXPECT_EQ(run.cuts()[0].cut.record_bytes, 0u);
}

// --- everything at random -----------------------------------------------------------------------

std::string random_lines(Random &random, const std::string &delimiter) {
    std::string data = test::random_data(random, delimiter, random.one_in(10) ? 300'000 : 2'000);
    if (random.one_in(8)) // a long one in the middle of it
        data.insert(random.below(data.size() + 1), std::string(random.below(200'000), 'l'));
    return data;
}

TEST(SpooledSource, delimited_at_random) {
    static const std::string delimiters[] = {"\n", "\r\n", "$$", "aab", "aba", "abc", "$$$$"};
    const test::SeedRange seeds(3'000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Random random(seed);
        const std::string delimiter = delimiters[random.below(std::size(delimiters))];
        const std::string data = random_lines(random, delimiter);
        Drive how;
        how.size.records = random.one_in(3) ? random.between(1, 50) : 0;
        how.size.bytes = random.between(1, random.one_in(2) ? 100 : 100'000);
        how.step_max = data.size() > 10'000 ? 30'000 : random.between(1, 500);
        how.in_flight_max = random.below(6);
        how.flush_one_in = random.below(4);
        const std::uint64_t max_record = random.one_in(3) ? random.between(1, 6'000) : kNoLimit;
        const std::uint64_t read_bytes =
            random.one_in(2) ? random.between(data.size() > 10'000 ? 1'000 : 1, 5'000) : 0;
        const std::size_t buffered = random.one_in(4) ? random.below(data.size() + 1) : 0;
        SpooledRun run(delimited(delimiter), max_record, read_bytes, 1 + random.below(400'000),
                       data.substr(0, buffered));
        const Next ended = drive(run, data.substr(buffered), how, random);
        ASSERT_EQ(ended, Next::end) << test::replay(seed);
        ASSERT_EQ(run.source().bytes(), data.size()) << test::replay(seed);
        ASSERT_EQ(check_cuts(run, data, test::oracle_records(data, delimiter), max_record,
                             how.size.records),
                  "")
            << test::replay(seed);
        ASSERT_EQ(run.bytes_left_in_use(), 0u) << test::replay(seed);
    }
}

// Records that are no text: each ends where it says.
TEST(SpooledSource, frames_and_fixed_records_at_random) {
    const test::SeedRange seeds(2'000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Random random(seed);
        const std::uint64_t fixed_bytes = random.one_in(2) ? random.between(1, 70'000) : 0;
        std::string data = "r"; // what is no magic number of a compression
        std::vector<OracleRecord> records;
        if (fixed_bytes == 0)
            data.clear();
        for (std::uint64_t count = random.below(random.one_in(5) ? 100 : 10) + 1; count > 0; --count) {
            const std::uint64_t begin = records.empty() ? 0 : records.back().next;
            const std::uint64_t bytes = fixed_bytes > 0         ? fixed_bytes
                                        : random.one_in(10) ? random.below(150'000)
                                                            : random.below(300);
            if (fixed_bytes == 0)
                for (int shift = 0; shift < 32; shift += 8)
                    data += static_cast<char>(bytes >> shift & 0xff);
            data.resize(begin + bytes + (fixed_bytes > 0 ? 0 : 4), 'r');
            records.push_back({begin, data.size() - 1, data.size()}); // never "open"
        }
        Drive how;
        how.size.records = random.one_in(3) ? random.between(1, 9) : 0;
        how.size.bytes = random.between(1, 100'000);
        how.step_max = 40'000;
        how.in_flight_max = random.below(6);
        how.flush_one_in = random.below(4);
        const Framing framing{fixed_bytes > 0 ? Framing::Kind::fixed : Framing::Kind::u32le, "",
                              fixed_bytes};
        SpooledRun run(framing, kNoLimit, random.one_in(2) ? random.between(500, 5'000) : 0,
                       1 + random.below(400'000));
        ASSERT_EQ(drive(run, data, how, random), Next::end) << test::replay(seed);
        ASSERT_EQ(check_cuts(run, data, records, kNoLimit, how.size.records), "")
            << test::replay(seed);
        ASSERT_EQ(run.bytes_left_in_use(), 0u) << test::replay(seed);
    }
}

} // namespace
} // namespace gristmill::input
