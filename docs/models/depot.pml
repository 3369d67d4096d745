/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the lido authors
 *
 * The depot of a shared pool (src/pool/depot.h): SLOTS atomic words, each 0 or a whole batch.
 *
 *   push   looks at every slot once, from a slot of the thread's own on; compare-and-swap 0 -> batch
 *   pop    looks at every slot once;                                     exchange batch -> 0
 *
 * Each statement that touches `slot` is one atomic step of the code. WORKERS processes each make OPS calls, push or pop
 * as they like, starting where they like, on BATCHES batches that lie on the shelf or in hands as chance has it.
 *
 * Held in every state:
 *   no batch is lost, none is there twice      each batch has exactly one holder: a slot, a worker, or a worker's step
 *   a push fails only if every slot was full at some moment of the call
 *   a pop fails only if every slot was empty at some moment of the call
 *   every call ends                            after at most 2 * SLOTS steps (spin's check for invalid end states)
 *
 * BROKEN=1 makes pop a load and a store, 2 makes push give up at the first lost race: spin must find both.
 *
 * docs/models/README.md says how to run it; the tests do.
 */
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef BATCHES
#define BATCHES 4
#endif
#ifndef BROKEN
#define BROKEN 0
#endif

byte slot[SLOTS];            /* 0, or 1 + number of the batch */
byte holders[BATCHES];       /* how many places hold the batch; ghost */
byte calls_full[WORKERS];    /* bit i: slot i was full at some moment of the worker's present call; ghost */
byte calls_empty[WORKERS];

#define ALL ((1 << SLOTS) - 1)

/* After every step on a slot: what the present calls have seen. */
inline note(s) {
    for (w : 0 .. WORKERS - 1) {
        if
        :: slot[s] != 0 -> calls_full[w] = calls_full[w] | (1 << (s))
        :: else -> calls_empty[w] = calls_empty[w] | (1 << (s))
        fi
    }
    w = 0
}

inline enter() {
    d_step {
        calls_full[me] = 0;
        calls_empty[me] = 0;
        for (w : 0 .. SLOTS - 1) {
            if
            :: slot[w] != 0 -> calls_full[me] = calls_full[me] | (1 << w)
            :: else -> calls_empty[me] = calls_empty[me] | (1 << w)
            fi
        }
        w = 0
    }
}

inline choose_start() {
    if
    :: start = 0
    :: start = SLOTS - 1
    fi
}

/* Each d_step is one atomic step of the code, with the arithmetic that follows it, which nobody else can see. */
inline push() {
    do
    :: i == SLOTS || done -> break
    :: else ->
        d_step { at = (start + i) % SLOTS; i++; taken = (slot[at] != 0) };           /* the look */
        if
        :: taken
        :: else ->
            d_step {                                                                /* the compare-and-swap */
                if
                :: slot[at] == 0 -> slot[at] = hand; hand = 0; done = true; note(at)
                :: else -> skip
                fi;
                taken = false
            }
#if BROKEN == 2
            ; break
#endif
        fi
    od;
    assert(done || calls_full[me] == ALL)
}

inline pop() {
    do
    :: i == SLOTS || done -> break
    :: else ->
        d_step { at = (start + i) % SLOTS; i++; taken = (slot[at] != 0) };           /* the look */
        if
        :: !taken
        :: else ->
#if BROKEN == 1
            hand = slot[at];
            d_step { slot[at] = 0; done = (hand != 0); taken = false; note(at) }
#else
            d_step { hand = slot[at]; slot[at] = 0; done = (hand != 0); taken = false; note(at) }    /* the exchange */
#endif
        fi
    od;
    assert(done || calls_empty[me] == ALL)
}

byte ended;

proctype worker(byte me; byte hand) {
    byte calls, i, at, start, w;
    bool done, taken;
    do
    :: calls == OPS -> break
    :: else ->
        atomic { calls++; choose_start(); enter() };
        if
        :: hand != 0 -> push()      /* a hand holds one batch: full hands push, empty hands pop */
        :: else -> pop()
        fi;
        d_step { i = 0; at = 0; start = 0; done = false; taken = false; calls_full[me] = 0; calls_empty[me] = 0 }
    od;
    skip;
    d_step {
        if
        :: hand != 0 -> holders[hand - 1]++
        :: else -> skip
        fi;
        ended++
    }
}

init {
    byte i, on_shelf, first;
    atomic {
        /* any number of batches on the shelf, any workers with a batch in hand */
        for (i : 0 .. SLOTS - 1) {
            if
            :: on_shelf < BATCHES -> on_shelf++; slot[i] = on_shelf
            :: skip
            fi
        }
        for (i : 0 .. WORKERS - 1) {
            if
            :: on_shelf < BATCHES -> on_shelf++; first = on_shelf
            :: first = 0
            fi;
            run worker(i, first)
        }
        i = 0; first = 0
    }
    ended == WORKERS;
    d_step {
        for (i : 0 .. SLOTS - 1) {
            if
            :: slot[i] != 0 -> holders[slot[i] - 1]++
            :: else -> skip
            fi
        }
        for (i : 0 .. BATCHES - 1) {
            assert(holders[i] == (i < on_shelf -> 1 : 0))
        }
    }
}
