/* A plugin that needs a function which nobody has. */
#include <gristmill/plugin.h>

int a_function_that_nobody_has(void);

static int process(void *state, const gm_batch *batch, gm_output *out) {
    (void)state;
    out->filtered = batch->record_count;
    return a_function_that_nobody_has();
}

const struct gm_plugin gm_plugin = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "unresolved", 0, 0, process, 0};
