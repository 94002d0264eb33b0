// The tokenize payload: words to ids, and the vocabulary.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "both_paths.hpp"
#include "usual_records.hpp"

namespace gristmill::test {
namespace {

constexpr const char *path = GRISTMILL_PLUGIN_DIR "/tokenize.so";

BothPaths &both() {
    static const std::string file = vocabulary_file(vocabulary);
    static BothPaths plugin("tokenize", file, "strict:" + file);
    return plugin;
}

std::string document(const std::string &text) {
    return R"({"doc_id":7,"text":")" + text +
           R"(","source":"web","lang":"en","timestamp":1700000060})";
}

const std::string filling = " the cat dog walk s ing the cat dog walk s ing the cat dog walk s ing "
                            "the cat";

/// The ids of the tokens of `text`, which comes before a text of twenty tokens.
std::string tokens_of(const std::string &text) {
    const std::string output = both()(document(text + filling));
    const std::size_t begin = output.find('[');
    const std::string rest = ",5,2,3,4,6,7,5,2,3,4,6,7,5,2,3,4,6,7,5,2]";
    const std::size_t end = output.find(rest);
    if (begin == std::string::npos || end == std::string::npos)
        return output;
    return output.substr(begin + 1, end - begin - 1);
}

std::string word(int number) { return std::string("w").append(std::to_string(number)); }

TEST(Tokenize, WritesTokens) {
    EXPECT_EQ(both()(tokenize_record),
              R"({"doc_id":7,"tokens":[5,2,6,5,4,7,3,0,5,2,6,5,4,7,3,0,5,2,6,5,4,7,3,0,8,0,5,3],)"
              R"("n_tokens":28,"n_unique":8,"diversity":0.2857})");
}

TEST(Tokenize, SplitsWordsThatItDoesNotKnow) {
    EXPECT_EQ(tokens_of("dog"), "3");
    EXPECT_EQ(tokens_of("Dog"), "0");
    EXPECT_EQ(tokens_of("dogs"), "3,6");
    EXPECT_EQ(tokens_of("walked"), "4,0"); // ed is no entry
    EXPECT_EQ(tokens_of("walks"), "4,6");
    EXPECT_EQ(tokens_of("walkings"), "0");
    EXPECT_EQ(tokens_of("thes"), "5,6");
    EXPECT_EQ(tokens_of("ings"), "7,6");
    EXPECT_EQ(tokens_of("ss"), "0");
    EXPECT_EQ(tokens_of("supercalifragilistic"), "70000");
    EXPECT_EQ(tokens_of("supercalifragilistics"), "70000,6");
    EXPECT_EQ(tokens_of("supercalifragilisticx"), "0");
    EXPECT_EQ(tokens_of("extraordinari"), "8");
    EXPECT_EQ(tokens_of("extraordinariness"), "8,0");
    EXPECT_EQ(tokens_of(std::string(5000, 'q')), "0");
}

TEST(Tokenize, SplitsAtTheWhitespaceOfAscii) {
    EXPECT_EQ(tokens_of("dog\\tdog\\ndog\\rdog\\u000bdog\\fdog  dog"), "3,3,3,3,3,3,3");
    EXPECT_EQ(tokens_of("dog\\u001cdog"), "0");
    EXPECT_EQ(tokens_of("dog\xc2\xa0"), "0");
    EXPECT_EQ(tokens_of("dog\\u0000 \\u0000"), "0,0");
    EXPECT_EQ(tokens_of("do\\u0067"), "3");
}

TEST(Tokenize, LeavesOutTooFewTooManyAndTooEqual) {
    const auto repeated = [](const std::string &words, int times) {
        std::string text;
        for (int i = 0; i < times; ++i)
            text += words + ' ';
        return both()(document(text));
    };
    EXPECT_EQ(both()(document("")), "filtered");
    EXPECT_EQ(repeated("the cat dog", 6), "filtered"); // 18
    EXPECT_EQ(repeated("the cat dog walk", 5).substr(0, 10), R"({"doc_id":)");
    EXPECT_EQ(repeated("dog", 20), "filtered");     // 1 of 20 is below 0.1
    EXPECT_NE(repeated("dog cat", 10), "filtered"); // 2 of 20 is not
    std::string text;
    for (int i = 0; i < 200; ++i)
        text += "the cat dog walk s ";
    EXPECT_EQ(both()(document(text)), "filtered"); // 5 of 1000 are too equal
}

TEST(Tokenize, CountsUpToAThousandTokens) {
    std::string lines, text;
    for (int i = 1; i <= 1001; ++i) {
        lines += std::to_string(i) + '\t' + word(i) + '\n';
        if (i <= 1000)
            text += word(i) + ' ';
    }
    const std::string file = vocabulary_file(lines);
    BothPaths wide("tokenize", file, "strict:" + file);
    const std::string output = wide(document(text));
    EXPECT_NE(output.find(R"(,1000],"n_tokens":1000,"n_unique":1000,"diversity":1.0})"),
              std::string::npos);
    EXPECT_EQ(wide(document(text + "w1001")), "filtered");
}

TEST(Tokenize, RoundsDiversityAsPythonDoes) {
    std::string text;
    for (int i = 0; i < 141; ++i)
        text += "a ";
    std::string lines = "999\ta\n";
    for (int i = 1; i <= 18; ++i) {
        lines += std::to_string(i) + '\t' + word(i) + '\n';
        text += word(i) + ' ';
    }
    const std::string file = vocabulary_file(lines);
    BothPaths plugin("tokenize", file, "strict:" + file);
    const std::string output = plugin(document(text + "a")); // 19 of 160: 0.11875, a near tie
    EXPECT_NE(output.find(R"("n_tokens":160,"n_unique":19,"diversity":0.1187})"), std::string::npos)
        << output;
}

