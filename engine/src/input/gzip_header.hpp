// The header of a gzip member (RFC 1952), byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gristmill::input {

// Keeps nothing of names and comments, however long they are.
class GzipHeader {
  public:
    // Takes the next byte. False when it cannot be: see fault().
    bool take(std::byte byte) noexcept;
    // All of it was taken.
    bool ended() const { return field_ == Field::end; }
    // What is wrong, in words.
    const char *fault() const { return fault_; }

  private:
    enum class Field : std::uint8_t { fixed, extra_length, extra, name, comment, checksum, end };

    void next_field() noexcept;
    bool take_fixed(std::uint8_t byte) noexcept;

    Field field_ = Field::fixed;
    std::uint8_t flags_ = 0;
    std::uint32_t at_ = 0;     // bytes of the field that were taken
    std::uint32_t number_ = 0; // what the bytes of a field of two say
    std::uint32_t extra_bytes_ = 0;
    std::uint32_t checksum_ = 0; // CRC-32 of all before the checksum
    const char *fault_ = "";
};

} // namespace gristmill::input
