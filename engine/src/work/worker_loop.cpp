#include "work/worker_loop.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "os/placement.hpp"

namespace gristmill::work {

std::optional<ring::RunWord> await_run(RunState state, std::uint32_t worker, std::uint32_t seen) {
    auto &header = state.header();
    auto &slot = state.slot(worker);
    const auto news = [&] { return header.shutdown.load() || state.run_id() != seen; };
    while (!news()) {
        const std::uint32_t ticket = slot.event.prepare_wait();
        if (news())
            slot.event.cancel_wait(ticket);
        else
            slot.event.commit_wait(ticket, -1);
    }
    if (header.shutdown.load())
        return std::nullopt;
    return ring::RunWord::unpack(header.run.load());
}

void report_start_failure(RunState state, std::uint32_t worker, ring::StartFailure failure,
                          std::string_view message) {
    auto &slot = state.slot(worker);
    const std::size_t bytes = std::min(message.size(), sizeof slot.start_error - 1);
    std::memcpy(slot.start_error, message.data(), bytes);
    slot.start_error[bytes] = '\0';
    slot.start_failed.store(static_cast<std::uint32_t>(failure));
    state.header().egress_event.notify();
}

Result<void> check_starts(RunState state) {
    for (std::uint32_t i = 0; i < state.header().workers; ++i)
        if (const auto failure = ring::StartFailure{state.slot(i).start_failed.load()};
            failure != ring::StartFailure::none) {
            Error error{ErrorKind::plugin, state.slot(i).start_error};
            error.plugin_load = failure == ring::StartFailure::loading;
            return error;
        }
    return {};
}

void settle_on_node(RunState state, std::uint32_t worker) {
    if (const std::int32_t node = state.slot(worker).memory_node; node >= 0)
        static_cast<void>(os::prefer_memory_of(static_cast<std::uint32_t>(node)));
}

void audit_memory(RunState state, std::uint32_t worker, std::span<const std::byte> memory) {
    auto &slot = state.slot(worker);
    if (slot.memory_node < 0)
        return;
    const os::PageAudit audit = os::audit_pages(memory, static_cast<std::uint32_t>(slot.memory_node));
    slot.audited_bytes.fetch_add(audit.bytes);
    slot.audited_local_bytes.fetch_add(audit.local_bytes);
}

WorkerLoop::WorkerLoop(RunState state, const WorkOrder &order, const WorkerIdentity &identity,
                       record::InputBuffer &input, store::OutputArea &output,
                       store::IsolationArea *isolation)
    : state_(state), order_(order), identity_(identity), input_(input), output_(output),
      isolation_(isolation),
      claimer_(state, identity.worker, identity.incarnation, identity.node) {}

bool WorkerLoop::start() {
    std::string failure = "no memory for a worker's payload";
    try {
        auto &slot = state_.slot(identity_.worker);
        auto &progress = slot.progress;
        progress.fetch_add(1); // a payload may hang while it is made, too
        Result<std::unique_ptr<Payload>> payload =
            order_.payloads->make(identity_, {state_.header().over, progress, slot.command_group});
        progress.fetch_add(1);
        if (payload) {
            payload_ = std::move(*payload);
            worker_.emplace(order_, identity_, input_, *payload_,
                            BatchWorkerOutput{output_, isolation_}, progress);
            return true;
        }
        failure = payload.error().message;
    } catch (const std::bad_alloc &) {
    }
    report_start_failure(state_, identity_.worker, ring::StartFailure::payload, failure);
    return false;
}

bool WorkerLoop::run() {
    std::uint32_t batches = 0;
    while (auto claim = claimer_.wait_claim([this] { return output_.has_room(); })) {
        work_on(*claim);
        if (++batches == order_.batches_per_worker)
            return false;
    }
    return true;
}

void WorkerLoop::close() {
    auto &progress = state_.slot(identity_.worker).progress;
    progress.fetch_add(1);
    worker_.reset();
    payload_.reset();
    progress.fetch_add(1);
}

bool WorkerLoop::step() {
    const auto claim = claimer_.try_claim(output_.has_room());
    if (claim)
        work_on(*claim);
    return claim.has_value();
}

void WorkerLoop::work_on(const ring::Claim &claim) {
    auto &entry = state_.entry(claim.sequence);
    const std::uint32_t attempt = ring::StateWord::unpack(claim.word).attempt;
    entry.result = worker_->work(claim.sequence, attempt, entry.input, entry.isolation);
    entry.result.home = claim.home;
    entry.result.as_head = claim.as_head;
    claimer_.done(claim);
}

} // namespace gristmill::work
