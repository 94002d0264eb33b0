// From words to tokens: the hash table of a tokenizer.
#ifndef GRISTMILL_PLUGINS_TOKEN_TABLE_HPP
#define GRISTMILL_PLUGINS_TOKEN_TABLE_HPP

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "short_words.hpp"
#include "text_blocks.hpp"
#include "vocabulary.hpp"

namespace gristmill {

/// A suffix of at most four bytes, to be compared with the last four of a word at once.
struct Suffix {
    static constexpr std::size_t stem_bytes_min = 3;

    std::string_view text;
    std::uint32_t bytes = 0;
    std::uint32_t mask = 0;

    constexpr Suffix(std::string_view suffix) noexcept : text(suffix) {
        for (const char byte : suffix) {
            bytes = bytes >> 8 | std::uint32_t{static_cast<unsigned char>(byte)} << 24;
            mask = mask >> 8 | 0xff000000;
        }
    }

    bool ends(std::string_view word) const noexcept {
        if (word.size() < text.size() + stem_bytes_min)
            return false;
        std::uint32_t last_four;
        std::memcpy(&last_four, word.data() + word.size() - 4, 4);
        return (last_four & mask) == bytes;
    }
};

/// A token is the place of a vocabulary word in an open hash table, keyed by xxHash. In the same
/// table stand the first words met that are not in the vocabulary, so that they need to be taken
/// apart only once.
class TokenTable {
  public:
    using Token = std::uint32_t;

    explicit TokenTable(const std::vector<VocabularyWord> &words)
        : slots_(std::bit_ceil(2 * (words.size() + splits_max))), entries_(slots_ + 1) {
        print_id(entries_[unknown()], 0);
        for (const VocabularyWord &word : words)
            add(word);
        for (std::size_t i = 0; i < suffixes.size(); ++i) {
            const std::string padded = std::string(suffixes[i].text).append(text::block_bytes, ' ');
            suffix_tokens_[i] = find({padded.data(), suffixes[i].text.size()});
        }
    }

    /// A word, and where in the table to look for it first.
    struct Lookup {
        std::string_view word;
        std::size_t slot;
    };

    /// Has the memory that tokens_of will need fetched meanwhile. text::block_bytes readable bytes
    /// follow `word`.
    Lookup prepare(std::string_view word) const noexcept {
        if (is_long(word))
            return {word, 0};
        const std::size_t slot = slot_of(text::ShortWord::of(word));
        __builtin_prefetch(&entries_[slot]);
        return {word, slot};
    }

    /// Writes the one or two tokens of a word at `out`, which has room for two; returns their end.
    Token *tokens_of(const Lookup &lookup, Token *out) {
        if (is_long(lookup.word)) {
            const Token token = find(lookup.word);
            return put(token == unknown() ? split(lookup.word) : Tokens{1, token}, out);
        }
        const text::ShortWord key = text::ShortWord::of(lookup.word);
        const Token place = place_of(key, lookup.slot);
        const Entry &entry = entries_[place];
        if (entry.id_bytes != 0) {
            *out = place;
            return out + 1;
        }
        return put(entry.is_used() ? splits_[entry.split] : learn(lookup.word, place, key), out);
    }

    /// Begins to count different tokens anew.
    void begin_text() noexcept {
        if (++texts_ != 0)
            return;
        for (Entry &entry : entries_) {
            if (entry.id_bytes != 0)
                entry.last_text = 0;
        }
        texts_ = 1;
    }

    /// True the first time in a text.
    bool is_first(Token token) noexcept {
        const bool is_first = entries_[token].last_text != texts_;
        entries_[token].last_text = texts_;
        return is_first;
    }

    static constexpr std::size_t id_bytes_max = 11;
    static constexpr std::size_t id_slack = 16; // bytes that print_id may write behind its print

    /// Prints the id of a token, and a comma.
    char *print_id(char *out, Token token) const noexcept {
        std::memcpy(out, &entries_[token].id, id_slack);
        return out + entries_[token].id_bytes;
    }

  private:
    /// A word of the vocabulary if id_bytes > 0, else one to be split.
    struct alignas(32) Entry {
        text::ShortWord key;               // all zeros in a free entry
        std::array<char, id_bytes_max> id; // as it is printed, and a comma
        std::uint8_t id_bytes = 0;
        union {
            std::uint32_t last_text = 0; // the number of the last text that has it
            std::uint32_t split;         // its place in splits_
        };

