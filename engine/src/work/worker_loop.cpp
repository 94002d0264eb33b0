#include "work/worker_loop.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace gristmill::work {

WorkerLoop::WorkerLoop(RunState state, const WorkOrder &order, const WorkerIdentity &identity,
                       std::span<const std::uint32_t> steal_order, record::InputBuffer &input,
               store::OutputArea &output)
    : state_(state), order_(order), identity_(identity), input_(input), output_(output),
      claimer_(state, identity.worker, 0, steal_order) {}

bool WorkerLoop::start() {
    try {
        Result<std::unique_ptr<Payload>> payload =
            order_.payloads->make(identity_, state_.header().over);
        if (!payload)
            return fail_start(payload.error().message);
        payload_ = std::move(*payload);
        worker_.emplace(order_, identity_, input_, *payload_, output_);
        return true;
    } catch (const std::bad_alloc &) {
        return fail_start("no memory for a worker's payload");
    }
}

bool WorkerLoop::fail_start(std::string_view message) {
    auto &slot = state_.slot(identity_.worker);
    const std::size_t bytes = std::min(message.size(), sizeof slot.start_error - 1);
    std::memcpy(slot.start_error, message.data(), bytes);
    slot.start_error[bytes] = '\0';
    slot.start_failed.store(1);
    state_.header().egress_event.notify();
    return false;
}

void WorkerLoop::run() {
    while (auto claim = claimer_.wait_claim([this] { return output_.has_room(); }))
        work_on(*claim);
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
    entry.result = worker_->work(claim.sequence, attempt, entry.input);
    entry.result.home = claim.home;
    claimer_.done(claim);
}

} // namespace gristmill::work
