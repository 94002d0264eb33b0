/* A payload with an opinion on every record, for lines that end with one byte:
 *
 *     !...   fails, with the reason "no shouting"
 *     #...   is filtered
 *     else   gives the configuration text, then the record
 *
 * Configured "refuse" it does not start; "spoil" fails every batch whole.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include <gristmill/plugin.h>

static void *create(const char *config, const gm_host *host) {
    if (strcmp(config, "refuse") == 0) {
        host->explain(host, "refused by its configuration");
        return NULL;
    }
    return strdup(config);
}

static void put(gm_output *out, const char *prefix, const uint8_t *record, uint64_t size) {
    const uint64_t length = strlen(prefix);
    uint8_t *to = out->reserve(out, length + size);
    memcpy(to, prefix, length);
    memcpy(to + length, record, size);
    out->commit(out, length + size);
    ++out->emitted;
}

static int process(void *state, const gm_batch *batch, gm_output *out) {
    const uint8_t *at = batch->data;
    if (strcmp(state, "spoil") == 0)
        return GM_FAIL_BATCH;
    for (uint64_t i = 0; i < batch->record_count; ++i) {
        const uint64_t left = batch->size - (uint64_t)(at - batch->data);
        const uint8_t *end = memchr(at, batch->delimiter[0], left);
        if (*at == '!')
            out->fail_record(out, i, "no shouting");
        else if (*at == '#')
            ++out->filtered;
        else
            put(out, state, at, (uint64_t)(end + 1 - at));
        at = end + 1;
    }
    return GM_OK;
}

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "picky",
    .create = create,
    .process = process,
    .destroy = free,
};

/* The same under another name. */
GM_PLUGIN_EXPORT const struct gm_plugin other = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "other",
    .create = create,
    .process = process,
    .destroy = free,
};
