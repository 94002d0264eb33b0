// The words that documents are made of, and the vocabulary that they are read with.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "document_vocabulary.hpp"
#include "generate.hpp"
#include "tokenize_words.hpp"

namespace gristmill::datagen {
namespace {

template <class List>
double mean_length(const List &list, std::size_t first, std::size_t count) {
    std::size_t sum = 0;
    for (std::size_t i = first; i < first + count; ++i)
        sum += list[i].view().size();
    return static_cast<double>(sum) / static_cast<double>(count);
}

TEST(Tokenize, ListsHaveTheSpecifiedLengths) {
    EXPECT_EQ(common_count, 76u);
    EXPECT_EQ(term_count, 42u);
    EXPECT_EQ(affixes.size(), 20u);
    EXPECT_EQ(long_words.size(), 9u);
    EXPECT_NEAR(mean_length(plain_words, 0, common_count), 3.5, 0.01);
    EXPECT_NEAR(mean_length(plain_words, common_count, term_count), 8.6, 0.01);
    EXPECT_NEAR(mean_length(affixes, 0, affixes.size()), 3.0, 0.01);
    EXPECT_NEAR(mean_length(long_words, 0, long_words.size()), 29.0, 0.01);
}

TEST(Tokenize, VocabularyIsAsSpecified) {
    const std::vector<std::string> words = vocabulary();
    ASSERT_EQ(words.size(), 29999u);
    EXPECT_EQ(std::set(words.begin(), words.end()).size(), words.size());
    EXPECT_EQ(words[0], "the");
    EXPECT_EQ(words[76 + 42], "ing");
    EXPECT_EQ(words[146], "deinstitutionalization");
    EXPECT_EQ(words[147], "tok00148");
    EXPECT_EQ(words.back(), "tok29999");
    EXPECT_TRUE(vocabulary_text().starts_with("1\tthe\n2\tand\n"));
    EXPECT_TRUE(vocabulary_text().ends_with("\n29999\ttok29999\n"));
}

/// Mean words of a document; each has at least `min` and at most `max`.
double mean_words(const GenerateSpec &spec, std::uint64_t min, std::uint64_t max) {
    std::string bytes;
    EXPECT_FALSE(append_records(spec, bytes));
    std::uint64_t sum = 0, words = 1; // between the words are the only spaces
    for (const char c : bytes) {
        words += c == ' ';
        if (c == '\n') {
            EXPECT_GE(words, min);
            EXPECT_LE(words, max);
            sum += std::exchange(words, 1);
        }
    }
    return static_cast<double>(sum) / static_cast<double>(spec.records);
}

TEST(Tokenize, DocumentsAreAsLongAsSpecified) {
    for (const Stream stream : {Stream::reference, Stream::fast}) {
        GenerateSpec spec{.set = RecordSet::tokenize, .stream = stream, .records = 5000};
        EXPECT_NEAR(mean_words(spec, 50, 500), 275, 10);
        spec.large_documents = true;
        EXPECT_NEAR(mean_words(spec, 500, 800), 650, 10);
    }
}

} // namespace
} // namespace gristmill::datagen
