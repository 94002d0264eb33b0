// The output ring against a model: whatever is written comes out again, in any order of release,
// and nothing that is not released is overwritten (invariants I10, I11).
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/output_reader.hpp"
#include "store/output_ring.hpp"
#include "support/random.hpp"

namespace gristmill::store {
namespace {

// One worker's output, and egress beside it.
class OutputPair {
  public:
    OutputPair(std::uint64_t ring_bytes, bool mirrored)
        : memory_(one(ring_bytes, mirrored)), area_(memory_[0], ring_released_, overflow_released_),
          reader_(places(memory_), {{&ring_released_, &overflow_released_}}) {}

    RingArea &area() { return area_; }
    OutputReader &reader() { return reader_; }
    const OutputMemory &memory() const { return memory_[0]; }
    std::uint64_t ring_released() const { return ring_released_.load(); }

    // Writes one piece; false: no memory.
    bool write(const std::string &text, std::uint64_t reserved = 0) {
        std::byte *room = area_.reserve(std::max<std::uint64_t>(reserved, text.size()));
        if (!room)
            return false;
        std::copy_n(bytes_of(text).data(), text.size(), room);
        return area_.commit(text.size());
    }

  private:
    static OutputPlaces places(std::vector<OutputMemory> &rings) {
        OutputPlaces places;
        places.rings = &rings;
        return places;
    }
    static std::vector<OutputMemory> one(std::uint64_t ring_bytes, bool mirrored) {
        std::vector<OutputMemory> memory;
        memory.push_back(std::move(OutputMemory::create(ring_bytes, mirrored).value()));
        return memory;
    }
    std::atomic<std::uint64_t> ring_released_{0};
    std::atomic<std::uint64_t> overflow_released_{0};
    std::vector<OutputMemory> memory_;
    RingArea area_;
    OutputReader reader_;
};

struct Written {
    OutputLocation location;
    std::string content;
};

class Model {
  public:
    Model(std::uint64_t seed, bool mirrored)
        : random_(seed), pair_(4096, mirrored), mirrored_(mirrored) {}

    // Empty: all went well.
    std::string run() {
        const std::uint64_t usual = random_.between(1, 3000);
        for (int step = 0; step < 60; ++step) {
            const bool write = live_.empty() || (live_.size() < 6 && random_.one_in(2));
            const std::string wrong = write ? write_batch(usual) : release_one();
            if (!wrong.empty())
                return "step " + std::to_string(step) + ": " + wrong;
        }
        while (!live_.empty())
            if (const std::string wrong = release_one(); !wrong.empty())
                return wrong;
        const bool room = pair_.area().has_room();
        return room ? "" : "no room although all is released";
    }

  private:
    std::string random_text(std::uint64_t bytes) {
        std::string text(bytes, '\0');
        for (char &byte : text)
            byte = static_cast<char>(random_.next());
        return text;
    }

    // Most that the ring can take in one piece now.
    std::uint64_t largest() const {
        const std::uint64_t ring = pair_.memory().ring_bytes;
        const std::uint64_t free = ring - (taken_ - pair_.ring_released());
        const std::uint64_t to_end = ring - taken_ % ring;
        if (mirrored_)
            return free;
        return std::max(std::min(free, to_end), free > to_end ? free - to_end : 0);
    }

    std::string write_batch(std::uint64_t usual) {
        const std::uint64_t room = largest();
        std::uint64_t needed = 0;
        std::string content;
        if (random_.one_in(8)) { // starts over once
            needed = random_.below(2 * usual);
            if (!pair_.write(random_text(needed)))
                return "no memory";
            pair_.area().abandon();
        }
        for (std::uint64_t pieces = random_.below(5); pieces > 0; --pieces) {
            const std::string piece = random_text(random_.below(usual + 1));
            const std::uint64_t reserved =
                random_.one_in(4) ? piece.size() + random_.below(usual) : piece.size();
            needed = std::max(needed, content.size() + reserved);
            if (!pair_.write(piece, reserved))
                return "no memory";
            content += piece;
        }
        if (text_of(pair_.area().committed()) != content)
            return "what is committed is not what was written";
        const std::uint64_t fault_bytes = random_.below(content.size() + 1);
        return check_finished(pair_.area().finish({0, fault_bytes}), content, fault_bytes,
                              needed <= room);
    }

