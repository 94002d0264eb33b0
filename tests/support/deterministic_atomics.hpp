// The atomics policy of ring/ under the deterministic scheduler. Sequentially consistent
// operations happen in the order of the schedule; relaxed ones may read old values, as far as
// fences, releases and coherence let them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ring/atomics.hpp"
#include "support/deterministic_scheduler.hpp"

namespace gristmill::test {

// Trivially destructible, as it lies in a block that nobody destroys. Outside of a run it is a
// plain value.
template <class T>
class DeterministicAtomic {
  public:
    DeterministicAtomic() = default;
    DeterministicAtomic(T value) : value_(value) {}
    DeterministicAtomic(const DeterministicAtomic &) = delete;
    DeterministicAtomic &operator=(const DeterministicAtomic &) = delete;

    T load(std::memory_order order = std::memory_order_seq_cst) const {
        Scheduler *scheduler = Scheduler::active();
        if (!scheduler)
            return value_;
        scheduler->point();
        T value = value_;
        if (order == std::memory_order_relaxed)
            value = read_weakly(*scheduler);
        else
            acquire(*scheduler);
        scheduler->note({.op = Op::load, .address = this, .before = std::uint64_t(value)});
        return value;
    }
    operator T() const { return load(); }

    void store(T value) {
        Scheduler *scheduler = Scheduler::active();
        if (scheduler) {
            scheduler->point();
            scheduler->note({.op = Op::store, .address = this, .after = std::uint64_t(value)});
            released_ = scheduler->view();
        }
        write(scheduler, value);
    }
    T operator=(T value) {
        store(value);
        return value;
    }

    bool compare_exchange_strong(T &expected, T desired,
                                 std::memory_order order = std::memory_order_seq_cst) {
        return exchange_if(expected, desired, order, false);
    }
    bool compare_exchange_weak(T &expected, T desired,
                               std::memory_order order = std::memory_order_seq_cst) {
        Scheduler *scheduler = Scheduler::active();
        return exchange_if(expected, desired, order, scheduler && scheduler->random().one_in(16));
    }

    T fetch_add(T by) { return add(by); }
    T fetch_sub(T by) { return add(static_cast<T>(-by)); }

    // The newest value, for whoever watches the run from outside.
    T peek() const { return value_; }

    // Does the kernel see `expected`? What futex(2) asks, atomically.
    bool still(Scheduler &scheduler, T expected) const {
        see_newest(scheduler);
        return value_ == expected;
    }

  private:
    struct Message {
        T value{};
        std::uint32_t timestamp = 0;
    };
    static constexpr std::size_t kMessages = 4;

    T add(T by) {
        Scheduler *scheduler = Scheduler::active();
        const T before = value_;
        if (!scheduler) {
            value_ = static_cast<T>(value_ + by);
            return before;
        }
        scheduler->point();
        const T seen = value_;
        const T after = static_cast<T>(seen + by);
        scheduler->note({.op = Op::add,
                         .address = this,
                         .before = std::uint64_t(seen),
                         .after = std::uint64_t(after)});
        acquire(*scheduler);
        released_.join(scheduler->view());
        write(scheduler, after);
        return seen;
    }

    bool exchange_if(T &expected, T desired, std::memory_order order, bool spuriously_not) {
        Scheduler *scheduler = Scheduler::active();
        if (scheduler)
            scheduler->point();
        const T seen = value_;
        const bool same = seen == expected && !spuriously_not;
        if (scheduler) {
            scheduler->note({.op = Op::exchange,
                             .succeeded = same,
                             .address = this,
                             .before = std::uint64_t(seen),
                             .after = std::uint64_t(desired)});
            if (order == std::memory_order_relaxed) {
                become_weak(*scheduler);
                see_newest(*scheduler);
            } else {
                acquire(*scheduler);
                if (same)
                    released_.join(scheduler->view());
            }
        }
        if (same)
            write(scheduler, desired);
        else
            expected = seen;
        return same;
    }

    void write(Scheduler *scheduler, T value) {
        value_ = value;
        if (!scheduler || location_ == 0)
            return;
        ++newest_;
        history_[newest_ % kMessages] = {value, newest_};
        see_newest(*scheduler);
    }
    void acquire(Scheduler &scheduler) const {
        scheduler.view().join(released_);
        see_newest(scheduler);
    }
    void see_newest(Scheduler &scheduler) const {
        if (location_ != 0)
            scheduler.view().at[location_] = newest_;
    }
    // The first relaxed operation makes the location one whose old values are kept.
    void become_weak(Scheduler &scheduler) const {
        if (location_ != 0)
            return;
        location_ = scheduler.new_location();
        history_[0] = {value_, 0};
    }
    T read_weakly(Scheduler &scheduler) const {
        become_weak(scheduler);
        std::uint32_t &known = scheduler.view().at[location_];
        const std::uint32_t oldest = newest_ < kMessages ? 0 : newest_ + 1 - kMessages;
        const std::uint32_t first = known < oldest ? oldest : known;
        known = scheduler.random().one_in(2)
                    ? newest_
                    : static_cast<std::uint32_t>(scheduler.random().between(first, newest_));
        return history_[known % kMessages].value;
    }

    T value_{};
    View released_{}; // what whoever acquires the value has to know of
    mutable std::uint32_t location_ = 0; // 0: never accessed relaxed
    std::uint32_t newest_ = 0;
    mutable std::array<Message, kMessages> history_{};
};

// `Fences` = false takes all fences out, to see that they are needed.
template <bool Fences>
struct DeterministicAtomics {
    template <class T>
    using Atomic = DeterministicAtomic<T>;

    static void fence() {
        Scheduler *scheduler = Scheduler::active();
        if (!scheduler || !Fences)
            return;
        scheduler->point();
        scheduler->note({.op = Op::fence});
        scheduler->view().join(scheduler->fence_view());
        scheduler->fence_view() = scheduler->view();
    }

    static ring::Wake wait(const Atomic<std::uint32_t> &word, std::uint32_t expected,
                           std::int64_t) {
        Scheduler &scheduler = *Scheduler::active();
        scheduler.point();
        const bool signal = scheduler.random().one_in(32) && scheduler.signals;
        const bool sleeps = word.still(scheduler, expected) && !signal;
        scheduler.note(
            {.op = sleeps ? Op::sleep : Op::no_sleep, .address = &word, .before = word.peek()});
        if (sleeps)
            scheduler.sleep(&word);
        return signal ? ring::Wake::signal : ring::Wake::notified;
    }

    static void wake_all(const Atomic<std::uint32_t> &word) {
        Scheduler &scheduler = *Scheduler::active();
        scheduler.point();
        scheduler.note({.op = Op::wake, .address = &word});
        scheduler.wake(&word);
    }
};

} // namespace gristmill::test
