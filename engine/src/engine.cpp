#include <gristmill/engine.hpp>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "employment.hpp"
#include "engine_turn.hpp"
#include "os/fd_io.hpp"
#include "os/placement.hpp"
#include "output/results.hpp"
#include "output/sink.hpp"
#include "run.hpp"
#include "store/chunk_pool.hpp"
#include "store/collected.hpp"
#include "stream.hpp"

namespace gristmill {

namespace {

constexpr std::uint64_t kBatchBytesMax = kMiB;     // larger ones fall out of the L2 cache
constexpr std::uint64_t kCommandBytesMax = 8 * kMiB;
constexpr std::uint64_t kCommandWallNs = 50'000'000;
constexpr std::uint64_t kRingBytesMax = 8 * kMiB;  // of one worker's output; stays warm
constexpr std::uint64_t kLargeRingBytes = 256 * kMiB;

} // namespace

// Threads: any, one after the other: `turn`.
// Owns:    the workers, in whatever hosts were asked for so far; the loaded plugins.
struct Engine::State {
    EngineOptions options;
    Plan plan;
    Hosts hosts;
    work::PluginCache plugins;
    EngineTurn turn;

    State() { store::ChunkPool::process().add_engine(); }
    ~State() {
        hosts = {};
        if (store::ChunkPool::process().remove_engine())
            store::CollectionFilePool::process().clear();
    }

    std::uint32_t workers() const {
        return std::max<std::uint32_t>(1, std::uint32_t(plan.workers.size()));
    }
    input::IngressLimits ingress_limits(const Payload &payload, const RunOptions &run,
                                        work::OutputMode mode) const;
    std::uint64_t ring_bytes(const RunOptions &run) const;
    void try_placement();
    Result<Employed> employ(const Payload &payload, const RunOptions &run);
    Result<std::unique_ptr<Run>> begin(const Payload &payload, Input input, const RunOptions &run,
                                       output::Sink &sink, work::OutputMode mode,
                                       bool streamed = false);
    Result<RunOutcome> execute(Run &run, output::Sink &sink);
    Result<Results> map(const Payload &payload, Input input, const RunOptions &options);
    Result<RunOutcome> run(const Payload &payload, Input input, const OutputTarget &output,
                           const RunOptions &options);
    Result<Stream> stream(const Payload &payload, Input input, const RunOptions &options);
};

namespace {

// The library reports by value; memory that the coordinator itself cannot get is no exception.
template <class Body>
auto reporting_no_memory(Body &&body) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return Error{ErrorKind::memory, "the machine has no memory for this run"};
    }
}

} // namespace

// The host that is to do the work, told what work; for threads, with what makes the payload.
Result<Employed> Engine::State::employ(const Payload &payload, const RunOptions &run) {
    Employed employed;
    const bool threads = run.isolation == Isolation::thread || plan.workers.empty();
    if (threads) {
        Result<work::WorkerHost *> host = hosts.threads(plan);
        if (!host)
            return host.error();
        employed.host = *host;
        return make_local(std::move(employed), payload, run, plugins);
    }
    Result<work::ProcessPool *> host = std::holds_alternative<HostedPayload>(payload)
                                           ? hosts.hosted(plan, options.hosted)
                                           : hosts.native(plan);
    if (!host)
        return host.error();
    (*host)->set_payload(describe(payload), run.timeout_ns);
    employed.host = *host;
    return Result<Employed>(std::move(employed));
}

input::IngressLimits Engine::State::ingress_limits(const Payload &payload, const RunOptions &run,
                                                   work::OutputMode mode) const {
    input::IngressLimits limits;
    limits.workers = workers();
    limits.nodes.clear();
    for (std::uint32_t i = 0; i < plan.nodes.size(); ++i)
        limits.nodes.push_back({plan.nodes[i].workers, plan.placed_on(i)});
    limits.input_bytes = run.memory_bytes / 2;
    const bool command = std::holds_alternative<CommandSpec>(payload); // a process for each batch
    limits.batch_wall_ns = command ? kCommandWallNs : 0;
    limits.batch_bytes_max = std::min(command ? kCommandBytesMax : kBatchBytesMax,
                                      run.memory_bytes / (4 * workers()));
    limits.output_bytes_max = mode == work::OutputMode::ring ? ring_bytes(run) / 2 : 0;
    return limits;
}

// Containers may forbid it: then the kernel chooses, and all else is the same.
void Engine::State::try_placement() {
    for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
        const auto memory_node = plan.placed_on(i);
        const int refused = memory_node ? os::placement_refused(*memory_node) : 0;
        if (refused == 0)
            continue;
        plan.placement = Placement::refused;
        plan.refusal = std::generic_category().message(refused);
        plan.reasons.push_back("the kernel does not let this process say where memory comes from (" +
                               plan.refusal + "): it chooses itself");
    }
}

// Small enough to stay warm; but batches that were asked to be large should fit, several of them.
std::uint64_t Engine::State::ring_bytes(const RunOptions &run) const {
    constexpr std::uint64_t record_bytes = 512; // of output, a guess
    const std::uint64_t asked = run.batch_bytes.value_or(
        std::min(run.batch_records.value_or(0), kLargeRingBytes / record_bytes) * record_bytes);
    const std::uint64_t usual =
        std::max(kRingBytesMax, 4 * std::min(asked, kLargeRingBytes / 4));
    return std::min({run.memory_bytes / 2 / workers(), usual, os::file_bytes_limit()});
}

