// How close the engine comes to the loop that one would write by hand.
//
//     bench_ideal PLUGIN.so FILE [--config TEXT] [--workers 1,2] [--pairs 7] [--nodes 1,@2,@4]
//
// For each worker count: pairs of runs, engine and loop in turn, on the same input and the same
// plugin, then the medians and their ratio. One JSON object a line; rates in records/s, and the
// seconds of every run.
#include <gristmill/engine.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "ideal_loop.hpp"

namespace {

using namespace gristmill;
using bench::IdealLoop;

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

[[noreturn]] void die(const std::string &message) {
    std::fprintf(stderr, "bench_ideal: %s\n", message.c_str());
    std::exit(2);
}

std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');)
        parts.push_back(part);
    return parts;
}

struct Arguments {
    std::string plugin;
    std::string file;
    std::string config; // of the plugin
    std::vector<std::string> workers = {"1", "2"};
    std::vector<std::string> nodes = {"1", "@2", "@4"};
    int pairs = 7;
};

Arguments parse(int count, char **values) {
    Arguments arguments;
    std::vector<std::string> plain;
    for (int i = 1; i < count; ++i) {
        const std::string word = values[i];
        if (!word.starts_with("--")) {
            plain.push_back(word);
            continue;
        }
        if (i + 1 == count)
            die(word + " needs a value");
        const std::string value = values[++i];
        if (word == "--workers")
            arguments.workers = split(value);
        else if (word == "--nodes")
            arguments.nodes = split(value);
        else if (word == "--config")
            arguments.config = value;
        else if (word == "--pairs")
            arguments.pairs = std::max(1, std::atoi(value.c_str()));
        else
            die("unknown option " + word);
    }
    if (plain.size() != 2)
        die("usage: bench_ideal PLUGIN.so FILE [--config TEXT] [--workers 1,2] [--pairs 7] "
            "[--nodes 1,@2,@4]");
    arguments.plugin = plain[0];
    arguments.file = plain[1];
    return arguments;
}

Engine make_engine(const std::string &workers, const std::string &nodes) {
    EngineOptions options;
    options.workers = static_cast<std::uint32_t>(std::atoi(workers.c_str()));
    Result<NodeRequest> request = NodeRequest::parse(nodes);
    if (!request)
        die(request.error().message);
    options.nodes = *request;
    Result<Engine> engine = Engine::create(options);
    if (!engine)
        die(engine.error().message);
    return std::move(*engine);
}

struct Trial {
    double seconds = 0;
    Report report;
};

Trial run_engine(Engine &engine, const Arguments &arguments,
                 Isolation isolation = Isolation::thread) {
    RunOptions options;
    options.isolation = isolation;
    PluginSpec plugin{arguments.plugin};
    plugin.config = arguments.config;
    const auto started = std::chrono::steady_clock::now();
    Result<Results> results = engine.map(plugin, {arguments.file}, options);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
    if (!results)
        die(results.error().message);
    return {took.count(), results->report()};
}

std::string listed(const std::vector<double> &values) {
    std::string text;
    for (const double value : values)
        text += (text.empty() ? "" : ", ") + std::to_string(value);
    return "[" + text + "]";
}

void print_row(const std::string &workers, const char *subject,
               const char *against, const Report &report, const std::vector<double> &ours,
               const std::vector<double> &theirs) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i)
        ratios.push_back(theirs[i] / ours[i]);
    const double seconds = median(ours);
    std::printf("{\"workers\": %s, \"subject\": \"%s\", \"against\": \"%s\", "
                "\"records\": %llu, \"batch_bytes\": %llu, \"pairs\": %zu, "
                "\"records_per_s\": %.0f, \"gb_per_s\": %.3f, \"against_records_per_s\": %.0f, "
                "\"against_gb_per_s\": %.3f, \"ratio\": %.4f, \"ratio_of_pairs\": %.4f, "
                "\"all_seconds\": %s, \"against_all_seconds\": %s}\n",
                workers.c_str(), subject, against,
                static_cast<unsigned long long>(report.read),
                static_cast<unsigned long long>(report.batch_bytes_median), ours.size(),
                double(report.read) / seconds, double(report.input_bytes) / seconds / 1e9,
                double(report.read) / median(theirs),
                double(report.input_bytes) / median(theirs) / 1e9, median(theirs) / seconds,
                median(ratios), listed(ours).c_str(), listed(theirs).c_str());
    std::fflush(stdout);
}

