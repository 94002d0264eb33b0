// A run's order as bytes: what the engine tells worker processes at the beginning of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "work/payload_description.hpp"
#include "work/work_order.hpp"

namespace gristmill::work {

// Descriptors of the engine's process that one worker writes to; -1: not in this run.
struct WorkerFiles {
    std::int32_t ring = -1;
    std::int32_t overflow = -1;
    std::int32_t collection = -1;
    std::uint64_t collection_id = 0;         // the same one: the same file as before
    std::uint64_t collection_warm_bytes = 0; // that have memory already
};

struct OrderMessage {
    WorkOrder order{}; // without pointers
    PayloadDescription payload{};
    std::uint32_t holder = 0;           // process that has the descriptors
    std::uint32_t ring_generation = 0;  // of the rings; another one: attach anew
    std::uint64_t ring_bytes = 0;
    bool mirrored = true;
    std::int32_t isolation = -1; // descriptor of the isolation file
    std::vector<WorkerFiles> files{}; // by worker
};

std::string encode(const OrderMessage &message);
// nullopt: not such a message.
std::optional<OrderMessage> decode_order(std::string_view bytes);

} // namespace gristmill::work
