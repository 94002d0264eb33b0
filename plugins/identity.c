/* The smallest plugin: hands every batch on as it is.
 *
 *     cc -shared -fPIC -O2 -o identity.so identity.c
 */
#include <string.h>

#include <gristmill/plugin.h>

static int process(void *state, const gm_batch *batch, gm_output *out) {
    uint8_t *to = out->reserve(out, batch->size);
    (void)state;
    if (to == NULL)
        return GM_FAIL_BATCH;
    memcpy(to, batch->data, batch->size);
    out->commit(out, batch->size);
    out->emitted += batch->record_count;
    return GM_OK;
}

/* Without a state there is nothing to create or to destroy. */
GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "identity",
    .process = process,
};
