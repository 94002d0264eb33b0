/* Where a slot's output ring goes on after a death (C4), with batches retired in any order.
 *
 * One slot.  Its incarnations write one cell a batch; a batch may be worked on record by record and leave a piece,
 * which some other worker completes at any time later.  Egress retires what is done, in no order of positions, and
 * moves the tail over the retired prefix.  A worker dies at any time, having written any cell it was allowed to.
 */

#define BATCHES 6
#define DEATHS  2
#define R       3           /* cells of the ring */

#define DONE    1
#define PIECE   2           /* output of some records, of a batch that is flipped */
#define RETIRED 3

byte state[BATCHES];
byte at[BATCHES];           /* its position */
byte next;                  /* the next batch the slot takes */
byte front;                 /* by the worker */
byte tail;                  /* by egress: positions below are released */
byte released;              /* bit p: position p is retired */
byte retired_to;            /* one past the highest position ever retired */
byte cell[R];               /* batch + 1 */
byte deaths;
hidden byte i_;

inline retire(batch) {
    assert(cell[at[batch] % R] == batch + 1);                       /* R4 */
    assert(at[batch] >= tail && !(released & (1 << at[batch])));    /* each position once */
    state[batch] = RETIRED;
    released = released | (1 << at[batch]);
    if :: at[batch] >= retired_to -> retired_to = at[batch] + 1 :: else fi;
    do
    :: released & (1 << tail) -> tail++
    :: else -> break
    od
}

#ifdef WEAK_C4_PIECES_FORGOTTEN
#define COMMITTED(batch) (state[batch] == DONE)
#else
#define COMMITTED(batch) (state[batch] == DONE || state[batch] == PIECE)
#endif
inline new_incarnation() {
    deaths++;
#if defined(WEAK_C4_FROM_ZERO)
    front = 0;
#else
#if defined(WEAK_C4_DONE_ENTRIES_ONLY)
    front = tail;           /* what is released, then what lies in done entries */
#else
    front = retired_to;
#endif
    i_ = 0;
    do
    :: i_ < BATCHES ->
#ifndef WEAK_C4_FROM_RETIRED
        if :: COMMITTED(i_) && at[i_] >= front -> front = at[i_] + 1 :: else fi;
#endif
        i_++
    :: else -> break
    od;
    i_ = 0
#endif
}

#define RETIRABLE(batch) (state[batch] == DONE || state[batch] == PIECE)

init {
end:
    do
    :: atomic { next < BATCHES && front - tail < R ->
        cell[front % R] = next + 1;
        if
        :: state[next] = DONE; at[next] = front; front++
        :: deaths < DEATHS -> state[next] = PIECE; at[next] = front; new_incarnation()
        :: deaths < DEATHS -> new_incarnation()         /* before done: another slot will work on it */
        fi;
        next++
      }
    :: atomic { deaths < DEATHS -> new_incarnation() }
    :: atomic { RETIRABLE(0) -> retire(0) }
    :: atomic { RETIRABLE(1) -> retire(1) }
    :: atomic { RETIRABLE(2) -> retire(2) }
    :: atomic { RETIRABLE(3) -> retire(3) }
    :: atomic { RETIRABLE(4) -> retire(4) }
    :: atomic { RETIRABLE(5) -> retire(5) }
    od
}
