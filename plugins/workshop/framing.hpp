// How records lie in a batch and in the output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <gristmill/plugin.h>

namespace gristmill::workshop {

struct Framing {
    std::uint32_t kind = GM_FRAMING_DELIMITER;
    std::string delimiter = "\n";
    std::uint64_t record_bytes = 0;

    /// A record of this content: made to fit where the size is fixed, and without the delimiter's
    /// first byte where there is a delimiter.
    std::string framed(std::string_view content) const;

    /// Bytes of the record that begins `data`, its frame included; 0 when it is not complete.
    std::uint64_t first_record_bytes(std::string_view data) const;

    /// True if `output` is made of whole records.
    bool is_whole(std::string_view output) const;

    /// How many records `output` has.
    std::uint64_t count(std::string_view output) const;

    /// 'records that end with "\n"'.
    std::string described() const;
};

} // namespace gristmill::workshop
