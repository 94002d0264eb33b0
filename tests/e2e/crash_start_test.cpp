// Workers that never get to work: each way gives one typed error, and nothing is published.
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

class CrashStart : public ::testing::TestWithParam<std::uint32_t> {
  protected:
    Engine engine() { return make_engine({GetParam()}); }
    Error failing_both_ways(Engine &engine, const PluginSpec &plugin) {
        failing(engine, Way::run, plugin, {path_}, {});
        return failing(engine, Way::map, plugin, {path_}, {});
    }
    void expect_usable(Engine &engine) {
        EXPECT_EQ(complete(engine, Way::map, bundled("identity"), {path_}, {}).bytes, bytes_);
    }

    const Scratch scratch_;
    const std::string bytes_ = "one\ntwo\nthree\n";
    const std::string path_ = scratch_.write("in", bytes_);
};

TEST_P(CrashStart, CreateThatDies) {
    Engine mine = engine();
    const Error error = failing_both_ways(mine, test_plugin("crasher", "create-dies"));
    EXPECT_EQ(error.kind, ErrorKind::crashed) << error.message;
    EXPECT_NE(error.message.find("SIGABRT"), std::string::npos) << error.message;
    expect_usable(mine);
}

// Also when the workers are warm.
TEST_P(CrashStart, CreateThatDiesInASecondRun) {
    Engine mine = engine();
    expect_usable(mine);
    const Error error = failing_both_ways(mine, test_plugin("crasher", "create-dies"));
    EXPECT_EQ(error.kind, ErrorKind::crashed) << error.message;
    expect_usable(mine);
}

TEST_P(CrashStart, CreateThatRefuses) {
    Engine mine = engine();
    const Error error = failing_both_ways(mine, test_plugin("crasher", "create-fails"));
    EXPECT_EQ(error.kind, ErrorKind::plugin) << error.message;
    EXPECT_NE(error.message.find("not on this moon"), std::string::npos) << error.message;
    EXPECT_FALSE(error.plugin_load);
    expect_usable(mine);
}

TEST_P(CrashStart, PluginsThatDoNotLoad) {
    Engine mine = engine();
    PluginSpec missing{scratch_.path("missing.so")};
    PluginSpec text{scratch_.write("text.so", "no plugin at all\n")};
    PluginSpec symbol = bundled("identity");
    symbol.symbol = "no_such_symbol";
    for (const PluginSpec &plugin : {missing, text, symbol}) {
        const Error error = failing_both_ways(mine, plugin);
        EXPECT_EQ(error.kind, ErrorKind::plugin) << error.message;
        EXPECT_TRUE(error.plugin_load) << error.message;
        EXPECT_NE(error.message.find(plugin.path), std::string::npos) << error.message;
    }
    expect_usable(mine);
}

// The same plugin gives the same words wherever it is loaded.
TEST_P(CrashStart, BothIsolationsSayTheSame) {
    Engine mine = engine();
    for (const PluginSpec &plugin :
         {PluginSpec{scratch_.path("missing.so")}, test_plugin("crasher", "create-fails")}) {
        RunOptions run;
        const Error of_process = failing(mine, Way::map, plugin, {path_}, run);
        run.isolation = Isolation::thread;
        const Error of_thread = failing(mine, Way::map, plugin, {path_}, run);
        EXPECT_EQ(of_process.kind, of_thread.kind);
        EXPECT_EQ(of_process.message, of_thread.message);
    }
}

INSTANTIATE_TEST_SUITE_P(Workers, CrashStart, ::testing::Values(1u, 2u, 7u));

class WorkerProgram : public ::testing::Test {
  protected:
    ~WorkerProgram() override { ::unsetenv("GRISTMILL_WORKER"); }

    const Scratch scratch_;
    const std::string path_ = scratch_.write("in", "one\n");
};

// Programs that are no workers.
TEST_F(WorkerProgram, ThatIsNone) {
    for (const std::string &program :
         {scratch_.path("missing"), std::string("/bin/false"), std::string("/bin/true")}) {
        SCOPED_TRACE(program);
        ::setenv("GRISTMILL_WORKER", program.c_str(), 1);
        Engine engine = make_engine({2});
        int asked = 0; // rather a wrong error than a test that never ends
        RunOptions run;
        run.interrupted = [&] { return ++asked > 50; };
        const Result<Results> results = engine.map(bundled("identity"), {path_}, run);
        ASSERT_FALSE(results.ok());
        EXPECT_NE(results.error().kind, ErrorKind::interrupted) << "no end of it";
        EXPECT_NE(results.error().message.find("worker"), std::string::npos)
            << results.error().message;
    }
}

TEST_F(WorkerProgram, OfAnotherBuild) {
    // A copy with one letter of its build id changed would do, too; a script that hands on another
    // id is simpler.
    const std::string script = scratch_.write(
        "worker", "#!/bin/sh\nexec '" GRISTMILL_WORKER_PROGRAM "' \"$1\" another-build\n");
    ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
    ::setenv("GRISTMILL_WORKER", script.c_str(), 1);
    Engine engine = make_engine({2});
    const Result<Results> results = engine.map(bundled("identity"), {path_}, {});
    ASSERT_FALSE(results.ok());
    EXPECT_NE(results.error().message.find("another build"), std::string::npos)
        << results.error().message;
}

// The descriptors that the nursery inherits have numbers of their own, from 100 on, which may be
// taken in the caller.
TEST_F(WorkerProgram, WhateverDescriptorsTheCallerHas) {
    std::vector<int> open;
    for (int next = 0; next < 112;) {
        next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        open.push_back(next);
        if (next < 90)
            continue;
        Engine engine = make_engine({1});
        EXPECT_EQ(complete(engine, Way::map, bundled("identity"), {path_}, {}).bytes, "one\n")
            << "the first free descriptor is " << next + 1;
    }
    for (const int fd : open)
        ::close(fd);
}

TEST_F(WorkerProgram, ManyWorkers) {
    Engine engine = make_engine({static_cast<std::uint32_t>(scaled(400))});
    int asked = 0;
    RunOptions run;
    run.memory_bytes = std::uint64_t{1} << 30;
    run.interrupted = [&] { return ++asked > 200; };
    const Result<Results> results = engine.map(bundled("identity"), {path_}, run);
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ(outcome_of(*results).bytes, "one\n");
}

} // namespace
} // namespace gristmill::e2e
