// Workers, their nursery and the caller killed from outside: the output is the same, or the error
// says what happened, and nobody is left behind.
#include <atomic>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/crash_sheet.hpp"
#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

// Kills whom it is told, at random moments, while it lives.
class Killer {
  public:
    Killer(std::uint64_t seed, std::uint64_t every_us, std::vector<pid_t> (*whom)())
        : random_(seed), every_us_(every_us), whom_(whom), thread_([this] { kill_on(); }) {}
    ~Killer() {
        over_ = true;
        thread_.join();
    }

  private:
    void kill_on() {
        while (!over_) {
            std::this_thread::sleep_for(std::chrono::microseconds(random_.below(2 * every_us_)));
            const std::vector<pid_t> victims = whom_();
            if (!victims.empty())
                ::kill(victims[random_.below(victims.size())], SIGKILL);
        }
    }

    test::Random random_;
    const std::uint64_t every_us_;
    std::vector<pid_t> (*const whom_)();
    std::atomic<bool> over_{false};
    std::thread thread_;
};

CrashSheet lines(std::size_t count) {
    CrashSheet sheet;
    for (std::size_t i = 0; i < count; ++i)
        sheet.add(i % 11 == 3 ? "drop" + std::to_string(i)
                              : "rec" + std::to_string(i) + std::string(i % 97, 'k'));
    return sheet;
}

