// Files of the tests: unnamed ones in memory, and folders that vanish.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace gristmill::test {

// An unnamed file with this content.
class MemoryFile {
  public:
    explicit MemoryFile(std::string_view content = {})
        : fd_(::memfd_create("gristmill-test", MFD_CLOEXEC)) {
        write(content);
    }
    ~MemoryFile() { ::close(fd_); }
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;

    int fd() const { return fd_; }
    // Replaces the content.
    void write(std::string_view content) {
        if (::ftruncate(fd_, 0) != 0 ||
            ::pwrite(fd_, content.data(), content.size(), 0) != ssize_t(content.size()))
            std::abort();
    }

  private:
    int fd_;
};

// A fresh folder, removed with all that is in it.
class TestFolder {
  public:
    TestFolder() {
        path_ = (std::filesystem::temp_directory_path() / "gristmill-test-XXXXXX").string();
        if (!::mkdtemp(path_.data()))
            std::abort();
    }
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TestFolder(const TestFolder &) = delete;
    TestFolder &operator=(const TestFolder &) = delete;

    const std::string &path() const { return path_; }
    std::string file(const std::string &name) const { return path_ + "/" + name; }
    std::string write(const std::string &name, std::string_view content) const {
        std::ofstream(file(name), std::ios::binary) << content;
        return file(name);
    }
    static std::string read(const std::string &path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    std::ptrdiff_t files() const {
        return std::distance(std::filesystem::directory_iterator(path_),
                             std::filesystem::directory_iterator());
    }

  private:
    std::string path_;
};

} // namespace gristmill::test
