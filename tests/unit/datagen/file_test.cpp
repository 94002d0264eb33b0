// Files come into being whole or not at all.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "generate.hpp"

namespace gristmill::datagen {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
  protected:
    void SetUp() override {
        const std::string pattern = (fs::temp_directory_path() / "datagen-XXXXXX").string();
        folder_ = pattern;
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
        append_records(spec_, expected_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const std::string &name) const { return folder_ + "/" + name; }

    static std::string content(const std::string &path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::ptrdiff_t files() const {
        return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
    }

    std::string folder_;
    std::string expected_;
    const GenerateSpec spec_{.set = RecordSet::light, .records = 30000}; // several buffers
};

TEST_F(File, HoldsTheRecords) {
    std::uint64_t records = 0, bytes = 0;
    const auto error = generate(spec_, path("a"), [&](std::uint64_t r, std::uint64_t b) {
        EXPECT_GT(r, records);
        records = r;
        bytes = b;
        return true;
    });
    EXPECT_FALSE(error);
    EXPECT_EQ(content(path("a")), expected_);
    EXPECT_EQ(records, spec_.records);
    EXPECT_EQ(bytes, expected_.size());
    EXPECT_EQ(files(), 2); // with the manifest
}

TEST_F(File, MayBeEmpty) {
    EXPECT_FALSE(generate({.records = 0}, path("empty")));
    EXPECT_TRUE(fs::exists(path("empty")));
    EXPECT_EQ(fs::file_size(path("empty")), 0u);
}

TEST_F(File, StaysAsItWasWhenStopped) {
    std::ofstream(path("a")) << "before";
    const auto stop = [](std::uint64_t, std::uint64_t) { return false; };
    const auto error = generate(spec_, path("a"), stop);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->error_number, ECANCELED);
    EXPECT_EQ(content(path("a")), "before");
    EXPECT_TRUE(generate(spec_, path("new"), stop));
    EXPECT_EQ(files(), 1);
}

TEST_F(File, StaysAsItWasWhenTheCallbackThrows) {
    const auto error = generate(spec_, path("a"), [](std::uint64_t, std::uint64_t) -> bool {
        throw std::runtime_error("display is gone");
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->what, "display is gone");
    EXPECT_EQ(files(), 0);
}

TEST_F(File, IsReplacedAndKeepsItsMode) {
    std::ofstream(path("a")) << "before";
    ASSERT_EQ(::chmod(path("a").c_str(), 0640), 0);
    EXPECT_FALSE(generate(spec_, path("a")));
    EXPECT_EQ(content(path("a")), expected_);
    EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms(0640));
}

TEST_F(File, IsReachedThroughSymbolicLinks) {
    fs::create_directory(path("there"));
    fs::create_symlink("there/a", path("link"));
    for (int time = 0; time < 2; ++time) { // the link leads nowhere at first
        EXPECT_FALSE(generate(spec_, path("link")));
        EXPECT_TRUE(fs::is_symlink(path("link")));
        EXPECT_EQ(content(path("there/a")), expected_);
    }
}

TEST_F(File, ErrorsNamePathAndErrno) {
    for (const auto &[where, number] : {std::pair(std::string("/dev/full"), ENOSPC),
                                        {path("no/such/folder"), ENOENT},
                                        {folder_, EISDIR}}) {
        const auto error = generate(spec_, where);
        ASSERT_TRUE(error) << where;
        EXPECT_EQ(error->error_number, number);
        EXPECT_NE(error->what.find("'" + where + "'"), std::string::npos) << error->what;
    }
    EXPECT_EQ(files(), 0);
}

TEST_F(File, PipesAreWrittenInPlace) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    std::string read;
    std::thread reader([&] { read = content(path("pipe")); });
    EXPECT_FALSE(generate(spec_, path("pipe")));
    reader.join();
    EXPECT_EQ(read, expected_);
    EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

} // namespace
} // namespace gristmill::datagen
