// The window of the ring as a bystander sees it between two steps.
#pragma once

#include <cstdint>

#include "ring/run_state.hpp"

namespace gristmill::test {

template <class State>
class WindowWatch {
  public:
    explicit WindowWatch(const State &state) : state_(state) {}

    std::uint64_t published() const { return state_.header().published.peek(); }
    std::uint64_t size() const { return published() - state_.header().head.peek(); }

    std::int64_t ready() const {
        std::int64_t ready = 0;
        each([&](std::uint64_t, ring::EntryState state) {
            ready += state == ring::EntryState::ready;
        });
        return ready;
    }

    bool head_is(ring::EntryState wanted) const {
        bool found = false;
        each([&](std::uint64_t s, ring::EntryState state) {
            found |= s == state_.header().head.peek() && state == wanted;
        });
        return found;
    }

    // What the input budget counts.
    struct InFlight {
        std::uint64_t bytes = 0;
        std::uint64_t batches = 0;
    };
    InFlight input_in_flight() const {
        InFlight input;
        each([&](std::uint64_t s, ring::EntryState state) {
            if (state != ring::EntryState::ready && state != ring::EntryState::claimed)
                return;
            input.bytes += state_.entry(s).input_bytes.peek();
            ++input.batches;
        });
        return input;
    }

  private:
    template <class Look>
    void each(Look &&look) const {
        for (std::uint64_t s = state_.header().head.peek(); s < published(); ++s) {
            const auto word = ring::StateWord::unpack(state_.entry(s).state.peek());
            if (word.lap == state_.lap(s))
                look(s, word.state);
        }
    }

    const State &state_;
};

} // namespace gristmill::test
