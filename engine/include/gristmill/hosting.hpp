// For language bindings: payloads that run in worker processes of the binding's own making.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gristmill/error.hpp>

namespace gristmill {

namespace work {
class PayloadFactory;
}

// Starts the process that is to be the parent of all workers (see work/nursery.hpp): a fork of this
// one, or another program. `inherited[i]` becomes its descriptor 100 + i. Returns its pid; the engine
// waits for it. Called by the thread that called the engine.
struct NurseryLaunch {
    std::function<Result<std::int32_t>(const std::vector<int> &inherited)> launch{};
    bool again = false;      // can it be launched once more when it was killed?
    bool pin_to_cpu = false; // one CPU for each worker, or those of its node

    explicit operator bool() const { return static_cast<bool>(launch); }
};

// A payload that the binding's workers understand.
struct HostedPayload {
    std::vector<std::string> texts{}; // what they are told about it
    // Makes it in this process, for engines without workers. Outlives the run; may be null when
    // there are workers.
    work::PayloadFactory *local = nullptr;
};

// Some items of a sequence that only the binding can walk, each as a u32-framed record.
struct ItemChunk {
    std::string frames{};
    std::uint64_t records = 0;
    bool end = false; // there are no more
};

// A source whose records the binding makes, instead of files. RunOptions::framing must be u32le.
struct ItemFeed {
    // The next items: at least one, unless there are none left; no more than `records_max`, and no
    // further one when there are `bytes_max` bytes. Called by the thread that called the engine, or, when
    // output is streamed, by one of the engine's; no further ahead of the workers than the look-ahead and half of RunOptions::memory_bytes. An
    // error ends the run, after what came before it was delivered.
    std::function<Result<ItemChunk>(std::uint64_t records_max, std::uint64_t bytes_max)> pull{};
    // Called by another thread when the run is given up while pull() may be waiting: makes it return
    // with an error, soon. May be empty.
    std::function<void()> give_up{};
    std::string name = "items"; // for people
};

} // namespace gristmill
