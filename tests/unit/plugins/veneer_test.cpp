// plugin.hpp: exceptions at the boundary, walking records, writing them.
#include <stdexcept>

#include <gtest/gtest.h>

#include <gristmill/plugin.hpp>

#include "plugin_host.hpp"

namespace gristmill::test {
namespace {

using plugin::Batch;
using plugin::Leave;
using plugin::Output;

template <class Payload>
constexpr struct gm_plugin plugin_of = plugin::describe<Payload>("test", 0);

/// Repeats each record as often as the configuration has bytes; "drop", "blank", "fail" and
/// "bad" do as they say.
struct Repeat {
    explicit Repeat(std::string_view config) : times(config.size()) {}
    void process(const Batch &batch, Output &output) {
        for (const std::string_view record : batch.records()) {
            if (record == "drop") {
                output.filter(Leave::nothing);
            } else if (record == "blank") {
                output.filter(Leave::blank);
            } else if (record == "fail") {
                output.fail("asked to", Leave::nothing);
            } else if (record == "bad") {
                output.fail(nullptr, Leave::blank);
            } else {
                char *at = output.start(record.size() * times);
                for (std::size_t i = 0; i < times; ++i)
                    at = std::copy(record.begin(), record.end(), at);
                output.emit_until(at);
            }
        }
    }
    std::size_t times;
};

TEST(Veneer, AccountsForEveryRecordInOrder) {
    PluginHost host(plugin_of<Repeat>, "12");
    const Outcome outcome = host.run({"a", "drop", "fail", "b", "blank", "bad", "c"});
    EXPECT_EQ(outcome.status, GM_OK);
    EXPECT_EQ(outcome.output, "aa\nbb\n\n\ncc\n");
    EXPECT_EQ(outcome.emitted, 3u);
    EXPECT_EQ(outcome.filtered, 2u);
    EXPECT_EQ(outcome.failures, (std::vector<Failure>{{2, "asked to", 3}, {5, "", 7}}));
    EXPECT_TRUE(outcome.complaints.empty());
}

TEST(Veneer, FramesOutputLikeInput) {
    PluginHost host(plugin_of<Repeat>, "1");
    const std::vector<std::string> records{"one", "", "blank", "bad", std::string(300, 'z')};
    const std::vector<std::string> expected{"one", "", "", "", std::string(300, 'z')};
    for (const Framing &framing :
         {Framing::by("\n"), Framing::by("\r\n"), Framing::by("xyx"), Framing::u32()}) {
        const Outcome outcome = host.run(records, framing);
        EXPECT_EQ(outcome.output, framing.join(expected));
        EXPECT_TRUE(outcome.complaints.empty());
    }
    EXPECT_EQ(host.run({"abc", "bad", "def"}, Framing::fixed()).output, "abcdef");
}

TEST(Veneer, WalksDelimitersFromLeftToRight) {
    PluginHost host(plugin_of<Repeat>, "1");
    EXPECT_EQ(host.run_bytes("baaaxaa", 2, 0, Framing::by("aa")).output, "baaaxaa");
    EXPECT_EQ(host.run_bytes("aaaa", 2, 0, Framing::by("aa")).emitted, 2u);
}

TEST(Veneer, OutputGrowsPastTheFirstReservation) {
    PluginHost host(plugin_of<Repeat>, std::string(100, 'n').c_str());
    std::vector<std::string> records, expected;
    for (int i = 0; i < 500; ++i) {
        records.push_back(i % 7 == 0 ? "bad" : std::string(static_cast<std::size_t>(i), 'r'));
        expected.push_back(i % 7 == 0 ? "" : std::string(static_cast<std::size_t>(i) * 100, 'r'));
    }
    for (const Framing &framing : {Framing::by("\n"), Framing::u32()}) {
        const Outcome outcome = host.run(records, framing);
        EXPECT_EQ(framing.split(outcome.output), expected);
        EXPECT_TRUE(outcome.complaints.empty());
    }
}

TEST(Veneer, NoMemoryFailsTheBatchAlone) {
    PluginHost host(plugin_of<Repeat>, "1");
    host.limit_memory(3);
    EXPECT_EQ(host.run({"too long for three bytes"}).status, GM_FAIL_BATCH);
    EXPECT_EQ(host.explanation(), "out of memory");
    host.limit_memory(UINT64_MAX);
    EXPECT_EQ(host.run({"fine"}).output, "fine\n");
}

TEST(Veneer, FramesThatDoNotFitFailTheBatch) {
    PluginHost host(plugin_of<Repeat>, "1");
    using namespace std::string_view_literals;
    EXPECT_EQ(host.run_bytes("\5\0\0\0abcd"sv, 1, 0, Framing::u32()).status, GM_FAIL_BATCH);
    EXPECT_EQ(host.run_bytes("\5\0"sv, 1, 0, Framing::u32()).status, GM_FAIL_BATCH);
    EXPECT_EQ(host.run_bytes("abcde", 2, 3, Framing::fixed()).status, GM_FAIL_BATCH);
    EXPECT_EQ(host.run_bytes("abc", 1, 0, Framing::fixed()).status, GM_FAIL_BATCH);
}

/// Throws what it is told to, where it is told to.
struct Thrower {
    explicit Thrower(std::string_view config) {
        if (config == "create")
            throw std::invalid_argument("no such thing");
        if (config == "create int")
            throw 7;
    }
    void process(const Batch &, Output &output) {
        output.emit("half of the output");
        throw std::runtime_error("broke down");
    }
};

TEST(Veneer, ExceptionsBecomeExplanations) {
    PluginHost constructor_throws(plugin_of<Thrower>, "create");
    EXPECT_FALSE(constructor_throws.ok());
    EXPECT_EQ(constructor_throws.explanation(), "no such thing");
    PluginHost throws_int(plugin_of<Thrower>, "create int");
    EXPECT_FALSE(throws_int.ok());
    EXPECT_EQ(throws_int.explanation(), "an exception that is no std::exception");
    PluginHost process_throws(plugin_of<Thrower>, "");
    ASSERT_TRUE(process_throws.ok());
    EXPECT_EQ(process_throws.run({"x"}).status, GM_FAIL_BATCH);
    EXPECT_EQ(process_throws.explanation(), "broke down");
}

/// Can be neither copied nor moved, and asks for the host.
struct Settled {
    Settled(std::string_view, plugin::Host host) : host_(host) {}
    Settled(const Settled &) = delete;
    void process(const Batch &batch, Output &output) {
        for (const std::string_view record : batch.records()) {
            output.emit(host_.cancelled() ? "cancelled" : record);
        }
    }
    plugin::Host host_;
};

/// Has no configuration.
struct Plain {
    void process(const Batch &batch, Output &output) {
        for ([[maybe_unused]] const std::string_view record : batch.records())
            output.filter(Leave::nothing);
    }
};

TEST(Veneer, TakesEachKindOfConstructor) {
    EXPECT_EQ(PluginHost(plugin_of<Settled>, "").run({"x", "y"}).output, "x\ny\n");
    EXPECT_EQ(PluginHost(plugin_of<Plain>, "ignored").run({"x", "y"}).filtered, 2u);
}

} // namespace
} // namespace gristmill::test
