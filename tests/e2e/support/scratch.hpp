// A folder for one test, and files in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gristmill::e2e {

// Made anew, and removed with all it holds.
class Scratch {
  public:
    Scratch();
    ~Scratch();
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;

    const std::string &folder() const { return folder_; }
    std::string path(const std::string &name) const { return folder_ + "/" + name; }
    // Writes a file anew; its path.
    std::string write(const std::string &name, std::string_view bytes) const;
    // Names of what the folder holds, hidden files included, sorted.
    std::vector<std::string> names() const;

  private:
    std::string folder_;
};

// All bytes of a file, read to its end whatever size it claims. Throws std::runtime_error.
std::string read_file(const std::string &path);

// Names in any folder, sorted.
std::vector<std::string> names_in(const std::string &folder);

} // namespace gristmill::e2e
