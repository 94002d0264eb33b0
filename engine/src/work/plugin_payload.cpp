#include "work/plugin_payload.hpp"

#include <exception>
#include <utility>
#include <vector>

#include "record/framing_rules.hpp"

namespace gristmill::work {

namespace {

// A C++ plugin may break the rule that no exception crosses: it costs the batch, not the process.
template <class Call>
bool guarded(std::string &reason, Call &&call) {
    try {
        call();
        return true;
    } catch (const std::exception &error) {
        reason = std::string("the plugin let an exception escape: ") + error.what();
    } catch (...) {
        reason = "the plugin let an exception escape that is no std::exception";
    }
    return false;
}

class PluginPayload final : public Payload {
  public:
    PluginPayload(const PluginLibrary &library, const Framing &framing,
                  const WorkerIdentity &identity, const std::atomic<std::uint32_t> &cancelled)
        : library_(library), framing_(framing), identity_(identity), cancelled_(cancelled) {
        host_ = {sizeof(gm_host), GM_PLUGIN_ABI_VERSION, this, &host_cancelled, &host_explain};
    }
    PluginPayload(const PluginPayload &) = delete;
    PluginPayload &operator=(const PluginPayload &) = delete;

    ~PluginPayload() override {
        std::string ignored;
        if (created_ && library_.plugin().destroy)
            guarded(ignored, [&] { library_.plugin().destroy(state_); });
    }

    Result<void> create(const std::string &config) {
        const gm_plugin &plugin = library_.plugin();
        if (!plugin.create)
            return {};
        explanation_.clear();
        guarded(explanation_, [&] { state_ = plugin.create(config.c_str(), &host_); });
        created_ = state_ != nullptr;
        if (created_)
            return {};
        Error error;
        error.kind = ErrorKind::plugin;
        error.path = library_.path();
        error.message = "plugin '" + library_.path() + "': create() failed" +
                        (explanation_.empty() ? "" : ": " + explanation_);
        return error;
    }

    PayloadOutcome process(const PayloadBatch &batch, store::OutputArea &output,
                           FailureListener &failures) override {
        output_ = &output;
        failures_ = &failures;
        record_count_ = batch.record_count;
        outcome_ = {};
        violation_ = nullptr;
        explanation_.clear();
        const gm_batch given = describe(batch);
        gm_output out{sizeof(gm_output), 0, this, 0, 0, 0, &out_reserve, &out_commit, &out_fail};
        int status = GM_FAIL_BATCH;
        guarded(explanation_, [&] { status = library_.plugin().process(state_, &given, &out); });
        judge(status, batch, out);
        return std::move(outcome_);
    }

    bool may_be_divided() const override { return !wants_whole_batches(); }
    bool wants_whole_batches() const override {
        return library_.plugin().flags & GM_PLUGIN_WHOLE_BATCHES;
    }

  private:
    gm_batch describe(const PayloadBatch &batch) {
        gm_batch given{};
        given.struct_size = sizeof(gm_batch);
        given.flags = (batch.delimiter_added ? GM_BATCH_DELIMITER_ADDED : 0) |
                      (batch.ends_open ? GM_BATCH_ENDS_OPEN : 0);
        given.data = reinterpret_cast<const std::uint8_t *>(batch.data.data());
        given.size = batch.data.size();
        given.record_count = batch.record_count;
        if (library_.plugin().flags & GM_PLUGIN_WANTS_OFFSETS)
            given.record_offsets = find_offsets(batch);
        given.sequence = batch.sequence;
        given.byte_offset = batch.byte_offset;
        given.attempt = batch.attempt;
        given.worker = identity_.worker;
        given.node = identity_.node;
        given.framing = static_cast<std::uint32_t>(framing_.kind);
        if (framing_.kind == Framing::Kind::delimiter) {
            given.delimiter = reinterpret_cast<const std::uint8_t *>(framing_.delimiter.data());
            given.delimiter_size = framing_.delimiter.size();
        }
        given.record_bytes = framing_.record_bytes;
        return given;
    }

