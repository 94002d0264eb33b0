// The cutter against an oracle: whole records, left to right, exactly as many as were asked for.
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "input/sequential_cutter.hpp"
#include "record/framing_rules.hpp"
#include "support/record_oracle.hpp"
#include "support/test_file.hpp"

namespace gristmill::input {
namespace {

using test::OracleRecord;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;

struct Case {
    std::string data;
    Framing framing;
    CutSize size;
    std::uint64_t max_record = kNoLimit;
    std::uint64_t read_bytes = 0;

    std::string text() const {
        return "data='" + data.substr(0, 200) + "' delimiter='" + framing.delimiter +
               "' records=" + std::to_string(size.records) + " bytes=" +
               std::to_string(size.bytes) + " max_record=" + std::to_string(max_record) +
               " read_bytes=" + std::to_string(read_bytes);
    }
};

// Where the records of one cut must end: before `first` lies what was cut already.
struct Expected {
    std::size_t count = 0;
    bool oversized = false;
};

Expected expect_cut(const std::vector<OracleRecord> &records, std::size_t first,
                    const Case &given) {
    Expected expected;
    for (std::size_t i = first; i < records.size(); ++i) {
        if (records[i].end - records[i].begin > given.max_record) {
            if (expected.count == 0)
                return {1, true};
            return expected;
        }
        ++expected.count;
        const bool full = given.size.records > 0
                              ? expected.count == given.size.records
                              : records[i].next - records[first].begin >= given.size.bytes;
        if (full)
            return expected;
    }
    return expected;
}

// Cuts the whole file and compares each cut. Empty: all is well.
std::string cut_all(const Case &given, test::MemoryFile &file) {
    file.write(given.data);
    const auto records = test::oracle_records(given.data, given.framing.delimiter);
    SequentialCutter cutter(file.fd(), given.data.size(), 0, given.framing, given.max_record,
                            given.read_bytes);
    std::size_t first = 0;
    for (Cut cut;;) {
        const CutStatus status = cutter.next(given.size, cut);
        if (status == CutStatus::failed)
            return "failed: " + cutter.failure().reason;
        if (status == CutStatus::end)
            return first == records.size() ? "" : "ends too early";
        if (first == records.size())
            return "goes on behind the end";
        const Expected expected = expect_cut(records, first, given);
        const std::uint64_t end = records[first + expected.count - 1].next;
        if (cut.record_count != expected.count || (cut.oversized_bytes > 0) != expected.oversized ||
            cut.begin != records[first].begin || cut.end != end)
            return "cut " + std::to_string(cut.begin) + ".." + std::to_string(cut.end) + " with " +
                   std::to_string(cut.record_count) + " records" +
                   ((cut.oversized_bytes > 0) ? ", oversized" : "") + " instead of .." + std::to_string(end);
        first += expected.count;
    }
}

TEST(SequentialCutter, all_small_files) {
    test::MemoryFile file;
    constexpr std::size_t kLengthMax = test::kSanitizerCost > 1 ? 6 : 8;
    for (const std::string delimiter : {"a", "aa", "aba", "aab", "abab", "aaaa"})
        for (std::size_t length = 0; length <= kLengthMax; ++length)
            for (std::uint64_t number = 0; number < std::uint64_t{1} << length; ++number)
                for (const std::uint64_t read_bytes : {0, 1, 2})
                    for (const CutSize size : {CutSize{1, 0}, CutSize{2, 0}, CutSize{0, 1},
                                               CutSize{0, 3}})
                        for (const std::uint64_t max_record : {kNoLimit, std::uint64_t{2}}) {
                            const Case given{test::ab_string(length, number),
                                             {Framing::Kind::delimiter, delimiter, 0},
                                             size, max_record, read_bytes};
                            ASSERT_EQ(cut_all(given, file), "") << given.text();
                        }
}

TEST(SequentialCutter, random_files) {
    static const std::vector<std::string> delimiters = {"\n",   "$$",     "$$$$", "\n\n",
                                                        "aba", "abcabc", "\r\n"};
    test::MemoryFile file;
    const test::SeedRange seeds(3000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        Case given;
        given.framing.delimiter = delimiters[random.below(delimiters.size())];
        const bool large = random.one_in(100);
        given.data = test::random_data(random, given.framing.delimiter, large ? 3'000'000 : 500);
        if (random.one_in(2))
            given.size.records = random.between(1, 10);
        else
            given.size.bytes = random.between(1, large ? 100'000 : 100);
        if (random.one_in(2))
            given.max_record = random.between(1, 50);
        if (!large)
            given.read_bytes = random.below(20);
        ASSERT_EQ(cut_all(given, file), "") << given.text() << test::replay(seed);
    }
}

// Each cut must be what a worker then finds when it reads those bytes.
TEST(SequentialCutter, a_record_longer_than_the_window) {
    const std::string data =
        std::string(5'000'000, 'x') + "$$$$y$$$$$" + std::string(2'000'000, '$');
    test::MemoryFile file(data);
    const Framing framing{Framing::Kind::delimiter, "$$$$", 0};
    const Case given{data, framing, {1, 0}, kNoLimit, 0};
    EXPECT_EQ(cut_all(given, file), "");
    EXPECT_EQ(cut_all({data, framing, {0, 65536}, 1'000'000, 0}, file), "");
}

// --- frames ------------------------------------------------------------------------------------

std::string frame(std::uint32_t length, const std::string &record) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8)
        bytes += static_cast<char>(length >> shift & 0xff);
    return bytes + record;
}
std::string frame(const std::string &record) { return frame(std::uint32_t(record.size()), record); }

const Framing kFrames{Framing::Kind::u32le, "", 0};

TEST(SequentialCutter, frames_at_random) {
    test::MemoryFile file;
    const test::SeedRange seeds(2000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        std::string data;
        std::vector<std::uint64_t> ends;
        for (std::uint64_t count = random.below(20); count > 0; --count) {
            data += frame(std::string(random.one_in(5) ? 0 : random.below(50), 'x'));
            ends.push_back(data.size());
        }
        file.write(data);
        const std::uint64_t records = random.between(1, 4);
        SequentialCutter cutter(file.fd(), data.size(), 0, kFrames, kNoLimit, random.below(8));
        std::size_t done = 0;
        Cut cut;
        while (cutter.next({records, 0}, cut) == CutStatus::cut) {
            const std::size_t next = std::min<std::size_t>(done + records, ends.size());
            ASSERT_EQ(cut.begin, done == 0 ? 0 : ends[done - 1]) << test::replay(seed);
            ASSERT_EQ(cut.end, ends[next - 1]) << test::replay(seed);
            ASSERT_EQ(cut.record_count, next - done) << test::replay(seed);
            done = next;
        }
        ASSERT_EQ(done, ends.size()) << test::replay(seed);
    }
}

struct BrokenFrames {
    std::string tail;
    std::string reason;
};

TEST(SequentialCutter, broken_frames_fail_behind_what_was_whole) {
    const std::string good = frame("one") + frame("two");
    for (const BrokenFrames &broken :
         {BrokenFrames{std::string(3, '\1'), "ends in the middle of a frame's length"},
          BrokenFrames{frame(10, "short"), "only 5 bytes are left"},
          BrokenFrames{frame(6, "short"), "only 5 bytes are left"},
          BrokenFrames{frame(0xffffffff, "x"), "only 1 bytes are left"},
          BrokenFrames{frame(std::string(101, 'x')), "longer than max_record (100 bytes)"}}) {
        const std::string data = good + broken.tail;
        test::MemoryFile file(data);
        SequentialCutter cutter(file.fd(), data.size(), 0, kFrames, 100, 0);
        Cut cut;
        ASSERT_EQ(cutter.next({0, 1000}, cut), CutStatus::cut) << broken.reason;
        EXPECT_EQ(cut.end, good.size());
        EXPECT_EQ(cut.record_count, 2u);
        ASSERT_EQ(cutter.next({0, 1000}, cut), CutStatus::failed) << broken.reason;
        EXPECT_EQ(cutter.failure().offset, good.size());
        EXPECT_EQ(cutter.failure().os_errno, 0);
        EXPECT_NE(cutter.failure().reason.find(broken.reason), std::string::npos)
            << cutter.failure().reason;
        EXPECT_EQ(cutter.next({0, 1000}, cut), CutStatus::failed) << "and stays so";
    }
}

TEST(SequentialCutter, a_frame_of_exactly_max_record_is_allowed) {
    const std::string data = frame(std::string(100, 'x'));
    test::MemoryFile file(data);
    SequentialCutter cutter(file.fd(), data.size(), 0, kFrames, 100, 0);
    Cut cut;
    EXPECT_EQ(cutter.next({1, 0}, cut), CutStatus::cut);
    EXPECT_EQ(cutter.next({1, 0}, cut), CutStatus::end);
}

// --- files that fail ---------------------------------------------------------------------------

TEST(SequentialCutter, a_file_that_shrank) {
    const Framing framing{Framing::Kind::delimiter, "$$", 0};
    test::MemoryFile file("one$$two$$thr");
    SequentialCutter cutter(file.fd(), 100, 0, framing, kNoLimit, 1);
    Cut cut;
    ASSERT_EQ(cutter.next({2, 0}, cut), CutStatus::cut);
    EXPECT_EQ(cut.end, 10u);
    ASSERT_EQ(cutter.next({2, 0}, cut), CutStatus::failed);
    EXPECT_EQ(cutter.failure().offset, 13u);
    EXPECT_EQ(cutter.failure().reason, "shrank from 100 to 13 bytes while it was read");
}

TEST(SequentialCutter, a_descriptor_that_cannot_be_read) {
    const Framing framing{Framing::Kind::delimiter, "$$", 0};
    SequentialCutter cutter(-1, 100, 0, framing, kNoLimit, 0);
    Cut cut;
    ASSERT_EQ(cutter.next({2, 0}, cut), CutStatus::failed);
    EXPECT_EQ(cutter.failure().os_errno, EBADF);
}

} // namespace
} // namespace gristmill::input
