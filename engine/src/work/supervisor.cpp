// The supervising part of ProcessPool: deaths, timeouts, and the death of the nursery.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "os/control_group.hpp"
#include "work/process_pool.hpp"

namespace gristmill::work {

namespace {

constexpr std::uint64_t kNurseryPatienceNs = 1'000'000'000;
constexpr std::uint32_t kDeathsAtStartMax = 3;  // in a row, before any worker had a payload
constexpr std::uint64_t kOutsideFactor = 4; // and getting a claimed batch to the payload, so many
constexpr std::uint64_t kOutsideNsMin = 2'000'000'000;
constexpr std::uint64_t kMakingFactor = 20; // making a payload may take so many timeouts
constexpr std::uint64_t kMakingNsMin = 2'000'000'000;
constexpr std::uint32_t kKillsAtStartMax = 100; // of them, from outside
constexpr std::uint32_t kLaunchesInVainMax = 3;

Error crash_error(std::string message) {
    Error error;
    error.kind = ErrorKind::crashed;
    error.message = std::move(message);
    return error;
}

} // namespace

Result<void> ProcessPool::supervise() {
    look_ready();
    if (Result<void> started = check_starts(state()); !started) {
        if (started.error().plugin_load && !payload_.texts.empty())
            started.error().path = payload_.texts[0];
        return started;
    }
    if (Result<void> handled = handle_exits(); !handled)
        return handled;
    if (state().header().nursery.load() == std::uint32_t(NurseryState::wrong_build))
        return Error{ErrorKind::system, "the program for worker processes is of another build than "
                                        "this engine; install gristmill anew"};
    const std::uint64_t now_ns = wall_clock_ns();
    if (now_ns - checked_ns_ < static_cast<std::uint64_t>(supervise_every_ns()))
        return {};
    if (nursery_.ended())
        if (Result<void> replaced = replace_nursery(); !replaced)
            return replaced;
    check_progress(now_ns);
    checked_ns_ = now_ns;
    return {};
}

// A worker that makes no progress inside its payload for longer than the timeout is ended. So is one
// that holds a batch and does not come to its payload, as if it were stopped: reading may take a
// while, so later, and no record is to blame. Time in which nobody looked (the job was stopped) does
// not count.
void ProcessPool::check_progress(std::uint64_t now_ns) {
    if (timeout_ns_ == 0)
        return;
    const std::uint64_t tick_ns = static_cast<std::uint64_t>(supervise_every_ns());
    const bool was_away = now_ns - checked_ns_ > 10 * tick_ns;
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        Worker &worker = workers_[i];
        const std::uint64_t progress = state().slot(i).progress.load();
        const bool inside = progress % 2 == 1;
        if ((!inside && !holds_batch(i)) || progress != worker.progress ||
            worker.stuck_since_ns == 0 || was_away)
            worker.stuck_since_ns = now_ns;
        worker.progress = progress;
        const bool making = state().slot(i).started.load() != state().run_id();
        std::uint64_t limit_ns = timeout_ns_;
        if (!inside)
            limit_ns = std::max(kOutsideFactor * timeout_ns_, kOutsideNsMin);
        else if (making)
            limit_ns = std::max(kMakingFactor * timeout_ns_, kMakingNsMin);
        if (worker.alive && !worker.asked_to_die && now_ns - worker.stuck_since_ns >= limit_ns) {
            worker.timed_out = inside;
            kill(i);
        }
    }
}

bool ProcessPool::holds_batch(std::uint32_t worker) const {
    const RunState run = state();
    const std::uint64_t published = run.header().published.load();
    for (std::uint64_t s = run.header().head.load(); s < published; ++s) {
        const ring::StateWord word = ring::StateWord::unpack(run.entry(s).state.load());
        if (word.state == ring::EntryState::claimed && word.worker == worker &&
            word.incarnation == workers_[worker].incarnation)
            return true;
    }
    return false;
}

Result<void> ProcessPool::handle_exits() {
    const std::uint32_t exits = state().header().exits.load();
    if (exits == exits_seen_)
        return {};
    exits_seen_ = exits;
    Result<void> outcome;
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        const auto report = ring::ExitReport::unpack(state().slot(i).exit.load());
        if (!workers_[i].alive || !report.exited || report.incarnation != workers_[i].incarnation)
            continue;
        if (Result<void> handled = handle_death(i, report.status); !handled && outcome.ok())
            outcome = handled;
    }
    return outcome;
}

// All that the dead one held is given back before its slot is given to the next.
Result<void> ProcessPool::handle_death(std::uint32_t worker, int status) {
    workers_[worker].alive = false;
    if (!running_)
        return {};
    const bool resigned = state().slot(worker).resigned.load() != 0;
    const bool intended = resigned || (workers_[worker].asked_to_die && !workers_[worker].timed_out);
    deaths_ += !intended;
    reclaim(worker, status);
    set_output_starts(worker);
    if (resigned)
        deaths_at_start_ = 0;
    else if (Result<void> judged = judge_death(worker, status); !judged)
        return judged;
    if (!state().header().over.load())
        spawn(worker);
    return {};
}

