/* ---- the ring --------------------------------------------------------------------------------- */

/* Sequence q lives in entry q % N during lap q / N.  state, owner and lap are one state word: they
 * change together, in one atomic step that begins by testing the expected word.
 *
 *      publisher  empty(lap)   -> ready(lap)          (a source error: empty -> done)
 *      worker     ready(lap)   -> claimed(me, lap)
 *      worker     claimed(me)  -> done(me)
 *      egress     done(lap)    -> empty(lap + 1)
 */
#define EMPTY   0
#define READY   1
#define CLAIMED 2
#define DONE    3

byte state[N];
byte lap[N];
byte owner[N];

/* Fields of an entry.  The publisher writes input size and kind before ready, the owner the rest before done. */
byte in_size[N];            /* input held by the entry while ready or claimed, 0 afterwards */
bit  source_error[N];       /* R7: a source error travels as an entry of its own */
byte out_at[N];             /* where the output begins in the owner's ring */
byte out_ring[N];           /* cells of it in the ring ... */
byte out_over[N];           /* ... and in the overflow range */
bit  as_head[N];            /* claimed by the head rule; only the invariants read it */

byte head;                  /* the oldest sequence not yet retired */
byte published;             /* the next sequence to be published */
bool more = (B > 0);        /* the source has more */
bool ended;                 /* everything is published */
bool run_over;              /* everything is retired: leave */
byte acknowledged;          /* workers that left */

/* ---- output rings ----------------------------------------------------------------------------- */

/* A worker writes at the front, positions in the order it ran its batches.  Egress marks what it has
 * retired, and moves the tail over the marked prefix.  Cells hold sequence + 1; 0 is free. */
#define RELEASED 253
byte cell[W * R];
byte tail[W];               /* position of the oldest cell in use, modulo R */
byte used[W];               /* cells from the tail to the front */
byte spilled[W];            /* cells of unretired batches in the overflow range */
byte live[W];               /* invariant only: output of unretired batches not claimed as head */
byte recent[W];             /* output of the largest recent batch (here: of the last), at most R */

/* ---- waiting ---------------------------------------------------------------------------------- */

/* One event count per waiter.  Only bit 0 is modelled: each word has a single waiter, so the epoch
 * differs exactly when the bit was cleared. */
#define PUB W
#ifdef SPLIT
#define EGR (W + 1)         /* streams: publisher and egress are threads of their own */
#define WAITERS (W + 2)
#else
#define EGR W               /* files: one coordinator thread does both */
#define WAITERS (W + 1)
#endif

bit  park[WAITERS];         /* "somebody waits" */
bit  at_rest[WAITERS];      /* blocked on park, or busy for an unknown time (payload, reading a pipe) */
bit  busy[WAITERS];         /* the latter */
bit  starves[W];            /* asleep without room for output */
byte target = ANY;          /* the sequence whose done wakes egress */

/* ---- what is checked at retirement ------------------------------------------------------------ */

byte retired;               /* number of sequences retired */
int  delivered;             /* bit q: sequence q was */

/* ---- expressions over the whole ring ---------------------------------------------------------- */

#define ENTRY(q)       ((q) % N)
#define LAP_OF(q)      ((q) / N)
#define HOLDS(q, what) (state[ENTRY(q)] == what && lap[ENTRY(q)] == LAP_OF(q))

#if N == 2
#define SUM(f) (f(0) + f(1))
#else
#define SUM(f) (f(0) + f(1) + f(2) + f(3))
#endif
#define one_ready(e) (state[e] == READY)
#define one_held(e)  (state[e] == READY || state[e] == CLAIMED)
#define one_size(e)  (in_size[e])
#define READY_COUNT  SUM(one_ready)
#define HELD_COUNT   SUM(one_held)
#define IN_FLIGHT    SUM(one_size)

#if defined(INPUT_COUNTER)              /* the budget kept by a counter, lowered in a step of its own after done */
byte in_charged;
#define IN_CHARGED   in_charged
#elif defined(WEAK_R4_INPUT_AT_CLAIM)   /* input memory counted as returned once a worker has the batch */
#define one_charge(e) ((state[e] == READY) * in_size[e])
#define IN_CHARGED   SUM(one_charge)
#else
#define IN_CHARGED   IN_FLIGHT          /* R4: returned at done, and by the same CAS */
#endif

#if W == 1
#define ANY_STARVES starves[0]
#define ALL_WORKERS_REST at_rest[0]
#elif W == 2
#define ANY_STARVES (starves[0] || starves[1])
#define ALL_WORKERS_REST (at_rest[0] && at_rest[1])
#else
#define ANY_STARVES (starves[0] || starves[1] || starves[2])
#define ALL_WORKERS_REST (at_rest[0] && at_rest[1] && at_rest[2])
#endif

/* R2: room for at least the recent largest output.  Unretired overflow counts against the ring: a small batch
 * may follow a large one and make `recent` forget it while its output still lies in the overflow range. */
#if defined(WEAK_R2_NO_ROOM_CHECK)
#define HAS_ROOM(w) true
#elif defined(WEAK_R2_OVERFLOW_FREE)
#define HAS_ROOM(w) (used[w] + recent[w] <= R)
#else
#define HAS_ROOM(w) (used[w] + spilled[w] + recent[w] <= R)
#endif

/* R6: the window spans at most the ring, holes included. */
#ifdef WEAK_R6_WINDOW_BY_COUNT
#define WINDOW_OPEN (published - retired < N)
#else
#define WINDOW_OPEN (published - head < N)
#endif

/* Something is always admitted when nothing is in flight: a batch larger than the budget. */
#define BUDGET_OPEN (IN_CHARGED == 0 || IN_CHARGED + INPUT_SIZE(published) <= IN_BUDGET)
#define MAY_PUBLISH (more && READY_COUNT < LOOKAHEAD && WINDOW_OPEN && BUDGET_OPEN)
#define ALL_RETIRED (ended && head == published)

hidden byte i_;             /* scratch of d_steps, no part of the state */
hidden byte q_;
hidden byte other_;
hidden byte idle_;
