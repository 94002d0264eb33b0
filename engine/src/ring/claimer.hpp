// A worker's side of the ring: claim a batch, hand it back done, sleep when there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "os/crash_point.hpp"
#include "ring/run_state.hpp"

namespace gristmill::ring {

struct Claim {
    std::uint64_t sequence = 0;
    std::uint64_t word = 0; // the state word that says it is ours
    std::uint32_t home = kNoHome;
    bool as_head = false; // for being the oldest, wherever its home is (R3)
};

// Threads: one worker thread, in any process.
// Owns:    nothing.
// Keeps:   I4. Whatever happens to a batch happens by one compare-and-swap of its whole state
//              word (R1).
//          I5. A claim never waits for memory: room is asked for before, holding nothing (R2).
//          I6. The head, if ready, is claimed first and by anybody (R3).
// Orders:  claim acquires what publish released; done releases what retire acquires.
template <class A, class Rules = AllRules>
class Claimer {
  public:
    // `node`: the worker's own.
    Claimer(RunState<A> state, std::uint32_t worker, std::uint16_t incarnation, std::uint32_t node)
        : state_(state), worker_(worker), incarnation_(incarnation),
          steal_order_(state.steal_order(node)) {}

    // Claims a batch, if there is one that may be claimed: the head, or with `has_room` any.
    // `look`: from the cursors on, or everywhere.
    enum class Look : std::uint8_t { quick, thorough };
    std::optional<Claim> try_claim(bool has_room, Look look = Look::quick) {
        const std::uint64_t head = state_.header().head.load();
        const std::uint64_t published = state_.header().published.load();
        if (Rules::head_always_claimable && head < published)
            if (auto claim = take(head)) {
                claim->as_head = true;
                return announce(*claim);
            }
        if (!has_room)
            return std::nullopt;
        for (const std::uint32_t node : steal_order_)
            if (auto claim = search(node, head, published, look))
                return announce(*claim);
        return std::nullopt;
    }

    // Claims a batch, sleeping until there is one; nullopt when the run is over. `has_room()`
    // says whether the output ring has room for another batch.
    template <class HasRoom>
    std::optional<Claim> wait_claim(HasRoom &&has_room) {
        for (;;) {
            if (state_.header().over.load())
                return std::nullopt;
            const bool room = has_room();
            if (auto claim = try_claim(room))
                return claim;
            if (auto claim = sleep_unless_news(room, has_room))
                return claim;
        }
    }

    // Hands the batch to egress. False if it is no longer ours (then all is as if it never was).
    bool done(const Claim &claim) {
        StateWord next = StateWord::unpack(claim.word);
        next.state = EntryState::done;
        std::uint64_t expected = claim.word;
        os::crash_point("before done");
        if (!state_.entry(claim.sequence).state.compare_exchange_strong(expected, next.pack()))
            return false;
        os::crash_point("done");
        A::fence();
        auto &h = state_.header();
        const std::uint64_t target = h.target.load();
        if (target == claim.sequence || target == kAnySequence)
            h.egress_event.notify();
        if (h.publisher_wants_input.load())
            state_.publisher_event().notify();
        return true;
    }

  private:
    std::optional<Claim> take(std::uint64_t sequence) {
        auto &entry = state_.entry(sequence);
        std::uint64_t seen = entry.state.load();
        StateWord word = StateWord::unpack(seen);
        if (word.state != EntryState::ready || word.lap != state_.lap(sequence))
            return std::nullopt;
        if constexpr (!Rules::exact_state_word) { // looks at the state alone, a lap later perhaps
            seen = entry.state.load();
            word = StateWord::unpack(seen);
            if (word.state != EntryState::ready)
                return std::nullopt;
        }
        word.state = EntryState::claimed;
        word.worker = static_cast<std::uint16_t>(worker_);
        word.incarnation = incarnation_;
        os::crash_point("before claim");
        if (!entry.state.compare_exchange_strong(seen, word.pack()))
            return std::nullopt;
        os::crash_point("claimed");
        return Claim{sequence, word.pack(), entry.home.load()};
    }

    // First ready entry of a home node (or of none), from the node's cursor on. The cursor is a
    // hint: entries below it were seen claimed, and may have been given back since.
    std::optional<Claim> search(std::uint32_t node, std::uint64_t head, std::uint64_t published,
                                Look look) {
        std::uint64_t cursor = state_.cursor(node).load();
        const std::uint64_t first = look == Look::quick ? std::max(cursor, head) : head;
        for (std::uint64_t s = first; s < published; ++s) {
            const std::uint32_t home = state_.entry(s).home.load();
            if (home != node && home != kNoHome)
                continue;
            if (auto claim = take(s)) {
                if (cursor <= s)
                    state_.cursor(node).compare_exchange_strong(cursor, s + 1);
                return claim;
            }
        }
        return std::nullopt;
    }

    // After a claim: tell the publisher when work runs low, and wake the next sleeper if there
    // is more than we took.
    Claim announce(Claim claim) {
        auto &h = state_.header();
        const std::int32_t left = h.ready_count.fetch_sub(1) - 1;
        os::crash_point("counted");
        if (left <= h.publish_wake_at.load())
            state_.publisher_event().notify();
        if (left > 0)
            state_.wake_one_worker(worker_);
        return claim;
    }

    // Announces that it sleeps, looks for news once more, and sleeps if there is none. The wish
    // for room stands before the announcement, so that no wake is spent on a worker that cannot
    // use it.
    template <class HasRoom>
    std::optional<Claim> sleep_unless_news(bool room, HasRoom &&has_room) {
        auto &slot = state_.slot(worker_);
        if (!room)
            slot.wants_room.store(1);
        const std::uint32_t ticket = slot.event.prepare_wait();
        os::crash_point("going to sleep");
        const bool over = state_.header().over.load();
        std::optional<Claim> claim;
        if (Rules::recheck_before_sleep && !over)
            claim = try_claim(room, Look::thorough);
        if (over || claim || (!room && has_room())) {
            const bool woken = !slot.event.cancel_wait(ticket);
            if (woken && claim && state_.header().ready_count.load() > 0)
                state_.wake_one_worker(worker_); // the wake was meant for another batch
        } else {
            report_idle(room);
            slot.event.commit_wait(ticket, -1);
            slot.event.cancel_wait(ticket); // after a signal: nobody sleeps here any more
        }
        if (!room)
            slot.wants_room.store(0);
        return claim;
    }

    // Before sleeping. Egress may be asleep over output that it could retire to make room; the
    // publisher, over a window or a budget that has opened since it was last woken. A wake that
    // reached us although we cannot use it goes on to the next.
    void report_idle(bool room) {
        auto &h = state_.header();
        if (!room && Rules::starving_worker_tells_egress)
            h.egress_event.notify();
        if (Rules::idle_worker_tells_publisher && !h.ended.load())
            state_.publisher_event().notify();
        if (!room && h.ready_count.load() > 0)
            state_.wake_one_worker(worker_);
    }

    RunState<A> state_;
    std::uint32_t worker_;
    std::uint16_t incarnation_;
    std::span<const std::uint16_t> steal_order_;
};

} // namespace gristmill::ring