void ProcessPool::reclaim(std::uint32_t worker, int status) {
    const Worker &dead = workers_[worker];
    const auto spoil = [&](std::uint64_t, RunState::Entry &entry) {
        ring::IsolationMark &mark = entry.isolation;
        mark.exit_status = status;
        mark.death = dead.timed_out                      ? ring::Death::timed_out
                     : os::killed_from_outside(status) ? ring::Death::killed_from_outside
                                                         : ring::Death::crashed;
        const std::uint32_t attempt = ring::StateWord::unpack(entry.state.load()).attempt;
        if (mark.region == ring::IsolationMark::kNoRegion &&
            attempt + 1 >= order_->whole_attempts)
            mark.region = regions_used_++;
    };
    retries_ +=
        ring::Reclaimer<ring::SystemAtomics>(state()).reclaim(worker, dead.incarnation, spoil);
}

// The next incarnation goes on behind everything that any before it has left in this run: what egress
// has retired, and what it has still to retire.
void ProcessPool::set_output_starts(std::uint32_t worker) {
    auto &header = state().header();
    auto &slot = state().slot(worker);
    store::OutputReach reach = outputs_->reach(worker);
    std::optional<std::uint64_t> overflow_base;
    for (std::uint64_t s = header.head.load(); s < header.published.load(); ++s) {
        const auto &entry = state().entry(s);
        const ring::StateWord word = ring::StateWord::unpack(entry.state.load());
        if (word.state != ring::EntryState::done || word.worker != worker ||
            word.lap != state().lap(s))
            continue;
        reach.include(entry.result.output);
        if (entry.result.output.place == OutputPlace::overflow)
            overflow_base = entry.result.output.begin - entry.result.output.data;
    }
    slot.ring_start.store(reach.ring);
    slot.overflow_start.store(reach.overflow);
    slot.overflow_base.store(overflow_base.value_or(reach.overflow));
    slot.collection_start.store(reach.file);
}

// Does the run go on after this death?
Result<void> ProcessPool::judge_death(std::uint32_t worker, int status) {
    const bool had_payload = state().slot(worker).started.load() == state().run_id();
    const bool timed_out = workers_[worker].timed_out;
    const bool to_blame = !had_payload && (timed_out || !workers_[worker].asked_to_die);
    deaths_at_start_ = to_blame && !ready_ ? deaths_at_start_ + 1 : 0;
    const std::uint32_t deaths_max =
        os::killed_from_outside(status) && !timed_out ? kKillsAtStartMax : kDeathsAtStartMax;
    if (deaths_at_start_ < deaths_max && !(timed_out && to_blame))
        return judge_memory(worker, status);
    if (timed_out)
        return Error{ErrorKind::timeout,
                     "a worker process needs longer than " + std::to_string(kMakingFactor) +
                         " times timeout to make its payload"};
    return crash_error("worker processes die while they make their payload: " +
                       os::describe_exit(status));
}

// Kills for want of memory are not blamed on a record; two in a row end the run.
Result<void> ProcessPool::judge_memory(std::uint32_t worker, int status) {
    const std::uint64_t oom_kills =
        os::killed_by_sigkill(status) && !workers_[worker].asked_to_die ? os::oom_kills() : 0;
    const bool out_of_memory = oom_kills > oom_kills_seen_;
    oom_deaths_ = out_of_memory ? oom_deaths_ + 1 : 0;
    oom_kills_seen_ = std::max(oom_kills_seen_, oom_kills);
    if (oom_deaths_ < 2)
        return {};
    Error error = crash_error("the kernel killed two workers in a row for want of memory; use fewer "
                              "workers, smaller batches (batch_bytes=), or a larger memory limit");
    error.out_of_memory = true;
    return error;
}

// The nursery is gone, and takes its workers with it. Each must be seen dead before what it held is
// given to others.
Result<void> ProcessPool::replace_nursery() {
    bury_with_nursery();
    const std::optional<int> status = nursery_.finish(0);
    const bool was_ready = state().header().nursery.load() == std::uint32_t(NurseryState::ready);
    launches_in_vain_ = was_ready ? 0 : launches_in_vain_ + 1;
    const bool killed = status && os::killed_from_outside(*status);
    if (launches_in_vain_ >= (killed ? kKillsAtStartMax : kLaunchesInVainMax))
        return crash_error("the process that starts the workers ends at once (" +
                           launcher_->name() + "); what it wrote to standard error may say why");
    if (!launcher_->again())
        return crash_error("the process that starts the workers was killed; the run cannot go on, "
                           "because its function cannot be sent to a new one (start='fresh' can)");
    constexpr int status_of_sigkill = 9;
    std::vector<bool> died(workers_.size());
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        died[i] = std::exchange(workers_[i].alive, false);
        if (!running_ || !died[i])
            continue;
        ++deaths_;
        reclaim(i, status_of_sigkill);
        set_output_starts(i);
    }
    exits_seen_ = state().header().exits.load();
    return launch_nursery();
}

// Workers of a nursery that is gone: they die with it.
void ProcessPool::bury_with_nursery() {
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        const auto pid = static_cast<pid_t>(state().slot(i).pid.exchange(0));
        if (workers_[i].alive && pid > 0) {
            os::await_end(pid, kNurseryPatienceNs);
            os::kill_group(pid);
            os::kill_group(static_cast<pid_t>(state().slot(i).command_group.exchange(0)));
        }
    }
}

} // namespace gristmill::work
