/* I/O that fails when it is told to. Either preloaded, and told by the environment, or linked, and
 * told by a test.
 *
 * FAULTY_IO=RULE;RULE... where a rule is "CALLS ACTION WHEN WHERE":
 *   CALLS   read, pread, recv, pwrite, ftruncate, fallocate; several with commas
 *   ACTION  an errno as a number, or "short": fewer bytes than asked for, at least one
 *   WHEN    "N" the N-th of these calls, "N-" that one and all behind it, "1/K@SEED" one in K at random
 *   WHERE   with what the descriptor's link in /proc/self/fd begins: "pipe:[7]", "/memfd:gristmill-"
 * The first rule that fits and acts decides. gristmill's worker programs are left alone, unless
 * FAULTY_IO_WORKERS is set.
 */
#ifndef GRISTMILL_TESTS_FAULTY_IO_H
#define GRISTMILL_TESTS_FAULTY_IO_H

#ifdef __cplusplus
extern "C" {
#endif

/* Other rules from now on; "" or a null pointer: none. 0: they cannot be understood. */
int faulty_io_set(const char *rules);
/* How often rule `index` has acted. */
unsigned long faulty_io_hits(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
