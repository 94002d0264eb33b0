#include "framing.hpp"

#include <algorithm>

#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::size_t header_bytes = 4;

std::string header_of(std::uint64_t length) {
    std::string header;
    for (std::size_t i = 0; i < header_bytes; ++i)
        header += static_cast<char>(length >> (8 * i));
    return header;
}

std::uint64_t length_in(std::string_view header) {
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < header_bytes; ++i)
        length |= std::uint64_t{static_cast<unsigned char>(header[i])} << (8 * i);
    return length;
}

} // namespace

std::string Framing::framed(std::string_view content) const {
    std::string record(content);
    switch (kind) {
    case GM_FRAMING_FIXED:
        record.resize(record_bytes, '.');
        return record;
    case GM_FRAMING_U32LE:
        return header_of(record.size()) + record;
    default:
        std::replace(record.begin(), record.end(), delimiter[0], delimiter[0] == '_' ? '-' : '_');
        return record + delimiter;
    }
}

std::uint64_t Framing::first_record_bytes(std::string_view data) const {
    switch (kind) {
    case GM_FRAMING_FIXED:
        return data.size() < record_bytes ? 0 : record_bytes;
    case GM_FRAMING_U32LE: {
        if (data.size() < header_bytes)
            return 0;
        const std::uint64_t length = length_in(data);
        return data.size() - header_bytes < length ? 0 : header_bytes + length;
    }
    default: {
        const std::size_t at = data.find(delimiter);
        return at == std::string_view::npos ? 0 : at + delimiter.size();
    }
    }
}

bool Framing::is_whole(std::string_view output) const {
    if (kind == GM_FRAMING_DELIMITER)
        return output.empty() || output.ends_with(delimiter);
    while (!output.empty()) {
        const std::uint64_t bytes = first_record_bytes(output);
        if (bytes == 0)
            return false;
        output.remove_prefix(bytes);
    }
    return true;
}

std::uint64_t Framing::count(std::string_view output) const {
    std::uint64_t records = 0;
    while (!output.empty()) {
        const std::uint64_t bytes = first_record_bytes(output);
        ++records;
        if (bytes == 0)
            break;
        output.remove_prefix(bytes);
    }
    return records;
}

std::string Framing::described() const {
    switch (kind) {
    case GM_FRAMING_FIXED:
        return words("records of %llu bytes", static_cast<unsigned long long>(record_bytes));
    case GM_FRAMING_U32LE:
        return "records behind a 32-bit length";
    default:
        return "records that end with " + quoted(delimiter);
    }
}

} // namespace gristmill::workshop
