/* ---- waking ----------------------------------------------------------------------------------- */

/* Coordinator, supervisor and nursery do not die: for them a notification is one step. */
inline notify(who) {
    atomic { if :: park[who] -> park[who] = 0; asleep[who] = 0 :: else fi }
}

/* C3: clears the bit and calls the kernel, whether the bit was set or not. */
inline notify_always(who) {
#ifdef WEAK_C3_ONLY_IF_BIT
    notify(who)
#else
    atomic { park[who] = 0; asleep[who] = 0 }
#endif
}

inline notify_of_exit() {
#ifdef WEAK_C3_REPORT_ONLY_IF_BIT
    notify(SUP)
#else
    park[SUP] = 0; asleep[SUP] = 0
#endif
}

inline prepare_wait(me) { park[me] = 1 }

#define WORTH_WAKING(w) (park[w] && (!starves[w] || HOLDS(head, READY)))
inline wake_one() {
    if
    :: WORTH_WAKING(0) -> park[0] = 0; asleep[0] = 0
#if W > 1
    :: WORTH_WAKING(1) -> park[1] = 0; asleep[1] = 0
#endif
#if W > 2
    :: WORTH_WAKING(2) -> park[2] = 0; asleep[2] = 0
#endif
    :: else
    fi
}

/* The same by a worker, which may die in between: first the bit, then the sleeper (`waking`, NONE if nobody).
 * Who is not asleep cannot be woken; leaving that call out saves states.  SPURIOUS_WAKES keeps it: it may then
 * end the other's next sleep for nothing. */
#ifdef SPURIOUS_WAKES
#define TO_WAKE(who) who
#else
#define TO_WAKE(who) (asleep[who] -> who : NONE)
#endif
inline clear_bit(who) {
    if :: park[who] -> park[who] = 0; waking = TO_WAKE(who) :: else fi
}
inline clear_bit_of_one() {
    if
    :: WORTH_WAKING(0) -> park[0] = 0; waking = TO_WAKE(0)
#if W > 1
    :: WORTH_WAKING(1) -> park[1] = 0; waking = TO_WAKE(1)
#endif
#if W > 2
    :: WORTH_WAKING(2) -> park[2] = 0; waking = TO_WAKE(2)
#endif
    :: else
    fi
}
inline wake_sleeper() { asleep[waking] = 0; waking = NONE }

/* Nothing is stranded: see ring.pml.  Not asked while a death is unknown: until the report comes, the entry and
 * the wake that the dead worker had taken are out of reach. */
inline check_rest() {
#ifdef ALLOW_STRANDED
    skip
#else
    d_step {
        if
        :: ALL_WORKERS_REST && asleep[EGR] && asleep[SUP] && !over ->
            i_ = 0; idle_ = 0;
            do
            :: i_ < W ->
                if
                :: asleep[i_] ->
                    idle_ = 1;
                    assert(!HOLDS(head, READY));
                    assert(READY_COUNT == 0 || !HAS_ROOM(i_))
                :: else
                fi;
                i_++
            :: else -> break
            od;
            assert(!(idle_ && READY_COUNT == 0 && MORE && WINDOW_OPEN));
            assert(!(HOLDS(head, DONE) && (ANY_STARVES || (MORE && !WINDOW_OPEN))))
        :: else
        fi;
        i_ = 0; idle_ = 0
    }
#endif
}
