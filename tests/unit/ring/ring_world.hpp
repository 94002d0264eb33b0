// A small engine around the real ring: a publisher, egress and a few workers as actors of the
// deterministic scheduler, output rings made of numbers, and an oracle that watches every step.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ring/claimer.hpp"
#include "ring/publisher.hpp"
#include "ring/retirer.hpp"
#include "support/deterministic_atomics.hpp"
#include "unit/ring/output_cells.hpp"
#include "unit/ring/shape.hpp"
#include "unit/ring/window_watch.hpp"
#include "unit/ring/word_names.hpp"

namespace gristmill::test {

template <class Rules = ring::AllRules, bool Fences = true>
class RingWorld {
  public:
    using Atomics = DeterministicAtomics<Fences>;
    using State = ring::RunState<Atomics>;

    RingWorld(Scheduler &scheduler, const Shape &shape)
        : scheduler_(scheduler), shape_(shape), bytes_(State::block_bytes(
                                                    shape.workers, shape.nodes, shape.entries)),
          block_(static_cast<std::byte *>(::operator new(bytes_, kAlignment))) {
        std::memset(block_.get(), 0, bytes_);
    }

    virtual ~RingWorld() = default;

    // Empty when all went well, otherwise what failed.
    std::string run(std::uint64_t seed) {
        begin();
        std::vector<Actor> actors;
        if (shape_.separate) {
            actors.push_back({"publisher", [this] { publish_all(); }});
            actors.push_back({"egress", [this] { retire_all(); }});
        } else {
            actors.push_back({"coordinator", [this] { coordinate(); }});
        }
        for (std::uint32_t i = 0; i < shape_.workers; ++i)
            actors.push_back({"worker" + std::to_string(i), [this, i] { work_all(i); }});
        first_worker_actor_ = shape_.separate ? 2 : 1;
        add_actors(actors);
        scheduler_.signals = shape_.signals;
        scheduler_.when_idle = [this] { check_nobody_rests(); };
        const std::string failure = scheduler_.run(seed, actors);
        return failure.empty() ? check_end() : failure;
    }

  protected:
    // For worlds in which workers die: see mortal_world.hpp.
    virtual void add_actors(std::vector<Actor> &) {}
    virtual void supervise() {}
    virtual bool news() const { return false; }
    virtual bool has_left(std::uint32_t worker) const {
        return state_->slot(worker).acknowledged.load() != 0;
    }
    virtual void was_retired(std::uint32_t, const OutputLocation &) {}
    virtual void at_end() {}

    static constexpr std::align_val_t kAlignment{128};
    struct Free {
        void operator()(std::byte *block) const { ::operator delete(block, kAlignment); }
    };
    struct Worker {
        std::unique_ptr<ring::Claimer<Atomics, Rules>> claimer{};
        std::unique_ptr<OutputCells> output{};
        std::uint64_t begin = 0; // of the batch in hand: where its output goes
    };

    virtual void begin() {
        state_ = std::make_unique<State>(
            State::create(block_.get(), shape_.workers, shape_.nodes, shape_.entries));
        auto &h = state_->header();
        h.publisher_is_egress = !shape_.separate;
        h.over = 0;
        name_words(scheduler_, *state_);
        publisher_ = std::make_unique<ring::Publisher<Atomics, Rules>>(
            *state_, ring::PublishLimits{shape_.look_ahead, shape_.input_bytes});
        retirer_ =
            std::make_unique<ring::Retirer<Atomics, Rules>>(*state_, shape_.order, shape_.eager);
        delivered_.assign(shape_.batches + 1, 0);
        delivered_count_ = 0;
        next_bytes_ = 1;
        ended_ = false;
        workers_.clear();
        workers_.resize(shape_.workers);
        for (std::uint32_t i = 0; i < shape_.workers; ++i) {
            Worker &worker = workers_[i];
            worker.claimer = std::make_unique<ring::Claimer<Atomics, Rules>>(
                *state_, i, std::uint16_t{0}, i % shape_.nodes);
            worker.output = std::make_unique<OutputCells>(shape_.ring_cells);
        }
    }

    // --- publisher ---------------------------------------------------------------------------

    void pump() {
        if (shape_.look_ahead_varies)
            publisher_->set_look_ahead(
                static_cast<std::uint32_t>(scheduler_.random().between(1, shape_.look_ahead)));
        while (!ended_ && publish_next()) {
        }
        publisher_->flush();
    }

    bool publish_next() {
        const std::uint64_t next = publisher_->published();
        if (next < shape_.batches) {
            if (!publisher_->may_publish(next_bytes_))
                return false;
            ring::BatchInput input;
            input.begin = next;
            const auto home = shape_.homes ? scheduler_.random().below(shape_.nodes)
                                           : std::uint64_t{ring::kNoHome};
            publisher_->publish(input, next_bytes_, static_cast<std::uint16_t>(home));
            next_bytes_ = scheduler_.random().between(1, 3);
            check_published();
            return true;
        }
        if (shape_.error_at_end && next == shape_.batches) {
            if (!publisher_->window_open())
                return false;
            ring::BatchInput input;
            input.kind = ring::BatchKind::source_error;
            input.begin = next;
            publisher_->publish_done(input, {});
            check_published();
        }
        publisher_->end();
        ended_ = true;
        return false;
    }

