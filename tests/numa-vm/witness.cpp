// A payload that says where it runs, and where its memory lies. For each record:
// RECORD <tab> sequence node cpu pid input-page-node output-page-node
//
// Configuration: microseconds that a batch takes at least. It sleeps that long: a guest has more CPUs than
// the machine it runs on.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include <gristmill/plugin.h>

namespace {

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::uint64_t(now.tv_sec) * 1'000'000'000 + std::uint64_t(now.tv_nsec);
}

// -1: not there.
int node_of(const void *address) {
    void *page = const_cast<void *>(address);
    int node = -1;
    return syscall(SYS_move_pages, 0, 1ul, &page, nullptr, &node, 0) == 0 ? node : -1;
}

struct Witness {
    std::uint64_t batch_ns = 0;
};

void *create(const char *config, const gm_host *) {
    return new Witness{std::strtoull(config, nullptr, 10) * 1000};
}

int process(void *state, const gm_batch *batch, gm_output *out) {
    const std::uint64_t until = now_ns() + static_cast<Witness *>(state)->batch_ns;
    const auto *text = reinterpret_cast<const char *>(batch->data);
    unsigned cpu = 0;
    syscall(SYS_getcpu, &cpu, nullptr, nullptr);
    const int first = node_of(batch->data), last = node_of(batch->data + batch->size - 1);
    char *probe = reinterpret_cast<char *>(out->reserve(out, 64 * batch->record_count + batch->size));
    if (!probe)
        return GM_FAIL_BATCH;
    *probe = 0;
    const int output = node_of(probe);
    char facts[100];
    const int length = std::snprintf(
        facts, sizeof facts, "\t%llu %u %u %d %d %d\n",
        static_cast<unsigned long long>(batch->sequence), batch->node, cpu, int(getpid()),
        first == last ? first : -2, output);
    char *to = probe;
    for (const char *record = text; record < text + batch->size;) {
        const auto *end = static_cast<const char *>(
            std::memchr(record, '\n', std::size_t(text + batch->size - record)));
        to = static_cast<char *>(std::memcpy(to, record, std::size_t(end - record))) + (end - record);
        to = static_cast<char *>(std::memcpy(to, facts, std::size_t(length))) + length;
        record = end + 1;
    }
    out->commit(out, std::uint64_t(to - probe));
    out->emitted = batch->record_count;
    const timespec then{time_t(until / 1'000'000'000), long(until % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, nullptr);
    return GM_OK;
}

void destroy(void *state) { delete static_cast<Witness *>(state); }

} // namespace

extern "C" GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "witness", 0, create, process, destroy};
