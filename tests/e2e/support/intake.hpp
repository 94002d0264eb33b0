// A descriptor that takes all output at once, to be read afterwards.
#pragma once

#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include <gristmill/engine.hpp>

#include "support/scratch.hpp"

namespace gristmill::e2e {

class Intake {
  public:
    Intake() : fd_(::memfd_create("intake", MFD_CLOEXEC)) {}
    ~Intake() { ::close(fd_); }
    Intake(const Intake &) = delete;
    Intake &operator=(const Intake &) = delete;

    OutputTarget target() const { return {OutputTarget::Kind::descriptor, {}, fd_}; }
    std::string bytes() const { return read_file("/proc/self/fd/" + std::to_string(fd_)); }

  private:
    const int fd_;
};

} // namespace gristmill::e2e
