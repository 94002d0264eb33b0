// The named scenarios of the ring, see README.md.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "unit/ring/ring_world.hpp"

namespace gristmill::test {

struct Scenario {
    std::string name;
    Shape shape;
};

inline std::ostream &operator<<(std::ostream &out, const Scenario &scenario) {
    return out << scenario.name;
}

inline const std::vector<Scenario> kScenarios = {
    {"publish_claim_done_retire", {.workers = 2, .entries = 8, .batches = 10}},
    {"three_workers_ring_of_two", {.workers = 3, .entries = 2, .batches = 8}},
    {"ring_of_four_many_laps", {.workers = 3, .entries = 4, .batches = 20, .look_ahead = 4}},
    {"one_worker", {.workers = 1, .entries = 4, .batches = 8}},
    {"look_ahead_of_one", {.workers = 2, .entries = 4, .batches = 8, .look_ahead = 1}},
    {"look_ahead_fills_the_ring", {.workers = 2, .entries = 8, .batches = 20, .look_ahead = 8}},
    {"look_ahead_varies",
     {.workers = 3, .entries = 8, .batches = 20, .look_ahead = 6, .look_ahead_varies = true}},
    {"no_batches", {.workers = 2, .batches = 0}},
    {"nothing_but_an_error", {.workers = 2, .batches = 0, .error_at_end = true}},
    {"two_nodes_output_rings",
     {.workers = 3, .nodes = 2, .entries = 8, .batches = 12, .look_ahead = 8, .homes = true,
      .ring_cells = 3}},
    {"two_nodes_tiny_output_rings",
     {.workers = 2, .nodes = 2, .entries = 4, .batches = 12, .look_ahead = 4, .homes = true,
      .ring_cells = 1}},
    {"starving_for_room",
     {.workers = 2, .entries = 8, .batches = 12, .look_ahead = 4, .ring_cells = 2}},
    {"starving_and_separate",
     {.workers = 2, .nodes = 2, .entries = 8, .batches = 12, .look_ahead = 8,
      .separate = true, .homes = true, .ring_cells = 2}},
    {"steal_across_nodes",
     {.workers = 3, .nodes = 3, .entries = 4, .batches = 12, .look_ahead = 4, .homes = true}},
    {"separate_publisher_and_egress",
     {.workers = 2, .entries = 4, .batches = 10, .separate = true}},
    {"separate_ring_of_two", {.workers = 3, .entries = 2, .batches = 8, .separate = true}},
    {"input_budget", {.workers = 2, .entries = 8, .batches = 10, .look_ahead = 8,
                      .input_bytes = 3}},
    {"input_budget_separate",
     {.workers = 2, .entries = 8, .batches = 10, .look_ahead = 4, .input_bytes = 4,
      .separate = true}},
    {"order_none",
     {.workers = 3, .entries = 4, .batches = 12, .look_ahead = 4,
      .order = ring::RetireOrder::none}},
    {"order_none_with_error",
     {.workers = 3, .entries = 4, .batches = 10, .look_ahead = 4, .order = ring::RetireOrder::none,
      .error_at_end = true}},
    {"order_none_output_rings",
     {.workers = 2, .nodes = 2, .entries = 8, .batches = 12, .look_ahead = 8,
      .homes = true, .order = ring::RetireOrder::none, .ring_cells = 3}},
    {"order_none_eager",
     {.workers = 2, .entries = 4, .batches = 10, .eager = true, .order = ring::RetireOrder::none}},
    {"eager", {.workers = 2, .entries = 4, .batches = 10, .eager = true}},
    {"index_order_with_error",
     {.workers = 3, .entries = 4, .batches = 9, .look_ahead = 4, .error_at_end = true}},
    {"everything_at_once",
     {.workers = 3, .nodes = 2, .entries = 4, .batches = 14, .look_ahead = 4,
      .input_bytes = 5, .separate = true, .homes = true, .order = ring::RetireOrder::none,
      .ring_cells = 2, .error_at_end = true}},
    {"order_none_eager_with_error",
     {.workers = 2, .entries = 4, .batches = 8, .eager = true, .order = ring::RetireOrder::none,
      .error_at_end = true}},
    {"wake_chain",
     {.workers = 3, .entries = 8, .batches = 12, .look_ahead = 6, .long_work = true,
      .signals = false}},
    {"wake_chain_with_signals",
     {.workers = 3, .entries = 8, .batches = 12, .look_ahead = 6, .long_work = true}},
    {"wake_chain_two_nodes",
     {.workers = 3, .nodes = 2, .entries = 8, .batches = 14, .look_ahead = 6, .homes = true,
      .long_work = true, .signals = false}},
    {"wake_chain_budget",
     {.workers = 3, .entries = 4, .batches = 16, .look_ahead = 4, .input_bytes = 5,
      .long_work = true, .signals = false}},
    {"wake_chain_separate",
     {.workers = 3, .entries = 4, .batches = 16, .look_ahead = 4, .input_bytes = 6,
      .separate = true, .long_work = true, .signals = false}},
    {"wake_chain_starving",
     {.workers = 3, .nodes = 2, .entries = 8, .batches = 14, .look_ahead = 6, .homes = true,
      .ring_cells = 3, .long_work = true, .signals = false}},
};

} // namespace gristmill::test
