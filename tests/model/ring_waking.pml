/* ---- waking ----------------------------------------------------------------------------------- */

/* Test the bit, clear it, wake the waiter. */
inline notify(who) {
    atomic { if :: park[who] -> park[who] = 0; at_rest[who] = 0 :: else fi }
}

/* The waiter's half: set the bit, look once more, block while the bit stands. */
inline prepare_wait(me) { park[me] = 1 }
#ifdef WEAK_W2_BIT_LEFT
inline cancel_wait(me)  { skip }
#else
inline cancel_wait(me)  { park[me] = 0 }
#endif
inline wait(me) { at_rest[me] = park[me]; check_rest(); (!park[me]); at_rest[me] = 0 }

/* Wake one sleeping worker for work that anyone may take.  Which one is policy, so any will do here, except
 * that (W6) a worker without room is of use only if the head is ready: waking it for less would spend
 * the one wake on a worker that must decline. */
#ifdef WEAK_W6_WAKE_STARVING
#define WORTH_WAKING(w) (park[w])
#else
#define WORTH_WAKING(w) (park[w] && (!starves[w] || HOLDS(head, READY)))
#endif
inline wake_one() {
    if
    :: WORTH_WAKING(0) -> park[0] = 0; at_rest[0] = 0
#if W > 1
    :: WORTH_WAKING(1) -> park[1] = 0; at_rest[1] = 0
#endif
#if W > 2
    :: WORTH_WAKING(2) -> park[2] = 0; at_rest[2] = 0
#endif
    :: else
    fi
}

/* Nothing is stranded: when everybody is blocked or busy for an unknown time,
 *   - no sleeping worker could claim a ready entry,
 *   - no worker sleeps for want of entries while the publisher sleeps and may publish,
 *   - a done head is not left lying while a worker waits for room or the publisher for the window.
 * Called by whoever comes to rest, so the last one sees the state all of them will stay in. */
inline check_rest() {
#ifdef ALLOW_STRANDED
    skip
#else
    d_step {
        if
        :: ALL_WORKERS_REST && at_rest[PUB] && at_rest[EGR] ->
            i_ = 0; idle_ = 0;
            do
            :: i_ < W ->
                if
                :: !busy[i_] ->
                    idle_ = 1;
                    assert(!HOLDS(head, READY));
                    assert(READY_COUNT == 0 || !HAS_ROOM(i_))
                :: else
                fi;
                i_++
            :: else -> break
            od;
            assert(!(idle_ && READY_COUNT == 0 && MAY_PUBLISH && !busy[PUB]));
            assert(!(HOLDS(head, DONE) && (ANY_STARVES || (more && !WINDOW_OPEN))))
        :: else
        fi;
        i_ = 0; idle_ = 0
    }
#endif
}