    bool wants_to_publish() { return !ended_ && publisher_->wants_to_publish(next_bytes_); }

    void publish_all() {
        auto &event = state_->header().publisher_event;
        for (;;) {
            pump();
            if (ended_)
                return;
            const std::uint32_t ticket = event.prepare_wait();
            if (wants_to_publish())
                event.cancel_wait(ticket);
            else
                event.commit_wait(ticket, -1);
        }
    }

    // --- egress ------------------------------------------------------------------------------

    void coordinate() {
        for (;;) {
            pump();
            const std::uint64_t left = retire();
            supervise();
            if (retirer_->finished())
                break;
            if (left == 0)
                sleep_for_both();
        }
        end_run();
    }

    void sleep_for_both() {
        auto &event = state_->header().egress_event;
        const std::uint32_t ticket = event.prepare_wait();
        if (!retirer_->prepare_target() || wants_to_publish() || news())
            event.cancel_wait(ticket);
        else
            event.commit_wait(ticket, -1);
    }

    void retire_all() {
        auto &event = state_->header().egress_event;
        for (;;) {
            const std::uint64_t left = retire();
            supervise();
            if (retirer_->finished())
                break;
            if (left > 0)
                continue;
            const std::uint32_t ticket = event.prepare_wait();
            if (!retirer_->prepare_target() || retirer_->finished() || news())
                event.cancel_wait(ticket);
            else
                event.commit_wait(ticket, -1);
        }
        end_run();
    }

    std::uint64_t retire() {
        return retirer_->retire([this](std::uint64_t sequence, typename State::Entry &entry) {
            return deliver(sequence, entry);
        });
    }

    bool deliver(std::uint64_t sequence, const typename State::Entry &entry) {
        const bool error = entry.input.kind == ring::BatchKind::source_error;
        if (sequence >= delivered_.size() || ++delivered_[sequence] != 1)
            scheduler_.fail("batch " + std::to_string(sequence) + " is delivered twice");
        if (entry.input.begin != sequence || (!error && entry.result.begin != sequence))
            scheduler_.fail("batch " + std::to_string(sequence) + " is delivered with the input " +
                            std::to_string(entry.input.begin) + " and the result of batch " +
                            std::to_string(entry.result.begin));
        if ((shape_.order == ring::RetireOrder::index || error) && delivered_count_ != sequence)
            scheduler_.fail("batch " + std::to_string(sequence) + " is delivered when " +
                            std::to_string(delivered_count_) + " have left");
        ++delivered_count_;
        if (error || shape_.ring_cells == 0)
            return true;
        const std::uint32_t worker = ring::StateWord::unpack(entry.state.peek()).worker;
        const OutputLocation &output = entry.result.output;
        if (!workers_[worker].output->take(sequence, output))
            scheduler_.fail("output of batch " + std::to_string(sequence) + " was overwritten");
        auto &slot = state_->slot(worker);
        auto &released =
            output.place == OutputPlace::ring ? slot.ring_released : slot.overflow_released;
        was_retired(worker, output);
        released.store(workers_[worker].output->release(output, shape_.released_by_position));
        return true;
    }

    // As the worker pool ends a run: everybody hears of it and acknowledges.
    void end_run() {
        auto &h = state_->header();
        h.over.store(1);
        for (std::uint32_t i = 0; i < shape_.workers; ++i)
            state_->slot(i).event.notify();
        while (!all_left()) {
            supervise();
            const std::uint32_t ticket = h.egress_event.prepare_wait();
            if (all_left() || news())
                h.egress_event.cancel_wait(ticket);
            else
                h.egress_event.commit_wait(ticket, -1);
        }
        at_end();
    }

    bool all_left() const {
        for (std::uint32_t i = 0; i < shape_.workers; ++i)
            if (!has_left(i))
                return false;
        return true;
    }

    // --- workers -----------------------------------------------------------------------------

    bool has_room(std::uint32_t index) {
        if (shape_.ring_cells == 0 || !shape_.room_before_claim)
            return true;
        auto &slot = state_->slot(index);
        const std::uint64_t overflow = slot.overflow_released.load();
        return workers_[index].output->has_room(slot.ring_released.load(), overflow);
    }

    void work_all(std::uint32_t index) {
        while (auto claim =
                   workers_[index].claimer->wait_claim([this, index] { return has_room(index); }))
            work_on(index, *claim);
        auto &slot = state_->slot(index);
        slot.acknowledged.store(1);
        state_->header().egress_event.notify();
    }

