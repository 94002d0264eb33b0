/* Says how many records each batch has, in one record per batch.
 *
 * Shows how an output record is framed like the input: behind a length, before the delimiter, or
 * bare under fixed framing. All records of the batch count as emitted: the number is their result.
 */
#include <stdio.h>
#include <string.h>

#include <gristmill/plugin.h>

static int process(void *state, const gm_batch *batch, gm_output *out) {
    char digits[24];
    const int printed =
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)batch->record_count);
    const uint64_t length = (uint64_t)printed;
    const uint64_t header = batch->framing == GM_FRAMING_U32LE ? 4 : 0;
    const uint64_t tail = batch->framing == GM_FRAMING_DELIMITER ? batch->delimiter_size : 0;
    uint8_t *to = out->reserve(out, header + length + tail);
    (void)state;
    if (to == NULL)
        return GM_FAIL_BATCH;
    for (uint64_t i = 0; i < header; ++i)
        to[i] = (uint8_t)(length >> (8 * i));
    memcpy(to + header, digits, length);
    if (tail != 0)
        memcpy(to + header + length, batch->delimiter, tail);
    out->commit(out, header + length + tail);
    out->emitted += batch->record_count;
    return GM_OK;
}

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "count",
    .flags = GM_PLUGIN_WHOLE_BATCHES,
    .process = process,
};
