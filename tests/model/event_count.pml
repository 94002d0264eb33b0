/* The event count: one word, bit 0 "somebody waits", the rest an epoch; and what its fences are for.
 *
 * ring.pml treats notify() as one step and memory as sequentially consistent.  Here the steps are apart and
 * a notifier's store may linger in its store buffer, so this file justifies that one.
 *
 * Two notifiers each contribute one piece of work; every waiter leaves when it has seen both.  A lost
 * wake-up is a waiter asleep for ever: an invalid end state.
 */

#ifndef WAITERS
#define WAITERS 2           /* ring.pml has one waiter a word; the word is right for several */
#endif
#define BIT 1
#define ALL 3

byte word;                  /* bit 0, epoch above it */
byte work;                  /* bit i: the piece of notifier i is visible to everybody */
bit  asleep[WAITERS];       /* the kernel's queue */

proctype waiter(byte me) {
    byte expected, seen;
again:
    seen = work;
    if :: seen == ALL -> goto leave :: else fi;

#ifdef WEAK_NO_WAITER_FENCE
    seen = work;            /* the load overtakes the store of the bit */
#endif
    /* prepare: set the bit, remember the word */
    atomic { word = word | BIT; expected = word };
    /* fence; then look again */
#if !defined(WEAK_NO_WAITER_FENCE) && !defined(WEAK_NO_SECOND_LOOK)
    seen = work;
#endif
    if :: seen == ALL -> goto leave :: else fi;

    /* the kernel compares and queues in one step */
    atomic { if :: word == expected -> asleep[me] = 1 :: else fi };
    (!asleep[me]);
    goto again;
leave:
    skip
}

proctype notifier(byte me) {
    byte seen;

    /* the store: with the fence it is visible before the word is read, without it at some time after */
#ifndef WEAK_NO_NOTIFIER_FENCE
    work = work | (1 << me);
#endif
    seen = word;
    if
    :: seen & BIT ->
        /* One try is enough: if the word has changed, another notifier came between, and whoever waits now
         * set the bit after that, hence after our store, and looked again. */
        atomic {
            if
#ifdef WEAK_NO_EPOCH
            :: word == seen -> word = seen - BIT
#else
            :: word == seen -> word = seen + BIT        /* clears bit 0, carries into the epoch */
#endif
            :: else -> goto stored
            fi
        };
        atomic {
            asleep[0] = 0;
#if WAITERS > 1
            asleep[1] = 0
#endif
        }
    :: else
    fi;
stored:
#ifdef WEAK_NO_NOTIFIER_FENCE
    work = work | (1 << me)
#else
    skip
#endif
}

init {
    atomic {
        run waiter(0);
#if WAITERS > 1
        run waiter(1);
#endif
        run notifier(0); run notifier(1)
    }
}
