/* Upper case, for lines; a record "!w..." does what its second letter says: see faulty.py, the same in Python. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gristmill/plugin.h>

enum { NAME_MAX_BYTES = 4096 };

/* Whether this is the first time that anybody asks for this record. */
static int first_time(const char *folder, const char *record, size_t size) {
    char name[NAME_MAX_BYTES];
    int file;
    (void)snprintf(name, sizeof name, "%s/%.*s", folder, (int)size, record);
    file = open(name, O_CREAT | O_EXCL, 0600);
    if (file >= 0)
        (void)close(file);
    return file >= 0;
}

/* Whether the record fails; it may also never return. */
static int misbehave(const char *folder, const char *record, size_t size) {
    switch (record[1]) {
    case 'k':
        if (first_time(folder, record, size))
            (void)raise(SIGKILL);
        return 0;
    case 'c':
        if (first_time(folder, record, size))
            (void)raise(SIGSEGV);
        return 0;
    case 'K':
        (void)raise(SIGKILL);
        return 0;
    case 'C':
        (void)raise(SIGSEGV);
        return 0;
    case 'h':
        for (;;)
            (void)sleep(1000);
    default:
        return 1;
    }
}

static int process(void *folder, const gm_batch *batch, gm_output *out) {
    const char *at = (const char *)batch->data;
    uint64_t i;
    for (i = 0; i < batch->record_count; ++i) {
        const size_t left = (size_t)((const char *)batch->data + batch->size - at);
        const size_t size = (size_t)((const char *)memchr(at, '\n', left) - at);
        if (at[0] == '!' && misbehave(folder, at, size)) {
            out->fail_record(out, i, "asked to fail");
        } else {
            uint8_t *to = out->reserve(out, size + 1);
            size_t k;
            if (to == NULL)
                return GM_FAIL_BATCH;
            for (k = 0; k <= size; ++k)
                to[k] = (uint8_t)toupper((unsigned char)at[k]);
            out->commit(out, size + 1);
            ++out->emitted;
        }
        at += size + 1;
    }
    return GM_OK;
}

static void *create(const char *config, const gm_host *host) {
    (void)host;
    return strdup(config);
}

GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {
    .abi_version = GM_PLUGIN_ABI_VERSION,
    .struct_size = sizeof(struct gm_plugin),
    .name = "faulty",
    .create = create,
    .process = process,
    .destroy = free,
};
