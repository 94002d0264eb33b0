// The heavy payload: the features of words.
#include <string>

#include <gtest/gtest.h>

#include "both_paths.hpp"
#include "usual_records.hpp"

namespace gristmill::test {
namespace {

std::string heavy(const std::string &record) {
    static BothPaths both("heavy");
    return both(record);
}

std::string with_review(const std::string &json) {
    return "{" + medium_fields + ",\"review_text\":" + json + ",\"search_query\":\"\"}";
}

/// The features of a review's words as printed, without their keys: "wc uw fh ld".
std::string words_of(const std::string &text) {
    std::string output = heavy(with_review("\"" + text + "\""));
    const std::size_t begin = output.find("\"rv_wc\":");
    if (begin == std::string::npos)
        return output;
    output = output.substr(begin + 8, output.find(",\"sq_wc\"") - begin - 8);
    for (const char *key : {",\"rv_uw\":", ",\"rv_fh\":", ",\"rv_ld\":"})
        output = replaced(output, key, " ");
    return output;
}

TEST(Heavy, AddsTheFeaturesOfWords) {
    EXPECT_EQ(heavy(heavy_record),
              "{" + medium_output_fields +
                  R"(,"rv_wc":6,"rv_uw":6,"rv_fh":1585779068,"rv_ld":1.0,"sq_wc":2,)"
                  R"("sq_fh":2771500331})");
}

TEST(Heavy, TextsAreOptionalStrings) {
    const std::string none = "{" + medium_output_fields +
                             R"(,"rv_wc":0,"rv_uw":0,"rv_fh":0,"rv_ld":0.0,"sq_wc":0,"sq_fh":0})";
    EXPECT_EQ(heavy(medium_record), none);
    EXPECT_EQ(heavy(with_review("\"\"")), none);
    for (const char *other : {"null", "1", "[]", "{}", "true"})
        EXPECT_EQ(heavy(with_review(other)), "malformed") << other;
    EXPECT_EQ(heavy("{" + medium_fields + ",\"search_query\":null}"), "malformed");
    EXPECT_EQ(heavy(replaced(heavy_record, "1500", "99")), "filtered");
    EXPECT_EQ(heavy(replaced(replaced(heavy_record, "1500", "99"), "\"good dog\"", "7")),
              "malformed");
}

TEST(Heavy, CutsTheFirstSuffixThatLeavesThreeLetters) {
    EXPECT_EQ(words_of("Dogs DOGS dog"), "3 1 210435549 0.3333");
    EXPECT_EQ(words_of("ing king sing singing"), "4 3 1853054260 0.75");
    EXPECT_EQ(words_of("less lesss harmless"), "3 3 3043632901 1.0");
    EXPECT_EQ(words_of("its is as pass"), "4 4 534485201 1.0");
    EXPECT_EQ(words_of("running ed need needed"), "4 3 3452146774 0.75");
    EXPECT_EQ(words_of("agreement enjoyment ment"), "3 3 1307602368 1.0");
}

TEST(Heavy, TakesRunsOfLettersAlone) {
    EXPECT_EQ(words_of("a1 b_ _c d-e \\u00e9 f"), "3 3 1493025938 1.0");
    EXPECT_EQ(words_of("a1 b_ _c d-e \xc3\xa9 f"), "3 3 1493025938 1.0");
    EXPECT_EQ(words_of("1st 2nd a"), "1 1 3904355907 1.0");
    EXPECT_EQ(words_of("na\xc3\xafve \xef\xac\x81sh"), "3 3 1903084128 1.0");
    EXPECT_EQ(words_of("a"), words_of("\\u0000a\\n"));
    EXPECT_EQ(words_of("a[b`c{d@e"), words_of("a b c d e"));
}

TEST(Heavy, TakesWordsOfAnyLength) {
    EXPECT_EQ(words_of("wondrousnesswondrousnesswondrousness"), "1 1 3344766432 1.0");
    const std::string x(16, 'x');
    EXPECT_EQ(words_of(x + "ing " + x), "2 1 1694695904 0.5");
    for (std::size_t size = 1; size < 150; ++size) {
        const std::string word(size, 'y');
        EXPECT_EQ(words_of(word), words_of(" " + word + " ")) << size;
        EXPECT_EQ(words_of(word).substr(0, 4), "1 1 ") << size;
        EXPECT_EQ(words_of(word + " Z " + word).substr(0, 4), "3 2 ") << size;
        EXPECT_EQ(words_of(word + "7"), "0 0 0 0.0") << size;
    }
}

TEST(Heavy, RemembersMoreWordsThanItKeeps) {
    BothPaths both("heavy");
    const std::string first = both.usual().run({with_review("\"quick dogs\"")}).output;
    for (int round = 0; round < 3; ++round) {
        std::string text;
        for (int i = 0; i < 60000; ++i) {
            for (int rest = i + 60000 * round; rest > 0; rest /= 26)
                text += static_cast<char>('a' + rest % 26);
            text += ' ';
        }
        EXPECT_EQ(both.usual().run({with_review("\"" + text + "\"")}).emitted, 1u);
        EXPECT_EQ(both.usual().run({with_review("\"quick dogs\"")}).output, first);
    }
}

} // namespace
} // namespace gristmill::test
