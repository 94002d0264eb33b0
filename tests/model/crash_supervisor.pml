/* ---- exits, flips, new incarnations ----------------------------------------------------------- */

/* C7 */
#ifdef WEAK_C7_REPORTS_NOT_LOOKED_AT_AGAIN
#define NEWS_OF_EXITS false
#else
#define NEWS_OF_EXITS ANY_REPORTED
#endif
#ifdef SUPERVISOR
#define NEWS_FOR_COORDINATOR false
#else
#define NEWS_FOR_COORDINATOR NEWS_OF_EXITS
#endif

#ifdef WEAK_R1_NO_INCARNATION
#define HELD_BY(e, w) (state[e] == CLAIMED && owner[e] == (w))
#else
#define HELD_BY(e, w) (state[e] == CLAIMED && owner[e] == (w) && inc[e] == gone)
#endif

/* Deal with every reported exit. */
inline take_reports() {
    do
    :: atomic { ANY_REPORTED ->
        if
        :: life[0] == REPORTED -> who = 0
#if W > 1
        :: life[1] == REPORTED -> who = 1
#endif
#if W > 2
        :: life[2] == REPORTED -> who = 2
#endif
        fi;
        gone = incarnation[who];
        life[who] = VACANT
      };
#ifdef WEAK_C2_SLOT_REUSED_FIRST
      respawn(who);
#endif
#ifdef WEAK_C3_NOTIFY_BEFORE_FLIP
      notify_every();
#endif
      flip_all();
#ifndef WEAK_C3_NOTIFY_BEFORE_FLIP
      notify_every();
#endif
#ifndef WEAK_C2_SLOT_REUSED_FIRST
      respawn(who);
#endif
      atomic { who = 0; gone = NONE }
#ifdef WEAK_C1_FLIP_ON_SILENCE
    :: atomic { life[0] == ALIVE && deaths < DEATHS -> deaths++; who = 0; gone = incarnation[0] };
      flip_all();
      notify_every();
      atomic { who = 0; gone = NONE }
#endif
    :: else -> break
    od
}

/* C2.  One step finds and counts, one flips. */
inline flip_all() {
    do
    :: HELD_BY(0, who) -> flip(0)
    :: HELD_BY(1, who) -> flip(1)
#if N == 4
    :: HELD_BY(2, who) -> flip(2)
    :: HELD_BY(3, who) -> flip(3)
#endif
    :: else -> break
    od
}
inline flip(e) {
#ifndef WEAK_C2_COUNTED_AFTER_FLIP
    ready_count++;
#endif
    atomic {
        if
        :: HELD_BY(e, who) ->
            state[e] = READY;
            attempt[e]++;
            /* what the dead wrote counts for nothing, marks and their pieces excepted: fewer states */
            if
            :: !mark[e] -> has_output[e] = 0; overflowed[e] = 0; out_of[e] = 0; out_at[e] = 0
            :: else
            fi;
            owner[e] = 0; inc[e] = 0;
            assert(ready_count >= READY_COUNT)                              /* I3 */
        :: else
        fi
    };
#ifdef WEAK_C2_COUNTED_AFTER_FLIP
    ready_count++
#else
    skip
#endif
}

/* C3.  The dead one's bit goes first: from then on nobody spends a wake on it. */
inline notify_every() {
#ifndef WEAK_C3_NOBODY_NOTIFIED
#ifndef WEAK_C3_DEAD_ONE_NOT_FIRST
    notify_always(who);
#endif
    notify_always(0);
#if W > 1
    notify_always(1);
#endif
#if W > 2
    notify_always(2);
#endif
#ifndef WEAK_C3_ONLY_WORKERS
    notify_always(EGR)
#else
    skip
#endif
#else
    skip
#endif
}

