// The nursery: the one parent of all worker processes of an engine.
#pragma once

#include <cstdint>
#include <functional>

#include "os/process.hpp"
#include "work/worker_loop.hpp"

namespace gristmill::work {

// Descriptors that a nursery finds open when it starts.
inline constexpr int kControlFd = os::kInheritedFdBase;   // a socket; closed by the engine: the end
inline constexpr int kBlockFd = os::kInheritedFdBase + 1; // the run state
inline constexpr int kOrderFd = os::kInheritedFdBase + 2; // the order of the run
inline constexpr int kLastInheritedFd = kOrderFd;

// What the engine asks of the nursery, one message each.
struct NurseryRequest {
    enum class Kind : std::uint32_t { spawn, kill };
    Kind kind = Kind::spawn;
    std::uint32_t worker = 0;
    std::uint32_t incarnation = 0;
};

// RunHeader::nursery
enum class NurseryState : std::uint32_t {
    absent,
    ready,
    wrong_build // it is another version than the engine
};

struct NurseryParts {
    // Forks; 0 in the child.
    std::function<pid_t()> fork = os::fork_process;
    // A worker's whole life, in a process of its own.
    std::function<void(std::uint32_t worker, std::uint16_t incarnation)> live;
};

// Starts workers, ends them, and reports how each ended, until the engine's process ends or closes
// the control socket; then no worker is left. Only the nursery forks, kills and reaps.
//
// Threads: the only one of its process.
void run_nursery(RunState state, pid_t engine, const NurseryParts &parts);

} // namespace gristmill::work
