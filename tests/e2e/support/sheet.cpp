#include "support/sheet.hpp"

#include <random>

#include <gtest/gtest.h>

namespace gristmill::e2e {

namespace {

bool fails(const std::string &record) {
    return record.starts_with("bad") || record.starts_with("mute");
}

std::string output_of(const std::string &record) {
    if (fails(record) || record.starts_with("drop"))
        return "";
    return record.starts_with("blank") ? "\n" : record + "\n";
}

} // namespace

void Sheet::add(std::string record) {
    if (fails(record))
        failing.push_back(records.size());
    else if (record.starts_with("drop") || record.starts_with("blank"))
        ++filtered;
    else
        ++emitted;
    offsets.push_back(bytes.size());
    bytes += record + "\n";
    output += output_of(record);
    records.push_back(std::move(record));
}

std::string Sheet::output_before(std::uint64_t index) const {
    std::string before;
    for (std::uint64_t i = 0; i < index; ++i)
        before += output_of(records[i]);
    return before;
}

std::string Sheet::reason(std::uint64_t index) const {
    return records[index].starts_with("bad") ? "no good: " + records[index].substr(0, 40) : "";
}

Sheet random_sheet(std::uint64_t seed, std::size_t records, std::size_t sound) {
    std::mt19937_64 random(seed);
    Sheet sheet;
    for (std::size_t i = 0; i < records; ++i) {
        const std::size_t kind = random() % 100;
        const std::string number = std::to_string(i);
        const std::string more(kind % 10 == 0 ? random() % 9000 : random() % 50, 'm');
        if (kind < 8 && i >= sound)
            sheet.add("bad" + number + more);
        else if (kind < 10 && i >= sound)
            sheet.add("mute" + number + more);
        else if (kind < 20)
            sheet.add("drop" + number);
        else if (kind < 30)
            sheet.add("blank" + number);
        else
            sheet.add(kind < 40 ? "" : "rec" + number + more);
    }
    return sheet;
}

void expect_failure(const RecordFailure &failure, const Sheet &sheet, std::uint64_t index,
                    const std::string &path) {
    EXPECT_EQ(failure.record_index, index);
    EXPECT_EQ(failure.byte_offset, sheet.offsets[index]);
    EXPECT_EQ(failure.source, path);
    EXPECT_EQ(failure.type, "RecordError");
    EXPECT_EQ(failure.reason, sheet.reason(index));
    EXPECT_EQ(failure.excerpt, sheet.records[index].substr(0, 256));
}

} // namespace gristmill::e2e
