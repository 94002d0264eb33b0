// The command line of plugin_check.
#pragma once

#include <optional>
#include <string>

#include "plugin_instance.hpp"

namespace gristmill::workshop {

struct Arguments {
    Subject subject;
    std::string input; // path; empty: none
    bool json = false;
};

extern const char *const usage;

/// Throws std::runtime_error, which says what is wrong. Nothing for --help.
std::optional<Arguments> read_arguments(int count, char **values);

} // namespace gristmill::workshop
