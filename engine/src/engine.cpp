#include <gristmill/engine.hpp>

#include <mutex>
#include <utility>

#include "base/clock.hpp"
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
constexpr std::uint64_t kSignalCheckNs = 100'000'000;

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
    std::uint64_t ring_bytes(const RunOptions &run) const {
        return std::min(run.memory_bytes / 2 / workers(), kRingBytesMax);
    }
    Result<void> start();
    Result<RunOutcome> execute(const PluginSpec &plugin, const std::vector<std::string> &paths,
                               const RunOptions &run, output::Sink &sink,
                               work::OutputMode mode);
};

namespace {

// One run, from the first batch published to the last one retired, as the calling thread lives
// it: publish, retire, sleep.
class Run {
  public:
    Run(RunState state, work::WorkerPool &pool, input::Ingress &ingress, output::Egress &egress,
        const RunOptions &options, bool caller_works)
        : state_(state), pool_(pool), ingress_(ingress), egress_(egress), options_(options),
          caller_works_(caller_works), checked_ns_(wall_clock_ns()) {}

    // Until all is retired, or something ends the run before.
    Result<void> drive() {
        for (;;) {
            ingress_.pump();
            const std::uint64_t retired = egress_.retire();
            if (egress_.error())
                return *egress_.error();
            if (egress_.finished())
                return {};
            if (Result<void> started = check_workers(); !started)
                return started;
            if (interrupted())
                return Error{ErrorKind::interrupted, "the run was interrupted"};
            if (retired > 0)
                continue; // room to publish
            if (!caller_works_)
                wait_for_news();
            else
                pool_.step();
        }
    }

  private:
    void wait_for_news() {
        auto &event = state_.header().egress_event;
        const std::uint32_t ticket = event.prepare_wait();
        if (!egress_.prepare_target() || ingress_.wants_to_publish() || !check_workers()) {
            event.cancel_wait(ticket);
            return;
        }
        const std::int64_t timeout = options_.interrupted ? std::int64_t(kSignalCheckNs) : -1;
        if (event.commit_wait(ticket, timeout) == ring::Wake::signal)
            checked_ns_ = 0;
    }

    bool interrupted() {
        if (!options_.interrupted)
            return false;
        const std::uint64_t now_ns = wall_clock_ns();
        if (now_ns - checked_ns_ < kSignalCheckNs)
            return false;
        checked_ns_ = now_ns;
        return options_.interrupted();
    }

    // A worker without a payload ends the run, with its own words.
    Result<void> check_workers() const {
        for (std::uint32_t i = 0; i < state_.header().workers; ++i)
            if (state_.slot(i).start_failed.load())
                return Error{ErrorKind::plugin, state_.slot(i).start_error};
        return {};
    }

    RunState state_;
    work::WorkerPool &pool_;
    input::Ingress &ingress_;
    output::Egress &egress_;
    const RunOptions &options_;
    const bool caller_works_;
    std::uint64_t checked_ns_;
};

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
    work::PluginFactory payloads(**library, plugin.config, run.framing);
    record::SourceTable table(input::source_slots());
    input::IngressLimits limits;
    limits.workers = workers();
    limits.input_bytes = run.memory_bytes / 2;
    limits.batch_bytes_max = std::min(kBatchBytesMax, run.memory_bytes / (4 * workers()));
    limits.output_bytes_max = mode == work::OutputMode::ring ? ring_bytes(run) / 2 : 0;
    input::Ingress ingress(state, paths, run, limits, table);
    const PathNames names(paths, ingress, table);
    std::vector<store::ReleaseCounters> counters;
    for (std::uint32_t i = 0; i < workers(); ++i)
        counters.push_back({&state.slot(i).ring_released, &state.slot(i).overflow_released});
    store::OutputReader outputs(pool->output_memory(), std::move(counters));
    output::Egress egress(
        state, {run, plan, sink, names, outputs, std::move(dead_letters),
                [&](const ring::BatchInput &input, const ring::BatchResult &result) {
                    ingress.batch_retired(input, result);
                }});

    work::WorkOrder order;
    order.framing = run.framing;
    order.max_record_bytes = run.max_record_bytes;
    order.read_bytes = run.test_read_bytes;
    order.keep_notes = notes_to_keep(run);
    order.output = mode;
    order.count_output = mode == work::OutputMode::ring;
    order.payloads = &payloads;
    order.sources = &table;
    pool->begin_run(order);
    Result<void> driven =
        Run(state, *pool, ingress, egress, run, plan.workers.empty()).drive();
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
    output::CollectSink sink;
    Result<RunOutcome> outcome =
        state_->execute(plugin, paths, options, sink, work::OutputMode::collection);
    auto results = std::make_unique<Results::State>();
    results->chunks = state_->pool->take_chunks();
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

Result<RunOutcome> Engine::run(const PluginSpec &plugin, const std::vector<std::string> &paths,
                               const OutputTarget &output, const RunOptions &options) {
    const std::lock_guard lock(state_->mutex);
    if (output.kind == OutputTarget::Kind::none) {
        output::DiscardSink sink;
        return state_->execute(plugin, paths, options, sink, work::OutputMode::ring);
    }
    Result<os::OutputFile> file = output.kind == OutputTarget::Kind::path
                                      ? os::OutputFile::create(output.path)
                                      : os::OutputFile::adopt(output.descriptor);
    if (!file)
        return file.error();
    output::FileSink sink(std::move(*file), options.framing, options.order);
    return state_->execute(plugin, paths, options, sink, work::OutputMode::ring);
}

} // namespace gristmill
