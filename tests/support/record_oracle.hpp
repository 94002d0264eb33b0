// What the records of some bytes are: bytes.find() semantics, written without the engine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/random.hpp"

namespace gristmill::test {

struct OracleRecord {
    std::uint64_t begin = 0; // of its own bytes
    std::uint64_t end = 0;
    std::uint64_t next = 0; // behind its delimiter, or the end of the data
};

// Left to right, non-overlapping; a delimiter at the very end adds no record, a tail without one
// is a record.
inline std::vector<OracleRecord> oracle_records(std::string_view data, std::string_view delimiter) {
    std::vector<OracleRecord> records;
    std::uint64_t at = 0;
    for (std::size_t found = 0; (found = data.find(delimiter, at)) != std::string_view::npos;
         at = found + delimiter.size())
        records.push_back({at, found, found + delimiter.size()});
    if (at < data.size())
        records.push_back({at, data.size(), data.size()});
    return records;
}

// True when some proper prefix is a suffix.
inline bool oracle_border(std::string_view text) {
    for (std::size_t bytes = 1; bytes < text.size(); ++bytes)
        if (text.starts_with(text.substr(text.size() - bytes)))
            return true;
    return false;
}

// All strings of this length over {a, b}; `number` < 2^length.
inline std::string ab_string(std::size_t length, std::uint64_t number) {
    std::string text(length, 'a');
    for (std::size_t i = 0; i < length; ++i)
        if (number >> i & 1)
            text[i] = 'b';
    return text;
}

// Data in which the delimiter and its beginnings are frequent.
inline std::string random_data(Random &random, std::string_view delimiter, std::size_t bytes_max) {
    std::string data;
    const std::size_t wanted = random.below(bytes_max + 1);
    const std::uint64_t rare = random.between(1, 40); // mean record length, roughly
    while (data.size() < wanted) {
        if (random.one_in(rare))
            data += delimiter;
        else if (random.one_in(8))
            data += delimiter.substr(0, random.below(delimiter.size() + 1));
        else
            data += static_cast<char>(random.one_in(4) ? random.below(256) : 'a' + random.below(3));
    }
    data.resize(wanted);
    return data;
}

} // namespace gristmill::test