// A run whose workers are awake.
Result<std::unique_ptr<Run>> Engine::State::begin(const Payload &payload, Input input,
                                                  const RunOptions &run, output::Sink &sink,
                                                  work::OutputMode mode, bool streamed) {
    if (Result<void> valid = validate(run, std::uint32_t(plan.workers.size())); !valid)
        return valid.error();
    Result<Employed> employed = employ(payload, run);
    if (!employed)
        return employed.error();
    RunParts parts{std::move(input), run, mode, streamed, ingress_limits(payload, run, mode),
                   ring_bytes(run)};
    return Run::begin(std::move(parts), std::move(*employed), plan, sink);
}

// To its end.
Result<RunOutcome> Engine::State::execute(Run &run, output::Sink &sink) {
    Result<bool> driven = run.drive();
    Result<RunOutcome> outcome = run.finish(driven ? Result<void>() : driven.error());
    if (!outcome)
        return outcome;
    if (Result<void> finished = sink.finish(); !finished)
        return finished.error();
    return outcome;
}

Result<Engine> Engine::create(const EngineOptions &options) {
    if (Result<void> valid = validate(options); !valid)
        return valid.error();
    Result<Topology> topology = discover_topology();
    if (!topology)
        return topology.error();
    auto state = std::make_unique<State>();
    state->options = options;
    Result<Plan> plan = make_plan(*topology, options);
    if (!plan)
        return plan.error();
    state->plan = std::move(*plan);
    state->try_placement();
    return Engine(std::move(state));
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::Engine(Engine &&) noexcept = default;
Engine &Engine::operator=(Engine &&) noexcept = default;
Engine::~Engine() = default;

const Plan &Engine::plan() const { return state_->plan; }

Result<Results> Engine::map(const Payload &payload, const Sources &sources,
                            const RunOptions &options) {
    const EngineTurn::Held turn = state_->turn.take();
    return reporting_no_memory([&] { return state_->map(payload, {sources, {}}, options); });
}

Result<Results> Engine::map(const Payload &payload, const ItemFeed &items,
                            const RunOptions &options) {
    const EngineTurn::Held turn = state_->turn.take();
    return reporting_no_memory([&] { return state_->map(payload, {{}, items}, options); });
}

Result<Results> Engine::State::map(const Payload &payload, Input input,
                                   const RunOptions &options) {
    output::CollectSink sink;
    Result<std::unique_ptr<Run>> run =
        begin(payload, std::move(input), options, sink, work::OutputMode::collection);
    if (!run)
        return run.error();
    auto results = std::make_unique<Results::State>();
    Result<RunOutcome> outcome = execute(**run, sink);
    results->memory = (*run)->take_collected();
    if (!outcome)
        return outcome.error();
    results->batches = sink.take_batches();
    results->framing = options.framing;
    results->ends_without_delimiter =
        options.order == Order::index && sink.ends_without_delimiter();
    results->report = std::move(outcome->report);
    results->errors = std::move(outcome->errors);
    return Results(std::move(results));
}

Result<RunOutcome> Engine::run(const Payload &payload, const Sources &sources,
                               const OutputTarget &output, const RunOptions &options) {
    const EngineTurn::Held turn = state_->turn.take();
    return reporting_no_memory([&] { return state_->run(payload, {sources, {}}, output, options); });
}

Result<RunOutcome> Engine::run(const Payload &payload, const ItemFeed &items,
                               const RunOptions &options) {
    const EngineTurn::Held turn = state_->turn.take();
    return reporting_no_memory([&] { return state_->run(payload, {{}, items}, {}, options); });
}

Result<RunOutcome> Engine::State::run(const Payload &payload, Input input,
                                      const OutputTarget &output, const RunOptions &options) {
    std::unique_ptr<output::Sink> sink = std::make_unique<output::DiscardSink>();
    if (output.kind != OutputTarget::Kind::none) {
        Result<os::OutputFile> file = output.kind == OutputTarget::Kind::path
                                          ? os::OutputFile::create(output.path)
                                          : os::OutputFile::adopt(output.descriptor);
        if (!file)
            return file.error();
        sink = std::make_unique<output::FileSink>(std::move(*file), options.framing, options.order);
    }
    Result<std::unique_ptr<Run>> run =
        begin(payload, std::move(input), options, *sink, work::OutputMode::ring);
    if (!run)
        return run.error();
    return execute(**run, *sink);
}

Result<Stream> Engine::stream(const Payload &payload, const Sources &sources,
                              const RunOptions &options) {
    return reporting_no_memory([&] { return state_->stream(payload, {sources, {}}, options); });
}

Result<Stream> Engine::stream(const Payload &payload, const ItemFeed &items,
                              const RunOptions &options) {
    return reporting_no_memory([&] { return state_->stream(payload, {{}, items}, options); });
}

Result<Stream> Engine::State::stream(const Payload &payload, Input input,
                                     const RunOptions &options) {
    auto stream = std::make_unique<Stream::State>(turn.take());
    Result<std::unique_ptr<Run>> run = begin(payload, std::move(input), options, stream->sink,
                                             work::OutputMode::ring, true);
    if (!run)
        return run.error();
    stream->run = std::move(*run);
    if (Result<void> begun = stream->begin(); !begun)
        return begun.error();
    return Stream(std::move(stream));
}

} // namespace gristmill
