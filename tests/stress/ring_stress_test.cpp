// Real threads over the real ring and real output rings: tiny batches, more threads than cores,
// work of random length. What the deterministic scheduler cannot show, ThreadSanitizer may.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "os/memory.hpp"
#include "ring/claimer.hpp"
#include "ring/publisher.hpp"
#include "ring/retirer.hpp"
#include "store/output_reader.hpp"
#include "support/random.hpp"

namespace gristmill {
namespace {

using ring::RetireOrder;
using test::Random;
using State = ring::RunState<ring::SystemAtomics>;

struct Shape {
    std::string name;
    std::uint32_t workers = 4;
    std::uint32_t nodes = 1;
    std::uint32_t entries = 64;
    std::uint32_t look_ahead = 8;
    std::uint64_t batches = 40'000;
    std::uint64_t output_bytes_max = 200;
    RetireOrder order = RetireOrder::index;
    std::uint64_t input_bytes = 0;
};

std::ostream &operator<<(std::ostream &out, const Shape &shape) { return out << shape.name; }

// The output of a batch: so many bytes that say who it is.
std::string text_of_batch(std::uint64_t sequence, std::uint64_t bytes_max) {
    Random random(sequence);
    std::string text(random.below(bytes_max + 1), char('a' + sequence % 26));
    return random.one_in(200) ? text + std::string(10'000, 'L') : text; // does not fit the ring
}

class Stress {
  public:
    explicit Stress(const Shape &shape)
        : shape_(shape), block_(std::move(os::map_anonymous(State::block_bytes(shape.workers,
                                                                               shape.nodes,
                                                                               shape.entries),
                                                            os::Pages::normal)
                                              .value())),
          state_(State::create(block_.data(), shape.workers, shape.nodes, shape.entries)),
          delivered_(shape.batches, 0) {
        std::vector<store::ReleaseCounters> counters;
        for (std::uint32_t i = 0; i < shape.workers; ++i) {
            memory_.push_back(std::move(store::OutputMemory::create(4096, kMirrored).value()));
            counters.push_back({&state_.slot(i).ring_released, &state_.slot(i).overflow_released});
        }
        store::OutputPlaces places;
        places.rings = &memory_;
        outputs_.emplace(places, std::move(counters));
        state_.header().over.store(0);
    }

    void run() {
        std::vector<std::thread> workers;
        for (std::uint32_t i = 0; i < shape_.workers; ++i)
            workers.emplace_back([this, i] { work(i); });
        coordinate();
        state_.header().over.store(1);
        for (std::uint32_t i = 0; i < shape_.workers; ++i)
            state_.slot(i).event.notify();
        for (std::thread &worker : workers)
            worker.join();
    }

    std::uint64_t wrong() const { return wrong_; }
    bool all_delivered() const {
        return std::all_of(delivered_.begin(), delivered_.end(), [](int n) { return n == 1; });
    }

  private:
#if defined(__SANITIZE_THREAD__)
    static constexpr bool kMirrored = false;
#else
    static constexpr bool kMirrored = true;
#endif

    void work(std::uint32_t index) {
        Random random(index + 1000);
        auto &slot = state_.slot(index);
        store::RingArea area(memory_[index], slot.ring_released, slot.overflow_released);
        ring::Claimer<ring::SystemAtomics> claimer(state_, index, 0, index % shape_.nodes);
        std::uint64_t sum = 0;
        while (const auto claim = claimer.wait_claim([&] { return area.has_room(); })) {
            for (std::uint64_t spins = random.one_in(50) ? 20'000 : random.below(200); spins > 0;
                 --spins)
                sum += random.next();
            auto &entry = state_.entry(claim->sequence);
            const std::string text = text_of_batch(entry.input.begin, shape_.output_bytes_max);
            if (std::byte *room = area.reserve(text.size())) // without it the output is missed
                std::copy_n(bytes_of(text).data(), text.size(), room);
            area.commit(text.size());
            entry.result = {};
            entry.result.begin = claim->sequence;
            entry.result.output = area.finish({});
            claimer.done(*claim);
        }
        unused_.fetch_add(sum);
    }

    void coordinate() {
        ring::Publisher<ring::SystemAtomics> publisher(state_,
                                                       {shape_.look_ahead, shape_.input_bytes});
        ring::Retirer<ring::SystemAtomics> retirer(state_, shape_.order, false);
        Random random(1);
        bool ended = false;
        auto &event = state_.header().egress_event;
        for (;;) {
            while (publisher.published() < shape_.batches && publisher.may_publish(10)) {
                ring::BatchInput input;
                input.begin = publisher.published();
                publisher.publish(input, 10, std::uint16_t(random.below(shape_.nodes)));
            }
            publisher.flush();
            if (!ended && publisher.published() == shape_.batches) {
                publisher.end();
                ended = true;
            }
            const std::uint64_t left = retirer.retire(
                [this](std::uint64_t sequence, State::Entry &entry) {
                    return deliver(sequence, entry);
                });
            if (retirer.finished())
                return;
            if (left > 0)
                continue;
            const std::uint32_t ticket = event.prepare_wait();
            if (!retirer.prepare_target() || (!ended && publisher.wants_to_publish(10)))
                event.cancel_wait(ticket);
            else
                event.commit_wait(ticket, -1);
        }
    }

    bool deliver(std::uint64_t sequence, State::Entry &entry) {
        const std::uint32_t worker = ring::StateWord::unpack(entry.state.load()).worker;
        const auto view = outputs_->view(worker, entry.result.output);
        wrong_ += !view || entry.result.begin != sequence || entry.input.begin != sequence ||
                  text_of(view->output) != text_of_batch(sequence, shape_.output_bytes_max);
        wrong_ += shape_.order == RetireOrder::index && sequence != next_++;
        ++delivered_[sequence];
        outputs_->release(worker, entry.result.output);
        return true;
    }

    const Shape shape_;
    os::Mapping block_;
    State state_;
    std::vector<store::OutputMemory> memory_;
    std::optional<store::OutputReader> outputs_;
    std::vector<int> delivered_;
    std::uint64_t next_ = 0;
    std::uint64_t wrong_ = 0;
    std::atomic<std::uint64_t> unused_{0};
};

class RingStress : public testing::TestWithParam<Shape> {};

TEST_P(RingStress, delivers_every_batch_once) {
    Shape shape = GetParam();
    shape.batches /= test::kSanitizerCost;
    Stress stress(shape);
    stress.run();
    EXPECT_EQ(stress.wrong(), 0u);
    EXPECT_TRUE(stress.all_delivered());
}

INSTANTIATE_TEST_SUITE_P(
    all, RingStress,
    testing::Values(Shape{.name = "plain"},
                    Shape{.name = "one_worker", .workers = 1},
                    Shape{.name = "oversubscribed", .workers = 16, .look_ahead = 32},
                    Shape{.name = "small_ring", .workers = 8, .entries = 4, .look_ahead = 4},
                    Shape{.name = "ring_of_two", .workers = 3, .entries = 2, .look_ahead = 2},
                    Shape{.name = "nodes", .workers = 6, .nodes = 3, .look_ahead = 16},
                    Shape{.name = "starving", .workers = 4, .nodes = 2, .look_ahead = 32,
                          .output_bytes_max = 3000},
                    Shape{.name = "budget", .workers = 4, .look_ahead = 32, .input_bytes = 35},
                    Shape{.name = "order_none", .workers = 6, .entries = 16, .look_ahead = 16,
                          .order = RetireOrder::none},
                    Shape{.name = "order_none_starving", .workers = 6, .nodes = 2, .entries = 16,
                          .look_ahead = 16, .output_bytes_max = 2000,
                          .order = RetireOrder::none}),
    [](const auto &tested) { return tested.param.name; });

} // namespace
} // namespace gristmill
