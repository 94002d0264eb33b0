#include "os/control_group.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace gristmill::os {

namespace {

// A hierarchy of groups, or a part of one, that can be seen at a place.
struct Mount {
    std::string controllers{}; // separated by commas, among other words; version 2: empty
    std::string top{};         // the group that is seen there; "/" for the hierarchy's own top
    std::string place{};       // the folder
};

bool has_word(const std::string &list, const std::string &word) {
    return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// As in mountinfo, where a space is \040.
std::string unescaped(const std::string &text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escape = text[i] == '\\' && text.size() - i > 3 &&
                            text.find_first_not_of("01234567", i + 1) > i + 3;
        plain += escape ? static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8)) : text[i];
        i += escape ? 3 : 0;
    }
    return plain;
}

std::vector<Mount> all_mounts(const std::string &root) {
    std::vector<Mount> found;
    std::ifstream lines(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(lines, line);) {
        if (line.find("cgroup") == std::string::npos)
            continue;
        std::istringstream words(line);
        std::string word, top, place, type, options;
        words >> word >> word >> word >> top >> place;
        while (words >> word && word != "-") {
        }
        words >> type >> word >> options;
        if (type == "cgroup2" || type == "cgroup")
            found.push_back(
                {type == "cgroup" ? options : "", unescaped(top), root + unescaped(place)});
    }
    return found;
}

// Where the groups of a controller are mounted; of version 2 for an empty name.
std::vector<Mount> mounts_of(const std::vector<Mount> &all, const std::string &root,
                             const std::string &controller) {
    std::vector<Mount> found;
    for (const Mount &mount : all)
        if (controller.empty() ? mount.controllers.empty()
                               : has_word(mount.controllers, controller))
            found.push_back(mount);
    // The usual place, in case the list of mounts is kept from us or another one lies over it.
    const std::string usual =
        root + "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
    if (std::none_of(found.begin(), found.end(),
                     [&](const Mount &mount) { return mount.place == usual; }))
        found.push_back({controller, "/", usual});
    return found;
}

// The group as seen from a mount's top: "/a/b", or "" for the top itself. A container may see only
// the part that holds its own groups, or be told of a group that lies outside of it.
std::string below(const Mount &mount, const std::string &group) {
    if (group.find("/..") == 0 || group == "/")
        return {};
    if (mount.top == "/")
        return group;
    if (group.compare(0, mount.top.size(), mount.top) != 0)
        return {};
    const std::string rest = group.substr(mount.top.size());
    return rest.empty() || rest[0] == '/' ? rest : std::string();
}

// Folders of the group and of its ancestors, for one controller, in every hierarchy it may be in.
std::vector<std::string> folders(const std::string &root, const std::string &controller) {
    const std::vector<Mount> all = all_mounts(root);
    std::vector<std::string> found;
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos)
            continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (!controllers.empty() && !has_word(controllers, controller))
            continue;
        for (const Mount &mount : mounts_of(all, root, controllers.empty() ? "" : controller))
            for (std::string path = below(mount, line.substr(second + 1));;
                 path.erase(path.rfind('/'))) {
                found.push_back(mount.place + path + "/");
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

// What one folder says; 0 cpus: nothing.
CpuQuota quota_of(const std::string &folder) {
    constexpr double kUsualPeriod = 100000;
    CpuQuota found{0, folder + "cpu.max"};
    double quota = 0;
    double period = kUsualPeriod;
    if (std::ifstream file(found.file); file) {
        file >> quota; // fails at "max"
        if (double given = 0; file >> given)
            period = given;
    } else {
        found.file = folder + "cpu.cfs_quota_us";
        quota = number_in(found.file, 0);
        period = number_in(folder + "cpu.cfs_period_us", kUsualPeriod);
    }
    if (quota > 0 && period > 0 && std::isfinite(quota / period))
        found.cpus = quota / period;
    return found;
}

} // namespace

CpuQuota cpu_quota(const std::string &root) {
    CpuQuota tightest;
    for (const std::string &folder : folders(root, "cpu"))
        if (CpuQuota quota = quota_of(folder);
            quota.cpus > 0 && (tightest.cpus == 0 || quota.cpus < tightest.cpus))
            tightest = std::move(quota);
    return tightest;
}

std::uint64_t memory_headroom_bytes(const std::string &root) {
    double least = double(std::numeric_limits<std::uint64_t>::max());
    for (const std::string &folder : folders(root, "memory")) {
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

std::uint64_t oom_kills(const std::string &root) {
    for (const std::string &folder : folders(root, "memory"))
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
