#include "os/unique_fd.hpp"

#include <cerrno>
#include <unistd.h>

namespace gristmill::os {

void close_descriptor(int fd) noexcept {
    if (fd < 0)
        return;
    const int saved = errno;
    ::close(fd);
    errno = saved;
}

} // namespace gristmill::os
