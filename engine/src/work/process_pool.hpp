// Worker processes, and their supervisor: what a dead worker held is given back, and another takes
// its place.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gristmill/topology.hpp>

#include "os/process.hpp"
#include "ring/reclaimer.hpp"
#include "work/nursery.hpp"
#include "work/order_message.hpp"
#include "work/shared_block.hpp"
#include "work/worker_host.hpp"

namespace gristmill::work {

// How a nursery comes to life: another program, or a fork of this one.
class NurseryLauncher {
  public:
    virtual ~NurseryLauncher() = default;
    // `inherited[i]` becomes descriptor os::kInheritedFdBase + i of the nursery.
    virtual Result<os::ChildProcess> launch(std::span<const int> inherited) = 0;
    // Can another one be launched when the first has died?
    virtual bool again() const = 0;
    // Are its workers to be pinned to one CPU each, or to the CPUs of their node?
    virtual bool pins_to_cpu() const { return true; }
    // For people.
    virtual std::string name() const { return "a copy of this process"; }
};

// Starts a program as the nursery.
class ProgramLauncher final : public NurseryLauncher {
  public:
    explicit ProgramLauncher(std::vector<std::string> arguments, bool pins_to_cpu = true)
        : arguments_(std::move(arguments)), pins_to_cpu_(pins_to_cpu) {}
    Result<os::ChildProcess> launch(std::span<const int> inherited) override {
        return os::spawn(arguments_, inherited);
    }
    bool again() const override { return true; }
    bool pins_to_cpu() const override { return pins_to_cpu_; }
    std::string name() const override { return arguments_.front(); }

  private:
    std::vector<std::string> arguments_;
    bool pins_to_cpu_;
};

// Threads: the coordinator's.
// Owns:    the nursery, and with it all worker processes; the memory shared with them.
// Keeps:   I14, I19.
class ProcessPool final : public WorkerHost {
  public:
    static Result<std::unique_ptr<ProcessPool>> start(const Plan &plan,
                                                      std::unique_ptr<NurseryLauncher> launcher);
    ~ProcessPool() override;

    // What the next run is about; before begin_run(). `timeout_ns`: a worker that makes no progress
    // for so long is ended; 0: never.
    void set_payload(PayloadDescription payload, std::uint64_t timeout_ns) {
        payload_ = std::move(payload);
        timeout_ns_ = timeout_ns;
    }

    RunState state() const override { return block_.state(); }
    record::SourceTable &sources() override { return sources_; }
    Result<void> prepare_rings(std::uint64_t ring_bytes) override;
    Result<void> prepare_collection() override;
    store::OutputPlaces places() override;
    Result<void> begin_run(const WorkOrder &order, const store::OutputReader &outputs) override;
    Result<void> supervise() override;
    bool news() const override;
    bool ready() const override { return ready_; }
    std::int64_t supervise_every_ns() const override;
    void end_run(bool completed, const std::function<bool()> &interrupted) override;
    store::Collected take_collected() override;
    std::uint64_t overflow_batches() const override;
    std::uint64_t retries() const override { return retries_; }
    std::uint64_t deaths() const override { return deaths_; }

  private:
    // The supervisor's own notes on a worker.
    struct Worker {
        std::uint16_t incarnation = 0;
        bool alive = false;       // asked for, and its exit not yet reported
        bool asked_to_die = false; // by this side; its death says nothing about its payload
        bool timed_out = false;
        std::uint64_t progress = 0;     // as last seen
        std::uint64_t stuck_since_ns = 0;
    };

    ProcessPool(const Plan &plan, std::unique_ptr<NurseryLauncher> launcher, SharedBlock block);
    Result<void> launch_nursery();
    Result<void> renew_isolation_file();
    Result<void> replace_nursery();
    void set_cpus(const Plan &plan);
    Result<void> write_order(const WorkOrder &order);
    void spawn(std::uint32_t worker);
    bool holds_batch(std::uint32_t worker) const;
    void kill_idle();
    void kill(std::uint32_t worker);
    void send(NurseryRequest::Kind kind, std::uint32_t worker);
    Result<void> handle_exits();
    Result<void> handle_death(std::uint32_t worker, int status);
    void reclaim(std::uint32_t worker, int status);
    void set_output_starts(std::uint32_t worker);
    Result<void> judge_death(std::uint32_t worker, int status);
    Result<void> judge_memory(std::uint32_t worker, int status);
    void check_progress(std::uint64_t now_ns);
    bool all_left() const;
    void bury_with_nursery();
    void look_ready();

    SharedBlock block_;
    record::SourceTable sources_;
    std::unique_ptr<NurseryLauncher> launcher_;
    os::UniqueFd order_fd_;
    os::UniqueFd isolation_fd_;
    os::UniqueFd control_;
    os::ChildProcess nursery_;
    std::vector<Worker> workers_;
    std::vector<store::OutputMemory> rings_;
    std::uint32_t ring_generation_ = 0;
    store::Collected collected_;
    // Of the run:
    PayloadDescription payload_;
    const WorkOrder *order_ = nullptr;
    const store::OutputReader *outputs_ = nullptr;
    std::uint64_t timeout_ns_ = 0;
    std::uint64_t checked_ns_ = 0;
    std::uint32_t exits_seen_ = 0;
    std::uint32_t regions_used_ = 0;
    std::uint32_t launches_in_vain_ = 0; // in a row, of nurseries that never served
    std::uint32_t deaths_at_start_ = 0; // in a row, of workers that never had a payload
    std::uint32_t oom_deaths_ = 0;      // in a row
    std::uint64_t oom_kills_seen_ = 0;
    std::uint64_t retries_ = 0;
    std::uint64_t deaths_ = 0;
    bool running_ = false;
    bool ready_ = false;
};

} // namespace gristmill::work
