// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a thread owns: one bin for each pool that has bins, in one structure of 64 KiB of address space of which only
// the touched pages cost memory (two, as long as the program has at most 124 shared pools).
//
//      lido__self ──►  +0       bins[]    16 bytes each: head, room, check     touched by every alloc and free
//                      +28 KiB  about     who this is, the registry's links
//                               backs[]   16 bytes each: spare, batch          touched by the slow halves only
//
// A bin is two chains of free blocks: `head`, which grows and shrinks, and `spare`, which is a full batch or nothing.
// Full and another free: head becomes the spare, the old spare goes to the depot. Empty and another alloc: the spare
// becomes head, or a batch comes from the depot, or from the slabs. So the blocks that leave a thread are the ones that
// rested longest, no chain is ever walked to split it, and a program that swings around a batch boundary does not
// thrash (Bonwick & Adams 2001, "Magazines and Vmem", with chains in place of arrays).
//
//      count(head) + room = batch            batch <= pool->batch_max, and grows with use
//
// `check` tells whether a pointer is the start of a block (lido__is_multiple of its offset in its slice). It is 0, which no
// offset passes, in bins that are not in use, in those of bounded pools and of slabs of several slices, and in the bins of
// LIDO__ENTRY_NONE, _LARGE, _SLOW and _META: all of them lead to the slow half by the same instruction.
//
// Threads: a structure is touched by its thread only, except `bins[].room` and `head` in statistics, and everything
// under lido__threads_drain, whose caller promises that the pool is quiet.
#ifndef LIDO_POOL_THREAD_H
#define LIDO_POOL_THREAD_H

#include "pool/pool.h"

enum { LIDO__BIN_COUNT = 1792 };

typedef struct lido__bin {
    lido__link *head;    // [owner]
    uint32_t room;       // [owner] how many more blocks fit
    uint32_t check;      // [owner]
} lido__bin;
_Static_assert(sizeof(lido__bin) == LIDO__BIN_BYTES, "window entries are offsets of bins");

typedef struct lido__bin_back {
    lido__link *spare;       // [owner]
    uint16_t spare_count;    // [owner]
    uint16_t batch;          // [owner] 0: this bin was never used by this thread
    uint32_t events;         // [owner] refills and spills since the batch last grew
} lido__bin_back;

typedef struct lido__thread {
    lido__bin bins[LIDO__BIN_COUNT];
    struct lido__thread *next, *previous;    // [lock:registry]
    uint32_t depot_start;                    // [const]
    uint32_t trim_epoch;                     // [owner] the last request to trim that was followed
    _Atomic uint32_t busy;                   // [atomic:recall] this thread is in a bin of a bounded pool, see bounded.c
    _Alignas(64) lido__bin_back backs[LIDO__BIN_COUNT];
} lido__thread;
_Static_assert(sizeof(lido__thread) <= LIDO__SLICE_BYTES, "a thread structure is one slice");
_Static_assert(LIDO__BIN_COUNT *LIDO__BIN_BYTES % 4096 == 0, "about and backs share a page");

// A thread that has no structure (not yet, not any more, or no memory for one) points to lido__thread_none, whose bins
// are all zero and stay so: every fast path falls through.
extern LIDO__HIDDEN lido__thread lido__thread_none;
extern LIDO__HIDDEN __thread lido__thread *lido__self __attribute__((tls_model("initial-exec")));

// Differs between any two threads alive, and stays the same in the child of a fork.
LIDO_INLINE const void *lido__thread_token(void) { return &lido__self; }

LIDO_INLINE lido__bin *lido__bin_at(lido__thread *thread, size_t entry) {
    return (lido__bin *)(void *)((char *)thread + entry);
}
LIDO_INLINE lido__bin_back *lido__bin_back_at(lido__thread *thread, unsigned entry) {
    return &thread->backs[entry / LIDO__BIN_BYTES];
}

// Which pool owns a bin; NULL for none.
extern LIDO__HIDDEN _Atomic(lido_pool *) lido__pools_of_bins[LIDO__BIN_COUNT];
LIDO_INLINE lido_pool *lido__pool_at_entry(unsigned entry) {
    // acquire, pairs with the releases in registry.c: who has no block of the pool yet asks too (check mode light)
    return LIDO__ATOMIC_LOAD(&lido__pools_of_bins[entry / LIDO__BIN_BYTES], acquire);
}

// The common half of an allocation: 7 instructions. NULL: take the slow half.
LIDO_INLINE void *lido__bin_pop(lido__bin *bin) {
    lido__link *block = bin->head;
    if (LIDO_LIKELY(block != NULL)) {
        bin->room++;
        bin->head = block->next;
    }
    return block;
}

