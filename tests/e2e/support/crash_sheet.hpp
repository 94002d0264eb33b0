// Records for the plugin "crasher", and what must become of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gristmill/engine.hpp>

namespace gristmill::e2e {

// How records end their workers, but for those that never end.
inline constexpr const char *kDeadlyWords[] = {"segv", "abort", "exit", "stack", "trap",
                                               "kill-self"};

struct CrashSheet {
    std::vector<std::string> records;
    std::string bytes;                  // of the file: each record and a delimiter
    std::string output;                 // of all records that give some, under skip
    std::vector<std::uint64_t> offsets; // of the records in the file
    std::uint64_t emitted = 0;
    std::uint64_t filtered = 0;
    std::vector<std::uint64_t> failing; // indices of those that fail or kill
    std::vector<std::uint64_t> poison;  // of those that kill

    void add(const std::string &record);
    void add_sound(std::size_t count);
    // What stands in the output before record `index`.
    std::string output_before(std::uint64_t index) const;
};

bool is_poison(std::string_view record);

// Failures in any order against the sheet: each failing record exactly once, rightly described.
void expect_failures(std::vector<RecordFailure> failures, const CrashSheet &sheet,
                     const std::string &path);
void expect_failure(const RecordFailure &failure, const CrashSheet &sheet, std::uint64_t index,
                    const std::string &path);
// The counts of a complete run.
void expect_counts(const Report &report, const CrashSheet &sheet);

} // namespace gristmill::e2e
