// Whatever bytes come from, and however: the output is that of the same bytes in a file.
#include <csignal>
#include <fcntl.h>
#include <random>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/feeder.hpp"
#include "support/gzip.hpp"
#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

using Random = std::mt19937_64;

std::string letters(Random &random, std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i)
        text += random() % 2 ? 'a' : 'b';
    return text;
}

std::string frames(Random &random, std::size_t count) {
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string record = letters(random, random() % 50);
        for (int byte = 0; byte < 4; ++byte)
            bytes += static_cast<char>(record.size() >> (8 * byte));
        bytes += record;
    }
    return bytes;
}

// What a stream gives: all batches joined.
struct Streamed {
    std::string bytes;
    Report report;
    std::vector<RecordFailure> errors;
};

Streamed take_all(Engine &engine, const Payload &payload, const Sources &sources,
                  const RunOptions &options) {
    Streamed streamed;
    Result<Stream> stream = engine.stream(payload, sources, options);
    if (!stream) {
        ADD_FAILURE() << stream.error().message;
        return streamed;
    }
    for (;;) {
        Result<std::optional<OutputBatch>> batch = stream->next();
        if (!batch) {
            ADD_FAILURE() << batch.error().message;
            break;
        }
        if (!*batch)
            break;
        streamed.bytes += text_of((*batch)->data);
    }
    EXPECT_TRUE(stream->closed());
    streamed.report = stream->report();
    streamed.errors = stream->errors();
    return streamed;
}

class StreamedSource : public ::testing::Test {
  protected:
    StreamedSource() { std::signal(SIGPIPE, SIG_IGN); }

    // The source, by all three ways, against the file's bytes and records.
    void expect_identity(const Feeder &fed, const Crew &crew, int way, const std::string &data,
                         const RunOptions &options, std::uint64_t records) {
        Engine &engine = engines_.get(crew);
        const RunOptions run = in(crew, options);
        Report report;
        std::string bytes;
        if (way == 0) {
            Result<Results> results = engine.map(bundled("identity"), {fed.source()}, run);
            ASSERT_TRUE(results) << results.error().message;
            bytes = outcome_of(*results).bytes;
            report = results->report();
        } else if (way == 1) {
            const std::string path = scratch_.path("out");
            Result<RunOutcome> ran =
                engine.run(bundled("identity"), {fed.source()},
                           {OutputTarget::Kind::path, path, -1}, run);
            ASSERT_TRUE(ran) << ran.error().message;
            bytes = read_file(path);
            report = ran->report;
        } else {
            const Streamed streamed = take_all(engine, bundled("identity"), {fed.source()}, run);
            bytes = streamed.bytes;
            report = streamed.report;
            if (bytes.size() > data.size()) // batches always end with the delimiter
                bytes.resize(data.size());
        }
        EXPECT_EQ(bytes, data);
        EXPECT_EQ(report.read, records);
        EXPECT_EQ(report.emitted, records);
        EXPECT_EQ(report.input_bytes, data.size());
        EXPECT_EQ(report.discarded, 0u);
    }

    const Scratch scratch_;
    EnginePool engines_;
};

RunOptions random_options(Random &random, std::size_t bytes) {
    RunOptions options;
    const std::size_t kind = random() % 3;
    if (kind == 0)
        options.batch_bytes = 1 + random() % (bytes / 3 + 40);
    if (kind == 1)
        options.batch_records = 1 + random() % 30;
    if (random() % 3 == 0)
        options.test_read_bytes = 1 + random() % 300;
    if (random() % 4 == 0)
        options.memory_bytes = memory_bytes_min(7);
    return options;
}

