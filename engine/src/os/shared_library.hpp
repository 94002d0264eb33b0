// Loading shared objects.
#pragma once

#include <cstdint>
#include <string>

#include <gristmill/error.hpp>

namespace gristmill::os {

// A loaded shared object. Closes it at the end of its life.
class SharedLibrary {
  public:
    // Loads exactly this file: a bare name means one in the current directory, never the loader's
    // search path. Errors (ErrorKind::plugin) name the file and the way out.
    static Result<SharedLibrary> load(const std::string &path);

    SharedLibrary(SharedLibrary &&other) noexcept;
    SharedLibrary &operator=(SharedLibrary &&other) noexcept;
    ~SharedLibrary();

    // Address of a symbol, nullptr if there is none.
    void *symbol(const std::string &name) const;
    const std::string &path() const { return path_; } // absolute

  private:
    SharedLibrary(void *handle, std::string path);
    void *handle_ = nullptr;
    std::string path_;
};

// What tells one version of a file from another; equal for the same, unchanged file.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t bytes = 0;
    std::int64_t changed_ns = 0;
    friend bool operator==(const FileIdentity &, const FileIdentity &) = default;
};
// All zero when there is no such file.
FileIdentity file_identity(const std::string &path);

} // namespace gristmill::os
