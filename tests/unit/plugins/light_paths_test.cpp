// The fast path of the light payload must decide as the strict one does, whatever stands in a
// record.
#include <algorithm>

#include <gtest/gtest.h>

#include "plugin_host.hpp"

namespace gristmill::test {
namespace {

constexpr const char *path = GRISTMILL_PLUGIN_DIR "/light.so";

const std::vector<std::string> typical{
    R"({"eid":"evt_0123456789ab","uid":1000000,"iid":50000,"ts":1700000060,"et":"purchase","dev":"android","dur":120000})",
    R"({"eid":"evt_1","uid":7,"iid":3,"ts":1731536000,"et":"view","dev":"ios","dur":50})",
    R"({"eid":"","uid":99999999,"iid":12345678,"ts":0,"et":"","dev":"abcdefgh","dur":123456789012345})"};

/// Runs one batch through both paths, under a framing that lets a record hold any byte.
void expect_agreement_in_batch(const std::vector<std::string> &records) {
    static PluginHost usual_host(path);
    static PluginHost strict_host(path, "strict");
    const Outcome usual = usual_host.run(records, Framing::u32());
    const Outcome strict = strict_host.run(records, Framing::u32());
    EXPECT_EQ(usual.status, GM_OK);
    EXPECT_TRUE(usual.complaints.empty());
    EXPECT_TRUE(strict.complaints.empty());
    if (usual == strict)
        return;
    const auto got = Framing::u32().split(usual.output);
    const auto expected = Framing::u32().split(strict.output);
    ASSERT_EQ(got.size(), records.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
        ASSERT_EQ(got[i], expected.at(i)) << records[i];
    }
    FAIL() << "the outputs are the same, what was counted is not";
}

void expect_agreement(const std::vector<std::string> &records) {
    constexpr std::ptrdiff_t batch_records = 250;
    for (auto at = records.begin(); at != records.end();) {
        const auto end = at + std::min(batch_records, records.end() - at);
        expect_agreement_in_batch({at, end});
        at = end;
    }
}

TEST(LightPaths, AgreeWhenAnyByteIsAnyOther) {
    for (const std::string &record : typical) {
        std::vector<std::string> records;
        for (std::size_t i = 0; i < record.size(); ++i) {
            for (int byte = 0; byte < 256; ++byte) {
                records.push_back(record);
                records.back()[i] = static_cast<char>(byte);
            }
        }
        expect_agreement(records);
    }
}

TEST(LightPaths, AgreeWhenAnyByteIsAdded) {
    for (const std::string &record : typical) {
        std::vector<std::string> records;
        for (std::size_t i = 0; i <= record.size(); ++i) {
            for (int byte = 0; byte < 256; ++byte) {
                records.push_back(record);
                records.back().insert(i, 1, static_cast<char>(byte));
            }
        }
        expect_agreement(records);
    }
}

TEST(LightPaths, AgreeWhenBytesAreMissingOrDoubled) {
    for (const std::string &record : typical) {
        std::vector<std::string> records;
        for (std::size_t i = 0; i < record.size(); ++i) {
            records.push_back(record.substr(0, i));
            records.push_back(record.substr(i));
            for (std::size_t count = 1; count <= 12; ++count) {
                records.push_back(std::string(record).erase(i, count));
                records.push_back(std::string(record).insert(i, record.substr(i, count)));
            }
        }
        expect_agreement(records);
    }
}

TEST(LightPaths, AgreeOnNumbersOfEveryLength) {
    std::vector<std::string> records;
    for (const char *key : {"\"uid\":", "\"iid\":", "\"ts\":", "\"dur\":"}) {
        for (std::size_t length = 0; length <= 22; ++length) {
            for (const char digit : {'0', '1', '9'}) {
                for (const char *sign : {"", "-", "+", "0", "-0"}) {
                    std::string record = typical[0];
                    const std::size_t at = record.find(key) + std::string_view(key).size();
                    record.replace(at, record.find_first_of(",}", at) - at,
                                   sign + std::string(length, digit));
                    records.push_back(record);
                }
            }
        }
    }
    expect_agreement(records);
}

// Behind the last record stand bytes that would continue it: none may count.
TEST(LightPaths, AgreeOnALastRecordThatIsCut) {
    for (const std::string &record : typical) {
        for (std::size_t size = 1; size < record.size(); ++size) {
            const std::vector<std::string> cut{record.substr(0, size)};
            EXPECT_EQ(PluginHost(path).run(cut, Framing::fixed()),
                      PluginHost(path, "strict").run(cut, Framing::fixed()));
        }
    }
}

} // namespace
} // namespace gristmill::test
