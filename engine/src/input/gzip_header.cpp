#include "input/gzip_header.hpp"

namespace gristmill::input {

namespace {

constexpr std::uint32_t kFixedBytes = 10;
constexpr std::uint32_t kNumberBytes = 2;
constexpr std::uint8_t kDeflate = 8;
constexpr std::uint8_t kHasChecksum = 1 << 1;
constexpr std::uint8_t kHasExtra = 1 << 2;
constexpr std::uint8_t kHasName = 1 << 3;
constexpr std::uint8_t kHasComment = 1 << 4;
constexpr std::uint8_t kReserved = 0xe0;

// Bit by bit: headers are short.
std::uint32_t crc32_of(std::uint32_t crc, std::uint8_t byte) {
    constexpr std::uint32_t polynomial = 0xedb88320;
    crc = ~crc ^ byte;
    for (int bit = 0; bit < 8; ++bit)
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    return ~crc;
}

} // namespace

bool GzipHeader::take(std::byte byte) noexcept {
    const auto value = std::to_integer<std::uint8_t>(byte);
    if (field_ == Field::checksum) {
        number_ |= std::uint32_t{value} << (8 * at_++);
        if (at_ < kNumberBytes)
            return true;
        fault_ = "the checksum of the header does not match";
        next_field();
        return number_ == (checksum_ & 0xffff);
    }
    checksum_ = crc32_of(checksum_, value);
    ++at_;
    switch (field_) {
    case Field::fixed:
        return take_fixed(value);
    case Field::extra_length:
        extra_bytes_ |= std::uint32_t{value} << (8 * (at_ - 1));
        if (at_ == kNumberBytes)
            next_field();
        return true;
    case Field::extra:
        if (at_ == extra_bytes_)
            next_field();
        return true;
    case Field::name:
    case Field::comment:
        if (value == 0)
            next_field();
        return true;
    case Field::checksum:
    case Field::end:
        break;
    }
    return false;
}

bool GzipHeader::take_fixed(std::uint8_t byte) noexcept {
    if (at_ == 3 && byte != kDeflate) {
        fault_ = "the header names an unknown method of compression";
        return false;
    }
    if (at_ == 4) {
        flags_ = byte;
        fault_ = "the header has flags that mean nothing";
        return (flags_ & kReserved) == 0;
    }
    if (at_ == kFixedBytes)
        next_field();
    return true;
}

// Goes on to the next field that the flags announce and that is not empty.
void GzipHeader::next_field() noexcept {
    at_ = 0;
    for (;;) {
        field_ = static_cast<Field>(static_cast<std::uint8_t>(field_) + 1);
        switch (field_) {
        case Field::extra_length:
            if ((flags_ & kHasExtra) != 0)
                return;
            break;
        case Field::extra:
            if (extra_bytes_ > 0)
                return;
            break;
        case Field::name:
            if ((flags_ & kHasName) != 0)
                return;
            break;
        case Field::comment:
            if ((flags_ & kHasComment) != 0)
                return;
            break;
        case Field::checksum:
            if ((flags_ & kHasChecksum) != 0)
                return;
            break;
        case Field::fixed:
        case Field::end:
            return;
        }
    }
}

} // namespace gristmill::input
