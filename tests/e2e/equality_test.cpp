// The strongest oracle (I18): output is byte for byte the same for any worker count, node plan,
// isolation, batch size and way out.
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

// A payload with its input, and what it must give.
struct Job {
    PluginSpec plugin;
    std::vector<std::string> paths;
    RunOptions options;
    std::uint64_t read = 0;
    std::uint64_t failed = 0;
    std::string expected;
    std::uint64_t expected_records = 0;
};

// Lines of all lengths, blank ones too, some longer than what one read asks for.
std::string text(std::uint64_t seed, std::size_t lines) {
    std::mt19937_64 random(seed);
    std::string bytes;
    for (std::size_t i = 0; i < lines; ++i) {
        const std::size_t kind = random() % 1000;
        const std::size_t length = kind == 0 ? 70'000 + random() % 9000
                                   : kind < 20 ? 500 + random() % 3000
                                   : kind < 120 ? 0
                                                : random() % 100;
        for (std::size_t k = 0; k < length; ++k)
            bytes += static_cast<char>(' ' + random() % 200);
        bytes += '\n';
    }
    return bytes;
}

// Events for the plugin "light": of a hundred two are no events at all, some are too short to
// count, some need escapes.
std::string events(std::uint64_t seed, std::size_t count) {
    static const char *const types[] = {"view", "click", "scroll", "hover", "purchase", "nap"};
    static const char *const devices[] = {"ios", "web", "tablet", "caf\xc3\xa9", "a\\nb\\u00e9"};
    std::mt19937_64 random(seed);
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t kind = random() % 100;
        const auto number = [&](std::uint64_t below) { return std::to_string(random() % below); };
        if (kind < 2) {
            bytes += kind ? "{\"eid\":\"cut" : "\xff{}";
        } else {
            bytes += "{\"eid\":\"" + number(1u << 30) + "\",\"uid\":" + number(1'000'000);
            bytes += ", \"iid\":" + number(50'000) + ",\"et\":\"" + types[random() % 6];
            bytes += "\",\"ts\":17" + number(100'000'000);
            bytes += ",\"dur\":" + number(kind < 9 ? 50 : 9999);
            bytes += ",\"dev\":\"" + std::string(devices[random() % 5]) + "\"}";
        }
        bytes += '\n';
    }
    return bytes;
}

class Equality : public ::testing::TestWithParam<Crew> {
  protected:
    Crew crew() const { return GetParam(); }

    // Three sources: one that lacks its last delimiter, an empty one, one that is whole or not.
    Job text_job(const std::string &plugin, bool whole) {
        const std::size_t lines = std::max<std::size_t>(scaled(2500), 400);
        std::vector<std::string> sources{text(11, lines) + "no delimiter", "", text(12, lines / 2)};
        if (!whole)
            sources.back() += "ends without";
        Job job{bundled(plugin), {}, {}, 0, 0, {}, 0};
        for (std::size_t i = 0; i < sources.size(); ++i) {
            job.paths.push_back(scratch_.write(std::to_string(i), sources[i]));
            job.read += split(sources[i]).size();
        }
        job.expected = mapped(sources, "\n", plugin == "upper" ? upper : [](const auto &record) {
            return record;
        });
        job.expected_records = job.read;
        return job;
    }

    // What the first engine gives is what all must give; light_equality says whether it is right.
    Job light_job() {
        const std::size_t count = std::max<std::size_t>(scaled(4000), 500);
        const std::string bytes = events(20, count);
        Job job{bundled("light"), {scratch_.write("light.jsonl", bytes)}, {}, 0, 0, {}, 0};
        job.options.on_error = OnError::skip;
        Engine serial = make_engine({0, "1"});
        const Outcome first = complete(serial, Way::map, job.plugin, job.paths, job.options);
        job.read = count;
        job.failed = first.report.failed;
        EXPECT_GT(job.failed, 0u);
        EXPECT_LT(job.failed, count / 10);
        EXPECT_GT(first.report.filtered, 0u);
        job.expected = first.bytes;
        job.expected_records = count; // malformed ones leave a blank line
        return job;
    }

