#include "support/deterministic_scheduler.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gristmill::test {

namespace {
Scheduler *running = nullptr;
}

Scheduler::Scheduler() : home_(Fiber::OfThread{}) {}

Scheduler *Scheduler::active() { return running; }

void Scheduler::start(std::uint64_t seed, const std::vector<Actor> &actors) {
    random_ = Random(seed * 0x2545f4914f6cdd1du + 1);
    count_ = static_cast<std::uint32_t>(actors.size());
    if (tasks_.size() < count_)
        tasks_.resize(count_);
    actor_names_.clear();
    actors_ = &actors;
    alarm_ = 0;
    steps_ = noted_ = 0;
    locations_ = 0;
    fence_view_ = {};
    lowest_ = 0;
    std::string().swap(failure_); // its memory, too: fail() must leave nothing behind
    drops_.clear();
    // Two ways of choosing: at random, or by priorities with a few surprises (Burckhardt et al.,
    // "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs").
    static constexpr std::uint64_t kSwitchOneIn[] = {0, 1, 2, 4, 16};
    switch_one_in_ = kSwitchOneIn[random_.below(std::size(kSwitchOneIn))];
    for (std::uint64_t drops = random_.between(1, 8); drops > 0; --drops)
        drops_.push_back(random_.below(1000));
    for (std::uint32_t i = 0; i < count_; ++i) {
        Task &task = tasks_[i];
        if (!task.fiber)
            task.fiber = std::make_unique<Fiber>();
        actor_names_.push_back(actors[i].name);
        task.view = {};
        begin_body(i);
    }
}

void Scheduler::begin_body(std::uint32_t actor) {
    Task &task = tasks_[actor];
    task.state = State::ready;
    task.priority = 1'000'000 + random_.below(1'000'000);
    task.fiber->begin([this, body = &(*actors_)[actor].body] {
        (*body)();
        end_of_actor();
    });
}

void Scheduler::revive(std::uint32_t actor) {
    tasks_[actor].view = view();
    begin_body(actor);
}

void Scheduler::sleep_until_alarm(std::uint64_t within) {
    alarm_ = steps_ + 1 + random_.below(within);
    sleep(&alarm_);
}

std::string Scheduler::run(std::uint64_t seed, const std::vector<Actor> &actors) {
    start(seed, actors);
    running = this;
    current_ = pick();
    Fiber::switch_to(home_, *tasks_[current_].fiber);
    running = nullptr;
    current_ = kNobody;
    return failure_;
}

void Scheduler::end_of_actor() {
    tasks_[current_].state = State::ended;
    go_on();
    std::abort(); // an ended actor is never picked
}

void Scheduler::point() {
    if (++steps_ > steps_max)
        fail("livelock: no end after " + std::to_string(steps_max) + " steps");
    if (steps_ == alarm_)
        wake(&alarm_);
    if (switch_one_in_ > 0) {
        if (!random_.one_in(switch_one_in_))
            return;
    } else if (std::find(drops_.begin(), drops_.end(), steps_) != drops_.end()) {
        tasks_[current_].priority = ++lowest_;
    }
    go_on();
}

std::uint32_t Scheduler::pick_any(State state) {
    std::uint32_t found = kNobody;
    std::uint64_t seen = 0;
    for (std::uint32_t i = 0; i < count_; ++i)
        if (tasks_[i].state == state && random_.one_in(++seen))
            found = i;
    return found;
}

std::uint32_t Scheduler::pick() {
    if (switch_one_in_ > 0)
        return pick_any(State::ready);
    std::uint32_t found = kNobody;
    for (std::uint32_t i = 0; i < count_; ++i)
        if (tasks_[i].state == State::ready &&
            (found == kNobody || tasks_[i].priority > tasks_[found].priority))
            found = i;
    return found;
}

void Scheduler::go_on() {
    std::uint32_t next = pick();
    if (next == kNobody && pick_any(State::working) != kNobody) {
        if (when_idle)
            when_idle();
        next = pick_any(State::working);
        tasks_[next].state = State::ready;
    }
    if (next != kNobody)
        return go_to(next);
    const auto ended = [](const Task &task) { return task.state == State::ended; };
    if (!std::all_of(tasks_.begin(), tasks_.begin() + count_, ended))
        fail("deadlock: everybody who has not ended sleeps");
    Fiber::switch_to(*tasks_[current_].fiber, home_);
}

void Scheduler::go_to(std::uint32_t next) {
    if (next == current_)
        return;
    Fiber &from = *tasks_[current_].fiber;
    current_ = next;
    Fiber::switch_to(from, *tasks_[next].fiber);
}

// Whoever calls this is never left: nothing of its may be left to free.
void Scheduler::fail(std::string what) {
    failure_ = std::move(what);
    failure_ += "\n" + trace();
    Fiber::switch_to(*tasks_[current_].fiber, home_);
    std::abort(); // the run is over
}

void Scheduler::sleep(const void *address) {
    tasks_[current_].state = State::asleep;
    tasks_[current_].address = address;
    go_on();
}

void Scheduler::wake(const void *address) {
    for (std::uint32_t i = 0; i < count_; ++i)
        if (tasks_[i].state == State::asleep && tasks_[i].address == address)
            tasks_[i].state = State::ready;
}

void Scheduler::work() {
    mark("works");
    tasks_[current_].state = State::working;
    go_on();
}

std::uint32_t Scheduler::new_location() {
    if (++locations_ >= View::kLocations)
        fail("too many weakly ordered locations: raise View::kLocations");
    return locations_;
}

void Scheduler::note(Step step) {
    step.actor = current_;
    trace_[noted_++ % kTraceSteps] = step;
}

void Scheduler::mark(const char *text) { note({.op = Op::mark, .address = text}); }

std::string Scheduler::value_text(const Step &step, std::uint64_t value) const {
    const auto found = names_.find(step.address);
    if (found != names_.end() && found->second.value)
        return found->second.value(value);
    return std::to_string(static_cast<std::int64_t>(value));
}

std::string Scheduler::describe(const Step &step) const {
    if (step.op == Op::mark)
        return static_cast<const char *>(step.address);
    if (step.op == Op::fence)
        return "fence";
    const auto found = names_.find(step.address);
    const std::string name = found != names_.end() ? found->second.text : "?";
    const std::string before = value_text(step, step.before);
    const std::string after = value_text(step, step.after);
    switch (step.op) {
    case Op::load:
        return name + " is " + before;
    case Op::store:
        return name + " := " + after;
    case Op::exchange:
        return name + ": " + before +
               (step.succeeded ? " -> " + after : " is not what was expected");
    case Op::add:
        return name + ": " + before + " -> " + after;
    case Op::sleep:
        return "sleeps on " + name + " = " + before;
    case Op::no_sleep:
        return "does not sleep on " + name + " = " + before;
    case Op::wake:
        return "wakes sleepers of " + name;
    default:
        return "?";
    }
}

std::string Scheduler::trace() const {
    static constexpr const char *kStates[] = {"ready", "asleep", "working", "ended"};
    std::string text = "actors:";
    for (std::uint32_t i = 0; i < count_; ++i)
        text += " " + actor_names_[i] + "=" + kStates[std::size_t(tasks_[i].state)];
    text += "\nlast steps:\n";
    const std::uint64_t first = noted_ > kTraceSteps ? noted_ - kTraceSteps : 0;
    for (std::uint64_t i = first; i < noted_; ++i) {
        const Step &step = trace_[i % kTraceSteps];
        text += "  " + std::to_string(i) + " " + actor_names_[step.actor] + ": " + describe(step) +
                "\n";
    }
    return text;
}

} // namespace gristmill::test
