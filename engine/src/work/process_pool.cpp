#include "work/process_pool.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "os/control_group.hpp"
#include "os/fd_io.hpp"

namespace gristmill::work {

namespace {

constexpr std::uint64_t kPatienceNs = 200'000'000; // with workers that do not acknowledge the end
constexpr std::uint64_t kNurseryPatienceNs = 1'000'000'000;
constexpr std::int64_t kSuperviseNs = 100'000'000;
constexpr std::uint32_t kDeathsAtStartMax = 3;  // in a row, before any worker had a payload
constexpr std::uint64_t kMakingFactor = 20; // making a payload may take so many timeouts
constexpr std::uint64_t kMakingNsMin = 2'000'000'000;
constexpr std::uint32_t kKillsAtStartMax = 100; // of them, from outside
constexpr std::uint64_t kDescriptorsMin = 128; // those handed over have numbers from 100 on
constexpr std::uint32_t kLaunchesInVainMax = 3;

Error crash_error(std::string message) {
    Error error;
    error.kind = ErrorKind::crashed;
    error.message = std::move(message);
    return error;
}

} // namespace

ProcessPool::ProcessPool(const Plan &plan, std::unique_ptr<NurseryLauncher> launcher,
                         SharedBlock block)
    : block_(std::move(block)), sources_(sources_in(block_.state())),
      launcher_(std::move(launcher)), workers_(plan.workers.size()),
      oom_kills_seen_(os::oom_kills()) {}

Result<std::unique_ptr<ProcessPool>> ProcessPool::start(const Plan &plan,
                                                        std::unique_ptr<NurseryLauncher> launcher) {
    if (os::hides_its_descriptors())
        return Error{ErrorKind::system,
                     "this process has changed its user or made itself undumpable, so its worker "
                     "processes cannot reach its memory through /proc; use isolation='thread', or "
                     "workers=0"};
    if (os::descriptor_limit() < kDescriptorsMin)
        return Error{ErrorKind::system,
                     "the limit of open files (ulimit -n) is " +
                         std::to_string(os::descriptor_limit()) + "; worker processes need " +
                         std::to_string(kDescriptorsMin) + " at least"};
    Result<SharedBlock> block = SharedBlock::create(plan);
    if (!block)
        return block.error();
    std::unique_ptr<ProcessPool> pool(
        new ProcessPool(plan, std::move(launcher), std::move(*block)));
    Result<os::UniqueFd> order_fd = os::create_memfd("gristmill-order", 0);
    if (!order_fd)
        return order_fd.error();
    pool->order_fd_ = std::move(*order_fd);
    if (Result<void> created = pool->renew_isolation_file(); !created)
        return created.error();
    pool->set_cpus(plan);
    if (Result<void> launched = pool->launch_nursery(); !launched)
        return launched.error();
    return pool;
}

void ProcessPool::set_cpus(const Plan &plan) {
    const auto add = [](auto &slot, std::uint32_t cpu) {
        if (cpu / 64 < ring::kCpuMaskWords)
            slot.cpu_mask[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    };
    for (std::uint32_t i = 0; i < plan.workers.size(); ++i) {
        auto &slot = state().slot(i);
        if (launcher_->pins_to_cpu())
            add(slot, plan.workers[i].cpu);
        else
            for (const std::uint32_t cpu : plan.nodes[plan.workers[i].node].cpus)
                add(slot, cpu);
    }
}

Result<void> ProcessPool::launch_nursery() {
    Result<os::SocketPair> sockets = os::socket_pair();
    if (!sockets)
        return sockets.error();
    state().header().nursery.store(std::uint32_t(NurseryState::absent));
    const std::array<int, 3> inherited{sockets->there.get(), block_.fd(), order_fd_.get()};
    Result<os::ChildProcess> nursery = launcher_->launch(inherited);
    if (!nursery)
        return nursery.error();
    nursery_ = std::move(*nursery);
    control_ = std::move(sockets->here);
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        spawn(i);
    return {};
}

ProcessPool::~ProcessPool() {
    end_run();
    state().header().shutdown.store(1);
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        state().slot(i).event.notify();
    control_.reset();
    nursery_.finish(kNurseryPatienceNs);
}

// A nursery that does not take its messages is as good as dead: supervise() will replace it.
void ProcessPool::send(NurseryRequest::Kind kind, std::uint32_t worker) {
    const NurseryRequest request{kind, worker, workers_[worker].incarnation};
    if (!os::send_message(control_.get(), std::as_bytes(std::span(&request, 1))))
        os::kill_process(nursery_.pid());
}

// Precondition: no process lives in the slot, and what the last one held was given back.
void ProcessPool::spawn(std::uint32_t worker) {
    Worker &mine = workers_[worker];
    mine.incarnation = static_cast<std::uint16_t>((mine.incarnation + 1) & 0x1ff);
    mine.alive = true;
    mine.asked_to_die = mine.timed_out = false;
    mine.stuck_since_ns = 0;
    auto &slot = state().slot(worker);
    slot.acknowledged.store(0);
    slot.started.store(0);
    slot.resigned.store(0);
    slot.progress.store(0);
    send(NurseryRequest::Kind::spawn, worker);
}

void ProcessPool::kill(std::uint32_t worker) {
    workers_[worker].asked_to_die = true;
    send(NurseryRequest::Kind::kill, worker);
}

Result<void> ProcessPool::prepare_rings(std::uint64_t ring_bytes) {
    if (regions_used_ > 0)
        if (Result<void> renewed = renew_isolation_file(); !renewed)
            return renewed;
    if (!rings_.empty() && rings_[0].ring_bytes == round_up(ring_bytes, kPageBytes))
        return {};
    ++ring_generation_;
    return store::make_rings(rings_, workers_.size(), ring_bytes);
}

// Results keep what lies in the old one.
Result<void> ProcessPool::renew_isolation_file() {
    Result<os::UniqueFd> fd = os::create_memfd("gristmill-isolation", 0);
    if (!fd)
        return fd.error();
    isolation_fd_ = std::move(*fd);
    return {};
}

Result<void> ProcessPool::prepare_collection() {
    collected_ = {};
    if (regions_used_ > 0)
        if (Result<void> renewed = renew_isolation_file(); !renewed)
            return renewed;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        Result<store::CollectionFile> file = store::CollectionFile::create();
        if (!file)
            return file.error();
        collected_.files.push_back(std::move(*file));
    }
    return {};
}

store::OutputPlaces ProcessPool::places() {
    store::OutputPlaces places;
    places.rings = &rings_;
    places.collected = &collected_;
    places.isolation_fd = isolation_fd_.get();
    places.threads = false;
    places.keep_isolated = !collected_.files.empty();
    return places;
}

Result<void> ProcessPool::write_order(const WorkOrder &order) {
    OrderMessage message;
    message.order = order;
    message.payload = payload_;
    message.holder = static_cast<std::uint32_t>(os::this_process());
    message.isolation = isolation_fd_.get();
    message.files.resize(workers_.size());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        WorkerFiles &files = message.files[i];
        if (order.output == OutputMode::collection) {
            files.collection = collected_.files[i].fd();
        } else {
            files.ring = rings_[i].ring.get();
            files.overflow = rings_[i].overflow.get();
            message.ring_bytes = rings_[i].ring_bytes;
            message.mirrored = rings_[i].mirrored;
            message.ring_generation = ring_generation_;
        }
    }
    const std::string bytes = encode(message);
    if (const int failed = os::pwrite_full(order_fd_.get(), bytes_of(bytes), 0); failed != 0)
        return Error{ErrorKind::memory, "no memory for the order of a run"};
    state().header().order_bytes.store(bytes.size());
    return {};
}

