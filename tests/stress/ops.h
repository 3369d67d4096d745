// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Operation sequences against a shadow model. A string of bytes is a program: each operation takes what it needs from
// the string, so any string is a valid one, and the same code serves seeded random runs, threads, libFuzzer and AFL.
//
// The machine keeps a slot for each block that is alive and knows of it: address, size, owner (the malloc family, a
// pool, a heap) and the pattern it is filled with. Checked all the time:
//      no two live blocks overlap; alignment; contents are what was written, whenever a block is looked at or freed
//      calloc is zero; realloc keeps; usable size is enough; errno stays as it was but for failures, which are ENOMEM
//      pools: exact live counts, capacity and high-water mark; owns, pool_of; FIFO order; visit_live finds exactly the
//      live blocks; everything again after reset, free_all, trim, prewarm; capacities that grow, are asked for, are changed
//      handles: a stale one finds nothing, whatever lies in its place; visits in address order
//      in the end everything is freed, every pool says 0 alive, and the structures of the core verify
// A violation prints what and where, and aborts.
#ifndef LIDO_TESTS_OPS_H
#define LIDO_TESTS_OPS_H

#include "spans.h"

#include <lido/lido.h>

enum {
    OPS_SLOTS = 1024,
    OPS_POOLS = 6,
    OPS_HEAPS = 3,
    OPS_HANDLE_POOLS = 2,
    OPS_KNOWN_HANDLES = 128,
    OPS_SHARED_POOLS = 4,
    OPS_RING = 256,
    OPS_FREED_MAX = 1024,         // of a FIFO pool whose order is followed
    OPS_LIVE_BYTES = 96 << 20,    // a machine does not hold more than this at once, unless told otherwise
};

typedef enum ops_owner { OPS_NOBODY, OPS_MALLOC, OPS_POOL, OPS_SHARED_POOL, OPS_HEAP } ops_owner;

typedef struct ops_block {
    unsigned char *p;
    size_t size;        // bytes that are ours to write
    uint64_t tag;       // of the pattern
    ops_owner owner;    // OPS_NOBODY: the slot is free
    unsigned index;     // of the pool or heap
} ops_block;

// A pool as the model sees it.
typedef struct ops_pool {
    lido_pool *pool;
    lido_pool_options options;
    size_t block_size;    // after rounding
    size_t live, high_water;
    size_t capacity_first, capacity_most;    // options.capacity is the present one
    size_t high_water_tried;                 // what a bulk call that failed may have held for a moment
    // FIFO only: the blocks that went back, oldest first. `followed` is false from the time when the model lost the order.
    void *freed[OPS_FREED_MAX];
    size_t freed_first, freed_count;
    bool followed;
} ops_pool;

// What the machines of several threads share: pools that any of them uses, and rings through which blocks wander.
typedef struct ops_shared {
    lido_pool *pools[OPS_SHARED_POOLS];
    size_t block_sizes[OPS_SHARED_POOLS];
    struct {
        ops_block block;
        uint32_t lock;    // [atomic] 0 free
    } ring[OPS_RING];
} ops_shared;

// A pool of handles as the model sees it. Handles that went stale stay in the list for a while, to be asked for.
typedef struct ops_handles {
    lido_handle_pool *pool;
    size_t size, capacity, live;
    struct {
        lido_handle handle;
        uint8_t tag;    // what the object is filled with
        bool live;
    } known[OPS_KNOWN_HANDLES];
} ops_handles;

typedef struct ops_machine {
    const uint8_t *at, *end;    // the rest of the program
    size_t step;                // operations done
    const char *name;           // of the present operation, for reports
    uint64_t serial;
    size_t live_bytes, live_bytes_most;
    bool trace;            // print each operation
    bool may_fail;         // the system is made to refuse: NULL is no violation
    size_t failures;       // how often it was NULL
    ops_shared *shared;    // NULL: alone
    spans live;
    ops_block blocks[OPS_SLOTS];
    int free_slots[OPS_SLOTS];
    int free_slot_count;
    ops_pool pools[OPS_POOLS];
    lido_heap *heaps[OPS_HEAPS];
    ops_handles handles[OPS_HANDLE_POOLS];
} ops_machine;

void ops_init(ops_machine *m);
// Runs the program; more bytes make more operations. May be called again and again.
void ops_run(ops_machine *m, const uint8_t *program, size_t bytes);
// Frees everything and checks that everything is gone.
void ops_finish(ops_machine *m);
// Of ops_shared: pools are made; and destroyed, with the rest of the ring freed.
void ops_shared_init(ops_shared *shared);
void ops_shared_finish(ops_shared *shared);

// --- for the operations (ops_malloc.c, ops_pool.c, ops_heap.c, ops_threads.c) ---------------------------------------

__attribute__((format(printf, 2, 3), noreturn)) void ops_violation(const ops_machine *m, const char *format, ...);
#define OPS_CHECK(m, condition, ...)                       \
    do {                                                   \
        if (!(condition)) ops_violation((m), __VA_ARGS__); \
    } while (0)

// The next bytes of the program; zeroes when it is at its end.
unsigned ops_byte(ops_machine *m);
// Sizes from 0 to 2^(top + 1) - 1, small ones more often; 2 bytes of program.
size_t ops_size(ops_machine *m, unsigned top);
size_t ops_alignment(ops_machine *m, unsigned top);    // a power of two from 1 to 2^top
bool ops_has_room(const ops_machine *m, size_t bytes);

// A live block that the program chooses, of this owner (and, unless index is -1, of this pool or heap); NULL if there is none.
ops_block *ops_choose(ops_machine *m, ops_owner owner, int index);
// Takes note of a new block: checks, fills, gives it a slot. NULL: the slots are full, the caller frees p again.
// p == NULL is a violation unless the machine may fail.
ops_block *ops_note(ops_machine *m, void *p, size_t size, size_t alignment, ops_owner owner, unsigned index);
// Forgets a block that is about to be freed: checks its contents first.
void ops_forget(ops_machine *m, ops_block *block);
void ops_fill(ops_block *block);
// True if the first `bytes` of `block` are what ops_fill wrote, as far as the pattern is written there.
bool ops_intact(const ops_block *block, size_t bytes);
bool ops_is_zero(const void *p, size_t bytes);

typedef void ops_function(ops_machine *m);
typedef struct ops_entry {
    const char *name;
    ops_function *function;
    unsigned weight;    // of 256 random bytes, about this share of a table's sum
} ops_entry;
extern const ops_entry ops_malloc_table[], ops_pool_table[], ops_heap_table[], ops_thread_table[],
    ops_handle_table[];    // end with NULL

// Gives a block back by whatever call fits its owner.
void ops_free_any(ops_machine *m, ops_block *block);
void ops_pool_free(ops_machine *m, ops_block *block, bool by_lido_free);
// lido_trim empties the stocks of all pools into their slabs: whatever was to come next may now come in another order.
void ops_pools_trimmed(ops_machine *m);
void ops_pools_finish(ops_machine *m);
void ops_handles_finish(ops_machine *m);
void ops_heaps_finish(ops_machine *m);

#endif
