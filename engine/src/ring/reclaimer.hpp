// The supervisor's side of the ring: gives back what a dead worker held.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ring/run_state.hpp"

namespace gristmill::ring {

// Threads: one, the supervisor.
// Owns:    nothing.
// Keeps:   I19. A batch is given back only when its holder's exit was reported, all batches of a
//              holder before its slot is given to the next, and then every event count of the run
//              is notified: whoever the dead one should have woken looks again.
// Orders:  the exit report orders the dead worker's last stores before the flip; the flip releases
//          the entry to the worker that claims it next.
template <class A, class Rules = AllRules>
class Reclaimer {
  public:
    explicit Reclaimer(RunState<A> state) : state_(state) {}

    // Calls spoilt(sequence, entry) for each batch that the worker held, then makes it ready again
    // with one more attempt. Returns how many. Precondition: the worker's exit was reported.
    template <class Spoilt>
    std::uint64_t reclaim(std::uint32_t worker, std::uint16_t incarnation, Spoilt &&spoilt) {
        auto &h = state_.header();
        // From now on ready_count may be too high by those who died between their claim and its
        // lowering; the publisher counts for itself.
        h.reclaims.fetch_add(1);
        std::uint64_t flipped = 0;
        const std::uint64_t published = h.published.load();
        for (std::uint64_t s = h.head.load(); s < published; ++s)
            if (flip(s, worker, incarnation, spoilt))
                ++flipped;
        state_.slot(worker).wants_room.store(0);
        if (Rules::notify_all_after_death)
            notify_all(worker);
        return flipped;
    }

    // The dead one's word first: nobody shall spend a wake on it.
    void notify_all(std::uint32_t dead) {
        state_.slot(dead).event.notify_after_death();
        for (std::uint32_t i = 0; i < state_.header().workers; ++i)
            state_.slot(i).event.notify_after_death();
        state_.header().egress_event.notify_after_death();
        state_.header().publisher_event.notify_after_death();
    }

  private:
    template <class Spoilt>
    bool flip(std::uint64_t sequence, std::uint32_t worker, std::uint16_t incarnation,
              Spoilt &&spoilt) {
        auto &entry = state_.entry(sequence);
        std::uint64_t seen = entry.state.load();
        StateWord word = StateWord::unpack(seen);
        if (word.state != EntryState::claimed || word.lap != state_.lap(sequence) ||
            word.worker != worker || word.incarnation != incarnation)
            return false;
        spoilt(sequence, entry);
        word.state = EntryState::ready;
        word.worker = word.incarnation = 0;
        if (word.attempt < std::numeric_limits<std::uint8_t>::max())
            ++word.attempt;
        state_.header().ready_count.fetch_add(1); // before it is ready (I3)
        GM_CHECK(entry.state.compare_exchange_strong(seen, word.pack()));
        lower_cursors(sequence); // behind the flip: a cursor says what was seen claimed below it
        return true;
    }

    void lower_cursors(std::uint64_t sequence) {
        for (std::uint32_t node = 0; node < state_.header().nodes; ++node) {
            auto &cursor = state_.cursor(node);
            std::uint64_t at = cursor.load();
            while (at > sequence && !cursor.compare_exchange_strong(at, sequence)) {
            }
        }
    }

    RunState<A> state_;
};

} // namespace gristmill::ring
