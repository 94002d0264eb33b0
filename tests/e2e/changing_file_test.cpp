// Files that change while they are read.
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "support/gate.hpp"
#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

namespace fs = std::filesystem;

enum class Cut { arithmetic, sequential, handed_over };

class ChangingFile : public ::testing::TestWithParam<Cut> {
  protected:
    // A first batch that waits at the gate, and much behind it that is read only later.
    ChangingFile() {
        text_ = "gate\n" + std::string(70'000, 'g') + "\n";
        while (text_.size() < (kSanitized ? 4u : 16u) << 20)
            text_ += "line " + std::to_string(text_.size()) + "\n";
        path_ = scratch_.write("input", text_);
    }

    // By arithmetic extents; or cut by one forward pass, and read again by workers, or, where
    // batches are small, read once.
    RunOptions options() const {
        RunOptions run = GetParam() == Cut::arithmetic
                             ? with_batch_bytes(4096)
                             : with_batch_records(GetParam() == Cut::sequential ? 200 : 20);
        run.memory_bytes = memory_bytes_min(kWorkers);
        return run;
    }

    // Runs into `out` while `change` is done behind the back of the run.
    template <class Change>
    Result<RunOutcome> run_while(Change &&change) {
        Engine engine = make_engine({kWorkers, "1"});
        std::thread meddler([&] {
            gate_.await_arrival();
            change();
            gate_.open();
        });
        Result<RunOutcome> ran = engine.run(gate_.plugin(), {path_},
                                            {OutputTarget::Kind::path, out_, -1}, options());
        meddler.join();
        return ran;
    }

    static constexpr std::uint32_t kWorkers = 2;
    const Gate gate_;
    const Scratch scratch_;
    const Scratch outputs_;
    const std::string out_ = outputs_.path("out");
    std::string text_;
    std::string path_;
};

TEST_P(ChangingFile, TruncatedToNothing) {
    const Result<RunOutcome> ran = run_while([&] { fs::resize_file(path_, 0); });
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().kind, ErrorKind::source);
    EXPECT_EQ(ran.error().path, path_);
    EXPECT_NE(ran.error().message.find("shrank"), std::string::npos) << ran.error().message;
    EXPECT_NE(ran.error().message.find(std::to_string(text_.size())), std::string::npos);
    EXPECT_EQ(outputs_.names(), std::vector<std::string>{});
}

TEST_P(ChangingFile, TruncatedInTheMiddle) {
    const std::size_t left = text_.size() - 100'001;
    const Result<RunOutcome> ran = run_while([&] { fs::resize_file(path_, left); });
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().kind, ErrorKind::source);
    EXPECT_NE(ran.error().message.find(std::to_string(left)), std::string::npos)
        << ran.error().message;
}

TEST_P(ChangingFile, ReplacedByAnother) {
    const Result<RunOutcome> ran = run_while([&] {
        const std::string other = scratch_.write("other", "something else\n");
        fs::rename(other, path_);
    });
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(read_file(out_) == text_);
    EXPECT_EQ(read_file(path_), "something else\n");
}

TEST_P(ChangingFile, Removed) {
    const Result<RunOutcome> ran = run_while([&] { fs::remove(path_); });
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(read_file(out_) == text_);
}

TEST_P(ChangingFile, Grown) {
    const Result<RunOutcome> ran = run_while([&] {
        std::ofstream(path_, std::ios::app) << std::string(1 << 20, 'n') << "\nnew\n";
    });
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(read_file(out_) == text_);
    EXPECT_EQ(ran->report.input_bytes, text_.size());
    EXPECT_EQ(ran->report.spool_slots > 0, GetParam() == Cut::handed_over);
}

// It lacked its last delimiter when it was opened; what came later does not end the record.
TEST_P(ChangingFile, GrownBehindAnOpenRecord) {
    text_ += "no delimiter";
    scratch_.write("input", text_);
    const Result<RunOutcome> ran =
        run_while([&] { std::ofstream(path_, std::ios::app) << " yet\n"; });
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_TRUE(read_file(out_) == text_);
}

INSTANTIATE_TEST_SUITE_P(Cut, ChangingFile, ::testing::Values(Cut::arithmetic, Cut::sequential, Cut::handed_over),
                         [](const auto &given) {
                             switch (given.param) {
                             case Cut::arithmetic:
                                 return "Arithmetic";
                             case Cut::sequential:
                                 return "Sequential";
                             default:
                                 return "HandedOver";
                             }
                         });

} // namespace
} // namespace gristmill::e2e
