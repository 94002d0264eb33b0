// Egress's side of the ring: take what is done, in order or not, and know when to wake.
#pragma once

#include <cstdint>

#include "ring/run_state.hpp"

namespace gristmill::ring {

enum class RetireOrder : std::uint8_t { index, none };

// Threads: one, egress.
// Owns:    the head of the ring.
// Keeps:   I8. Under RetireOrder::index batches leave in sequence; under `none` each leaves once,
//              and a source's failure only when all before it have left (R6, R7).
//          I9. Egress never sleeps over an entry whose `done` nobody will report.
// Orders:  retire acquires the result that done released, and releases the entry to the publisher.
template <class A, class Rules = AllRules>
class Retirer {
  public:
    // `eager`: somebody waits for each output, so wake as soon as there is one.
    Retirer(RunState<A> state, RetireOrder order, bool eager)
        : state_(state), order_(order), eager_(eager) {}

    std::uint64_t head() const { return head_; }
    // Policy of an eager one, not safety: how many batches behind the head it may wait for as well,
    // so that one wake serves several.
    void set_ahead(std::uint64_t batches) { ahead_ = batches; }
    // Does the next sleep wait for more than the head?
    bool waits_for_more() const { return target_ != kAnySequence && target_ > head_; }
    bool finished() const {
        return state_.header().ended.load() && head_ == state_.header().published.load();
    }

    // Calls deliver(sequence, entry) for each batch that may leave; the entry is free afterwards.
    // `deliver` returns false to stop behind this batch. Returns how many left.
    template <class Deliver>
    std::uint64_t retire(Deliver &&deliver) {
        std::uint64_t left = 0;
        const std::uint64_t published = state_.header().published.load();
        bool goes_on = true;
        for (std::uint64_t s = head_; goes_on && s < published; ++s) {
            if (!is_done(s)) {
                if (order_ == RetireOrder::index)
                    break;
                continue;
            }
            auto &entry = state_.entry(s);
            if (waits_for_head(s))
                continue;
            goes_on = deliver(s, entry);
            release(s);
            ++left;
            advance_head(published);
        }
        if (left > 0)
            wake_workers();
        return left;
    }

    // Calls discard(sequence, entry) for each done batch that will never leave. Only when all
    // workers have left the run.
    template <class Discard>
    void discard(Discard &&discard) {
        const std::uint64_t published = state_.header().published.load();
        for (std::uint64_t s = head_; s < published; ++s)
            if (is_done(s))
                discard(s, state_.entry(s));
    }

    // Between egress_event.prepare_wait() and commit_wait(): says what to be woken for. False: it
    // is there already, do not sleep.
    bool prepare_target() {
        const std::uint64_t target = target_ = choose_target();
        state_.header().target.store(target);
        A::fence();
        if (!Rules::recheck_before_sleep)
            return true;
        if (target == kAnySequence)
            return !any_done();
        return !is_done(target);
    }

  private:
    // In the current lap; an entry already released has moved on to the next.
    bool is_done(std::uint64_t sequence) const {
        const StateWord word = StateWord::unpack(state_.entry(sequence).state.load());
        return word.state == EntryState::done && word.lap == state_.lap(sequence);
    }
    bool is_released(std::uint64_t sequence) const {
        return StateWord::unpack(state_.entry(sequence).state.load()).lap != state_.lap(sequence);
    }

    // A failure of a source, before all that came before it has left. Precondition: is_done().
    bool waits_for_head(std::uint64_t sequence) const {
        return Rules::error_waits_for_head && sequence != head_ &&
               state_.entry(sequence).input.kind == BatchKind::source_error;
    }

    void release(std::uint64_t sequence) {
        auto &word = state_.entry(sequence).state;
        std::uint64_t seen = word.load();
        const StateWord empty{EntryState::empty, 0, 0, 0, state_.lap(sequence) + 1};
        GM_CHECK(word.compare_exchange_strong(seen, empty.pack()));
    }

    void advance_head(std::uint64_t published) {
        while (head_ < published && is_released(head_))
            ++head_;
        state_.header().head.store(head_);
    }

    bool any_done() const {
        const std::uint64_t published = state_.header().published.load();
        for (std::uint64_t s = head_; s < published; ++s)
            if (is_done(s) && !waits_for_head(s))
                return true;
        return false;
    }

    // The head when somebody needs room or output now; otherwise the last entry of the first half
    // of the window whose `done` is still to come, so that one wake retires many.
    std::uint64_t choose_target() const {
        const std::uint64_t published = state_.header().published.load();
        if (head_ == published)
            return head_; // the next that will be published
        if (eager_ && order_ == RetireOrder::none)
            return kAnySequence;
        if ((eager_ && ahead_ == 0) || published - head_ == state_.header().entries ||
            somebody_starves())
            return head_;
        std::uint64_t target = published - 1;
        if (eager_)
            target = std::min(target, head_ + ahead_);
        else if (!state_.header().ended.load())
            target = std::min(target, head_ + state_.header().entries / 2);
        while (target > head_ && (is_done(target) || is_released(target)))
            --target;
        return target;
    }

    bool somebody_starves() const {
        for (std::uint32_t i = 0; i < state_.header().workers; ++i)
            if (state_.slot(i).wants_room.load())
                return true;
        return false;
    }

    // Retired output made room, and there is a new head, claimable by anybody.
    void wake_workers() {
        A::fence();
        for (std::uint32_t i = 0; i < state_.header().workers; ++i) {
            auto &slot = state_.slot(i);
            if (slot.wants_room.load() && slot.event.has_waiter())
                slot.event.notify();
        }
        if (state_.head_is_ready())
            state_.wake_one_worker(state_.header().workers - 1);
        if (!state_.header().ended.load())
            state_.publisher_event().notify();
    }

    RunState<A> state_;
    RetireOrder order_;
    bool eager_;
    std::uint64_t head_ = 0;
    std::uint64_t ahead_ = 0;
    std::uint64_t target_ = 0;
};

} // namespace gristmill::ring
