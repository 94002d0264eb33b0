// Around all tests of a process: what an engine opened, started or wrote is gone at the end.
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/processes.hpp"
#include "support/scratch.hpp"

namespace gristmill::e2e {
namespace {

namespace fs = std::filesystem;

// What each open descriptor leads to.
std::map<std::string, std::string> descriptors() {
    std::map<std::string, std::string> open;
    for (const auto &entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code gone; // the descriptor of this very listing
        const fs::path target = fs::read_symlink(entry.path(), gone);
        if (!gone && target.string().find("/proc/") != 0)
            open[entry.path().filename().string()] = target.string();
    }
    return open;
}

std::vector<std::string> shared_memory() {
    std::error_code failed;
    if (!fs::is_directory("/dev/shm", failed))
        return {};
    std::vector<std::string> ours;
    for (const std::string &name : names_in("/dev/shm"))
        if (name.find("gristmill") != std::string::npos)
            ours.push_back(name);
    return ours;
}

class Residue final : public ::testing::Environment {
  public:
    void SetUp() override {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1); // whoever loses its parent becomes a child of ours
        std::thread([] {}).join(); // a sanitizer starts its own thread with the first of ours
        descriptors_ = descriptors();
        threads_ = names_in("/proc/self/task");
        shared_memory_ = shared_memory();
    }

    void TearDown() override {
        EXPECT_EQ(descriptors(), descriptors_) << "descriptors were left open";
        EXPECT_EQ(threads_at_rest(), threads_) << "threads were left behind";
        EXPECT_EQ(shared_memory(), shared_memory_) << "named shared memory was left behind";
        EXPECT_TRUE(eventually([] {
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {
            }
            return children_of(::getpid()).empty();
        })) << "processes were left behind";
    }

  private:
    // The kernel takes a joined thread off the list a moment later.
    std::vector<std::string> threads_at_rest() const {
        std::vector<std::string> now = names_in("/proc/self/task");
        for (int i = 0; i < 200 && now != threads_; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            now = names_in("/proc/self/task");
        }
        return now;
    }

    std::map<std::string, std::string> descriptors_;
    std::vector<std::string> threads_;
    std::vector<std::string> shared_memory_;
};

const ::testing::Environment *const kResidue = ::testing::AddGlobalTestEnvironment(new Residue);

} // namespace
} // namespace gristmill::e2e
