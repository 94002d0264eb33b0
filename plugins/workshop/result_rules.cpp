#include "result_rules.hpp"

#include <algorithm>

#include "ledger.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::size_t context_bytes = 12; // of output shown around a difference

unsigned long long number(std::uint64_t value) { return value; }

std::size_t first_difference(std::string_view a, std::string_view b) {
    const std::size_t shared = std::min(a.size(), b.size());
    return static_cast<std::size_t>(
        std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shared), b.begin()).first -
        a.begin());
}

std::string around(std::string_view output, std::size_t at) {
    const std::size_t from = at < context_bytes ? 0 : at - context_bytes;
    return at >= output.size() ? "its end" : quoted(output.substr(from), 2 * context_bytes);
}

std::string outputs_differ(std::string_view expected, std::string_view got, std::size_t at) {
    return words("from output byte %zu on: %s, but %s", at, around(expected, at).c_str(),
                 around(got, at).c_str());
}

std::string counts(std::uint64_t emitted, std::uint64_t filtered, std::uint64_t failed) {
    return words("%llu emitted + %llu filtered + %llu failed", number(emitted), number(filtered),
                 number(failed));
}

void judge_status(const BatchResult &result, const RecordRange &range, const Handling &handling) {
    const std::string where = " for " + range.described();
    if (result.status != GM_OK && result.status != GM_FAIL_BATCH)
        violation("status", words("process() returns %d", result.status) + where +
                                "; it returns GM_OK (0) or GM_FAIL_BATCH (1)");
    if (result.whole() && result.ran_out)
        violation("no-memory", "process() returns GM_OK" + where +
                                   " although reserve() gave NULL; return GM_FAIL_BATCH then");
    const bool asked_for = result.ran_out || handling.cancelled;
    if (!result.whole() && !asked_for && result.explanation.empty())
        note("unexplained", "fails a whole batch without a word" + where +
                                "; gm_host.explain() tells the user why");
}

// Counts and framing, which the engine turns into a failed batch when they are wrong.
void judge_output(const BatchResult &result, const RecordRange &range, const Handling &handling) {
    const auto say = handling.foreign_framing ? note : violation;
    const std::uint64_t most = range.count();
    const bool sane = result.emitted <= most && result.filtered <= most && result.failed <= most;
    if (!sane || result.emitted + result.filtered + result.failed != most)
        say("counts", "process() accounts for " +
                          counts(result.emitted, result.filtered, result.failed) +
                          words(" of %llu records, for ", number(most)) + range.described() +
                          "; count every record exactly once");
    const RecordSet &set = *range.set;
    const bool ends_open = range.last == set.count() && (set.end_flags & GM_BATCH_ENDS_OPEN);
    if (!ends_open && !set.framing.is_whole(result.output)) {
        const std::size_t from =
            result.output.size() - std::min<std::size_t>(result.output.size(), 20);
        say("unfinished", "the output for " + range.described() +
                              " does not end with a whole record (" +
                              quoted(std::string_view(result.output).substr(from)) +
                              "); it must consist of " + set.framing.described());
    }
}

// The failures of records [first, last) as the batch's failures would be described.
std::string failing_differs(const std::vector<BatchResult> &alone, const BatchResult &got,
                            const RecordRange &range) {
    std::vector<FailedRecord> failures = got.failures;
    std::sort(failures.begin(), failures.end(),
              [](const FailedRecord &a, const FailedRecord &b) { return a.index < b.index; });
    std::size_t next = 0;
    std::uint64_t committed = 0;
    for (std::uint64_t i = 0; i < range.count(); ++i) {
        const BatchResult &one = alone[range.first + i];
        const bool fails = next < failures.size() && failures[next].index == i;
        const std::string which = words("record %llu", number(range.first + i));
        if (fails != !one.failures.empty())
            return which + (fails ? " fails here, but not in a batch of its own"
                                  : " fails in a batch of its own, but not here");
        if (fails && failures[next].committed_bytes != committed + one.failures[0].committed_bytes)
            return which +
                   words(" is failed when %llu bytes of output are committed, but the records "
                         "before it give %llu",
                         number(failures[next].committed_bytes),
                         number(committed + one.failures[0].committed_bytes));
        next += fails;
        committed += one.output.size();
    }
    return "";
}

// The record whose output has the byte `at`, if each gives what it gave alone.
std::uint64_t record_giving(const std::vector<BatchResult> &alone, const RecordRange &range,
                            std::uint64_t at) {
    std::uint64_t record = range.first;
    for (std::uint64_t end = alone[record].output.size(); end <= at && record + 1 < range.last;)
        end += alone[++record].output.size();
    return record;
}

void say_dependent(const std::string &what) {
    violation("batching",
              what + "; the engine cuts batches as it likes, so each record's result must be "
                     "its own (or declare GM_PLUGIN_WHOLE_BATCHES)");
}

} // namespace

void judge(const BatchResult &result, const RecordRange &range, const Handling &handling) {
    judge_status(result, range, handling);
    if (result.whole())
        judge_output(result, range, handling);
}

bool judge_same(const BatchResult &expected, const BatchResult &got, const RecordRange &range,
                const char *topic, const std::string &how) {
    const std::string start = "the result for " + range.described() + " differs when " + how + ": ";
    if (expected.status != got.status) {
        violation(topic, start + (got.whole() ? "the batch no longer fails" : "the batch fails"));
        return false;
    }
    if (!expected.whole())
        return true;
    if (expected.output != got.output) {
        violation(topic, start + outputs_differ(expected.output, got.output,
                                                first_difference(expected.output, got.output)));
        return false;
    }
    if (expected.emitted != got.emitted || expected.filtered != got.filtered ||
        expected.failed != got.failed || expected.failures != got.failures) {
        violation(topic, start + counts(expected.emitted, expected.filtered, expected.failed) +
                             ", then " + counts(got.emitted, got.filtered, got.failed));
        return false;
    }
    return true;
}

bool judge_by_records(const std::vector<BatchResult> &alone, const BatchResult &got,
                      const RecordRange &range, const std::string &how) {
    std::string expected;
    std::uint64_t emitted = 0, filtered = 0, failed = 0;
    for (std::uint64_t i = range.first; i < range.last; ++i) {
        if (!alone[i].whole())
            return true; // a record that costs its batch even alone
        expected += alone[i].output;
        emitted += alone[i].emitted;
        filtered += alone[i].filtered;
        failed += alone[i].failed;
    }
    const std::string start = range.described() + ", " + how + ": ";
    if (!got.whole()) {
        say_dependent(start + "the batch fails, but each of its records is well alone");
    } else if (got.output != expected) {
        const std::size_t at = first_difference(expected, got.output);
        say_dependent(words("the output depends on the batch, first for record %llu of ",
                            number(record_giving(alone, range, at))) +
                      start + outputs_differ(expected, got.output, at));
    } else if (emitted != got.emitted || filtered != got.filtered || failed != got.failed) {
        say_dependent(start + counts(got.emitted, got.filtered, got.failed) + ", but " +
                      counts(emitted, filtered, failed) + " one by one");
    } else if (const std::string differs = failing_differs(alone, got, range); !differs.empty()) {
        violation("failing",
                  start + differs +
                      "; commit what comes before a record, then call fail_record() for it");
    } else {
        return true;
    }
    return false;
}

bool sums_up(const BatchResult &result, const RecordRange &range) {
    return result.whole() && range.set->framing.is_whole(result.output) &&
           range.set->framing.count(result.output) < result.emitted;
}

} // namespace gristmill::workshop
