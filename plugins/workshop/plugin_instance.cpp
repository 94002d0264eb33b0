#include "plugin_instance.hpp"

#include <cstring>
#include <exception>
#include <utility>

#include "ledger.hpp"
#include "result_rules.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

// A gm_batch, and what would follow it in a newer engine.
struct GivenBatch {
    gm_batch raw;
    std::uint8_t later[64];
};

// No exception may cross the ABI; the engine catches it as well, and fails the batch.
template <class Call>
bool guarded(const std::string &where, Call &&call) {
    const char *const rule = "; no exception may leave a plugin (plugin.hpp catches them for you)";
    try {
        call();
        return true;
    } catch (const std::exception &error) {
        violation("exception", where + " lets an exception escape: " + error.what() + rule);
    } catch (...) {
        violation("exception",
                  where + " lets an exception escape that is no std::exception" + rule);
    }
    return false;
}

GivenBatch describe(const RecordRange &range, const Handling &handling) {
    const RecordSet &set = *range.set;
    GivenBatch given{};
    std::memset(given.later, 0xee, sizeof given.later);
    gm_batch &raw = given.raw;
    raw.struct_size = handling.newer_host ? sizeof given : sizeof raw;
    raw.flags = range.last == set.count() ? set.end_flags : 0;
    raw.size = range.data().size();
    raw.record_count = range.count();
    raw.sequence = range.sequence;
    raw.byte_offset = set.starts[range.first];
    raw.attempt = handling.attempt;
    raw.worker = handling.worker;
    raw.framing = set.framing.kind;
    if (set.framing.kind == GM_FRAMING_DELIMITER) {
        raw.delimiter = reinterpret_cast<const std::uint8_t *>(set.framing.delimiter.data());
        raw.delimiter_size = set.framing.delimiter.size();
    }
    raw.record_bytes = set.framing.record_bytes;
    return given;
}

std::vector<std::uint64_t> offsets_of(const RecordRange &range) {
    std::vector<std::uint64_t> offsets;
    offsets.reserve(range.count() + 1);
    for (std::uint64_t i = range.first; i <= range.last; ++i)
        offsets.push_back(range.set->starts[i] - range.set->starts[range.first]);
    return offsets;
}

} // namespace

PluginInstance::PluginInstance(const LoadedPlugin &plugin, const Handling &handling)
    : plugin_(plugin) {
    host_.raw = {handling.newer_host ? std::uint32_t{sizeof host_}
                                     : std::uint32_t{sizeof host_.raw},
                 GM_PLUGIN_ABI_VERSION, this, &on_cancelled, &on_explain};
    std::memset(host_.later, 0xee, sizeof host_.later);
    if (plugin.abi().create == nullptr)
        return;
    const std::string &config = plugin.subject().config;
    const std::string copy =
        config; // a plugin may keep the pointer too long: give it one that goes
    guarded("create()", [&] {
        const WatchedCall watched("create()", nullptr, nullptr, nullptr);
        state_ = plugin.abi().create(copy.c_str(), &host_.raw);
    });
    if (state_ != nullptr)
        return;
    violation("create", "create() gives no state for the configuration " + quoted(config) +
                            (explanation_.empty() ? ", and does not explain why (gm_host.explain)"
                                                  : ": " + explanation_) +
                            (config.empty() ? "; if it needs one, say --config TEXT" : ""));
    throw StepEnds();
}

PluginInstance::~PluginInstance() {
    if (plugin_.abi().create == nullptr || state_ == nullptr || plugin_.abi().destroy == nullptr)
        return;
    guarded("destroy()", [&] {
        const WatchedCall watched("destroy()", nullptr, nullptr, nullptr);
        plugin_.abi().destroy(state_);
    });
}

int PluginInstance::on_cancelled(const gm_host *host) {
    return static_cast<PluginInstance *>(host->context)->cancelled_ ? 1 : 0;
}

void PluginInstance::on_explain(const gm_host *host, const char *text) {
    static_cast<PluginInstance *>(host->context)->explanation_ = text == nullptr ? "" : text;
}

int PluginInstance::call(const RecordRange &range, const gm_batch &batch, OutputRecord &output) {
    int status = GM_FAIL_BATCH;
    const std::string what = "process() of " + range.described();
    const bool returned = guarded(what, [&] {
        const WatchedCall watched(what, &range, &input_, &output);
        status = plugin_.abi().process(state_, &batch, output.raw());
    });
    if (!returned)
        explanation_ = "an exception";
    return status;
}

BatchResult PluginInstance::process(const RecordRange &range, const Handling &handling) {
    GivenBatch given = describe(range, handling);
    given.raw.data = input_.place(range.data(), handling.placement, handling.padding);
    std::vector<std::uint64_t> offsets;
    if (plugin_.abi().flags & GM_PLUGIN_WANTS_OFFSETS) {
        offsets = offsets_of(range);
        given.raw.record_offsets = offsets.data();
    }
    const GivenBatch before = given;
    const std::vector<std::uint64_t> offsets_before = offsets;
    OutputRecord output(handling, range.count(), range.described());
    explanation_.clear();
    cancelled_ = handling.cancelled;

    BatchResult result;
    result.status = call(range, given.raw, output);
    output.close();
    if (std::memcmp(&before, &given, sizeof given) != 0 || offsets != offsets_before)
        violation("batch-struct", "process() changes gm_batch or its record_offsets, for " +
                                      range.described() + "; they are the engine's");
    result.output = output.committed();
    result.emitted = output.raw()->emitted;
    result.filtered = output.raw()->filtered;
    result.failed = output.failed();
    result.failures = output.failures();
    result.explanation = explanation_;
    result.ran_out = output.ran_out();
    judge(result, range, handling);
    return result;
}

} // namespace gristmill::workshop