// Runs both in turn, the one that begins changing with each pair.
void pairs(int count, std::vector<double> &a, std::vector<double> &b,
           const std::function<double()> &run_a, const std::function<double()> &run_b) {
    for (int i = 0; i < count; ++i) {
        if (i % 2 == 0)
            a.push_back(run_a());
        b.push_back(run_b());
        if (i % 2 == 1)
            a.push_back(run_a());
    }
}

struct Rival {
    const char *name;
    bench::Input input;
    bool counts;
};

void compare_with_loop(const Arguments &arguments, const std::string &workers, IdealLoop &loop,
                       Engine &engine, Isolation isolation, const Rival &rival) {
    const auto threads = static_cast<unsigned>(std::atoi(workers.c_str()));
    const Trial warm = run_engine(engine, arguments, isolation);
    loop.count_records(rival.counts);
    loop.run(threads, rival.input);
    loop.run(threads, rival.input);
    if (loop.output_bytes() != warm.report.output_bytes)
        die("loop and engine disagree: " + std::to_string(loop.output_bytes()) + " and " +
            std::to_string(warm.report.output_bytes) + " bytes of output");
    std::vector<double> ours;
    std::vector<double> theirs;
    pairs(arguments.pairs, ours, theirs,
          [&] { return run_engine(engine, arguments, isolation).seconds; },
          [&] { return loop.run(threads, rival.input); });
    print_row(workers, isolation == Isolation::thread ? "threads" : "processes", rival.name,
              warm.report, ours, theirs);
}

void compare_with_loops(const Arguments &arguments, const std::string &workers) {
    Engine engine = make_engine(workers, "1");
    for (const Isolation isolation : {Isolation::thread, Isolation::process}) {
        run_engine(engine, arguments, isolation);
        const Trial warm = run_engine(engine, arguments, isolation);
        IdealLoop loop(arguments.plugin, arguments.config, arguments.file,
                       warm.report.batch_bytes_median);
        for (const Rival &rival :
             {Rival{"loop with pread", bench::Input::pread, true},
              Rival{"loop with pread, batches without record_count", bench::Input::pread, false},
              Rival{"loop over memory", bench::Input::memory, true}})
            compare_with_loop(arguments, workers, loop, engine, isolation, rival);
    }
}

// The same engine, its workers once in threads and once in processes of their own.
void compare_isolation(const Arguments &arguments, const std::string &workers) {
    Engine engine = make_engine(workers, "1");
    run_engine(engine, arguments, Isolation::thread);
    const Trial warm = run_engine(engine, arguments, Isolation::process);
    std::vector<double> ours;
    std::vector<double> theirs;
    pairs(arguments.pairs, ours, theirs,
          [&] { return run_engine(engine, arguments, Isolation::process).seconds; },
          [&] { return run_engine(engine, arguments, Isolation::thread).seconds; });
    print_row(workers, "processes", "threads", warm.report, ours, theirs);
}

void compare_nodes(const Arguments &arguments, const std::string &workers) {
    Engine one = make_engine(workers, "1");
    run_engine(one, arguments);
    for (const std::string &nodes : arguments.nodes) {
        if (nodes == "1")
            continue;
        Engine several = make_engine(workers, nodes);
        const Trial warm = run_engine(several, arguments);
        std::vector<double> ours;
        std::vector<double> theirs;
        pairs(arguments.pairs, ours, theirs,
              [&] { return run_engine(several, arguments).seconds; },
              [&] { return run_engine(one, arguments).seconds; });
        print_row(workers, ("nodes " + nodes).c_str(), "one node", warm.report, ours,
                  theirs);
    }
}

} // namespace

int main(int count, char **values) {
    const Arguments arguments = parse(count, values);
    for (const std::string &workers : arguments.workers) {
        compare_with_loops(arguments, workers);
        compare_isolation(arguments, workers);
        compare_nodes(arguments, workers);
    }
}
