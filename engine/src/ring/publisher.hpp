// Ingress's side of the ring: publish batches, within the window, the look-ahead and the budget.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ring/run_state.hpp"

namespace gristmill::ring {

struct PublishLimits {
    std::uint32_t look_ahead = 4;    // ready entries at most (rule R5)
    std::uint64_t input_bytes = 0;   // in flight at most: published and not done; 0: no limit
};

// Threads: one, the publisher.
// Owns:    the tail of the ring.
// Keeps:   I2, I3, and I7: input in flight stays within the budget, but for a batch that is alone.
// Orders:  publish releases the entry's fields to the worker that claims it.
template <class A, class Rules = AllRules>
class Publisher {
  public:
    Publisher(RunState<A> state, PublishLimits limits) : state_(state), limits_(limits) {
        state_.header().publish_wake_at.store(low_water());
    }

    std::uint64_t published() const { return next_; }
    std::uint32_t workers() const { return state_.header().workers; }

    // Policy, not safety (rule R5): any value from 1 up is correct.
    void set_look_ahead(std::uint32_t look_ahead) {
        if (limits_.look_ahead == look_ahead)
            return;
        limits_.look_ahead = look_ahead;
        state_.header().publish_wake_at.store(low_water());
    }

    // Would publish() of a batch of so many bytes keep the limits? When the budget alone forbids
    // it, workers will wake the publisher as they finish.
    bool may_publish(std::uint64_t bytes) {
        auto &h = state_.header();
        if (!window_open() || ready_count() >= std::int32_t(limits_.look_ahead))
            return false;
        if (within_budget(bytes))
            return true;
        h.publisher_wants_input.store(1);
        A::fence();
        return within_budget(bytes);
    }

    // Workers are to wake the publisher as they finish, though the budget allows more.
    void ask_for_input() {
        state_.header().publisher_wants_input.store(1);
        A::fence();
    }

    // Will the input of this batch not be read again? Not when something failed in it: egress may
    // show it.
    bool input_is_done(std::uint64_t sequence) const {
        const auto &entry = state_.entry(sequence);
        const StateWord word = StateWord::unpack(entry.state.load());
        if (word.lap != state_.lap(sequence))
            return true; // retired
        return word.state == EntryState::done && entry.result.fault == Fault::none;
    }

    // Has enough been claimed that another group is worth publishing? What a waiting publisher
    // checks before it sleeps.
    bool wants_to_publish(std::uint64_t next_bytes) {
        return ready_count() <= low_water() && may_publish(next_bytes);
    }

    // Precondition: may_publish(). Workers hear of it with flush().
    void publish(const BatchInput &input, std::uint64_t bytes, std::uint16_t home) {
        state_.header().ready_count.fetch_add(1);
        add(input, bytes, home, EntryState::ready);
        ++unflushed_;
    }

    // What needs no worker takes its place in the order all the same (rule R7): a failure of the
    // source, a record too long to read. It is done from the start. Precondition: window_open().
    void publish_done(const BatchInput &input, const BatchResult &result) {
        state_.entry(next_).result = result;
        add(input, 0, kNoHome, EntryState::done);
    }

    // Wakes a worker for what was published since the last flush; it wakes the next.
    void flush() {
        if (unflushed_ == 0)
            return;
        unflushed_ = 0;
        state_.header().publisher_wants_input.store(0);
        state_.wake_one_worker(state_.header().workers - 1);
        if (state_.header().caller_works)
            state_.header().egress_event.notify();
    }

    // No more will come.
    void end() {
        flush();
        state_.header().publish_wake_at.store(-1);
        state_.header().ended.store(1);
        state_.header().egress_event.notify();
    }

    bool window_open() const {
        if constexpr (!Rules::window_spans_ring)
            return StateWord::unpack(state_.entry(next_).state.load()).state == EntryState::empty;
        return next_ - state_.header().head.load() < state_.header().entries;
    }

  private:
    std::int32_t low_water() const { return std::int32_t(limits_.look_ahead / 2); }

    // The counter, unless deaths may have left it too high: then the entries themselves.
    std::int32_t ready_count() const {
        const auto &h = state_.header();
        const std::int32_t counted = h.ready_count.load();
        if (counted <= low_water() || h.reclaims.load() == 0)
            return counted;
        std::int32_t ready = 0;
        for (std::uint64_t s = h.head.load(); s < next_; ++s) {
            const StateWord word = StateWord::unpack(state_.entry(s).state.load());
            ready += word.state == EntryState::ready && word.lap == state_.lap(s);
        }
        return std::min(counted, ready);
    }

    // In flight is what the entries say: nothing to leak by a death. They are counted anew only when
    // what was published since the last count might not fit: what is done meanwhile makes it less.
    bool within_budget(std::uint64_t bytes) {
        if (limits_.input_bytes == 0)
            return true;
        if (in_flight_bytes_max_ + bytes <= limits_.input_bytes)
            return true;
        std::uint64_t in_flight = 0;
        for (std::uint64_t s = state_.header().head.load(); s < next_; ++s) {
            const StateWord word = StateWord::unpack(state_.entry(s).state.load());
            if (word.lap == state_.lap(s) &&
                (word.state == EntryState::ready || word.state == EntryState::claimed))
                in_flight += state_.entry(s).input_bytes.load();
        }
        in_flight_bytes_max_ = in_flight;
        return in_flight == 0 || in_flight + bytes <= limits_.input_bytes;
    }

    void add(const BatchInput &input, std::uint64_t bytes, std::uint16_t home, EntryState to) {
        auto &entry = state_.entry(next_);
        entry.input = input;
        entry.isolation = {};
        entry.input_bytes.store(bytes);
        entry.home.store(home);
        const StateWord empty{EntryState::empty, 0, 0, 0, state_.lap(next_)};
        StateWord word = empty;
        word.state = to;
        std::uint64_t expected = empty.pack();
        const bool published = entry.state.compare_exchange_strong(expected, word.pack());
        GM_CHECK(published || !Rules::exact_state_word || !Rules::window_spans_ring);
        state_.header().published.store(++next_);
        in_flight_bytes_max_ += bytes;
    }

    RunState<A> state_;
    PublishLimits limits_;
    std::uint64_t next_ = 0;
    std::uint32_t unflushed_ = 0;
    std::uint64_t in_flight_bytes_max_ = 0; // at most so many are published and not done
};

} // namespace gristmill::ring
