#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/failure_note.hpp"
#include "support/random.hpp"

namespace gristmill::record {
namespace {

std::string encoded(const FailureNote &note) {
    std::string bytes(encoded_bytes(note), '?');
    encode(note, reinterpret_cast<std::byte *>(bytes.data()));
    return bytes;
}

FailureNote random_note(test::Random &random) {
    FailureNote note;
    note.index = random.next();
    note.byte_offset = random.next();
    note.record_bytes = random.next();
    note.output_before = random.next();
    note.os_errno = static_cast<std::int32_t>(random.next());
    note.reason = std::string(random.below(40), 'r');
    note.excerpt = std::string(random.below(40), '\0');
    note.type = std::string(random.below(30), 't');
    note.details = std::string(random.below(100), 'd');
    note.original = std::string(random.below(100), '\xff');
    return note;
}

void expect_same(const FailureNote &a, const FailureNote &b) {
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.byte_offset, b.byte_offset);
    EXPECT_EQ(a.record_bytes, b.record_bytes);
    EXPECT_EQ(a.output_before, b.output_before);
    EXPECT_EQ(a.os_errno, b.os_errno);
    EXPECT_EQ(a.reason, b.reason);
    EXPECT_EQ(a.excerpt, b.excerpt);
    EXPECT_EQ(a.type, b.type);
    EXPECT_EQ(a.details, b.details);
    EXPECT_EQ(a.original, b.original);
}

TEST(FailureNote, several_come_back_in_order) {
    test::Random random(7);
    std::vector<FailureNote> notes;
    std::string bytes;
    for (int i = 0; i < 20; ++i) {
        notes.push_back(random_note(random));
        bytes += encoded(notes.back());
    }
    const auto back = decode_notes(bytes_of(bytes));
    ASSERT_TRUE(back);
    ASSERT_EQ(back->size(), notes.size());
    for (std::size_t i = 0; i < notes.size(); ++i)
        expect_same((*back)[i], notes[i]);
}

TEST(FailureNote, texts_are_cut_but_for_a_packed_exception) {
    FailureNote note;
    note.type = std::string(kTypeBytesMax + 1, 't');
    note.details = std::string(kDetailsBytesMax + 1, 'd');
    note.original = std::string(kOriginalBytesMax, 'o');
    auto back = decode_notes(bytes_of(encoded(note))).value();
    EXPECT_EQ(back[0].type, note.type.substr(1));
    EXPECT_EQ(back[0].details, note.details.substr(1));
    EXPECT_EQ(back[0].original, note.original);
    note.original += 'o';
    EXPECT_EQ(decode_notes(bytes_of(encoded(note))).value()[0].original, "") << "all or nothing";
    note.reason = note.excerpt = std::string(100'000, 'x');
    EXPECT_LE(encoded(note).size(), 12u * 1024);
}

TEST(FailureNote, nothing_is_no_notes) {
    const auto none = decode_notes({});
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->empty());
}

TEST(FailureNote, long_texts_are_cut) {
    FailureNote note;
    note.reason = std::string(5000, 'r');
    note.excerpt = std::string(5000, 'e');
    EXPECT_LE(encoded_bytes(note), 4096u);
    const auto back = decode_notes(bytes_of(encoded(note)));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->front().reason, std::string(kReasonBytesMax, 'r'));
    EXPECT_EQ(back->front().excerpt, std::string(kExcerptBytesMax, 'e'));
}

TEST(FailureNote, a_cut_note_is_no_note) {
    test::Random random(8);
    FailureNote note = random_note(random);
    note.reason = "because";
    note.excerpt = "record";
    const std::string bytes = encoded(note);
    for (std::size_t kept = 1; kept < bytes.size(); ++kept)
        EXPECT_FALSE(decode_notes(bytes_of(bytes.substr(0, kept)))) << kept;
    EXPECT_FALSE(decode_notes(bytes_of(bytes + "x")));
}

TEST(FailureNote, garbage_is_refused_or_stays_within_its_bytes) {
    const test::SeedRange seeds(2000);
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        std::string bytes(random.below(300), '\0');
        for (char &byte : bytes)
            byte = static_cast<char>(random.one_in(3) ? random.next() : 0);
        if (const auto notes = decode_notes(bytes_of(bytes))) {
            std::size_t texts = 0;
            for (const FailureNote &note : *notes)
                texts += note.reason.size() + note.excerpt.size();
            ASSERT_LE(texts, bytes.size()) << test::replay(seed);
        }
    }
}

} // namespace
} // namespace gristmill::record
