// Words and their stems, of which each is worked out once and then remembered.
#ifndef GRISTMILL_PLUGINS_WORD_STEMS_HPP
#define GRISTMILL_PLUGINS_WORD_STEMS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "crc32.hpp"
#include "short_words.hpp"
#include "text_blocks.hpp"

namespace gristmill {

/// `word` without the first of the suffixes that it ends with and that leaves it more than two
/// letters.
constexpr std::string_view stem_of(std::string_view word) noexcept {
    constexpr std::array<std::string_view, 9> suffixes{"ing",  "ed",   "ly",  "es",  "s",
                                                       "ment", "ness", "ful", "less"};
    for (const std::string_view suffix : suffixes) {
        if (word.ends_with(suffix) && word.size() > suffix.size() + 2)
            return word.substr(0, word.size() - suffix.size());
    }
    return word;
}

/// What a text has of words: their number, how many different stems they have, and the fold of the
/// stems in order, by which h becomes h * 31 + crc32(stem).
struct WordFeatures {
    std::uint32_t words = 0;
    std::uint32_t distinct = 0;
    std::uint32_t fold = 0;
};

/// Works out the features of texts. A word is a run of ASCII letters with no digit or underscore
/// beside it; capitals count as small letters.
///
/// Remembers stems by their letters, and by each short word its stem, until they are too many:
/// then it forgets all before it begins the next text.
class WordStems {
  public:
    WordStems() { forget(); }

    /// text::block_bytes readable bytes follow `text`. Throws std::bad_alloc.
    WordFeatures features_of(std::string_view text) {
        if (short_words_.size() + stems_.size() > words_max || letters_ > letters_max)
            forget();
        ++texts_;
        WordFeatures features;
        Place *end = found_.data();
        text::for_each_run(text, is_of_word, [&](std::string_view run) {
            *end++ = place_of(run);
            if (end == found_.data() + found_.size()) {
                fold(found_.data(), end, features);
                end = found_.data();
            }
            return true;
        });
        fold(found_.data(), end, features);
        return features;
    }

  private:
    using Place = text::ShortWordTable::Value; // of a stem in stems_

    struct Stem {
        std::uint64_t last_text = 0; // the number of the last text that has it
        std::uint32_t crc = 0;
        bool is_word = false;
    };

    // What is remembered takes some 10 MB at most, and what one text adds.
    static constexpr std::size_t words_max = 100000;
    static constexpr std::size_t letters_max = 1000000;
    static constexpr Place no_word = 0;

    /// Letters, digits and underscores: a run of them is a word if it is all letters.
    static constexpr auto is_of_word = [](text::Bytes bytes) {
        const text::Bytes small = bytes | ' ';
        return ((small >= 'a') & (small <= 'z')) | ((bytes >= '0') & (bytes <= '9')) |
               (bytes == '_');
    };

    /// Adds stems to the features of a text. Kept apart from the walk through the text: what is
    /// written to a stem here would hold up the search for the next ones.
    void fold(const Place *begin, const Place *end, WordFeatures &features) noexcept {
        for (const Place *place = begin; place != end; ++place) {
            Stem &stem = stems_[*place];
            if (!stem.is_word)
                continue;
            features.words += 1;
            features.distinct += stem.last_text != texts_;
            features.fold = features.fold * 31 + stem.crc;
            stem.last_text = texts_;
        }
    }

    Place place_of(std::string_view run) {
        if (run.size() > text::ShortWord::bytes_max)
            return learn(run);
        constexpr std::uint64_t small_bits = 0x2020202020202020; // makes no other byte a letter
        text::ShortWord word = text::ShortWord::of(run);
        word.low |= small_bits;
        word.high |= small_bits >> 8; // not in the size
        Place place = short_words_.find(word);
        if (place == text::ShortWordTable::none) {
            place = learn(run);
            short_words_.add(word, place);
        }
        return place;
    }

    [[gnu::noinline]] Place learn(std::string_view run) {
        small_.assign(run);
        for (char &letter : small_) {
            if (letter >= 'A' && letter <= 'Z')
                letter |= ' ';
            if (letter < 'a' || letter > 'z')
                return no_word;
        }
        const std::string_view stem = stem_of(small_);
        if (const auto known = places_.find(std::string(stem)); known != places_.end())
            return known->second;
        const auto place = static_cast<Place>(stems_.size());
        stems_.push_back({0, crc32(stem), true});
        places_.emplace(stem, place);
        letters_ += stem.size();
        return place;
    }

    void forget() {
        places_.clear();
        short_words_.clear();
        stems_.assign(1, Stem{}); // no_word
        letters_ = 0;
    }

    std::vector<Stem> stems_;
    std::unordered_map<std::string, Place> places_; // of stems, by their letters
    text::ShortWordTable short_words_;              // with the places of their stems
    std::array<Place, 512> found_;                  // in the text in hand, not yet folded
    std::size_t letters_ = 0;                       // of all stems
    std::string small_;                             // the word to learn, in small letters
    std::uint64_t texts_ = 0;
};

} // namespace gristmill

#endif
