// Names of the ring's words, for traces.
#pragma once

#include <cstdint>
#include <string>

#include "ring/run_state.hpp"
#include "support/deterministic_scheduler.hpp"

namespace gristmill::test {

inline std::string word_text(std::uint64_t value) {
    static constexpr const char *kStates[] = {"empty", "ready", "claimed", "done"};
    const auto word = ring::StateWord::unpack(value);
    return std::string(kStates[std::size_t(word.state) % 4]) + "(lap " + std::to_string(word.lap) +
           ", worker " + std::to_string(word.worker) + ")";
}

template <class State>
void name_words(Scheduler &scheduler, const State &state) {
    auto &h = state.header();
    const auto name = [&](const void *address, const std::string &text) {
        scheduler.name(address, {text});
    };
    name(&h.over, "over");
    name(&h.publisher_is_egress, "publisher_is_egress");
    name(&h.published, "published");
    name(&h.ended, "ended");
    name(&h.publish_wake_at, "publish_wake_at");
    name(&h.publisher_wants_input, "publisher_wants_input");
    name(&h.head, "head");
    name(&h.target, "target");
    name(&h.ready_count, "ready_count");
    name(&h.egress_event, "egress_event");
    name(&h.publisher_event, "publisher_event");
    for (std::uint32_t i = 0; i < h.workers; ++i) {
        const std::string who = "slot" + std::to_string(i);
        auto &slot = state.slot(i);
        name(&slot.event, who + ".event");
        name(&slot.wants_room, who + ".wants_room");
        name(&slot.acknowledged, who + ".acknowledged");
        name(&slot.ring_released, who + ".ring_released");
        name(&slot.overflow_released, who + ".overflow_released");
    }
    for (std::uint32_t i = 0; i < h.nodes; ++i)
        name(&state.cursor(i), "cursor" + std::to_string(i));
    for (std::uint32_t i = 0; i < h.entries; ++i) {
        const std::string which = "entry" + std::to_string(i);
        scheduler.name(&state.entry(i).state, {which + ".state", &word_text});
        name(&state.entry(i).home, which + ".home");
        name(&state.entry(i).input_bytes, which + ".input_bytes");
    }
}

} // namespace gristmill::test
