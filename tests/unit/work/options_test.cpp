#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gristmill/options.hpp>

namespace gristmill {
namespace {

TEST(NodeRequest, reads_what_people_write) {
    const auto parsed = [](const std::string &text) { return NodeRequest::parse(text).value(); };
    EXPECT_EQ(parsed("auto").kind, NodeRequest::Kind::automatic);
    EXPECT_EQ(parsed("3").kind, NodeRequest::Kind::count);
    EXPECT_EQ(parsed("3").count, 3u);
    EXPECT_EQ(parsed("@12").kind, NodeRequest::Kind::logical);
    EXPECT_EQ(parsed("@12").count, 12u);
    EXPECT_EQ(parsed("0,2,7").kind, NodeRequest::Kind::list);
    EXPECT_EQ(parsed("0,2,7").list, (std::vector<std::uint32_t>{0, 2, 7}));
    EXPECT_EQ(parsed("4,").list, (std::vector<std::uint32_t>{4})) << "a list of one";
}

TEST(NodeRequest, refuses_everything_else) {
    for (const std::string text : {"", "0", "@0", "@", "-1", "+1", "1.5", "two", "1 ", " 1", "@-1",
                                   ",", ",1", "1,,2", "1,x", "@1,2", "4294967296", "Auto"}) {
        const Result<NodeRequest> parsed = NodeRequest::parse(text);
        EXPECT_FALSE(parsed) << "'" << text << "'";
        if (!parsed) {
            EXPECT_EQ(parsed.error().kind, ErrorKind::invalid_option);
            EXPECT_NE(parsed.error().message.find("'" + text + "'"), std::string::npos);
        }
    }
}

TEST(Options, the_usual_ones_are_valid) {
    EXPECT_TRUE(validate(EngineOptions{}));
    for (const std::uint32_t workers : {0u, 1u, 64u, 256u})
        EXPECT_TRUE(validate(RunOptions{}, workers));
}

TEST(Options, too_many_workers_or_nodes) {
    EngineOptions options;
    options.workers = kWorkersMax;
    EXPECT_TRUE(validate(options));
    options.workers = kWorkersMax + 1;
    EXPECT_FALSE(validate(options));
    options.workers = 1;
    options.nodes.count = kNodesMax + 1;
    EXPECT_FALSE(validate(options));
}

struct BadOption {
    std::string names; // what the message must name
    void (*set)(RunOptions &options);
};

TEST(Options, what_makes_no_sense_is_named) {
    using Kind = Framing::Kind;
    const std::vector<BadOption> cases = {
        {"batch_records and batch_bytes",
         [](RunOptions &o) { o.batch_records = o.batch_bytes = 1; }},
        {"batch_records", [](RunOptions &o) { o.batch_records = 0; }},
        {"batch_bytes", [](RunOptions &o) { o.batch_bytes = 0; }},
        {"delimiter", [](RunOptions &o) { o.framing.delimiter.clear(); }},
        {"fixed record", [](RunOptions &o) { o.framing = {Kind::fixed, "", 0}; }},
        {"max_record", [](RunOptions &o) { o.max_record_bytes = 0; }},
        {"max_record", [](RunOptions &o) {
             o.framing = {Kind::fixed, "", 11};
             o.max_record_bytes = 10;
         }},
        {"max_errors", [](RunOptions &o) { o.max_errors = 3; }},
        {"errors_to", [](RunOptions &o) { o.errors_to = "dead.jsonl"; }},
        {"memory", [](RunOptions &o) { o.memory_bytes = memory_bytes_min(2) - 1; }},
    };
    for (const BadOption &bad : cases) {
        RunOptions options;
        bad.set(options);
        const Result<void> valid = validate(options, 2);
        ASSERT_FALSE(valid) << bad.names;
        EXPECT_EQ(valid.error().kind, ErrorKind::invalid_option);
        EXPECT_NE(valid.error().message.find(bad.names), std::string::npos)
            << valid.error().message;
    }
}

TEST(Options, the_limits_themselves_are_allowed) {
    RunOptions options;
    options.memory_bytes = memory_bytes_min(8);
    options.on_error = OnError::skip;
    options.max_errors = 0;
    options.errors_to = "dead.jsonl";
    options.batch_records = 1;
    options.max_record_bytes = 1;
    EXPECT_TRUE(validate(options, 8));
    EXPECT_EQ(memory_bytes_min(0), memory_bytes_min(1));
    options.framing = {Framing::Kind::fixed, "", 1};
    EXPECT_TRUE(validate(options, 8));
}

} // namespace
} // namespace gristmill
