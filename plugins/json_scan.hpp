// Reading a JSON record in the layout one expects, without parsing it.
//
// Data in a stream mostly looks alike: the same keys in the same order, plain ASCII strings,
// integers of ordinary size. PlainScan walks such a record by comparing it with what should stand
// there, eight bytes at a time. Each step returns false at anything else, be it wrong or only
// unusual, and the record is then for StrictParser to judge. What PlainScan accepts to its end is
// valid JSON without duplicate keys, given that the literals asked for spell an object.
#ifndef GRISTMILL_PLUGINS_JSON_SCAN_HPP
#define GRISTMILL_PLUGINS_JSON_SCAN_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <gristmill/plugin.h>

#include "text_blocks.hpp"

namespace gristmill::json {

/// Readable bytes that must follow a scanned record.
inline constexpr std::size_t scan_padding = text::block_bytes;
static_assert(scan_padding <= GM_BATCH_PADDING);

/// A string as a number to compare: its first eight bytes and its size.
struct Word {
    std::uint64_t bytes = 0;
    std::size_t size = 0;

    constexpr Word() = default;
    constexpr explicit Word(std::string_view text) noexcept : size(text.size()) {
        for (std::size_t i = 0; i < text.size() && i < 8; ++i) {
            bytes |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
        }
    }

    /// The same of a text whose first eight bytes can be read, whatever its size.
    static Word of_padded(std::string_view text) noexcept {
        Word word;
        std::memcpy(&word.bytes, text.data(), sizeof word.bytes);
        word.size = text.size();
        if (word.size < sizeof word.bytes)
            word.bytes &= (std::uint64_t{1} << (8 * word.size)) - 1;
        return word;
    }
};

/// Bytes to compare with, as whole words: worked out by the compiler.
template <std::size_t Size>
struct Literal {
    static constexpr std::size_t size = Size - 1;
    std::array<std::uint64_t, (size + 7) / 8> words{};
    std::array<std::uint64_t, (size + 7) / 8> masks{};

    consteval Literal(const char (&text)[Size]) {
        for (std::size_t i = 0; i < size; ++i) {
            const auto byte = static_cast<unsigned char>(text[i]);
            words[i / 8] |= std::uint64_t{byte} << (8 * (i % 8));
            masks[i / 8] |= std::uint64_t{0xff} << (8 * (i % 8));
        }
    }
};

class PlainScan {
  public:
    explicit PlainScan(std::string_view record) noexcept
        : at_(record.data()), end_(record.data() + record.size()) {}

    /// Steps over exactly these bytes.
    template <Literal expected>
    bool literal() noexcept {
        if (end_ - at_ < static_cast<std::ptrdiff_t>(expected.size))
            return false;
        std::uint64_t differences = 0;
        for (std::size_t i = 0; i < expected.words.size(); ++i)
            differences |= (load(at_ + 8 * i) ^ expected.words[i]) & expected.masks[i];
        at_ += expected.size;
        return differences == 0;
    }

    /// Steps over a string of plain ASCII up to its closing quote, which is left to `literal`.
    bool text(std::string_view &found) noexcept {
        const char *const begin = at_;
        while (at_ < end_) {
            if (const std::uint64_t stops = text::not_plain(load(at_)); stops != 0) {
                at_ += first_byte(stops);
                found = {begin, static_cast<std::size_t>(at_ - begin)};
                return true;
            }
            at_ += 8;
        }
        return false;
    }

    /// The same, faster for strings of more than about 50 bytes.
    bool long_text(std::string_view &found) noexcept {
        const char *const begin = at_;
        for (; at_ < end_; at_ += text::block_bytes) {
            if (const std::uint64_t stops = text::marked(at_, text::is_not_plain); stops != 0) {
                at_ += std::countr_zero(stops);
                found = {begin, static_cast<std::size_t>(at_ - begin)};
                return true;
            }
        }
        return false;
    }

    /// The same for a string of at most eight bytes; of a longer one it steps over eight, where
    /// `literal` then finds no quote. Always true.
    bool word(Word &found) noexcept {
        const std::uint64_t bytes = load(at_);
        const std::uint64_t stops = text::not_plain(bytes);
        found.size = stops == 0 ? 8 : first_byte(stops);
        found.bytes = lowest_bytes(bytes, found.size);
        at_ += found.size;
        return true;
    }

    /// Steps over an integer of 1 to 15 digits without sign or leading zero: it prints as it reads.
    bool integer(std::string_view &digits) noexcept {
        std::size_t size = leading_digits(load(at_));
        if (size == 0 || (*at_ == '0' && size > 1))
            return false;
        if (size == 8)
            size += leading_digits(load(at_ + 8));
        digits = {at_, size};
        at_ += size;
        return size < 16;
    }

    /// Steps over a number of 1 to 8 digits, a point and 1 to 4 digits that prints as it reads: no
    /// sign, no zero to spare at either end.
    bool decimal(std::string_view &found) noexcept {
        const std::size_t whole = leading_digits(load(at_));
        const std::size_t places = leading_digits(load(at_ + whole + 1));
        const std::size_t size = whole + 1 + places;
        const bool canonical = (whole == 1 || *at_ != '0') && at_[whole] == '.' &&
                               (places == 1 || at_[size - 1] != '0');
        found = {at_, size};
        at_ += size;
        return canonical && whole >= 1 && places >= 1 && places <= 4;
    }

    /// The value of what `integer` read.
    static std::int64_t value_of(std::string_view digits) noexcept {
        const std::size_t size = digits.size();
        if (size <= 8)
            return digits_value(load(digits.data()), size);
        return digits_value(load(digits.data()), 8) * power_of_ten[size - 8] +
               digits_value(load(digits.data() + 8), size - 8);
    }

    bool at_end() const noexcept { return at_ == end_; }

  private:
    static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");

    static constexpr std::int64_t power_of_ten[8] = {1,     10,     100,     1000,
                                                     10000, 100000, 1000000, 10000000};

    static std::uint64_t load(const char *at) noexcept {
        std::uint64_t bytes;
        std::memcpy(&bytes, at, sizeof bytes);
        return bytes;
    }

    static std::size_t first_byte(std::uint64_t marks) noexcept {
        return static_cast<std::size_t>(std::countr_zero(marks)) / 8;
    }

    static std::uint64_t lowest_bytes(std::uint64_t bytes, std::size_t count) noexcept {
        if (count >= 8)
            return bytes;
        return bytes & ((std::uint64_t{1} << (8 * count)) - 1);
    }

    static std::size_t leading_digits(std::uint64_t bytes) noexcept {
        const std::uint64_t high = (bytes ^ text::every('0')) & text::every(0xf0);
        const std::uint64_t low = ((bytes + text::every(6)) ^ text::every('0')) & text::every(0xf0);
        const std::uint64_t others = high | low;
        return others == 0 ? 8 : first_byte(others);
    }

    /// The value of the first `size` digits, 1 to 8: pairs, fours, then the eight.
    static std::int64_t digits_value(std::uint64_t bytes, std::size_t size) noexcept {
        std::uint64_t v = (bytes << (64 - 8 * size)) & text::every(0x0f);
        v = (v * 10 + (v >> 8)) & 0x00ff00ff00ff00ffu;
        v = (v * 100 + (v >> 16)) & 0x0000ffff0000ffffu;
        v = v * 10000 + (v >> 32);
        return static_cast<std::int64_t>(v & 0xffffffffu);
    }

    const char *at_;
    const char *const end_;
};

} // namespace gristmill::json

#endif
