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
constexpr std::uint64_t kIdlePatienceNs = 1'000'000'000; // with those that have nothing to do
constexpr std::uint64_t kNurseryPatienceNs = 1'000'000'000;
constexpr std::int64_t kSuperviseNs = 100'000'000;
constexpr std::uint64_t kDescriptorsMin = 128; // those handed over have numbers from 100 on

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
    give_up_run();
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
    return collected_.files.make(workers_.size());
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
            files.collection_id = collected_.files[i].id();
            files.collection_warm_bytes = collected_.files[i].bytes();
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

bool ProcessPool::all_left() const {
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        if (workers_[i].alive &&
            state().slot(i).acknowledged.load() != state().run_id())
            return false;
    return true;
}

void ProcessPool::end_run(bool completed, const std::function<bool()> &interrupted) {
    if (!running_)
        return;
    auto &header = state().header();
    state().end_run();
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        state().slot(i).event.notify();
    const std::uint64_t ended_ns = wall_clock_ns();
    std::uint64_t given_up_ns = completed ? 0 : ended_ns;
    bool killed = false;
    for (;;) {
        static_cast<void>(handle_exits());
        if (nursery_.ended()) {
            bury_with_nursery();
            for (Worker &worker : workers_)
                worker.alive = false;
        }
        if (all_left())
            break;
        const std::uint64_t now_ns = wall_clock_ns();
        check_progress(now_ns);
        checked_ns_ = now_ns;
        if (given_up_ns == 0 && interrupted && interrupted())
            given_up_ns = now_ns;
        if (now_ns - ended_ns >= kIdlePatienceNs)
            kill_idle();
        if (!killed && given_up_ns > 0 && now_ns - given_up_ns >= kPatienceNs) {
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

// Whoever is not inside its payload has nothing to do but to leave: unless it was stopped.
void ProcessPool::kill_idle() {
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        if (state().slot(i).acknowledged.load() != state().run_id() &&
            state().slot(i).progress.load() % 2 == 0)
            kill(i);
}

store::Collected ProcessPool::take_collected() {
    collected_.files.settle();
    return std::exchange(collected_, {});
}

std::uint64_t ProcessPool::overflow_batches() const {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < workers_.size(); ++i)
        total += state().slot(i).overflow_batches.load();
    return total;
}

} // namespace gristmill::work
