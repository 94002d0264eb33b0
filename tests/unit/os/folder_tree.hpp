// A folder that stands for "/": what the kernel would show in /proc and /sys.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/test_file.hpp"

namespace gristmill::test {

class FolderTree {
  public:
    using Files = std::vector<std::pair<std::string, std::string>>; // path, content

    explicit FolderTree(const Files &files = {}) {
        for (const auto &[path, content] : files)
            add(path, content);
    }
    void add(const std::string &path, const std::string &content) const {
        const std::filesystem::path whole = folder_.path() + path;
        std::filesystem::create_directories(whole.parent_path());
        folder_.write(path, content);
    }
    const std::string &root() const { return folder_.path(); }

  private:
    TestFolder folder_;
};

} // namespace gristmill::test
