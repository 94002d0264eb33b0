// The codes that stand for event types, devices and tiers in the output of the bundled payloads.
#ifndef GRISTMILL_PLUGINS_EVENT_CODES_HPP
#define GRISTMILL_PLUGINS_EVENT_CODES_HPP

#include <array>
#include <cstddef>

#include "json_scan.hpp"

namespace gristmill::codes {

/// Names of at most eight bytes, so that a Word tells them apart; a name's code is its place.
template <std::size_t Count>
using Names = std::array<json::Word, Count>;

inline constexpr Names<6> events{json::Word("view"),  json::Word("click"),    json::Word("scroll"),
                                 json::Word("hover"), json::Word("purchase"), json::Word("skip")};
inline constexpr Names<5> devices{json::Word("ios"), json::Word("android"), json::Word("web"),
                                  json::Word("desktop"), json::Word("tablet")};
inline constexpr Names<3> tiers{json::Word("free"), json::Word("basic"), json::Word("premium")};

/// The code of `word`, -1 if it is none of `names`. Sums over all names without a branch: which
/// word comes next is more than a processor can foresee.
template <std::size_t Count>
int code_of(const Names<Count> &names, json::Word word) noexcept {
    int code = -1;
    for (std::size_t i = 0; i < Count; ++i) {
        const int same = (names[i].bytes == word.bytes) & (names[i].size == word.size);
        code += same * static_cast<int>(i + 1);
    }
    return code;
}

/// Prints a code below 10; needs room for two bytes.
inline char *print_code(char *out, int code) noexcept {
    *out = '-';
    out += code < 0;
    *out++ = static_cast<char>('0' + (code < 0 ? -code : code));
    return out;
}

} // namespace gristmill::codes

#endif
