#include "os/kernel_view.hpp"

#include <fstream>
#include <sstream>
#include <unistd.h>

namespace gristmill::os {

namespace {

constexpr std::uint32_t kNumberMax = 1 << 20; // far more CPUs or nodes than any kernel has

std::string line_of(const std::string &path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

} // namespace

std::vector<std::uint32_t> parse_number_list(const std::string &text) {
    std::vector<std::uint32_t> numbers;
    std::istringstream stream(text);
    std::uint32_t first = 0;
    while (stream >> first) {
        std::uint32_t last = first;
        if (stream.peek() == '-' && !(stream.get() && stream >> last))
            break;
        if (last > kNumberMax)
            break;
        for (std::uint32_t number = first; number <= last; ++number)
            numbers.push_back(number);
        if (stream.peek() != ',')
            break;
        stream.get();
    }
    return numbers;
}

std::optional<std::vector<std::uint32_t>> allowed_memory_nodes(const std::string &root) {
    std::ifstream file(root + "/proc/self/status");
    for (std::string word; file >> word;)
        if (std::string list; word == "Mems_allowed_list:" && file >> list)
            if (std::vector<std::uint32_t> nodes = parse_number_list(list); !nodes.empty())
                return nodes;
    return std::nullopt;
}

bool is_plain_machine(const std::vector<std::uint32_t> &cpus, const std::string &root) {
    const std::string system = root + "/sys/devices/system/";
    const std::string smt = line_of(system + "cpu/smt/active");
    if (line_of(system + "node/online") != "0" || (smt != "0" && !smt.empty()))
        return false;
    if (::access((root + "/sys/devices/cpu_atom").c_str(), F_OK) == 0)
        return false;  // a hybrid of Intel's
    std::string first; // Arm's kernels tell how much each CPU can do
    for (const std::uint32_t cpu : cpus) {
        const std::string capacity =
            line_of(system + "cpu/cpu" + std::to_string(cpu) + "/cpu_capacity");
        if (capacity.empty())
            break;
        if (first.empty())
            first = capacity;
        if (capacity != first)
            return false;
    }
    return true;
}

} // namespace gristmill::os