TEST_F(StreamedSource, AgreesWithTheFileForDelimiters) {
    const std::uint64_t seed = random_seed();
    for (std::size_t round = 0; round < scaled(600); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        Random random(seed + round);
        const std::string delimiter = letters(random, 1 + random() % 4);
        const std::string data = letters(random, random() % (random() % 8 == 0 ? 20'000 : 300));
        RunOptions options = random_options(random, data.size());
        options.framing.delimiter = delimiter;
        const Kind kind = kKinds[random() % std::size(kKinds)];
        SCOPED_TRACE(name_of(kind));
        const Feeder fed(kind, scratch_, data, random(), random() % 3 == 0 ? random() % 20 : 0);
        const Crew crew{std::uint32_t(random() % 4), random() % 2 ? "1" : "@4",
                        random() % 2 ? Isolation::thread : Isolation::process};
        expect_identity(fed, crew, int(random() % 3), data, options,
                        split(data, delimiter).size());
        if (HasFailure())
            return;
    }
}

TEST_F(StreamedSource, AgreesWithTheFileForFramesAndFixedRecords) {
    const std::uint64_t seed = random_seed();
    for (std::size_t round = 0; round < scaled(400); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        Random random(seed + round);
        const std::size_t count = random() % (random() % 8 == 0 ? 2000 : 40);
        const bool framed = random() % 2;
        const std::uint64_t record_bytes = 1 + random() % 40;
        const std::string data =
            framed ? frames(random, count) : letters(random, count * record_bytes);
        RunOptions options = random_options(random, data.size());
        options.framing.kind = framed ? Framing::Kind::u32le : Framing::Kind::fixed;
        options.framing.record_bytes = framed ? 0 : record_bytes;
        const Kind kind = kKinds[random() % std::size(kKinds)];
        SCOPED_TRACE(name_of(kind));
        const Feeder fed(kind, scratch_, data, random());
        expect_identity(fed, {std::uint32_t(random() % 4), "1", Isolation::thread},
                        int(random() % 3), data, options, count);
        if (HasFailure())
            return;
    }
}

TEST_F(StreamedSource, LongRecordsMoveToLargerSlots) {
    const std::uint64_t seed = random_seed();
    for (const Kind kind : {Kind::pipe, Kind::fifo, Kind::socket}) {
        Random random(seed);
        std::string data;
        std::uint64_t records = 0;
        for (int i = 0; i < 60; ++i, ++records)
            data += std::string(random() % (i % 10 == 0 ? 6'000'000 : 3000), char('a' + i % 26)) + "\n";
        for (const std::uint64_t memory : {memory_bytes_min(2), RunOptions{}.memory_bytes}) {
            RunOptions options;
            options.memory_bytes = memory;
            const Feeder fed(kind, scratch_, data, seed);
            expect_identity(fed, {2, "1", Isolation::thread}, 1, data, options, records);
        }
    }
}

TEST_F(StreamedSource, RecordsThatAreTooLongFailAlone) {
    const std::uint64_t seed = random_seed();
    for (const std::size_t length : {6000u, 70'000u, 3'000'000u})
        for (const std::string &delimiter : {std::string("\n"), std::string("\r\n")}) {
            const std::string data = "first" + delimiter + std::string(length, 'x') + delimiter +
                                     "third" + delimiter + std::string(length, 'y');
            RunOptions options = delimited_by(delimiter);
            options.max_record_bytes = 5000;
            options.on_error = OnError::collect;
            const Feeder fed(Kind::pipe, scratch_, data, seed);
            const Streamed streamed =
                take_all(engines_.get({2, "1"}), bundled("identity"), {fed.source()}, options);
            EXPECT_EQ(streamed.bytes, "first" + delimiter + "third" + delimiter);
            EXPECT_EQ(streamed.report.read, 4u);
            EXPECT_EQ(streamed.report.failed, 2u);
            EXPECT_EQ(streamed.report.input_bytes, data.size());
            ASSERT_EQ(streamed.errors.size(), 2u);
            EXPECT_EQ(streamed.errors[0].byte_offset, 5 + delimiter.size());
            EXPECT_EQ(streamed.errors[0].excerpt, std::string(256, 'x'));
            EXPECT_EQ(streamed.errors[1].excerpt, std::string(256, 'y'));
        }
}

TEST_F(StreamedSource, CompressedFilesAndPipesGiveWhatIsInThem) {
    const std::uint64_t seed = random_seed();
    Random random(seed);
    std::string data;
    std::uint64_t records = 0;
    for (; data.size() < 3'000'000; ++records)
        data += letters(random, random() % 200) + "\n";
    const std::string packed[] = {gzipped(data), gzipped(data.substr(0, 1000)) +
                                                             gzipped(data.substr(1000))};
    for (const std::string &each : packed)
        for (const Kind kind : kKinds) {
            SCOPED_TRACE(name_of(kind));
            const Feeder fed(kind, scratch_, each, seed, kind == Kind::pipe ? 3 : 0);
            expect_identity(fed, {2, "1", Isolation::process}, int(random() % 3), data, {}, records);
        }
}

TEST_F(StreamedSource, DamageComesAfterWhatWasBeforeIt) {
    std::string data;
    for (int i = 0; data.size() < 2'000'000; ++i)
        data += "record " + std::to_string(i) + "\n";
    std::string packed = gzipped(data);
    packed.resize(packed.size() / 2);
    const std::string path = scratch_.write("half.gz", packed);
    Result<Stream> stream =
        engines_.get({2, "1"}).stream(bundled("identity"), {Source(path)}, RunOptions{});
    ASSERT_TRUE(stream);
    std::string bytes;
    Result<std::optional<OutputBatch>> batch = stream->next();
    for (; batch && *batch; batch = stream->next())
        bytes += text_of((*batch)->data);
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().kind, ErrorKind::source);
    EXPECT_EQ(batch.error().path, path);
    EXPECT_NE(batch.error().message.find("ends in the middle"), std::string::npos)
        << batch.error().message;
    EXPECT_GT(bytes.size(), data.size() / 4);
    EXPECT_EQ(bytes, data.substr(0, bytes.size()));
    EXPECT_TRUE(bytes.ends_with("\n"));
}

TEST_F(StreamedSource, SourcesOfAllKindsOneAfterTheOther) {
    const std::string path = scratch_.write("plain", "one\ntwo\n");
    const std::string packed = scratch_.write("packed", gzipped("three\nfour"));
    const Scratch other;
    const Feeder fed(Kind::pipe, other, "five\nsix\n", 1);
    const Sources sources{path, packed, fed.source(), path, packed};
    for (const Crew &crew : {Crew{0, "1"}, Crew{2, "1"}, Crew{2, "1", Isolation::thread}}) {
        const Feeder again(Kind::fifo, other, "five\nsix\n", 1);
        Sources these = sources;
        these[2] = again.source();
        Result<Results> results =
            engines_.get(crew).map(bundled("identity"), these, in(crew, with_batch_records(1)));
        ASSERT_TRUE(results) << results.error().message;
        EXPECT_EQ(outcome_of(*results).records,
                  (std::vector<std::string>{"one", "two", "three", "four", "five", "six", "one",
                                            "two", "three", "four"}));
        EXPECT_EQ(results->report().sources, 5u);
    }
}

// They are decoded at the same time; a damaged one among them is told of in its turn.
TEST_F(StreamedSource, ManyCompressedFilesComeInOrder) {
    Random random(random_seed());
    Sources sources;
    std::vector<std::string> expected;
    for (int file = 0; file < 40; ++file) {
        std::string data;
        for (std::size_t lines = random() % 2000; lines > 0; --lines)
            data += std::to_string(file) + " " + std::to_string(lines) + "\n";
        const bool packed = file % 5 != 3;
        sources.push_back(scratch_.write("file" + std::to_string(file), packed ? gzipped(data) : data));
        for (std::string &line : split(data, "\n"))
            expected.push_back(std::move(line));
    }
    for (const Crew &crew : {Crew{0, "1"}, Crew{2, "1"}, Crew{7, "1", Isolation::thread}}) {
        Result<Results> results = engines_.get(crew).map(bundled("identity"), sources, in(crew));
        ASSERT_TRUE(results) << results.error().message;
        EXPECT_TRUE(outcome_of(*results).records == expected);
        EXPECT_EQ(results->report().sources, 40u);
        Result<Stream> left = engines_.get(crew).stream(bundled("identity"), sources, in(crew));
        ASSERT_TRUE(left);
        ASSERT_TRUE(left->next().ok()); // and the rest is given up
    }
    Sources damaged = sources;
    damaged[30] = scratch_.write("damaged", gzipped(std::string(100'000, 'x')).substr(0, 60));
    const Result<Results> results =
        engines_.get({7, "1"}).map(bundled("identity"), damaged, RunOptions{});
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().path, damaged[30].path);
}

// An endless source, and a stream that is left: nothing waits for the end of either.
TEST_F(StreamedSource, AStreamThatIsLeftEndsAtOnce) {
    for (const Crew &crew : {Crew{0, "1"}, Crew{2, "1"}, Crew{2, "1", Isolation::thread}}) {
        Engine &engine = engines_.get(crew);
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        for (const bool silent : {false, true}) {
            if (!silent)
                ASSERT_EQ(::write(ends[1], "one\ntwo\n", 8), 8);
            const Source source = Source::from_descriptor(ends[0], "<pipe>");
            Result<Stream> stream = engine.stream(bundled("identity"), {source}, in(crew));
            ASSERT_TRUE(stream);
            if (!silent) {
                const Result<std::optional<OutputBatch>> batch = stream->next();
                ASSERT_TRUE(batch && *batch) << "without waiting for more input, or its end";
                EXPECT_EQ(text_of((*batch)->data), "one\ntwo\n");
            }
            stream->close();
            EXPECT_TRUE(stream->closed());
        }
        ::close(ends[0]);
        ::close(ends[1]);
        Result<Results> results = // the engine is free again
            engine.map(bundled("identity"), {scratch_.write("after", "fine\n")}, in(crew));
        ASSERT_TRUE(results) << results.error().message;
    }
}

TEST_F(StreamedSource, InterruptedWhileItWaits) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Source source = Source::from_descriptor(ends[0], "<pipe>");
    Result<Stream> stream = engines_.get({2, "1"}).stream(bundled("identity"), {source}, {});
    ASSERT_TRUE(stream);
    const Result<std::optional<OutputBatch>> batch = stream->next([] { return true; });
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().kind, ErrorKind::interrupted);
    EXPECT_TRUE(stream->closed());
    ::close(ends[0]);
    ::close(ends[1]);
}

} // namespace
} // namespace gristmill::e2e
