// The fast path of a payload must decide as the strict one does, whatever stands in a record.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "both_paths.hpp"
#include "usual_records.hpp"

namespace gristmill::test {
namespace {

const std::vector<std::string> light_records{
    R"({"eid":"evt_0123456789ab","uid":1000000,"iid":50000,"ts":1700000060,"et":"purchase","dev":"android","dur":120000})",
    R"({"eid":"evt_1","uid":7,"iid":3,"ts":1731536000,"et":"view","dev":"ios","dur":50})",
    R"({"eid":"","uid":99999999,"iid":12345678,"ts":0,"et":"","dev":"abcdefgh","dur":123456789012345})"};

class Paths : public ::testing::TestWithParam<const char *> {
  protected:
    static BothPaths plugin() {
        const std::string name = GetParam();
        if (name != "tokenize")
            return BothPaths(name);
        const std::string path = vocabulary_file(vocabulary);
        return BothPaths(name, path, "strict:" + path);
    }

    static std::vector<std::string> usual_records() {
        const std::string name = GetParam();
        if (name == "light")
            return light_records;
        return {name == "medium"  ? medium_record
                : name == "heavy" ? heavy_record
                                  : tokenize_record};
    }

    BothPaths both_ = plugin();
    std::vector<std::string> usual_ = usual_records();
};

TEST_P(Paths, GiveTheUsualRecordAResult) {
    ASSERT_TRUE(both_.ok());
    EXPECT_EQ(both_(usual_[0]).substr(0, 2), "{\"") << both_(usual_[0]);
}

TEST_P(Paths, AgreeWhenAnyByteIsAnyOther) {
    for (const std::string &record : usual_) {
        std::vector<std::string> records;
        for (std::size_t i = 0; i < record.size(); ++i) {
            for (int byte = 0; byte < 256; ++byte) {
                records.push_back(record);
                records.back()[i] = static_cast<char>(byte);
            }
        }
        both_.expect_agreement(records);
    }
}

TEST_P(Paths, AgreeWhenAnyByteIsAdded) {
    for (const std::string &record : usual_) {
        std::vector<std::string> records;
        for (std::size_t i = 0; i <= record.size(); ++i) {
            for (int byte = 0; byte < 256; ++byte) {
                records.push_back(record);
                records.back().insert(i, 1, static_cast<char>(byte));
            }
        }
        both_.expect_agreement(records);
    }
}

TEST_P(Paths, AgreeWhenBytesAreMissingOrDoubled) {
    for (const std::string &record : usual_) {
        std::vector<std::string> records;
        for (std::size_t i = 0; i < record.size(); ++i) {
            records.push_back(record.substr(0, i));
            records.push_back(record.substr(i));
            for (std::size_t count = 1; count <= 12; ++count) {
                records.push_back(std::string(record).erase(i, count));
                records.push_back(std::string(record).insert(i, record.substr(i, count)));
            }
        }
        both_.expect_agreement(records);
    }
}

/// Where each number of `record` begins, and its size.
std::vector<std::pair<std::size_t, std::size_t>> numbers_in(const std::string &record) {
    std::vector<std::pair<std::size_t, std::size_t>> numbers;
    for (std::size_t at = record.find(':'); at != std::string::npos;
         at = record.find(':', at + 1)) {
        const std::size_t size = record.find_first_not_of("0123456789.", at + 1) - (at + 1);
        if (size != 0)
            numbers.emplace_back(at + 1, size);
    }
    return numbers;
}

TEST_P(Paths, AgreeOnNumbersOfEveryForm) {
    std::vector<std::string> records;
    for (const auto &[at, size] : numbers_in(usual_[0])) {
        for (std::size_t length = 0; length <= 22; ++length) {
            for (const char digit : {'0', '1', '9'}) {
                for (const char *sign : {"", "-", "+", "0", "-0"}) {
                    for (const char *rest : {"", ".", ".0", ".5", ".50", ".0001", ".00001", "e1"}) {
                        const std::string number = sign + std::string(length, digit) + rest;
                        records.push_back(std::string(usual_[0]).replace(at, size, number));
                    }
                }
            }
        }
    }
    both_.expect_agreement(records);
}

// Behind the last record stand bytes that would continue it: none may count.
TEST_P(Paths, AgreeOnALastRecordThatIsCut) {
    for (const std::string &record : usual_) {
        for (std::size_t size = 1; size < record.size(); ++size)
            both_.expect_agreement_alone(record.substr(0, size));
    }
}

INSTANTIATE_TEST_SUITE_P(, Paths, ::testing::Values("light", "medium", "heavy", "tokenize"),
                         [](const auto &set) { return std::string(set.param); });

} // namespace
} // namespace gristmill::test
