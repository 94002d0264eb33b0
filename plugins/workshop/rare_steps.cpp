#include "ledger.hpp"
#include "result_rules.hpp"
#include "steps.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::uint64_t usual_records = 24; // of a batch

void no_memory(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    const RecordRange range = cut_evenly(subject.sets[0], usual_records)[0];
    for (const std::uint64_t reservation : {0, 1, 2}) {
        PluginInstance instance(plugin);
        Handling handling;
        handling.reserve_fails_from = reservation;
        instance.process(range, handling);
        instance.process(range); // the state lives on after a batch that failed
    }
}

void newer_host(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    const RecordRange range = cut_evenly(subject.sets[0], usual_records)[0];
    Handling newer;
    newer.newer_host = true;
    const BatchResult expected = PluginInstance(plugin).process(range);
    judge_same(
        expected, PluginInstance(plugin, newer).process(range, newer), range, "newer",
        "struct_size of gm_host, gm_batch and gm_output is larger, as a newer engine's will be; "
        "ignore what lies behind the fields that you know");
}

// What a plugin does with a cancelled run is its own affair, as long as it comes back.
void cancelled_run(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    PluginInstance instance(plugin);
    Handling handling;
    handling.cancelled = true;
    for (const RecordRange &range : cut_evenly(subject.sets[0], usual_records))
        instance.process(range, handling);
}

} // namespace

std::vector<Step> rare_steps() {
    return {
        {"no memory", "reserve() gives NULL at its first, second, third call", &no_memory, false,
         "look at what reserve() returns; when it is NULL, return GM_FAIL_BATCH"},
        {"cancelled run", "gm_host.cancelled() says so", &cancelled_run},
        {"newer host", "structs longer than this plugin knows", &newer_host},
    };
}

} // namespace gristmill::workshop
