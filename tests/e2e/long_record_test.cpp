// Records longer than any buffer, and longer than allowed.
#include <algorithm>
#include <fcntl.h>
#include <span>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

constexpr std::uint64_t kMega = std::uint64_t{1} << 20;

class LongRecord : public ::testing::Test {
  protected:
    // Three short records, a long one of NUL bytes (a hole in the file), three short ones.
    std::string write_long(std::uint64_t bytes) const {
        const std::string path = scratch_.write("long", "a\nbb\nccc\n");
        const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        const std::string tail = "\nd\nee\nfff\n";
        EXPECT_EQ(::pwrite(fd, tail.data(), tail.size(), static_cast<off_t>(9 + bytes)),
                  static_cast<ssize_t>(tail.size()));
        ::close(fd);
        return path;
    }

    void expect_alone(Engine &engine, const std::string &path, std::uint64_t bytes,
                      RunOptions options, const std::string &neighbours) {
        options.on_error = OnError::skip;
        EXPECT_EQ(complete(engine, Way::run, bundled("identity"), {path}, options).bytes,
                  neighbours);
        options.on_error = OnError::collect;
        const Outcome outcome = complete(engine, Way::map, bundled("identity"), {path}, options);
        EXPECT_EQ(outcome.bytes, neighbours);
        expect_accounted(outcome.report, {path}, 7);
        EXPECT_EQ(outcome.report.failed, 1u);
        ASSERT_EQ(outcome.errors.size(), 1u);
        const RecordFailure &failure = outcome.errors[0];
        EXPECT_EQ(failure.record_index, 3u);
        EXPECT_EQ(failure.byte_offset, 9u);
        EXPECT_EQ(failure.source, path);
        EXPECT_NE(failure.reason.find(std::to_string(bytes)), std::string::npos)
            << failure.reason;
        EXPECT_NE(failure.reason.find("max_record"), std::string::npos) << failure.reason;
    }

    const Scratch scratch_;
    EnginePool engines_;
};

const std::vector<Crew> kCrews{{0, "1"}, {1, "1"}, {2, "@2"}, {7, "1"}};

// 300 MB between short ones: every byte of it arrives.
TEST_F(LongRecord, LongerThanAnyBuffer) {
    const std::uint64_t bytes = (kSanitized ? 30 : 300) * 1'000'000;
    const std::string path = write_long(bytes);
    for (const Crew &crew : {Crew{2, "1"}, Crew{0, "1"}})
        for (const bool sequential : {false, true}) {
            RunOptions options;
            if (sequential)
                options.batch_records = 2;
            const Result<Results> results =
                engines_.get(crew).map(bundled("identity"), {path}, options);
            ASSERT_TRUE(results.ok()) << results.error().message;
            ASSERT_EQ(results->size(), 7u);
            EXPECT_EQ(text_of((*results)[2]), "ccc");
            const std::span<const std::byte> record = (*results)[3];
            EXPECT_EQ(record.size(), bytes);
            EXPECT_EQ(std::count(record.begin(), record.end(), std::byte{0}),
                      static_cast<std::ptrdiff_t>(bytes));
            EXPECT_EQ(text_of((*results)[6]), "fff");
        }
}

TEST_F(LongRecord, LongerThanAnyBufferIntoAFile) {
    const std::uint64_t bytes = (kSanitized ? 30 : 300) * 1'000'000;
    const std::string path = write_long(bytes);
    const Outcome outcome =
        complete(engines_.get({2, "1"}), Way::run, bundled("identity"), {path}, {});
    EXPECT_TRUE(outcome.bytes == read_file(path));
    expect_accounted(outcome.report, {path}, 7);
}

TEST_F(LongRecord, LongerThanAllowedFailsAlone) {
    const std::string neighbours = "a\nbb\nccc\nd\nee\nfff\n";
    for (const std::uint64_t bytes : {kMega + 1, 3 * kMega, kSanitized ? 9 * kMega : 99 * kMega}) {
        const std::string path = write_long(bytes);
        for (const Crew &crew : kCrews)
            for (const std::int64_t batch : {0, 1, 4096, 1 << 28, -1, -4}) {
                RunOptions options;
                options.max_record_bytes = kMega;
                if (batch > 0)
                    options.batch_bytes = std::max<std::uint64_t>(
                        static_cast<std::uint64_t>(batch), kSanitized ? 4096 : 1024);
                if (batch < 0)
                    options.batch_records = static_cast<std::uint64_t>(-batch);
                SCOPED_TRACE(::testing::Message() << bytes << " bytes, " << crew << ", batch "
                                                  << batch);
                expect_alone(engines_.get(crew), path, bytes, options, neighbours);
                if (HasFailure())
                    return;
            }
    }
}

