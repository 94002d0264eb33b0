// Output that survives its worker: begun anew at any step, it goes on where it stood.
#include <cstring>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "store/isolation_area.hpp"
#include "store/output_reader.hpp"

namespace gristmill::store {
namespace {

bool write(OutputArea &area, const std::string &text) {
    std::byte *room = area.reserve(text.size());
    if (!room)
        return false;
    std::copy_n(bytes_of(text).data(), text.size(), room);
    return area.commit(text.size());
}

class Isolation : public testing::TestWithParam<bool> {
  protected:
    Isolation() {
        OutputPlaces places;
        places.threads = false;
        places.isolation_fd = fd_.get();
        places.collected = &collected_;
        places.keep_isolated = GetParam();
        reader_.emplace(places, std::vector<ReleaseCounters>{{&ring_, &overflow_}});
    }

    const os::UniqueFd fd_ = std::move(os::create_memfd("gristmill-test", 0).value());
    std::atomic<std::uint64_t> ring_{0}, overflow_{0};
    Collected collected_;
    std::optional<OutputReader> reader_;
};

TEST_P(Isolation, goes_on_where_it_stood) {
    for (const std::uint32_t region : {0u, 1u, 70'000u}) {
        {
            IsolationArea first(fd_.get());
            ASSERT_TRUE(first.begin(region, 0, 0));
            ASSERT_TRUE(write(first, "kept "));
            ASSERT_TRUE(first.add_note(bytes_of("note one, ")));
            ASSERT_TRUE(first.set_length(0, 77));
            ASSERT_TRUE(write(first, "in hand when it died"));
            ASSERT_TRUE(first.add_note(bytes_of("the same")));
        }
        {
            IsolationArea second(fd_.get()); // dies when all but `done` is there
            ASSERT_TRUE(second.begin(region, 5, 10));
            EXPECT_EQ(text_of(second.committed()), "kept ");
            ASSERT_TRUE(write(second, "more"));
            ASSERT_TRUE(second.add_note(bytes_of("note two")));
            ASSERT_TRUE(second.set_length(1, 88));
            second.finish(second.append_tail(2));
        }
        IsolationArea third(fd_.get());
        ASSERT_TRUE(third.begin(region, 9, 18));
        const OutputLocation location = third.finish(third.append_tail(2));
        EXPECT_EQ(location.place, OutputPlace::isolation);
        const auto view = reader_->view(0, location);
        ASSERT_TRUE(view.has_value());
        EXPECT_EQ(text_of(view->output), "kept more");
        EXPECT_EQ(text_of(view->faults), "note one, note two");
        std::uint32_t lengths[2];
        ASSERT_EQ(view->lengths.size(), sizeof lengths);
        std::memcpy(lengths, view->lengths.data(), sizeof lengths);
        EXPECT_EQ(lengths[0], 77u);
        EXPECT_EQ(lengths[1], 88u);
        const ByteView output = view->output;
        reader_->release(0, location);
        if (GetParam()) {
            EXPECT_EQ(text_of(output), "kept more") << "it belongs to the results";
        }
    }
    EXPECT_EQ(collected_.mappings.size(), GetParam() ? 3u : 0u);
}

TEST_P(Isolation, grows_far_beyond_its_first_size) {
    IsolationArea area(fd_.get());
    ASSERT_TRUE(area.begin(3, 0, 0));
    std::string all;
    for (int i = 0; i < 40; ++i) {
        const std::string piece(50'000, char('a' + i % 26));
        ASSERT_TRUE(write(area, piece));
        all += piece;
    }
    EXPECT_EQ(text_of(area.committed()), all);
    ASSERT_TRUE(area.begin(3, 1'000'000, 0));
    EXPECT_EQ(text_of(area.committed()), all.substr(0, 1'000'000));
    const OutputLocation location = area.finish(area.append_tail(0));
    EXPECT_EQ(location.bytes, 1'000'000u);
    EXPECT_EQ(text_of(reader_->view(0, location)->output), all.substr(0, 1'000'000));
}

TEST_P(Isolation, without_output_there_is_nothing_to_view) {
    IsolationArea area(fd_.get());
    ASSERT_TRUE(area.begin(0, 0, 0));
    const OutputLocation location = area.finish(area.append_tail(0));
    EXPECT_EQ(location.place, OutputPlace::none);
}

TEST_P(Isolation, no_file_is_no_memory) {
    IsolationArea area(-1);
    EXPECT_FALSE(area.begin(0, 0, 0));
}

// Memory that is let go is let go at once, not at the end of the engine.
TEST_P(Isolation, gives_its_memory_back) {
    const auto blocks = [&] {
        struct stat state {};
        ::fstat(fd_.get(), &state);
        return state.st_blocks * 512;
    };
    IsolationArea area(fd_.get());
    ASSERT_TRUE(area.begin(2, 0, 0));
    ASSERT_TRUE(write(area, std::string(1'000'000, 'x')));
    ASSERT_TRUE(area.add_note(bytes_of(std::string(500'000, 'n'))));
    const OutputLocation location = area.finish(area.append_tail(0));
    EXPECT_GE(blocks(), 2'000'000);
    ASSERT_TRUE(reader_->view(0, location).has_value());
    reader_->release(0, location);
    if (GetParam())
        EXPECT_LT(blocks(), 1'600'000) << "the copy of the notes goes";
    else
        EXPECT_EQ(blocks(), 0);
}

INSTANTIATE_TEST_SUITE_P(both, Isolation, testing::Bool(), [](const auto &tested) {
    return tested.param ? "kept" : "passing";
});

} // namespace
} // namespace gristmill::store
