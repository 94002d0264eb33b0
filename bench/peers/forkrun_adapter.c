/* For forkrun_plugin.py: forkrun calls process_batch() for each batch of whole lines, and takes what it writes to
 * standard output; a compiled gristmill plugin does the work. Which one, and its configuration, say the variables
 * GRISTMILL_PEER_PLUGIN and GRISTMILL_PEER_CONFIG. The layout of what forkrun passes is its ABI 2. */
#include "plugin_host.h"

#include <unistd.h>

struct forkrun_ctx {
    uint64_t batch_index, batch_offset, batch_byte_length;
    uint32_t version, worker_id, node_id, kills;
    uint64_t numa_batch_id;
    int32_t fd_in;
    char delimiter;
    uint8_t configuration[4];
    uint32_t batch_lines, struct_size, worker_incarnation, flags_granted, reserved32;
    uint64_t reserved[6]; /* [0]: where the batch lies, when the raw flag was granted */
};

enum { CURRENT_ABI = 2, RAW_FLAG = 1 << 8 };
int forkrun_use_ctx = CURRENT_ABI | RAW_FLAG;

static host_plugin plugin; /* workers are processes with one thread */
static host_bytes output;
static uint8_t *input;
static size_t room;

/* The batch with readable bytes behind it, which forkrun's own window may lack at its end. */
static const uint8_t *copied(const struct forkrun_ctx *ctx) {
    size_t size = ctx->batch_byte_length;
    if (room < size + GM_BATCH_PADDING) {
        free(input);
        room = 2 * size + GM_BATCH_PADDING;
        input = malloc(room);
    }
    if (ctx->version >= CURRENT_ABI && (ctx->flags_granted & RAW_FLAG) != 0 && ctx->reserved[0] != 0) {
        memcpy(input, (const void *)(uintptr_t)ctx->reserved[0], size);
        return input;
    }
    for (size_t got = 0; got < size;) {
        ssize_t more = pread(ctx->fd_in, input + got, size - got, (off_t)(ctx->batch_offset + got));
        if (more <= 0)
            return NULL;
        got += (size_t)more;
    }
    return input;
}

int process_batch(int count, char **arguments, const struct forkrun_ctx *ctx) {
    (void)count;
    (void)arguments;
    if (plugin.plugin == NULL &&
        host_open(&plugin, getenv("GRISTMILL_PEER_PLUGIN"), getenv("GRISTMILL_PEER_CONFIG")) != 0)
        return -1;
    const uint8_t *data = copied(ctx);
    output.size = 0;
    if (data == NULL || host_run(&plugin, data, ctx->batch_byte_length, &output) != 0)
        return -1;
    return fwrite(output.data, 1, output.size, stdout) == output.size ? 0 : -1;
}
