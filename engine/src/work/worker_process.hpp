// A worker that is a process of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "work/order_message.hpp"
#include "work/worker_loop.hpp"

namespace gristmill::work {

// Makes what makes payloads, of a description; an error is that of a file that does not load, or
// of a description that this kind of worker does not understand.
using FactoryMaker = std::function<Result<std::unique_ptr<PayloadFactory>>(
    const PayloadDescription &description, const Framing &framing)>;

// The life of worker process `worker`: serves run after run until the engine shuts down. Returns
// then. Maps what it needs of the engine's memory from process `holder` of each order.
//
// Threads: the only one of its process, but for those that the payload starts.
void live_as_worker(RunState state, std::uint32_t worker, std::uint16_t incarnation,
                    const FactoryMaker &make_factory);

} // namespace gristmill::work
