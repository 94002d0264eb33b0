/* For executor_ctypes.py: a compiled gristmill plugin over one byte range of a file, called from Python. */
#include "plugin_host.h"

#include <unistd.h>

typedef struct {
    host_plugin plugin;
    uint8_t *input; /* kept from range to range */
    size_t room;
} range_worker;

/* NULL when the plugin cannot be had. One for each thread. */
void *range_open(const char *path, const char *config) {
    range_worker *made = calloc(1, sizeof *made);
    if (made != NULL && host_open(&made->plugin, path, config) != 0) {
        free(made);
        made = NULL;
    }
    return made;
}

/* The output of the lines in a range, to be freed with range_free; NULL when it failed. */
uint8_t *range_run(void *of, int file, uint64_t offset, uint64_t size, uint64_t *output_size) {
    range_worker *worker = of;
    host_bytes output = {NULL, 0, 0};
    if (worker->room < size + GM_BATCH_PADDING) {
        free(worker->input);
        worker->room = size + GM_BATCH_PADDING;
        worker->input = calloc(1, worker->room);
    }
    for (uint64_t got = 0; got < size;) {
        ssize_t more = pread(file, worker->input + got, size - got, (off_t)(offset + got));
        if (more <= 0)
            return NULL;
        got += (uint64_t)more;
    }
    if (host_run(&worker->plugin, worker->input, size, &output) != 0)
        return NULL;
    *output_size = output.size;
    return output.data;
}

void range_free(uint8_t *output) { free(output); }

void range_close(void *of) {
    range_worker *worker = of;
    host_close(&worker->plugin);
    free(worker->input);
    free(worker);
}
