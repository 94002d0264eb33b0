/* A plugin that breaks the rules in the way its configuration names: see plugin_payload_test. */
#include <stdlib.h>
#include <string.h>

#include <gristmill/plugin.h>

static const gm_host *the_host;

static void *create(const char *config, const gm_host *host) {
    the_host = host;
    if (strcmp(config, "no-state") == 0) {
        host->explain(host, "this configuration makes no state");
        return NULL;
    }
    char *state = malloc(strlen(config) + 1);
    if (state)
        strcpy(state, config);
    return state;
}

static void copy(gm_output *out, const uint8_t *data, uint64_t size) {
    uint8_t *room = out->reserve(out, size);
    if (room) {
        memcpy(room, data, (size_t)size);
        out->commit(out, size);
    }
}

static int process(void *state, const gm_batch *batch, gm_output *out) {
    const char *way = state;
    if (strcmp(way, "counts-too-few") == 0) {
        copy(out, batch->data, batch->size);
        out->emitted = batch->record_count - 1;
    } else if (strcmp(way, "counts-too-many") == 0) {
        out->emitted = batch->record_count;
        out->filtered = 1;
    } else if (strcmp(way, "counts-wrap") == 0) {
        out->emitted = batch->record_count + 2;
        out->filtered = (uint64_t)-2;
    } else if (strcmp(way, "commits-too-much") == 0) {
        out->reserve(out, 8);
        out->commit(out, 9);
        out->emitted = batch->record_count;
    } else if (strcmp(way, "commits-unreserved") == 0) {
        out->commit(out, 1);
        out->emitted = batch->record_count;
    } else if (strcmp(way, "fails-beyond") == 0) {
        out->fail_record(out, batch->record_count, "there is no such record");
        out->emitted = batch->record_count - 1;
    } else if (strcmp(way, "fails-without-reason") == 0) {
        out->fail_record(out, 1, NULL);
        out->emitted = batch->record_count - 1;
    } else if (strcmp(way, "fails-in-bulk") == 0) {
        out->failed = batch->record_count;
    } else if (strcmp(way, "fails-the-batch") == 0) {
        copy(out, batch->data, batch->size);
        the_host->explain(the_host, "cannot go on");
        return GM_FAIL_BATCH;
    } else if (strcmp(way, "odd-status") == 0) {
        out->emitted = batch->record_count;
        return 77;
    } else if (strcmp(way, "no-delimiter") == 0) {
        copy(out, batch->data, batch->size - 1);
        out->emitted = batch->record_count;
    } else if (strcmp(way, "wants-all-memory") == 0) {
        if (!out->reserve(out, (uint64_t)1 << 60))
            return GM_FAIL_BATCH;
    } else if (strcmp(way, "asks-whether-cancelled") == 0) {
        out->filtered = batch->record_count;
        return the_host->cancelled(the_host) ? GM_FAIL_BATCH : GM_OK;
    } else if (strcmp(way, "shows-offsets") == 0) {
        const uint64_t *offsets = batch->record_offsets;
        copy(out, (const uint8_t *)offsets, (batch->record_count + 1) * sizeof *offsets);
        out->emitted = batch->record_count;
    } else if (strcmp(way, "shows-batch") == 0) {
        copy(out, (const uint8_t *)batch, sizeof *batch);
        out->emitted = batch->record_count;
    } else { /* "echo" */
        copy(out, batch->data, batch->size);
        out->emitted = batch->record_count;
    }
    return GM_OK;
}

const struct gm_plugin gm_plugin = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "broken", GM_PLUGIN_WANTS_OFFSETS,
    create, process, free};

/* Others under names of their own. */
const struct gm_plugin newer_abi = {
    GM_PLUGIN_ABI_VERSION + 1, sizeof(struct gm_plugin), "newer", 0, create, process, free};
const struct gm_plugin abi_zero = {
    0, sizeof(struct gm_plugin), "zero", 0, create, process, free};
const struct gm_plugin cut_short = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin) - 8, "short", 0, create, process, free};
const struct gm_plugin nameless = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), NULL, 0, create, process, free};
const struct gm_plugin idle = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "idle", 0, create, NULL, free};
const struct gm_plugin stateless = {
    GM_PLUGIN_ABI_VERSION, sizeof(struct gm_plugin), "stateless", 0, NULL, NULL, NULL};
