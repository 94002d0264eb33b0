#include "output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace gristmill::datagen {

namespace {

constexpr int links_max = 40; // as many as the kernel follows

/// The file that `path` leads to through symbolic links; it need not exist.
std::string resolved(std::filesystem::path path) {
    std::error_code error;
    for (int links = 0; links < links_max && std::filesystem::is_symlink(path, error); ++links) {
        path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
    return path.string();
}

} // namespace

OutputFile::~OutputFile() {
    close();
    if (!temporary_.empty())
        ::unlink(temporary_.c_str());
}

int OutputFile::open(const std::string &path) {
    struct stat status {};
    const bool exists = ::stat(path.c_str(), &status) == 0;
    if (!exists && errno != ENOENT)
        return errno;
    if (exists && !S_ISREG(status.st_mode)) {
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return descriptor_ < 0 ? errno : 0;
    }
    path_ = resolved(path);
    if (exists && ::access(path_.c_str(), W_OK) != 0)
        return errno;
    const int error = open_temporary();
    if (exists && error == 0)
        ::fchmod(descriptor_, status.st_mode & 07777); // as far as we may
    return error;
}

int OutputFile::open_temporary() {
    constexpr int attempts = 100;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        const std::string name =
            path_ + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
        descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ >= 0) {
            temporary_ = name;
            return 0;
        }
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

int OutputFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

int OutputFile::commit() {
    if (const int error = close(); error != 0)
        return error;
    if (temporary_.empty())
        return 0;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        return errno;
    temporary_.clear();
    return 0;
}

int OutputFile::close() {
    if (descriptor_ < 0)
        return 0;
    // Linux gives the descriptor back even when close() was interrupted.
    return ::close(std::exchange(descriptor_, -1)) == 0 || errno == EINTR ? 0 : errno;
}

} // namespace gristmill::datagen
