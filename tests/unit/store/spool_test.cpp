// Slots: who holds one, how many there may be, and when the kernel has their memory back.
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/bytes.hpp"
#include "os/fd_io.hpp"
#include "store/spool.hpp"
#include "support/random.hpp"

#include "spool_slots.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace gristmill::store {
namespace {

TEST(Spool, slots_are_at_least_what_was_asked_for_in_whole_pages) {
    Spool spool = make(100);
    EXPECT_EQ(spool.capacity(take(spool, 1)), held_by(kSlot));
    EXPECT_EQ(spool.capacity(take(spool, kSlot)), held_by(kSlot));
    EXPECT_EQ(spool.capacity(take(spool, kSlot + 1)), held_by(kSlot + kPageBytes));
    const Spool odd = std::move(Spool::create(5000, kMiB).value());
    EXPECT_EQ(odd.slot_bytes(), held_by(2 * kPageBytes));
}

TEST(Spool, a_slot_lies_in_the_file_where_it_says_and_apart_from_others) {
    Spool spool = make(100);
    std::map<std::uint64_t, std::uint64_t> ranges;
    for (const std::uint64_t bytes : {kSlot, 3 * kSlot, kSlot, 2 * kSlot + 1, kSlot}) {
        const std::uint32_t slot = take(spool, bytes);
        fill(spool, slot);
        ranges[spool.offset(slot)] = spool.capacity(slot);
        std::memcpy(spool.data(slot), "here", 4);
        std::string found(4, '\0');
        os::pread_full(spool.fd(), {reinterpret_cast<std::byte *>(found.data()), 4},
                       spool.offset(slot));
        EXPECT_EQ(found, "here");
    }
    std::uint64_t end = 0;
    for (const auto &[offset, bytes] : ranges) {
        EXPECT_GE(offset, end);
        end = offset + bytes;
    }
}

TEST(Spool, no_more_than_the_limit_in_use) {
    Spool spool = make(4);
    std::vector<std::uint32_t> held;
    for (int i = 0; i < 4; ++i)
        held.push_back(take(spool));
    EXPECT_EQ(spool.bytes_in_use(), 4 * kSlot);
    EXPECT_TRUE(refused(spool, 1));
    EXPECT_EQ(spool.bytes_in_use(), 4 * kSlot) << "a refusal takes nothing";
    const std::uint32_t beyond = take(spool, kSlot, true);
    EXPECT_EQ(spool.bytes_in_use(), 5 * kSlot);
    spool.release(held[0]);
    EXPECT_TRUE(refused(spool)) << "what was taken beyond counts, too";
    spool.release(beyond);
    EXPECT_FALSE(refused(spool));
}

TEST(Spool, large_slots_count_as_what_they_are) {
    Spool spool = make(4);
    EXPECT_TRUE(refused(spool, 4 * kSlot + 1));
    const std::uint32_t large = take(spool, 3 * kSlot);
    EXPECT_EQ(spool.bytes_in_use(), 3 * kSlot);
    EXPECT_TRUE(refused(spool, 2 * kSlot));
    EXPECT_FALSE(refused(spool));
    spool.release(large);
    EXPECT_EQ(spool.bytes_in_use(), kSlot);
}

TEST(Spool, there_is_always_room_for_two_slots) {
    Spool spool = std::move(Spool::create(kSlot, 1).value());
    take(spool);
    take(spool);
    EXPECT_TRUE(refused(spool));
}

TEST(Spool, a_slot_is_free_when_its_last_holder_has_released_it) {
    Spool spool = make(2);
    const std::uint32_t other = take(spool);
    const std::uint32_t slot = take(spool);
    spool.hold(slot);
    spool.hold(slot);
    for (int holders = 3; holders > 0; --holders) {
        EXPECT_TRUE(refused(spool)) << holders;
        spool.release(slot);
    }
    EXPECT_EQ(take(spool), slot);
    EXPECT_NE(slot, other);
}

TEST(SpoolDeathTest, releasing_more_often_than_it_is_held_is_a_mistake) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Spool spool = make(2);
            const std::uint32_t slot = take(spool);
            spool.release(slot);
            spool.release(slot);
        },
        "");
}

