// What the kernel's own files say of the machine, where no library is needed.
//
// `root`: folder in which /sys and /proc are looked for; empty but in tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gristmill::os {

// Nodes in whose memory this process may allocate; none where the kernel does not tell.
std::optional<std::vector<std::uint32_t>> allowed_memory_nodes(const std::string &root = {});

// One node, no SMT and one kind of core: then CPU numbers say all that a plan needs.
bool is_plain_machine(const std::vector<std::uint32_t> &cpus, const std::string &root = {});

// "0-3,8,10-11"; what is no such list ends it.
std::vector<std::uint32_t> parse_number_list(const std::string &text);

} // namespace gristmill::os
