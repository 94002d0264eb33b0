// Runs actors one step at a time, in an order that a seed decides: every interleaving of their
// atomic operations can happen, and any of them can be had again.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "support/fiber.hpp"
#include "support/random.hpp"

namespace gristmill::test {

// Which messages of weakly ordered locations an actor has to know of: timestamps by location.
struct View {
    static constexpr std::size_t kLocations = 16;
    std::array<std::uint32_t, kLocations> at{};
    void join(const View &other) {
        for (std::size_t i = 0; i < kLocations; ++i)
            at[i] = at[i] < other.at[i] ? other.at[i] : at[i];
    }
};

enum class Op : std::uint8_t { load, store, exchange, add, fence, sleep, wake, no_sleep, mark };

// One step, as it is kept for the trace.
struct Step {
    Op op = Op::mark;
    bool succeeded = true;         // exchange
    const void *address = nullptr; // mark: a text
    std::uint64_t before = 0;
    std::uint64_t after = 0;
    std::uint32_t actor = 0;
};

// How an address is called in traces, and how its values are written.
struct Name {
    std::string text;
    std::string (*value)(std::uint64_t) = nullptr; // nullptr: as a number
};

struct Actor {
    std::string name;
    std::function<void()> body; // owns nothing on its stack: it may be left in the middle
};

// Threads: one at a time.
class Scheduler {
  public:
    Scheduler();

    // The one that is running actors, or nullptr: then operations are carried out at once.
    static Scheduler *active();

    // Runs the actors until all have ended, or something fails. Empty: all went well; otherwise
    // what failed, and the last steps.
    std::string run(std::uint64_t seed, const std::vector<Actor> &actors);

    // Called when nobody can go on but actors inside work(): may fail().
    std::function<void()> when_idle;
    std::uint64_t steps_max = 100'000; // more are a livelock
    bool signals = true;               // may end a sleep for no reason
    void name(const void *address, Name name) { names_[address] = std::move(name); }

    // By actors, or by the code they run:
    void point();                // somebody else may go on here
    void note(Step step);        // a step for the trace
    void mark(const char *text); // likewise; `text` is a literal
    [[noreturn]] void fail(std::string what); // ends the run
    void sleep(const void *address); // until wake() of the same address
    void wake(const void *address);
    void work(); // goes on when nobody else can
    // Another actor ends where it is, or begins anew, knowing what this one knows.
    void kill(std::uint32_t actor) { tasks_[actor].state = State::ended; }
    void revive(std::uint32_t actor);
    bool has_ended(std::uint32_t actor) const { return tasks_[actor].state == State::ended; }
    // Sleeps until a later step of the run, a random one among the next `within`, or wake_early().
    void sleep_until_alarm(std::uint64_t within);
    void wake_early() { wake(&alarm_); }
    bool is_asleep(std::uint32_t actor) const { return tasks_[actor].state == State::asleep; }
    Random &random() { return random_; }
    View &view() { return tasks_[current_].view; }
    View &fence_view() { return fence_view_; }
    std::uint32_t new_location();

  private:
    enum class State : std::uint8_t { ready, asleep, working, ended };
    struct Task {
        std::unique_ptr<Fiber> fiber;
        State state = State::ended;
        const void *address = nullptr;
        std::uint64_t priority = 0;
        View view{};
        bool left = false; // in the middle of a body
    };
    void begin_body(std::uint32_t actor);
    void start(std::uint64_t seed, const std::vector<Actor> &actors);
    void go_on(); // picks the next actor and switches to it
    std::uint32_t pick();
    std::uint32_t pick_any(State state);
    void go_to(std::uint32_t next);
    void end_of_actor();
    std::string trace() const;
    std::string describe(const Step &step) const;
    std::string value_text(const Step &step, std::uint64_t value) const;

    static constexpr std::size_t kTraceSteps = 80;
    static constexpr std::uint32_t kNobody = ~0u;
    Fiber home_;
    std::vector<Task> tasks_;
    std::vector<std::string> actor_names_;
    std::uint32_t current_ = kNobody;
    std::uint32_t count_ = 0;
    const std::vector<Actor> *actors_ = nullptr; // of the run
    std::uint64_t alarm_ = 0;                    // the step at which sleepers of it wake; 0: none
    Random random_{0};
    std::uint64_t steps_ = 0;
    std::uint64_t switch_one_in_ = 1; // 0: by priorities
    std::vector<std::uint64_t> drops_; // steps at which the running actor falls to the end
    std::uint64_t lowest_ = 0;
    View fence_view_{};
    std::uint32_t locations_ = 0;
    std::array<Step, kTraceSteps> trace_{};
    std::uint64_t noted_ = 0;
    std::unordered_map<const void *, Name> names_;
    std::string failure_;
};

} // namespace gristmill::test
