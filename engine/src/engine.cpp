#include <gristmill/engine.hpp>

#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "coordinator.hpp"
#include "input/ingress.hpp"
#include "os/fd_io.hpp"
#include "os/memory.hpp"
#include "output/egress.hpp"
#include "output/results.hpp"
#include "output/sink.hpp"
#include "store/chunk_pool.hpp"
#include "store/output_reader.hpp"
#include "work/plugin_payload.hpp"
#include "work/worker_pool.hpp"

namespace gristmill {

namespace {

using RunState = ring::RunState<ring::SystemAtomics>;

constexpr std::uint64_t kBatchBytesMax = kMiB;     // larger ones fall out of the L2 cache
constexpr std::uint64_t kRingBytesMax = 8 * kMiB;  // of one worker's output; stays warm

// What egress wants to know about sources, answered by ingress and the paths.
class PathNames final : public output::SourceNames {
  public:
    PathNames(const std::vector<std::string> &paths, const input::Ingress &ingress,
              const record::SourceTable &table)
        : paths_(paths), ingress_(ingress), table_(table) {}

    std::string name(std::uint32_t source) const override { return paths_.at(source); }
    Error failure(std::uint32_t) const override { return ingress_.failure(); }
    std::vector<std::byte> bytes_of(std::uint16_t slot, std::uint64_t offset,
                                    std::uint64_t bytes) const override {
        std::vector<std::byte> data(bytes);
        const std::int64_t got = os::pread_full(table_.at(slot).fd, data, offset);
        data.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
        return data;
    }

  private:
    const std::vector<std::string> &paths_;
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
// Owns:    the shared block, the workers, the loaded plugins.
struct Engine::State {
    EngineOptions options;
    Plan plan;
    os::UniqueFd block_fd;
    os::Mapping block;
    std::unique_ptr<work::WorkerPool> pool;
    work::PluginCache plugins;
    std::mutex mutex;

    State() { store::ChunkPool::process().add_engine(); }
    ~State() {
        pool.reset();
        store::ChunkPool::process().remove_engine();
    }

