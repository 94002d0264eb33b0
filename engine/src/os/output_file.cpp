#include "os/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "os/fd_io.hpp"
#include "os/os_error.hpp"

namespace gristmill::os {

namespace {

namespace fs = std::filesystem;

// The file that a path means, following links even to what does not exist yet.
std::string resolve(const std::string &path) {
    fs::path target = path;
    std::error_code failed;
    for (int links = 0; links < 40 && fs::is_symlink(target, failed); ++links) {
        const fs::path next = fs::read_symlink(target, failed);
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    return target.string();
}

// A name beside the target that nobody else has.
std::string temporary_name(const std::string &folder, int attempt) {
    return folder + "/.gristmill-" + std::to_string(::getpid()) + "-" +
           std::to_string(reinterpret_cast<std::uintptr_t>(&folder) >> 4) + "-" +
           std::to_string(attempt);
}

constexpr int kAttempts = 100;

} // namespace

Error OutputFile::failed(int os_errno, const char *what) const {
    return errno_error(ErrorKind::output, os_errno, std::string(what) + " '" + path_ + "'", path_);
}

Result<OutputFile> OutputFile::create(const std::string &path) {
    OutputFile file;
    file.path_ = path;
    if (path.empty())
        return file.failed(ENOENT, "cannot write");
    unsigned mode = 0666;
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0) {
        if (S_ISDIR(facts.st_mode))
            return file.failed(EISDIR, "cannot write");
        if (!S_ISREG(facts.st_mode)) {
            file.in_place_ = true;
            file.fd_.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
            if (!file.fd_.valid())
                return file.failed(errno, "cannot open");
            return file;
        }
        mode = facts.st_mode & 07777;
        if (::access(path.c_str(), W_OK) < 0)
            return file.failed(errno, "cannot write");
    } else if (errno != ENOENT) {
        return file.failed(errno, "cannot write");
    }
    file.target_ = resolve(path);
    const fs::path parent = fs::path(file.target_).parent_path();
    const std::string folder = parent.empty() ? "." : parent.string();
    if (!file.open_unnamed(folder, mode) && !file.open_temporary(folder, mode))
        return file.failed(errno, "cannot create");
    if (mode != 0666)
        ::fchmod(file.fd_.get(), mode); // an existing file keeps its mode
    return file;
}

Result<OutputFile> OutputFile::adopt(int fd) {
    OutputFile file;
    file.path_ = "descriptor " + std::to_string(fd);
    file.in_place_ = true;
    file.fd_.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!file.fd_.valid())
        return file.failed(errno, "cannot write to");
    return file;
}

bool OutputFile::open_unnamed(const std::string &folder, unsigned mode) {
    fd_.reset(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
    return fd_.valid();
}

bool OutputFile::open_temporary(const std::string &folder, unsigned mode) {
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        temporary_ = temporary_name(folder, attempt);
        fd_.reset(::open(temporary_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
        if (fd_.valid())
            return true;
        if (errno != EEXIST)
            break;
    }
    temporary_.clear();
    return false;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : fd_(std::move(other.fd_)), path_(std::move(other.path_)),
      target_(std::move(other.target_)), temporary_(std::exchange(other.temporary_, {})),
      in_place_(other.in_place_) {}

OutputFile::~OutputFile() {
    if (!temporary_.empty())
        ::unlink(temporary_.c_str());
}

Result<void> OutputFile::write(std::span<const std::byte> data) {
    if (const int os_errno = write_full(fd_.get(), data))
        return failed(os_errno, "cannot write");
    return {};
}

Result<void> OutputFile::commit() {
    if (in_place_)
        return {};
    if (temporary_.empty()) { // unnamed: it needs a name before it can replace another
        const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
        const fs::path parent = fs::path(target_).parent_path();
        for (int attempt = 0; attempt < kAttempts; ++attempt) {
            const std::string name =
                temporary_name(parent.empty() ? "." : parent.string(), attempt);
            if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
                temporary_ = name;
                break;
            }
            if (errno != EEXIST)
                return failed(errno, "cannot name");
        }
    }
    if (::rename(temporary_.c_str(), target_.c_str()) < 0)
        return failed(errno, "cannot rename to");
    temporary_.clear();
    return {};
}

Result<UniqueFd> create_private_file(const std::string &path) {
    UniqueFd fd(::open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                       0600));
    if (!fd.valid())
        return errno_error(ErrorKind::output, errno, "cannot create '" + path + "'", path);
    return fd;
}

} // namespace gristmill::os
