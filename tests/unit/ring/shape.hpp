// What a scenario of the ring consists of.
#pragma once

#include <cstdint>

#include "ring/retirer.hpp"

namespace gristmill::test {

// What happens in a scenario. The counts are small, so that rare orders become likely.
struct Shape {
    std::uint32_t workers = 2;
    std::uint32_t nodes = 1;
    std::uint32_t entries = 4;
    std::uint64_t batches = 8;
    std::uint32_t look_ahead = 2;
    std::uint64_t input_bytes = 0; // budget; batches have 1 to 3 bytes
    bool separate = false;         // publisher and egress are actors of their own
    bool homes = false;            // batches have a home node
    bool eager = false;
    ring::RetireOrder order = ring::RetireOrder::index;
    std::uint64_t ring_cells = 0; // of each worker's output ring; 0: output takes no room
    bool error_at_end = false;    // the source fails behind the last batch
    bool look_ahead_varies = false; // from 1 to look_ahead
    bool long_work = false;       // a batch takes until nobody else can go on
    bool signals = true;          // sleepers may wake for no reason
    std::uint32_t deaths = 0;     // of workers, at any step of theirs
    // Rules of the world itself that a test may break:
    bool room_before_claim = true;   // R2
    bool released_by_position = true; // R4
    bool report_wakes_always = true;  // the report of an exit, whether or not somebody is announced
    bool starts_behind_retired = true; // a new incarnation's output, not only behind done batches
    bool reclaims_only_reported = true; // I19: a batch is given back when its holder is dead
};

} // namespace gristmill::test
