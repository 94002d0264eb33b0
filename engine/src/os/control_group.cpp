#include "os/control_group.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace gristmill::os {

namespace {

// Folders of the group and of its ancestors, for one controller: version 2 where it is mounted,
// otherwise version 1.
std::vector<std::string> folders(const std::string &controller) {
    std::vector<std::string> found;
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        std::string mount = "/sys/fs/cgroup";
        if (controllers != ",,") {
            if (controllers.find("," + controller + ",") == std::string::npos)
                continue;
            mount += "/" + controller;
        }
        for (std::string path = line.substr(second + 1);; path.erase(path.rfind('/'))) {
            found.push_back(mount + path + "/");
            if (path.find('/') == std::string::npos)
                break;
        }
    }
    return found;
}

// The number at the start of a file; `missing` for no file and for "max".
double number_in(const std::string &path, double missing) {
    std::ifstream file(path);
    double number = 0;
    return file >> number ? number : missing;
}

} // namespace

double cpu_quota() {
    double smallest = 0;
    for (const std::string &folder : folders("cpu")) {
        double quota = 0;
        double period = 100000;
        if (std::ifstream file(folder + "cpu.max"); file) {
            if (!(file >> quota >> period))
                continue; // "max"
        } else {
            quota = number_in(folder + "cpu.cfs_quota_us", 0);
            period = number_in(folder + "cpu.cfs_period_us", period);
        }
        if (quota > 0 && period > 0)
            smallest = smallest > 0 ? std::min(smallest, quota / period) : quota / period;
    }
    return smallest;
}

std::uint64_t memory_headroom_bytes() {
    double least = double(std::numeric_limits<std::uint64_t>::max());
    for (const std::string &folder : folders("memory")) {
        double limit = number_in(folder + "memory.max", 0);
        double used = number_in(folder + "memory.current", 0);
        if (limit <= 0) {
            limit = number_in(folder + "memory.limit_in_bytes", 0);
            used = number_in(folder + "memory.usage_in_bytes", 0);
        }
        if (limit > 0)
            least = std::min(least, std::max(0.0, limit - used));
    }
    return least >= double(std::numeric_limits<std::uint64_t>::max())
               ? std::numeric_limits<std::uint64_t>::max()
               : static_cast<std::uint64_t>(least);
}

std::uint64_t oom_kills() {
    for (const std::string &folder : folders("memory"))
        for (const char *file : {"memory.events", "memory.oom_control"}) {
            std::ifstream events(folder + file);
            std::string name;
            for (std::uint64_t count = 0; events >> name >> count;)
                if (name == "oom_kill")
                    return count;
        }
    return 0;
}

} // namespace gristmill::os
