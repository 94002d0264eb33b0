/* Hands every batch on as it is, after as many milliseconds as its configuration says. */
#define _POSIX_C_SOURCE 199309L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gristmill/plugin.h>

static void *create(const char *config, const gm_host *host) {
    struct timespec *pause = malloc(sizeof *pause);
    const long ms = atol(config);
    (void)host;
    if (pause != NULL) {
        pause->tv_sec = ms / 1000;
        pause->tv_nsec = ms % 1000 * 1000000;
    }
    return pause;
}

static int process(void *state, const gm_batch *batch, gm_output *out) {
    uint8_t *to = out->reserve(out, batch->size);
    if (to == NULL)
        return GM_FAIL_BATCH;
    nanosleep(state, NULL);
    memcpy(to, batch->data, batch->size);
    out->commit(out, batch->size);
    out->emitted += batch->record_count;
    return GM_OK;
}

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "slow",
    .create = create,
    .process = process,
    .destroy = free,
};
