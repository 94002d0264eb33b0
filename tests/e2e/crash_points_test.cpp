// SIGKILL at every labelled step of a worker's life: the output is the same, nothing hangs.
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "support/crash_plan.hpp"
#include "support/crash_sheet.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

// Engines made while it lives have workers that die at a label.
class CrashPlan {
  public:
    explicit CrashPlan(const std::string &label) {
        const std::string path = scratch_.write("plan", std::string(sizeof(CrashPlanWords), '\0'));
        const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        void *at = ::mmap(nullptr, sizeof(CrashPlanWords), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        words_ = new (at) CrashPlanWords;
        ::setenv("GRISTMILL_WORKER", GRISTMILL_CRASHING_WORKER, 1);
        ::setenv("GRISTMILL_CRASH_POINT", label.c_str(), 1);
        ::setenv("GRISTMILL_CRASH_PLAN", path.c_str(), 1);
    }
    ~CrashPlan() {
        ::unsetenv("GRISTMILL_WORKER");
        ::unsetenv("GRISTMILL_CRASH_POINT");
        ::unsetenv("GRISTMILL_CRASH_PLAN");
        ::munmap(words_, sizeof *words_);
    }
    CrashPlan(const CrashPlan &) = delete;
    CrashPlan &operator=(const CrashPlan &) = delete;

    void arm(std::uint64_t every, std::int64_t deaths) {
        words_->passages = 0;
        words_->every = every;
        words_->deaths_left = deaths;
    }
    std::uint64_t passages() const { return words_->passages; }

  private:
    const Scratch scratch_;
    CrashPlanWords *words_ = nullptr;
};

class CrashPoints : public ::testing::TestWithParam<const char *> {
  protected:
    std::string label() const { return GetParam(); }

    CrashSheet sheet() const {
        CrashSheet sheet;
        for (std::size_t i = 0; i < 1500; ++i) {
            sheet.add_sound(1);
            if (i % 40 == 7)
                sheet.add("drop");
            if (i % 50 == 9)
                sheet.add("fail");
        }
        return sheet;
    }

    // A run during which workers die now and then; a run that hangs fails by the interruption.
    void expect_same(Engine &engine, const CrashSheet &sheet, const std::string &path, Way way,
                     RunOptions run) {
        int asked = 0;
        run.interrupted = [&] { return ++asked > 100; };
        run.on_error = OnError::collect;
        Outcome outcome = complete(engine, way, test_plugin("crasher"), {path}, run);
        const bool same = run.order == Order::index
                              ? outcome.bytes == sheet.output
                              : sorted_lines(outcome.bytes) == sorted_lines(sheet.output);
        EXPECT_TRUE(same) << outcome.bytes.size() << " bytes instead of " << sheet.output.size();
        expect_counts(outcome.report, sheet);
        expect_failures(outcome.errors, sheet, path);
        deaths_ += outcome.report.worker_deaths;
    }

    const Scratch scratch_;
    std::uint64_t deaths_ = 0;
};

TEST_P(CrashPoints, NowAndThen) {
    CrashPlan plan(label());
    const CrashSheet all = sheet();
    const std::string path = scratch_.write("in", all.bytes);
    std::uint64_t passages = 0;
    for (const std::uint32_t workers : {1u, 2u, 4u}) {
        Engine engine = make_engine({workers, workers == 4 ? "@2" : "1"});
        for (const Way way : {Way::map, Way::run})
            for (const Order order : {Order::index, Order::none})
                for (const std::uint64_t every : {1u, 2u, 7u}) {
                    SCOPED_TRACE(::testing::Message()
                                 << workers << " workers, every " << every << ", order "
                                 << int(order) << ", way " << int(way));
                    plan.arm(every, every == 1 ? 2 : 6);
                    RunOptions run = with_batch_bytes(500);
                    run.order = order;
                    expect_same(engine, all, path, way, run);
                    passages += plan.passages();
                    if (HasFailure())
                        return;
                }
    }
    EXPECT_GT(passages, 0u) << "nobody came by";
}

INSTANTIATE_TEST_SUITE_P(Everywhere, CrashPoints,
                         ::testing::Values("before claim", "claimed", "counted", "read",
                                           "processing", "processed", "before finish", "finished",
                                           "before done", "done", "going to sleep", "before wake",
                                           "before start", "started", "before leaving", "left"),
                         [](const auto &given) {
                             std::string name = given.param;
                             for (char &letter : name)
                                 if (letter == ' ')
                                     letter = '_';
                             return name;
                         });

// The steps of a batch that is worked on record by record, because of a record that kills.
class CrashPointsOfRecords : public CrashPoints {};

TEST_P(CrashPointsOfRecords, BesidePoison) {
    CrashPlan plan(label());
    CrashSheet sheet;
    sheet.add("fail");
    sheet.add_sound(15);
    sheet.add("segv");
    sheet.add_sound(15);
    sheet.add("drop");
    sheet.add("fail");
    sheet.add("flood");
    const std::string line = "flood\n";
    for (int i = 1; i < 40'000; ++i)
        sheet.output += line;
    sheet.add_sound(5);
    const std::string path = scratch_.write("in", sheet.bytes);
    Engine engine = make_engine({2});
    for (const Way way : {Way::map, Way::run})
        for (std::uint64_t every = 1; every <= sheet.records.size() + 8; every += 2) {
            SCOPED_TRACE(::testing::Message() << "every " << every << ", way " << int(way));
            // One death at a time: a record that is in hand at two is given up, and rightly.
            plan.arm(every, 1);
            RunOptions run = with_batch_bytes(100'000);
            run.retries = 0;
            expect_same(engine, sheet, path, way, run);
            if (HasFailure())
                return;
        }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, CrashPointsOfRecords,
                         ::testing::Values("processing", "processed", "before step", "stepped",
                                           "before finish", "finished", "before done", "done"),
                         [](const auto &given) {
                             std::string name = given.param;
                             for (char &letter : name)
                                 if (letter == ' ')
                                     letter = '_';
                             return name;
                         });

} // namespace
} // namespace gristmill::e2e
