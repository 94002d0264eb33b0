#include "work/nursery.hpp"

#include <array>
#include <map>
#include <vector>

namespace gristmill::work {

namespace {

constexpr std::int64_t kPatienceNs = 200'000'000; // for workers that were told to leave
constexpr int kForkFailed = 71 << 8;              // reported as if the worker had left with it

class Nursery {
  public:
    Nursery(RunState state, pid_t engine, const NurseryParts &parts)
        : state_(state), parts_(parts), engine_(engine), engine_fd_(os::watch_process(engine)) {}

    void run() {
        Result<os::UniqueFd> children = os::watch_children();
        if (!children)
            return;
        state_.header().nursery.store(std::uint32_t(NurseryState::ready));
        state_.header().egress_event.notify();
        os::adopt_orphans();
        std::vector<bool> ready;
        while (os::parent_of_this() == engine_) {
            const std::array<int, 3> watched{kControlFd, children->get(), engine_fd_.get()};
            os::wait_readable(watched, ready, -1);
            if (ready[1])
                os::drain(children->get());
            reap();
            if (ready[2] || (ready[0] && !answer()))
                break;
        }
        end_workers(children->get());
    }

  private:
    struct Child {
        std::uint32_t worker = 0;
        std::uint16_t incarnation = 0;
    };

    // Whatever is asked for. False: the engine has closed its end.
    bool answer() {
        for (;;) {
            NurseryRequest request;
            const std::int64_t got =
                os::receive_message(kControlFd, std::as_writable_bytes(std::span(&request, 1)));
            if (got < 0)
                return true;
            if (got != sizeof request)
                return false;
            if (request.worker >= state_.header().workers)
                continue;
            if (request.kind == NurseryRequest::Kind::spawn)
                spawn(request.worker, static_cast<std::uint16_t>(request.incarnation));
            else
                kill(request.worker, static_cast<std::uint16_t>(request.incarnation));
        }
    }

    void spawn(std::uint32_t worker, std::uint16_t incarnation) {
        const pid_t nursery = os::this_process();
        const pid_t pid = parts_.fork();
        if (pid == 0) {
            os::begin_group();
            if (os::die_with_parent(nursery))
                parts_.live(worker, incarnation);
            os::leave(0);
        }
        if (pid < 0) {
            report({worker, incarnation}, kForkFailed);
            return;
        }
        children_[pid] = {worker, incarnation};
        state_.slot(worker).pid.store(static_cast<std::uint32_t>(pid));
    }

    void kill(std::uint32_t worker, std::uint16_t incarnation) {
        for (const auto &[pid, child] : children_)
            if (child.worker == worker && child.incarnation == incarnation)
                os::kill_process(pid);
    }

    void reap() {
        while (const auto reaped = os::reap_child()) {
            const auto found = children_.find(reaped->pid);
            if (found == children_.end()) { // what a worker left behind, and it something else
                end_orphans();
                continue;
            }
            auto &command_group = state_.slot(found->second.worker).command_group;
            os::kill_group(static_cast<pid_t>(command_group.exchange(0)));
            state_.slot(found->second.worker).pid.store(0);
            report(found->second, reaped->status);
            children_.erase(found);
            end_orphans();
        }
    }

    // What workers had started in groups of their own are children of this process now.
    void end_orphans() {
        os::kill_children_but([this](pid_t pid) { return children_.contains(pid); });
    }

    void report(const Child &child, int status) {
        const ring::ExitReport report{true, child.incarnation, status};
        state_.slot(child.worker).exit.store(report.pack());
        state_.header().exits.fetch_add(1);
        state_.header().egress_event.notify_after_death();
    }

    // Those that were told to shut down get a moment to do it.
    void end_workers(int children_fd) {
        std::vector<bool> ready;
        const std::array<int, 1> watched{children_fd};
        while (!children_.empty() && state_.header().shutdown.load()) {
            os::wait_readable(watched, ready, kPatienceNs);
            if (!ready[0])
                break;
            os::drain(children_fd);
            reap();
        }
        for (const auto &[pid, child] : children_)
            os::kill_group(pid);
        os::end_all_children(kPatienceNs);
    }

    RunState state_;
    const NurseryParts &parts_;
    const pid_t engine_;
    os::UniqueFd engine_fd_;
    std::map<pid_t, Child> children_;
};

} // namespace

void run_nursery(RunState state, pid_t engine, const NurseryParts &parts) {
    Nursery(state, engine, parts).run();
}

} // namespace gristmill::work
