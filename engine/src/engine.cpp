#include <gristmill/engine.hpp>

#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "coordinator.hpp"
#include "employment.hpp"
#include "input/ingress.hpp"
#include "os/fd_io.hpp"
#include "output/egress.hpp"
#include "output/results.hpp"
#include "output/sink.hpp"
#include "store/chunk_pool.hpp"
#include "store/output_reader.hpp"

namespace gristmill {

namespace {

using RunState = ring::RunState<ring::SystemAtomics>;

constexpr std::uint64_t kBatchBytesMax = kMiB;     // larger ones fall out of the L2 cache
constexpr std::uint64_t kCommandBytesMax = 8 * kMiB;
constexpr std::uint64_t kCommandWallNs = 50'000'000;
constexpr std::uint32_t kRetriesCounted = 254;     // attempts have 8 bits in the state word
constexpr std::uint64_t kRingBytesMax = 8 * kMiB;  // of one worker's output; stays warm

// Where records come from: files, or items of a language binding.
struct Input {
    const std::vector<std::string> &paths;
    const ItemFeed *items = nullptr;
};

// What egress wants to know about sources, answered by ingress and the paths.
class PathNames final : public output::SourceNames {
  public:
    PathNames(const Input &input, const input::Ingress &ingress, const record::SourceTable &table)
        : input_(input), ingress_(ingress), table_(table) {}

    std::string name(std::uint32_t source) const override {
        return input_.items ? input_.items->name : input_.paths.at(source);
    }
    Error failure(std::uint32_t) const override { return ingress_.failure(); }
    std::vector<std::byte> bytes_of(std::uint16_t slot, std::uint64_t offset,
                                    std::uint64_t bytes) const override {
        const std::uint64_t there = table_.at(slot).bytes;
        std::vector<std::byte> data(std::min(bytes, there - std::min(there, offset)));
        const std::int64_t got = os::pread_full(table_.at(slot).fd, data, offset);
        data.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
        return data;
    }

  private:
    const Input &input_;
    const input::Ingress &ingress_;
    const record::SourceTable &table_;
};

work::KeepNotes notes_to_keep(const RunOptions &options) {
    if (options.on_error == OnError::raise)
        return work::KeepNotes::lowest;
    return options.on_error == OnError::collect || !options.errors_to.empty()
               ? work::KeepNotes::all
               : work::KeepNotes::none;
}

} // namespace

// Threads: any, under `mutex`; one run at a time.
// Owns:    the workers, in whatever hosts were asked for so far; the loaded plugins.
struct Engine::State {
    EngineOptions options;
    Plan plan;
    Hosts hosts;
    work::PluginCache plugins;
    std::mutex mutex;

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
    std::uint64_t ring_bytes(const RunOptions &run) const {
        return std::min(run.memory_bytes / 2 / workers(), kRingBytesMax);
    }
    Result<Employed> employ(const Payload &payload, const RunOptions &run);
    Result<Results> map(const Payload &payload, const Input &input,
                        const RunOptions &run);
    Result<RunOutcome> run(const Payload &payload, const Input &input,
                           const OutputTarget &output, const RunOptions &run);
    Result<RunOutcome> execute(const Payload &payload, const Input &input,
                               const RunOptions &run, output::Sink &sink, work::OutputMode mode,
                               store::Collected *collected);
};

namespace {

work::WorkOrder work_order(const RunOptions &run, work::OutputMode mode, const Employed &employed) {
    work::WorkOrder order;
    order.framing = run.framing;
    order.max_record_bytes = run.max_record_bytes;
    order.read_bytes = run.test_read_bytes;
    order.keep_notes = notes_to_keep(run);
    order.output = mode;
    order.count_output = mode == work::OutputMode::ring;
    order.whole_attempts = 1 + std::min(run.retries, kRetriesCounted);
    order.batches_per_worker = run.batches_per_worker;
    order.payloads = employed.factory();
    order.sources = &employed.host->sources();
    return order;
}

std::vector<store::ReleaseCounters> release_counters(const RunState &state) {
    std::vector<store::ReleaseCounters> counters;
    for (std::uint32_t i = 0; i < state.header().workers; ++i)
        counters.push_back({&state.slot(i).ring_released, &state.slot(i).overflow_released});
    return counters;
}

// Workers use what lies on the coordinator's stack: they leave the run before it does, also when
// an exception unwinds it.
class RunScope {
  public:
    explicit RunScope(work::WorkerHost &host) : host_(host) {}
    RunScope(const RunScope &) = delete;
    RunScope &operator=(const RunScope &) = delete;
    ~RunScope() { host_.give_up_run(); }

  private:
    work::WorkerHost &host_;
};

// The library reports by value; memory that the coordinator itself cannot get is no exception.
template <class Body>
auto reporting_no_memory(Body &&body) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return Error{ErrorKind::memory, "the machine has no memory for this run"};
    }
}

