// Where a plugin is looked for when its name has no slash: here, and nowhere that the environment
// of the loader names. Case A57.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

namespace fs = std::filesystem;

// Set for a process that was started by run_again(): the file to map over.
constexpr const char *kInput = "GRISTMILL_TEST_INPUT";

// The loader reads its search path when a process starts, so each test starts itself again with
// another path, in another folder, and looks there.
class PluginLoading : public ::testing::Test {
  protected:
    static bool started_again() { return std::getenv(kInput) != nullptr; }

    // Status of the test in hand, run in the folder here_ with decoys_ as the loader's path.
    int run_again() const {
        const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
        const std::string program = fs::read_symlink("/proc/self/exe").string();
        const std::string input = decoys_.write("input", "one\ntwo\n");
        return std::system(("cd '" + here_.folder() + "' && LD_LIBRARY_PATH='" +
                            decoys_.folder() + "' " + kInput + "='" + input + "' exec '" +
                            program + "' --gtest_filter=PluginLoading." + test)
                               .c_str());
    }

    static Result<Results> map_by_bare_name() {
        Engine engine = make_engine({1, "1"});
        return engine.map(PluginSpec{"named.so"}, {std::getenv(kInput)}, {});
    }

    static void install(const std::string &plugin, const Scratch &folder) {
        fs::copy_file(bundled(plugin).path, folder.path("named.so"));
    }

    const Scratch here_;
    const Scratch decoys_;
};

TEST_F(PluginLoading, TakesTheOneThatIsHere) {
    if (!started_again()) {
        install("identity", here_);
        install("upper", decoys_);
        EXPECT_EQ(run_again(), 0);
        return;
    }
    const Result<Results> results = map_by_bare_name();
    ASSERT_TRUE(results.ok()) << results.error().message;
    EXPECT_EQ(outcome_of(*results).bytes, "one\ntwo\n");
}

TEST_F(PluginLoading, TakesNoneFromElsewhere) {
    if (!started_again()) {
        install("upper", decoys_);
        EXPECT_EQ(run_again(), 0);
        return;
    }
    const Result<Results> results = map_by_bare_name();
    ASSERT_FALSE(results.ok());
    EXPECT_EQ(results.error().kind, ErrorKind::plugin);
    EXPECT_EQ(results.error().path, (fs::current_path() / "named.so").string());
    EXPECT_NE(results.error().message.find(results.error().path), std::string::npos)
        << results.error().message;
}

} // namespace
} // namespace gristmill::e2e
