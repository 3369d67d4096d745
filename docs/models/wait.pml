/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the lido authors
 *
 * The queue of threads that wait for a block (src/pool/wait.h). WAITERS processes each want a block ROUNDS times and give it
 * back; a HOLDER holds all BLOCKS of the pool at first and frees them one after the other. Letters as in wait.h.
 *
 *   lock     the queue's lock          free     blocks in the slabs; each statement on it is one critical section of L
 *   turn     what the head sleeps on   first    what the others sleep on
 *
 * A futex wait is one atomic look: it sleeps only while the word is what it was. IMPATIENT of the waiters may give up at any moment
 * while they sleep (their time is over).
 *
 * Held in every state:
 *   no block is lost or given twice       free + holders = BLOCKS
 *   only the head of the queue takes, and the queue is served in its order
 *   nobody sleeps for ever                spin's check for invalid end states: with all blocks free every waiter has ended
 *
 * BROKEN=1 looks for waiters before the block is free (e before d), 2 reads `turn` after the attempt (b after c), 3 lets a head
 * whose time is over leave without waking the next: spin must find each.
 *
 * docs/models/README.md says how to run it; the tests do.
 */
#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef IMPATIENT
#define IMPATIENT 1
#endif
#ifndef BROKEN
#define BROKEN 0
#endif

byte free = 0;
byte held = BLOCKS;
byte turn = 0;
byte used = 0;
bit lock = 0;
byte queue[WAITERS];      /* numbers of waiters, oldest first; length is `used` */
bit first[WAITERS];
byte done = 0;

inline acquire() { atomic { lock == 0 -> lock = 1 } }
inline release() { lock = 0 }

/* (d) (e) (f); a wake-up needs no step of its own: a sleeper looks at the word. */
inline give() {
    if
    :: BROKEN == 1 ->
        seen = used;
        atomic { free++; held-- }
    :: else ->
        atomic { free++; held-- }    /* (d) */
        seen = used                  /* (e) */
    fi;
    if
    :: seen > 0 -> turn++            /* (f) */
    :: else
    fi;
    seen = 0
}

/* Removes `me` from the queue; under the lock. */
inline leave() {
    d_step {
        i = 0;
        do
        :: queue[i] == me -> break
        :: else -> i++
        od;
        was_head = (i == 0);
        do
        :: i + 1 < used -> queue[i] = queue[i + 1]; i++
        :: else -> break
        od;
        used--;
        i = 0;
        if
        :: was_head && used > 0 && !(BROKEN == 3 && !got) -> first[queue[0]] = 1
        :: else
        fi;
        was_head = 0
    }
}

proctype waiter(byte me) {
    byte seen, i, round, t;
    bit got, was_head, late;
    do
    :: round == ROUNDS -> break
    :: else ->
        got = 0;
        late = 0;
        /* the attempt before it waits, unless others do */
        seen = used;
        if
        :: seen == 0 ->
            atomic {
                if
                :: free > 0 -> free--; held++; got = 1
                :: else
                fi
            }
        :: else
        fi;
        seen = 0;
        if
        :: got
        :: else ->
            acquire();
            d_step { queue[used] = me; first[me] = (used == 0); used++ }    /* (a) */
            release();
            /* to be head */
            if
            :: first[me] == 1
            :: me < IMPATIENT -> late = 1
            fi;
            do
            :: late || got -> break
            :: else ->
                if
                :: BROKEN != 2 -> t = turn    /* (b) */
                :: else
                fi;
                acquire();
                atomic {                      /* (c) */
                    assert(queue[0] == me);
                    if
                    :: free > 0 -> free--; held++; got = 1
                    :: else
                    fi
                }
                release();
                if
                :: got
                :: else ->
                    if
                    :: BROKEN == 2 -> t = turn
                    :: else
                    fi;
                    if
                    :: turn != t
                    :: me < IMPATIENT -> late = 1
                    fi
                fi
            od;
            t = 0;
            acquire();
            leave();
            release()
        fi;
        assert(free + held == BLOCKS);
        if
        :: got -> give()
        :: else
        fi;
        round++
    od;
    done++
}

proctype holder() {
    byte i, seen;
    do
    :: i == BLOCKS -> break
    :: else -> give(); i++
    od;
    done++
}

init {
    byte i;
    atomic {
        do
        :: i < WAITERS -> run waiter(i); i++
        :: else -> break
        od;
        run holder()
    }
    done == WAITERS + 1;
    assert(free == BLOCKS && held == 0 && used == 0)
}
