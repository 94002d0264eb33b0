/* Turns the ASCII letters of every record into capitals.
 *
 * Shows how to walk the records of a batch under each framing. What stands between the records,
 * delimiters and lengths, must come out unchanged: they may look like letters.
 */
#include <string.h>

#include <gristmill/plugin.h>

/* The record that begins at `at`, and where the next one begins. */
struct step {
    uint64_t begin;
    uint64_t end;
    uint64_t next;
};

/* Where the first delimiter from `at` on begins; the end of the data if there is none. */
static uint64_t find_delimiter(const gm_batch *batch, uint64_t at) {
    while (batch->size - at >= batch->delimiter_size) {
        const uint64_t starts = batch->size - at - batch->delimiter_size + 1;
        const uint8_t *found = memchr(batch->data + at, batch->delimiter[0], starts);
        if (found == NULL)
            break;
        if (memcmp(found, batch->delimiter, batch->delimiter_size) == 0)
            return (uint64_t)(found - batch->data);
        at = (uint64_t)(found - batch->data) + 1;
    }
    return batch->size;
}

static struct step step_at(const gm_batch *batch, uint64_t at) {
    const uint8_t *head = batch->data + at;
    struct step step = {at, batch->size, batch->size};
    switch (batch->framing) {
    case GM_FRAMING_DELIMITER:
        step.end = find_delimiter(batch, at);
        if (step.end < batch->size)
            step.next = step.end + batch->delimiter_size;
        break;
    case GM_FRAMING_FIXED:
        step.end = step.next = at + batch->record_bytes;
        break;
    case GM_FRAMING_U32LE:
        step.begin = at + 4;
        step.end = step.begin + (head[0] | (uint64_t)head[1] << 8 | (uint64_t)head[2] << 16 |
                                 (uint64_t)head[3] << 24);
        step.next = step.end;
        break;
    }
    return step;
}

static int process(void *state, const gm_batch *batch, gm_output *out) {
    uint8_t *to = out->reserve(out, batch->size);
    (void)state;
    if (to == NULL)
        return GM_FAIL_BATCH;
    memcpy(to, batch->data, batch->size);
    for (uint64_t at = 0; at < batch->size;) {
        const struct step step = step_at(batch, at);
        for (uint64_t i = step.begin; i < step.end; ++i) {
            const uint8_t byte = to[i];
            to[i] = byte >= 'a' && byte <= 'z' ? (uint8_t)(byte - ('a' - 'A')) : byte;
        }
        at = step.next;
    }
    out->commit(out, batch->size);
    out->emitted += batch->record_count;
    return GM_OK;
}

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "upper",
    .process = process,
};
