// A strict JSON reader for flat objects, written without the engine: what RFC 8259 allows, and
// well-formed UTF-8.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gristmill::test {

// Values as they are written; strings decoded.
using JsonObject = std::map<std::string, std::string>;

class JsonReader {
  public:
    explicit JsonReader(std::string_view text) : rest_(text) {}

    std::optional<JsonObject> object() {
        JsonObject members;
        if (!take('{'))
            return std::nullopt;
        do {
            std::string key;
            std::string value;
            if (!string(key) || !take(':'))
                return std::nullopt;
            if (!(rest_.starts_with('"') ? string(value) : plain(value)))
                return std::nullopt;
            if (!members.emplace(key, value).second)
                return std::nullopt;
        } while (take(','));
        if (!take('}') || !rest_.empty())
            return std::nullopt;
        return members;
    }

  private:
    bool take(char wanted) {
        if (!rest_.starts_with(wanted))
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool plain(std::string &value) {
        const std::size_t bytes = rest_.find_first_not_of("0123456789nul");
        value = rest_.substr(0, bytes);
        rest_.remove_prefix(value.size());
        const bool number = value.find_first_not_of("0123456789") == std::string::npos;
        return value == "null" || (!value.empty() && number && (value[0] != '0' || value == "0"));
    }

    bool string(std::string &value) {
        if (!take('"'))
            return false;
        while (!rest_.empty() && rest_[0] != '"')
            if (!(rest_[0] == '\\' ? escape(value) : character(value)))
                return false;
        return take('"');
    }

    bool escape(std::string &value) {
        static constexpr std::string_view kNames = "\"\\/bfnrt";
        static constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
        if (rest_.size() < 2)
            return false;
        if (const std::size_t at = kNames.find(rest_[1]); at != std::string_view::npos) {
            value += kMeanings[at];
            rest_.remove_prefix(2);
            return true;
        }
        if (rest_[1] != 'u' || rest_.size() < 6)
            return false;
        std::uint32_t code = 0;
        for (const char digit : rest_.substr(2, 4)) {
            const std::size_t nibble = std::string_view("0123456789abcdef").find(digit);
            if (nibble == std::string_view::npos)
                return false;
            code = code << 4 | std::uint32_t(nibble);
        }
        rest_.remove_prefix(6);
        return append(value, code);
    }

    static bool append(std::string &value, std::uint32_t code) {
        if (code >= 0xd800 && code < 0xe000)
            return false; // half a pair
        if (code < 0x80) {
            value += static_cast<char>(code);
        } else if (code < 0x800) {
            value += static_cast<char>(0xc0 | code >> 6);
            value += static_cast<char>(0x80 | (code & 0x3f));
        } else {
            value += static_cast<char>(0xe0 | code >> 12);
            value += static_cast<char>(0x80 | (code >> 6 & 0x3f));
            value += static_cast<char>(0x80 | (code & 0x3f));
        }
        return true;
    }

    // One character that is no escape: decoded and checked to be the shortest form of a code point.
    bool character(std::string &value) {
        const auto lead = static_cast<std::uint8_t>(rest_[0]);
        if (lead < 0x20)
            return false;
        const std::size_t bytes = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3
                                  : lead >> 3 == 30 ? 4 : 0;
        if (bytes == 0 || rest_.size() < bytes)
            return false;
        static constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
        std::uint32_t code = bytes == 1 ? lead : lead & (0x7fu >> bytes);
        for (std::size_t i = 1; i < bytes; ++i) {
            const auto byte = static_cast<std::uint8_t>(rest_[i]);
            if (byte >> 6 != 2)
                return false;
            code = code << 6 | (byte & 0x3fu);
        }
        if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return false;
        value += rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return true;
    }

    std::string_view rest_;
};

// The bytes of a base64 text with padding; nullopt when it is none.
inline std::optional<std::string> decode_base64(std::string_view text) {
    static constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (text.size() % 4 != 0)
        return std::nullopt;
    std::string bytes;
    while (!text.empty()) {
        const std::string_view group = text.substr(0, 4);
        text.remove_prefix(4);
        const std::size_t digits = group.find('=');
        std::uint32_t bits = 0;
        for (const char digit : group.substr(0, digits)) {
            const std::size_t value = kDigits.find(digit);
            if (value == std::string_view::npos)
                return std::nullopt;
            bits = bits << 6 | std::uint32_t(value);
        }
        const std::size_t count = digits == std::string_view::npos ? 4 : digits;
        if (count < 2 || (count < 4 && (!text.empty() || group.find_first_not_of('=', count) !=
                                                             std::string_view::npos)))
            return std::nullopt;
        bits <<= 6 * (4 - count);
        for (std::size_t i = 0; i + 1 < count; ++i)
            bytes += static_cast<char>(bits >> (16 - 8 * i));
    }
    return bytes;
}

} // namespace gristmill::test
