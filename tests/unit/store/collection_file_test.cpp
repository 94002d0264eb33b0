// Collected output of another process: what was appended is found again, nonsense is refused.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/bytes.hpp"
#include "store/collection_file.hpp"
#include "support/random.hpp"

namespace gristmill::store {
namespace {

// As a worker opens it.
WarmFile open(const CollectionFile &file) {
    return WarmFile(file.id(), os::UniqueFd(::dup(file.fd())));
}

bool write(OutputArea &area, const std::string &text) {
    std::byte *room = area.reserve(text.size());
    if (!room)
        return false;
    std::copy_n(bytes_of(text).data(), text.size(), room);
    return area.commit(text.size());
}

std::string at(CollectionFile &file, const OutputLocation &location) {
    const std::byte *data = file.at(location.data, location.whole_bytes());
    return data ? std::string(text_of({data, location.whole_bytes()})) : "not there";
}

// Appends random batches; `warm` bytes of the file may be written in place.
void append_and_find(CollectionFile &file, WarmFile &mine, std::uint64_t warm, std::uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(warm) + " bytes warm");
    mine.set_warm_bytes(warm);
    CollectionFileArea area(mine, 0);
    test::Random random(seed);
    std::vector<std::pair<OutputLocation, std::string>> batches;
    std::uint64_t reached = 0;
    for (int batch = 0; batch < 200; ++batch) {
        std::string content;
        for (std::uint64_t pieces = random.below(4); pieces > 0; --pieces) {
            const std::string piece(random.below(random.one_in(10) ? 4'000'000 : 5000),
                                    char('a' + batch % 26));
            ASSERT_TRUE(write(area, piece));
            content += piece;
        }
        const OutputTail tail{random.below(content.size() / 2 + 1),
                              random.below(content.size() / 2 + 1)};
        const OutputLocation location = area.finish(tail);
        if (content.empty()) {
            EXPECT_EQ(location.place, OutputPlace::none);
            continue;
        }
        EXPECT_EQ(location.place, OutputPlace::file);
        EXPECT_EQ(location.whole_bytes(), content.size());
        EXPECT_EQ(location.length_bytes, tail.length_bytes);
        EXPECT_EQ(location.fault_bytes, tail.fault_bytes);
        EXPECT_GE(location.begin, reached);
        EXPECT_LE(location.begin, location.data);
        EXPECT_EQ(location.end, location.data + content.size());
        const std::uint64_t window = location.data / kCollectionWindowBytes;
        EXPECT_TRUE(location.data % kCollectionWindowBytes == 0 ||
                    (location.end - 1) / kCollectionWindowBytes == window)
            << "crosses a border of windows";
        reached = location.end;
        batches.emplace_back(location, content);
        if (random.one_in(3)) { // looked at while more is appended
            const auto &[old, text] = batches[random.below(batches.size())];
            ASSERT_EQ(at(file, old), text);
        }
    }
    for (const auto &[location, content] : batches)
        ASSERT_EQ(at(file, location), content);
}

TEST(CollectionFile, gives_back_what_was_appended) {
    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine = open(file);
    append_and_find(file, mine, 0, 5);
}

TEST(CollectionFile, gives_back_what_was_written_over_an_older_run) {
    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine = open(file);
    append_and_find(file, mine, 0, 6);
    for (std::uint64_t seed = 7; seed < 12; ++seed) {
        file.shorten((seed % 2 == 0 ? 3 : 1) * kCollectionWindowBytes / 2 + 12345);
        append_and_find(file, mine, file.bytes(), seed);
    }
}

TEST(CollectionFile, a_batch_larger_than_a_window_lies_in_one_piece) {
    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine = open(file);
    CollectionFileArea area(mine, 0);
    ASSERT_TRUE(write(area, "before"));
    const OutputLocation before = area.finish({});
    const std::string half(kCollectionWindowBytes / 2 + 1, 'x');
    ASSERT_TRUE(write(area, half) && write(area, half));
    const OutputLocation large = area.finish({});
    ASSERT_TRUE(write(area, "behind"));
    const OutputLocation behind = area.finish({});
    EXPECT_EQ(at(file, behind), "behind");
    EXPECT_EQ(at(file, large), half + half);
    EXPECT_EQ(at(file, before), "before");
}

TEST(CollectionFile, another_incarnation_goes_on_behind) {
    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine = open(file);
    OutputLocation kept;
    {
        CollectionFileArea first(mine, 0);
        ASSERT_TRUE(write(first, "kept"));
        kept = first.finish({});
        ASSERT_TRUE(write(first, "appended, and its worker died before it was done"));
        first.finish({});
    }
    CollectionFileArea second(mine, kept.end);
    ASSERT_TRUE(write(second, "next"));
    const OutputLocation next = second.finish({});
    EXPECT_EQ(next.begin, kept.end);
    EXPECT_EQ(at(file, kept), "kept");
    EXPECT_EQ(at(file, next), "next");
}

TEST(CollectionFile, abandoned_output_leaves_no_trace) {
    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine = open(file);
    CollectionFileArea area(mine, 0);
    ASSERT_TRUE(write(area, "wrong"));
    area.abandon();
    EXPECT_EQ(area.finish({}).place, OutputPlace::none);
    ASSERT_TRUE(write(area, "right"));
    EXPECT_EQ(at(file, area.finish({})), "right");
}

TEST(CollectionFile, a_file_that_cannot_be_written_loses_the_batch_and_says_so) {
    WarmFile none(0, os::UniqueFd());
    CollectionFileArea area(none, 0);
    ASSERT_TRUE(write(area, "text"));
    EXPECT_EQ(area.finish({}).place, OutputPlace::lost);
}

TEST(CollectionFile, refuses_what_does_not_lie_in_the_file) {
    CollectionFile file = std::move(CollectionFile::create().value());
    WarmFile mine = open(file);
    CollectionFileArea area(mine, 0);
    ASSERT_TRUE(write(area, std::string(1000, 'x')));
    area.finish({});
    EXPECT_NE(file.at(0, 1000), nullptr);
    constexpr std::uint64_t huge = ~std::uint64_t{0};
    constexpr std::uint64_t window = kCollectionWindowBytes;
    const std::uint64_t offsets[] = {0, 1, 999, 1000, 1001, window - 1, window, window + 1,
                                     huge / 2, huge - window, huge - 4096, huge - 1, huge};
    const std::uint64_t sizes[] = {1, 1000, 1001, window, window + 5, huge / 2, huge - window,
                                   huge - 999, huge};
    for (const std::uint64_t offset : offsets)
        for (const std::uint64_t bytes : sizes) {
            const bool inside = offset < 1000 && bytes <= 1000 - offset;
            EXPECT_EQ(file.at(offset, bytes) != nullptr, inside) << offset << " + " << bytes;
        }
}

} // namespace
} // namespace gristmill::store
