/* The claim cursor of a home node, and a flip below it.
 *
 * The cursor is a hint: entries below it were seen claimed, so a search begins there.  A flip makes an entry
 * below it ready again, and a searcher that had passed the entry may move the cursor over it afterwards.  The
 * head is claimable without any cursor; here it is in somebody's payload for an unknown time, and entries 1 to 3
 * are what is to be found.
 *
 * Worker 0 may die once between any two steps.  Its entry is flipped, the cursor lowered, everybody notified
 * (C2, C3, C6).  When nothing moves any more, no entry may be ready: a worker would sleep beside it.
 */

#define ENTRIES 4
#define READY   1
#define CLAIMED 2
#define DONE    3
#define NONE    255

byte state[ENTRIES];
byte owner[ENTRIES];
byte cursor = 1;
bit  park[2];
bit  dead;

/* One step, or death instead. */
#define STEP   if :: atomic {
#define OR_DIE } :: atomic { me == 0 && !dead -> dead = 1; at = 0; first = 0; goto end_dead } fi

proctype worker(byte me) {
    byte first;             /* the cursor as the search began */
    byte at;                /* the entry looked at */
    bit  last_look;         /* before sleeping */

again:
    STEP first = cursor; at = cursor OR_DIE;
search:
    do
    :: at < ENTRIES ->
        STEP
            if
            :: state[at] == READY -> state[at] = CLAIMED; owner[at] = me; goto claimed
            :: else -> at++
            fi
        OR_DIE
    :: else -> break
    od;
    if :: last_look -> goto sleep :: else fi;
    STEP park[me] = 1; last_look = 1 OR_DIE;
#ifdef WEAK_C6_LAST_LOOK_FROM_CURSOR
    goto again;
#else
    STEP first = cursor; at = 1 OR_DIE;
    goto search;
#endif
sleep:
end:
    STEP !park[me] -> last_look = 0; goto again OR_DIE;

claimed:
    STEP if :: cursor == first -> cursor = at + 1 :: else fi OR_DIE;
    STEP state[at] = DONE; last_look = 0; park[me] = 0; goto again OR_DIE;

end_dead:
    false
}

proctype supervisor() {
    byte entry = 1;
    (dead);
    do
    :: entry < ENTRIES ->
        if
        :: state[entry] == CLAIMED && owner[entry] == 0 ->
            state[entry] = READY;
#ifndef WEAK_C6_CURSOR_KEPT
            atomic { if :: cursor > entry -> cursor = entry :: else fi }
#endif
        :: else
        fi;
        entry++
    :: else -> break
    od;
    park[1] = 0
end:
    false
}

init {
    atomic {
        state[0] = CLAIMED; owner[0] = NONE; state[1] = READY; state[2] = READY; state[3] = READY;
        run worker(0); run worker(1); run supervisor()
    };
    timeout;
    assert(state[1] != READY && state[2] != READY && state[3] != READY)
}
