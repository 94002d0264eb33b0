// Random data over a small alphabet, where delimiters overlap themselves and each other.
#include <random>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/runs.hpp"

namespace gristmill::e2e {
namespace {

using Random = std::mt19937_64;

std::string letters(Random &random, std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i)
        text += random() % 2 ? 'a' : 'b';
    return text;
}

std::string visible(const RunOptions &options) {
    return "batch_bytes " + std::to_string(options.batch_bytes.value_or(0)) + ", batch_records " +
           std::to_string(options.batch_records.value_or(0)) + ", reads of " +
           std::to_string(options.test_read_bytes);
}

RunOptions random_options(Random &random, const std::string &delimiter) {
    RunOptions options = delimited_by(delimiter);
    const std::size_t kind = random() % 3;
    if (kind == 0)
        options.batch_bytes = 1 + random() % 40;
    if (kind == 1)
        options.batch_records = 1 + random() % 9;
    if (random() % 2)
        options.test_read_bytes = 1 + random() % 30;
    return options;
}

Crew random_crew(Random &random) {
    static constexpr std::uint32_t workers[] = {0, 1, 2, 7};
    return {workers[random() % 4], random() % 2 ? "1" : "@4"};
}

TEST(FramingRandom, AgreesWithTheOracle) {
    const std::uint64_t seed = random_seed();
    const Scratch scratch;
    EnginePool engines;
    for (std::size_t round = 0; round < scaled(2000); ++round) {
        Random random(seed + round);
        const std::string delimiter = letters(random, 1 + random() % 5);
        const std::string data = letters(random, random() % 120);
        const RunOptions options = random_options(random, delimiter);
        const Crew crew = random_crew(random);
        const Way way = random() % 4 ? Way::map : Way::run;
        const std::string path = scratch.write("data", data);
        const Outcome outcome =
            complete(engines.get(crew), way, bundled("identity"), {path}, options);
        const std::vector<std::string> expected = split(data, delimiter);
        EXPECT_EQ(outcome.bytes, data);
        if (way == Way::map) {
            EXPECT_EQ(outcome.records, expected);
        }
        expect_accounted(outcome.report, {path}, expected.size());
        ASSERT_FALSE(HasFailure()) << "seed " << seed + round << ": '" << data << "' by '"
                                   << delimiter << "', " << crew << ", " << visible(options);
    }
}

RunOptions one_by_one(const std::string &delimiter) {
    RunOptions options = delimited_by(delimiter);
    options.batch_records = 1;
    return options;
}

std::vector<RunOptions> all_options(const std::string &delimiter) {
    std::vector<RunOptions> all;
    for (const std::uint64_t read : {0, 1, 7})
        for (const std::int64_t batch : {0, 1, 2, 5, 64, -1, -3}) {
            RunOptions options = delimited_by(delimiter);
            options.test_read_bytes = read;
            if (batch > 0)
                options.batch_bytes = static_cast<std::uint64_t>(batch);
            if (batch < 0)
                options.batch_records = static_cast<std::uint64_t>(-batch);
            all.push_back(options);
        }
    return all;
}

TEST(FramingRandom, OneResultOverTheWholeProduct) {
    const std::uint64_t seed = random_seed();
    const Scratch scratch;
    EnginePool engines;
    for (std::size_t round = 0; round < scaled(200); ++round) {
        Random random(seed + round);
        const std::string delimiter = letters(random, 1 + random() % 5);
        const std::string data = letters(random, random() % 200);
        const std::string path = scratch.write("data", data);
        const std::vector<std::string> expected = split(data, delimiter);
        for (const Crew &crew : {Crew{1, "1"}, Crew{2, "1"}, Crew{7, "1"}, Crew{2, "@4"}})
            for (const RunOptions &options : all_options(delimiter)) {
                const Outcome outcome = complete(engines.get(crew), Way::map,
                                                 bundled("identity"), {path}, options);
                ASSERT_EQ(outcome.records, expected)
                    << "seed " << seed + round << ": '" << data << "' by '" << delimiter << "', "
                    << crew << ", " << visible(options);
            }
    }
}

// Several sources, each with records of its own: they never run into each other.
TEST(FramingRandom, SourcesStayApart) {
    const std::uint64_t seed = random_seed();
    const Scratch scratch;
    EnginePool engines;
    for (std::size_t round = 0; round < scaled(300); ++round) {
        Random random(seed + round);
        const std::string delimiter = letters(random, 1 + random() % 3);
        std::vector<std::string> sources;
        std::vector<std::string> paths;
        std::vector<std::string> expected;
        for (std::size_t i = 0; i < 1 + random() % 5; ++i) {
            sources.push_back(letters(random, random() % 3 ? random() % 60 : 0));
            paths.push_back(scratch.write("source" + std::to_string(i), sources.back()));
            for (std::string &record : split(sources.back(), delimiter))
                expected.push_back(std::move(record));
        }
        const RunOptions options = random_options(random, delimiter);
        Engine &engine = engines.get(random_crew(random));
        const Outcome outcome = complete(engine, Way::map, bundled("identity"), paths, options);
        const Outcome written = complete(engine, Way::run, bundled("identity"), paths, options);
        EXPECT_EQ(outcome.records, expected);
        EXPECT_EQ(outcome.bytes, mapped(sources, delimiter, [](const auto &r) { return r; }));
        EXPECT_EQ(written.bytes, outcome.bytes);
        expect_accounted(outcome.report, paths, expected.size());
        ASSERT_FALSE(HasFailure()) << "seed " << seed + round << ", delimiter '" << delimiter
                                   << "', " << visible(options);
    }
}

// The last record ends with the beginning of a delimiter that has a border, as a paragraph file
// that ends with one newline does. Its records are still those of the oracle.
TEST(FramingTail, EndsLikeTheDelimiterBegins) {
    const Scratch scratch;
    EnginePool engines;
    const std::pair<std::string, std::string> tails[] = {
        {"a\n\nb\n", "\n\n"}, {"b\n", "\n\n"}, {"a", "aa"}, {"x$$$", "$$$$"}, {"y$$$$x$", "$$$$"},
        {"bab", "aba"},       {"ab", "abab"}};
    for (const auto &[data, delimiter] : tails)
        for (const Crew &crew : {Crew{0, "1"}, Crew{2, "1"}})
            for (const RunOptions &options :
                 {delimited_by(delimiter), one_by_one(delimiter)}) {
                SCOPED_TRACE(::testing::Message() << "'" << data << "' by '" << delimiter << "', "
                                                  << crew << ", " << visible(options));
                const std::string path = scratch.write("data", data);
                const Outcome outcome = complete(engines.get(crew), Way::map,
                                                 bundled("identity"), {path}, options);
                EXPECT_EQ(outcome.bytes, data);
                EXPECT_EQ(outcome.records, split(data, delimiter));
                expect_accounted(outcome.report, {path}, split(data, delimiter).size());
            }
}

} // namespace
} // namespace gristmill::e2e
