/* ---- a worker --------------------------------------------------------------------------------- */

/* One step, or death instead.  What a dead worker had in its registers is gone, and so is its sleep. */
#define MAY_DIE (killed[me] || (deaths < DEATHS && ((MORTAL >> me) & 1)))
#define STEP    if :: atomic {
#define OR_DIE  } :: atomic { MAY_DIE -> die(); goto dead } fi

#if RUNS > 1
/* C9: whatever a worker does to the ring, it does in the run it has seen begin */
#define SEEN(r)    seen = r
#define SAME_RUN   assert(seen == run_no)
#define NEXT_RUN   (shutdown || run_no != seen)
#else
#define SEEN(r)    skip
#define SAME_RUN   skip
#endif

inline die() {
    d_step {
        if :: killed[me] -> killed[me] = 0 :: else -> deaths++ fi;
        life[me] = DEAD; asleep[me] = 0; busy[me] = 0;
        pick = NONE; tried = 0; waking = NONE; left = 0; SEEN(0)
    }
}

/* R3: the head, whatever room there is; then, with room, any.  Claim cursors: cursor.pml. */
inline look(me) {
    d_step {
        pick = NONE; i_ = 0;
        if
        :: HOLDS(head, READY) -> pick = head
        :: else ->
            q_ = head;
            do
            :: q_ < published && HAS_ROOM(me) ->
                if :: HOLDS(q_, READY) -> pick = q_; break :: else fi;
                q_++
            :: else -> break
            od
        fi;
        if :: pick != NONE -> tried = attempt[ENTRY(pick)] :: else -> tried = 0 fi;
        i_ = 0; q_ = 0
    }
}

/* The word as it was seen, or as it must be by now. */
#ifdef WEAK_R1_NO_ATTEMPT
#define SAME_ATTEMPT(q) true
#else
#define SAME_ATTEMPT(q) (attempt[ENTRY(q)] == tried)
#endif
#define READY_AS_SEEN  (HOLDS(pick, READY) && SAME_ATTEMPT(pick))
#define MINE(q)        (HOLDS(q, CLAIMED) && owner[ENTRY(q)] == me && inc[ENTRY(q)] == incarnation[me] && SAME_ATTEMPT(q))

/* R2: into the ring if there is a free cell, else into the overflow range.  The result stands in the entry
 * before done, or before the mark. */
inline write_output() {
    d_step {
        has_output[ENTRY(pick)] = 1;
        out_of[ENTRY(pick)] = me;
        overflowed[ENTRY(pick)] = (front[me] - tail[me] >= R);
        if
        :: !overflowed[ENTRY(pick)] ->
            out_at[ENTRY(pick)] = front[me];
            cell[me * R + front[me] % R] = pick + 1;
            front[me]++
        :: else
        fi
    }
}

