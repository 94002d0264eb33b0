/* ---- the ring --------------------------------------------------------------------------------- */

/* As in ring.pml, with the rest of the state word: attempt and incarnation.  A flip is claimed -> ready. */
#define EMPTY   0
#define READY   1
#define CLAIMED 2
#define DONE    3

byte state[N];
byte lap[N];
byte attempt[N];
byte owner[N];
bit  inc[N];

/* Fields of an entry, the owner's to write.  They count only once it is done; those of a marked one always. */
bit  has_output[N];
bit  overflowed[N];         /* the output lies in the overflow range, else at out_at in the ring */
byte out_of[N];             /* the slot in whose memory the output lies */
byte out_at[N];
bit  mark[N];               /* C8: the first record is through, the second was begun */

byte head;
byte published;
bool ended;
bit  over;                  /* the run has ended or is given up */
short ready_count;          /* a hint */
byte target = ANY;

/* ---- workers as others know them -------------------------------------------------------------- */

#define STARTING 0          /* put into the slot, not yet at work */
#define ALIVE    1
#define DEAD     2          /* the exit happened */
#define REPORTED 3          /* ... and is known */
#define VACANT   4          /* ... and dealt with; nobody is in the slot */
#define GONE     5          /* left for good: no run will come */

byte life[W];
bit  incarnation[W];        /* two are enough: one begins when the last is dead and its entries are flipped */
bit  killed[W];             /* somebody sent the signal; death follows some time later */
byte deaths;
byte poisoned;              /* deaths by poison */

byte run_no = 1;
bit  shutdown;
byte acknowledged[W];       /* the last run it has left */

/* ---- output rings ----------------------------------------------------------------------------- */

/* Positions count up; a cell is a position modulo R.  Whenever the tail has gone once round the ring, all
 * positions of the slot are lowered by R: fewer states, same cells. */
byte cell[W * R];           /* sequence + 1 */
byte front[W];              /* by the worker: the next position */
byte tail[W];               /* by egress: positions below are released */
byte released[W];           /* by egress: bit p, position p is retired though the tail has not passed it */
byte retired_to[W];         /* by egress: one past the highest position ever retired */

/* ---- waiting ---------------------------------------------------------------------------------- */

#define EGR W
#ifdef SUPERVISOR
#define SUP (W + 1)
#define WAITERS (W + 2)
#else
#define SUP EGR
#define WAITERS (W + 1)
#endif

bit park[WAITERS];          /* "somebody waits" */
bit asleep[WAITERS];        /* in the kernel, until woken whatever the bit says */
bit busy[W];                /* in the payload, for an unknown time */
bit starves[W];

/* ---- what is checked at retirement ------------------------------------------------------------ */

byte retired;
byte delivered;             /* bit q */

/* ---- expressions ------------------------------------------------------------------------------ */

#define ENTRY(q)       ((q) % N)
#define LAP_OF(q)      ((q) / N)
#define HOLDS(q, what) (state[ENTRY(q)] == what && lap[ENTRY(q)] == LAP_OF(q))

#if N == 2
#define SUM(f) (f(0) + f(1))
#else
#define SUM(f) (f(0) + f(1) + f(2) + f(3))
#endif
#define one_ready(e)   (state[e] == READY)
#define READY_COUNT    SUM(one_ready)

#if W == 1
#define OVER_WORKERS(f, op) f(0)
#elif W == 2
#define OVER_WORKERS(f, op) (f(0) op f(1))
#else
#define OVER_WORKERS(f, op) (f(0) op f(1) op f(2))
#endif
#define one_starves(w)  (starves[w])
#define one_reported(w) (life[w] == REPORTED)
#define one_rests(w)    (asleep[w] || busy[w] || life[w] == STARTING || life[w] == VACANT)
#if defined(SUPERVISOR)                 /* puts somebody into every vacant slot, who will acknowledge */
#define one_left(w)     (acknowledged[w] == run_no)
#elif defined(WEAK_C9_KILLED_IS_DEAD)
#define one_left(w)     (acknowledged[w] == run_no || life[w] == VACANT || killed[w] || life[w] == DEAD)
#else
#define one_left(w)     (acknowledged[w] == run_no || life[w] == VACANT)
#endif
#define ANY_STARVES      OVER_WORKERS(one_starves, ||)
#define ANY_REPORTED     OVER_WORKERS(one_reported, ||)
#define ALL_WORKERS_REST OVER_WORKERS(one_rests, &&)
#define ALL_LEFT         OVER_WORKERS(one_left, &&)

/* R2: a free cell, and nothing of the slot waits in the overflow range. */
#define spills(e, w)   (has_output[e] && overflowed[e] && out_of[e] == (w))
#if N == 2
#define SPILLS(w) (spills(0, w) || spills(1, w))
#else
#define SPILLS(w) (spills(0, w) || spills(1, w) || spills(2, w) || spills(3, w))
#endif
#define HAS_ROOM(w) (front[w] - tail[w] < R && !SPILLS(w))

#define MORE        (published < B)
#define WINDOW_OPEN (published - head < N)
#ifdef WEAK_C5_COUNTER_TRUSTED
#define TO_CLAIM    ready_count
#else
#define TO_CLAIM    READY_COUNT         /* C5 */
#endif
#define MAY_PUBLISH (MORE && TO_CLAIM < LOOKAHEAD && WINDOW_OPEN)
#define ALL_RETIRED (ended && head == published)

hidden byte i_;             /* scratch of d_steps, no part of the state */
hidden byte q_;
hidden byte idle_;
hidden byte from_;
