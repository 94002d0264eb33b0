#include <algorithm>
#include <functional>
#include <memory>
#include <thread>

#include "ledger.hpp"
#include "result_rules.hpp"
#include "steps.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::uint64_t usual_records = 24; // of a batch
constexpr std::size_t states = 3;
constexpr std::size_t threads = 4;

std::vector<BatchResult> results_of(PluginInstance &instance, const Cuts &cuts) {
    std::vector<BatchResult> results;
    for (const RecordRange &range : cuts)
        results.push_back(instance.process(range));
    return results;
}

void same_batch_again(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    for (const RecordSet &set : subject.sets) {
        PluginInstance instance(plugin);
        const Cuts cuts = cut_evenly(set, usual_records);
        const std::vector<BatchResult> first = results_of(instance, cuts);
        Handling retry;
        retry.attempt = 1;
        for (std::size_t i = cuts.size(); i-- > 0;)
            judge_same(
                first[i], instance.process(cuts[i], retry), cuts[i], "again",
                "the same state gets the batch again, behind others: something is carried over "
                "from batch to batch");
    }
}

// False when there is nothing to compare: an aggregation, or no batch that did not fail.
bool are_comparable(const std::vector<BatchResult> &alone, const BatchResult &together,
                    const RecordRange &all) {
    const auto fails = [](const BatchResult &result) { return !result.whole(); };
    const auto failing = std::count_if(alone.begin(), alone.end(), fails);
    if (failing == static_cast<std::ptrdiff_t>(alone.size())) {
        const std::string &why = alone.front().explanation;
        violation("all-fail",
                  "every single record of the " + all.set->name + " fails as a whole batch" +
                      (why.empty() ? "" : " (" + why + ")") +
                      ", so that nothing could be compared; give it records of its kind with "
                      "--input FILE");
        return false;
    }
    if (failing > 0)
        note("costs-neighbours", counted(static_cast<std::uint64_t>(failing), "record") +
                                     " of the " + all.set->name +
                                     " cost their whole batch (GM_FAIL_BATCH); fail_record() would "
                                     "cost that record alone");
    if (sums_up(together, all)) {
        note("sums-up",
             words("seems to sum batches up (%llu output records for %llu emitted ones), so "
                   "its output depends on them, which is legitimate; declare it with "
                   "GM_PLUGIN_WHOLE_BATCHES",
                   static_cast<unsigned long long>(all.set->framing.count(together.output)),
                   static_cast<unsigned long long>(together.emitted)));
        return false;
    }
    return true;
}

void compare_cuts(const LoadedPlugin &plugin, const RecordSet &set) {
    PluginInstance by_record(plugin);
    const std::vector<BatchResult> alone = results_of(by_record, cut_evenly(set, 1));
    const RecordRange all{&set, 0, set.count()};
    const BatchResult together = PluginInstance(plugin).process(all);
    if (!are_comparable(alone, together, all) ||
        !judge_by_records(alone, together, all, "in one batch"))
        return;
    const std::uint64_t seed = plugin.subject().seed;
    for (const std::uint64_t records_max : {std::uint64_t{3}, std::uint64_t{40}, set.count()}) {
        PluginInstance instance(plugin);
        for (const RecordRange &range : cut_at_random(set, records_max, seed + records_max)) {
            if (!judge_by_records(
                    alone, instance.process(range), range,
                    words("cut at random (seed %llu)", static_cast<unsigned long long>(seed))))
                return;
        }
    }
}

void batching(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    std::string tried = "each record alone, all in one, random cuts";
    for (const RecordSet &set : subject.sets) {
        tried += ", " + std::to_string(set.count()) + " " + set.name;
        if (!plugin.whole_batches())
            compare_cuts(plugin, set);
    }
    if (plugin.whole_batches())
        tried = "not compared: its output belongs to whole batches (GM_PLUGIN_WHOLE_BATCHES)";
    Ledger::shared().tried(tried);
}

void several_states(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    for (const RecordSet &set : subject.sets) {
        const Cuts cuts = cut_at_random(set, usual_records, plugin.subject().seed);
        PluginInstance single(plugin);
        const std::vector<BatchResult> expected = results_of(single, cuts);
        std::vector<std::unique_ptr<PluginInstance>> dealt;
        for (std::size_t i = 0; i < states; ++i)
            dealt.push_back(std::make_unique<PluginInstance>(plugin));
        for (std::size_t i = 0; i < cuts.size(); ++i) {
            Handling handling;
            handling.worker = static_cast<std::uint32_t>(i % states);
            judge_same(
                expected[i], dealt[i % states]->process(cuts[i], handling), cuts[i], "states",
                "batches are dealt to three states in turn, as three workers would: something is "
                "carried over from batch to batch");
        }
    }
}

// The batches as one thread works through them, each thread from another one on.
Cuts rotated(Cuts cuts, std::size_t thread) {
    const auto first = static_cast<std::ptrdiff_t>(thread * cuts.size() / threads);
    std::rotate(cuts.begin(), cuts.begin() + first, cuts.end());
    return cuts;
}

void work_in_thread(const LoadedPlugin &plugin, const Cuts &cuts,
                    const std::vector<BatchResult> &expected) {
    try {
        const FaultStack fault_stack;
        PluginInstance instance(plugin);
        for (std::size_t i = 0; i < cuts.size(); ++i)
            judge_same(
                expected[i], instance.process(cuts[i]), cuts[i], "threads",
                "four threads work at the same time, each with a state of its own: the states "
                "share something that is not protected");
    } catch (const StepEnds &) {
    } // the reason is in the ledger
}

void several_threads(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    for (const RecordSet &set : subject.sets) {
        std::vector<Cuts> cuts;
        std::vector<std::vector<BatchResult>> expected; // from the same work, one after the other
        for (std::size_t i = 0; i < threads; ++i) {
            cuts.push_back(rotated(cut_evenly(set, usual_records), i));
            PluginInstance instance(plugin);
            expected.push_back(results_of(instance, cuts.back()));
        }
        std::vector<std::thread> running;
        for (std::size_t i = 0; i < threads; ++i)
            running.emplace_back(work_in_thread, std::cref(plugin), std::cref(cuts[i]),
                                 std::cref(expected[i]));
        for (std::thread &thread : running)
            thread.join();
    }
}

} // namespace

std::vector<Step> repeat_steps() {
    return {
        {"same batch again", "in the reverse order, as a retry", &same_batch_again},
        {"batching", "each record alone, all in one, random cuts", &batching},
        {"states", "batches dealt to three states in turn", &several_states},
        {"threads", "four at once, a state each", &several_threads},
    };
}

} // namespace gristmill::workshop
