// Worker threads over several runs: they start, work, leave, and sleep until the next one.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "os/memory.hpp"
#include "ring/publisher.hpp"
#include "ring/retirer.hpp"
#include "support/test_file.hpp"
#include "work/worker_pool.hpp"

namespace gristmill::work {
namespace {

class Echo final : public Payload {
  public:
    PayloadOutcome process(const PayloadBatch &batch, store::OutputArea &output,
                           FailureListener &) override {
        std::byte *room = output.reserve(batch.data.size());
        std::copy(batch.data.begin(), batch.data.end(), room);
        output.commit(batch.data.size());
        return {.emitted = batch.record_count};
    }
};

class Echoes final : public PayloadFactory {
  public:
    Result<std::unique_ptr<Payload>> make(const WorkerIdentity &identity,
                                          const WorkerSignals &) override {
        made.fetch_add(1);
        if (identity.worker >= failing_from)
            return Error{ErrorKind::plugin, "worker has no payload"};
        return std::unique_ptr<Payload>(std::make_unique<Echo>());
    }
    std::atomic<std::uint32_t> made{0};
    std::uint32_t failing_from = 1000;
};

Plan plan_of(std::uint32_t workers, std::uint32_t nodes) {
    Plan plan;
    for (std::uint32_t i = 0; i < nodes; ++i)
        plan.nodes.push_back({0, {0}, (workers + nodes - 1 - i) / nodes});
    for (std::uint32_t i = 0; i < workers; ++i)
        plan.workers.push_back({i % nodes, 0});
    return plan;
}

class Pool {
  public:
    Pool(std::uint32_t workers, std::uint32_t nodes)
        : plan_(plan_of(workers, nodes)), slots_(std::max(workers, 1u)),
          pool_(std::move(WorkerPool::start(plan_).value())), state_(pool_->state()) {
        pool_->sources().set(0, file_.fd(), 3000);
        order_.max_record_bytes = 1000;
        order_.payloads = &payloads;
        order_.sources = &pool_->sources();
        order_.output = OutputMode::collection;
    }

    // One run of 30 batches; what came out, in order.
    std::string run() {
        state_.reset(64);
        store::OutputReader outputs(pool_->places(), {});
        EXPECT_TRUE(pool_->begin_run(order_, outputs).ok());
        ring::Publisher<ring::SystemAtomics> publisher(state_, {64, 0});
        for (std::uint64_t batch = 0; batch < 30; ++batch) {
            ring::BatchInput input;
            input.begin = batch * 100;
            input.end = input.begin + 100;
            publisher.publish(input, 100, ring::kNoHome);
        }
        publisher.end();
        std::string output;
        ring::Retirer<ring::SystemAtomics> retirer(state_, ring::RetireOrder::index, false);
        while (!retirer.finished() && !start_failed()) {
            const auto left = retirer.retire([&](std::uint64_t, RunState::Entry &entry) {
                const OutputLocation &at = entry.result.output;
                output.append(reinterpret_cast<const char *>(at.data), at.bytes);
                return true;
            });
            if (left > 0)
                continue;
            if (plan_.workers.empty())
                pool_->step();
            else
                wait(retirer);
        }
        pool_->end_run(true, {});
        return output;
    }

    bool start_failed() const {
        for (std::uint32_t i = 0; i < slots_; ++i)
            if (state_.slot(i).start_failed.load())
                return true;
        return false;
    }
    RunState state() const { return state_; }
    WorkerPool &pool() { return *pool_; }

    const std::string data = [] {
        std::string text;
        for (int line = 0; text.size() < 3000; ++line)
            text += "line " + std::to_string(1000 + line) + "\n";
        return text;
    }();
    Echoes payloads;

  private:
    void wait(ring::Retirer<ring::SystemAtomics> &retirer) {
        auto &event = state_.header().egress_event;
        const std::uint32_t ticket = event.prepare_wait();
        if (!retirer.prepare_target() || start_failed())
            event.cancel_wait(ticket);
        else
            event.commit_wait(ticket, -1);
    }

    const Plan plan_;
    const std::uint32_t slots_;
    std::unique_ptr<WorkerPool> pool_;
    RunState state_;
    test::MemoryFile file_{data};
    WorkOrder order_;
};

TEST(WorkerPool, serves_run_after_run) {
    for (const std::uint32_t workers : {1u, 2u, 5u}) {
        Pool pool(workers, 1);
        for (int run = 0; run < 20; ++run) {
            ASSERT_EQ(pool.run(), pool.data) << workers << " workers, run " << run;
            EXPECT_FALSE(pool.pool().take_collected().chunks.empty());
        }
    }
}

TEST(WorkerPool, nodes_steal_from_each_other) {
    Pool pool(4, 3);
    EXPECT_EQ(pool.run(), pool.data);
}

TEST(WorkerPool, without_threads_the_caller_works) {
    Pool pool(0, 1);
    EXPECT_EQ(pool.run(), pool.data);
    EXPECT_EQ(pool.run(), pool.data);
    EXPECT_EQ(pool.payloads.made.load(), 2u);
}

TEST(WorkerPool, a_worker_without_payload_says_so_and_the_pool_lives_on) {
    Pool pool(2, 1);
    pool.payloads.failing_from = 0; // all of them: a single one may never get to start
    pool.run();
    EXPECT_TRUE(pool.start_failed());
    const bool first = pool.state().slot(0).start_failed.load();
    EXPECT_STREQ(pool.state().slot(first ? 0 : 1).start_error, "worker has no payload");
    pool.payloads.failing_from = 1000;
    EXPECT_EQ(pool.run(), pool.data);
}

TEST(WorkerPool, ends_without_a_run) {
    const Pool pool(3, 2);
}

} // namespace
} // namespace gristmill::work
