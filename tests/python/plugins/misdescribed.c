/* Plugins whose description is wrong, each in one way. */
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

#define RIGHT .abi_version = GM_PLUGIN_ABI_VERSION, .struct_size = sizeof(struct gm_plugin)

GM_PLUGIN_EXPORT const struct gm_plugin right = {RIGHT, .name = "right", .process = process};
GM_PLUGIN_EXPORT const struct gm_plugin no_version = {
    .struct_size = sizeof(struct gm_plugin), .name = "no version", .process = process};
GM_PLUGIN_EXPORT const struct gm_plugin later_version = {.abi_version = GM_PLUGIN_ABI_VERSION + 1,
                                                         .struct_size = sizeof(struct gm_plugin),
                                                         .name = "later version",
                                                         .process = process};
GM_PLUGIN_EXPORT const struct gm_plugin no_size = {
    .abi_version = GM_PLUGIN_ABI_VERSION, .name = "no size", .process = process};
GM_PLUGIN_EXPORT const struct gm_plugin no_name = {RIGHT, .process = process};
GM_PLUGIN_EXPORT const struct gm_plugin empty_name = {RIGHT, .name = "", .process = process};
GM_PLUGIN_EXPORT const struct gm_plugin bad_name = {RIGHT, .name = (const char *)64,
                                                    .process = process};
GM_PLUGIN_EXPORT const struct gm_plugin no_process = {RIGHT, .name = "no process"};
GM_PLUGIN_EXPORT const struct gm_plugin unknown_flag = {
    RIGHT, .name = "unknown flag", .flags = (uint64_t)1 << 40, .process = process};
GM_PLUGIN_EXPORT const int no_description = 0;
