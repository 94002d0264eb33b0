// The world of ring_world.hpp with workers that die, at any step: whoever reaps them says so, the
// supervisor gives back what they held and puts another into the slot.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ring/reclaimer.hpp"
#include "unit/ring/ring_world.hpp"

namespace gristmill::test {

template <class Rules = ring::AllRules>
class MortalWorld final : public RingWorld<Rules> {
    using Base = RingWorld<Rules>;
    using State = typename Base::State;
    using Atomics = typename Base::Atomics;
    using Base::scheduler_, Base::shape_, Base::state_, Base::workers_;

  public:
    using Base::Base;

    std::uint64_t deaths() const { return deaths_; }         // of all runs
    std::uint64_t given_back() const { return given_back_; } // batches

  protected:
    struct Life {
        std::uint16_t incarnation = 0;
        bool alive = true;
        std::uint64_t ring_reach = 0; // of what was retired
        std::uint64_t overflow_reach = 0;
    };

    void begin() override {
        Base::begin();
        lives_.assign(shape_.workers, {});
        exits_seen_ = 0;
        over_ = false;
        scheduler_.name(&state_->header().exits, {"exits"});
        scheduler_.name(&state_->header().reclaims, {"reclaims"});
    }

    void add_actors(std::vector<Actor> &actors) override {
        actors.push_back({"reaper", [this] { reap_all(); }});
    }

    // --- reaper ------------------------------------------------------------------------------

    void reap_all() {
        for (std::uint32_t death = 0; death < shape_.deaths && !over_; ++death) {
            scheduler_.sleep_until_alarm(60 * shape_.batches);
            if (!over_)
                kill_one();
        }
    }

    void kill_one() {
        const auto worker = static_cast<std::uint32_t>(scheduler_.random().below(shape_.workers));
        const std::uint32_t actor = this->first_worker_actor_ + worker;
        if (scheduler_.has_ended(actor))
            return;
        scheduler_.mark(worker == 0   ? "kills worker 0"
                        : worker == 1 ? "kills worker 1"
                                      : "kills worker 2");
        if (shape_.reclaims_only_reported)
            scheduler_.kill(actor);
        ++deaths_;
        auto &h = state_->header();
        state_->slot(worker).exit.store(
            ring::ExitReport{true, lives_[worker].incarnation, 9}.pack());
        h.exits.fetch_add(1);
        if (shape_.report_wakes_always)
            h.egress_event.notify_after_death();
        else
            h.egress_event.notify();
    }

    // --- supervisor --------------------------------------------------------------------------

    bool news() const override { return state_->header().exits.load() != exits_seen_; }

    void supervise() override {
        if (!news())
            return;
        exits_seen_ = state_->header().exits.load();
        for (std::uint32_t i = 0; i < shape_.workers; ++i) {
            const auto report = ring::ExitReport::unpack(state_->slot(i).exit.load());
            if (lives_[i].alive && report.exited && report.incarnation == lives_[i].incarnation)
                replace(i);
        }
    }

    void replace(std::uint32_t worker) {
        Life &life = lives_[worker];
        life.alive = false;
        ring::Reclaimer<Atomics, Rules> reclaimer(*state_);
        given_back_ += reclaimer.reclaim(
            worker, life.incarnation, [&](std::uint64_t sequence, typename State::Entry &entry) {
                if (entry.input.begin != sequence)
                    scheduler_.fail("another batch is given back than was held");
            });
        if (!shape_.reclaims_only_reported) { // it lives, and does not know
            life.alive = true;
            return;
        }
        if (state_->header().over.load())
            return;
        if (shape_.ring_cells > 0)
            restart_output(worker);
        ++life.incarnation;
        life.alive = true;
        state_->slot(worker).acknowledged.store(0);
        auto &mine = workers_[worker];
        mine.claimer = std::make_unique<ring::Claimer<Atomics, Rules>>(
            *state_, worker, life.incarnation, worker % this->shape_.nodes);
        scheduler_.revive(this->first_worker_actor_ + worker);
    }

    // As ProcessPool::set_output_starts().
    void restart_output(std::uint32_t worker) {
        const Life &life = lives_[worker];
        std::uint64_t ring = shape_.starts_behind_retired ? life.ring_reach : 0;
        std::uint64_t overflow = shape_.starts_behind_retired ? life.overflow_reach : 0;
        auto &h = state_->header();
        for (std::uint64_t s = h.head.load(); s < h.published.load(); ++s) {
            const auto word = ring::StateWord::unpack(state_->entry(s).state.load());
            if (word.state != ring::EntryState::done || word.worker != worker ||
                word.lap != state_->lap(s))
                continue;
            const OutputLocation &output = state_->entry(s).result.output;
            if (output.place == OutputPlace::ring)
                ring = std::max(ring, output.end);
            else
                overflow = std::max(overflow, output.end);
        }
        auto &slot = state_->slot(worker);
        if (!shape_.starts_behind_retired) { // the tail, at least
            ring = std::max(ring, slot.ring_released.load());
            overflow = std::max(overflow, slot.overflow_released.load());
        }
        workers_[worker].output->restart(ring, overflow);
    }

    void was_retired(std::uint32_t worker, const OutputLocation &output) override {
        std::uint64_t &reach = output.place == OutputPlace::ring ? lives_[worker].ring_reach
                                                                 : lives_[worker].overflow_reach;
        reach = std::max(reach, output.end);
    }

    bool has_left(std::uint32_t worker) const override {
        return !lives_[worker].alive || Base::has_left(worker);
    }

    void at_end() override {
        over_ = true;
        scheduler_.wake_early();
    }

  private:
    std::vector<Life> lives_;
    std::uint32_t exits_seen_ = 0;
    bool over_ = false;
    std::uint64_t deaths_ = 0;
    std::uint64_t given_back_ = 0;
};

} // namespace gristmill::test
