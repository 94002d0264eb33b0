// Reads that are interrupted, short, or fail; memory that cannot be had, or given back: the output is
// right, or there is an error behind what came before it. This program is linked with
// preload/faulty_io, which stands before the C library; worker programs are not.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <random>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "preload/faulty_io.h"
#include "support/feeder.hpp"
#include "support/gzip.hpp"
#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

using Random = std::mt19937_64;

// Rules that hold as long as this lives.
class Faults {
  public:
    explicit Faults(const std::string &rules) {
        if (!::faulty_io_set(rules.c_str()))
            throw std::invalid_argument(rules);
    }
    ~Faults() { ::faulty_io_set(nullptr); }
    Faults(const Faults &) = delete;
    Faults &operator=(const Faults &) = delete;
    unsigned long hits(unsigned rule = 0) const { return ::faulty_io_hits(rule); }
};

std::string lines(Random &random, std::size_t bytes, std::size_t length_max) {
    std::string data;
    while (data.size() < bytes) {
        for (std::size_t length = random() % length_max; length > 0; --length)
            data += char('a' + random() % 26);
        data += '\n';
    }
    return data;
}

// One kind of source, fed with data; `packed`: by a compressed file.
class Fed {
  public:
    Fed(Kind kind, bool packed, const Scratch &scratch, const std::string &data, std::uint64_t seed)
        : kind_(kind) {
        feeder_.emplace(kind, scratch, packed ? gzipped(data) : data, seed);
        where_ = source().path;
        if (source().descriptor >= 0) {
            char link[4096] = {};
            const std::string path = "/proc/self/fd/" + std::to_string(source().descriptor);
            if (::readlink(path.c_str(), link, sizeof link - 1) < 0)
                throw std::runtime_error("readlink");
            where_ = link;
        }
    }
    // The writer of a FIFO may come when its reader has failed already: it must not wait for another.
    ~Fed() {
        std::atomic<bool> over{kind_ != Kind::fifo};
        std::thread reader([&] {
            const int fd = ::open(where_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
            char bytes[4096];
            while (!over.load())
                if (::read(fd, bytes, sizeof bytes) <= 0)
                    std::this_thread::yield();
            ::close(fd);
        });
        feeder_.reset();
        over.store(true);
        reader.join();
    }
    Fed(const Fed &) = delete;
    Fed &operator=(const Fed &) = delete;
    const Source &source() const { return feeder_->source(); }
    const std::string &where() const { return where_; } // as faulty_io wants it

  private:
    const Kind kind_;
    std::optional<Feeder> feeder_;
    std::string where_;
};

struct Way {
    Kind kind;
    bool packed;
};
constexpr Way kWays[] = {{Kind::pipe, false},  {Kind::fifo, false}, {Kind::socket, false},
                         {Kind::file, false},  {Kind::file, true},  {Kind::pipe, true},
                         {Kind::file_at_offset, false}};

// What came, and how it ended.
struct Came {
    std::string bytes;
    std::optional<Error> error;
    Report report;
};

Came take(Engine &engine, const Source &source, const RunOptions &options) {
    Came came;
    Result<Stream> stream = engine.stream(bundled("identity"), {source}, options);
    if (!stream) {
        came.error = stream.error();
        return came;
    }
    for (;;) {
        Result<std::optional<OutputBatch>> batch = stream->next();
        if (!batch)
            came.error = batch.error();
        if (!batch || !*batch)
            break;
        came.bytes += text_of((*batch)->data);
    }
    EXPECT_TRUE(stream->closed());
    came.report = stream->report();
    return came;
}

class IoFaults : public ::testing::Test {
  protected:
    IoFaults() {
        std::signal(SIGPIPE, SIG_IGN);
        ::alarm(kSanitized ? 280 : 120); // a run that hangs ends this program
    }
    ~IoFaults() override { ::alarm(0); }