TEST(Spool, the_slot_that_was_used_last_is_used_again) {
    Spool spool = make(4);
    const std::uint32_t first = take(spool);
    const std::uint32_t second = take(spool);
    spool.release(first);
    spool.release(second);
    EXPECT_EQ(take(spool), second);
    EXPECT_EQ(take(spool), first);
    EXPECT_EQ(spool.counters().slots, 2u);
}

TEST(Spool, a_large_slot_is_used_again_for_what_fills_half_of_it) {
    Spool spool = make(100);
    const std::uint32_t large = take(spool, 8 * kSlot);
    spool.release(large);
    EXPECT_NE(take(spool), large) << "usual ones have slots of their own";
    EXPECT_NE(take(spool, 4 * kSlot - kPageBytes), large) << "it would waste more than half";
    EXPECT_NE(take(spool, 8 * kSlot + 1), large) << "it is too small";
    const std::uint64_t made = spool.counters().slots;
    EXPECT_EQ(take(spool, 4 * kSlot), large);
    EXPECT_EQ(spool.counters().slots, made);
}

TEST(Spool, a_large_slot_used_again_keeps_to_the_limit) {
    Spool spool = make(16);
    const std::uint32_t large = take(spool, 8 * kSlot);
    spool.release(large);
    take(spool, 10 * kSlot);
    const auto slot = spool.acquire(5 * kSlot, false);
    ASSERT_TRUE(slot);
    EXPECT_LE(spool.bytes_in_use(), 16 * kSlot);
}

TEST(Spool, a_large_slot_loses_its_memory_at_once) {
    Spool spool = make(100);
    const std::uint32_t usual = take(spool);
    const std::uint32_t large = take(spool, 20 * kSlot);
    fill(spool, usual);
    fill(spool, large);
    EXPECT_EQ(resident(spool), 21 * kSlot);
    EXPECT_EQ(spool.counters().resident_bytes, 21 * kSlot);
    spool.release(large);
    EXPECT_EQ(resident(spool), kSlot);
    EXPECT_EQ(spool.counters().resident_bytes, kSlot);
    EXPECT_EQ(spool.counters().resident_bytes_max, 21 * kSlot);
    EXPECT_EQ(spool.counters().punched_bytes, 20 * kSlot);
    EXPECT_EQ(*spool.data(usual), std::byte{'x'}) << "others keep theirs";
    EXPECT_EQ(take(spool, 20 * kSlot), large);
    EXPECT_EQ(*spool.data(large), std::byte{0});
    EXPECT_EQ(spool.counters().resident_bytes, 21 * kSlot);
}

TEST(Spool, usual_slots_stay_warm_as_many_as_are_needed_at_a_time) {
    Spool spool = make(100);
    std::vector<std::uint32_t> held;
    for (int i = 0; i < 10; ++i)
        fill(spool, held.emplace_back(take(spool)));
    for (const std::uint32_t slot : held)
        spool.release(slot);
    EXPECT_EQ(resident(spool), 10 * kSlot) << "ten were needed a moment ago";
    EXPECT_EQ(spool.counters().punched_bytes, 0u);
    for (int i = 0; i < 1000; ++i) {
        const std::uint32_t slot = take(spool);
        fill(spool, slot);
        spool.release(slot);
    }
    EXPECT_EQ(resident(spool), kSlot) << "lately only one was";
    EXPECT_EQ(spool.counters().resident_bytes, kSlot);
    EXPECT_EQ(spool.counters().punched_bytes, 9 * kSlot);
    EXPECT_EQ(spool.counters().slots, 10u);
}

TEST(Spool, slots_in_use_are_part_of_what_is_kept_warm) {
    Spool spool = make(100);
    std::vector<std::uint32_t> held;
    for (int i = 0; i < 10; ++i)
        fill(spool, held.emplace_back(take(spool)));
    for (int i = 3; i < 10; ++i)
        spool.release(held[std::size_t(i)]);
    for (int i = 0; i < 1000; ++i) {
        const std::uint32_t slot = take(spool);
        fill(spool, slot);
        spool.release(slot);
    }
    EXPECT_EQ(resident(spool), 4 * kSlot) << "three in use, and one beside them";
}

