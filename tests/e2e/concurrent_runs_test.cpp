// Several threads at one Engine, whose runs queue, and several Engines at once.
#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/oracle.hpp"
#include "support/runs.hpp"
#include "support/sheet.hpp"

namespace gristmill::e2e {
namespace {

// A run that each thread makes again and again, and what it must give.
struct Job {
    PluginSpec plugin;
    std::string path;
    RunOptions options;
    std::string expected; // or kRaises
};

const std::string kRaises = "an error instead of output";

class ConcurrentRuns : public ::testing::Test {
  protected:
    ConcurrentRuns() {
        const std::string text = lines(kSanitized ? 2000 : 20'000);
        const std::string path = scratch_.write("text", text);
        add(bundled("identity"), path, {}, text);
        add(bundled("upper"), path, with_batch_bytes(3000), upper(text));
        const Sheet sheet = random_sheet(9, kSanitized ? 500 : 3000, 100);
        const std::string sheet_path = scratch_.write("sheet", sheet.bytes);
        RunOptions skip = with_batch_records(11);
        skip.on_error = OnError::skip;
        add(test_plugin("picky"), sheet_path, skip, sheet.output);
        add(test_plugin("picky"), sheet_path, {}, kRaises);
        add(test_plugin("unruly", "null"), path, {}, kRaises);
    }

    void add(const PluginSpec &plugin, const std::string &path, const RunOptions &options,
             const std::string &expected) {
        Job &job = jobs_.emplace_back();
        job.plugin = plugin;
        job.path = path;
        job.options = options;
        job.expected = expected;
    }

    static std::string lines(std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i)
            text += "line " + std::to_string(i) + "\n";
        return text;
    }

    static void run(Engine &engine, const Job &job, Way way) {
        if (job.expected == kRaises) {
            failing(engine, way, job.plugin, {job.path}, job.options);
            return;
        }
        const Outcome outcome = complete(engine, way, job.plugin, {job.path}, job.options);
        EXPECT_TRUE(outcome.bytes == job.expected)
            << job.plugin.path << ": " << outcome.bytes.size() << " bytes instead of "
            << job.expected.size();
    }

    // A thread for each job, which calls body(job, number of the thread).
    template <class Body>
    void at_once(Body &&body) {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < jobs_.size(); ++i)
            threads.emplace_back([&, i] { body(jobs_[i], i); });
        for (std::thread &thread : threads)
            thread.join();
    }

    static constexpr std::size_t kRounds = kSanitized ? 4 : 25;
    const Scratch scratch_;
    std::vector<Job> jobs_;
};

TEST_F(ConcurrentRuns, QueueAtOneEngine) {
    for (const Crew &crew : {Crew{0, "1"}, Crew{2, "@2"}, Crew{7, "1"}}) {
        SCOPED_TRACE(::testing::Message() << crew);
        Engine engine = make_engine(crew);
        at_once([&](const Job &job, std::size_t) {
            for (std::size_t round = 0; round < kRounds; ++round)
                run(engine, job, round % 2 ? Way::map : Way::run);
        });
    }
}

TEST_F(ConcurrentRuns, OfSeveralEngines) {
    at_once([&](const Job &job, std::size_t thread) {
        Engine engine = make_engine({static_cast<std::uint32_t>(thread % 4), "@2"});
        for (std::size_t round = 0; round < kRounds; ++round)
            run(engine, job, round % 2 ? Way::map : Way::run);
    });
}

// Engines come and go while others work.
TEST_F(ConcurrentRuns, OfEnginesThatComeAndGo) {
    at_once([&](const Job &job, std::size_t thread) {
        for (std::size_t round = 0; round < kRounds; ++round) {
            Engine engine = make_engine({static_cast<std::uint32_t>((thread + round) % 4), "1"});
            run(engine, job, round % 2 ? Way::map : Way::run);
        }
    });
}

// While a run stands still the next one of its engine waits, and other engines work on.
TEST_F(ConcurrentRuns, WaitForTheOneBeforeThem) {
    const Gate gate;
    const std::string held_text = "gate\n" + lines(1000);
    const std::string held_path = scratch_.write("held", held_text);
    Engine engine = make_engine({2, "1"});
    Engine other = make_engine({2, "1"});
    std::atomic<bool> second_done = false;
    std::thread first([&] {
        EXPECT_EQ(complete(engine, Way::map, gate.plugin(), {held_path}, {}).bytes, held_text);
    });
    gate.await_arrival();
    std::thread second([&] {
        run(engine, jobs_[0], Way::map);
        second_done = true;
    });
    for (std::size_t round = 0; round < kRounds; ++round)
        for (const Job &job : jobs_)
            run(other, job, Way::run);
    EXPECT_FALSE(second_done);
    gate.open();
    first.join();
    second.join();
    EXPECT_TRUE(second_done);
}

// Results are read by several threads at once, also when their engine is gone.
TEST_F(ConcurrentRuns, ShareTheirResults) {
    const Job &job = jobs_[0];
    Result<Results> mapped = make_engine({2, "1"}).map(job.plugin, {job.path}, job.options);
    ASSERT_TRUE(mapped.ok()) << mapped.error().message;
    const Results &results = *mapped;
    const std::vector<std::string> expected = split(job.expected);
    ASSERT_EQ(results.size(), expected.size());
    at_once([&](const Job &, std::size_t thread) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const std::size_t at = (i * 7919 + thread * 1001) % expected.size();
            wrong += text_of(results[at]) != expected[at];
        }
        EXPECT_EQ(wrong, 0u);
    });
}

} // namespace
} // namespace gristmill::e2e
