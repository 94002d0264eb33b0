// A payload that dies of records: each that names a way to go takes it, the others are echoed. For
// lines that end with one byte.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

#include <gristmill/plugin.h>

namespace {

volatile int depth_reached = 0;

int deep(int depth) {
    volatile char room[65536];
    room[0] = static_cast<char>(depth);
    depth_reached = depth;
    return depth < 0 ? 0 : deep(depth + 1) + room[0];
}

void take(std::string_view way) {
    if (way == "segv")
        *reinterpret_cast<volatile int *>(8) = 1;
    if (way == "fpe")
        std::raise(SIGFPE);
    if (way == "ill")
        __builtin_trap();
    if (way == "stack")
        deep(0);
    if (way == "abort")
        std::abort();
    if (way == "exit")
        std::exit(4);
    if (way == "throw")
        throw std::runtime_error("thrown by the plugin");
    if (way == "corrupt") { // an address that the compiler cannot see through
        void *volatile nobodys = const_cast<int *>(&depth_reached) + 1;
        std::free(nobodys);
    }
    while (way == "spin")
        depth_reached = 1;
    if (way == "sleep")
        ::sleep(1000);
}

int process(void *, const gm_batch *batch, gm_output *out) {
    const std::uint8_t *at = batch->data;
    for (std::uint64_t i = 0; i < batch->record_count; ++i) {
        const std::uint64_t left = batch->size - static_cast<std::uint64_t>(at - batch->data);
        const auto *end = static_cast<const std::uint8_t *>(std::memchr(at, batch->delimiter[0], left));
        const auto size = static_cast<std::uint64_t>(end - at);
        take({reinterpret_cast<const char *>(at), size});
        std::memcpy(out->reserve(out, size + 1), at, size + 1);
        out->commit(out, size + 1);
        ++out->emitted;
        at = end + 1;
    }
    return GM_OK;
}

void *create(const char *config, const gm_host *) {
    take(config);
    static int state;
    return &state;
}

} // namespace

extern "C" GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "deadly",
    .flags = 0,
    .create = create,
    .process = process,
    .destroy = [](void *) {},
};
