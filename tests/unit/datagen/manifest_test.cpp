// A manifest says what its file holds, and verify() whether that is so.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "document_vocabulary.hpp"
#include "generate.hpp"
#include "manifest.hpp"

namespace gristmill::datagen {
namespace {

namespace fs = std::filesystem;

class Manifests : public testing::Test {
  protected:
    void SetUp() override {
        folder_ = (fs::temp_directory_path() / "datagen-XXXXXX").string();
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
        file_ = folder_ + "/records";
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(const GenerateSpec &spec) {
        const auto error = generate(spec, file_);
        ASSERT_FALSE(error) << error->what;
    }
    Manifest manifest() const {
        Manifest read;
        const auto error = read_manifest(file_, read);
        EXPECT_FALSE(error) << error->what;
        return read;
    }
    void expect_difference(const std::string &how) const {
        const auto error = verify(file_);
        ASSERT_TRUE(error);
        EXPECT_EQ(error->error_number, 0);
        EXPECT_NE(error->what.find(how), std::string::npos) << error->what;
    }
    static std::string content(const std::string &path) {
        std::ifstream stream(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    static void flip(const std::string &path, std::streamoff at) {
        std::fstream stream(path, std::ios::binary | std::ios::in | std::ios::out);
        stream.seekg(at);
        const int byte = stream.get();
        stream.seekp(at);
        stream.put(static_cast<char>(byte ^ 1));
    }

    std::string folder_;
    std::string file_;
    const GenerateSpec spec_{.set = RecordSet::medium,
                             .stream = Stream::fast,
                             .records = 10000,
                             .seed = 18446744073709551615u,
                             .malformed_pct = 12.5,
                             .range = Range{2000, 7000}};
};

TEST_F(Manifests, SayWhatTheFileHolds) {
    write(spec_);
    const Manifest read = manifest();
    EXPECT_EQ(read.set, spec_.set);
    EXPECT_EQ(read.stream, spec_.stream);
    EXPECT_EQ(read.seed, spec_.seed);
    EXPECT_EQ(read.malformed_pct, 12.5);
    EXPECT_EQ(read.range, spec_.range);
    EXPECT_EQ(read.records, 5000u);
    EXPECT_EQ(read.bytes, fs::file_size(file_));
    EXPECT_EQ(read.file_bytes, read.bytes);
    EXPECT_EQ(read.xxh3_128.size(), 32u);
    EXPECT_GT(read.valid, 4250u);
    EXPECT_LT(read.valid, 4600u);
    EXPECT_EQ(manifest_text(read), content(manifest_path(file_)));
    EXPECT_FALSE(verify(file_));
}

TEST_F(Manifests, DescribeOneSpecOnly) {
    write(spec_);
    const Manifest read = manifest();
    EXPECT_TRUE(describes(read, spec_));
    GenerateSpec other = spec_;
    other.threads = 3;
    other.records = 20000; // not in the range
    EXPECT_TRUE(describes(read, other));
    other.range = Range{2000, 7001};
    EXPECT_FALSE(describes(read, other));
    other = spec_;
    other.seed = 5;
    EXPECT_FALSE(describes(read, other));
    other = spec_;
    other.stream = Stream::reference;
    EXPECT_FALSE(describes(read, other));
    other = spec_;
    other.compression = Compression::zstd;
    EXPECT_FALSE(describes(read, other));
}

TEST_F(Manifests, FindOneFlippedByte) {
    write(spec_);
    for (const std::streamoff at : {std::streamoff{0}, std::streamoff{1000000}}) {
        flip(file_, at);
        expect_difference("digest");
        flip(file_, at);
        EXPECT_FALSE(verify(file_));
    }
}

TEST_F(Manifests, FindMissingAndAddedBytes) {
    write(spec_);
    const std::uintmax_t bytes = fs::file_size(file_);
    fs::resize_file(file_, bytes - 1);
    expect_difference(std::to_string(bytes - 1) + " bytes instead of");
    fs::resize_file(file_, bytes + 1);
    expect_difference(std::to_string(bytes + 1) + " bytes instead of");
}

TEST_F(Manifests, MayBeMissingOrBad) {
    write(spec_);
    const std::string text = content(manifest_path(file_));
    for (const std::string &bad : {std::string("{}"), text.substr(0, text.size() / 2),
                                   std::string("\"format\": 1"), std::string()}) {
        std::ofstream(manifest_path(file_)) << bad;
        expect_difference("is no manifest");
    }
    std::string newer = text;
    newer.replace(newer.find("\"format\": 1"), 11, "\"format\": 2");
    std::ofstream(manifest_path(file_)) << newer;
    expect_difference("is a manifest of format 2; this version knows format 1");
    fs::remove(manifest_path(file_));
    const auto missing = verify(file_);
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->error_number, ENOENT);
    std::ofstream(manifest_path(file_)) << text;
    fs::remove(file_);
    const auto gone = verify(file_);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->error_number, ENOENT);
}

TEST_F(Manifests, StayAsTheyWereWhenStopped) {
    write(spec_);
    const Manifest before = manifest();
    EXPECT_TRUE(generate({.records = 1000}, file_, [](auto...) { return false; }));
    EXPECT_EQ(manifest(), before);
    EXPECT_FALSE(verify(file_));
}

TEST_F(Manifests, AreReplacedWithTheFile) {
    write(spec_);
    write({.set = RecordSet::light, .records = 10});
    EXPECT_EQ(manifest().set, RecordSet::light);
    EXPECT_FALSE(verify(file_));
}

TEST_F(Manifests, CoverTheVocabulary) {
    write({.set = RecordSet::tokenize, .records = 100});
    EXPECT_EQ(content(vocabulary_path(file_)), vocabulary_text());
    EXPECT_FALSE(verify(file_));
    flip(vocabulary_path(file_), 100);
    expect_difference("is not the vocabulary");
    fs::remove(vocabulary_path(file_));
    const auto gone = verify(file_);
    ASSERT_TRUE(gone);
    EXPECT_EQ(gone->error_number, ENOENT);
}

// The numbers of records that the payload drops are published by prefix of the reference stream.
TEST_F(Manifests, CountTheValidAsPublished) {
    for (const auto &[set, records, dropped] :
         {std::tuple(RecordSet::medium, 20000u, 13u), std::tuple(RecordSet::medium, 50000u, 26u),
          std::tuple(RecordSet::medium, 100000u, 43u), std::tuple(RecordSet::heavy, 20000u, 7u),
          std::tuple(RecordSet::heavy, 50000u, 21u), std::tuple(RecordSet::heavy, 100000u, 37u),
          std::tuple(RecordSet::light, 100000u, 0u)}) {
        write({.set = set, .records = records});
        EXPECT_EQ(manifest().valid, records - dropped) << name_of(set);
    }
}

} // namespace
} // namespace gristmill::datagen