TEST(Spool, memory_in_use_is_never_given_back) {
    Spool spool = make(100);
    std::vector<std::uint32_t> held;
    for (int i = 0; i < 8; ++i)
        fill(spool, held.emplace_back(take(spool)));
    for (int i = 0; i < 500; ++i) {
        const std::uint32_t slot = take(spool);
        spool.release(slot);
    }
    for (const std::uint32_t slot : held)
        EXPECT_EQ(text_of({spool.data(slot), spool.slot_bytes()}),
                  std::string(spool.slot_bytes(), 'x'));
}

TEST(Spool, what_is_present_may_be_stored_to_and_is_so_anew_after_it_was_given_back) {
    Spool spool = make(100);
    const std::uint32_t large = take(spool, 4 * kSlot);
    EXPECT_EQ(resident(spool), 0u) << "only read into as far as there is input";
    ASSERT_TRUE(spool.make_present(large));
    EXPECT_EQ(resident(spool), 4 * kSlot);
    ASSERT_TRUE(spool.make_present(large));
    spool.release(large);
    EXPECT_EQ(resident(spool), 0u);
    ASSERT_EQ(take(spool, 4 * kSlot), large);
    ASSERT_TRUE(spool.make_present(large));
    EXPECT_EQ(resident(spool), 4 * kSlot);
}

