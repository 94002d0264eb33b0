// Output that waits for its turn: while the first record is held back, what the others gave stays
// within bounds, and comes out whole once it is released. Case A63.
#include <chrono>
#include <ctime>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <thread>

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

namespace fs = std::filesystem;

// Private memory of this process, and what its memory files hold.
std::uint64_t memory_in_use() {
    const std::string status = read_file("/proc/self/status");
    std::uint64_t bytes = std::stoull(status.substr(status.find("RssAnon:") + 8)) << 10;
    std::set<ino_t> seen;
    for (const auto &entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = fs::read_symlink(entry.path(), gone).string();
        struct stat found{};
        if (!gone && target.starts_with("/memfd:") && ::stat(entry.path().c_str(), &found) == 0 &&
            seen.insert(found.st_ino).second)
            bytes += static_cast<std::uint64_t>(found.st_blocks) * 512;
    }
    return bytes;
}

double cpu_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Until this process has hardly used a CPU for a while.
void await_rest() {
    for (int quiet = 0; quiet < 3;) {
        const double before = cpu_ms();
        std::this_thread::sleep_for(std::chrono::milliseconds(40));
        quiet = cpu_ms() - before < 3 ? quiet + 1 : 0;
    }
}

struct Shape {
    Crew crew;
    std::uint64_t batch_bytes; // 0: adaptive
    Order order = Order::index;
};

class HeldBack : public ::testing::TestWithParam<Shape> {
  protected:
    // Records of about 4 kB behind one that waits at the gate.
    HeldBack() {
        text_ = "gate\n";
        for (std::size_t i = 0; text_.size() < (kSanitized ? 12u : 96u) << 20; ++i)
            text_ += std::to_string(i) + std::string(4000, static_cast<char>('a' + i % 26)) + "\n";
        path_ = scratch_.write("input", text_);
    }

    RunOptions options() const {
        RunOptions run;
        if (GetParam().batch_bytes != 0)
            run.batch_bytes = GetParam().batch_bytes;
        run.order = GetParam().order;
        run.memory_bytes = std::max(memory_bytes_min(workers()), std::uint64_t{8} << 20);
        return run;
    }

    std::uint32_t workers() const { return std::max(1u, GetParam().crew.workers); }

    // What the engine may take on top of what it has when idle.
    std::uint64_t growth_max() const {
        return options().memory_bytes + (std::uint64_t{16} << 20) +
               workers() * (std::uint64_t{4} << 20);
    }

    void expect_output(const std::string &bytes) const {
        if (GetParam().order == Order::index)
            EXPECT_TRUE(bytes == text_) << bytes.size() << " instead of " << text_.size();
        else
            EXPECT_TRUE(sorted_lines(bytes) == sorted_lines(text_));
    }

    const Scratch scratch_;
    const Gate gate_;
    std::string text_;
    std::string path_;
};

TEST_P(HeldBack, StaysWithinItsBounds) {
    Engine engine = make_engine(GetParam().crew);
    const std::uint64_t idle = memory_in_use();
    std::uint64_t held = 0;
    std::thread keeper([&] {
        gate_.await_arrival();
        await_rest();
        held = memory_in_use();
        gate_.open();
    });
    const Outcome outcome = complete(engine, Way::run, gate_.plugin(), {path_}, options());
    keeper.join();
    expect_output(outcome.bytes);
    expect_accounted(outcome.report, {path_}, split(text_).size());
    if (!kSanitized) { // a sanitizer keeps memory of its own
        EXPECT_LT(held - std::min(held, idle), growth_max());
    }
}

TEST_P(HeldBack, ComesOutWhole) {
    Engine engine = make_engine(GetParam().crew);
    std::thread keeper([&] {
        gate_.await_arrival();
        await_rest();
        gate_.open();
    });
    const Outcome outcome = complete(engine, Way::map, gate_.plugin(), {path_}, options());
    keeper.join();
    expect_output(outcome.bytes);
}

// Every worker waits, each at a batch of its own, and one after the other is let through.
TEST_P(HeldBack, LetsWorkersGoOneByOne) {
    const std::uint32_t gates = workers() + 1; // the last one finds no worker at first
    for (std::uint32_t i = 1; i < gates; ++i)
        text_.insert(0, "gate\n");
    // A file that begins with a long record is not handed over by the spool: there batches have homes,
    // and a worker may fill its output with later ones of its own node before it comes to a gate.
    text_.insert(0, std::string(5000, 'l') + "\n");
    scratch_.write("input", text_);
    RunOptions run = options();
    run.batch_bytes.reset();
    run.batch_records = 1;
    Engine engine = make_engine(GetParam().crew);
    std::thread keeper([&] {
        for (std::uint32_t i = 0; i < workers(); ++i)
            gate_.await_arrival();
        await_rest();
        gate_.open();
        gate_.await_arrival();
        for (std::uint32_t i = 1; i < gates; ++i)
            gate_.open();
    });
    const Outcome outcome = complete(engine, Way::run, gate_.plugin(), {path_}, run);
    keeper.join();
    expect_output(outcome.bytes);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, HeldBack,
                         ::testing::Values(Shape{{0, "1"}, 0}, Shape{{1, "1"}, 0},
                                           Shape{{2, "1"}, 0}, Shape{{2, "1"}, 4096},
                                           Shape{{2, "@2"}, 65536}, Shape{{7, "@4"}, 65536},
                                           Shape{{2, "1"}, 0, Order::none}),
                         [](const auto &given) {
                             const Shape &shape = given.param;
                             return "Workers" + std::to_string(shape.crew.workers) + "Nodes" +
                                    std::string(1, shape.crew.nodes.back()) + "Batch" +
                                    std::to_string(shape.batch_bytes) +
                                    (shape.order == Order::none ? "Unordered" : "");
                         });

} // namespace
} // namespace gristmill::e2e
