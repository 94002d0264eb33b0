/* ---- retire ----------------------------------------------------------------------------------- */

#ifdef ORDER_NONE
/* R6: any done entry of the window; a source error only at the head. */
#ifdef WEAK_R6_ERROR_ANYWHERE
#define RETIRABLE(q) HOLDS(q, DONE)
#else
#define RETIRABLE(q) (HOLDS(q, DONE) && (!source_error[ENTRY(q)] || (q) == head))
#endif
#if N == 2
#define SOME_RETIRABLE (RETIRABLE(head) || RETIRABLE(head + 1))
#else
#define SOME_RETIRABLE (RETIRABLE(head) || RETIRABLE(head + 1) || RETIRABLE(head + 2) || RETIRABLE(head + 3))
#endif
#else
#define RETIRABLE(q) HOLDS(q, DONE)
#define SOME_RETIRABLE RETIRABLE(head)
#endif

/* Hand the output of sequence `now` on. */
inline deliver() {
    d_step {
        assert(!(delivered & (1 << now)));                                  /* exactly once */
#ifndef ORDER_NONE
        assert(now == retired);                                             /* in order */
#endif
        assert(!source_error[ENTRY(now)] || now == retired);                /* R7 */
        i_ = 0;
        do
        :: i_ < out_ring[ENTRY(now)] ->
            /* R4: nothing was written over it */
            assert(cell[owner[ENTRY(now)] * R + (out_at[ENTRY(now)] + i_) % R] == now + 1);
            i_++
        :: else -> break
        od;
        i_ = 0;
        delivered = delivered | (1 << now);
        retired++
    }
}

/* R4: mark the cells, then let the tail pass the marked prefix of positions. */
inline release() {
    d_step {
        i_ = 0;
        do
        :: i_ < out_ring[ENTRY(now)] ->
            cell[from * R + (out_at[ENTRY(now)] + i_) % R] = RELEASED;
            i_++
        :: else -> break
        od;
        i_ = 0;
#if defined(WEAK_R4_OUTPUT_AT_DONE)
        skip;
#elif defined(WEAK_R4_TAIL_BY_SEQUENCE)
        /* the tail jumps behind the batch just retired, as if batches lay in sequence order */
        do
        :: out_ring[ENTRY(now)] > 0 && used[from] > 0 ->
            i_ = tail[from];
            used[from]--;
            tail[from] = (tail[from] + 1) % R;
            if :: i_ == (out_at[ENTRY(now)] + out_ring[ENTRY(now)] - 1) % R -> break :: else fi
        :: else -> break
        od;
        i_ = 0;
#else
        do
        :: used[from] > 0 && cell[from * R + tail[from]] == RELEASED ->
            cell[from * R + tail[from]] = 0;
            used[from]--;
            tail[from] = (tail[from] + 1) % R
        :: else -> break
        od;
        if :: used[from] == 0 -> tail[from] = 0 :: else fi;     /* only relative positions matter: fewer states */
#endif
        spilled[from] = spilled[from] - out_over[ENTRY(now)];
        if
        :: !as_head[ENTRY(now)] -> live[from] = live[from] - out_ring[ENTRY(now)] - out_over[ENTRY(now)]
        :: else
        fi
    }
}

inline empty_entry() {
    d_step {
        assert(HOLDS(now, DONE));                                           /* R1 */
        state[ENTRY(now)] = EMPTY;
        lap[ENTRY(now)]++;
        owner[ENTRY(now)] = 0; source_error[ENTRY(now)] = 0; as_head[ENTRY(now)] = 0;
        out_at[ENTRY(now)] = 0; out_ring[ENTRY(now)] = 0; out_over[ENTRY(now)] = 0;
        /* the head moves over everything retired, ahead of it too */
        do
        :: head < published && lap[ENTRY(head)] > LAP_OF(head) -> head++
        :: else -> break
        od
    }
}

/* Retire what can be. */
inline retire_all() {
    do
    :: atomic { SOME_RETIRABLE ->
#ifdef ORDER_NONE
        if
        :: RETIRABLE(head) -> now = head
        :: RETIRABLE(head + 1) -> now = head + 1
#if N == 4
        :: RETIRABLE(head + 2) -> now = head + 2
        :: RETIRABLE(head + 3) -> now = head + 3
#endif
        fi;
#else
        now = head;
#endif
        from = (source_error[ENTRY(now)] -> NONE : owner[ENTRY(now)]);
#ifndef WEAK_R4_RELEASE_FIRST
        deliver()
#endif
      };
progress_delivered:
      atomic { if :: from != NONE -> release() :: else fi };
#ifdef WEAK_R4_RELEASE_FIRST
      deliver();
#endif
      empty_entry();
      /* W8: its owner may have got room; a new head may be waiting for a worker. */
#ifndef WEAK_W8_NO_ROOM_WAKE
      atomic { if :: from != NONE -> notify(from) :: else fi };
#endif
#ifndef WEAK_W8_NO_HEAD_WAKE
      atomic { if :: HOLDS(head, READY) -> wake_one() :: else fi };
#endif
#ifdef SPLIT
      /* W9: the window, and by now the budget, may have opened. */
#ifndef WEAK_W9_NO_PUBLISHER_WAKE
      notify(PUB);
#endif
#endif
      atomic { now = 0; from = 0 }
    :: atomic { else ->
#ifdef WEAK_R7_OUT_OF_BAND
        if :: error_flag -> assert(head == published) :: else fi;
#endif
        if :: ALL_RETIRED -> goto last :: else -> break fi
      }
    od
}

/* The sequence egress waits for: the head if anybody depends on it, else half a window on, so that one wake
 * pays for several batches.  An entry that is done already wakes nobody any more: then the head. */
inline set_target() {
    d_step {
#ifdef ORDER_NONE
        target = ANY
#else
        target = head;
        if
#ifndef TARGET_HEAD
        :: !ended && WINDOW_OPEN && !ANY_STARVES ->
            target = head + N / 2;
            if :: target >= published -> target = published - 1 :: else fi;
            if :: published == head || HOLDS(target, DONE) -> target = head :: else fi
#endif
        :: else
        fi
#endif
    }
}
#ifdef ORDER_NONE
#define TARGET_REACHED SOME_RETIRABLE
#else
#define TARGET_REACHED RETIRABLE(target)
#endif

/* Bit first, then the target, then the entry: a worker that starved in between is seen by set_target, a batch
 * done in between by the re-check. */
inline egress_prepares() {
#ifdef WEAK_W7_TARGET_BEFORE_BIT
    set_target();
    prepare_wait(EGR)
#else
    prepare_wait(EGR);
    set_target()
#endif
}
#ifdef WEAK_W7_NO_RECHECK
#define EGRESS_HAS_WORK ALL_RETIRED
#else
#define EGRESS_HAS_WORK (TARGET_REACHED || ALL_RETIRED)
#endif

/* End of the run: everything is retired, tell the workers, wait until each has answered. */
inline finish() {
    run_over = 1;
#ifndef WEAK_END_SILENT
    notify(0);
#if W > 1
    notify(1);
#endif
#if W > 2
    notify(2);
#endif
#endif
    (acknowledged == W);
    assert(retired == published && !more)
}
