/* The batch ring: publish, claim, done, retire, steal, the two memory budgets and the end of a stream.
 *
 * One search by SPIN checks every interleaving of one configuration: a set of -D values (sizes, budgets,
 * order, coordinator or split roles) and, for the tests of the model itself, a WEAK_... define that takes a
 * rule away.  Without one nothing may fail; with one, something must.  check.py holds the list.
 *
 * Rules of the ring: R1 state word, R2 a claimed batch never waits, R3 the head is always claimable,
 * R4 memory, R6 order none, R7 source errors.  Rules of waiting and waking:
 *
 *   W1  The publisher publishes a group, then wakes one idle worker.
 *   W2  Who wants to sleep sets its bit, looks again, sleeps.  Who finds something clears the bit again.
 *   W3  A worker without room for output says so in its slot before it sets the bit, and notifies egress
 *       before it sleeps.
 *   W4  Every worker notifies the publisher before it sleeps.
 *   W5  A worker that claims while more is ready wakes the next; at the low-water mark it wakes the publisher.
 *   W6  A wake meant for a ready entry goes to a worker with room; for a ready head, to any.
 *   W7  Egress sets its bit, then chooses and publishes its target, then looks at that entry again.
 *       done notifies it only for the target.
 *   W8  Having retired, egress wakes the owner, which may have room now, and for a ready head one idle worker.
 *   W9  Split roles: a publisher that finds the window full notifies egress before it sleeps, and egress
 *       notifies the publisher when it has retired.
 *
 * Memory is sequentially consistent here, and notify() is one step: event_count.pml shows why it may be.
 */

/* ---- sizes ------------------------------------------------------------------------------------ */

#ifndef N
#define N 2                 /* entries of the ring, 2 or 4 */
#endif
#ifndef W
#define W 2                 /* workers, 1 to 3 */
#endif
#ifndef B
#define B 4                 /* batches of the source */
#endif
#ifndef HOMES
#define HOMES 6             /* bit q: home node of sequence q */
#endif
#define HOME(q) ((HOMES >> (q)) & 1)
#ifndef WORKER_NODES
#define WORKER_NODES 2      /* bit w: node of worker w */
#endif
#define NODE(w) ((WORKER_NODES >> (w)) & 1)
#ifndef R
#define R 2                 /* cells of one worker's output ring */
#endif
#ifndef SMALL
#define SMALL 1             /* a batch's output is SMALL or LARGE cells, known only once it is written */
#endif
#ifndef LARGE
#define LARGE 3             /* larger than the ring: the rest goes to the overflow range */
#endif
#ifndef LOOKAHEAD
#define LOOKAHEAD N         /* ready entries the publisher keeps beyond those claimed */
#endif
#define LOW_WATER (LOOKAHEAD / 2)
#ifndef IN_BUDGET
#define IN_BUDGET 2
#endif
#ifndef BIG_INPUT
#define BIG_INPUT 3         /* input sizes go 1, 1, BIG_INPUT, 1, ...: one batch exceeds the whole budget */
#endif
#define INPUT_SIZE(q) ((q) % 3 == 2 -> BIG_INPUT : 1)

#define NONE 255
#define ANY  254            /* target: wake egress for whichever batch is done next */

#include "ring_state.pml"
#include "ring_waking.pml"

/* ---- publish ---------------------------------------------------------------------------------- */

/* Publish what look-ahead, window and input budget allow, then (W1) wake ONE worker for the whole group. */
inline publish_group() {
    group = 0;
    do
    :: atomic { MAY_PUBLISH ->
        /* R1, R6: the entry is empty and of the right lap */
        assert(state[ENTRY(published)] == EMPTY && lap[ENTRY(published)] == LAP_OF(published));
        if
        :: state[ENTRY(published)] = READY;
           in_size[ENTRY(published)] = INPUT_SIZE(published);
#ifdef INPUT_COUNTER
           in_charged = in_charged + INPUT_SIZE(published);
#endif
           published++;
           group = 1;
           /* the input budget is exceeded only by a batch that is alone */
           assert(IN_FLIGHT <= IN_BUDGET || HELD_COUNT == 1);
           more = (published < B)
#ifdef SOURCE_ERROR
        :: /* R7: done at birth, retired when everything before it was; the source ends here */
#ifdef WEAK_R7_OUT_OF_BAND
           error_flag = 1;
#else
           state[ENTRY(published)] = DONE;
           source_error[ENTRY(published)] = 1;
           published++;
#endif
           more = 0
#endif
        fi
      }
    :: atomic { else ->
        if :: group -> group = 0; wake_one() :: else fi;
        ended = !more;
        break
      }
    od
}
#ifdef WEAK_R7_OUT_OF_BAND
bit error_flag;
#endif

#include "ring_worker.pml"
#include "ring_egress.pml"

/* ---- roles ------------------------------------------------------------------------------------ */

#ifdef SPLIT

proctype publisher() {
    bit group;
again:
    atomic { busy[PUB] = 1; at_rest[PUB] = 1; check_rest() };       /* reads its source */
    atomic { busy[PUB] = 0; at_rest[PUB] = 0 };
    publish_group();
    if :: ended -> goto last :: else fi;
    prepare_wait(PUB);
    if
    :: atomic { MAY_PUBLISH -> cancel_wait(PUB); goto again }
    :: else
    fi;
    /* W9: egress may wait half a window on, and the window is full now. */
#ifndef WEAK_W9_FULL_WINDOW_SILENT
    if :: !WINDOW_OPEN -> notify(EGR) :: else fi;
#endif
    atomic { wait(PUB) };
    goto again;
last:
    notify(EGR);
    atomic { busy[PUB] = 1; at_rest[PUB] = 1; check_rest() }
}

proctype egress() {
    byte now, from;
again:
    retire_all();
    egress_prepares();
    if
    :: atomic { EGRESS_HAS_WORK -> cancel_wait(EGR); goto again }
    :: else
    fi;
    atomic { wait(EGR); target = NONE };
    goto again;
last:
    finish()
}

#else

proctype coordinator() {
    bit group; byte now, from;
again:
    publish_group();
    retire_all();
    egress_prepares();
    if
    :: atomic { MAY_PUBLISH || EGRESS_HAS_WORK -> cancel_wait(EGR); goto again }
    :: else
    fi;
    atomic { wait(EGR); target = NONE };
    goto again;
last:
    finish()
}

#endif

init {
    atomic {
        recent[0] = SMALL; run worker(0);
#if W > 1
        recent[1] = SMALL; run worker(1);
#endif
#if W > 2
        recent[2] = SMALL; run worker(2);
#endif
#ifdef SPLIT
        run publisher(); run egress()
#else
        run coordinator()
#endif
    }
}
