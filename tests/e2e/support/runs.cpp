#include "support/runs.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/oracle.hpp"

namespace gristmill::e2e {

PluginSpec bundled(const std::string &name) {
    return {std::string(GRISTMILL_PLUGIN_DIR) + "/" + name + ".so"};
}

PluginSpec test_plugin(const std::string &name, std::string config) {
    PluginSpec spec{std::string(GRISTMILL_TEST_PLUGIN_DIR) + "/" + name + ".so"};
    spec.config = std::move(config);
    return spec;
}

std::ostream &operator<<(std::ostream &to, const Crew &crew) {
    return to << crew.workers << " workers, nodes " << crew.nodes << ", "
              << (crew.isolation == Isolation::process ? "processes" : "threads");
}

Engine make_engine(const Crew &crew) {
    EngineOptions options;
    options.workers = crew.workers;
    Result<NodeRequest> nodes = NodeRequest::parse(crew.nodes);
    if (!nodes)
        throw std::runtime_error(nodes.error().message);
    options.nodes = *nodes;
    Result<Engine> engine = Engine::create(options);
    if (!engine)
        throw std::runtime_error(engine.error().message);
    return std::move(engine).value();
}

RunOptions in(const Crew &crew, RunOptions options) {
    options.isolation = crew.isolation;
    return options;
}

Engine &EnginePool::get(const Crew &crew) {
    auto &engine = engines_[crew];
    if (!engine)
        engine = std::make_unique<Engine>(make_engine(crew));
    return *engine;
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

namespace {

// The batches joined are the whole, but for delimiters: of the very last record, which the input
// may lack, and of one that ends a source open, which is then put in.
void expect_joined(const Results &results, const std::string &whole) {
    std::string joined;
    for (const OutputBatch &batch : results.batches()) {
        if (batch.ends_open)
            return;
        joined += text_of(batch.data);
    }
    EXPECT_TRUE(joined.starts_with(whole)) << joined.size() << ", " << whole.size();
}

} // namespace

Outcome outcome_of(const Results &results) {
    Outcome outcome;
    outcome.bytes.resize(results.byte_size());
    results.copy_to(std::as_writable_bytes(std::span(outcome.bytes)));
    expect_joined(results, outcome.bytes);
    outcome.records.reserve(results.size());
    for (std::uint64_t i = 0; i < results.size(); ++i)
        outcome.records.push_back(text_of(results[i]));
    outcome.report = results.report();
    outcome.errors = results.errors();
    return outcome;
}

Outcome complete(Engine &engine, Way way, const PluginSpec &plugin,
                 const std::vector<std::string> &paths, const RunOptions &options) {
    if (way == Way::map) {
        const Result<Results> results = engine.map(plugin, Sources(paths.begin(), paths.end()), options);
        EXPECT_TRUE(results.ok()) << results.error().message;
        return results ? outcome_of(*results) : Outcome{};
    }
    const Scratch scratch;
    const std::string path = scratch.path("out");
    Result<RunOutcome> ran =
        engine.run(plugin, Sources(paths.begin(), paths.end()), {OutputTarget::Kind::path, path, -1}, options);
    EXPECT_TRUE(ran.ok()) << ran.error().message;
    if (!ran)
        return {};
    EXPECT_EQ(scratch.names(), std::vector<std::string>{"out"});
    return {read_file(path), {}, std::move(ran->report), std::move(ran->errors)};
}

Error failing(Engine &engine, Way way, const PluginSpec &plugin,
              const std::vector<std::string> &paths, const RunOptions &options) {
    if (way == Way::map) {
        Result<Results> results = engine.map(plugin, Sources(paths.begin(), paths.end()), options);
        EXPECT_FALSE(results.ok()) << "map() was expected to fail";
        return results.ok() ? Error{} : std::move(results.error());
    }
    const Scratch scratch;
    Result<RunOutcome> ran =
        engine.run(plugin, Sources(paths.begin(), paths.end()), {OutputTarget::Kind::path, scratch.path("out"), -1}, options);
    EXPECT_FALSE(ran.ok()) << "run() was expected to fail";
    EXPECT_EQ(scratch.names(), std::vector<std::string>{}) << "left behind";
    return ran.ok() ? Error{} : std::move(ran.error());
}

void expect_accounted(const Report &report, const std::vector<std::string> &paths,
                      std::uint64_t records) {
    EXPECT_EQ(report.read, records);
    EXPECT_EQ(report.read, report.emitted + report.filtered + report.failed);
    EXPECT_EQ(report.discarded, 0u);
    EXPECT_EQ(report.sources, paths.size());
    std::uint64_t bytes = 0;
    for (const std::string &path : paths)
        bytes += std::filesystem::file_size(path);
    EXPECT_EQ(report.input_bytes, bytes);
    std::uint64_t of_nodes = 0;
    for (const NodeReport &node : report.nodes)
        of_nodes += node.records;
    EXPECT_EQ(of_nodes, records) << "the nodes' records add up to the run's";
}

std::string sorted_lines(const std::string &bytes, const std::string &delimiter) {
    std::vector<std::string> lines = split(bytes, delimiter);
    std::sort(lines.begin(), lines.end());
    std::string sorted;
    for (const std::string &line : lines)
        sorted += line + delimiter;
    return sorted;
}

RunOptions with_batch_bytes(std::uint64_t bytes) {
    RunOptions options;
    options.batch_bytes = bytes;
    return options;
}

RunOptions with_batch_records(std::uint64_t records) {
    RunOptions options;
    options.batch_records = records;
    return options;
}

RunOptions delimited_by(const std::string &delimiter) {
    RunOptions options;
    options.framing.delimiter = delimiter;
    return options;
}

std::uint64_t random_seed() {
    const char *given = std::getenv("GRISTMILL_SEED");
    const std::uint64_t seed =
        given ? std::strtoull(given, nullptr, 0) : std::uint64_t{std::random_device{}()};
    std::cout << "replay with GRISTMILL_SEED=" << seed << "\n";
    return seed;
}

} // namespace gristmill::e2e
