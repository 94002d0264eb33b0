#include "run.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "os/fd_io.hpp"

namespace gristmill {

namespace {

using RunState = ring::RunState<ring::SystemAtomics>;

constexpr std::uint32_t kRetriesCounted = 254; // attempts have 8 bits in the state word

work::KeepNotes notes_to_keep(const RunOptions &options) {
    if (options.on_error == OnError::raise)
        return work::KeepNotes::lowest;
    return options.on_error == OnError::collect || !options.errors_to.empty()
               ? work::KeepNotes::all
               : work::KeepNotes::none;
}

constexpr std::uint64_t kSmallBatchBytes = 64 * kKiB;
constexpr std::uint64_t kSmallBatchRecords = 2000;

// Small batches that are asked for need a longer ring.
std::uint32_t ring_entries(const RunState &state, const RunOptions &options) {
    const std::uint32_t workers = state.header().workers;
    const bool small = options.batch_records ? *options.batch_records <= kSmallBatchRecords
                                             : options.batch_bytes && *options.batch_bytes <= kSmallBatchBytes;
    return small ? RunState::entries_for_small_batches(workers) : RunState::entries_for(workers);
}

std::vector<store::ReleaseCounters> release_counters(const RunState &state) {
    std::vector<store::ReleaseCounters> counters;
    for (std::uint32_t i = 0; i < state.header().workers; ++i)
        counters.push_back({&state.slot(i).ring_released, &state.slot(i).overflow_released});
    return counters;
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

// What egress wants to know about sources.
class Run::Names final : public output::SourceNames {
  public:
    Names(const Input &input, const input::Ingress &ingress, const record::SourceTable &table)
        : input_(input), ingress_(ingress), table_(table) {}

    std::string name(std::uint32_t source) const override {
        return input_.items ? input_.items->name : input_.sources.at(source).path;
    }
    Error failure(std::uint32_t) const override { return ingress_.failure(); }

    // What lies in the spool ends with the batch; of a record that was too long, its first bytes are
    // there.
    std::vector<std::byte> bytes_of(const ring::BatchInput &batch, std::uint64_t offset,
                                    std::uint64_t bytes) const override {
        const record::OpenSource source = table_.at(batch.source_slot);
        std::uint64_t end = source.bytes;
        if (source.bytes == record::kUnknownBytes)
            end = batch.kind == ring::BatchKind::oversized
                      ? batch.begin + ring::kKeptOversizedBytes
                      : batch.end;
        std::vector<std::byte> data(std::min(bytes, end - std::min(end, offset)));
        const std::int64_t got = os::pread_full(source.fd, data, batch.origin + offset);
        data.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
        return data;
    }

  private:
    const Input &input_;
    const input::Ingress &ingress_;
    const record::SourceTable &table_;
};

Run::Run(RunParts parts, Employed employed)
    : parts_(std::move(parts)), employed_(std::move(employed)), host_(*employed_.host),
      started_ns_(wall_clock_ns()) {}

Run::~Run() {
    if (phase_ != Phase::begun)
        return;
    ingress_->stop();
    host_.give_up_run();
}

Result<std::unique_ptr<Run>> Run::begin(RunParts parts, Employed employed, const Plan &plan,
                                        output::Sink &sink) {
    std::unique_ptr<Run> run(new Run(std::move(parts), std::move(employed)));
    if (Result<void> started = run->start(plan, sink); !started)
        return started.error();
    return run;
}

Result<void> Run::start(const Plan &plan, output::Sink &sink) {
    Result<std::optional<output::DeadLetters>> dead_letters =
        open_dead_letters(parts_.options.errors_to);
    if (!dead_letters)
        return dead_letters.error();
    Result<void> prepared = parts_.mode == work::OutputMode::ring
                                ? host_.prepare_rings(parts_.ring_bytes)
                                : host_.prepare_collection();
    if (!prepared)
        return prepared.error();
    const RunState state = host_.state();
    state.reset(ring_entries(state, parts_.options));
    const Input &input = parts_.input;
    ingress_ = std::make_unique<input::Ingress>(state, input.sources,
                                                input.items ? &*input.items : nullptr,
                                                parts_.options, parts_.limits, host_.sources());
    names_ = std::make_unique<Names>(input, *ingress_, host_.sources());
    outputs_ = std::make_unique<store::OutputReader>(host_.places(), release_counters(state));
    egress_ = std::make_unique<output::Egress>(
        state, output::EgressParts{parts_.options, plan, sink, *names_, *outputs_,
                                   std::move(*dead_letters),
                                   [this](const ring::BatchInput &batch,
                                          const ring::BatchResult &result) {
                                       ingress_->batch_retired(batch, result);
                                   },
                                   parts_.streamed});
    order_ = work_order();
    coordinator_ = std::make_unique<Coordinator>(host_, *ingress_, *egress_, parts_.options,
                                                 parts_.streamed);
    phase_ = Phase::begun;
    return host_.begin_run(order_, *outputs_);
}

work::WorkOrder Run::work_order() const {
    const RunOptions &options = parts_.options;
    work::WorkOrder order;
    order.framing = options.framing;
    order.max_record_bytes = options.max_record_bytes;
    order.read_bytes = options.test_read_bytes;
    order.keep_notes = notes_to_keep(options);
    order.output = parts_.mode;
    order.count_output = parts_.mode == work::OutputMode::ring;
    order.keep_lengths = parts_.mode == work::OutputMode::collection || parts_.streamed;
    order.whole_attempts = 1 + std::min(options.retries, kRetriesCounted);
    order.batches_per_worker = options.batches_per_worker;
    order.payloads = employed_.factory();
    order.sources = &host_.sources();
    return order;
}

Result<bool> Run::drive(const std::function<bool()> &enough) {
    return coordinator_->drive(enough);
}

// Workers use what lies in this object: they leave the run before it goes.
Result<RunOutcome> Run::finish(Result<void> driven) {
    ingress_->stop();
    host_.end_run(driven.ok(), parts_.options.interrupted);
    phase_ = Phase::ended;
    egress_->discard_rest();
    if (Result<void> checked = egress_->check(ingress_->source_bytes(), driven.ok()); !checked)
        return checked.error();
    if (!driven)
        return driven.error();
    RunOutcome outcome{complete(egress_->report()), egress_->take_failures()};
    Report &report = outcome.report;
    report.sources = ingress_->source_bytes().size();
    const store::SpoolCounters spool = ingress_->spool_counters();
    report.spool_slots = spool.slots;
    report.spool_bytes_max = spool.resident_bytes_max;
    report.spool_bytes_punched = spool.punched_bytes;
    report.spool_punches_failed = spool.punches_failed;
    return outcome;
}

// With what the workers' side knows.
Report Run::complete(Report report) const {
    report.overflow_batches = host_.overflow_batches();
    report.retries = host_.retries();
    report.worker_deaths = host_.deaths();
    const RunState state = host_.state();
    for (std::uint32_t i = 0; i < state.header().workers; ++i)
        report.cpu_seconds += double(state.slot(i).cpu_ns.load()) * 1e-9;
    report.wall_seconds = double(wall_clock_ns() - started_ns_) * 1e-9;
    for (NodeReport &node : report.nodes)
        node.idle_seconds = std::max(0.0, node.workers * report.wall_seconds - node.busy_seconds);
    add_audits(report);
    return report;
}

// What workers found when they left, and what lies in the spool; before the end ingress is at work
// on that.
void Run::add_audits(Report &report) const {
    if (phase_ != Phase::ended)
        return;
    const RunState state = host_.state();
    for (std::uint32_t i = 0; i < state.header().workers; ++i) {
        NodeReport &node = report.nodes[state.slot(i).node];
        node.audited_bytes += state.slot(i).audited_bytes.load();
        node.audited_local_bytes += state.slot(i).audited_local_bytes.load();
    }
    const std::vector<os::PageAudit> spool = ingress_->audit_spool();
    for (std::size_t i = 0; i < spool.size(); ++i) {
        report.nodes[i].audited_bytes += spool[i].bytes;
        report.nodes[i].audited_local_bytes += spool[i].local_bytes;
    }
}

} // namespace gristmill
