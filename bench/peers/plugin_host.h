/* The least that a gristmill plugin needs around it, for peers that are given the same compiled plugin: loads
 * it, makes a state, and runs it over whole lines into memory that grows. C99, and C++.
 *
 * Threads: each has a state of its own (host_open). */
#ifndef GRISTMILL_BENCH_PLUGIN_HOST_H
#define GRISTMILL_BENCH_PLUGIN_HOST_H

#include <dlfcn.h>
#include <gristmill/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *data; /* malloc */
    size_t size, room;
} host_bytes;

typedef struct {
    const struct gm_plugin *plugin;
    void *state;
    gm_host host;
} host_plugin;

static inline int host_cancelled(const gm_host *host) {
    (void)host;
    return 0;
}

static inline void host_explain(const gm_host *host, const char *text) {
    (void)host;
    fprintf(stderr, "plugin: %s\n", text);
}

static inline uint8_t *host_reserve(gm_output *out, uint64_t bytes) {
    host_bytes *into = (host_bytes *)out->context;
    if (into->room - into->size < bytes) {
        size_t room = into->size + bytes + into->size / 2;
        uint8_t *moved = (uint8_t *)realloc(into->data, room);
        if (moved == NULL)
            return NULL;
        into->data = moved;
        into->room = room;
    }
    return into->data + into->size;
}

static inline void host_commit(gm_output *out, uint64_t bytes) {
    ((host_bytes *)out->context)->size += bytes;
}

static inline void host_fail_record(gm_output *out, uint64_t index, const char *reason) {
    (void)index;
    (void)reason;
    ++out->failed;
}

/* 0, or -1 when there is no such plugin or it makes no state. `to` must stay where it is. */
static inline int host_open(host_plugin *to, const char *path, const char *config) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    memset(to, 0, sizeof *to);
    to->plugin = (const struct gm_plugin *)dlsym(library, "gm_plugin");
    to->host.struct_size = sizeof to->host;
    to->host.abi_version = GM_PLUGIN_ABI_VERSION;
    to->host.cancelled = host_cancelled;
    to->host.explain = host_explain;
    if (to->plugin == NULL)
        return -1;
    if (to->plugin->create == NULL)
        return 0;
    to->state = to->plugin->create(config, &to->host);
    return to->state == NULL ? -1 : 0;
}

static inline void host_close(host_plugin *of) {
    if (of->plugin != NULL && of->plugin->destroy != NULL && of->state != NULL)
        of->plugin->destroy(of->state);
    of->state = NULL;
}

static inline uint64_t host_count_lines(const uint8_t *data, size_t size) {
    uint64_t count = 0;
    for (size_t i = 0; i < size; ++i)
        count += data[i] == '\n';
    return count;
}

/* Runs the plugin over `size` bytes of whole lines, GM_BATCH_PADDING readable bytes behind them; its output is
 * added to `into`. 0, or -1. */
static inline int host_run(host_plugin *of, const uint8_t *data, size_t size, host_bytes *into) {
    static const uint8_t newline = '\n';
    gm_batch batch;
    gm_output out;
    memset(&batch, 0, sizeof batch);
    memset(&out, 0, sizeof out);
    batch.struct_size = sizeof batch;
    batch.data = data;
    batch.size = size;
    batch.record_count = host_count_lines(data, size);
    batch.framing = GM_FRAMING_DELIMITER;
    batch.delimiter = &newline;
    batch.delimiter_size = 1;
    out.struct_size = sizeof out;
    out.context = into;
    out.reserve = host_reserve;
    out.commit = host_commit;
    out.fail_record = host_fail_record;
    return size == 0 || of->plugin->process(of->state, &batch, &out) == GM_OK ? 0 : -1;
}

#endif
