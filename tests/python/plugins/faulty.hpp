// What faulty plugins share: each breaks the plugin ABI in one way, chosen by its configuration,
// and keeps it without one, when every record is handed on as it is.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <gristmill/plugin.h>

namespace faulty {

struct State;
using Process = int (*)(State &, const gm_batch &, gm_output &);

struct State {
    Process process;
    unsigned long long batches = 0;
};

struct Fault {
    std::string_view name;
    Process process;
};

inline volatile std::uint8_t seen; // what is stored here is really read
inline volatile int zero = 0;      // not known to the compiler

inline std::uint8_t *copy_of(const gm_batch &batch, gm_output &out) {
    std::uint8_t *to = out.reserve(&out, batch.size);
    if (to != nullptr)
        std::memcpy(to, batch.data, batch.size);
    return to;
}

inline int finish(const gm_batch &batch, gm_output &out, const std::uint8_t *to) {
    if (to == nullptr)
        return GM_FAIL_BATCH;
    out.commit(&out, batch.size);
    out.emitted += batch.record_count;
    return GM_OK;
}

inline int hand_on(State &, const gm_batch &batch, gm_output &out) {
    return finish(batch, out, copy_of(batch, out));
}

inline std::string_view record(const gm_batch &batch, std::uint64_t index) {
    const std::uint64_t begin = batch.record_offsets[index];
    const std::uint64_t bytes = batch.record_offsets[index + 1] - begin - batch.delimiter_size;
    return {reinterpret_cast<const char *>(batch.data) + begin, bytes};
}

inline bool put(gm_output &out, const std::string &text) {
    std::uint8_t *to = out.reserve(&out, text.size());
    if (to == nullptr)
        return false;
    std::memcpy(to, text.data(), text.size());
    out.commit(&out, text.size());
    return true;
}

template <std::size_t Count>
Process find(const Fault (&faults)[Count], std::string_view name) {
    for (const Fault &fault : faults) {
        if (fault.name == name)
            return fault.process;
    }
    return &hand_on;
}

inline int process(void *state, const gm_batch *batch, gm_output *out) {
    State &own = *static_cast<State *>(state);
    return own.process(own, *batch, *out);
}

inline void destroy(void *state) { delete static_cast<State *>(state); }

} // namespace faulty

#define FAULTY_PLUGIN(faults)                                                                      \
    static void *create(const char *config, const gm_host *) {                                     \
        return new faulty::State{faulty::find(faults, config)};                                    \
    }                                                                                              \
    GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {GM_PLUGIN_ABI_VERSION,                    \
                                                         sizeof(struct gm_plugin),                 \
                                                         "faulty",                                 \
                                                         GM_PLUGIN_WANTS_OFFSETS,                  \
                                                         &create,                                  \
                                                         &faulty::process,                         \
                                                         &faulty::destroy}