TEST(Tokenize, WantsAnIntegerAndAString) {
    const auto with = [](const std::string &from, const std::string &to) {
        return both()(replaced(tokenize_record, from, to));
    };
    EXPECT_EQ(with("\"doc_id\":7", "\"doc_id\":18446744073709551615").substr(0, 32),
              R"({"doc_id":18446744073709551615,")");
    EXPECT_EQ(with("\"doc_id\":7", "\"doc_id\":-0").substr(0, 12), R"({"doc_id":0,)");
    for (const char *other : {"7.0", "7e0", "\"7\"", "null", "true", "[]", "18446744073709551616"})
        EXPECT_EQ(with("\"doc_id\":7", std::string("\"doc_id\":") + other), "malformed") << other;
    EXPECT_EQ(with("\"doc_id\"", "\"id\""), "malformed");
    EXPECT_EQ(with("\"text\"", "\"texts\""), "malformed");
    EXPECT_EQ(both()(R"({"doc_id":7,"text":null})"), "malformed");
    EXPECT_NE(with("1700000060", "\"not_a_number\""), "malformed");
    EXPECT_NE(with("\"web\"", "{}"), "malformed");
}

TEST(Tokenize, ExplainsABadVocabulary) {
    const auto explanation = [](const std::string &config) {
        PluginHost host(path, config.c_str());
        EXPECT_FALSE(host.ok());
        return host.explanation();
    };
    EXPECT_NE(explanation("").find("path of a vocabulary"), std::string::npos);
    EXPECT_NE(explanation("strict:").find("path of a vocabulary"), std::string::npos);
    EXPECT_NE(explanation("/no/such/file").find("No such file"), std::string::npos);
    EXPECT_NE(explanation(::testing::TempDir()).find("directory"), std::string::npos);
    for (const auto &[lines, fault] : std::initializer_list<std::pair<const char *, const char *>>{
             {"", "no entries"},
             {"1\ta\n\n", "line 2: not of the form"},
             {"1\ta\nb", "line 2: not of the form"},
             {"0\ta\n", "line 1: the id"},
             {"-1\ta\n", "line 1: the id"},
             {"2147483648\ta\n", "line 1: the id"},
             {"1x\ta\n", "line 1: the id"},
             {" 1\ta\n", "line 1: the id"},
             {"1\t\n", "line 1: the word is empty"},
             {"1\ta b\n", "line 1: the word is empty or holds whitespace"},
             {"1\ta\r\n", "line 1: the word is empty or holds whitespace"},
             {"1\ta\n2\ta\n", "line 2: the word stands there twice"},
             {"1\ta\n1\tb\n", "line 2: the id stands there twice"}})
        EXPECT_NE(explanation(vocabulary_file(lines)).find(fault), std::string::npos) << fault;
    EXPECT_TRUE(PluginHost(path, vocabulary_file("2147483647\ta").c_str()).ok());
}

// A vocabulary that was read stays for the next state, as long as the file is the same.

void write_vocabulary(const std::string &file, const std::string &lines, int hours_ago) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << lines;
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() -
                                               std::chrono::hours(hours_ago));
}

/// The first token that a new state gives to "dog" and "cats", which it has to take apart.
std::string tokens_in(const std::string &file) {
    PluginHost host(path, file.c_str());
    if (!host.ok())
        return host.explanation();
    const Outcome outcome = host.run({document("dog cats" + filling)}, Framing::u32());
    const std::string output = Framing::u32().split(outcome.output).at(0);
    const std::size_t begin = output.find('[') + 1;
    return output.substr(begin, output.find(",5,", begin) - begin);
}

TEST(Tokenize, NextStatesSayTheSame) {
    const std::string file = vocabulary_file("");
    write_vocabulary(file, vocabulary, 1);
    const std::string first = tokens_in(file);
    EXPECT_EQ(first, "3,2,6");
    for (int state = 0; state < 3; ++state)
        EXPECT_EQ(tokens_in(file), first);
    PluginHost one(path, file.c_str()), other(path, file.c_str()); // two at a time
    EXPECT_EQ(tokens_in(file), first);
    EXPECT_EQ(one.run({document(filling)}, Framing::u32()),
              other.run({document(filling)}, Framing::u32()));
}

TEST(Tokenize, NextStatesReadAVocabularyThatChanged) {
    const std::string file = vocabulary_file("");
    std::string changed = vocabulary;
    changed[changed.find("3\tdog")] = '9'; // as many bytes
    write_vocabulary(file, vocabulary, 2);
    EXPECT_EQ(tokens_in(file), "3,2,6");
    write_vocabulary(file, changed, 1);
    EXPECT_EQ(tokens_in(file), "9,2,6");
    for (int round = 0; round < 20; ++round) { // just written, as often as a clock's tick has room for
        std::ofstream(file, std::ios::binary | std::ios::trunc) << vocabulary;
        EXPECT_EQ(tokens_in(file), "3,2,6");
        std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
        EXPECT_EQ(tokens_in(file), "9,2,6");
    }
    write_vocabulary(file, vocabulary, 1);
    EXPECT_EQ(tokens_in(file), "3,2,6");
    std::filesystem::remove(file);
    EXPECT_NE(tokens_in(file).find("No such file"), std::string::npos);
}

} // namespace
} // namespace gristmill::test
