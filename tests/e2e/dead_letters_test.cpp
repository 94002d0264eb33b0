// errors_to: one JSON line for each record that failed, the record whole.
#include <filesystem>
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"
#include "support/sheet.hpp"

namespace gristmill::e2e {
namespace {

struct Letter {
    std::string source;
    std::uint64_t offset = 0;
    std::int64_t index = -1; // -1: null
    std::string error;
    std::string type;
    std::string record;
};

std::string from_base64(std::string_view text) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t group = 0;
    int bits = 0;
    for (const char letter : text) {
        const std::size_t digit = digits.find(letter);
        if (digit == std::string_view::npos)
            break;
        group = group << 6 | static_cast<std::uint32_t>(digit);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes += static_cast<char>(group >> bits & 0xff);
        }
    }
    return bytes;
}

std::vector<Letter> letters_in(const std::string &path) {
    std::vector<Letter> letters;
    simdjson::dom::parser parser;
    for (const std::string &line : split(read_file(path))) {
        const simdjson::dom::object fields = parser.parse(line);
        EXPECT_EQ(fields.size(), 6u);
        Letter letter;
        letter.source = std::string(std::string_view(fields["source"]));
        letter.offset = fields["offset"];
        if (!fields["index"].is_null())
            letter.index = fields["index"];
        letter.error = std::string(std::string_view(fields["error"]));
        letter.type = std::string(std::string_view(fields["type"]));
        letter.record = from_base64(std::string_view(fields["record_b64"]));
        letters.push_back(std::move(letter));
    }
    return letters;
}

class DeadLetters : public ::testing::Test {
  protected:
    RunOptions options(OnError on_error = OnError::skip) const {
        RunOptions run;
        run.on_error = on_error;
        run.errors_to = letters_;
        return run;
    }

    const Scratch scratch_;
    const std::string letters_ = scratch_.path("letters.jsonl");
    EnginePool engines_;
};

TEST_F(DeadLetters, HoldTheWholeRecord) {
    const Sheet sheet = random_sheet(8, kSanitized ? 500 : 2000, 0);
    const std::string path = scratch_.write("records", sheet.bytes);
    for (const Crew &crew : {Crew{0, "1"}, Crew{2, "@2"}})
        for (const OnError on_error : {OnError::skip, OnError::collect})
            for (const std::uint64_t batch : {1, 37, 5000}) {
                RunOptions run = options(on_error);
                run.batch_records = batch;
                const Outcome outcome =
                    complete(engines_.get(crew), Way::run, test_plugin("picky"), {path}, run);
                EXPECT_TRUE(outcome.bytes == sheet.output);
                const std::vector<Letter> letters = letters_in(letters_);
                ASSERT_EQ(letters.size(), sheet.failing.size());
                for (std::size_t i = 0; i < letters.size(); ++i) {
                    const std::uint64_t index = sheet.failing[i];
                    EXPECT_EQ(letters[i].source, path);
                    EXPECT_EQ(letters[i].offset, sheet.offsets[index]);
                    EXPECT_EQ(letters[i].index, static_cast<std::int64_t>(index));
                    EXPECT_EQ(letters[i].error, sheet.reason(index));
                    EXPECT_EQ(letters[i].type, "RecordError");
                    ASSERT_TRUE(letters[i].record == sheet.records[index]);
                }
            }
}

TEST_F(DeadLetters, AreKeptPrivateAndBegunAnew) {
    const std::string path = scratch_.write("records", "bad\nb\n");
    scratch_.write("letters.jsonl", "old\n");
    std::filesystem::remove(letters_);
    for (int round = 0; round < 2; ++round) {
        complete(engines_.get({1, "1"}), Way::map, test_plugin("picky"), {path}, options());
        EXPECT_EQ(letters_in(letters_).size(), 1u);
    }
    struct stat facts {};
    ASSERT_EQ(::stat(letters_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(DeadLetters, NeverFollowALink) {
    const std::string path = scratch_.write("records", "bad\n");
    const std::string victim = scratch_.write("victim", "precious");
    std::filesystem::create_symlink(victim, letters_);
    const Error error =
        failing(engines_.get({1, "1"}), Way::run, test_plugin("picky"), {path}, options());
    EXPECT_EQ(error.kind, ErrorKind::output);
    EXPECT_EQ(error.path, letters_);
    EXPECT_EQ(read_file(victim), "precious");
}

TEST_F(DeadLetters, CannotBeWritten) {
    const std::string path = scratch_.write("records", "bad\n");
    for (const std::string &where :
         {scratch_.folder(), scratch_.path("no/such"), std::string("/dev/full")}) {
        RunOptions run = options();
        run.errors_to = where;
        const Error error =
            failing(engines_.get({1, "1"}), Way::run, test_plugin("picky"), {path}, run);
        EXPECT_EQ(error.kind, ErrorKind::output) << where;
        EXPECT_EQ(error.path, where);
        EXPECT_NE(error.os_errno, 0);
    }
}

TEST_F(DeadLetters, OfRecordsThatAreTooLong) {
    const std::string path = scratch_.write("records", "a\n" + std::string(9000, 'x') + "\nb\n");
    for (const bool sequential : {false, true}) {
        RunOptions run = options();
        run.max_record_bytes = 5000;
        if (sequential)
            run.batch_records = 2;
        const Outcome outcome =
            complete(engines_.get({2, "1"}), Way::map, bundled("identity"), {path}, run);
        EXPECT_EQ(outcome.bytes, "a\nb\n");
        const std::vector<Letter> letters = letters_in(letters_);
        ASSERT_EQ(letters.size(), 1u);
        EXPECT_EQ(letters[0].offset, 2u);
        EXPECT_EQ(letters[0].index, 1);
        EXPECT_TRUE(letters[0].record == std::string(9000, 'x'))
            << letters[0].record.size() << " bytes, sequential: " << sequential;
        EXPECT_NE(letters[0].error.find("max_record"), std::string::npos);
    }
}

// Bytes that are no UTF-8 in names and reasons still make a JSON file.
TEST_F(DeadLetters, AreJsonWhateverTheBytes) {
    std::string record = "bad \"\\ \x01\xff\xc3 caf\xc3\xa9";
    record += '\0';
    const std::string path = scratch_.write("na\"me\xff", record + "\n");
    complete(engines_.get({1, "1"}), Way::map, test_plugin("picky"), {path}, options());
    const std::vector<Letter> letters = letters_in(letters_);
    ASSERT_EQ(letters.size(), 1u);
    EXPECT_EQ(letters[0].record, record);
}

TEST_F(DeadLetters, OfFrames) {
    const std::vector<std::string> records{"a", "bad1", "", "bad2 " + std::string(6000, 'z')};
    const std::string path = scratch_.write("frames", framed(records));
    RunOptions run = options();
    run.framing.kind = Framing::Kind::u32le;
    const Outcome outcome =
        complete(engines_.get({2, "1"}), Way::map, test_plugin("picky"), {path}, run);
    EXPECT_EQ(outcome.bytes, framed({"a", ""}));
    const std::vector<Letter> letters = letters_in(letters_);
    ASSERT_EQ(letters.size(), 2u);
    EXPECT_EQ(letters[0].record, records[1]);
    EXPECT_EQ(letters[1].record, records[3]);
    EXPECT_EQ(letters[1].index, 3);
}

} // namespace
} // namespace gristmill::e2e