// room-- in memory; true if it was 0 (and is 2^32 - 1 now). Two instructions where GCC makes five of
// __builtin_sub_overflow; this is on the path of every free.
LIDO_INLINE bool lido__count_down(uint32_t *room) {
#if defined(__x86_64__)
    __asm__ goto("subl $1, %0\n\tjb %l[below]" : : "m"(*room) : "cc", "memory" : below);
    return false;
below:
    return true;
#else
    return __builtin_sub_overflow(*room, 1u, room);
#endif
}

// The common half of a free. False: nothing has happened, take the slow half.
LIDO_INLINE bool lido__bin_push(lido__bin *bin, void *p) {
    uint32_t offset = (uint16_t)(uintptr_t)p, product = offset * bin->check;
    __asm__("" : "+m"(bin->check));    // read it twice: both times as an operand, which saves the load
    if (LIDO_UNLIKELY(product >= bin->check)) return false;
    if (LIDO_UNLIKELY(lido__count_down(&bin->room))) {
        bin->room = 0;
        return false;
    }
    lido__link *link = (lido__link *)p;
    link->next = bin->head;
    bin->head = link;
    return true;
}

// The slow halves, for pools with bins.
LIDO__NOINLINE LIDO__HIDDEN void *lido__bin_alloc_slow(lido_pool *pool);
LIDO__NOINLINE LIDO__HIDDEN void lido__bin_free_slow(lido_pool *pool, void *p);

// The parts of the slow halves that stay within the thread; bounded.c has its own rules for what lies beyond.
// A block from head or spare, or NULL. Fills an empty bin. Puts a block in; what must leave to make room comes back as a
// batch of *count blocks, or NULL.
LIDO__HIDDEN void *lido__bin_take(lido__bin *bin, lido__bin_back *back);
LIDO__HIDDEN void lido__bin_fill(lido_pool *pool, lido__bin *bin, lido__bin_back *back, lido__link *first,
                                 uint32_t count);
LIDO__HIDDEN lido__link *lido__bin_put(lido_pool *pool, lido__bin *bin, lido__bin_back *back, void *p, uint32_t *count);
LIDO__HIDDEN void lido__bin_empty(lido_pool *pool, lido__bin *bin, lido__bin_back *back);
// How many blocks the bin wants from the slabs.
LIDO__HIDDEN uint32_t lido__bin_wants(const lido_pool *pool, const lido__bin_back *back);
// The calling thread's structure, made if need be; lido__thread_none if there is no memory or the thread has ended.
LIDO__HIDDEN lido__thread *lido__thread_self(void);
// Empties the depot into the slabs. Caller holds the registry's lock: so a recall or a reset does not miss a batch that another
// thread has in its hand.
LIDO__HIDDEN void lido__depot_empty_locked(lido_pool *pool);
// Calls `call` for every thread. Caller holds the registry's lock.
LIDO__HIDDEN void lido__threads_each_locked(void (*call)(lido__thread *thread, void *context), void *context);

// Makes the calling thread's structure and its bin of the pool present.
LIDO__HIDDEN void lido__thread_prewarm(lido_pool *pool);
// Empties all bins of the calling thread into the slabs.
LIDO__HIDDEN void lido__thread_flush(void);
// The same for one pool.
LIDO__HIDDEN void lido__thread_flush_pool(lido_pool *pool);
// Empties the bins that all threads have for `pool`. Requires: nobody uses the pool.
LIDO__HIDDEN void lido__threads_drain(lido_pool *pool);
// Blocks in the bins of all threads for `pool`: exact while they are quiet. Caller holds the registry's lock.
LIDO__HIDDEN size_t lido__threads_stock_locked(const lido_pool *pool);
LIDO__HIDDEN size_t lido__threads_count(void);
// Structures that exist, a slice each, also of threads that have ended.
LIDO__HIDDEN size_t lido__threads_structures(void);
// The hook at thread exit; `argument` is the thread's structure.
LIDO__HIDDEN void lido__thread_end(void *argument);
// Tells how far flushes must look. Caller holds the registry's lock.
LIDO__HIDDEN void lido__thread_note_entry_locked(unsigned entry);
// In the child of a fork, which has one thread. What the others' bins held is lost to it: they may have been stopped half
// way through a step.
LIDO__HIDDEN void lido__threads_forget_others(void);
// Gives structures of ended threads back.
LIDO__HIDDEN void lido__threads_trim(void);
// Asks all other threads to flush at their next slow half.
LIDO__HIDDEN void lido__threads_ask_to_flush(void);

#endif
