// Breaks one rule of the plugin ABI whenever a batch holds a record of that name, and is the
// identity otherwise. Written against plugin.h alone: the veneer would not let it.
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <gristmill/plugin.h>

namespace {

void copy(const gm_batch *batch, gm_output *out) {
    std::uint8_t *to = out->reserve(out, batch->size);
    std::memcpy(to, batch->data, batch->size);
    out->commit(out, batch->size);
    out->emitted += batch->record_count;
}

constexpr std::uint64_t reserved_bytes = 8;

// How many of the reserved bytes to commit: more than there are; 0 when nothing asks for it.
std::uint64_t wrong_commit(std::string_view data) {
    for (const auto &[name, bytes] : {std::pair("commit-beyond", reserved_bytes + 1),
                                      std::pair("commit-more", std::uint64_t{1} << 40),
                                      std::pair("commit-u32", std::uint64_t{UINT32_MAX}),
                                      std::pair("commit-min", std::uint64_t{1} << 63),
                                      std::pair("commit-minus-1", UINT64_MAX)})
        if (data.find(name) != std::string_view::npos)
            return bytes;
    return 0;
}

// `config`: which rule create() breaks.
void *create(const char *config, const gm_host *host) {
    static int state = 0;
    const std::string_view wish(config);
    if (wish == "throw")
        throw std::runtime_error("create says no");
    if (wish == "null")
        return nullptr;
    if (wish == "explain") {
        host->explain(host, "no licence for this moon");
        return nullptr;
    }
    return &state;
}

int process(void *, const gm_batch *batch, gm_output *out) {
    const std::string_view data(reinterpret_cast<const char *>(batch->data), batch->size);
    const auto holds = [&](std::string_view name) {
        return data.find(name) != std::string_view::npos;
    };
    if (holds("throw-std"))
        throw std::runtime_error("plugin says no");
    if (holds("throw-int"))
        throw 42;
    if (holds("throw-oom"))
        throw std::bad_alloc();
    if (holds("status"))
        return GM_FAIL_BATCH;
    if (holds("reserve-all") && out->reserve(out, UINT64_MAX / 4) == nullptr)
        return GM_FAIL_BATCH;
    copy(batch, out);
    if (holds("count-more"))
        ++out->emitted;
    if (holds("count-less"))
        --out->emitted;
    if (holds("count-huge"))
        out->filtered = UINT64_MAX;
    if (const std::uint64_t bytes = wrong_commit(data); bytes != 0) {
        out->reserve(out, reserved_bytes);
        out->commit(out, bytes);
    }
    if (holds("commit-twice"))
        out->commit(out, batch->size);
    if (holds("fail-beyond"))
        out->fail_record(out, batch->record_count, "whose?");
    if (holds("half-record")) {
        std::uint8_t *to = out->reserve(out, 4);
        std::memcpy(to, "tail", 4);
        out->commit(out, 4);
    }
    return GM_OK;
}

} // namespace

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "unruly", 0, &create, &process, nullptr};

// Under symbols of their own: plugins that must not be taken.
GM_PLUGIN_EXPORT const struct gm_plugin from_the_future = {
    GM_PLUGIN_ABI_VERSION + 1, sizeof(struct gm_plugin), "future", 0, nullptr, &process, nullptr};
GM_PLUGIN_EXPORT const struct gm_plugin without_process = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "hollow", 0, nullptr, nullptr, nullptr};