class CrashKill : public ::testing::Test {
  protected:
    // Runs while somebody is killed; how many workers died.
    std::uint64_t survive(const Crew &crew, std::uint64_t seed, std::size_t runs,
                          std::uint64_t every_us, std::vector<pid_t> (*whom)()) {
        static const CrashSheet sheet = lines(30'000);
        const std::string path = scratch_.write("in", sheet.bytes);
        test::Random random(seed);
        Engine engine = make_engine(crew);
        const Killer killer(seed, every_us, whom);
        std::uint64_t deaths = 0;
        for (std::size_t i = 0; i < runs && !HasFailure(); ++i) {
            RunOptions run;
            run.batch_bytes = random.between(1000, 40'000);
            run.order = random.one_in(3) ? Order::none : Order::index;
            run.memory_bytes = std::uint64_t{1} << 24;
            const Way way = random.one_in(2) ? Way::map : Way::run;
            const Outcome outcome = complete(engine, way, test_plugin("crasher"), {path}, run);
            const bool same = run.order == Order::index
                                  ? outcome.bytes == sheet.output
                                  : sorted_lines(outcome.bytes) == sorted_lines(sheet.output);
            EXPECT_TRUE(same) << "run " << i << " of seed " << seed << ", " << crew;
            expect_counts(outcome.report, sheet);
            deaths += outcome.report.worker_deaths;
        }
        return deaths;
    }

    const Scratch scratch_;
};

TEST_F(CrashKill, WorkersAtRandomMoments) {
    const std::uint64_t seed = random_seed();
    std::uint64_t deaths = 0;
    for (const std::uint32_t workers : {1u, 2u, 7u})
        deaths += survive({workers, workers == 7 ? "@3" : "1"}, seed + workers, scaled(40), 4000,
                          &gristmill::e2e::workers);
    EXPECT_GT(deaths, 0u);
    RecordProperty("deaths", std::to_string(deaths));
}

TEST_F(CrashKill, NurseriesAtRandomMoments) {
    const std::uint64_t seed = random_seed();
    std::uint64_t deaths = 0;
    for (const std::uint32_t workers : {1u, 2u, 7u})
        deaths += survive({workers}, seed + workers, scaled(20), 30'000, &nurseries);
    EXPECT_GT(deaths, 0u);
}

TEST_F(CrashKill, EverybodyAtRandomMoments) {
    const auto everybody = [] {
        std::vector<pid_t> all = workers();
        for (const pid_t nursery : nurseries())
            all.push_back(nursery);
        return all;
    };
    survive({3}, random_seed(), scaled(30), 8000, +everybody);
}

// Between two runs, when nobody looks.
TEST_F(CrashKill, WhileTheEngineRests) {
    Engine engine = make_engine({3});
    const CrashSheet sheet = lines(500);
    const std::string path = scratch_.write("in", sheet.bytes);
    bool nursery_dying = false;
    for (int i = 0; i < 12; ++i) {
        const Outcome outcome = complete(engine, i % 2 ? Way::map : Way::run,
                                         test_plugin("crasher"), {path}, with_batch_bytes(300));
        EXPECT_TRUE(outcome.bytes == sheet.output);
        const bool of_nursery = i % 3 == 0;
        const std::vector<pid_t> victims = of_nursery ? nurseries() : workers();
        // Workers of a nursery that was killed a moment ago may have done all of this run, and be gone.
        if (!nursery_dying)
            EXPECT_FALSE(victims.empty());
        for (const pid_t victim : victims)
            ::kill(victim, SIGKILL);
        const bool noticed = i % 4 < 2; // sometimes the next run begins before anybody has
        if (noticed)
            EXPECT_TRUE(eventually([] { return workers().empty(); }));
        nursery_dying = of_nursery && !noticed;
    }
}

// Several engines in one process do not see each other's deaths.
TEST_F(CrashKill, SeveralEnginesAtOnce) {
    CrashSheet sheet = lines(400);
    sheet.add("segv");
    sheet.add_sound(200);
    sheet.add("abort");
    sheet.add_sound(100);
    const std::string path = scratch_.write("in", sheet.bytes);
    std::vector<std::thread> callers;
    for (std::uint32_t i = 0; i < 4; ++i)
        callers.emplace_back([&, i] {
            Engine engine = make_engine({1 + i % 3});
            for (std::uint64_t run = 0; run < 4; ++run) {
                RunOptions options = with_batch_bytes(200 + 100 * i);
                options.on_error = OnError::collect;
                const Outcome outcome = complete(engine, i % 2 ? Way::map : Way::run,
                                                 test_plugin("crasher"), {path}, options);
                EXPECT_TRUE(outcome.bytes == sheet.output);
                expect_failures(outcome.errors, sheet, path);
            }
        });
    for (std::thread &caller : callers)
        caller.join();
}

// What an earlier run of the same engine left stays as it is.
TEST_F(CrashKill, ResultsOutliveLaterRunsAndTheEngine) {
    std::vector<Results> kept;
    std::vector<CrashSheet> sheets;
    {
        Engine engine = make_engine({2});
        for (int i = 0; i < 4; ++i) {
            CrashSheet &sheet = sheets.emplace_back();
            sheet.add("run" + std::to_string(i));
            sheet.add("segv");
            sheet.add_sound(50 + std::size_t(i));
            const std::string path = scratch_.write("in", sheet.bytes);
            RunOptions options = with_batch_bytes(100'000);
            options.on_error = OnError::skip;
            Result<Results> results = engine.map(test_plugin("crasher"), {path}, options);
            ASSERT_TRUE(results.ok()) << results.error().message;
            kept.push_back(std::move(*results));
            // Another plugin, another way, in between.
            EXPECT_EQ(complete(engine, Way::run, bundled("upper"), {path}, {}).report.read,
                      sheet.records.size());
        }
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
        EXPECT_EQ(outcome_of(kept[i]).bytes, sheets[i].output) << "run " << i;
}

bool alive(pid_t pid) {
    for (const ProcessSeen &process : all_processes())
        if (process.pid == pid)
            return process.state != 'Z' && process.state != 'X';
    return false;
}

// Neither workers, nor what they started, outlive a caller that is killed.
TEST_F(CrashKill, TheCallerItself) {
    const std::string hang = scratch_.write("hang", "hang\nhang\nhang\n");
    const std::vector<Payload> payloads{test_plugin("crasher"),
                                        CommandSpec{{"sleep", "1000"}}};
    for (const Payload &payload : payloads) {
        const pid_t caller = ::fork();
        if (caller == 0) {
            Engine engine = make_engine({3});
            static_cast<void>(engine.map(payload, {hang}, with_batch_records(1)));
            std::_Exit(0);
        }
        std::vector<pid_t> kin;
        const bool command = std::holds_alternative<CommandSpec>(payload);
        const auto all_there = [&] {
            kin = children_of(caller);
            for (const pid_t nursery : std::vector<pid_t>(kin))
                for (const pid_t worker : children_of(nursery)) {
                    kin.push_back(worker);
                    for (const pid_t started : children_of(worker))
                        kin.push_back(started);
                }
            return kin.size() == (command ? 7u : 4u);
        };
        EXPECT_TRUE(eventually(all_there)) << kin.size();
        ::kill(caller, SIGKILL);
        ::waitpid(caller, nullptr, 0);
        for (const pid_t pid : kin)
            EXPECT_TRUE(eventually([&] { return !alive(pid); })) << "left behind: " << pid;
    }
}

// Nor what a worker has started, the worker itself.
TEST_F(CrashKill, CommandsEndWithTheirWorkers) {
    Engine engine = make_engine({2});
    const std::string path = scratch_.write("in", "a\nb\n");
    for (auto *const whom : {&workers, &nurseries}) {
        std::vector<pid_t> started;
        std::atomic<bool> enough{false};
        std::thread killer([&] {
            EXPECT_TRUE(eventually([&] {
                started.clear();
                for (const pid_t worker : workers())
                    for (const pid_t command : children_of(worker))
                        started.push_back(command);
                return started.size() == 2;
            }));
            for (const pid_t victim : whom())
                ::kill(victim, SIGKILL);
            for (const pid_t pid : started)
                EXPECT_TRUE(eventually([&] { return !alive(pid); })) << "left behind: " << pid;
            enough = true;
        });
        RunOptions options = with_batch_records(1);
        options.interrupted = [&] { return enough.load(); };
        Result<Results> results = engine.map(CommandSpec{{"sleep", "1000"}}, {path}, options);
        EXPECT_FALSE(results.ok());
        killer.join();
    }
}

} // namespace
} // namespace gristmill::e2e
