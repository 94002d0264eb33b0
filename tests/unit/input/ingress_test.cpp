// Ingress with the real ring and one worker that only looks at what it gets.
#include <fcntl.h>
#include <memory>
#include <new>
#include <string>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

#include "input/ingress.hpp"
#include "os/memory.hpp"
#include "ring/claimer.hpp"
#include "ring/retirer.hpp"
#include "support/test_file.hpp"

namespace gristmill::input {
namespace {

using ring::BatchInput;
using ring::BatchKind;

// Publishes, claims and retires in turns, in one thread, and keeps what was published.
class IngressRun {
  public:
    IngressRun(Sources sources, RunOptions options, IngressLimits limits = {},
               std::uint16_t slots = 4)
        : sources_(std::move(sources)), options_(std::move(options)), slots_(slots),
          table_(slots_),
          block_(std::move(os::map_anonymous(State::block_bytes(1, 1, kEntries),
                                             os::Pages::normal)
                               .value())),
          state_(State::create(block_.data(), 1, 1, kEntries)),
          ingress_(state_, sources_, nullptr, options_, complete(limits), table_),
          retirer_(state_, ring::RetireOrder::index, false) {
        state_.header().over.store(0);
    }

    static constexpr std::uint32_t kEntries = 64;
    using State = ring::RunState<ring::SystemAtomics>;

    // To the end; every batch in the order in which it left.
    const std::vector<BatchInput> &run() {
        for (int turns = 0; turns < 100'000 && !retirer_.finished(); ++turns) {
            ingress_.pump();
            if (work_one() || retire() > 0 || retirer_.finished())
                continue;
            if (!ingress_.wants_to_publish()) {
                ADD_FAILURE() << "nothing to do, and not at the end";
                break;
            }
        }
        EXPECT_TRUE(retirer_.finished());
        return batches_;
    }

    bool work_one() {
        ring::Claimer<ring::SystemAtomics> claimer(state_, 0, 0, 0);
        const auto claim = claimer.try_claim(true);
        if (!claim)
            return false;
        auto &entry = state_.entry(claim->sequence);
        entry.result = {};
        entry.result.begin = entry.input.begin;
        entry.result.end = entry.input.end;
        entry.result.read = 1;
        entry.result.wall_ns = 1'000'000;
        descriptors_.push_back(table_.at(entry.input.source_slot).fd);
        return claimer.done(*claim);
    }
    std::uint64_t retire() {
        return retirer_.retire([this](std::uint64_t, State::Entry &entry) {
            batches_.push_back(entry.input);
            ingress_.batch_retired(entry.input, entry.result);
            return true;
        });
    }

    Ingress &ingress() { return ingress_; }
    State &state() { return state_; }
    const std::vector<BatchInput> &batches() const { return batches_; }
    const std::vector<int> &descriptors() const { return descriptors_; }

  private:
    static IngressLimits complete(IngressLimits limits) {
        if (limits.batch_bytes_max == 0)
            limits.batch_bytes_max = kMiB;
        return limits;
    }

