/* ---- claim, done ------------------------------------------------------------------------------ */

/* R3, the claim order: the head, whatever room there is; own node; other nodes.
 * Result: pick = a sequence or NONE; starves[me] tells that entries were ready, but room was lacking. */
inline look(me) {
    d_step {
        pick = NONE; other_ = NONE; i_ = 0;
        if
#if defined(WEAK_R3_HEAD_NEEDS_ROOM)
        :: HOLDS(head, READY) && HAS_ROOM(me) -> pick = head
#elif defined(WEAK_R3_HEAD_OWN_NODE)
        :: HOLDS(head, READY) && HOME(head) == NODE(me) -> pick = head
#elif defined(WEAK_R3_OWN_NODE_FIRST)
        :: false
#else
        :: HOLDS(head, READY) -> pick = head
#endif
        :: else ->
            do
            :: i_ < N && HAS_ROOM(me) ->
                q_ = head + i_;
                if
                :: HOLDS(q_, READY) && HOME(q_) == NODE(me) -> pick = q_; break
                :: HOLDS(q_, READY) && HOME(q_) != NODE(me) && other_ == NONE -> other_ = q_
                :: else
                fi;
                i_++
            :: else -> break
            od;
            if :: pick == NONE -> pick = other_ :: else fi
        fi;
        i_ = 0; q_ = 0; other_ = 0
    }
}

proctype worker(byte me) {
    byte pick;              /* the sequence chosen; the claim may come much later, even a lap later */

again:
    atomic {
        look(me);
        if :: pick != NONE -> goto claim :: else fi
    };

    /* W2: flag, bit, look again, tell who could help, sleep.
     * The flag says "without room".  It stands before the bit does: whoever sees the bit may trust it. */
    atomic {
#ifndef WEAK_W6_FLAG_AFTER_BIT
        starves[me] = !HAS_ROOM(me);
#endif
        prepare_wait(me)
    };
#ifndef WEAK_W2_NO_SECOND_LOOK
    atomic {
        look(me);
        if
        :: pick != NONE || run_over || (starves[me] && HAS_ROOM(me)) ->
            cancel_wait(me);
            starves[me] = 0;
            if
            :: pick != NONE -> goto claim
            :: pick == NONE && run_over -> goto leave
            :: else -> goto again
            fi
        :: else
        fi
    };
#endif
    /* W3: without room: notify egress, which will see the flag and wait for the head.
     * W4: in any case notify the publisher: input memory may have come back at this worker's own done. */
    atomic {
#ifdef WEAK_W6_FLAG_AFTER_BIT
        starves[me] = !HAS_ROOM(me);
#endif
#ifndef WEAK_W3_STARVES_SILENTLY
        if :: starves[me] -> notify(EGR) :: else fi;
#endif
#if defined(WEAK_W4_IDLE_SILENTLY)
        skip
#elif defined(WEAK_W4_ONLY_WITH_ROOM)
        if :: !starves[me] -> notify(PUB) :: else fi
#else
        notify(PUB)
#endif
    };
    atomic {
        wait(me);
        starves[me] = 0;
        if :: run_over -> goto leave :: else -> goto again fi
    };

claim:
    atomic {
        if
#if defined(WEAK_R1_NO_LAP)
        :: state[ENTRY(pick)] == READY ->
#elif defined(WEAK_R1_CLAIM_BY_STORE)
        :: true ->
#else
        :: HOLDS(pick, READY) ->
#endif
            /* R1: what was claimed is the batch that was chosen */
            assert(lap[ENTRY(pick)] == LAP_OF(pick));
            state[ENTRY(pick)] = CLAIMED;
            owner[ENTRY(pick)] = me;
            as_head[ENTRY(pick)] = (pick == head)
        :: else -> pick = NONE; goto again
        fi
    };
progress_claimed:
    /* W5: while more is ready, wake the next; at the low-water mark, wake the publisher. */
#ifndef WEAK_W5_NO_CHAIN
    atomic { if :: READY_COUNT > 0 -> wake_one() :: else fi };
#endif
    atomic {
#ifndef WEAK_W5_NO_LOW_WATER
        if :: READY_COUNT <= LOW_WATER -> notify(PUB) :: else fi;
#endif
        busy[me] = 1; at_rest[me] = 1; check_rest()     /* the payload runs for an unknown time */
    };
    atomic {
        busy[me] = 0; at_rest[me] = 0;
        if
#ifdef LARGE_ONES
        :: out_over[ENTRY(pick)] = (((LARGE_ONES >> pick) & 1) -> LARGE : SMALL)
#else
        :: out_over[ENTRY(pick)] = SMALL
        :: out_over[ENTRY(pick)] = LARGE
#endif
        fi;
        recent[me] = (out_over[ENTRY(pick)] > R -> R : out_over[ENTRY(pick)]);
#ifdef WEAK_R2_WAIT_FOR_ROOM
        (R - used[me] >= recent[me]);
#endif
        /* R2: a claimed batch never waits.  What the ring has no room for goes to the overflow range at once. */
        if
        :: !as_head[ENTRY(pick)] -> live[me] = live[me] + out_over[ENTRY(pick)]
        :: else
        fi;
        out_at[ENTRY(pick)] = (tail[me] + used[me]) % R;
        do
        :: used[me] < R && out_over[ENTRY(pick)] > 0 ->
            cell[me * R + (tail[me] + used[me]) % R] = pick + 1;
            used[me]++;
            out_ring[ENTRY(pick)]++;
            out_over[ENTRY(pick)]--
        :: else -> break
        od;
        spilled[me] = spilled[me] + out_over[ENTRY(pick)];
        /* R2: the output budget is exceeded by one batch per worker, and by the head once in all */
        assert(live[me] <= R + LARGE);
#ifdef STRICT_OUTPUT_BOUND
        assert(used[me] + spilled[me] <= R + LARGE);
#endif
#ifdef WEAK_R4_OUTPUT_AT_DONE
        used[me] = used[me] - out_ring[ENTRY(pick)];
        tail[me] = (tail[me] + out_ring[ENTRY(pick)]) % R;
#endif
        /* R1: nobody else can have touched the entry */
        assert(HOLDS(pick, CLAIMED) && owner[ENTRY(pick)] == me);
        state[ENTRY(pick)] = DONE;
        in_size[ENTRY(pick)] = 0
    };
#ifdef INPUT_COUNTER
    in_charged = in_charged - INPUT_SIZE(pick);
#endif
    /* W7: done wakes egress only for the sequence it waits for. */
    atomic {
        if :: target == pick || target == ANY -> notify(EGR) :: else fi;
        pick = NONE;
        goto again
    };

leave:
    atomic { assert(head == published); acknowledged++ }
}
