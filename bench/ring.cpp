// The batch ring alone: what each of its steps takes, and how it does when claimers outnumber cores.
//
//     bench_ring [--benchmark_...]
//
//     cycle      one thread takes a window of batches through all four steps, one after the other, in
//                a ring for so many workers (none of whom sleeps); workers of all nodes take turns
//     steals     the same for a worker that is alone, and steals the batches of all other nodes
//     small      a publisher that is egress, too, and threads that claim batches of no work
//     sleeping   the same with batches of 2 ms, in which a thread sleeps: as many workers as there are
//                threads, each with a core of its own, as far as the ring can tell
//     budget     may the next batch be published: while it is known to fit, and when what is in flight
//                has to be counted anew
//
// The batches' homes go round the nodes, and so do those of the threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/prctl.h>

#include "os/memory.hpp"
#include "ring/claimer.hpp"
#include "ring/publisher.hpp"
#include "ring/retirer.hpp"

namespace {

using namespace gristmill;
using State = ring::RunState<ring::SystemAtomics>;
using Publisher = ring::Publisher<ring::SystemAtomics>;
using Claimer = ring::Claimer<ring::SystemAtomics>;
using Retirer = ring::Retirer<ring::SystemAtomics>;

constexpr std::uint64_t batch_bytes = std::uint64_t{512} << 10;

std::uint64_t now_ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// A run of nobody yet.
class Ring {
  public:
    Ring(std::uint32_t workers, std::uint32_t nodes, std::uint32_t entries)
        : block_(map(State::block_bytes(workers, nodes, entries))),
          state_(State::create(block_.data(), workers, nodes, entries)) {
        state_.header().over.store(0);
    }

    State state() const { return state_; }
    std::uint32_t workers() const { return state_.header().workers; }
    std::uint32_t nodes() const { return state_.header().nodes; }
    std::uint32_t entries() const { return state_.header().entries; }

    void publish(Publisher &publisher) const {
        publisher.publish({}, batch_bytes,
                          static_cast<std::uint16_t>(publisher.published() % nodes()));
    }

  private:
    static os::Mapping map(std::uint64_t bytes) {
        auto mapping = os::map_anonymous(bytes, os::Pages::normal);
        if (!mapping) {
            std::fprintf(stderr, "bench_ring: %s\n", mapping.error().message.c_str());
            std::exit(1);
        }
        return std::move(*mapping);
    }

    os::Mapping block_;
    State state_;
};

/// ns since the last look, added up.
class Watch {
  public:
    void add_to(std::uint64_t &sum) {
        const std::uint64_t now = now_ns(CLOCK_MONOTONIC);
        sum += now - last_;
        last_ = now;
    }

  private:
    std::uint64_t last_ = now_ns(CLOCK_MONOTONIC);
};

double each(std::uint64_t ns, std::uint64_t batches) { return double(ns) / double(batches); }

void run_cycle(benchmark::State &bench, bool alone) {
    const auto workers = static_cast<std::uint32_t>(bench.range(0));
    const auto nodes = static_cast<std::uint32_t>(bench.range(1));
    const Ring ring(workers, nodes, State::entries_for(workers));
    Publisher publisher(ring.state(), {ring.entries() + 1, ring.entries() * batch_bytes});
    std::vector<Claimer> claimers;
    for (std::uint32_t node = 0; node < (alone ? 1 : nodes); ++node)
        claimers.emplace_back(ring.state(), 0, 0, node);
    Retirer retirer(ring.state(), ring::RetireOrder::index, false);
    std::vector<ring::Claim> claims;
    claims.reserve(ring.entries());
    std::uint64_t publish_ns = 0, claim_ns = 0, done_ns = 0, retire_ns = 0, batches = 0;
    for (auto _ : bench) {
        claims.clear();
        Watch watch;
        while (publisher.may_publish(batch_bytes))
            ring.publish(publisher);
        publisher.flush();
        watch.add_to(publish_ns);
        while (const auto claim = claimers[claims.size() % claimers.size()].try_claim(true))
            claims.push_back(*claim);
        watch.add_to(claim_ns);
        for (const ring::Claim &claim : claims)
            claimers.front().done(claim);
        watch.add_to(done_ns);
        batches += retirer.retire([](std::uint64_t, State::Entry &) { return true; });
        watch.add_to(retire_ns);
    }
    bench.counters["publish_ns"] = each(publish_ns, batches);
    bench.counters["claim_ns"] = each(claim_ns, batches);
    bench.counters["done_ns"] = each(done_ns, batches);
    bench.counters["retire_ns"] = each(retire_ns, batches);
    bench.counters["batch_ns"] = each(publish_ns + claim_ns + done_ns + retire_ns, batches);
}

/// One thread that publishes and retires, as the coordinator does, and those that claim.
class Crowd {
  public:
    Crowd(const Ring &ring, std::uint32_t look_ahead, std::chrono::nanoseconds work)
        : ring_(ring), look_ahead_(look_ahead), work_(work), ready_(ring.workers()) {
        for (std::uint32_t i = 0; i < ring.workers(); ++i)
            threads_.emplace_back([this, i] { claim(i); });
        ready_.wait();
    }
    ~Crowd() { end(); }
    void end() {
        ring_.state().header().over.store(1);
        for (std::uint32_t i = 0; i < ring_.workers(); ++i)
            ring_.state().slot(i).event.notify();
        for (std::thread &thread : threads_)
            thread.join();
        threads_.clear();
    }
    Crowd(const Crowd &) = delete;
    Crowd &operator=(const Crowd &) = delete;

