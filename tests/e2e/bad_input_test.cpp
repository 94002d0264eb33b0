// Input that is empty, torn, or not what its framing says.
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

const std::vector<Crew> kCrews{{0, "1"}, {1, "1"}, {2, "@2"}, {7, "@4"}};

RunOptions frames() {
    RunOptions options;
    options.framing.kind = Framing::Kind::u32le;
    return options;
}

RunOptions fixed(std::uint64_t bytes) {
    RunOptions options;
    options.framing.kind = Framing::Kind::fixed;
    options.framing.record_bytes = bytes;
    return options;
}

class BadInput : public ::testing::Test {
  protected:
    // Under each way of cutting, by each crew.
    template <class Body>
    void everywhere(const RunOptions &base, Body &&body) {
        for (const Crew &crew : kCrews)
            for (const std::int64_t batch : {0, 1, 13, 100'000, -1, -3})
                for (const std::uint64_t read : {0, 3}) {
                    RunOptions options = base;
                    if (batch > 0)
                        options.batch_bytes = static_cast<std::uint64_t>(batch);
                    if (batch < 0)
                        options.batch_records = static_cast<std::uint64_t>(-batch);
                    options.test_read_bytes = read;
                    SCOPED_TRACE(::testing::Message() << crew << ", batch " << batch << ", read "
                                                      << read);
                    body(engines_.get(crew), options);
                    if (HasFailure())
                        return;
                }
    }

    void expect_identity(const RunOptions &base, const std::vector<std::string> &sources,
                         const std::vector<std::string> &records, const std::string &bytes) {
        std::vector<std::string> paths;
        for (std::size_t i = 0; i < sources.size(); ++i)
            paths.push_back(scratch_.write("source" + std::to_string(i), sources[i]));
        everywhere(base, [&](Engine &engine, const RunOptions &options) {
            const Outcome mapped =
                complete(engine, Way::map, bundled("identity"), paths, options);
            EXPECT_TRUE(mapped.records == records) << mapped.records.size() << " records";
            EXPECT_TRUE(mapped.bytes == bytes) << mapped.bytes.size() << " bytes";
            expect_accounted(mapped.report, paths, records.size());
            const Outcome written =
                complete(engine, Way::run, bundled("identity"), paths, options);
            EXPECT_TRUE(written.bytes == bytes) << written.bytes.size() << " bytes";
        });
    }

    void expect_source_error(const RunOptions &base, const std::string &bytes,
                             const std::string &before, std::uint64_t offset) {
        const std::string path = scratch_.write("source", bytes);
        const std::string out = scratch_.path("out");
        everywhere(base, [&](Engine &engine, const RunOptions &options) {
            const Error error = failing(engine, Way::map, bundled("identity"), {path}, options);
            EXPECT_EQ(error.kind, ErrorKind::source) << error.message;
            EXPECT_EQ(error.path, path);
            EXPECT_NE(error.message.find("byte " + std::to_string(offset)), std::string::npos)
                << error.message;
            // What came before the fault is delivered where output is written in place.
            std::filesystem::remove(out);
            const int fd = ::open(out.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
            const Result<RunOutcome> ran =
                engine.run(bundled("identity"), {path},
                           {OutputTarget::Kind::descriptor, {}, fd}, options);
            ::close(fd);
            EXPECT_FALSE(ran.ok());
            EXPECT_EQ(read_file(out), before);
        });
    }

    const Scratch scratch_;
    EnginePool engines_;
};

TEST_F(BadInput, Empty) {
    expect_identity({}, {""}, {}, "");
    expect_identity(frames(), {""}, {}, "");
    expect_identity(fixed(4), {"", ""}, {}, "");
    expect_identity(delimited_by("\n\n"), {"", "", ""}, {}, "");
}

TEST_F(BadInput, NoSourceAtAll) {
    const Outcome outcome =
        complete(engines_.get({2, "1"}), Way::map, bundled("identity"), {}, {});
    EXPECT_TRUE(outcome.bytes.empty());
    expect_accounted(outcome.report, {}, 0);
}

TEST_F(BadInput, NoFinalDelimiter) {
    expect_identity({}, {"a\nb"}, {"a", "b"}, "a\nb");
    expect_identity({}, {"a\nb\n"}, {"a", "b"}, "a\nb\n");
    expect_identity({}, {"a\nb", "c\n"}, {"a", "b", "c"}, "a\nb\nc\n");
    expect_identity({}, {"a\n", "b"}, {"a", "b"}, "a\nb");
    expect_identity({}, {"a", "b", ""}, {"a", "b"}, "a\nb");
    expect_identity({}, {"\n"}, {""}, "\n");
    expect_identity({}, {"\n\n", "\n"}, {"", "", ""}, "\n\n\n");
    expect_identity(delimited_by("\r\n"), {"a\r\nb\r", "c\n"}, {"a", "b\r", "c\n"},
                    "a\r\nb\r\r\nc\n");
}

TEST_F(BadInput, AnyBytes) {
    std::string every;
    for (int byte = 0; byte < 256; ++byte)
        every += static_cast<char>(byte);
    const std::string data = every + '\0' + "\n\0\n" + std::string(3, '\0') + every + every;
    expect_identity({}, {data}, split(data), data);
    const std::string nul(1, '\0');
    expect_identity(delimited_by(nul), {data}, split(data, nul), data);
    expect_identity(delimited_by("\xff"), {data}, split(data, "\xff"), data);
}

TEST_F(BadInput, DelimitersOfEveryKind) {
    const std::string long_one = std::string(99, 'd') + "e";
    std::string data = "one" + long_one + "two" + std::string(98, 'd') + long_one + long_one;
    expect_identity(delimited_by(long_one), {data}, split(data, long_one), data);
    data = "$$$$x$$$y$$$$\n\n$$$$$$$$tail";
    expect_identity(delimited_by("$$$$"), {data}, split(data, "$$$$"), data);
    data = "first\n\nsecond\nline\n\n\nthird\n\n\n\nlast";
    expect_identity(delimited_by("\n\n"), {data}, split(data, "\n\n"), data);
}

TEST_F(BadInput, Frames) {
    const std::vector<std::string> records{"", "a", std::string(300, 'b'), "", std::string(4, '\0'),
                                           "\n"};
    expect_identity(frames(), {framed(records)}, records, framed(records));
    std::vector<std::string> twice = records;
    twice.insert(twice.end(), records.begin(), records.end());
    expect_identity(frames(), {framed(records), framed(records)}, twice, framed(twice));
}

TEST_F(BadInput, FramesThatAreTorn) {
    const std::string good = framed({"one", "", "three"});
    for (const std::string &tail : {std::string("\5"), std::string("\5\0\0", 3)})
        expect_source_error(frames(), good + tail, good, good.size());
    expect_source_error(frames(), good + header(5) + "four", good, good.size());
    expect_source_error(frames(), good + header(0xffffffff) + "four", good, good.size());
    expect_source_error(frames(), header(1), "", 0);
}

TEST_F(BadInput, FramesLongerThanAllowed) {
    RunOptions options = frames();
    options.max_record_bytes = 10;
    const std::string good = framed({"0123456789", "b"});
    expect_source_error(options, good + framed({"01234567890", "c"}), good, good.size());
}

TEST_F(BadInput, FixedRecords) {
    expect_identity(fixed(1), {"abc"}, {"a", "b", "c"}, "abc");
    expect_identity(fixed(3), {"abcdef", "ghi"}, {"abc", "def", "ghi"}, "abcdefghi");
    const std::string wide(100, 'w');
    expect_identity(fixed(100), {wide + wide}, {wide, wide}, wide + wide);
}

TEST_F(BadInput, FixedRecordsThatAreTorn) {
    expect_source_error(fixed(4), "aaaabbbbcc", "aaaabbbb", 8);
    expect_source_error(fixed(4), "aaa", "", 0);
}

// Far more files than descriptors.
TEST_F(BadInput, ManySmallFiles) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    std::vector<std::string> paths;
    std::string expected;
    for (int i = 0; i < 500; ++i) {
        const std::string record = "record " + std::to_string(i);
        paths.push_back(scratch_.write(std::to_string(i), i % 7 ? record + "\n" : ""));
        expected += i % 7 ? record + "\n" : "";
    }
    for (const Isolation isolation : {Isolation::thread, Isolation::process}) {
        // Worker processes have their descriptors from 100 on.
        const rlimit few{isolation == Isolation::thread ? 64u : 128u, before.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        for (const Crew &crew : kCrews)
            for (const Way way : {Way::map, Way::run}) {
                Engine engine = make_engine(crew);
                RunOptions options;
                options.isolation = isolation;
                const Outcome outcome = complete(engine, way, bundled("identity"), paths, options);
                EXPECT_TRUE(outcome.bytes == expected);
                expect_accounted(outcome.report, paths, split(expected).size());
            }
    }
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(BadInput, OptionsThatMakeNoSense) {
    const std::string path = scratch_.write("a", "a\n");
    Engine &engine = engines_.get({1, "1"});
    std::vector<std::pair<RunOptions, std::string>> wrong(9);
    wrong[0].first.batch_records = wrong[0].first.batch_bytes = 1;
    wrong[0].second = "batch_records";
    wrong[1] = {with_batch_records(0), "batch_records"};
    wrong[2] = {with_batch_bytes(0), "batch_bytes"};
    wrong[3] = {delimited_by(""), "delimiter"};
    wrong[4] = {fixed(0), "framing"};
    wrong[5].first.max_record_bytes = 0;
    wrong[5].second = "max_record";
    wrong[6].first.max_errors = 1;
    wrong[6].second = "max_errors";
    wrong[7].first.errors_to = scratch_.path("letters");
    wrong[7].second = "errors_to";
    wrong[8].first.memory_bytes = 1;
    wrong[8].second = "memory";
    for (const auto &[options, name] : wrong)
        for (const Way way : {Way::map, Way::run}) {
            const Error error = failing(engine, way, bundled("identity"), {path}, options);
            EXPECT_EQ(error.kind, ErrorKind::invalid_option);
            EXPECT_NE(error.message.find(name), std::string::npos) << error.message;
        }
    EXPECT_EQ(scratch_.names(), std::vector<std::string>{"a"});
}

} // namespace
} // namespace gristmill::e2e