TEST_F(LongRecord, LongerThanAllowedByABorderedDelimiter) {
    const std::string path =
        scratch_.write("bordered", "a$$bb$$ccc$$" + std::string(5000, 'x') + "$$d$$ee$$fff$$");
    for (const Crew &crew : kCrews)
        for (const std::uint64_t read : {0, 7, 4096}) {
            RunOptions options = delimited_by("$$");
            options.max_record_bytes = 4999;
            options.test_read_bytes = read;
            options.on_error = OnError::collect;
            const Outcome outcome =
                complete(engines_.get(crew), Way::map, bundled("identity"), {path}, options);
            EXPECT_EQ(outcome.bytes, "a$$bb$$ccc$$d$$ee$$fff$$");
            ASSERT_EQ(outcome.errors.size(), 1u);
            EXPECT_EQ(outcome.errors[0].record_index, 3u);
            EXPECT_EQ(outcome.errors[0].byte_offset, 12u);
            ASSERT_NE(outcome.errors[0].reason.find("5000"), std::string::npos)
                << outcome.errors[0].reason;
        }
}

// One byte less is allowed, and the last record of a file is no exception.
TEST_F(LongRecord, ExactlyAsLongAsAllowed) {
    for (const std::string tail : {"\n", ""})
        for (const std::size_t bytes : {4999, 5000, 5001})
            for (const bool sequential : {false, true})
                for (const Crew &crew : kCrews) {
                    const std::string path =
                        scratch_.write("exact", "a\n" + std::string(bytes, 'x') + tail);
                    RunOptions options;
                    options.max_record_bytes = 5000;
                    options.on_error = OnError::skip;
                    if (sequential)
                        options.batch_records = 10;
                    const Outcome outcome = complete(engines_.get(crew), Way::map,
                                                     bundled("identity"), {path}, options);
                    EXPECT_EQ(outcome.report.failed, bytes > 5000 ? 1u : 0u)
                        << bytes << " bytes, sequential " << sequential;
                    EXPECT_EQ(outcome.bytes.size(), bytes > 5000 ? 2 : 2 + bytes + tail.size())
                        << bytes << " bytes, sequential " << sequential << ", tail "
                        << tail.size();
                }
}

// Under raise it is the run's error, with what stands before delivered.
TEST_F(LongRecord, LongerThanAllowedUnderRaise) {
    const std::string path = write_long(3 * kMega);
    for (const Crew &crew : kCrews)
        for (const bool sequential : {false, true}) {
            RunOptions options;
            options.max_record_bytes = kMega;
            if (sequential)
                options.batch_records = 2;
            const Error error =
                failing(engines_.get(crew), Way::map, bundled("identity"), {path}, options);
            EXPECT_EQ(error.kind, ErrorKind::record);
            ASSERT_TRUE(error.record);
            EXPECT_EQ(error.record->record_index, 3u);
            EXPECT_EQ(error.record->byte_offset, 9u);
        }
}

// The first bytes of it are known all the same.
TEST_F(LongRecord, LongerThanAllowedShowsItsFirstBytes) {
    const std::string record = "begins like this" + std::string(9000, 'x');
    const std::string path = scratch_.write("shown", "a\n" + record + "\nb\n");
    for (const bool sequential : {false, true}) {
        RunOptions options;
        options.max_record_bytes = 5000;
        options.on_error = OnError::collect;
        if (sequential)
            options.batch_records = 2;
        const Outcome outcome =
            complete(engines_.get({2, "1"}), Way::map, bundled("identity"), {path}, options);
        ASSERT_EQ(outcome.errors.size(), 1u);
        EXPECT_EQ(outcome.errors[0].excerpt, record.substr(0, 256));
    }
}

} // namespace
} // namespace gristmill::e2e
