#include "support/crash_sheet.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gristmill::e2e {

namespace {

struct Fate {
    const char *word;
    const char *type;
    const char *reason;
};

constexpr Fate kFates[] = {
    {"segv", "WorkerCrashed", "SIGSEGV"},       {"abort", "WorkerCrashed", "SIGABRT"},
    {"exit", "WorkerCrashed", "exit status 3"}, {"stack", "WorkerCrashed", "SIGSEGV"},
    {"trap", "WorkerCrashed", "SIG"}, // SIGILL or SIGTRAP, as the processor has it
    {"kill-self", "WorkerCrashed", "SIGKILL"},  {"stop-self", "PayloadTimeout", "timeout"},
    {"hang", "PayloadTimeout", "timeout"},      {"fail", "RecordError", "the plugin says no"}};

const Fate *fate_of(std::string_view record) {
    const auto found = std::find_if(std::begin(kFates), std::end(kFates),
                                    [&](const Fate &fate) { return record.starts_with(fate.word); });
    return found == std::end(kFates) ? nullptr : found;
}

std::string output_of(const std::string &record) {
    return fate_of(record) || record.starts_with("drop") ? "" : record + "\n";
}

} // namespace

bool is_poison(std::string_view record) {
    return fate_of(record) && !record.starts_with("fail");
}

void CrashSheet::add(const std::string &record) {
    if (is_poison(record))
        poison.push_back(records.size());
    if (fate_of(record))
        failing.push_back(records.size());
    else if (record.starts_with("drop"))
        ++filtered;
    else
        ++emitted;
    offsets.push_back(bytes.size());
    bytes += record + "\n";
    output += output_of(record);
    records.push_back(record);
}

void CrashSheet::add_sound(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        add("rec" + std::to_string(records.size()) + std::string(records.size() % 37, 'm'));
}

std::string CrashSheet::output_before(std::uint64_t index) const {
    std::string before;
    for (std::uint64_t i = 0; i < index; ++i)
        before += output_of(records[i]);
    return before;
}

void expect_failure(const RecordFailure &failure, const CrashSheet &sheet, std::uint64_t index,
                    const std::string &path) {
    ASSERT_LT(index, sheet.records.size());
    const Fate *fate = fate_of(sheet.records[index]);
    ASSERT_NE(fate, nullptr) << "record " << index << " should not fail: " << failure.reason;
    EXPECT_TRUE(failure.index_known);
    EXPECT_EQ(failure.record_index, index);
    EXPECT_EQ(failure.byte_offset, sheet.offsets[index]);
    EXPECT_EQ(failure.source, path);
    EXPECT_EQ(failure.type, fate->type) << failure.reason;
    EXPECT_NE(failure.reason.find(fate->reason), std::string::npos) << failure.reason;
    EXPECT_EQ(failure.excerpt, sheet.records[index].substr(0, 256));
}

void expect_failures(std::vector<RecordFailure> failures, const CrashSheet &sheet,
                     const std::string &path) {
    std::sort(failures.begin(), failures.end(), [](const auto &a, const auto &b) {
        return a.record_index < b.record_index;
    });
    ASSERT_EQ(failures.size(), sheet.failing.size());
    for (std::size_t i = 0; i < failures.size(); ++i)
        expect_failure(failures[i], sheet, sheet.failing[i], path);
}

void expect_counts(const Report &report, const CrashSheet &sheet) {
    EXPECT_EQ(report.read, sheet.records.size());
    EXPECT_EQ(report.emitted, sheet.emitted);
    EXPECT_EQ(report.filtered, sheet.filtered);
    EXPECT_EQ(report.failed, sheet.failing.size());
    EXPECT_EQ(report.discarded, 0u);
}

} // namespace gristmill::e2e
