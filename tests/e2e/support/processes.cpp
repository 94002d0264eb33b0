#include "support/processes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include "support/scratch.hpp"

namespace gristmill::e2e {

namespace {

// Empty when the process is gone.
std::string stat_of(const std::string &pid) {
    const int fd = ::open(("/proc/" + pid + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
    char text[1024];
    const ssize_t got = fd < 0 ? 0 : ::read(fd, text, sizeof text);
    ::close(fd);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

} // namespace

std::vector<ProcessSeen> all_processes() {
    std::vector<ProcessSeen> seen;
    for (const std::string &name : names_in("/proc")) {
        if (name.find_first_not_of("0123456789") != std::string::npos)
            continue;
        const std::string stat = stat_of(name);
        const std::size_t open = stat.find('('), close = stat.rfind(") ");
        if (open == std::string::npos || close == std::string::npos)
            continue; // gone meanwhile
        ProcessSeen process;
        process.pid = static_cast<pid_t>(std::stol(name));
        process.name = stat.substr(open + 1, close - open - 1);
        process.state = stat[close + 2];
        process.parent = static_cast<pid_t>(std::stol(stat.substr(close + 4)));
        seen.push_back(process);
    }
    return seen;
}

std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> children;
    for (const ProcessSeen &process : all_processes())
        if (process.parent == parent && process.state != 'Z')
            children.push_back(process.pid);
    return children;
}

std::vector<pid_t> nurseries() {
    std::vector<pid_t> found;
    for (const ProcessSeen &process : all_processes())
        if (process.parent == ::getpid() && process.state != 'Z' &&
            process.name.starts_with("gristmill-worke"))
            found.push_back(process.pid);
    return found;
}

std::vector<pid_t> workers() {
    std::vector<pid_t> found;
    for (const pid_t nursery : nurseries())
        for (const pid_t worker : children_of(nursery))
            found.push_back(worker);
    return found;
}

void rest_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

} // namespace gristmill::e2e
