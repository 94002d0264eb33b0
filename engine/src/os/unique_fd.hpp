// Owner of one file descriptor.
#pragma once

#include <utility>

namespace gristmill::os {

// Closes the descriptor, if it is one. errno is left as it was.
void close_descriptor(int fd) noexcept;

class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd &operator=(UniqueFd &&other) noexcept {
        if (this != &other)
            reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { close_descriptor(fd_); }

    int get() const noexcept { return fd_; }
    bool valid() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept { close_descriptor(std::exchange(fd_, fd)); }

  private:
    int fd_ = -1;
};

} // namespace gristmill::os
