// The three examples in C, under each framing.
#include <gtest/gtest.h>

#include "plugin_host.hpp"

namespace gristmill::test {
namespace {

constexpr const char *identity_path = GRISTMILL_PLUGIN_DIR "/identity.so";
constexpr const char *upper_path = GRISTMILL_PLUGIN_DIR "/upper.so";
constexpr const char *count_path = GRISTMILL_PLUGIN_DIR "/count.so";

/// Delimiters that look like letters, have a border, or are longer than a byte, and the other
/// framings.
std::vector<Framing> framings() {
    return {Framing::by("\n"), Framing::by("x"), Framing::by("\r\n"), Framing::by("aab"),
            Framing::by("$$"), Framing::u32(),   Framing::fixed()};
}

const std::vector<std::string> records{"caf\xc3\xa9 `{", "sevenby", "AZ[@yz!", "\x01\x80\xff q1z"};
const std::vector<std::string> records_upper{"CAF\xc3\xa9 `{", "SEVENBY", "AZ[@YZ!",
                                             "\x01\x80\xff Q1Z"};

/// The same number of bytes each, so that they fit every framing.
std::vector<std::string> padded(std::vector<std::string> texts) {
    for (std::string &text : texts)
        text.resize(8, '.');
    return texts;
}

void expect_clean(const Outcome &outcome, std::size_t emitted) {
    EXPECT_EQ(outcome.status, GM_OK);
    EXPECT_EQ(outcome.emitted, emitted);
    EXPECT_TRUE(outcome.complaints.empty());
}

TEST(Examples, EachNamesItself) {
    EXPECT_STREQ(PluginHost(identity_path).plugin().name, "identity");
    EXPECT_STREQ(PluginHost(upper_path).plugin().name, "upper");
    EXPECT_STREQ(PluginHost(count_path).plugin().name, "count");
}

TEST(Examples, IdentityCopiesEveryByte) {
    PluginHost host(identity_path);
    for (const Framing &framing : framings()) {
        const Outcome outcome = host.run(padded(records), framing);
        EXPECT_EQ(outcome.output, framing.join(padded(records)));
        expect_clean(outcome, records.size());
    }
}

TEST(Examples, UpperChangesLettersAndNothingBetweenRecords) {
    PluginHost host(upper_path);
    for (const Framing &framing : framings()) {
        const Outcome outcome = host.run(padded(records), framing);
        EXPECT_EQ(outcome.output, framing.join(padded(records_upper)));
        expect_clean(outcome, records.size());
    }
}

TEST(Examples, UpperKeepsEmptyRecordsAndLengthsThatLookLikeLetters) {
    PluginHost host(upper_path);
    const std::vector<std::string> lower{"", std::string(0x61, 'b'), std::string(0x6161, 'c'), ""};
    const std::vector<std::string> upper{"", std::string(0x61, 'B'), std::string(0x6161, 'C'), ""};
    for (const Framing &framing :
         {Framing::by("\n"), Framing::by("aab"), Framing::by("zz"), Framing::u32()}) {
        EXPECT_EQ(host.run(lower, framing).output, framing.join(upper));
    }
}

TEST(Examples, UpperFindsDelimitersFromLeftToRight) {
    PluginHost host(upper_path);
    // "aa" ends the first record; the third "a" belongs to the second.
    EXPECT_EQ(host.run_bytes("baaaxaa", 2, 0, Framing::by("aa")).output, "BaaAXaa");
}

TEST(Examples, CountGivesOneFramedNumberPerBatch) {
    PluginHost host(count_path);
    for (const Framing &framing : framings()) {
        const Outcome outcome = host.run(padded(records), framing);
        EXPECT_EQ(outcome.output, framing.join({"4"}));
        expect_clean(outcome, records.size());
    }
    EXPECT_EQ(host.run(std::vector<std::string>(12345, "")).output, "12345\n");
}

TEST(Examples, WithoutMemoryTheBatchFails) {
    for (const char *path : {identity_path, upper_path, count_path}) {
        PluginHost host(path);
        host.limit_memory(0);
        EXPECT_EQ(host.run({"abc"}).status, GM_FAIL_BATCH);
    }
}

} // namespace
} // namespace gristmill::test
