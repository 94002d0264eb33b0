// The record set "tokenize": documents of 50 to 500 words, 2 KB on average; the large ones have 500
// to 800.
#ifndef GRISTMILL_DATAGEN_TOKENIZE_HPP
#define GRISTMILL_DATAGEN_TOKENIZE_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "draws.hpp"
#include "print.hpp"
#include "tokenize_words.hpp"

namespace gristmill::datagen {

struct WordCounts {
    std::uint64_t min = 50;
    std::uint64_t max = 500;
};
inline constexpr WordCounts large_document{500, 800};

/// Room that draw_tokenize needs: for large documents of nothing but the longest word.
inline constexpr std::size_t tokenize_bytes_max = 40960;

inline constexpr std::array<PaddedText<8>, 5> document_sources{"web", "books", "code", "news",
                                                               "forum"};

template <Randomness Random, std::size_t Room, std::size_t Count>
const PaddedText<Room> &choose(Random &random, const std::array<PaddedText<Room>, Count> &from) {
    return from[random.below(Count)];
}

/// Part of plain_words.
struct WordGroup {
    std::size_t first;
    std::size_t count;
};
inline constexpr std::array<WordGroup, 2> plain_groups{
    {{0, common_count}, {common_count, term_count}}};

template <Randomness Random>
char *draw_word(Random &random, char *out) {
    const double kind = random.real();
    if (kind < 0.85) {
        const WordGroup &group = plain_groups[kind >= 0.60];
        return print(out, plain_words[group.first + random.below(group.count)]);
    }
    if (kind < 0.92) {
        out = print(out, plain_words[random.below(stem_count)]);
        return print(out, choose(random, affixes));
    }
    if (kind < 0.95)
        return print(out, choose(random, long_words));
    return print_padded(print(out, "tok"), between(random, 1, numbered_words), 5);
}

/// Draws a document and writes it as JSON at `out`, which has room for tokenize_bytes_max; returns
/// its end.
template <Randomness Random>
char *draw_tokenize(Random &random, std::uint64_t document, WordCounts counts, char *out) {
    out = print(print(out, "{\"doc_id\":"), document);
    out = print(out, ",\"text\":\"");
    for (std::uint64_t words = between(random, counts.min, counts.max); words > 0; --words) {
        out = draw_word(random, out);
        *out++ = ' ';
    }
    out = print(out - 1, "\",\"source\":\""); // over the space behind the last word
    out = print(out, choose(random, document_sources));
    out = print(out, "\",\"lang\":\"en\",\"timestamp\":");
    return print(print(out, draw_timestamp(random)), "}");
}

} // namespace gristmill::datagen

#endif
