// One run: its parts, put together, and driven to the end or batch by batch.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <gristmill/engine.hpp>

#include "coordinator.hpp"
#include "employment.hpp"
#include "input/ingress.hpp"
#include "output/egress.hpp"
#include "store/output_reader.hpp"

namespace gristmill {

// Where records come from: sources, or items of a language binding.
struct Input {
    Sources sources{};
    std::optional<ItemFeed> items{};
};

// What a run is about. Complete when it begins.
struct RunParts {
    Input input{};
    RunOptions options{};
    work::OutputMode mode = work::OutputMode::ring;
    bool streamed = false; // its output is taken batch by batch, while it goes on
    input::IngressLimits limits{};
    std::uint64_t ring_bytes = 0;
};

// Threads: one at a time; when output is streamed, not always the same.
// Owns:    all that lives as long as the run; the workers are the host's.
class Run {
  public:
    // Makes the parts and wakes the workers. The plan and the sink outlive the run.
    static Result<std::unique_ptr<Run>> begin(RunParts parts, Employed employed, const Plan &plan,
                                              output::Sink &sink);
    Run(const Run &) = delete;
    Run &operator=(const Run &) = delete;
    // Gives up what has not ended.
    ~Run();

    // From the first batch published until all is retired; with `enough`, until it says so: false.
    Result<bool> drive(const std::function<bool()> &enough = {});

    // Have the workers their payloads, and does ingress go on by itself?
    bool under_way() const { return ingress_->has_thread(); }

    // Ends the run: every worker leaves it, and the counts are checked. `driven`: what drive() gave
    // last. To be called once.
    Result<RunOutcome> finish(Result<void> driven);

    // Asked every 100 ms while it is driven, instead of RunOptions::interrupted.
    void set_interrupted(std::function<bool()> interrupted) {
        parts_.options.interrupted = std::move(interrupted);
    }
    // After finish(): what the workers collected.
    store::Collected take_collected() { return host_.take_collected(); }
    // What was delivered so far; sources and the spool are told of at the end.
    Report so_far() { return complete(egress_->report()); }

  private:
    class Names;
    Run(RunParts parts, Employed employed);
    Result<void> start(const Plan &plan, output::Sink &sink);
    work::WorkOrder work_order() const;
    Report complete(Report report) const;
    void add_audits(Report &report) const;

    RunParts parts_;
    Employed employed_;
    work::WorkerHost &host_;
    const std::uint64_t started_ns_;
    std::unique_ptr<input::Ingress> ingress_;
    std::unique_ptr<Names> names_;
    std::unique_ptr<store::OutputReader> outputs_;
    std::unique_ptr<output::Egress> egress_;
    work::WorkOrder order_;
    std::unique_ptr<Coordinator> coordinator_;
    enum class Phase : std::uint8_t { made, begun, ended };
    Phase phase_ = Phase::made;
};

} // namespace gristmill
