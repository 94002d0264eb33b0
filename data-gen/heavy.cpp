#include "heavy.hpp"

#include <span>

#include "print.hpp"

namespace gristmill::datagen {

namespace {

char *print_words(char *out, std::span<const std::uint8_t> words) noexcept {
    for (const std::uint8_t word : words) {
        out = print(out, heavy_words[word]);
        *out++ = ' ';
    }
    return out - 1; // the space behind the last word
}

} // namespace

char *print_heavy(char *out, const HeavyRecord &record) noexcept {
    out = print_medium_fields(out, record.medium);
    out = print(out, ",\"review_text\":\"");
    out = print_words(out, std::span(record.review).first(record.review_words));
    out = print(out, "\",\"search_query\":\"");
    out = print_words(out, std::span(record.query).first(record.query_words));
    return print(out, "\"}");
}

} // namespace gristmill::datagen