/* C4: where the slot's output goes on. */
#if defined(WEAK_C4_PIECES_FORGOTTEN)
#define COMMITTED(e) (state[e] == DONE)
#else
#define COMMITTED(e) (state[e] == DONE || mark[e])
#endif
inline respawn(w) {
#ifdef NO_RESPAWN
    starves[w] = 0
#else
    d_step {
        incarnation[w] = 1 - incarnation[w];
        starves[w] = 0;
#if defined(WEAK_C4_FROM_ZERO)
        front[w] = 0;
#elif defined(WEAK_C4_DONE_ENTRIES_ONLY)
        front[w] = tail[w];
#else
        front[w] = retired_to[w];
#endif
#ifndef WEAK_C4_FROM_ZERO
        i_ = 0;
        do
        :: i_ < N ->
            if
            :: has_output[i_] && !overflowed[i_] && out_of[i_] == w && COMMITTED(i_) && out_at[i_] >= front[w] ->
                front[w] = out_at[i_] + 1
            :: else
            fi;
            i_++
        :: else -> break
        od;
        i_ = 0;
#endif
#ifndef WEAK_C9_ACKNOWLEDGEMENT_INHERITED
        acknowledged[w] = 0;
#endif
        life[w] = STARTING
    }
#endif
}

/* ---- the end of a run ------------------------------------------------------------------------- */

/* `over` is set: wake everybody, then wait until each has acknowledged or is reported dead (C9).  Those who have
 * not may be killed, which is one more death to wait for. */
#ifdef SUPERVISOR
#define REPORT_TO_TAKE false            /* the supervisor's */
#else
#define REPORT_TO_TAKE ANY_REPORTED
#endif
#define LAGS(w) (acknowledged[w] != run_no && !killed[w] && (life[w] == ALIVE || life[w] == STARTING))
#define ANY_LAGS OVER_WORKERS(LAGS, ||)

inline notify_workers() {
    notify(0);
#if W > 1
    notify(1);
#endif
#if W > 2
    notify(2);
#endif
    skip
}

inline finish() {
    notify_workers();
    do
#ifdef WEAK_C9_RESET_AT_ONCE
    :: break
#else
    :: atomic { ALL_LEFT -> break }
#endif
    :: atomic { REPORT_TO_TAKE && !ALL_LEFT ->
        if
        :: life[0] == REPORTED -> bury(0)
#if W > 1
        :: life[1] == REPORTED -> bury(1)
#endif
#if W > 2
        :: life[2] == REPORTED -> bury(2)
#endif
        fi
      }
#if RUNS > 1 && !defined(NO_KILL)
    :: atomic { ANY_LAGS && run_no == 1 ->
        if :: LAGS(0) -> killed[0] = 1 :: else fi
#if W > 1
        ; if :: LAGS(1) -> killed[1] = 1 :: else fi
#endif
      }
#endif
    :: atomic { !ALL_LEFT && !REPORT_TO_TAKE -> park[EGR] = 1 };
        if
        :: atomic { ALL_LEFT || REPORT_TO_TAKE -> park[EGR] = 0 }
        :: atomic { else -> asleep[EGR] = park[EGR] };
           atomic { !asleep[EGR] -> park[EGR] = 0 }
        fi
    od
}
inline bury(w) {
    life[w] = VACANT;
    starves[w] = 0;
#ifndef WEAK_C3_QUIET_WHEN_OVER
    who = w;
    notify_every();
    who = 0;
#endif
#ifdef WEAK_C9_RESPAWN_WHEN_OVER
    respawn(w)
#endif
}

/* The next run begins: everything as new; then the vacant slots are filled. */
inline reset() {
    d_step {
        i_ = 0;
        do
        :: i_ < N -> state[i_] = EMPTY; lap[i_] = 0; clear_fields(i_); i_++
        :: else -> break
        od;
        i_ = 0;
        do
        :: i_ < W * R -> cell[i_] = 0; i_++
        :: else -> break
        od;
        i_ = 0;
        do
        :: i_ < W ->
            front[i_] = 0; tail[i_] = 0; released[i_] = 0; retired_to[i_] = 0; starves[i_] = 0;
            i_++
        :: else -> break
        od;
        i_ = 0;
        head = 0; published = 0; ended = 0; ready_count = 0; target = ANY; retired = 0; delivered = 0;
#ifdef ONE_WORD
        run_no = 2;
#endif
        over = 0
    };
#ifdef WEAK_C9_FILLED_BEFORE_BEGIN
    fill_slots();
#endif
    run_no = 2;
#ifndef WEAK_C9_FILLED_BEFORE_BEGIN
    fill_slots();
#endif
    notify_workers()
}
inline fill_slots() {
    atomic {
        if :: life[0] == VACANT -> respawn(0) :: else fi;
#if W > 1
        if :: life[1] == VACANT -> respawn(1) :: else fi;
#endif
        skip
    }
}

inline shut_down() {
    shutdown = 1;
    notify_workers()
}
