// Invariant I1: whoever announced a wait before the news is woken by the notify() behind it.
#include <string>

#include <gtest/gtest.h>

#include "ring/event_count.hpp"
#include "support/deterministic_atomics.hpp"

namespace gristmill::test {
namespace {

// `rounds` pieces of news go from one actor to each of `waiters` others, who sleep between them.
template <bool Fences>
std::string pass_news(Scheduler &scheduler, std::uint64_t seed, std::uint32_t waiters,
                      std::uint32_t rounds) {
    using Atomics = DeterministicAtomics<Fences>;
    ring::EventCount<Atomics> event;
    DeterministicAtomic<std::uint32_t> news{0};
    scheduler.name(&event, {"event"});
    scheduler.name(&news, {"news"});
    std::vector<Actor> actors{{"notifier", [&] {
                                   for (std::uint32_t round = 0; round < rounds; ++round) {
                                       news.fetch_add(1);
                                       event.notify();
                                   }
                               }}};
    for (std::uint32_t i = 0; i < waiters; ++i)
        actors.push_back({"waiter" + std::to_string(i), [&] {
                              while (news.load() < rounds) {
                                  const std::uint32_t ticket = event.prepare_wait();
                                  if (news.load() >= rounds) {
                                      if (waiters == 1)
                                          event.cancel_wait(ticket);
                                  } else {
                                      event.commit_wait(ticket, -1);
                                  }
                              }
                          }});
    return scheduler.run(seed, actors);
}

TEST(EventCount, loses_no_news) {
    Scheduler scheduler;
    const SeedRange seeds(4000);
    for (const std::uint32_t waiters : {1u, 2u, 3u})
        for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed)
            ASSERT_EQ(pass_news<true>(scheduler, seed, waiters, 3), "") << replay(seed);
}

TEST(EventCount, needs_its_fences) {
    Scheduler scheduler;
    for (std::uint64_t seed = 1; seed < 30'000; ++seed)
        if (!pass_news<false>(scheduler, seed, 1, 2).empty())
            return;
    ADD_FAILURE() << "no seed misses the fences";
}

TEST(EventCount, costs_nothing_when_nobody_waits) {
    ring::EventCount<ring::SystemAtomics> event;
    EXPECT_FALSE(event.has_waiter());
    event.notify();
    const std::uint32_t ticket = event.prepare_wait();
    EXPECT_TRUE(event.has_waiter());
    event.cancel_wait(ticket);
    EXPECT_FALSE(event.has_waiter());
}

TEST(EventCount, a_notify_after_the_ticket_is_not_slept_over) {
    ring::EventCount<ring::SystemAtomics> event;
    const std::uint32_t ticket = event.prepare_wait();
    event.notify();
    EXPECT_FALSE(event.has_waiter());
    EXPECT_EQ(event.commit_wait(ticket, -1), ring::Wake::notified);
}

// A notifier that took the announcement and died left the sleeper asleep; only the notification
// after a death reaches it.
std::string die_before_the_wake(Scheduler &scheduler, std::uint64_t seed, bool after_death) {
    using Atomics = DeterministicAtomics<true>;
    ring::EventCount<Atomics> event;
    DeterministicAtomic<std::uint32_t> news{0};
    const std::vector<Actor> actors{
        {"notifier", [&] {
             news.store(1);
             event.notify();
         }},
        {"waiter", [&] {
             while (!news.load()) {
                 const std::uint32_t ticket = event.prepare_wait();
                 if (news.load())
                     event.cancel_wait(ticket);
                 else
                     event.commit_wait(ticket, -1);
             }
         }},
        {"reaper", [&] {
             for (std::uint64_t steps = scheduler.random().below(16); steps > 0; --steps)
                 scheduler.point();
             scheduler.kill(0);
             news.store(1);
             if (after_death)
                 event.notify_after_death();
             else
                 event.notify();
         }}};
    scheduler.signals = false;
    return scheduler.run(seed, actors);
}

TEST(EventCount, loses_no_news_to_a_death) {
    Scheduler scheduler;
    const SeedRange seeds(8000);
    bool missed = false;
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        ASSERT_EQ(die_before_the_wake(scheduler, seed, true), "") << replay(seed);
        missed = missed || !die_before_the_wake(scheduler, seed, false).empty();
    }
    EXPECT_TRUE(missed) << "an ordinary notification would do";
}

TEST(EventCount, times_out) {
    ring::EventCount<ring::SystemAtomics> event;
    EXPECT_EQ(event.commit_wait(event.prepare_wait(), 1), ring::Wake::timed_out);
}

} // namespace
} // namespace gristmill::test
