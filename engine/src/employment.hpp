// Which workers do a run's work: threads, native processes, or those of a language binding.
#pragma once

#include <memory>
#include <optional>

#include <gristmill/engine.hpp>

#include "work/command_payload.hpp"
#include "work/plugin_payload.hpp"
#include "work/process_pool.hpp"
#include "work/worker_pool.hpp"

namespace gristmill {

// The hosts that an engine has needed so far; each stays warm until the engine goes.
//
// Threads: one at a time.
class Hosts {
  public:
    Result<work::WorkerHost *> threads(const Plan &plan);
    Result<work::ProcessPool *> native(const Plan &plan);
    Result<work::ProcessPool *> hosted(const Plan &plan, const NurseryLaunch &launch);

  private:
    std::unique_ptr<work::WorkerPool> threads_;
    std::unique_ptr<work::ProcessPool> native_;
    std::unique_ptr<work::ProcessPool> hosted_;
};

// A host, and what makes its workers' payloads when they are threads of this process.
struct Employed {
    work::WorkerHost *host = nullptr;
    std::unique_ptr<work::PayloadFactory> made{};
    work::PayloadFactory *borrowed = nullptr;

    work::PayloadFactory *factory() const { return made ? made.get() : borrowed; }
};

// What worker processes are told about the payload.
work::PayloadDescription describe(const Payload &payload);

// Gives threads what makes their payloads.
Result<Employed> make_local(Employed employed, const Payload &payload, const RunOptions &run,
                            work::PluginCache &plugins);

} // namespace gristmill