Result<std::optional<output::DeadLetters>> open_dead_letters(const std::string &path) {
    if (path.empty())
        return std::optional<output::DeadLetters>();
    Result<output::DeadLetters> created = output::DeadLetters::create(path);
    if (!created)
        return created.error();
    return std::optional<output::DeadLetters>(std::move(*created));
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

Result<RunOutcome> Engine::State::execute(const Payload &payload,
                                          const Input &input,
                                          const RunOptions &run, output::Sink &sink,
                                          work::OutputMode mode, store::Collected *collected) {
    const std::uint64_t started_ns = wall_clock_ns();
    if (Result<void> valid = validate(run, std::uint32_t(plan.workers.size())); !valid)
        return valid.error();
    Result<Employed> employed = employ(payload, run);
    if (!employed)
        return employed.error();
    work::WorkerHost &host = *employed->host;
    Result<std::optional<output::DeadLetters>> dead_letters = open_dead_letters(run.errors_to);
    if (!dead_letters)
        return dead_letters.error();
    Result<void> prepared = mode == work::OutputMode::ring ? host.prepare_rings(ring_bytes(run))
                                                           : host.prepare_collection();
    if (!prepared)
        return prepared.error();

    const RunState state = host.state();
    state.reset();
    input::Ingress ingress(state, input.paths, input.items, run,
                           ingress_limits(payload, run, mode), host.sources());
    const PathNames names(input, ingress, host.sources());
    store::OutputReader outputs(host.places(), release_counters(state));
    output::Egress egress(
        state, {run, plan, sink, names, outputs, std::move(*dead_letters),
                [&](const ring::BatchInput &batch, const ring::BatchResult &result) {
                    ingress.batch_retired(batch, result);
                }});

    const work::WorkOrder order = work_order(run, mode, *employed);
    const RunScope scope(host);
    Result<void> driven = host.begin_run(order, outputs);
    if (driven)
        driven = Coordinator(host, ingress, egress, run).drive();
    host.end_run(driven.ok(), run.interrupted);
    egress.discard_rest();
    if (collected)
        *collected = host.take_collected();
    if (Result<void> checked = egress.check(ingress.source_bytes(), driven.ok()); !checked)
        return checked.error();
    if (!driven)
        return driven.error();
    if (Result<void> finished = sink.finish(); !finished)
        return finished.error();

    RunOutcome outcome{egress.report(), egress.take_failures()};
    outcome.report.sources = ingress.source_bytes().size();
    outcome.report.overflow_batches = host.overflow_batches();
    outcome.report.retries = host.retries();
    outcome.report.worker_deaths = host.deaths();
    for (std::uint32_t i = 0; i < workers(); ++i)
        outcome.report.cpu_seconds += double(state.slot(i).cpu_ns.load()) * 1e-9;
    outcome.report.wall_seconds = double(wall_clock_ns() - started_ns) * 1e-9;
    return outcome;
}

input::IngressLimits Engine::State::ingress_limits(const Payload &payload, const RunOptions &run,
                                                   work::OutputMode mode) const {
    input::IngressLimits limits;
    limits.workers = workers();
    limits.input_bytes = run.memory_bytes / 2;
    const bool command = std::holds_alternative<CommandSpec>(payload); // a process for each batch
    limits.batch_wall_ns = command ? kCommandWallNs : 0;
    limits.batch_bytes_max = std::min(command ? kCommandBytesMax : kBatchBytesMax,
                                      run.memory_bytes / (4 * workers()));
    limits.output_bytes_max = mode == work::OutputMode::ring ? ring_bytes(run) / 2 : 0;
    return limits;
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
    return Engine(std::move(state));
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::Engine(Engine &&) noexcept = default;
Engine &Engine::operator=(Engine &&) noexcept = default;
Engine::~Engine() = default;

const Plan &Engine::plan() const { return state_->plan; }

Result<Results> Engine::map(const Payload &payload, const std::vector<std::string> &paths,
                            const RunOptions &options) {
    const std::lock_guard lock(state_->mutex);
    return reporting_no_memory([&] { return state_->map(payload, {paths}, options); });
}

Result<Results> Engine::map(const Payload &payload, const ItemFeed &items,
                            const RunOptions &options) {
    const std::lock_guard lock(state_->mutex);
    return reporting_no_memory([&] { return state_->map(payload, {{}, &items}, options); });
}

Result<Results> Engine::State::map(const Payload &payload, const Input &input,
                                   const RunOptions &run) {
    output::CollectSink sink;
    auto results = std::make_unique<Results::State>();
    Result<RunOutcome> outcome =
        execute(payload, input, run, sink, work::OutputMode::collection, &results->memory);
    if (!outcome)
        return outcome.error();
    results->batches = sink.take_batches();
    results->framing = run.framing;
    results->ends_without_delimiter =
        run.order == Order::index && sink.ends_without_delimiter();
    results->report = std::move(outcome->report);
    results->errors = std::move(outcome->errors);
    return Results(std::move(results));
}

Result<RunOutcome> Engine::run(const Payload &payload, const std::vector<std::string> &paths,
                               const OutputTarget &output, const RunOptions &options) {
    const std::lock_guard lock(state_->mutex);
    return reporting_no_memory([&] { return state_->run(payload, {paths}, output, options); });
}

Result<RunOutcome> Engine::run(const Payload &payload, const ItemFeed &items,
                               const RunOptions &options) {
    const std::lock_guard lock(state_->mutex);
    return reporting_no_memory([&] { return state_->run(payload, {{}, &items}, {}, options); });
}

Result<RunOutcome> Engine::State::run(const Payload &payload,
                                      const Input &input,
                                      const OutputTarget &output, const RunOptions &run) {
    if (output.kind == OutputTarget::Kind::none) {
        output::DiscardSink sink;
        return execute(payload, input, run, sink, work::OutputMode::ring, nullptr);
    }
    Result<os::OutputFile> file = output.kind == OutputTarget::Kind::path
                                      ? os::OutputFile::create(output.path)
                                      : os::OutputFile::adopt(output.descriptor);
    if (!file)
        return file.error();
    output::FileSink sink(std::move(*file), run.framing, run.order);
    return execute(payload, input, run, sink, work::OutputMode::ring, nullptr);
}

} // namespace gristmill
