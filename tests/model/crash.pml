/* The batch ring when workers die: exits, flips, new incarnations, poison batches, and runs that are given up.
 *
 * ring.pml proves the rules of the living with finer budgets; here they are kept simple (an output is one cell,
 * no input budget, no source errors), and the steps are finer wherever a death can come between two of them.
 *
 * A worker may die before each of its steps.  Dead means: no step more, no longer asleep; its bit, its flag,
 * its claims and its output stay as they are until somebody repairs them.
 * Rules, beyond R1 to R6 and W1 to W9 of ring.pml:
 *
 *   C1  Only a reported exit makes a worker dead to the others; neither silence does, nor a kill alone.
 *   C2  Every entry that its state word gives to the dead incarnation goes back to ready, one attempt further,
 *       and ready_count is raised before that; all of them before the slot is given away.
 *   C3  After that every event count is notified, the dead one's first, whether its bit is set or not: a notifier
 *       may have died between clearing the bit and waking the sleeper.  So is whoever takes the reports; so are
 *       all after a death while the run is over.
 *   C4  A new incarnation writes on behind everything of its slot that is committed or ever was: done entries,
 *       batches retired before their turn in the ring, pieces of batches worked on record by record.
 *   C5  ready_count may stay too high after a death; the publisher counts the ready entries itself.
 *   C6  Claim cursors are hints: a flip lowers them, but who is about to sleep searches from the head.
 *   C7  Who takes reports looks for them again between its bit and its sleep.
 *   C8  After so many attempts a batch is worked on record by record; the record in hand is marked in the entry,
 *       and the next attempt goes on behind it.
 *   C9  The next run begins when each worker has acknowledged the end of the last or is reported dead.  Nobody
 *       is put into a slot from the end of a run until the next has begun; the acknowledgement of a predecessor
 *       does not count.
 */

/* ---- sizes ------------------------------------------------------------------------------------ */

#ifndef N
#define N 2                 /* entries of the ring, 2 or 4 */
#endif
#ifndef W
#define W 2                 /* workers, 1 to 3 */
#endif
#ifndef B
#define B 3                 /* batches of the source */
#endif
#ifndef DEATHS
#define DEATHS 2            /* deaths out of the blue, besides those by poison and by cancel */
#endif
#ifndef MORTAL
#define MORTAL 7            /* bit w: worker w may die so */
#endif
#ifndef R
#define R 2                 /* cells of one worker's output ring */
#endif
#ifndef LOOKAHEAD
#define LOOKAHEAD N
#endif
#define LOW_WATER (LOOKAHEAD / 2)
#ifndef RETRIES
#define RETRIES 0           /* a batch runs whole 1 + RETRIES times */
#endif
#ifndef POISON
#define POISON 0            /* bit q: the second of the two records of sequence q kills its worker */
#endif
#define IS_POISON(q) ((POISON >> (q)) & 1)
#ifndef RUNS
#define RUNS 1              /* with 2, the first may be given up at any time */
#endif

#define NONE 255
#define ANY  254

#include "crash_state.pml"
#include "crash_waking.pml"
#include "crash_worker.pml"
#include "crash_egress.pml"
#include "crash_supervisor.pml"

/* ---- roles ------------------------------------------------------------------------------------ */

/* Only the nursery learns of an exit, some time after it.  It writes the report, then notifies. */
proctype nursery() {
end:
    do
    :: atomic { life[0] == DEAD -> life[0] = REPORTED; notify_of_exit() }
#if W > 1
    :: atomic { life[1] == DEAD -> life[1] = REPORTED; notify_of_exit() }
#endif
#if W > 2
    :: atomic { life[2] == DEAD -> life[2] = REPORTED; notify_of_exit() }
#endif
    od
}

/* Publishes, retires, and unless there is a SUPERVISOR takes the reports as well. */
proctype coordinator() {
    byte now, from, who, gone = NONE;
    bit group;
again:
#if RUNS > 1
    if
    :: atomic { run_no == 1 -> over = 1; goto last }       /* given up */
    :: true
    fi;
#endif
#ifndef SUPERVISOR
    take_reports();
#endif
    publish_group();
    retire_all();
    prepare_wait(EGR);
    set_target();
    if
    :: atomic { MAY_PUBLISH || TARGET_REACHED || ALL_RETIRED || NEWS_FOR_COORDINATOR -> park[EGR] = 0; goto again }
    :: else
    fi;
    atomic { asleep[EGR] = park[EGR]; check_rest() };
    atomic { !asleep[EGR] -> park[EGR] = 0; target = NONE; goto again };
last:
    finish();
#if RUNS > 1
    if
    :: run_no == 1 -> reset(); goto again
    :: else
    fi;
    shut_down()
#endif
}

#ifdef SUPERVISOR
proctype supervisor() {
    byte who, gone = NONE;
again:
    take_reports();
    prepare_wait(SUP);
    if
    :: atomic { NEWS_OF_EXITS -> park[SUP] = 0; goto again }
    :: else
    fi;
    atomic { asleep[SUP] = park[SUP]; check_rest() };
end:
    atomic { !asleep[SUP] -> park[SUP] = 0; goto again }
}
#endif

init {
    atomic {
        run worker(0);
#if W > 1
        run worker(1);
#endif
#if W > 2
        run worker(2);
#endif
        run coordinator(); run nursery();
#ifdef SUPERVISOR
        run supervisor()
#endif
    }
}
