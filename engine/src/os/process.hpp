// Processes: starting, watching and ending them, and reaching what another one has open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include <gristmill/error.hpp>

#include "os/unique_fd.hpp"

namespace gristmill::os {

// A child of this process. Ended and reaped when it is destroyed.
//
// Threads: one at a time.
class ChildProcess {
  public:
    ChildProcess() = default;
    // Takes over a child that was forked by other means.
    explicit ChildProcess(pid_t pid);
    ChildProcess(ChildProcess &&other) noexcept;
    ChildProcess &operator=(ChildProcess &&other) noexcept;
    ~ChildProcess();

    pid_t pid() const noexcept { return pid_; }
    // Leaves the child to the caller.
    pid_t release() noexcept {
        pidfd_.reset();
        return std::exchange(pid_, -1);
    }
    bool valid() const noexcept { return pid_ > 0; }
    // Has it ended? Also when somebody else has reaped it.
    bool ended() const noexcept;
    // Waits until it has ended, at most so long; then kills it. Reaps it: its status as from
    // waitpid(2), none if somebody else has reaped it.
    std::optional<int> finish(std::uint64_t patience_ns) noexcept;

  private:
    pid_t pid_ = -1;
    UniqueFd pidfd_; // not there on kernels before 5.3
};

// Starts a program with all signals blocked. `inherited[i]` becomes descriptor
// kInheritedFdBase + i; standard input is /dev/null, standard output and error stay as they are.
// Does not copy the caller's memory. Errors: ErrorKind::system.
Result<ChildProcess> spawn(const std::vector<std::string> &arguments,
                           std::span<const int> inherited);

inline constexpr int kInheritedFdBase = 100;

// Two connected ends that keep the borders of messages (SOCK_SEQPACKET), CLOEXEC. Messages go from
// here to there.
struct SocketPair {
    UniqueFd here;
    UniqueFd there;
};
Result<SocketPair> socket_pair();

// Sends one message; false if the other end is gone, or does not read for five seconds.
bool send_message(int socket, std::span<const std::byte> message) noexcept;
// Receives one message; its length, 0 when the other end is closed, -1 when there is none now.
std::int64_t receive_message(int socket, std::span<std::byte> message) noexcept;

// Opens anew what process `holder` has open as `fd`; needs no cooperation from it. errno on failure.
Result<UniqueFd> reopen(pid_t holder, int fd, bool writable);

// In a child that has no other thread: what a worker or a nursery is to its parent.
// It dies (SIGKILL) when `parent`, a process of one thread, does. False: the parent is gone already.
bool die_with_parent(pid_t parent) noexcept;
// SIGINT, SIGPIPE and SIGXFSZ ignored, every other signal as the system has it, none blocked.
void reset_signals() noexcept;
// Closes all descriptors but 0 to 2 and [first_kept, last_kept]; 0 becomes /dev/null if asked.
void close_other_descriptors(int first_kept, int last_kept) noexcept;
void move_stdin_to_null() noexcept;
// Programs that this process starts do not inherit the descriptors.
void keep_from_programs(int first, int last) noexcept;
// In a forked child: `inherited[i]` becomes descriptor kInheritedFdBase + i, CLOEXEC. Of the others
// those are closed that would keep somebody waiting: pipes, sockets, and the like; regular files,
// directories and devices stay, as functions may use them.
void place_descriptors(std::span<const int> inherited) noexcept;
// Makes the kernel prefer this process when memory runs out.
void volunteer_for_oom() noexcept;
// A mask of CPUs, 64 a word; all zero means any. Refusals are ignored (containers refuse).
void run_on_cpus(std::span<const std::uint64_t> mask) noexcept;

// Ends this process at once, without exit handlers.
[[noreturn]] void leave(int status) noexcept;

// Forks without handlers of any kind; 0 in the child.
pid_t fork_process() noexcept;
// From now on, forks are counted: how many lie between this process and the one that first said so.
void count_forks() noexcept;
std::uint32_t fork_count() noexcept;
void kill_process(pid_t pid) noexcept;
// Kills a process that is no child of this one, and waits until it has ended, at most so long.
void await_end(pid_t pid, std::uint64_t patience_ns) noexcept;
// Makes this process the head of a group: what it starts can be ended together with it.
void begin_group() noexcept;
void kill_group(pid_t head) noexcept;

// One child that has ended: its pid, status as from waitpid(2).
struct Reaped {
    pid_t pid = 0;
    int status = 0;
};
// Reaps a child that has ended, if there is one, and ends what is left of the group it headed.
std::optional<Reaped> reap_child() noexcept;

// Sleeps until one of the descriptors can be read, or a child has ended; without `timeout_ns`
// (< 0) for ever. Readiness by index in `ready`. Needs watch_children() before.
void wait_readable(std::span<const int> descriptors, std::vector<bool> &ready,
                   std::int64_t timeout_ns);
// A descriptor that can be read when a child has ended (SIGCHLD, which it blocks).
Result<UniqueFd> watch_children();
// Empties it.
void drain(int signal_fd) noexcept;
// Is what this process has open out of reach of other processes of its user (it has changed its
// user, or asked for it)?
bool hides_its_descriptors() noexcept;

// The children that others leave behind become children of this process.
void adopt_orphans() noexcept;
// Kills and reaps every child there is, and what becomes one meanwhile; for at most so long.
void end_all_children(std::uint64_t patience_ns) noexcept;
// Kills the children that `keep` does not want, for each is asked once.
void kill_children_but(const std::function<bool(pid_t)> &keep) noexcept;

// A descriptor that can be read when the process has ended; invalid on kernels before 5.3.
UniqueFd watch_process(pid_t pid) noexcept;

pid_t parent_of_this() noexcept;
pid_t this_process() noexcept;

// "SIGSEGV (segmentation fault)", "exit status 3".
std::string describe_exit(int status);
// Was it ended by a signal that whoever sends it may have sent from outside (SIGKILL, SIGTERM...)?
bool killed_from_outside(int status) noexcept;
bool killed_by_sigkill(int status) noexcept;

// Directory of the shared object or program that has this address in it.
std::string directory_of_code(const void *address);
bool is_executable(const std::string &path) noexcept;

} // namespace gristmill::os
