#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include <gristmill/error.hpp>

#include "base/bytes.hpp"
#include "base/check.hpp"
#include "base/clock.hpp"

namespace gristmill {
namespace {

TEST(Bytes, views_of_text_and_back) {
    const std::string text("a\0b", 3);
    EXPECT_EQ(bytes_of(text).size(), 3u);
    EXPECT_EQ(text_of(bytes_of(text)), text);
    EXPECT_EQ(text_of({}), "");
}

TEST(Bytes, rounding) {
    EXPECT_EQ(round_up(0, 8), 0u);
    EXPECT_EQ(round_up(1, 8), 8u);
    EXPECT_EQ(round_up(8, 8), 8u);
    EXPECT_EQ(round_up(10, 7), 14u);
    EXPECT_EQ(round_down(15, 8), 8u);
    EXPECT_EQ(round_down(13, 7), 7u);
    EXPECT_EQ(round_down(0, 7), 0u);
}

TEST(Clock, goes_forward) {
    const std::uint64_t wall = wall_clock_ns();
    const std::uint64_t cpu = thread_cpu_clock_ns();
    EXPECT_GE(wall_clock_ns(), wall);
    EXPECT_GE(thread_cpu_clock_ns(), cpu);
}

TEST(Result, is_a_value_or_an_error) {
    Result<std::string> value = std::string("text");
    ASSERT_TRUE(value);
    EXPECT_TRUE(value.ok());
    EXPECT_EQ(*value, "text");
    EXPECT_EQ(value->size(), 4u);
    EXPECT_EQ(std::move(value).value(), "text");
    const Result<std::string> error = Error{ErrorKind::output, "no"};
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().message, "no");
    const Result<void> success;
    EXPECT_TRUE(success);
    const Result<void> failure = Error{ErrorKind::memory, "no"};
    EXPECT_FALSE(failure.ok());
    EXPECT_EQ(failure.error().kind, ErrorKind::memory);
}

TEST(CheckDeathTest, ends_the_process_and_says_where) {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    GM_CHECK(1 + 1 == 2);
    EXPECT_DEATH(GM_CHECK(1 + 1 == 3), "internal error: 1 \\+ 1 == 3 does not hold .*base_test");
}

} // namespace
} // namespace gristmill
