// What is summed must add up (invariant I15).
#include <gtest/gtest.h>

#include "output/report_builder.hpp"
#include "support/random.hpp"

namespace gristmill::output {
namespace {

ring::BatchResult result(std::uint64_t emitted, std::uint64_t filtered, std::uint64_t failed,
                         std::uint64_t bytes = 100, std::uint32_t node = 0) {
    ring::BatchResult made;
    made.read = emitted + filtered + failed;
    made.emitted = emitted;
    made.filtered = filtered;
    made.failed = failed;
    made.end = bytes;
    made.node = node;
    made.output.bytes = 10 * emitted;
    made.output_records = emitted;
    made.wall_ns = 1'000'000'000;
    return made;
}

Plan two_nodes() {
    Plan plan;
    plan.nodes.resize(2);
    plan.nodes[0].workers = 3;
    plan.workers.resize(3);
    return plan;
}

TEST(ReportBuilder, sums_what_is_delivered) {
    ReportBuilder builder(two_nodes());
    builder.add_delivered(result(5, 2, 1));
    builder.add_delivered(result(3, 0, 0, 300, 1));
    EXPECT_TRUE(builder.check(true));
    const Report report = builder.finish();
    EXPECT_EQ(report.read, 11u);
    EXPECT_EQ(report.emitted, 8u);
    EXPECT_EQ(report.filtered, 2u);
    EXPECT_EQ(report.failed, 1u);
    EXPECT_EQ(report.output_bytes, 80u);
    EXPECT_EQ(report.input_bytes, 400u);
    EXPECT_EQ(report.batches, 2u);
    EXPECT_EQ(report.batch_bytes_min, 100u);
    EXPECT_EQ(report.batch_bytes_max, 300u);
    EXPECT_EQ(report.batch_bytes_mean, 200u);
    EXPECT_EQ(report.workers, 3u);
    ASSERT_EQ(report.nodes.size(), 2u);
    EXPECT_EQ(report.nodes[1].records, 3u);
    EXPECT_DOUBLE_EQ(report.nodes[1].busy_seconds, 1.0);
}

TEST(ReportBuilder, a_run_that_ends_early_discards) {
    ReportBuilder builder(two_nodes());
    builder.add_delivered(result(5, 0, 0));
    builder.add_discarded(result(7, 0, 0));
    builder.add_partly_delivered(result(4, 0, 1), 20);
    EXPECT_TRUE(builder.check(false));
    EXPECT_FALSE(builder.check(true)) << "a complete run discards nothing";
    const Report report = builder.finish();
    EXPECT_EQ(report.read, 17u);
    EXPECT_EQ(report.discarded, 11u);
    EXPECT_EQ(report.failed, 1u);
    EXPECT_EQ(report.read, report.emitted + report.filtered + report.failed + report.discarded);
}

TEST(ReportBuilder, a_lost_record_is_an_accounting_error) {
    ReportBuilder builder(two_nodes());
    ring::BatchResult lost = result(5, 2, 1);
    lost.emitted = 4;
    builder.add_delivered(lost);
    const Result<void> checked = builder.check(false);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().kind, ErrorKind::accounting);
    EXPECT_NE(checked.error().message.find("8 read"), std::string::npos);
}

TEST(ReportBuilder, batches_without_records_have_no_size) {
    ReportBuilder builder(two_nodes());
    builder.add_delivered(result(0, 0, 0, 1));
    builder.add_delivered(result(1, 0, 0, 50));
    const Report report = builder.finish();
    EXPECT_EQ(report.batches, 1u);
    EXPECT_EQ(report.batch_bytes_min, 50u);
}

TEST(ReportBuilder, home_and_stolen_batches) {
    ReportBuilder builder(two_nodes());
    ring::BatchResult home = result(1, 0, 0);
    home.home = 0;
    ring::BatchResult stolen = home;
    stolen.home = 1;
    builder.add_delivered(home);
    builder.add_delivered(stolen);
    builder.add_delivered(result(1, 0, 0)); // has no home
    ring::BatchResult oldest = stolen;
    oldest.as_head = true;
    builder.add_delivered(oldest);
    builder.add_partly_delivered(oldest, 0);
    oldest.home = 0;
    builder.add_delivered(oldest); // it would have been taken all the same
    ring::BatchResult elsewhere = home;
    elsewhere.node = 1;
    builder.add_delivered(elsewhere);
    const Report report = builder.finish();
    EXPECT_EQ(report.nodes[0].batches, 6u);
    EXPECT_EQ(report.nodes[0].batches_home, 2u);
    EXPECT_EQ(report.nodes[0].batches_stolen, 1u);
    EXPECT_EQ(report.nodes[0].batches_head, 2u);
    EXPECT_EQ(report.nodes[1].batches_stolen, 1u);
}

TEST(ReportBuilder, says_where_memory_is_placed) {
    Plan plan = two_nodes();
    plan.nodes[1].memory_node = 5;
    EXPECT_EQ(ReportBuilder(plan).finish().placement, "") << "there is only one place";
    EXPECT_EQ(ReportBuilder(plan).finish().nodes[1].memory_node, -1);
    plan.placement = Placement::wanted;
    EXPECT_EQ(ReportBuilder(plan).finish().nodes[0].memory_node, -1) << "of no node of the machine";
    EXPECT_EQ(ReportBuilder(plan).finish().nodes[1].memory_node, 5);
    EXPECT_NE(ReportBuilder(plan).finish().placement, "");
    plan.placement = Placement::refused;
    plan.refusal = "Operation not permitted";
    EXPECT_EQ(ReportBuilder(plan).finish().nodes[1].memory_node, -1);
    EXPECT_NE(ReportBuilder(plan).finish().placement.find("Operation not permitted"),
              std::string::npos);
}

TEST(ReportBuilder, the_median_of_many_batches_is_near) {
    ReportBuilder builder(two_nodes());
    test::Random random(5);
    for (int i = 0; i < 100'000; ++i)
        builder.add_delivered(result(1, 0, 0, random.between(1, 1000)));
    EXPECT_NEAR(double(builder.finish().batch_bytes_median), 500, 75);
}

} // namespace
} // namespace gristmill::output
