// The strict reading of one JSON record: simdjson's DOM, which validates every byte, plus what it
// lets through.
#ifndef GRISTMILL_PLUGINS_JSON_STRICT_HPP
#define GRISTMILL_PLUGINS_JSON_STRICT_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <variant>

#include <simdjson.h>

#include <gristmill/plugin.h>

#include "json_format.hpp"

namespace gristmill::json {

/// Objects and arrays inside each other, the record's own object included.
inline constexpr std::size_t nesting_max = 1000;

static_assert(GM_BATCH_PADDING >= simdjson::SIMDJSON_PADDING, "records are parsed where they lie");

/// The record without the spaces, tabs and carriage returns around it.
inline std::string_view stripped(std::string_view record) noexcept {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!record.empty() && is_blank(record.back()))
        record.remove_suffix(1);
    while (!record.empty() && is_blank(record.front()))
        record.remove_prefix(1);
    return record;
}

/// True if an escape in `json`, a valid document, gives half of a surrogate pair.
inline bool has_lone_surrogate(std::string_view json) noexcept {
    const auto unit_at = [json](std::size_t at) -> std::uint32_t { // 0 when no \u stands there
        if (json.size() - at < 6 || json[at] != '\\' || json[at + 1] != 'u')
            return 0;
        std::uint32_t unit = 0;
        for (std::size_t i = at + 2; i < at + 6; ++i) {
            const char c = json[i];
            unit =
                unit * 16 + static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return unit;
    };
    std::size_t at = json.find('\\');
    while (at != std::string_view::npos) {
        const std::uint32_t kind = unit_at(at) & 0xfc00;
        std::size_t read = 2;
        if (kind == 0xdc00)
            return true;
        if (kind == 0xd800) {
            if ((unit_at(at + 6) & 0xfc00) != 0xdc00)
                return true;
            read = 12;
        }
        at = json.find('\\', at + read);
    }
    return false;
}

/// True if objects and arrays in `json`, a valid document, are nested deeper than nesting_max.
/// (simdjson's own limit leaves empty ones out of account.)
inline bool nested_too_deep(std::string_view json) noexcept {
    if (json.size() <= 2 * nesting_max)
        return false; // each level takes two brackets
    const auto opens = [](char c) { return c == '[' || c == '{'; };
    if (static_cast<std::size_t>(std::count_if(json.begin(), json.end(), opens)) <= nesting_max)
        return false;
    std::size_t depth = 0;
    for (std::size_t at = 0; at < json.size(); ++at) {
        switch (json[at]) {
        case '"':
            while (json[++at] != '"')
                at += json[at] == '\\';
            break;
        case '[':
        case '{':
            if (++depth > nesting_max)
                return true;
            break;
        case ']':
        case '}':
            --depth;
            break;
        default:
            break;
        }
    }
    return false;
}

/// Readable bytes that follow each string of a parsed record: simdjson writes strings a vector at a
/// time, into a buffer that has room for one more.
inline constexpr std::size_t string_padding = simdjson::SIMDJSON_PADDING;

/// Parses records one after the other, reusing its memory. What it hands out stands until the
/// next parse.
class StrictParser {
  public:
    /// Parses `record`, which GM_BATCH_PADDING readable bytes follow. Null when it is a JSON
    /// object, else the reason why the record is malformed. Throws std::bad_alloc.
    const char *parse(std::string_view record, simdjson::dom::object &object) {
        if (record.starts_with("\xef\xbb\xbf"))
            return "a byte order mark before the JSON";
        simdjson::dom::element document;
        const auto error = parser_.parse(record.data(), record.size(), false).get(document);
        if (error == simdjson::MEMALLOC)
            throw std::bad_alloc();
        if (error != simdjson::SUCCESS)
            return reason(error);
        if (has_lone_surrogate(record))
            return "a lone surrogate in the JSON";
        if (nested_too_deep(record))
            return too_deep;
        if (document.get(object) != simdjson::SUCCESS)
            return "the JSON is no object";
        return nullptr;
    }

  private:
    static constexpr const char *too_deep = "the JSON is nested deeper than 1000";
    static_assert(nesting_max < simdjson::DEFAULT_MAX_DEPTH);

    static const char *reason(simdjson::error_code error) noexcept {
        switch (error) {
        case simdjson::UTF8_ERROR:
            return "invalid UTF-8";
        case simdjson::NUMBER_ERROR:
            return "a number that is malformed or out of range";
        case simdjson::DEPTH_ERROR:
            return too_deep;
        case simdjson::UNCLOSED_STRING:
        case simdjson::STRING_ERROR:
            return "a malformed string";
        case simdjson::CAPACITY:
            return "4 GiB or more of JSON";
        default:
            return "malformed JSON";
        }
    }

    simdjson::dom::parser parser_;
};

/// A number as the record has it.
class Number {
  public:
    /// Beyond it a double skips integers.
    static constexpr std::int64_t exact_max = std::int64_t{1} << 53;

    constexpr Number(std::int64_t value) noexcept : value_(value) {}
    constexpr Number(std::uint64_t value) noexcept : value_(value) {}
    constexpr Number(double value) noexcept : value_(value) {}

    bool is_integer() const noexcept { return !std::holds_alternative<double>(value_); }

    /// False for an integer beyond 2^53.
    bool is_exact() const noexcept {
        if (const auto *integer = std::get_if<std::int64_t>(&value_))
            return *integer >= -exact_max && *integer <= exact_max;
        return std::holds_alternative<double>(value_);
    }

    /// Calls `function` with the number as a std::int64_t, a std::uint64_t (when only that holds
    /// it) or a double.
    template <class Function>
    auto visit(Function function) const {
        return std::visit(function, value_);
    }

    double as_double() const noexcept {
        return visit([](auto value) { return static_cast<double>(value); });
    }

    /// Prints it as Python does. Needs room for number_bytes_max bytes.
    char *print(char *out) const noexcept {
        return visit([out](auto value) { return print_number(out, value); });
    }

  private:
    std::variant<std::int64_t, std::uint64_t, double> value_;
};

/// The values of the fields `names` in `object`; of a duplicate key the last one.
template <std::size_t Count>
class Fields {
  public:
    /// No field is present.
    Fields() = default;

    Fields(const std::array<std::string_view, Count> &names,
           simdjson::dom::object object) noexcept {
        std::size_t usual = 0; // keys mostly come in the order of `names`
        const auto end = object.end();
        for (auto field = object.begin(); field != end; ++field) {
            const std::string_view key = field.key();
            for (std::size_t tried = 0, i = usual; tried < Count; ++tried) {
                if (key == names[i]) {
                    values_[i] = field.value();
                    present_[i] = true;
                    usual = i + 1 == Count ? 0 : i + 1;
                    break;
                }
                i = i + 1 == Count ? 0 : i + 1;
            }
        }
    }

    /// False if the field is absent or of another type.
    template <class Type>
    bool get(std::size_t field, Type &value) const noexcept {
        return present_[field] && read(values_[field], value);
    }

    /// The same for a field that may be absent, and then leaves `value` as it is.
    template <class Type>
    bool get_optional(std::size_t field, Type &value) const noexcept {
        return !present_[field] || read(values_[field], value);
    }

    /// The same for the fields `names` of an object.
    template <std::size_t InnerCount>
    bool get_optional(std::size_t field, const std::array<std::string_view, InnerCount> &names,
                      Fields<InnerCount> &inner) const noexcept {
        if (!present_[field])
            return true;
        simdjson::dom::object object;
        if (!read(values_[field], object))
            return false;
        inner = Fields<InnerCount>(names, object);
        return true;
    }

  private:
    template <class Type>
    static bool read(simdjson::dom::element element, Type &value) noexcept {
        return element.get(value) == simdjson::SUCCESS;
    }

    static bool read(simdjson::dom::element element, Number &value) noexcept {
        switch (element.type()) {
        case simdjson::dom::element_type::INT64:
            value = Number(std::int64_t{element});
            return true;
        case simdjson::dom::element_type::UINT64:
            value = Number(std::uint64_t{element});
            return true;
        case simdjson::dom::element_type::DOUBLE:
            value = Number(double{element});
            return true;
        default:
            return false;
        }
    }

    std::array<simdjson::dom::element, Count> values_{};
    std::array<bool, Count> present_{};
};

} // namespace gristmill::json

#endif
