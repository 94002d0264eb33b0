#include <algorithm>

#include "ledger.hpp"
#include "result_rules.hpp"
#include "steps.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::size_t huge_bytes = 8 << 20;
constexpr std::uint64_t many = 10'000;

RecordRange all_of(const RecordSet &set) { return {&set, 0, set.count()}; }

void process_all(const Subject &subject, const RecordSet &set, const Handling &handling = {}) {
    const LoadedPlugin plugin(subject);
    PluginInstance instance(plugin);
    instance.process(all_of(set), handling);
}

void one_record(const Subject &subject) {
    RecordSet set("one-record batch", subject.framing);
    set.add("hello");
    process_all(subject, set);
}

void empty_records(const Subject &subject) {
    RecordSet one("batch with an empty record", subject.framing);
    one.add("");
    process_all(subject, one);
    RecordSet full("batch of empty records", subject.framing);
    for (std::uint64_t i = 0; i < many; ++i)
        full.add("");
    process_all(subject, full);
}

void binary_bytes(const Subject &subject) {
    RecordSet set("binary records", subject.framing);
    std::string every;
    for (int byte = 0; byte < 256; ++byte)
        every += static_cast<char>(byte);
    set.add(every);
    set.add(std::string(100, '\0'));
    set.add(std::string(100, '\xff'));
    set.add("\xc3\x28 \xed\xa0\x80 \xf4\x90\x80\x80"); // none of it is UTF-8
    std::reverse(every.begin(), every.end());
    set.add(every);
    process_all(subject, set);
}

void huge_record(const Subject &subject) {
    RecordSet set("batch with a huge record", subject.framing);
    set.add("before");
    set.add(std::string(huge_bytes, 'x'));
    set.add("after");
    process_all(subject, set);
}

// The engine hands a last record without delimiter over alone, with one added, and takes it off the
// output itself.
void delimiter_added(const Subject &subject) {
    if (subject.framing.kind != GM_FRAMING_DELIMITER) {
        Ledger::shared().tried("not tried: these records have no delimiter");
        return;
    }
    RecordSet set("batch whose delimiter was added", subject.framing);
    set.add("the last record of a file");
    const LoadedPlugin plugin(subject);
    const BatchResult plain = PluginInstance(plugin).process(all_of(set));
    set.end_flags = GM_BATCH_DELIMITER_ADDED;
    if (PluginInstance(plugin).process(all_of(set)).output != plain.output)
        note("added", "gives another output under GM_BATCH_DELIMITER_ADDED; the engine takes the "
                      "delimiter off the last record by itself");
}

Framing delimited_by(const char *delimiter) { return {GM_FRAMING_DELIMITER, delimiter, 0}; }

// A plugin may refuse a framing, but not run out of its memory over it.
void other_framings(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    RecordSet crlf("batch with a delimiter of two bytes", delimited_by("\r\n"));
    RecordSet open("batch that ends without delimiter (GM_BATCH_ENDS_OPEN)", delimited_by("aa"));
    RecordSet frames("batch of u32le frames", {GM_FRAMING_U32LE, "", 0});
    RecordSet fixed("batch of fixed-size records", {GM_FRAMING_FIXED, "", 16});
    for (RecordSet *set : {&crlf, &open, &frames, &fixed}) {
        set->add("hello");
        if (set != &fixed)
            set->add("");
        set->add("more words than before");
    }
    open.add_framed("xa");
    open.end_flags = GM_BATCH_ENDS_OPEN;
    std::string refused;
    for (const RecordSet *set : {&crlf, &open, &frames, &fixed}) {
        Handling handling;
        handling.foreign_framing = true;
        PluginInstance instance(plugin);
        if (!instance.process(all_of(*set), handling).whole())
            refused += (refused.empty() ? "" : ", ") + set->framing.described();
    }
    if (!refused.empty())
        Ledger::shared().tried("two-byte delimiter, open end, u32le, fixed; it refuses " + refused);
}

// None of it belongs to the records, so none of it may change a result.
void memory_edges(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    for (const RecordSet &set : subject.sets) {
        const RecordRange all = all_of(set);
        const BatchResult expected = PluginInstance(plugin).process(all);
        const auto compare = [&](const Handling &handling, const char *topic, const char *how) {
            judge_same(expected, PluginInstance(plugin).process(all, handling), all, topic, how);
        };
        Handling elsewhere, padded, fresh;
        elsewhere.placement = Placement::begin_guarded;
        compare(elsewhere, "placement", "the batch lies elsewhere in memory");
        padded.padding = set.framing.kind == GM_FRAMING_DELIMITER
                             ? static_cast<std::uint8_t>(set.framing.delimiter[0])
                             : std::uint8_t{0};
        compare(padded, "padding",
                "the padding behind the batch has other bytes, which may be read but mean nothing");
        fresh.fresh_byte = 0xa7;
        compare(fresh, "unwritten",
                "reserved memory had other bytes before: it commits bytes that it never wrote");
    }
}

} // namespace

std::vector<Step> record_steps() {
    return {
        {"one record", "a batch of one", &one_record},
        {"empty records", "one alone, 10,000 together", &empty_records},
        {"binary bytes", "every byte value, NUL, broken UTF-8", &binary_bytes},
        {"huge record", "8 MiB between two short ones", &huge_record},
        {"delimiter added", "a last record that had none in the input", &delimiter_added},
        {"other framings", "two-byte delimiter, open end, u32le, fixed size", &other_framings,
         false,
         "users choose the framing: where yours cannot handle one, call gm_host.explain() and "
         "return "
         "GM_FAIL_BATCH"},
        {"memory edges", "guards on both sides, other padding, other fresh memory", &memory_edges},
    };
}

} // namespace gristmill::workshop
