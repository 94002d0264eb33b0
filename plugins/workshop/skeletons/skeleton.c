/* skeleton: lines in capitals.
 *
 *     # ...      is left out (filtered)
 *     nothing    fails, with a reason
 *     any other  comes out in capitals (emitted)
 *
 * <gristmill/plugin.h> is the whole contract, and short.
 */
#include <stdlib.h>

#include <gristmill/plugin.h>

/* What one worker keeps from batch to batch. No other thread ever touches it. */
struct state {
    const gm_host *host;
};

static void *create(const char *config, const gm_host *host) {
    struct state *state = malloc(sizeof *state);
    if (config[0] != '\0') {
        free(state);
        host->explain(host, "skeleton takes no configuration");
        return NULL;
    }
    if (state != NULL)
        state->host = host;
    return state;
}

static void capitalize(const uint8_t *from, uint64_t size, uint8_t *to) {
    for (uint64_t i = 0; i < size; ++i)
        to[i] = from[i] >= 'a' && from[i] <= 'z' ? (uint8_t)(from[i] - 'a' + 'A') : from[i];
}

/* Record `index` is `text`, `size` bytes; with its delimiter it is `whole` bytes. */
static int work_on(gm_output *out, uint64_t index, const uint8_t *text, uint64_t size,
                   uint64_t whole) {
    uint8_t *to;
    if (size == 0) {
        out->fail_record(out, index, "the record is empty"); /* counts one failed */
        return GM_OK;
    }
    if (text[0] == '#') {
        ++out->filtered;
        return GM_OK;
    }
    to = out->reserve(out, whole);
    if (to == NULL)
        return GM_FAIL_BATCH; /* no memory */
    capitalize(text, size, to);
    for (uint64_t i = size; i < whole; ++i)
        to[i] = text[i]; /* the output is framed like the input */
    out->commit(out, whole);
    ++out->emitted;
    return GM_OK;
}

static int process(void *raw_state, const gm_batch *batch, gm_output *out) {
    const struct state *state = raw_state;
    if (batch->framing != GM_FRAMING_DELIMITER) {
        state->host->explain(state->host, "skeleton works on delimited records only");
        return GM_FAIL_BATCH;
    }
    for (uint64_t i = 0; i < batch->record_count; ++i) {
        const uint64_t begin = batch->record_offsets[i];
        const uint64_t whole = batch->record_offsets[i + 1] - begin;
        const int open = (batch->flags & GM_BATCH_ENDS_OPEN) != 0 && i + 1 == batch->record_count;
        const uint64_t size = open ? whole : whole - batch->delimiter_size;
        if (work_on(out, i, batch->data + begin, size, whole) != GM_OK)
            return GM_FAIL_BATCH;
    }
    return GM_OK;
}

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "skeleton",
    .flags = GM_PLUGIN_WANTS_OFFSETS, /* fill record_offsets */
    .create = create,
    .process = process,
    .destroy = free,
};
