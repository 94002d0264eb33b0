#include "os/os_error.hpp"

#include <system_error>

namespace gristmill::os {

Error errno_error(ErrorKind kind, int os_errno, std::string_view what, std::string path) {
    Error error;
    error.kind = kind;
    error.message = std::string(what) + ": " + std::generic_category().message(os_errno);
    error.path = std::move(path);
    error.os_errno = os_errno;
    return error;
}

} // namespace gristmill::os