    std::uint32_t workers() const {
        return std::max<std::uint32_t>(1, std::uint32_t(plan.workers.size()));
    }
    input::IngressLimits ingress_limits(const RunOptions &run, work::OutputMode mode) const;
    std::uint64_t ring_bytes(const RunOptions &run) const {
        return std::min(run.memory_bytes / 2 / workers(), kRingBytesMax);
    }
    Result<void> start();
    Result<Results> map(const PluginSpec &plugin, const std::vector<std::string> &paths,
                        const RunOptions &run);
    Result<RunOutcome> run(const PluginSpec &plugin, const std::vector<std::string> &paths,
                           const OutputTarget &output, const RunOptions &run);
    Result<RunOutcome> execute(const PluginSpec &plugin, const std::vector<std::string> &paths,
                               const RunOptions &run, output::Sink &sink,
                               work::OutputMode mode);
};

namespace {

work::WorkOrder work_order(const RunOptions &run, work::OutputMode mode,
                           work::PayloadFactory &payloads, const record::SourceTable &sources) {
    work::WorkOrder order;
    order.framing = run.framing;
    order.max_record_bytes = run.max_record_bytes;
    order.read_bytes = run.test_read_bytes;
    order.keep_notes = notes_to_keep(run);
    order.output = mode;
    order.count_output = mode == work::OutputMode::ring;
    order.payloads = &payloads;
    order.sources = &sources;
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
    RunScope(work::WorkerPool &pool, const work::WorkOrder &order) : pool_(pool) {
        pool_.begin_run(order);
    }
    RunScope(const RunScope &) = delete;
    RunScope &operator=(const RunScope &) = delete;
    ~RunScope() { pool_.end_run(); }

  private:
    work::WorkerPool &pool_;
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

} // namespace

Result<void> Engine::State::start() {
    const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
    const std::uint32_t entries = RunState::entries_for(workers());
    const std::uint64_t bytes = RunState::block_bytes(workers(), nodes, entries);
    Result<os::UniqueFd> fd = os::create_memfd("gristmill-run", bytes);
    if (!fd)
        return fd.error();
    Result<os::Mapping> mapping = os::map_shared(fd->get(), 0, bytes);
    if (!mapping)
        return mapping.error();
    block_fd = std::move(*fd);
    block = std::move(*mapping);
    Result<std::unique_ptr<work::WorkerPool>> started =
        work::WorkerPool::start(plan, RunState::create(block.data(), workers(), nodes, entries));
    if (!started)
        return started.error();
    pool = std::move(*started);
    return {};
}

Result<RunOutcome> Engine::State::execute(const PluginSpec &plugin,
                                          const std::vector<std::string> &paths,
                                          const RunOptions &run, output::Sink &sink,
                                          work::OutputMode mode) {
    const std::uint64_t started_ns = wall_clock_ns();
    if (Result<void> valid = validate(run, workers()); !valid)
        return valid.error();
    Result<const work::PluginLibrary *> library = plugins.get(plugin);
    if (!library)
        return library.error();
    std::optional<output::DeadLetters> dead_letters;
    if (!run.errors_to.empty()) {
        Result<output::DeadLetters> created = output::DeadLetters::create(run.errors_to);
        if (!created)
            return created.error();
        dead_letters = std::move(*created);
    }
    if (mode == work::OutputMode::ring)
        if (Result<void> prepared = pool->prepare_rings(ring_bytes(run)); !prepared)
            return prepared.error();

    const RunState state(block.data());
    state.reset();
    record::SourceTable table(input::source_slots());
    input::Ingress ingress(state, paths, run, ingress_limits(run, mode), table);
    const PathNames names(paths, ingress, table);
    store::OutputReader outputs(pool->output_memory(), release_counters(state));
    output::Egress egress(
        state, {run, plan, sink, names, outputs, std::move(dead_letters),
                [&](const ring::BatchInput &input, const ring::BatchResult &result) {
                    ingress.batch_retired(input, result);
                }});

    work::PluginFactory payloads(**library, plugin.config, run.framing);
    const work::WorkOrder order = work_order(run, mode, payloads, table);
    const RunScope scope(*pool, order);
    Result<void> driven =
        Coordinator(state, *pool, ingress, egress, run, plan.workers.empty()).drive();
    pool->end_run();
    egress.discard_rest();
    if (Result<void> checked = egress.check(ingress.source_bytes(), driven.ok()); !checked)
        return checked.error();
    if (!driven)
        return driven.error();
    if (Result<void> finished = sink.finish(); !finished)
        return finished.error();

    RunOutcome outcome{egress.report(), egress.take_failures()};
    outcome.report.sources = ingress.source_bytes().size();
    outcome.report.overflow_batches = pool->overflow_batches();
    for (std::uint32_t i = 0; i < workers(); ++i)
        outcome.report.cpu_seconds += double(state.slot(i).cpu_ns.load()) * 1e-9;
    outcome.report.wall_seconds = double(wall_clock_ns() - started_ns) * 1e-9;
    return outcome;
}

input::IngressLimits Engine::State::ingress_limits(const RunOptions &run,
                                                   work::OutputMode mode) const {
    input::IngressLimits limits;
    limits.workers = workers();
    limits.input_bytes = run.memory_bytes / 2;
    limits.batch_bytes_max = std::min(kBatchBytesMax, run.memory_bytes / (4 * workers()));
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
    if (Result<void> started = state->start(); !started)
        return started.error();
    return Engine(std::move(state));
}

Engine::Engine(std::unique_ptr<State> state) : state_(std::move(state)) {}
Engine::Engine(Engine &&) noexcept = default;
Engine &Engine::operator=(Engine &&) noexcept = default;
Engine::~Engine() = default;

const Plan &Engine::plan() const { return state_->plan; }

Result<Results> Engine::map(const PluginSpec &plugin, const std::vector<std::string> &paths,
                            const RunOptions &options) {
    const std::lock_guard lock(state_->mutex);
    return reporting_no_memory([&] { return state_->map(plugin, paths, options); });
}

Result<Results> Engine::State::map(const PluginSpec &plugin, const std::vector<std::string> &paths,
                                   const RunOptions &run) {
    output::CollectSink sink;
    Result<RunOutcome> outcome =
        execute(plugin, paths, run, sink, work::OutputMode::collection);
    auto results = std::make_unique<Results::State>();
    results->chunks = pool->take_chunks();
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

Result<RunOutcome> Engine::run(const PluginSpec &plugin, const std::vector<std::string> &paths,
                               const OutputTarget &output, const RunOptions &options) {
    const std::lock_guard lock(state_->mutex);
    return reporting_no_memory([&] { return state_->run(plugin, paths, output, options); });
}

Result<RunOutcome> Engine::State::run(const PluginSpec &plugin,
                                      const std::vector<std::string> &paths,
                                      const OutputTarget &output, const RunOptions &run) {
    if (output.kind == OutputTarget::Kind::none) {
        output::DiscardSink sink;
        return execute(plugin, paths, run, sink, work::OutputMode::ring);
    }
    Result<os::OutputFile> file = output.kind == OutputTarget::Kind::path
                                      ? os::OutputFile::create(output.path)
                                      : os::OutputFile::adopt(output.descriptor);
    if (!file)
        return file.error();
    output::FileSink sink(std::move(*file), run.framing, run.order);
    return execute(plugin, paths, run, sink, work::OutputMode::ring);
}

} // namespace gristmill