    /// Returns when so many batches are retired.
    void run(std::uint64_t batches) {
        Publisher publisher(ring_.state(), {look_ahead_, ring_.entries() * batch_bytes});
        Retirer retirer(ring_.state(), ring::RetireOrder::index, false);
        auto &event = ring_.state().header().egress_event;
        for (bool ended = false; !retirer.finished();) {
            while (publisher.published() < batches && publisher.may_publish(batch_bytes))
                ring_.publish(publisher);
            publisher.flush();
            if (!ended && publisher.published() == batches) {
                publisher.end();
                ended = true;
            }
            if (retirer.retire([](std::uint64_t, State::Entry &) { return true; }) > 0)
                continue;
            const std::uint32_t ticket = event.prepare_wait();
            if (!retirer.prepare_target() || (!ended && publisher.wants_to_publish(batch_bytes)))
                event.cancel_wait(ticket);
            else {
                event.commit_wait(ticket, -1);
                ++sleeps_;
            }
        }
    }

    std::uint64_t sleeps() const { return sleeps_; } // of run()
    std::uint64_t worked_ns() const { return worked_ns_; } // of all, at the end

  private:
    void claim(std::uint32_t worker) {
        ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
        Claimer claimer(ring_.state(), worker, 0, worker % ring_.nodes());
        std::uint64_t worked_ns = 0;
        ready_.count_down();
        while (const auto claim = claimer.wait_claim([] { return true; })) {
            if (work_.count() > 0) {
                Watch watch;
                std::this_thread::sleep_for(work_);
                watch.add_to(worked_ns);
            }
            claimer.done(*claim);
        }
        worked_ns_.fetch_add(worked_ns);
    }

    const Ring &ring_;
    const std::uint32_t look_ahead_;
    const std::chrono::nanoseconds work_;
    std::latch ready_;
    std::vector<std::thread> threads_;
    std::atomic<std::uint64_t> worked_ns_{0};
    std::uint64_t sleeps_ = 0;
};

void run_crowd(benchmark::State &bench, bool sleeping) {
    const auto threads = static_cast<std::uint32_t>(bench.range(0));
    const auto nodes = static_cast<std::uint32_t>(bench.range(1));
    const std::uint64_t batches = sleeping ? 100 * std::uint64_t{threads} : 100'000;
    const std::uint32_t entries = sleeping ? State::entries_for(threads)
                                           : State::entries_for_small_batches(threads);
    const std::uint32_t look_ahead = sleeping ? std::min(8 * threads, entries / 2) : entries;
    std::uint64_t wall_ns = 0, coordinator_ns = 0, cpu_ns = 0, worked_ns = 0, rounds = 0, sleeps = 0;
    for (auto _ : bench) {
        const Ring ring(threads, nodes, entries);
        Crowd crowd(ring, look_ahead, std::chrono::milliseconds(sleeping ? 2 : 0));
        const std::uint64_t wall = now_ns(CLOCK_MONOTONIC);
        const std::uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
        const std::uint64_t own = now_ns(CLOCK_THREAD_CPUTIME_ID);
        crowd.run(batches);
        const std::uint64_t took = now_ns(CLOCK_MONOTONIC) - wall;
        coordinator_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - own;
        cpu_ns += now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        wall_ns += took;
        rounds += batches;
        sleeps += crowd.sleeps();
        bench.SetIterationTime(double(took) * 1e-9);
        crowd.end();
        worked_ns += crowd.worked_ns();
    }
    bench.counters["claims_per_s"] = double(rounds) * 1e9 / double(wall_ns);
    bench.counters["cpu_ns"] = each(cpu_ns, rounds);
    bench.counters["coordinator_ns"] = each(coordinator_ns, rounds);
    bench.counters["coordinator_sleeps"] = each(sleeps, rounds);
    if (sleeping) // 1: no claimer ever waited
        bench.counters["occupied"] = double(worked_ns) / double(wall_ns * threads);
}

void run_budget(benchmark::State &bench, bool known_to_fit) {
    const auto in_flight = static_cast<std::uint32_t>(bench.range(0));
    const Ring ring(1, 1, 2 * in_flight);
    const std::uint64_t budget = (in_flight + (known_to_fit ? 1 : 0)) * batch_bytes;
    Publisher publisher(ring.state(), {2 * in_flight, budget});
    for (std::uint32_t i = 0; i < in_flight; ++i)
        ring.publish(publisher);
    bool may = false;
    for (auto _ : bench)
        benchmark::DoNotOptimize(may = publisher.may_publish(batch_bytes));
    if (may != known_to_fit)
        bench.SkipWithError("the budget is not what it should be");
}

} // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    using benchmark::RegisterBenchmark;
    const std::vector<std::int64_t> workers{1, 2, 8, 64, 512}, threads{1, 2, 4, 8, 16, 32, 64},
        nodes{1, 8}, windows{64, 512, 4096};
    for (const bool alone : {false, true})
        RegisterBenchmark(alone ? "steals" : "cycle",
                          [=](benchmark::State &state) { run_cycle(state, alone); })
            ->ArgsProduct({workers, alone ? std::vector<std::int64_t>{8} : nodes})
            ->ArgNames({"workers", "nodes"});
    for (const bool sleeping : {false, true})
        RegisterBenchmark(sleeping ? "sleeping" : "small",
                          [=](benchmark::State &state) { run_crowd(state, sleeping); })
            ->ArgsProduct({threads, nodes})
            ->ArgNames({"claimers", "nodes"})
            ->UseManualTime();
    for (const bool fits : {true, false})
        RegisterBenchmark(fits ? "budget/fits" : "budget/recount",
                          [=](benchmark::State &state) { run_budget(state, fits); })
            ->ArgsProduct({windows})
            ->ArgNames({"in_flight"});
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
