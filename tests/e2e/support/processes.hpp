// The processes of an engine, as /proc shows them.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace gristmill::e2e {

struct ProcessSeen {
    pid_t pid = 0;
    pid_t parent = 0;
    char state = '?'; // as in proc(5): Z is a zombie
    std::string name;
};

std::vector<ProcessSeen> all_processes();
std::vector<pid_t> children_of(pid_t parent); // zombies left out

// Nurseries of this process, and the workers of those.
std::vector<pid_t> nurseries();
std::vector<pid_t> workers();

// Waits for a condition, ten seconds at most; false: it did not come.
template <class Condition>
bool eventually(Condition &&condition);

void rest_a_little();

template <class Condition>
bool eventually(Condition &&condition) {
    for (int i = 0; i < 5000; ++i) {
        if (condition())
            return true;
        rest_a_little();
    }
    return condition();
}

} // namespace gristmill::e2e