    void work_on(std::uint32_t index, const ring::Claim &claim) {
        auto &entry = state_->entry(claim.sequence);
        check_ready_count();
        if (entry.input.begin != claim.sequence)
            scheduler_.fail("worker " + std::to_string(index) + " claimed batch " +
                            std::to_string(claim.sequence) + " and finds batch " +
                            std::to_string(entry.input.begin));
        if (shape_.long_work)
            scheduler_.work();
        else
            scheduler_.point();
        ring::BatchResult result;
        result.begin = claim.sequence;
        if (shape_.ring_cells > 0)
            result.output = write(index, claim.sequence);
        scheduler_.point();
        entry.result = result;
        if (!workers_[index].claimer->done(claim))
            scheduler_.fail("batch " + std::to_string(claim.sequence) + " was taken away");
    }

    OutputLocation write(std::uint32_t index, std::uint64_t sequence) {
        auto &slot = state_->slot(index);
        OutputCells &output = *workers_[index].output;
        const std::uint64_t cells = scheduler_.random().between(1, shape_.ring_cells);
        if (!shape_.room_before_claim) { // waits while it holds the batch
            while (!output.fits(cells, slot.ring_released.load())) {
                const std::uint32_t ticket = slot.event.prepare_wait();
                slot.wants_room.store(1);
                state_->header().egress_event.notify();
                if (output.fits(cells, slot.ring_released.load()))
                    slot.event.cancel_wait(ticket);
                else
                    slot.event.commit_wait(ticket, -1);
                slot.wants_room.store(0);
            }
        }
        const OutputLocation location = output.write(sequence, cells, slot.ring_released.load());
        if (location.place == OutputPlace::none)
            scheduler_.fail("batch " + std::to_string(sequence) + " would overwrite live output");
        return location;
    }

    // --- oracle ------------------------------------------------------------------------------

    void check_published() {
        const WindowWatch watch(*state_);
        if (watch.size() > shape_.entries)
            scheduler_.fail("the window holds " + std::to_string(watch.size()) +
                            " batches, the ring " + std::to_string(shape_.entries)); // I2
        const auto input = watch.input_in_flight();
        if (shape_.input_bytes > 0 && input.bytes > shape_.input_bytes && input.batches > 1)
            scheduler_.fail("input in flight: " + std::to_string(input.bytes)); // I7
        check_ready_count();
    }

    void check_ready_count() {
        if (state_->header().ready_count.peek() < WindowWatch(*state_).ready())
            scheduler_.fail("ready_count is below the number of ready batches"); // I3
    }

    // All who are awake work on a batch: then nobody may sleep beside one that he could take, nor
    // the publisher beside an open window.
    void check_nobody_rests() {
        const WindowWatch watch(*state_);
        const bool head_ready = watch.head_is(ring::EntryState::ready);
        const bool may_publish = could_publish();
        const bool ready = watch.ready() > 0;
        for (std::uint32_t i = 0; i < shape_.workers; ++i) {
            if (!scheduler_.is_asleep(first_worker_actor_ + i))
                continue;
            const auto &slot = state_->slot(i);
            const bool room = shape_.ring_cells == 0 ||
                              workers_[i].output->has_room(slot.ring_released.peek(),
                                                           slot.overflow_released.peek());
            if ((ready && room) || head_ready)
                scheduler_.fail("worker " + std::to_string(i) + " sleeps beside a ready batch");
            if (!ready && may_publish)
                scheduler_.fail("worker " + std::to_string(i) +
                                " has nothing to do, and the publisher sleeps");
        }
    }

    // One thread that does both could even open the window itself.
    bool could_publish() const {
        const WindowWatch watch(*state_);
        if (ended_ || watch.published() == shape_.batches)
            return false;
        const bool open = watch.size() < shape_.entries ||
                          (!shape_.separate && watch.head_is(ring::EntryState::done));
        const std::uint64_t in_flight = watch.input_in_flight().bytes;
        return open && (shape_.input_bytes == 0 || in_flight == 0 ||
                        in_flight + next_bytes_ <= shape_.input_bytes);
    }

    std::string check_end() const {
        for (std::uint64_t s = 0; s < shape_.batches + shape_.error_at_end; ++s)
            if (delivered_[s] != 1)
                return "batch " + std::to_string(s) + " was never delivered";
        return {};
    }

    Scheduler &scheduler_;
    const Shape shape_;
    std::uint64_t bytes_;
    std::unique_ptr<std::byte, Free> block_;
    std::unique_ptr<State> state_;
    std::unique_ptr<ring::Publisher<Atomics, Rules>> publisher_;
    std::unique_ptr<ring::Retirer<Atomics, Rules>> retirer_;
    std::vector<Worker> workers_;
    std::vector<std::uint32_t> delivered_; // by sequence: how often
    std::uint64_t delivered_count_ = 0;
    std::uint64_t next_bytes_ = 1;
    std::uint32_t first_worker_actor_ = 1;
    bool ended_ = false;
};

} // namespace gristmill::test
