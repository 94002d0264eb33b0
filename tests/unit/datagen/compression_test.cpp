// Compressed files hold the same records.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "compression.hpp"
#include "generate.hpp"
#include "manifest.hpp"

namespace gristmill::datagen {
namespace {

namespace fs = std::filesystem;

class Compressed : public testing::TestWithParam<Compression> {
  protected:
    void SetUp() override {
        folder_ = (fs::temp_directory_path() / "datagen-XXXXXX").string();
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
        file_ = folder_ + "/records";
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string written(GenerateSpec spec) {
        spec.compression = GetParam();
        EXPECT_FALSE(generate(spec, file_));
        std::ifstream stream(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    /// What it unpacks to, given `step` bytes at a time; "bad" or "cut" if it does not.
    static std::string unpacked(std::string_view packed, std::size_t step) {
        const auto decompressor = make_decompressor(GetParam());
        std::string bytes;
        for (std::size_t at = 0; at < packed.size(); at += step) {
            if (!decompressor->add(packed.substr(at, step),
                                   [&](std::string_view piece) { bytes += piece; }))
                return "bad";
        }
        return decompressor->complete() ? bytes : "cut";
    }

    std::string folder_;
    std::string file_;
    const GenerateSpec spec_{.set = RecordSet::light, .stream = Stream::fast, .records = 60000};
};

TEST_P(Compressed, UnpackToTheRecords) {
    std::string expected;
    append_records(spec_, expected);
    const std::string packed = written(spec_);
    EXPECT_LT(packed.size(), expected.size() * 2 / 3);
    for (const std::size_t step : {std::size_t{1} << 20, std::size_t{1000}})
        EXPECT_TRUE(unpacked(packed, step) == expected);
    EXPECT_FALSE(verify(file_));
    Manifest manifest;
    EXPECT_FALSE(read_manifest(file_, manifest));
    EXPECT_EQ(manifest.bytes, expected.size());
    EXPECT_EQ(manifest.file_bytes, packed.size());
}

TEST_P(Compressed, AreTheSameForAnyNumberOfThreads) {
    GenerateSpec spec = spec_;
    spec.threads = 1;
    const std::string expected = written(spec);
    for (const std::uint32_t threads : {2, 5}) {
        spec.threads = threads;
        EXPECT_TRUE(written(spec) == expected) << threads;
    }
}

TEST_P(Compressed, MayBeEmpty) {
    EXPECT_EQ(unpacked(written({.records = 0}), 100), "");
    EXPECT_FALSE(verify(file_));
}

TEST_P(Compressed, AreFoundDamaged) {
    const std::string packed = written({.records = 1000});
    EXPECT_EQ(unpacked(std::string_view(packed).substr(0, packed.size() - 1), 1000), "cut");
    const std::string longer = unpacked(packed + "x", 1000);
    EXPECT_TRUE(longer == "bad" || longer == "cut");
    std::string damaged = packed;
    damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 1);
    EXPECT_EQ(unpacked(damaged, 1000), "bad");
    std::ofstream(file_, std::ios::binary) << damaged;
    const auto error = verify(file_);
    ASSERT_TRUE(error);
    EXPECT_NE(error->what.find("cannot be decompressed"), std::string::npos) << error->what;
}

INSTANTIATE_TEST_SUITE_P(Ways, Compressed, testing::Values(Compression::zstd, Compression::gzip),
                         [](const auto &tested) { return std::string(name_of(tested.param)); });

} // namespace
} // namespace gristmill::datagen
