// What a run's payload is, in words that can be sent to another process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gristmill::work {

enum class PayloadKind : std::uint32_t {
    plugin,  // texts: path (absolute), symbol, config
    command, // texts: the program and its arguments
    python   // texts: what the Python package makes of them
};

struct PayloadDescription {
    PayloadKind kind = PayloadKind::plugin;
    std::vector<std::string> texts{};
};

} // namespace gristmill::work
