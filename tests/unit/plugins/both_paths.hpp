// A payload of the record sets on its fast path and on its strict one, which must agree.
#ifndef GRISTMILL_TESTS_BOTH_PATHS_HPP
#define GRISTMILL_TESTS_BOTH_PATHS_HPP

#include <algorithm>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "plugin_host.hpp"

namespace gristmill::test {

class BothPaths {
  public:
    explicit BothPaths(const std::string &name) : BothPaths(name, "", "strict") {}
    BothPaths(const std::string &name, const std::string &config, const std::string &strict_config)
        : path_(GRISTMILL_PLUGIN_DIR "/" + name + ".so"), config_(config),
          strict_config_(strict_config), usual_(path_.c_str(), config.c_str()),
          strict_(path_.c_str(), strict_config.c_str()) {}

    bool ok() const { return usual_.ok() && strict_.ok(); }

    /// What becomes of one record: "malformed", "filtered", or its output.
    std::string operator()(const std::string &record) {
        const Outcome outcome = usual_.run({record}, Framing::u32());
        EXPECT_EQ(outcome, strict_.run({record}, Framing::u32())) << record;
        EXPECT_TRUE(outcome.complaints.empty()) << record;
        EXPECT_EQ(outcome.status, GM_OK);
        const std::string output = Framing::u32().split(outcome.output).at(0);
        if (outcome.emitted == 1)
            return output;
        EXPECT_EQ(output, "") << record;
        return outcome.failed == 1 ? "malformed" : "filtered";
    }

    /// Runs records in batches, framed so that they may hold any byte.
    void expect_agreement(const std::vector<std::string> &records) {
        constexpr std::ptrdiff_t batch_records = 250;
        for (auto at = records.begin(); at != records.end();) {
            const auto end = at + std::min(batch_records, records.end() - at);
            expect_agreement_in_batch({at, end});
            at = end;
        }
    }

    /// The same for one record in new plugins: nothing follows it but padding.
    void expect_agreement_alone(const std::string &record) {
        PluginHost usual(path_.c_str(), config_.c_str());
        PluginHost strict(path_.c_str(), strict_config_.c_str());
        EXPECT_EQ(usual.run({record}, Framing::fixed()), strict.run({record}, Framing::fixed()))
            << record;
    }

    PluginHost &usual() { return usual_; }

  private:
    void expect_agreement_in_batch(const std::vector<std::string> &records) {
        const Outcome usual = usual_.run(records, Framing::u32());
        const Outcome strict = strict_.run(records, Framing::u32());
        EXPECT_EQ(usual.status, GM_OK);
        EXPECT_TRUE(usual.complaints.empty());
        EXPECT_TRUE(strict.complaints.empty());
        if (usual == strict)
            return;
        const auto got = Framing::u32().split(usual.output);
        const auto expected = Framing::u32().split(strict.output);
        ASSERT_EQ(got.size(), records.size());
        for (std::size_t i = 0; i < records.size(); ++i)
            ASSERT_EQ(got[i], expected.at(i)) << records[i];
        FAIL() << "the outputs are the same, what was counted is not";
    }

    std::string path_, config_, strict_config_;
    PluginHost usual_;
    PluginHost strict_;
};

/// `text` with the one `from` in it replaced.
inline std::string replaced(std::string text, const std::string &from, const std::string &to) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
        ADD_FAILURE() << "not once: " << from;
        return text;
    }
    return text.replace(at, from.size(), to);
}

/// A file of the lines of a vocabulary; returns its path.
inline std::string vocabulary_file(const std::string &lines) {
    static int files = 0;
    const std::string path = ::testing::TempDir() + "gristmill_vocabulary_" +
                             std::to_string(::getpid()) + "_" + std::to_string(++files);
    std::ofstream(path, std::ios::binary) << lines;
    return path;
}

} // namespace gristmill::test

#endif
