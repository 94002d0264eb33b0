#include <algorithm>
#include <chrono>
#include <dirent.h>
#include <fstream>
#include <malloc.h>
#include <memory>

#include "ledger.hpp"
#include "steps.hpp"
#include "words.hpp"

namespace gristmill::workshop {

namespace {

constexpr std::uint64_t known_flags = GM_PLUGIN_WANTS_OFFSETS | GM_PLUGIN_WHOLE_BATCHES;

std::string name_of_flags(std::uint64_t flags) {
    std::string names;
    if (flags & GM_PLUGIN_WANTS_OFFSETS)
        names += " GM_PLUGIN_WANTS_OFFSETS";
    if (flags & GM_PLUGIN_WHOLE_BATCHES)
        names += " GM_PLUGIN_WHOLE_BATCHES";
    return names.empty() ? " none" : names;
}

void load_and_read(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    const gm_plugin &abi = plugin.abi();
    const WatchedCall watched("reading the description", nullptr, nullptr, nullptr);
    Ledger::shared().tried(words("it is %s, ABI %u, %u bytes, flags", quoted(abi.name).c_str(),
                                 abi.abi_version, abi.struct_size) +
                           name_of_flags(abi.flags));
    if (abi.name[0] == '\0')
        violation("name", "the name is empty: messages need one");
    if (abi.flags & ~known_flags)
        violation("flags",
                  words("unknown flags 0x%llx are set; ABI 1 knows GM_PLUGIN_WANTS_OFFSETS and "
                        "GM_PLUGIN_WHOLE_BATCHES",
                        static_cast<unsigned long long>(abi.flags & ~known_flags)));
    if (abi.create == nullptr && abi.destroy != nullptr)
        note("lone-destroy", "has a destroy() without a create(): it is never called");
    if (abi.create != nullptr && abi.destroy == nullptr)
        note("no-destroy", "has a create() without a destroy(): what it allocates stays");
}

void create_and_destroy(const Subject &subject) {
    const LoadedPlugin plugin(subject);
    { const PluginInstance one(plugin); }
    auto first = std::make_unique<PluginInstance>(plugin);
    auto second = std::make_unique<PluginInstance>(plugin);
    const PluginInstance third(plugin);
    first.reset(); // not the reverse of the order in which they were made
    second.reset();
}

void unload(const Subject &subject) {
    for (int round = 0; round < 3; ++round) {
        const LoadedPlugin plugin(subject);
        PluginInstance instance(plugin);
        instance.process(cut_evenly(subject.sets[0], 16)[0]);
    }
}

// What a process holds that a plugin may forget to give back.
struct Holdings {
    std::uint64_t descriptors;
    std::uint64_t threads;
    std::uint64_t heap_bytes;
    std::uint64_t mapped_pages;
};

std::uint64_t entries_of(const char *folder) {
    std::uint64_t entries = 0;
    if (DIR *open = ::opendir(folder)) {
        while (::readdir(open) != nullptr)
            ++entries;
        ::closedir(open);
    }
    return entries;
}

// Not known under the sanitizers, which keep what was freed.
std::uint64_t mapped_pages() {
    std::uint64_t pages = 0;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    std::ifstream("/proc/self/statm") >> pages;
#endif
    return pages;
}

Holdings holdings() {
    const struct mallinfo2 heap = ::mallinfo2();
    return {entries_of("/proc/self/fd"), entries_of("/proc/self/task"), heap.uordblks + heap.hblkhd,
            mapped_pages()};
}

void judge_growth(const char *topic, const char *what, std::uint64_t early, std::uint64_t middle,
                  std::uint64_t late, std::uint64_t rounds, std::uint64_t least) {
    // Twice the same: what grows once, a cache or a pool, is no leak.
    if (middle < early + least * rounds || late < middle + least * rounds)
        return;
    violation(topic,
              words("%llu rounds of create(), process() and destroy() leave %llu more %s behind; "
                    "destroy() gives back what the state holds",
                    static_cast<unsigned long long>(2 * rounds),
                    static_cast<unsigned long long>(late - early), what));
}

void run_rounds(const LoadedPlugin &plugin, std::uint64_t rounds) {
    const RecordRange range = cut_evenly(plugin.subject().sets[0], 16)[0];
    for (std::uint64_t i = 0; i < rounds; ++i) {
        PluginInstance instance(plugin);
        instance.process(range);
    }
}

// How many rounds of three can be run in half of the step's time; all of them unless create() is
// slow.
std::uint64_t affordable_rounds(const LoadedPlugin &plugin) {
    const auto started = std::chrono::steady_clock::now();
    run_rounds(plugin, 1);
    const std::chrono::duration<double> one = std::chrono::steady_clock::now() - started;
    const double most = plugin.subject().step_seconds / 2 / std::max(one.count(), 1e-6);
    return static_cast<std::uint64_t>(std::clamp(most / 3, 2.0, 40.0));
}

void hundred_rounds(const Subject &subject) {
    const std::uint64_t threads = entries_of("/proc/self/task");
    const LoadedPlugin plugin(subject);
    const std::uint64_t rounds = affordable_rounds(plugin);
    const auto holdings_after = [&](std::uint64_t times) {
        run_rounds(plugin, times);
        return holdings();
    };
    const Holdings early = holdings_after(rounds / 2), middle = holdings_after(rounds),
                   late = holdings_after(rounds);
    judge_growth("descriptors", "open descriptors", early.descriptors, middle.descriptors,
                 late.descriptors, rounds, 1);
    judge_growth("threads", "running threads", early.threads, middle.threads, late.threads, rounds,
                 1);
    judge_growth("memory", "bytes of memory", early.heap_bytes, middle.heap_bytes, late.heap_bytes,
                 rounds, 16);
    judge_growth("memory", "pages of memory", early.mapped_pages, middle.mapped_pages,
                 late.mapped_pages, rounds, 1);
    if (late.threads > threads)
        note("thread",
             "keeps a thread of its own running after destroy(); unloading the plugin would "
             "take its code away");
    if (rounds < 40)
        Ledger::shared().tried(
            words("%llu of them only: create() takes its time; memory, descriptors, "
                  "threads (--step-seconds gives it more)",
                  static_cast<unsigned long long>(1 + rounds / 2 + 2 * rounds)));
}

} // namespace

std::vector<Step> first_steps() {
    return {
        {"load", "the file, its symbol, version and sizes", &load_and_read, true},
        {"create and destroy", "one state; three at once", &create_and_destroy, true},
    };
}

std::vector<Step> last_steps() {
    return {
        {"100 rounds", "of create, process, destroy: memory, descriptors, threads",
         &hundred_rounds},
        {"unload", "and load again, three times", &unload},
    };
}

} // namespace gristmill::workshop