Result<void> ProcessPool::begin_run(const WorkOrder &order, const store::OutputReader &outputs) {
    order_ = &order;
    outputs_ = &outputs;
    retries_ = deaths_ = 0;
    deaths_at_start_ = oom_deaths_ = regions_used_ = 0;
    ready_ = false;
    if (Result<void> written = write_order(order); !written)
        return written;
    running_ = true;
    state().begin_run();
    if (nursery_.ended())
        if (Result<void> replaced = replace_nursery(); !replaced)
            return replaced;
    if (Result<void> handled = handle_exits(); !handled) // while nobody looked
        return handled;
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        if (workers_[i].alive)
            state().slot(i).event.notify();
        else
            spawn(i);
    return {};
}

bool ProcessPool::news() const {
    if (state().header().exits.load() != exits_seen_ || !check_starts(state()).ok())
        return true;
    for (std::uint32_t i = 0; !ready_ && i < workers_.size(); ++i)
        if (state().slot(i).started.load() == state().run_id())
            return true;
    return state().header().nursery.load() == std::uint32_t(NurseryState::wrong_build);
}

std::int64_t ProcessPool::supervise_every_ns() const {
    const std::int64_t fraction = static_cast<std::int64_t>(timeout_ns_ / 8);
    return timeout_ns_ == 0 ? kSuperviseNs : std::clamp<std::int64_t>(fraction, 1'000'000, kSuperviseNs);
}

