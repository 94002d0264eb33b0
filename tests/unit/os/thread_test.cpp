#include <atomic>
#include <csignal>
#include <pthread.h>
#include <sched.h>
#include <string>

#include <gtest/gtest.h>

#include "os/futex.hpp"
#include "os/thread.hpp"

namespace gristmill::os {
namespace {

TEST(Thread, is_named_pinned_and_joined) {
    std::string name;
    int cpu = -1;
    cpu_set_t allowed;
    ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
    std::uint32_t first = 0;
    while (!CPU_ISSET(first, &allowed))
        ++first;
    {
        const auto thread = Thread::start("gristmill/worker/17", first, [&] {
            char text[16];
            ::pthread_getname_np(::pthread_self(), text, sizeof text);
            name = text;
            cpu = ::sched_getcpu();
        });
        ASSERT_TRUE(thread);
    }
    EXPECT_EQ(name, "gristmill/worke");
    EXPECT_EQ(cpu, int(first));
}

TEST(Thread, a_cpu_that_does_not_exist_is_ignored) {
    bool ran = false;
    { ASSERT_TRUE(Thread::start("test", 100'000, [&] { ran = true; })); }
    EXPECT_TRUE(ran);
}

TEST(Thread, signals_are_blocked_in_it_and_not_here) {
    sigset_t before;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    bool interrupt = false;
    bool fault = true;
    {
        ASSERT_TRUE(Thread::start("test", {}, [&] {
            sigset_t inside;
            ::pthread_sigmask(SIG_SETMASK, nullptr, &inside);
            interrupt = sigismember(&inside, SIGINT) == 1;
            fault = sigismember(&inside, SIGSEGV) == 1;
        }));
    }
    EXPECT_TRUE(interrupt);
    EXPECT_FALSE(fault);
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
}

TEST(Futex, returns_at_once_when_the_word_is_another) {
    const std::atomic<std::uint32_t> word{5};
    EXPECT_EQ(futex_wait(&word, 4, -1), FutexWait::changed);
    EXPECT_EQ(futex_wait(&word, 5, 1'000'000), FutexWait::timed_out);
    futex_wake_all(&word);
}

TEST(Futex, wakes_everybody) {
    std::atomic<std::uint32_t> word{0};
    std::atomic<std::uint32_t> woken{0};
    {
        std::vector<Thread> threads;
        for (int i = 0; i < 3; ++i)
            threads.push_back(std::move(Thread::start("waiter", {}, [&] {
                                            while (word.load() == 0)
                                                futex_wait(&word, 0, -1);
                                            woken.fetch_add(1);
                                        }).value()));
        word.store(1);
        futex_wake_all(&word);
    }
    EXPECT_EQ(woken.load(), 3u);
}

} // namespace
} // namespace gristmill::os