    std::string check_finished(const OutputLocation &location, const std::string &content,
                               std::uint64_t fault_bytes, bool fits) {
        if (location.bytes + location.fault_bytes != content.size() ||
            location.fault_bytes != fault_bytes)
            return "wrong sizes";
        const OutputPlace expected = content.empty() ? OutputPlace::none
                                     : fits          ? OutputPlace::ring
                                                     : OutputPlace::overflow;
        if (location.place != expected)
            return "went to place " + std::to_string(int(location.place)) + ", not " +
                   std::to_string(int(expected));
        if (location.place == OutputPlace::ring) {
            if (location.begin != taken_ || location.data < location.begin ||
                location.end != location.data + content.size())
                return "positions are not contiguous";
            taken_ = location.end;
            if (taken_ - pair_.ring_released() > pair_.memory().ring_bytes)
                return "more is taken than the ring holds";
        }
        if (!content.empty())
            live_.push_back({location, content});
        return "";
    }

    std::string release_one() {
        const std::size_t which = random_.below(live_.size());
        const Written written = live_[which];
        live_.erase(live_.begin() + std::ptrdiff_t(which));
        const auto view = pair_.reader().view(0, written.location);
        if (!view)
            return "cannot be viewed";
        const std::string seen = std::string(text_of(view->output)) +
                                 std::string(text_of(view->faults));
        if (seen != written.content || view->faults.size() != written.location.fault_bytes)
            return "output was overwritten";
        pair_.reader().release(0, written.location);
        return "";
    }

    test::Random random_;
    OutputPair pair_;
    const bool mirrored_;
    std::uint64_t taken_ = 0;
    std::vector<Written> live_;
};

class RingAreas : public testing::TestWithParam<bool> {};

TEST_P(RingAreas, keep_what_is_written) {
#if defined(__SANITIZE_THREAD__)
    if (GetParam())
        GTEST_SKIP() << "rings are not mirrored under ThreadSanitizer";
#endif
    const test::SeedRange seeds(2000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        Model model(seed, GetParam());
        ASSERT_EQ(model.run(), "") << test::replay(seed);
    }
}

INSTANTIATE_TEST_SUITE_P(both, RingAreas, testing::Bool(), [](const auto &tested) {
    return tested.param ? "mirrored" : "unmirrored";
});

TEST(RingArea, commits_no_more_than_was_reserved) {
    OutputPair pair(4096, false);
    ASSERT_NE(pair.area().reserve(10), nullptr);
    EXPECT_FALSE(pair.area().commit(11));
    EXPECT_TRUE(pair.area().commit(10));
    EXPECT_FALSE(pair.area().commit(1)) << "a reservation is good for one commit";
    EXPECT_TRUE(pair.area().commit(0));
}

TEST(RingArea, asks_for_room_for_the_recent_largest_output) {
    OutputPair pair(4096, true);
    EXPECT_TRUE(pair.area().has_room());
    ASSERT_TRUE(pair.write(std::string(1500, 'x')));
    const OutputLocation first = pair.area().finish({});
    EXPECT_TRUE(pair.area().has_room());
    ASSERT_TRUE(pair.write(std::string(1500, 'y')));
    const OutputLocation second = pair.area().finish({});
    EXPECT_FALSE(pair.area().has_room()) << "1096 bytes are free, the largest had 1500";
    pair.reader().release(0, second);
    EXPECT_FALSE(pair.area().has_room()) << "the first is still there";
    pair.reader().release(0, first);
    EXPECT_TRUE(pair.area().has_room());
}

TEST(RingArea, has_no_room_while_overflow_waits) {
    OutputPair pair(4096, true);
    ASSERT_TRUE(pair.write(std::string(10'000, 'x')));
    const OutputLocation location = pair.area().finish({});
    EXPECT_EQ(location.place, OutputPlace::overflow);
    EXPECT_EQ(pair.area().overflow_batches(), 1u);
    EXPECT_FALSE(pair.area().has_room());
    ASSERT_TRUE(pair.reader().view(0, location));
    pair.reader().release(0, location);
    EXPECT_TRUE(pair.area().has_room());
}

TEST(RingArea, overflow_is_used_again_whatever_the_sizes) {
    OutputPair pair(4096, true);
    for (const std::size_t bytes : {100'000, 10'000, 300'000, 5'000}) {
        ASSERT_TRUE(pair.write(std::string(bytes, 'x'))) << bytes;
        const OutputLocation location = pair.area().finish({});
        EXPECT_EQ(location.data, 0u) << "the range begins anew when nothing waits there";
        const auto view = pair.reader().view(0, location);
        ASSERT_TRUE(view);
        EXPECT_EQ(view->output.size(), bytes);
        pair.reader().release(0, location);
    }
}

} // namespace
} // namespace gristmill::store