    const std::uint64_t *find_offsets(const PayloadBatch &batch) {
        offsets_.clear();
        offsets_.push_back(0);
        for (auto r = record::record_at(batch.data, framing_, 0); r;
             r = record::record_at(batch.data, framing_, r->next))
            offsets_.push_back(r->next);
        return offsets_.data();
    }

    void judge(int status, const PayloadBatch &batch, const gm_output &out) {
        outcome_.emitted = out.emitted;
        outcome_.filtered = out.filtered;
        outcome_.failed += out.failed;
        if (!violation_ && status == GM_OK && adds_up())
            return;
        outcome_.reason = std::string("plugin '") + library_.plugin().name + "' ";
        if (violation_)
            outcome_.reason += violation_;
        else if (status != GM_OK)
            outcome_.reason += "failed the batch" + (explanation_.empty() ? "" : ": " + explanation_);
        else
            outcome_.reason += "accounts for " + std::to_string(outcome_.emitted) + " emitted + " +
                               std::to_string(outcome_.filtered) + " filtered + " +
                               std::to_string(outcome_.failed) + " failed records of a batch of " +
                               std::to_string(batch.record_count) +
                               "; count every record exactly once";
        outcome_.batch_failed = true;
        // It may be one record's fault; a breach of the ABI is the plugin's own.
        outcome_.worth_a_retry = !violation_ && status != GM_OK && may_be_divided();
    }

    bool adds_up() const {
        return outcome_.emitted <= record_count_ && outcome_.filtered <= record_count_ &&
               outcome_.failed <= record_count_ &&
               outcome_.emitted + outcome_.filtered + outcome_.failed == record_count_;
    }

    static PluginPayload &self(gm_output *out) {
        return *static_cast<PluginPayload *>(out->context);
    }
    static std::uint8_t *out_reserve(gm_output *out, std::uint64_t bytes) {
        std::byte *room = self(out).output_->reserve(bytes);
        if (!room)
            self(out).violation_ = "found no memory for its output";
        return reinterpret_cast<std::uint8_t *>(room);
    }
    static void out_commit(gm_output *out, std::uint64_t bytes) {
        if (!self(out).output_->commit(bytes))
            self(out).violation_ = "committed more bytes than it had reserved";
    }
    static void out_fail(gm_output *out, std::uint64_t index, const char *reason) {
        PluginPayload &payload = self(out);
        ++payload.outcome_.failed;
        if (index < payload.record_count_)
            payload.failures_->record_failed(index, reason ? reason : "");
        else
            payload.violation_ = "failed a record whose index lies beyond the batch";
    }
    static int host_cancelled(const gm_host *host) {
        return static_cast<PluginPayload *>(host->context)->cancelled_.load() != 0;
    }
    static void host_explain(const gm_host *host, const char *text) {
        static_cast<PluginPayload *>(host->context)->explanation_ = text ? text : "";
    }

    const PluginLibrary &library_;
    const Framing &framing_;
    const WorkerIdentity identity_;
    const std::atomic<std::uint32_t> &cancelled_;
    gm_host host_{};
    void *state_ = nullptr;
    bool created_ = false;
    std::vector<std::uint64_t> offsets_;
    // Of the batch in hand:
    store::OutputArea *output_ = nullptr;
    FailureListener *failures_ = nullptr;
    std::uint64_t record_count_ = 0;
    PayloadOutcome outcome_;
    const char *violation_ = nullptr;
    std::string explanation_;
};

} // namespace

PluginFactory::PluginFactory(const PluginLibrary &library, std::string config, Framing framing)
    : library_(library), config_(std::move(config)), framing_(std::move(framing)) {}

Result<std::unique_ptr<Payload>>
PluginFactory::make(const WorkerIdentity &identity, const WorkerSignals &signals) {
    auto payload = std::make_unique<PluginPayload>(library_, framing_, identity, signals.cancelled);
    if (Result<void> created = payload->create(config_); !created)
        return created.error();
    return std::unique_ptr<Payload>(std::move(payload));
}

} // namespace gristmill::work
