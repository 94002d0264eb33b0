/* gristmill plugin ABI, version 1. C99; this header needs no other gristmill file.
 *
 * A plugin is a shared object that exports one `const struct gm_plugin` under the symbol
 * `gm_plugin` (or another symbol, named after a colon: "path.so:symbol"). The engine creates
 * one state per worker, hands that worker batches of whole records, and destroys the state at
 * the end. Nothing C++ crosses this boundary: no exceptions, no C++ types.
 *
 * Life cycle, per worker:   create -> process* -> destroy
 * Threads: several workers call the plugin at the same time, each with a state of its own. One
 * state is only ever used by one thread at a time. Data shared between states is the plugin's
 * own to protect.
 * Versions: every struct begins with its size, so that either side may be the older one. Fields
 * are only ever added at the end; check `struct_size` before reading a field added later.
 */
#ifndef GRISTMILL_PLUGIN_H
#define GRISTMILL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GM_PLUGIN_ABI_VERSION 1u

/* Readable bytes that follow every batch, so that SIMD code may read past the end. */
#define GM_BATCH_PADDING 64u

/* Makes the variable visible to the engine, also under -fvisibility=hidden. */
#ifdef __cplusplus
#define GM_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define GM_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* gm_plugin.flags */
#define GM_PLUGIN_WANTS_OFFSETS 1u /* fill gm_batch.record_offsets */
/* The output belongs to the batch as a whole, not to its records: hand each batch over in one
 * call. Without this flag a last record that lacks its delimiter in the input comes in a call of
 * its own, so that the engine knows what it alone gave. */
#define GM_PLUGIN_WHOLE_BATCHES 2u

/* gm_batch.flags */
#define GM_BATCH_DELIMITER_ADDED 1u /* the input lacked the last delimiter; it stands in `data` */
#define GM_BATCH_ENDS_OPEN 2u       /* the input lacked the last delimiter, and `data` lacks it too:
                                       with it, the last record would read as another one. Only for
                                       delimiters that overlap themselves ("aa" behind "xa") */

/* gm_batch.framing */
#define GM_FRAMING_DELIMITER 0u /* records end with `delimiter` */
#define GM_FRAMING_FIXED 1u     /* records are `record_bytes` long */
#define GM_FRAMING_U32LE 2u     /* each record follows a 32-bit little-endian length */

/* What process() returns. */
#define GM_OK 0
/* The batch failed; its output is thrown away. Unless the plugin has GM_PLUGIN_WHOLE_BATCHES, its
 * records are handed over again, at last one by one, so that one record costs itself alone. */
#define GM_FAIL_BATCH 1

/* The engine, as a plugin sees it. Valid from create() until destroy() returns. */
typedef struct gm_host {
    uint32_t struct_size;
    uint32_t abi_version;
    void *context; /* the engine's own */
    /* Non-zero once the run has been cancelled: return from process() soon. Any thread. */
    int (*cancelled)(const struct gm_host *host);
    /* Says why create() returns NULL, or process() returns GM_FAIL_BATCH. The text is copied. */
    void (*explain)(const struct gm_host *host, const char *text);
} gm_host;

/* One batch of whole records. Valid until process() returns; never write to `data`. */
typedef struct gm_batch {
    uint32_t struct_size;
    uint32_t flags;                 /* GM_BATCH_* */
    const uint8_t *data;            /* `size` bytes, GM_BATCH_PADDING readable ones behind them */
    uint64_t size;                  /* > 0; under delimiter framing `data` ends in the delimiter,
                                       but for GM_BATCH_ENDS_OPEN */
    uint64_t record_count;          /* > 0 */
    const uint64_t *record_offsets; /* record_count + 1 starts within data, the last one = size;
                                       NULL without GM_PLUGIN_WANTS_OFFSETS */
    uint64_t sequence;              /* number of the batch within the run, from 0 */
    uint64_t byte_offset;           /* of data[0] within its source */
    uint32_t attempt;               /* 0 the first time, more after a retry */
    uint32_t worker;                /* 0-based */
    uint32_t node;                  /* the node this worker runs on, 0-based */
    uint32_t framing;               /* GM_FRAMING_* */
    const uint8_t *delimiter;       /* delimiter framing, else NULL */
    uint64_t delimiter_size;        /* bytes */
    uint64_t record_bytes;          /* fixed framing, else 0 */
} gm_batch;

/* Where the output of one batch goes. Valid until process() returns.
 *
 * Each input record counts once: in `emitted` (it gave its result), in `filtered` (it was left
 * out by intention) or as failed (through fail_record, or in `failed` when there is nothing to
 * say about it). The engine checks that the three add up to record_count; when they do not, the
 * batch fails with PluginError. */
typedef struct gm_output {
    uint32_t struct_size;
    uint32_t reserved;
    void *context; /* the engine's own */
    uint64_t emitted;
    uint64_t filtered;
    uint64_t failed;
    /* Room for `bytes` more bytes behind what has been committed; NULL when there is no memory
     * (then return GM_FAIL_BATCH). Invalidates the pointer of the reserve() before. What was
     * written but not committed is lost. */
    uint8_t *(*reserve)(struct gm_output *out, uint64_t bytes);
    /* Keeps the first `bytes` bytes of the last reservation; at most as many as were reserved
     * (more: the batch fails with PluginError). */
    void (*commit)(struct gm_output *out, uint64_t bytes);
    /* Record `index` of the batch (0-based) failed, for `reason` (UTF-8, copied, may be NULL).
     * Counts one failed. Call it once per record, before the output of later records is
     * committed: what is committed so far is what stands before the failing record. */
    void (*fail_record)(struct gm_output *out, uint64_t index, const char *reason);
} gm_output;

/* Not a typedef, so that a plugin can call its variable gm_plugin, as the engine expects:
 *     GM_PLUGIN_EXPORT const struct gm_plugin gm_plugin = {...};
 */
struct gm_plugin {
    uint32_t abi_version; /* GM_PLUGIN_ABI_VERSION of the header it was compiled with */
    uint32_t struct_size; /* sizeof(struct gm_plugin) */
    const char *name;     /* for messages; never NULL */
    uint64_t flags;       /* GM_PLUGIN_* */
    /* State for one worker, from the user's configuration text ("" when none was given). NULL =
     * error, see gm_host.explain. A plugin without state returns any non-NULL pointer, or leaves
     * `create` NULL and is called with state NULL. Called on the worker's own thread. */
    void *(*create)(const char *config, const gm_host *host);
    /* Works through one batch; GM_OK or GM_FAIL_BATCH. Called on the worker's own thread. */
    int (*process)(void *state, const gm_batch *batch, gm_output *out);
    /* Frees the state; may be NULL. Called on the worker's own thread, after its last batch. */
    void (*destroy)(void *state);
};

#ifdef __cplusplus
}
#endif

#endif /* GRISTMILL_PLUGIN_H */
