// What the generated records look like, whole and spoilt.
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "generate.hpp"
#include "malformed.hpp"

namespace gristmill::datagen {
namespace {

std::string generated(const GenerateSpec &spec) {
    std::string bytes;
    const auto error = append_records(spec, bytes);
    EXPECT_FALSE(error) << error->what;
    return bytes;
}

std::vector<std::string_view> lines_of(std::string_view bytes) {
    std::vector<std::string_view> lines;
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        lines.push_back(bytes.substr(0, end));
        bytes.remove_prefix(end + 1);
    }
    return lines;
}

TEST(Records, LightBeginsAsPublished) {
    EXPECT_EQ(
        generated({.set = RecordSet::light, .records = 1}),
        R"({"eid":"evt_1a3dbc8960a9","uid":709571,"iid":48541,"ts":1729936578,"et":"view","dev":"ios","dur":71532})"
        "\n");
}

TEST(Records, ASpecDeterminesEveryByte) {
    const GenerateSpec spec{.set = RecordSet::medium, .records = 500, .malformed_pct = 20};
    const std::string bytes = generated(spec);
    EXPECT_EQ(generated(spec), bytes);
    EXPECT_EQ(lines_of(bytes).size(), 500u);
    GenerateSpec other = spec;
    other.seed = 43;
    EXPECT_NE(generated(other), bytes);
    other.seed = default_seed(spec.set);
    EXPECT_EQ(generated(other), bytes);
    other.records = 100;
    EXPECT_TRUE(bytes.starts_with(generated(other)));
    EXPECT_EQ(generated({.set = RecordSet::light, .records = 0}), "");
}

TEST(Records, EachWayToSpoilIsDrawn) {
    const std::string bytes =
        generated({.set = RecordSet::heavy, .records = 1000, .malformed_pct = 100});
    int truncated = 0, missing = 0, wrong = 0, garbage = 0, empty = 0;
    for (const std::string_view line : lines_of(bytes)) {
        if (line.empty()) {
            ++empty;
        } else if (line.starts_with("{x")) {
            ++garbage;
            EXPECT_GE(line.size(), 21u);
            EXPECT_LE(line.size(), 201u);
            EXPECT_EQ(line.find_first_not_of('x', 1), std::string_view::npos);
        } else if (!line.ends_with("}")) {
            ++truncated;
            EXPECT_GE(line.size(), 10u);
        } else if (line.find(R"(,"timestamp":"not_a_number",)") != std::string_view::npos) {
            ++wrong;
        } else {
            ++missing;
        }
    }
    for (const int count : {truncated, missing, wrong, garbage, empty}) {
        EXPECT_GT(count, 150);
        EXPECT_LT(count, 250);
    }
}

TEST(Records, AboutTheAskedShareIsSpoilt) {
    const std::string bytes =
        generated({.set = RecordSet::light, .records = 20000, .malformed_pct = 10});
    int empty = 0;
    for (const std::string_view line : lines_of(bytes))
        empty += line.empty();
    EXPECT_GT(empty, 320); // a fifth of a tenth
    EXPECT_LT(empty, 480);
}

TEST(Malformed, TakesFieldsOutWhereTheyStand) {
    const std::string record = R"({"a":1,"b":{"c":[1,2],"d":"x,}"},"e":"f"})";
    EXPECT_EQ(field_count(record), 3u);
    const std::vector<std::string> expected{R"({"b":{"c":[1,2],"d":"x,}"},"e":"f"})",
                                            R"({"a":1,"e":"f"})",
                                            R"({"a":1,"b":{"c":[1,2],"d":"x,}"}})"};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        std::string changed = record;
        remove_field(changed, i);
        EXPECT_EQ(changed, expected[i]);
    }
    std::string only = R"({"a":1})";
    remove_field(only, 0);
    EXPECT_EQ(only, "{}");
}

TEST(Malformed, SpoilsOrAddsTheTimestamp) {
    std::string present = R"({"a":{"timestamp":1},"timestamp":5,"b":2})";
    spoil_timestamp(present);
    EXPECT_EQ(present, R"({"a":{"timestamp":1},"timestamp":"not_a_number","b":2})");
    std::string absent = R"({"ts":5})";
    spoil_timestamp(absent);
    EXPECT_EQ(absent, R"({"ts":5,"timestamp":"not_a_number"})");
}

TEST(Spec, RefusesWhatCannotBe) {
    std::string bytes;
    EXPECT_TRUE(append_records({.malformed_pct = -1}, bytes));
    EXPECT_TRUE(append_records({.malformed_pct = 101}, bytes));
    EXPECT_TRUE(append_records({.malformed_pct = 0.0 / 0.0}, bytes));
    EXPECT_TRUE(append_records({.set = RecordSet::heavy, .large_documents = true}, bytes));
    EXPECT_TRUE(append_records({.threads = 1000000}, bytes));
    EXPECT_TRUE(bytes.empty());
}

TEST(Spec, RefusesRangesThatCannotBe) {
    std::string bytes;
    const auto reference = append_records({.records = 10, .range = Range{2, 5}}, bytes);
    ASSERT_TRUE(reference);
    EXPECT_EQ(reference->error_number, EINVAL);
    EXPECT_NE(reference->what.find("fast stream"), std::string::npos) << reference->what;
    for (const Range range : {Range{5, 2}, Range{5, 11}, Range{11, 12}}) {
        EXPECT_TRUE(append_records({.stream = Stream::fast, .records = 10, .range = range}, bytes));
    }
    EXPECT_TRUE(bytes.empty());
}

TEST(Spec, NamesItsSets) {
    for (const RecordSet set :
         {RecordSet::light, RecordSet::medium, RecordSet::heavy, RecordSet::tokenize}) {
        EXPECT_EQ(record_set_of(name_of(set)), set);
    }
    EXPECT_FALSE(record_set_of("Light"));
    for (const Stream stream : {Stream::reference, Stream::fast})
        EXPECT_EQ(stream_of(name_of(stream)), stream);
    for (const Compression way : {Compression::none, Compression::zstd, Compression::gzip})
        EXPECT_EQ(compression_of(name_of(way)), way);
}

} // namespace
} // namespace gristmill::datagen
