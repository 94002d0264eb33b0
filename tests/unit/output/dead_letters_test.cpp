// Dead letters are valid JSON lines whatever the record, the reason or the path hold.
#include <cerrno>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "output/dead_letters.hpp"
#include "support/random.hpp"
#include "support/test_file.hpp"
#include "unit/output/json_check.hpp"

namespace gristmill::output {
namespace {

std::vector<std::string> lines_of(const std::string &path) {
    std::vector<std::string> lines;
    std::string text = test::TestFolder::read(path);
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
        lines.push_back(text.substr(0, end));
    EXPECT_EQ(text, "") << "every line is ended";
    return lines;
}

test::JsonObject written(const RecordFailure &failure, const std::string &record) {
    const test::TestFolder folder;
    const std::string path = folder.file("dead.jsonl");
    Result<DeadLetters> letters = DeadLetters::create(path);
    EXPECT_TRUE(letters);
    EXPECT_TRUE(letters->add(failure, bytes_of(record)));
    const auto lines = lines_of(path);
    EXPECT_EQ(lines.size(), 1u);
    const auto object = test::JsonReader(lines.at(0)).object();
    EXPECT_TRUE(object) << lines[0];
    return object.value_or(test::JsonObject{});
}

TEST(DeadLetters, one_line_for_each_record) {
    RecordFailure failure;
    failure.source = "logs/a.txt";
    failure.byte_offset = 12;
    failure.record_index = 3;
    failure.type = "RecordError";
    failure.reason = "bad \"number\"";
    const auto object = written(failure, "1,2,x");
    EXPECT_EQ(object.at("source"), "logs/a.txt");
    EXPECT_EQ(object.at("offset"), "12");
    EXPECT_EQ(object.at("index"), "3");
    EXPECT_EQ(object.at("error"), "bad \"number\"");
    EXPECT_EQ(object.at("type"), "RecordError");
    EXPECT_EQ(test::decode_base64(object.at("record_b64")), "1,2,x");
    EXPECT_EQ(object.size(), 6u);
    failure.index_known = false;
    EXPECT_EQ(written(failure, "").at("index"), "null");
    EXPECT_EQ(written(failure, "").at("record_b64"), "");
}

TEST(DeadLetters, bytes_that_are_no_utf8_are_replaced) {
    const std::string replacement = "\xef\xbf\xbd";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xf0\x9f\x8c\xbe", "\xf0\x9f\x8c\xbe"},
        {"a\xff" "b", "a" + replacement + "b"},
        {"\xc3", replacement},
        {"\xc0\x80", replacement + replacement},
        {"\xed\xa0\x80", replacement + replacement + replacement},
        {"\xf4\x90\x80\x80", replacement + replacement + replacement + replacement},
        {std::string("nul\0!", 5), std::string("nul\0!", 5)},
        {"tab\tquote\"slash\\line\n\x7f", "tab\tquote\"slash\\line\n\x7f"}};
    for (const auto &[reason, expected] : cases) {
        RecordFailure failure;
        failure.reason = failure.source = reason;
        const auto object = written(failure, reason);
        EXPECT_EQ(object.at("error"), expected);
        EXPECT_EQ(object.at("source"), expected);
        EXPECT_EQ(test::decode_base64(object.at("record_b64")), reason);
    }
}

TEST(DeadLetters, anything_at_all_stays_valid) {
    const test::TestFolder folder;
    const std::string path = folder.file("dead.jsonl");
    Result<DeadLetters> letters = DeadLetters::create(path);
    ASSERT_TRUE(letters);
    const test::SeedRange seeds(2000);
    std::vector<std::string> records;
    for (std::uint64_t seed = seeds.first; seed < seeds.last; ++seed) {
        test::Random random(seed);
        const auto text = [&] {
            std::string bytes(random.below(30), '\0');
            for (char &byte : bytes)
                byte = static_cast<char>(random.one_in(2) ? random.between(0x7f, 0xf8)
                                                          : random.next());
            return bytes;
        };
        RecordFailure failure;
        failure.source = text();
        failure.reason = text();
        failure.byte_offset = random.next();
        records.push_back(text());
        ASSERT_TRUE(letters->add(failure, bytes_of(records.back())));
    }
    const auto lines = lines_of(path);
    ASSERT_EQ(lines.size(), records.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto object = test::JsonReader(lines[i]).object();
        ASSERT_TRUE(object) << lines[i] << test::replay(seeds.first + i);
        ASSERT_EQ(test::decode_base64(object->at("record_b64")), records[i]);
    }
}

TEST(DeadLetters, are_private_and_follow_no_link) {
    const test::TestFolder folder;
    const std::string path = folder.file("dead.jsonl");
    ASSERT_TRUE(DeadLetters::create(path));
    struct stat facts {};
    ASSERT_EQ(::stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, 0600u);
    ASSERT_EQ(::symlink(path.c_str(), folder.file("link").c_str()), 0);
    const auto linked = DeadLetters::create(folder.file("link"));
    ASSERT_FALSE(linked);
    EXPECT_EQ(linked.error().os_errno, ELOOP);
    EXPECT_EQ(linked.error().kind, ErrorKind::output);
    EXPECT_FALSE(DeadLetters::create(folder.file("no/folder")));
}

TEST(DeadLetters, a_full_device_is_an_output_error) {
    Result<DeadLetters> letters = DeadLetters::create("/dev/full");
    if (!letters)
        GTEST_SKIP() << "no /dev/full here";
    const Result<void> added = letters->add({}, {});
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().os_errno, ENOSPC);
}

} // namespace
} // namespace gristmill::output
