// Errors made from errno.
#pragma once

#include <string>
#include <string_view>

#include <gristmill/error.hpp>

namespace gristmill::os {

// "what: No such file or directory", with the path and errno kept as fields.
Error errno_error(ErrorKind kind, int os_errno, std::string_view what, std::string path = {});

} // namespace gristmill::os