    std::vector<RunOptions> batchings(const Job &job) const {
        std::uint64_t whole = 1;
        for (const std::string &path : job.paths)
            whole = std::max<std::uint64_t>(whole, std::filesystem::file_size(path));
        std::vector<RunOptions> all(3, in(crew(), job.options));
        all[0].batch_records = 1;
        all[2].batch_bytes = whole;
        return all;
    }

    const Scratch scratch_;
};

void expect_output(const Outcome &outcome, const Job &job, Order order, Way way) {
    if (order == Order::index) {
        EXPECT_TRUE(outcome.bytes == job.expected)
            << outcome.bytes.size() << " bytes instead of " << job.expected.size();
        if (way == Way::map) {
            EXPECT_EQ(outcome.records.size(), job.expected_records);
        }
    } else {
        EXPECT_TRUE(sorted_lines(outcome.bytes) == sorted_lines(job.expected + "\n") ||
                    sorted_lines(outcome.bytes) == sorted_lines(job.expected));
    }
    expect_accounted(outcome.report, job.paths, job.read);
    EXPECT_EQ(outcome.report.failed, job.failed);
    EXPECT_EQ(outcome.report.output_records, job.expected_records);
}

void expect_same_everywhere(Engine &engine, const Job &job, const std::vector<RunOptions> &all) {
    for (RunOptions options : all)
        for (const Order order : {Order::index, Order::none})
            for (const Way way : {Way::map, Way::run}) {
                SCOPED_TRACE(::testing::Message()
                             << "batch_records " << options.batch_records.value_or(0)
                             << ", batch_bytes " << options.batch_bytes.value_or(0) << ", order "
                             << (order == Order::index ? "index" : "none") << ", "
                             << (way == Way::map ? "map" : "run"));
                options.order = order;
                expect_output(complete(engine, way, job.plugin, job.paths, options), job, order,
                              way);
                if (::testing::Test::HasFailure())
                    return;
            }
}

TEST_P(Equality, Identity) {
    Engine engine = make_engine(crew());
    const Job job = text_job("identity", false);
    // Identity: the bytes that came in, but for the delimiter that parts the two sources.
    EXPECT_EQ(job.expected, read_file(job.paths[0]) + "\n" + read_file(job.paths[2]));
    expect_same_everywhere(engine, job, batchings(job));
}

TEST_P(Equality, Upper) {
    Engine engine = make_engine(crew());
    const Job job = text_job("upper", true);
    expect_same_everywhere(engine, job, batchings(job));
}

TEST_P(Equality, Light) {
    Engine engine = make_engine(crew());
    const Job job = light_job();
    expect_same_everywhere(engine, job, batchings(job));
}

// Says one number per batch, so that only the sum is the same everywhere.
TEST_P(Equality, CountBySum) {
    Engine engine = make_engine(crew());
    const Job job = text_job("count", true);
    for (RunOptions options : batchings(job))
        for (const Order order : {Order::index, Order::none}) {
            options.order = order;
            const Outcome outcome = complete(engine, Way::map, job.plugin, job.paths, options);
            std::uint64_t sum = 0;
            for (const std::string &line : split(outcome.bytes))
                sum += std::stoull(line);
            EXPECT_EQ(sum, job.read);
            EXPECT_EQ(outcome.report.read, job.read);
            EXPECT_EQ(outcome.report.batches, outcome.report.output_records);
        }
}

std::vector<Crew> crews() {
    std::vector<Crew> all;
    for (const char *nodes : {"1", "@2", "@4"}) {
        for (const std::uint32_t workers : {0u, 1u, 2u, 7u})
            all.push_back({workers, nodes, Isolation::thread});
        for (const std::uint32_t workers : {1u, 2u, 7u})
            all.push_back({workers, nodes, Isolation::process});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Equality, ::testing::ValuesIn(crews()),
                         [](const auto &given) {
                             return "Workers" + std::to_string(given.param.workers) + "Nodes" +
                                    std::string(1, given.param.nodes.back()) +
                                    (given.param.isolation == Isolation::thread ? "Threads"
                                                                                : "Processes");
                         });

} // namespace
} // namespace gristmill::e2e