        bool is_used() const noexcept { return key != text::ShortWord(); }
    };
    static_assert(sizeof(Entry) == 32);

    struct Tokens {
        std::size_t size; // 1 or 2
        Token first = 0;
        Token second = 0;
    };

    static constexpr std::size_t splits_max = 16384;

    static constexpr std::array<Suffix, 14> suffixes{
        Suffix("ing"),  Suffix("tion"), Suffix("ness"), Suffix("ment"), Suffix("able"),
        Suffix("ible"), Suffix("ful"),  Suffix("less"), Suffix("ly"),   Suffix("er"),
        Suffix("est"),  Suffix("ed"),   Suffix("es"),   Suffix("s")};

    static bool is_long(std::string_view word) noexcept {
        return word.size() > text::ShortWord::bytes_max;
    }

    static Token *put(const Tokens &tokens, Token *out) noexcept {
        out[0] = tokens.first;
        out[1] = tokens.second;
        return out + tokens.size;
    }

    static void print_id(Entry &entry, std::uint32_t id) noexcept {
        char *const end = std::to_chars(entry.id.data(), entry.id.data() + 10, id).ptr;
        *end = ',';
        entry.id_bytes = static_cast<std::uint8_t>(end + 1 - entry.id.data());
    }

    /// The token of all words that have none stands behind the hash table.
    Token unknown() const noexcept { return static_cast<Token>(slots_); }

    std::size_t slot_of(const text::ShortWord &key) const noexcept {
        return key.hash() & (slots_ - 1);
    }

    /// Where `key` stands, or the free entry where it would: from its slot on.
    Token place_of(const text::ShortWord &key, std::size_t slot) const noexcept {
        while (entries_[slot].key != key && entries_[slot].is_used())
            slot = (slot + 1) & (slots_ - 1);
        return static_cast<Token>(slot);
    }

    void add(const VocabularyWord &word) {
        if (is_long(word.text)) {
            long_words_.emplace(word.text, static_cast<Token>(entries_.size()));
            print_id(entries_.emplace_back(), word.id);
            return;
        }
        const std::string padded = word.text + std::string(text::block_bytes, ' ');
        const auto key = text::ShortWord::of(std::string_view(padded).substr(0, word.text.size()));
        Entry &entry = entries_[place_of(key, slot_of(key))];
        entry.key = key;
        print_id(entry, word.id);
    }

    /// The token of a word of the vocabulary, unknown() for any other word.
    Token find(std::string_view word) const noexcept {
        if (is_long(word)) {
            const auto found = long_words_.find(word);
            return found == long_words_.end() ? unknown() : found->second;
        }
        const text::ShortWord key = text::ShortWord::of(word);
        const Token place = place_of(key, slot_of(key));
        return entries_[place].id_bytes != 0 ? place : unknown();
    }

    /// The tokens of a word of which no entry is there.
    Tokens split(std::string_view word) const noexcept {
        for (std::size_t i = 0; i < suffixes.size(); ++i) {
            if (!suffixes[i].ends(word))
                continue;
            const Token stem = find(word.substr(0, word.size() - suffixes[i].text.size()));
            if (stem != unknown())
                return {2, stem, suffix_tokens_[i]};
        }
        return {1, unknown()};
    }

    Tokens learn(std::string_view word, Token place, const text::ShortWord &key) {
        const Tokens tokens = split(word);
        if (splits_.size() < splits_max) {
            splits_.push_back(tokens);
            entries_[place].key = key;
            entries_[place].split = static_cast<std::uint32_t>(splits_.size() - 1);
        }
        return tokens;
    }

    /// Hashes long words; lets them be found by a view.
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view word) const noexcept {
            return XXH3_64bits(word.data(), word.size());
        }
    };

    const std::size_t slots_; // a power of two
    std::vector<Entry> entries_;
    std::vector<Tokens> splits_;
    std::unordered_map<std::string, Token, Hash, std::equal_to<>> long_words_;
    std::array<Token, suffixes.size()> suffix_tokens_;
    std::uint32_t texts_ = 0;
};

} // namespace gristmill

#endif
