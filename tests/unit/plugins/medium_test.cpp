// The medium payload: what it writes, and the rules of what is malformed.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "both_paths.hpp"
#include "usual_records.hpp"

namespace gristmill::test {
namespace {

std::string medium(const std::string &record) {
    static BothPaths both("medium");
    return both(record);
}

/// The usual record, changed in one place.
std::string medium_with(const std::string &from, const std::string &to) {
    return medium(replaced(medium_record, from, to));
}

std::string timed(const std::string &seconds) {
    const std::string output = medium_with("1700043200", seconds);
    const std::size_t at = output.find("\"ts_n\":");
    return at == std::string::npos ? output : output.substr(at, output.find(",\"et\"") - at);
}

/// What is printed for `key` when the number `from` reads `to`.
std::string printed(const std::string &key, const std::string &from, const std::string &to) {
    const std::string output = medium_with(from, to);
    const std::size_t at = output.find("\"" + key + "\":");
    if (at == std::string::npos)
        return output;
    const std::size_t begin = at + key.size() + 3;
    return output.substr(begin, output.find_first_of(",}", begin) - begin);
}

TEST(Medium, WritesFeatures) { EXPECT_EQ(medium(medium_record), medium_output); }

TEST(Medium, NeedsSixFieldsOnly) {
    EXPECT_EQ(medium(R"({"event_id":"","user_id":"u","item_id":"i","timestamp":1700000000,)"
                     R"("event_type":"view","device":"fridge","duration_ms":100})"),
              R"({"eid":"","uid":"u","iid":"i","ts_n":0.0,"hod":22,"dow":5,"et":0,"dev":-1,)"
              R"("log_dur":4.6151,"scr":0.0,"rev":0,"tier":0,"sess":0,"dss":0,"log_pr":0.0,)"
              R"("rate":0.0})");
    for (const char *key :
         {"event_id", "user_id", "item_id", "timestamp", "event_type", "device"}) {
        const std::string quoted = std::string("\"") + key + "\"";
        EXPECT_EQ(medium_with(quoted, "\"other\""), "malformed") << key;
    }
    for (const char *key :
         {"session_id", "scroll_depth", "revenue_cents", "user_context", "num_prev_sessions",
          "avg_session_duration_s", "user_tier", "days_since_signup", "item_context", "category",
          "price_cents", "rating", "num_reviews", "experiment_bucket"}) {
        const std::string quoted = std::string("\"") + key + "\"";
        EXPECT_EQ(medium_with(quoted, "\"other\"").substr(0, 8), "{\"eid\":\"") << key;
    }
    EXPECT_EQ(medium_with("\"duration_ms\"", "\"other\""), "filtered");
}

TEST(Medium, RefusesOtherTypes) {
    const std::vector<std::pair<std::string, std::string>> values{
        {"\"evt_0123456789ab\"", "string"},
        {"\"user_00000007\"", "string"},
        {"\"item_000003\"", "string"},
        {"1700043200", "number"},
        {"\"purchase\"", "string"},
        {"\"android\"", "string"},
        {"1500", "number"},
        {"0.125", "number"},
        {"777", "number"},
        {"17,", "number"},
        {"\"premium\"", "string"},
        {"400", "number"},
        {"2999", "number"},
        {"4.5", "number"}};
    for (const auto &[value, type] : values) {
        const std::string comma = value.back() == ',' ? "," : "";
        for (const char *other : {"null", "true", "false", "[]", "{}", "[1]"})
            EXPECT_EQ(medium_with(value, other + comma), "malformed") << value << other;
        EXPECT_EQ(medium_with(value, (type == "string" ? "1" : "\"1\"") + comma), "malformed");
    }
    for (const char *other : {"null", "1", "\"\"", "[]", "true"}) {
        const std::string value = "\"x\":{}" + std::string(",\"user_context\":") + other + "}";
        EXPECT_EQ(medium("{" + medium_fields + "," + value), "malformed") << other;
    }
    EXPECT_EQ(medium("{" + medium_fields + ",\"item_context\":[]}"), "malformed");
}

TEST(Medium, LeavesOutShortAndUnknown) {
    EXPECT_EQ(medium_with("1500", "99"), "filtered");
    EXPECT_EQ(medium_with("1500", "99.999"), "filtered");
    EXPECT_EQ(medium_with("1500", "-0.999"), "filtered");
    EXPECT_EQ(medium_with("\"purchase\"", "\"purchases\""), "filtered");
    EXPECT_EQ(medium_with("\"purchase\"", "\"View\""), "filtered");
    EXPECT_EQ(medium(" \r\t"), "filtered");
    EXPECT_EQ(medium_with("1500,\"scroll_depth\":0.125", "99,\"scroll_depth\":null"), "malformed");
    EXPECT_EQ(medium_with("1500", "-1"), "malformed");
    EXPECT_EQ(medium_with("1500", "-1.0"), "malformed");
    EXPECT_EQ(medium_with("2999", "-1"), "malformed");
    EXPECT_EQ(medium_with("2999", "-1e3"), "malformed");
}

TEST(Medium, ComputesTimesOfTheTypeOfTheTimestamp) {
    const std::vector<std::pair<std::string, std::string>> times{
        {"0", R"("ts_n":-19675.925925925927,"hod":0,"dow":0)"},
        {"-1", R"("ts_n":-19675.9259375,"hod":23,"dow":6)"},
        {"-9007199254740992", R"("ts_n":-104250011050.24297,"hod":16,"dow":2)"},
        {"9007199254740992", R"("ts_n":104249971698.39111,"hod":7,"dow":4)"},
        {"1.7e9", R"("ts_n":0.0,"hod":22.0,"dow":5.0)"},
        {"1700043200.5", R"("ts_n":0.500005787037037,"hod":10.0,"dow":6.0)"},
        {"-0.0", R"("ts_n":-19675.925925925927,"hod":0.0,"dow":0.0)"},
        {"-0.5", R"("ts_n":-19675.92593171296,"hod":23.0,"dow":6.0)"},
        {"-1e-20", R"("ts_n":-19675.925925925927,"hod":24.0,"dow":6.0)"},
        {"-86400.25", R"("ts_n":-19676.925928819444,"hod":23.0,"dow":5.0)"},
        {"1e300", R"("ts_n":1.1574074074074075e+295,"hod":17.0,"dow":0.0)"}};
    for (const auto &[seconds, expected] : times)
        EXPECT_EQ(timed(seconds), expected);
    EXPECT_EQ(timed("9007199254740993"), "malformed");
    EXPECT_EQ(timed("-9007199254740993"), "malformed");
    EXPECT_EQ(timed("18446744073709551615"), "malformed");
}

TEST(Medium, RoundsLogarithmsAsPythonDoes) {
    EXPECT_EQ(printed("log_dur", "1500", "100"), "4.6151");
    EXPECT_EQ(printed("log_dur", "1500", "1e308"), "709.1962");
    EXPECT_EQ(printed("log_dur", "1500", "9007199254740992"), "36.7368");
    EXPECT_EQ(printed("log_dur", "1500", "9007199254740993"), "malformed");
    EXPECT_EQ(printed("log_pr", "2999", "0"), "0.0");
    EXPECT_EQ(printed("log_pr", "2999", "-0.0"), "0.0");
    EXPECT_EQ(printed("log_pr", "2999", "1e-3"), "0.001");
    EXPECT_EQ(printed("log_pr", "2999", "-0.00001"), "-0.0");
    EXPECT_EQ(printed("log_pr", "2999", "-0.99999999"), "-18.4207");
    EXPECT_EQ(printed("log_pr", "2999", "9007199254740993"), "malformed");
}

TEST(Medium, PrintsNumbersAsTheyWereParsed) {
    const std::vector<std::pair<std::string, std::string>> numbers{
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"1e2", "100.0"},
        {"18446744073709551615", "18446744073709551615"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"1e15", "1000000000000000.0"},
        {"1e16", "1e+16"},
        {"1.50", "1.5"},
        {"0.1e-3", "0.0001"},
        {"0.00001", "1e-05"},
        {"0.00012345", "0.00012345"},
        {"5e-324", "5e-324"},
        {"1e-999", "0.0"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"-2.2250738585072014e-308", "-2.2250738585072014e-308"},
        {"123456789.123456789", "123456789.12345679"},
        {"9007199254740993.0", "9007199254740992.0"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"18446744073709551616", "malformed"},
        {"1e999", "malformed"}};
    for (const auto &[number, expected] : numbers) {
        EXPECT_EQ(printed("rate", "4.5", number), expected) << number;
        EXPECT_EQ(printed("scr", "0.125", number), expected) << number;
        EXPECT_EQ(printed("sess", "17,", number + ","), expected) << number;
        EXPECT_EQ(printed("dss", "400", number), expected) << number;
    }
}

TEST(Medium, TellsRevenueFromNone) {
    for (const char *none : {"0", "-5", "0.0", "-0.0", "1e-999"})
        EXPECT_EQ(printed("rev", "777", none), "0") << none;
    for (const char *some : {"1", "1e-300", "9007199254740992"})
        EXPECT_EQ(printed("rev", "777", some), "1") << some;
    EXPECT_EQ(printed("rev", "777", "9007199254740993"), "malformed");
}

TEST(Medium, TakesTheLastOfDuplicateKeys) {
    EXPECT_EQ(medium("{" + medium_fields + R"(,"user_context":{"user_tier":"basic"}})"),
              replaced(replaced(replaced(medium_output, "\"tier\":2", "\"tier\":1"), "\"sess\":17",
                                "\"sess\":0"),
                       "\"dss\":400", "\"dss\":0"));
    EXPECT_EQ(
        medium_with("\"user_tier\":\"premium\"", R"("user_tier":"premium","user_tier":"gold")"),
        replaced(medium_output, "\"tier\":2", "\"tier\":0"));
    EXPECT_EQ(medium_with("\"rating\":4.5", R"("rating":null,"rating":4.5)"), medium_output);
}

TEST(Medium, PrintsStringsAsPythonDoes) {
    EXPECT_EQ(medium_with("evt_0123456789ab", R"(\"\\\/\b\n\u00e9)"
                                              "\xf0\x9f\x98\x80"
                                              "~\x7f"),
              replaced(medium_output, "evt_0123456789ab", R"(\"\\/\b\n\u00e9\ud83d\ude00~\u007f)"));
    EXPECT_EQ(medium_with("user_00000007", R"(\ud800)"), "malformed");
}

TEST(Medium, ForgetsTheRecordBefore) {
    BothPaths both("medium");
    const std::string bare = R"({"event_id":"e","user_id":"u","item_id":"i","timestamp":0,)"
                             R"("event_type":"view","device":"ios","duration_ms":100})";
    const Outcome alone = both.usual().run({bare});
    const Outcome after = both.usual().run({medium_record, "{", bare});
    EXPECT_EQ(after.output, medium_output + "\n\n" + alone.output);
}

TEST(Medium, RefusesAnUnknownConfiguration) {
    PluginHost host(GRISTMILL_PLUGIN_DIR "/medium.so", "fast");
    EXPECT_FALSE(host.ok());
    EXPECT_NE(host.explanation().find("strict"), std::string::npos);
}

} // namespace
} // namespace gristmill::test