    const Sources sources_;
    const RunOptions options_;
    std::vector<record::OpenSource> slots_;
    record::SourceTable table_;
    os::Mapping block_;
    State state_;
    Ingress ingress_;
    ring::Retirer<ring::SystemAtomics> retirer_;
    std::vector<BatchInput> batches_;
    std::vector<int> descriptors_;
};

// Do the batches cover [0, bytes) of the source, in order, without a gap?
bool tile(const std::vector<BatchInput> &batches, std::uint32_t source, std::uint64_t bytes) {
    std::uint64_t at = 0;
    for (const BatchInput &batch : batches) {
        if (batch.source != source || batch.kind == BatchKind::source_error)
            continue;
        if (batch.begin != at || batch.end <= batch.begin)
            return false;
        at = batch.end;
    }
    return at == bytes;
}

RunOptions with_framing(Framing framing) {
    RunOptions options;
    options.framing = std::move(framing);
    return options;
}

TEST(Ingress, extents_tile_the_file) {
    const test::TestFolder folder;
    const std::string path = folder.write("file", std::string(300'000, '\n'));
    IngressRun run({path}, {});
    EXPECT_TRUE(tile(run.run(), 0, 300'000));
    EXPECT_GE(run.batches().size(), 8u) << "several for each worker";
    for (const BatchInput &batch : run.batches())
        EXPECT_EQ(batch.kind, BatchKind::extent);
}

TEST(Ingress, batch_bytes_fixes_the_size) {
    const test::TestFolder folder;
    RunOptions options;
    options.batch_bytes = 1000;
    IngressRun run({folder.write("file", std::string(100'500, 'x'))}, options);
    EXPECT_TRUE(tile(run.run(), 0, 100'500));
    EXPECT_EQ(run.batches().size(), 101u);
    EXPECT_EQ(run.batches().back().end - run.batches().back().begin, 500u);
}

TEST(Ingress, batch_records_are_exact_but_for_the_last) {
    const test::TestFolder folder;
    RunOptions options;
    options.batch_records = 3;
    const std::string large(60'000, 'a'); // of small ones the spool takes care
    IngressRun run({folder.write("file", large + "\nbb\n\nccc\nd\ne\nf")}, options);
    EXPECT_TRUE(tile(run.run(), 0, 60'014));
    ASSERT_EQ(run.batches().size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(run.batches()[i].kind, BatchKind::exact);
        EXPECT_EQ(run.batches()[i].record_count, i < 2 ? 3u : 1u);
    }
}

// The file has to be read to count records: that is done once, by a thread of its own.
TEST(Ingress, small_batches_of_so_many_records_are_read_like_a_pipe) {
    const test::TestFolder folder;
    RunOptions options;
    options.batch_records = 3;
    IngressRun run({folder.write("file", "a\nbb\n\nccc\nd\ne\nf")}, options);
    run.ingress().pump();
    EXPECT_TRUE(run.ingress().wants_thread());
}

TEST(Ingress, a_batch_of_more_records_than_there_can_be_is_the_file) {
    const test::TestFolder folder;
    for (const std::uint64_t records : {std::uint64_t{1} << 52, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
        RunOptions options;
        options.batch_records = records;
        IngressRun run({folder.write("file", "a\nbb\n\nccc\nd\ne\nff")}, options);
        EXPECT_TRUE(tile(run.run(), 0, 16));
        EXPECT_EQ(run.batches().size(), 1u) << records;
    }
}

TEST(Ingress, many_files_take_turns_in_few_slots) {
    const test::TestFolder folder;
    Sources paths;
    for (int i = 0; i < 9; ++i)
        paths.push_back(folder.write("file" + std::to_string(i), std::string(i * 10, 'x')));
    IngressRun run(paths, {}, {}, 2);
    run.run();
    for (std::uint32_t i = 0; i < 9; ++i)
        EXPECT_TRUE(tile(run.batches(), i, i * 10)) << i;
    EXPECT_EQ(run.ingress().source_bytes().size(), 9u);
    for (const int fd : run.descriptors())
        EXPECT_LT(::fcntl(fd, F_GETFD), 0) << "files are closed when their last batch left";
}

TEST(Ingress, a_missing_file_fails_behind_what_came_before) {
    const test::TestFolder folder;
    IngressRun run({folder.write("file", "abc\n"), folder.file("missing"),
                    folder.write("other", "def\n")},
                   {});
    run.run();
    ASSERT_FALSE(run.batches().empty());
    EXPECT_EQ(run.batches().back().kind, BatchKind::source_error);
    EXPECT_EQ(run.batches().back().source, 1u);
    EXPECT_TRUE(tile(run.batches(), 0, 4));
    EXPECT_EQ(run.ingress().failure().kind, ErrorKind::source);
    EXPECT_EQ(run.ingress().source_bytes().size(), 2u) << "the third is never opened";
}

TEST(Ingress, no_files_and_empty_files_end_at_once) {
    EXPECT_TRUE(IngressRun({}, {}).run().empty());
    const test::TestFolder folder;
    const std::string empty = folder.write("empty", "");
    EXPECT_TRUE(IngressRun({empty, empty, empty}, {}, {}, 1).run().empty());
}

TEST(Ingress, fixed_records_are_cut_at_records) {
    const test::TestFolder folder;
    RunOptions options = with_framing({Framing::Kind::fixed, "", 7});
    options.batch_records = 10;
    IngressRun run({folder.write("file", std::string(7 * 25, 'x'))}, options);
    EXPECT_TRUE(tile(run.run(), 0, 7 * 25));
    ASSERT_EQ(run.batches().size(), 3u);
    EXPECT_EQ(run.batches()[0].record_count, 10u);
    EXPECT_EQ(run.batches()[2].record_count, 5u);
}

TEST(Ingress, a_partial_fixed_record_fails_behind_the_whole_ones) {
    const test::TestFolder folder;
    IngressRun run({folder.write("file", std::string(7 * 5 + 3, 'x'))},
                   with_framing({Framing::Kind::fixed, "", 7}));
    run.run();
    EXPECT_TRUE(tile(run.batches(), 0, 7 * 5));
    EXPECT_EQ(run.batches().back().kind, BatchKind::source_error);
    EXPECT_NE(run.ingress().failure().message.find("3 of 7 bytes (at byte 35)"),
              std::string::npos)
        << run.ingress().failure().message;
}

// The batches of the file fill the ring: the failure has to wait for an entry like everything.
TEST(Ingress, a_partial_fixed_record_waits_for_an_entry) {
    const test::TestFolder folder;
    RunOptions options = with_framing({Framing::Kind::fixed, "", 2});
    options.batch_records = 1;
    IngressRun run({folder.write("file", std::string(2 * IngressRun::kEntries + 1, 'x'))},
                   options);
    run.run();
    EXPECT_EQ(run.batches().size(), IngressRun::kEntries + 1);
    EXPECT_EQ(run.batches().back().kind, BatchKind::source_error);
}

TEST(Ingress, frames_fail_with_path_and_offset) {
    const test::TestFolder folder;
    const std::string data("\2\0\0\0ab\5\0\0\0x", 11);
    const std::string path = folder.write("file", data);
    IngressRun run({path}, with_framing({Framing::Kind::u32le, "", 0}));
    run.run();
    ASSERT_EQ(run.batches().size(), 2u);
    EXPECT_EQ(run.batches()[0].end, 6u);
    EXPECT_EQ(run.ingress().failure().path, path);
    EXPECT_NE(run.ingress().failure().message.find("(at byte 6)"), std::string::npos);
}

TEST(Ingress, oversized_records_of_a_cutter_are_done_unread) {
    const test::TestFolder folder;
    RunOptions options = with_framing({Framing::Kind::delimiter, "$$", 0});
    options.max_record_bytes = 3;
    IngressRun run({folder.write("file", "a$$bbbbbb$$c$$")}, options);
    run.run();
    ASSERT_EQ(run.batches().size(), 3u);
    EXPECT_EQ(run.batches()[1].kind, BatchKind::oversized);
    EXPECT_TRUE(tile(run.batches(), 0, 14));
}

TEST(Ingress, publishes_no_more_than_the_input_budget) {
    const test::TestFolder folder;
    IngressLimits limits;
    limits.workers = 1;
    limits.input_bytes = 2500;
    RunOptions options;
    options.batch_bytes = 1000;
    IngressRun run({folder.write("file", std::string(10'000, 'x'))}, options, limits);
    run.ingress().pump();
    EXPECT_EQ(run.state().header().published.load(), 2u);
    EXPECT_FALSE(run.ingress().wants_to_publish());
    ASSERT_TRUE(run.work_one());
    EXPECT_TRUE(run.ingress().wants_to_publish());
    EXPECT_TRUE(tile(run.run(), 0, 10'000));
}

TEST(Ingress, adaptive_batches_keep_to_the_look_ahead) {
    const test::TestFolder folder;
    IngressLimits limits;
    limits.workers = 3;
    IngressRun run({folder.write("file", std::string(1'000'000, 'x'))}, {}, limits);
    run.ingress().pump();
    EXPECT_EQ(run.state().header().published.load(), 6u) << "two for each worker (R5)";
    EXPECT_FALSE(run.ingress().wants_to_publish());
}

} // namespace
} // namespace gristmill::input