proctype worker(byte me) {
    byte pick = NONE;       /* sequence chosen or claimed */
    byte tried;             /* its attempt */
    byte waking = NONE;     /* whose bit was cleared */
    short left;             /* ready entries left by its claim */
#if RUNS > 1
    byte seen;              /* the run it works for */
#endif

born:
    STEP life[me] == STARTING -> life[me] = ALIVE OR_DIE;

#if RUNS > 1
between_runs:
    STEP if :: NEXT_RUN -> goto begin :: else fi OR_DIE;
    STEP park[me] = 1 OR_DIE;
    STEP if :: NEXT_RUN -> park[me] = 0; goto begin :: else fi OR_DIE;
    STEP asleep[me] = park[me] OR_DIE;
    STEP !asleep[me] -> park[me] = 0; goto between_runs OR_DIE;
begin:
    STEP
        if :: shutdown -> goto leave_for_good :: else -> SEEN(run_no) fi;
#ifdef ONE_WORD
        if :: over -> goto leave :: else fi
#endif
    OR_DIE;
#ifndef ONE_WORD
    STEP if :: over -> goto leave :: else fi OR_DIE;        /* a load of its own */
#endif
#endif

again:
    STEP
        if :: over -> goto leave :: else fi;
        look(me);
        if :: pick != NONE -> goto claim :: else fi
    OR_DIE;
    /* W2, W6: flag, bit, look again */
    STEP starves[me] = !HAS_ROOM(me); park[me] = 1 OR_DIE;
    STEP
        look(me);
        if
        :: pick != NONE || over || (starves[me] && HAS_ROOM(me)) ->
            park[me] = 0; starves[me] = 0;
            if
            :: pick != NONE && !over -> goto claim
            :: over -> pick = NONE; tried = 0; goto leave
            :: else -> goto again
            fi
        :: else
        fi
    OR_DIE;
    /* W3, W4: the coordinator is both */
    STEP clear_bit(EGR); if :: waking == NONE -> goto sleep :: else fi OR_DIE;
    STEP wake_sleeper() OR_DIE;
sleep:
    STEP asleep[me] = park[me]; check_rest() OR_DIE;
    STEP !asleep[me] -> park[me] = 0; starves[me] = 0; goto again OR_DIE;

claim:
    STEP
        if
        :: READY_AS_SEEN ->
            SAME_RUN;
            state[ENTRY(pick)] = CLAIMED;
            owner[ENTRY(pick)] = me;
            inc[ENTRY(pick)] = incarnation[me]
        :: else -> pick = NONE; tried = 0; goto again
        fi
    OR_DIE;
    /* W5: low-water wake, chain of wakes */
    STEP
        SAME_RUN;
        ready_count--;
        left = ready_count;
        if :: left > LOW_WATER -> goto chain :: else fi
    OR_DIE;
    STEP clear_bit(EGR); if :: waking == NONE -> goto chain :: else fi OR_DIE;
    STEP wake_sleeper() OR_DIE;
chain:
    STEP
        if :: left > 0 -> clear_bit_of_one() :: else fi;
        left = 0;
        if :: waking == NONE -> goto work :: else fi
    OR_DIE;
    STEP wake_sleeper() OR_DIE;

work:
    STEP busy[me] = 1; check_rest() OR_DIE;
#if POISON
    if
    :: atomic { IS_POISON(pick) && !mark[ENTRY(pick)] ->
        /* C8: whole at first; then the first record alone, its output kept, and the second is begun */
        if
#ifdef WEAK_C8_ALWAYS_WHOLE
        :: true
#else
        :: tried <= RETRIES
        :: tried > RETRIES -> write_output(); mark[ENTRY(pick)] = 1
#endif
        fi;
        poisoned++;
        assert(poisoned <= RETRIES + 2);
        if :: !killed[me] -> deaths-- :: else fi;       /* not one out of the blue */
        die(); goto dead
      }
    :: else
    fi;
#endif
    STEP
        SAME_RUN;
        busy[me] = 0;
        if :: !mark[ENTRY(pick)] -> write_output() :: else fi
    OR_DIE;
    STEP
        if
#ifdef WEAK_R1_DONE_BY_STORE
        :: true ->
#else
        :: MINE(pick) ->
#endif
            SAME_RUN;
            state[ENTRY(pick)] = DONE;
            inc[ENTRY(pick)] = 0        /* nobody asks for it any more: fewer states */
        :: else                     /* not ours any more; never so while C1 holds */
        fi
    OR_DIE;
    /* W7 */
    STEP
        if :: target == pick || target == ANY -> clear_bit(EGR) :: else fi;
        pick = NONE; tried = 0;
        if :: waking == NONE -> goto again :: else fi
    OR_DIE;
    STEP wake_sleeper(); goto again OR_DIE;

leave:
#if RUNS > 1
    STEP SAME_RUN; acknowledged[me] = seen OR_DIE;
#else
    STEP acknowledged[me] = run_no OR_DIE;
#endif
    STEP clear_bit(EGR); if :: waking == NONE -> goto left_run :: else fi OR_DIE;
    STEP wake_sleeper() OR_DIE;
left_run:
#if RUNS > 1
    STEP goto between_runs OR_DIE;
leave_for_good:
#endif
    atomic { life[me] = GONE; SEEN(0); goto finished };

dead:
end_dead:
    (life[me] == STARTING);
    goto born;
finished:
    skip
}
