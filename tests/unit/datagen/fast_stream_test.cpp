// Each record of the fast stream depends on seed and number alone.
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include "counter_random.hpp"
#include "digest.hpp"
#include "generate.hpp"

namespace gristmill::datagen {
namespace {

std::string generated(const GenerateSpec &spec) {
    std::string bytes;
    const auto error = append_records(spec, bytes);
    EXPECT_FALSE(error) << error->what;
    return bytes;
}

class FastStream : public testing::TestWithParam<std::tuple<RecordSet, int>> {
  protected:
    static constexpr std::uint64_t records = 20011; // of heavy, 79 chunks: more than a round of 7

    GenerateSpec spec() const {
        return {.set = std::get<0>(GetParam()),
                .stream = Stream::fast,
                .records = records,
                .malformed_pct = static_cast<double>(std::get<1>(GetParam()))};
    }
    std::string with_threads(std::uint32_t threads) const {
        GenerateSpec asked = spec();
        asked.threads = threads;
        return generated(asked);
    }
    std::string of_range(std::uint64_t begin, std::uint64_t end) const {
        GenerateSpec asked = spec();
        asked.range = Range{begin, end};
        return generated(asked);
    }
};

TEST_P(FastStream, IsTheSameForAnyNumberOfThreads) {
    const tbb::global_control more_than_cpus(tbb::global_control::max_allowed_parallelism, 8);
    const std::string expected = with_threads(1);
    for (const std::uint32_t threads : {2, 7, 0})
        EXPECT_TRUE(with_threads(threads) == expected) << threads;
}

TEST_P(FastStream, IsTheSameForAnySplit) {
    const std::string expected = generated(spec());
    const std::uint64_t cuts[] = {0, 1, 2, 1000, 1023, 4099, 4099, 20010, records};
    std::string joined;
    for (std::size_t i = 1; i < std::size(cuts); ++i)
        joined += of_range(cuts[i - 1], cuts[i]);
    EXPECT_TRUE(joined == expected);
}

INSTANTIATE_TEST_SUITE_P(Sets, FastStream,
                         testing::Combine(testing::Values(RecordSet::light, RecordSet::medium,
                                                          RecordSet::heavy, RecordSet::tokenize),
                                          testing::Values(0, 20)),
                         [](const auto &tested) {
                             return std::string(name_of(std::get<0>(tested.param))) + "_" +
                                    std::to_string(std::get<1>(tested.param));
                         });

TEST(FastStreams, DependOnTheSeed) {
    GenerateSpec spec{.set = RecordSet::light, .stream = Stream::fast, .records = 100};
    const std::string expected = generated(spec);
    spec.seed = 42;
    EXPECT_EQ(generated(spec), expected);
    spec.seed = 43;
    EXPECT_NE(generated(spec), expected);
    spec.seed = 42;
    spec.stream = Stream::reference;
    EXPECT_NE(generated(spec), expected);
}

TEST(FastStreams, HaveRecordsFarOut) {
    const GenerateSpec spec{.set = RecordSet::tokenize,
                            .stream = Stream::fast,
                            .records = UINT64_MAX,
                            .range = Range{UINT64_MAX - 2, UINT64_MAX}};
    const std::string bytes = generated(spec);
    EXPECT_TRUE(bytes.starts_with(R"({"doc_id":18446744073709551613,)"));
    EXPECT_NE(bytes.find("\n{\"doc_id\":18446744073709551614,"), std::string::npos);
}

TEST(FastStreams, GoToTheCallingThread) {
    GenerateSpec spec{.set = RecordSet::heavy, .stream = Stream::fast, .records = 5000};
    spec.threads = 2;
    std::uint64_t records = 0;
    EXPECT_FALSE(
        generate_chunks(spec, [&, caller = std::this_thread::get_id()](const Chunk &chunk) {
            EXPECT_EQ(std::this_thread::get_id(), caller);
            EXPECT_TRUE(chunk.bytes.ends_with('\n'));
            records += chunk.records;
            return true;
        }));
    EXPECT_EQ(records, spec.records);
}

TEST(FastStreams, StopAndFailWhenTheSinkDoes) {
    GenerateSpec spec{.set = RecordSet::light, .stream = Stream::fast, .records = 200000};
    for (const std::uint32_t threads : {1, 2}) {
        spec.threads = threads;
        int calls = 0;
        const auto stopped = generate_chunks(spec, [&](const Chunk &) { return ++calls < 3; });
        ASSERT_TRUE(stopped);
        EXPECT_EQ(stopped->error_number, ECANCELED);
        EXPECT_EQ(calls, 3);
        const auto failed = generate_chunks(
            spec, [](const Chunk &) -> bool { throw std::runtime_error("no more room"); });
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->what, "no more room");
    }
}

TEST(CounterRandom, IsEvenInEachBit) {
    constexpr int draws = 64, samples = 4000;
    std::set<std::uint64_t> seen;
    for (int draw = 0; draw < draws; ++draw) {
        int ones[64] = {};
        for (std::uint64_t record = 0; record < samples; ++record) {
            CounterRandom random(42, record);
            std::uint64_t bits = 0;
            for (int i = 0; i <= draw; ++i)
                bits = random.bits(64);
            seen.insert(bits);
            for (int bit = 0; bit < 64; ++bit)
                ones[bit] += bits >> bit & 1;
        }
        for (const int count : ones)
            EXPECT_NEAR(count, samples / 2, 190); // 6 standard deviations
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(draws) * samples);
}

} // namespace
} // namespace gristmill::datagen