    const Scratch scratch_;
    EnginePool engines_;
    const Crew crews_[2] = {{0, "1"}, {2, "1", Isolation::thread}};
};

TEST_F(IoFaults, InterruptedAndShortReadsChangeNothing) {
    const std::uint64_t seed = random_seed();
    Random random(seed);
    const std::string some = lines(random, 300'000, 200);
    const std::string long_ones = lines(random, 2'000'000, 300'000);
    unsigned long hits[4] = {};
    for (const std::string &data : {some, long_ones})
        for (const Way &way : kWays)
            for (const Crew &crew : crews_) {
                SCOPED_TRACE(name_of(way.kind));
                const Fed fed(way.kind, way.packed, scratch_, data, random());
                const std::string at_random = "@" + std::to_string(random());
                const Faults faults(
                    "read,pread,recv " + std::to_string(EINTR) + " 1/3" + at_random + " " + fed.where() +
                    ";read,pread,recv short 1/2" + at_random + " " + fed.where() +
                    ";pread,pwrite,ftruncate,fallocate " + std::to_string(EINTR) + " 1/3" +
                    at_random + " /memfd:gristmill-;pread,pwrite short 1/2" + at_random +
                    " /memfd:gristmill-");
                RunOptions options = in(crew);
                options.memory_bytes = memory_bytes_min(2);
                const Came came = take(engines_.get(crew), fed.source(), options);
                ASSERT_FALSE(came.error) << came.error->message;
                ASSERT_TRUE(came.bytes == data) << came.bytes.size() << " of " << data.size();
                for (unsigned rule = 0; rule < std::size(hits); ++rule)
                    hits[rule] += faults.hits(rule);
            }
    for (const unsigned long of_rule : hits)
        EXPECT_GT(of_rule, 20u);
}

TEST_F(IoFaults, AReadThatFailsComesBehindWhatWasRead) {
    const std::uint64_t seed = random_seed();
    Random random(seed);
    const std::string data = lines(random, 400'000, 200);
    for (const Way &way : kWays)
        for (const unsigned from : {1u, 2u, 3u, 5u, 9u, 20u})
            for (const Crew &crew : crews_) {
                SCOPED_TRACE(std::string(name_of(way.kind)) + ", from read " + std::to_string(from));
                const int failure = way.kind == Kind::socket ? ECONNRESET : EIO;
                const Fed fed(way.kind, way.packed, scratch_, data, random());
                const Faults faults("read,pread,recv " + std::to_string(failure) + " " +
                                    std::to_string(from) + "- " + fed.where());
                RunOptions options = in(crew);
                options.test_read_bytes = 10'000;
                const Came came = take(engines_.get(crew), fed.source(), options);
                if (faults.hits() == 0) {
                    EXPECT_FALSE(came.error);
                    EXPECT_TRUE(came.bytes == data);
                    continue;
                }
                ASSERT_TRUE(came.error) << "a success, of " << came.bytes.size() << " bytes";
                EXPECT_EQ(came.error->kind, ErrorKind::source) << came.error->message;
                EXPECT_EQ(came.error->os_errno, failure) << came.error->message;
                EXPECT_EQ(came.error->path, fed.source().path);
                EXPECT_TRUE(came.bytes == data.substr(0, came.bytes.size()));
                EXPECT_TRUE(came.bytes.empty() || came.bytes.ends_with("\n"));
                if (from >= 5 && way.kind == Kind::pipe && !way.packed) {
                    EXPECT_FALSE(came.bytes.empty()) << "what was read before is delivered";
                }
            }
}

// The same in worker programs: what they read and write is all in files in memory.
TEST_F(IoFaults, WorkerProgramsThatAreInterruptedOrHaveNoMemory) {
    if (kSanitized)
        GTEST_SKIP() << "a sanitizer has to be loaded first";
    const std::uint64_t seed = random_seed();
    Random random(seed);
    const std::string data = lines(random, 2'000'000, 3'000);
    const std::string interrupted = "pread,pwrite,ftruncate,fallocate " + std::to_string(EINTR) +
                                    " 1/3@" + std::to_string(seed) +
                                    " /memfd:;pread,pwrite short 1/2@1 /memfd:";
    const std::string full = "pwrite,ftruncate " + std::to_string(ENOSPC) + " 1- /memfd:";
    for (const bool fails : {false, true}) {
        ::setenv("LD_PRELOAD", GRISTMILL_FAULTY_IO, 1);
        ::setenv("FAULTY_IO_WORKERS", "1", 1);
        ::setenv("FAULTY_IO", fails ? full.c_str() : interrupted.c_str(), 1);
        const Crew crew{2, "1", Isolation::process};
        Engine engine = make_engine(crew);
        for (const Kind kind : {Kind::pipe, Kind::file}) {
            const Fed fed(kind, false, scratch_, data, random());
            Result<Results> results =
                engine.map(bundled("identity"), {fed.source()}, in(crew));
            ASSERT_EQ(results.ok(), !fails) << "in workers only";
            if (fails) {
                EXPECT_EQ(results.error().kind, ErrorKind::memory) << results.error().message;
            } else {
                EXPECT_TRUE(outcome_of(*results).bytes == data);
            }
        }
        for (const char *name : {"LD_PRELOAD", "FAULTY_IO_WORKERS", "FAULTY_IO"})
            ::unsetenv(name);
    }
}

// One bad read, and good ones behind it: it has failed all the same.
TEST_F(IoFaults, AReadThatFailsOnceIsNotForgotten) {
    Random random(random_seed());
    const std::string data = lines(random, 400'000, 200);
    for (const Way &way : kWays)
        for (const Crew &crew : crews_) {
            SCOPED_TRACE(name_of(way.kind));
            const Fed fed(way.kind, way.packed, scratch_, data, random());
            const Faults faults("read,pread,recv " + std::to_string(EIO) + " 3 " + fed.where());
            RunOptions options = in(crew);
            options.batch_bytes = 50'000;
            const Came came = take(engines_.get(crew), fed.source(), options);
            EXPECT_EQ(came.error.has_value(), faults.hits() > 0);
            EXPECT_TRUE(came.bytes == data.substr(0, came.bytes.size()));
        }
}

// Of any file in memory of the run: an error that says so, or the same bytes; and the engine lives.
TEST_F(IoFaults, MemoryThatCannotBeHadIsAnError) {
    const std::uint64_t seed = random_seed();
    Random random(seed);
    const std::string data = lines(random, 3'000'000, 200'000);
    unsigned errors = 0;
    for (const char *call : {"pwrite", "ftruncate", "pread"})
        for (const int failure : {ENOSPC, EFBIG})
            for (const unsigned from : {1u, 2u, 3u, 4u, 6u, 9u, 15u})
                for (const Crew &crew : crews_) {
                    SCOPED_TRACE(std::string(call) + " from " + std::to_string(from));
                    const bool packed = random() % 2;
                    const Fed fed(packed ? Kind::file : Kind::pipe, packed, scratch_, data, random());
                    Engine &engine = engines_.get(crew);
                    RunOptions options = in(crew);
                    options.memory_bytes = memory_bytes_min(2);
                    Came came;
                    {
                        const Faults faults(std::string(call) + " " + std::to_string(failure) + " " +
                                            std::to_string(from) + "- /memfd:gristmill-");
                        came = take(engine, fed.source(), options);
                        EXPECT_TRUE(!came.error || faults.hits() > 0) << came.error->message;
                    }
                    EXPECT_TRUE(came.bytes == data.substr(0, came.bytes.size()));
                    if (came.error) {
                        ++errors;
                        EXPECT_TRUE(came.error->kind == ErrorKind::memory ||
                                    came.error->kind == ErrorKind::source)
                            << int(came.error->kind) << ": " << came.error->message;
                    } else {
                        EXPECT_EQ(came.bytes.size(), data.size());
                    }
                    const std::string path = scratch_.write("after", "fine\n");
                    const Came after = take(engine, Source(path), in(crew));
                    ASSERT_FALSE(after.error) << after.error->message;
                    EXPECT_EQ(after.bytes, "fine\n");
                }
    EXPECT_GT(errors, 10u) << "the faults are in the way";
}

TEST_F(IoFaults, AnEngineWithoutMemoryIsNotMade) {
    for (const int failure : {ENOSPC, EFBIG, EINVAL}) {
        const Faults faults("ftruncate " + std::to_string(failure) + " 1- /memfd:gristmill-");
        EngineOptions options;
        options.workers = 2;
        const Result<Engine> engine = Engine::create(options);
        if (!engine) {
            EXPECT_TRUE(engine.error().kind == ErrorKind::memory ||
                        engine.error().kind == ErrorKind::system);
        }
        EXPECT_TRUE(!engine || faults.hits() == 0);
    }
}

// The memory stays, and that is said.
TEST_F(IoFaults, MemoryThatCannotBeGivenBackIsReported) {
    Random random(random_seed());
    const std::string data = lines(random, 6'000'000, 600'000);
    for (const Kind kind : {Kind::pipe, Kind::fifo, Kind::socket})
        for (const Crew &crew : crews_)
            for (const bool refused : {false, true}) {
                const Fed fed(kind, false, scratch_, data, random());
                const Faults faults("fallocate " + std::to_string(EOPNOTSUPP) + " 1- " +
                                    (refused ? "/memfd:gristmill-" : "/nothing"));
                RunOptions options = in(crew);
                options.memory_bytes = memory_bytes_min(2);
                const Came came = take(engines_.get(crew), fed.source(), options);
                ASSERT_FALSE(came.error) << came.error->message;
                EXPECT_TRUE(came.bytes == data);
                EXPECT_EQ(came.report.spool_punches_failed, refused ? 1u : 0u);
                EXPECT_EQ(came.report.spool_bytes_punched == 0, refused);
                EXPECT_EQ(faults.hits() > 0, refused);
            }
}

} // namespace
} // namespace gristmill::e2e
