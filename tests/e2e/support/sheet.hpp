// Records of every fate for the plugin "picky", and what must become of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gristmill/engine.hpp>

namespace gristmill::e2e {

struct Sheet {
    std::vector<std::string> records;
    std::string bytes;                  // of the file: each record and a delimiter
    std::vector<std::uint64_t> offsets; // of the records in it
    std::string output;                 // of all records that give some, under skip
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::vector<std::uint64_t> failing; // indices

    void add(std::string record);
    // What stands in the output before record `index`.
    std::string output_before(std::uint64_t index) const;
    std::string reason(std::uint64_t index) const;
};

// `records` of them, drawn from `seed`; some longer than what an error may carry. The first
// `sound` ones do not fail.
Sheet random_sheet(std::uint64_t seed, std::size_t records, std::size_t sound);

void expect_failure(const RecordFailure &failure, const Sheet &sheet, std::uint64_t index,
                    const std::string &path);

} // namespace gristmill::e2e