// A kernel that refuses to punch, as it does when the file is sealed against writing.
TEST(Spool, what_cannot_be_given_back_is_counted_and_stays_usable) {
    Spool spool = make(100);
    const std::uint32_t first = take(spool, 4 * kSlot);
    const std::uint32_t second = take(spool, 6 * kSlot);
    fill(spool, first);
    fill(spool, second);
    ASSERT_EQ(::fcntl(spool.fd(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    spool.release(first);
    spool.release(second);
    EXPECT_EQ(spool.counters().punches_failed, 1u) << "it is not tried again";
    EXPECT_EQ(spool.counters().punched_bytes, 0u);
    EXPECT_EQ(spool.counters().resident_bytes, 10 * kSlot);
    EXPECT_EQ(resident(spool), 10 * kSlot);
    EXPECT_EQ(take(spool, 4 * kSlot), first);
    EXPECT_EQ(spool.counters().resident_bytes, 10 * kSlot) << "it had memory all the time";
}

// A file that cannot grow: sealed against it.
TEST(Spool, without_memory_it_waits_for_others_or_fails) {
    Spool spool = make(100);
    const std::uint32_t slot = take(spool);
    ASSERT_EQ(::fcntl(spool.fd(), F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_TRUE(refused(spool)) << "one is in use, and will be free";
    const auto beyond = spool.acquire(kSlot, true);
    ASSERT_FALSE(beyond) << "nobody will release any";
    EXPECT_EQ(beyond.error().kind, ErrorKind::memory);
    spool.release(slot);
    EXPECT_EQ(take(spool), slot);
    spool.release(slot);
    const auto large = spool.acquire(2 * kSlot, false);
    ASSERT_FALSE(large) << "none is in use";
    EXPECT_EQ(large.error().kind, ErrorKind::memory);
    EXPECT_EQ(spool.bytes_in_use(), 0u);
    EXPECT_EQ(spool.counters().slots, 1u);
}

// Ends the child: 0 when acquiring gave an error in the end, after some slots.
[[noreturn]] void acquire_until_it_fails(int resource, rlim_t bytes) {
    Spool spool = make(100'000, kMiB);
    take(spool);
    rlimit limit{};
    ::getrlimit(resource, &limit);
    limit.rlim_cur = bytes;
    if (::setrlimit(resource, &limit) != 0)
        std::_Exit(2);
    for (int i = 0; i < 50'000; ++i)
        if (const auto slot = spool.acquire(kMiB, true); !slot)
            std::_Exit(i > 0 && slot.error().kind == ErrorKind::memory &&
                               spool.counters().slots == std::uint64_t(i) + 1
                           ? 0
                           : 3);
    std::_Exit(4);
}

TEST(SpoolDeathTest, a_limit_on_file_sizes_is_an_error) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            std::signal(SIGXFSZ, SIG_IGN); // as Python has it, and the worker program
            acquire_until_it_fails(RLIMIT_FSIZE, 16 * kMiB);
        },
        testing::ExitedWithCode(0), "");
}

TEST(SpoolDeathTest, a_limit_on_address_space_is_an_error) {
    if (test::kSanitizerCost > 1)
        GTEST_SKIP() << "the sanitizer's own address space is beyond any limit";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(acquire_until_it_fails(RLIMIT_AS, kMiB * kKiB), testing::ExitedWithCode(0), "");
}

// At random against what must hold at every time.
class SpoolModel {
  public:
    explicit SpoolModel(std::uint64_t seed) : random_(seed) {
        const std::uint64_t nodes = random_.between(1, 5);
        for (std::uint64_t node = 0; node < nodes; ++node)
            workers_.push_back(static_cast<std::uint32_t>(random_.below(4)));
        in_use_.resize(nodes);
        spool_ = make_for(workers_, 20);
    }

    void step() {
        if (!held_.empty() && random_.one_in(2)) {
            auto found = std::next(held_.begin(), std::ptrdiff_t(random_.below(held_.size())));
            if (random_.one_in(4)) {
                spool_.hold(found->first);
                ++found->second;
                return;
            }
            spool_.release(found->first);
            if (--found->second == 0) {
                in_use_[spool_.node(found->first)] -= bytes_of_slot(found->first);
                held_.erase(found);
            }
            return;
        }
        const std::uint64_t bytes =
            random_.one_in(3) ? random_.between(1, 6 * kSlot) : random_.between(1, kSlot);
        const auto slot = spool_.acquire(bytes, false);
        ASSERT_TRUE(slot);
        if (!*slot)
            return;
        ASSERT_FALSE(held_.contains(**slot)) << "somebody has it";
        ASSERT_GE(spool_.capacity(**slot), bytes);
        check_home(spool_.node(**slot));
        in_use_[spool_.node(**slot)] += bytes_of_slot(**slot);
        held_[**slot] = 1;
        spool_.data(**slot)[0] = std::byte(**slot);
        touched_.insert(**slot);
    }

    void check() {
        std::uint64_t bytes = 0;
        for (const auto &[slot, holders] : held_) {
            bytes += bytes_of_slot(slot);
            ASSERT_EQ(spool_.data(slot)[0], std::byte(slot));
        }
        ASSERT_EQ(spool_.bytes_in_use(), bytes);
        ASSERT_GE(spool_.counters().resident_bytes, bytes);
        ASSERT_LE(resident(spool_), spool_.counters().resident_bytes);
        ASSERT_GE(spool_.counters().resident_bytes_max, spool_.counters().resident_bytes);
        ASSERT_EQ(spool_.counters().slots, touched_.size());
    }

  private:
    std::uint64_t bytes_of_slot(std::uint32_t slot) const {
        return spool_.capacity(slot) + GM_BATCH_PADDING;
    }
    double backlog(std::uint32_t node) const {
        return double(in_use_[node]) / double(workers_[node]);
    }
    // None with workers has less for each of them.
    void check_home(std::uint32_t home) const {
        for (std::uint32_t node = 0; node < workers_.size(); ++node)
            if (workers_[node] > 0) {
                ASSERT_GT(workers_[home], 0u);
                ASSERT_LE(backlog(home), backlog(node) + 1e-6);
            }
    }

    test::Random random_;
    std::vector<std::uint32_t> workers_; // by node
    std::vector<std::uint64_t> in_use_;  // the same
    Spool spool_ = make(20);
    std::map<std::uint32_t, std::uint32_t> held_; // by whom
    std::set<std::uint32_t> touched_;
};

TEST(Spool, at_random) {
    const test::SeedRange seeds(20);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        SCOPED_TRACE(test::replay(seed));
        SpoolModel model(seed);
        for (int step = 0; step < 2000 && !testing::Test::HasFailure(); ++step) {
            model.step();
            model.check();
        }
    }
}

} // namespace
} // namespace gristmill::store
