/* ---- publish, retire -------------------------------------------------------------------------- */

/* R5, W1, I3: the count is raised before the entry is ready.  One step: nobody who could die does it. */
inline publish_group() {
    group = 0;
    do
    :: atomic { MAY_PUBLISH ->
        assert(state[ENTRY(published)] == EMPTY && lap[ENTRY(published)] == LAP_OF(published));
        ready_count++;
        state[ENTRY(published)] = READY;
        published++;
        group = 1
      }
    :: atomic { else ->
        ended = !MORE;
        if :: group -> wake_one() :: else fi;
        group = 0;
        break
      }
    od
}

#ifdef ORDER_NONE
#define SOME_RETIRABLE (HOLDS(head, DONE) || HOLDS(head + 1, DONE))
#else
#define SOME_RETIRABLE HOLDS(head, DONE)
#endif

inline deliver() {
    d_step {
        assert(!(delivered & (1 << now)));                                  /* exactly once */
#ifndef ORDER_NONE
        assert(now == retired);                                             /* in order */
#endif
        assert(has_output[ENTRY(now)]);
        /* R1: the result is the owner's */
        assert(out_of[ENTRY(now)] == owner[ENTRY(now)] || mark[ENTRY(now)]);
        /* R4: nothing was written over it */
        assert(overflowed[ENTRY(now)] || cell[out_of[ENTRY(now)] * R + out_at[ENTRY(now)] % R] == now + 1);
        delivered = delivered | (1 << now);
        retired++
    }
}

/* R4: mark the position, let the tail pass what is marked; then free the entry.  ring.pml has these apart. */
inline release() {
    d_step {
        from_ = out_of[ENTRY(now)];
        if
        :: !overflowed[ENTRY(now)] ->
            /* C4: each position is retired once */
            assert(out_at[ENTRY(now)] >= tail[from_] && !(released[from_] & (1 << out_at[ENTRY(now)])));
            released[from_] = released[from_] | (1 << out_at[ENTRY(now)]);
            if
            :: retired_to[from_] <= out_at[ENTRY(now)] -> retired_to[from_] = out_at[ENTRY(now)] + 1
            :: else
            fi
        :: else
        fi;
        state[ENTRY(now)] = EMPTY;
        lap[ENTRY(now)]++;
        clear_fields(ENTRY(now));
        do
        :: released[from_] & (1 << tail[from_]) ->
            released[from_] = released[from_] & ~(1 << tail[from_]);
            cell[from_ * R + tail[from_] % R] = 0;
            tail[from_]++
        :: else -> break
        od;
        if
        :: tail[from_] >= R ->
            tail[from_] = tail[from_] - R;
            front[from_] = front[from_] - R;
            retired_to[from_] = retired_to[from_] - R;
            released[from_] = released[from_] >> R;
            i_ = 0;
            do
            :: i_ < N ->
                if
                :: has_output[i_] && !overflowed[i_] && out_of[i_] == from_ -> out_at[i_] = out_at[i_] - R
                :: else
                fi;
                i_++
            :: else -> break
            od;
            i_ = 0
        :: else
        fi;
        from_ = 0;
        do
        :: head < published && lap[ENTRY(head)] > LAP_OF(head) -> head++
        :: else -> break
        od
    }
}
inline clear_fields(e) {
    owner[e] = 0; inc[e] = 0; attempt[e] = 0; mark[e] = 0;
    has_output[e] = 0; overflowed[e] = 0; out_of[e] = 0; out_at[e] = 0
}

inline retire_all() {
    do
    :: atomic { SOME_RETIRABLE ->
#ifdef ORDER_NONE
        if
        :: HOLDS(head, DONE) -> now = head
        :: HOLDS(head + 1, DONE) -> now = head + 1
        fi;
#else
        now = head;
#endif
        deliver();
        from = out_of[ENTRY(now)]
      };
      atomic { release(); now = 0 };
      /* W8 */
      atomic {
        notify(from);
        if :: HOLDS(head, READY) -> wake_one() :: else fi;
        from = 0
      }
    :: atomic { else -> if :: ALL_RETIRED -> over = 1; goto last :: else -> break fi }
    od
}

inline set_target() {
    d_step {
#ifdef ORDER_NONE
        target = ANY
#else
        target = head;
        if
        :: !ended && WINDOW_OPEN && !ANY_STARVES ->
            target = head + N / 2;
            if :: target >= published -> target = published - 1 :: else fi;
            if :: published == head || HOLDS(target, DONE) -> target = head :: else fi
        :: else
        fi
#endif
    }
}
#ifdef ORDER_NONE
#define TARGET_REACHED SOME_RETIRABLE
#else
#define TARGET_REACHED HOLDS(target, DONE)
#endif