void ProcessPool::look_ready() {
    for (std::uint32_t i = 0; !ready_ && i < workers_.size(); ++i)
        ready_ = state().slot(i).started.load() == state().run_id();
}

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

// A worker that makes no progress inside its payload for longer than the timeout is ended. Time in
// which nobody looked (the job was stopped) does not count.
void ProcessPool::check_progress(std::uint64_t now_ns) {
    if (timeout_ns_ == 0)
        return;
    const std::uint64_t tick_ns = static_cast<std::uint64_t>(supervise_every_ns());
    const bool was_away = now_ns - checked_ns_ > 10 * tick_ns;
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        Worker &worker = workers_[i];
        const std::uint64_t progress = state().slot(i).progress.load();
        const bool inside = progress % 2 == 1;
        if (!inside || progress != worker.progress || worker.stuck_since_ns == 0 || was_away)
            worker.stuck_since_ns = now_ns;
        worker.progress = progress;
        const bool making = state().slot(i).started.load() != state().run_id();
        const std::uint64_t limit_ns =
            making ? std::max(kMakingFactor * timeout_ns_, kMakingNsMin) : timeout_ns_;
        if (worker.alive && inside && !worker.asked_to_die &&
            now_ns - worker.stuck_since_ns >= limit_ns) {
            worker.timed_out = true;
            kill(i);
        }
    }
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
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
        const auto pid = static_cast<pid_t>(state().slot(i).pid.load());
        if (workers_[i].alive && pid > 0) {
            os::await_end(pid, kNurseryPatienceNs);
            os::kill_group(pid);
            os::kill_group(static_cast<pid_t>(state().slot(i).command_group.exchange(0)));
        }
        state().slot(i).pid.store(0);
    }
    nursery_.finish(0);
    const bool was_ready = state().header().nursery.load() == std::uint32_t(NurseryState::ready);
    launches_in_vain_ = was_ready ? 0 : launches_in_vain_ + 1;
    if (launches_in_vain_ == kLaunchesInVainMax)
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

bool ProcessPool::all_left() const {
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        if (workers_[i].alive &&
            state().slot(i).acknowledged.load() != state().run_id())
            return false;
    return true;
}

void ProcessPool::end_run() {
    if (!running_)
        return;
    auto &header = state().header();
    state().end_run();
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        state().slot(i).event.notify();
    const std::uint64_t ended_ns = wall_clock_ns();
    bool killed = false;
    for (;;) {
        static_cast<void>(handle_exits());
        if (nursery_.ended())
            for (std::uint32_t i = 0; i < workers_.size(); ++i) {
                const auto pid = static_cast<pid_t>(state().slot(i).pid.load());
                if (workers_[i].alive && pid > 0) {
                    os::await_end(pid, kNurseryPatienceNs);
                    os::kill_group(pid);
            os::kill_group(static_cast<pid_t>(state().slot(i).command_group.exchange(0)));
                }
                workers_[i].alive = false;
            }
        if (all_left())
            break;
        if (!killed && wall_clock_ns() - ended_ns >= kPatienceNs) {
            killed = true;
            for (std::uint32_t i = 0; i < workers_.size(); ++i)
                if (state().slot(i).acknowledged.load() != state().run_id())
                    kill(i);
        }
        const std::uint32_t ticket = header.egress_event.prepare_wait();
        if (all_left() || header.exits.load() != exits_seen_)
            header.egress_event.cancel_wait(ticket);
        else
            header.egress_event.commit_wait(ticket, kSuperviseNs);
    }
    running_ = false;
}

store::Collected ProcessPool::take_collected() {
    for (store::CollectionFile &file : collected_.files)
        file.close();
    return std::exchange(collected_, {});
}

std::uint64_t ProcessPool::overflow_batches() const {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        total += state().slot(i).overflow_batches.load();
    return total;
}

} // namespace gristmill::work
