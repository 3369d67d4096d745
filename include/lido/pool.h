// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Pools: blocks of one size, out of memory that lido takes from the system and keeps.
//
//   LIDO_LOCAL     one thread at a time uses the pool (hand it over as you would any unlocked structure).
//                  lido_pool_alloc and lido_pool_free are a few inline instructions: an intrusive free list.
//   LIDO_CONFINED  as LOCAL, but tied to the thread that made it: an alloc or a free from any other thread is reported.
//   LIDO_SHARED    any thread allocates, any thread frees. Each thread keeps a small stock of blocks (a bin), so the
//                  common call touches nothing that another thread touches.
//
// A block may be given back through its pool (lido_pool_free) or, if the pool is not at hand, with lido_free(p)
// of <lido/heap.h>. Block contents are not cleared, neither on the way out nor on the way in.
//
// After fork the child has the pools of its parent, less the free blocks that waited in bins of threads that it does not
// have: they count as alive there, also against a capacity.
//
// Errors: a call that cannot succeed returns NULL (or -1) and sets errno; success and every free leave errno alone.
// Misuse that is seen (foreign block, double free, wrong thread) is reported in one line on stderr, then abort();
// LIDO_OPTIONS="on_misuse=continue" reports, ignores the call and carries on.
//
// Unless a call says otherwise: Requires: the pool is alive and not NULL. Threads: as the pool's kind. Fails: never, and
// errno is left alone. Cost: constant.
#ifndef LIDO_POOL_H
#define LIDO_POOL_H

#include <lido/check.h>
#include <lido/defs.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

// What the calls below are about; its inside is lido's own.
typedef struct lido_pool lido_pool;

// Who may use a pool, see above.
typedef enum lido_threads {
    LIDO_LOCAL = 0,
    LIDO_SHARED = 1,
    LIDO_CONFINED = 2,
} lido_threads;

// Which free block goes out next. LIFO is the warmest; FIFO lets a freed block rest as long as possible.
typedef enum lido_order {
    LIDO_LIFO = 0,
    LIDO_FIFO = 1,
} lido_order;

enum {
    LIDO_POOL_NAME_MAX = 31,                // longer names are cut, in bytes without the NUL
    LIDO_POOL_BLOCK_SIZE_MAX = 16 << 20,    // bytes; larger objects belong to lido_malloc
    LIDO_POOL_ALIGNMENT_MAX = 2 << 20,      // bytes
};

// What an allocation does when `capacity` blocks are alive.
typedef enum lido_on_exhausted {
    LIDO_FAIL = 0,    // NULL and ENOMEM
    // The capacity rises by a step (see `growth`) and the allocation goes on. Memory is taken only when no block is free
    // anywhere, not even in another thread's bin. lido_pool_trim and lido_pool_free_all lower the capacity again.
    LIDO_GROW = 1,
    LIDO_CALL = 2,    // `exhausted` is called, and may free blocks, raise the capacity, or refuse
    // SHARED pools: the calling thread sleeps until a block is its own. First come, first served: nobody overtakes a thread that
    // waits. NULL and ETIMEDOUT after wait_ms.
    LIDO_WAIT = 3,
} lido_on_exhausted;

// The answer to a full pool: true after blocks were freed or the capacity was raised, and the allocation is tried again;
// false to let it fail with ENOMEM. `attempt` counts the calls for this one allocation, from 1: a callback that cannot help
// must say false some time. It runs in the allocating thread without any lock of lido and may use every call on this pool that
// the thread may, but for an allocation that would call it again without end.
typedef bool lido_exhausted_call(lido_pool *pool, size_t attempt, void *context);

// What lido_pool_new makes. A zeroed field is its default.
typedef struct lido_pool_options {
    const char *name;     // for reports and statistics; copied; NULL is "pool"
    size_t block_size;    // bytes, 1 to LIDO_POOL_BLOCK_SIZE_MAX; rounded up to the alignment
    size_t alignment;     // of every block: 0 (the natural one: the largest power of two that divides block_size,
                          // 8 to 16) or any power of two to LIDO_POOL_ALIGNMENT_MAX
    lido_threads threads;
    lido_order order;
    size_t capacity;    // most blocks alive at once, exact also among threads; 0 is no limit
    size_t
        capacity_bytes;    // the same in bytes of blocks after rounding: as many as fit. 0 is no limit; the smaller holds
    // Steps. How many blocks of memory the pool takes from the system when it needs more, and by how many a capacity grows
    // (LIDO_GROW): `growth` each time, or, if growth_max is given, as many as there are, at least `growth` and at most growth_max.
    // A step is worked out from what the pool has now, so trimming makes the next step small again. Memory comes in
    // slabs of at least 64 KiB, and so in whole ones.
    size_t growth;        // 0 lets lido choose: a slab
    size_t growth_max;    // 0: steps do not double; else at least `growth`
    size_t prewarm;       // blocks that are made ready (memory committed and touched) before lido_pool_new returns
    lido_on_exhausted on_exhausted;    // others than LIDO_FAIL need a capacity
    lido_exhausted_call *exhausted;    // for LIDO_CALL
    void *exhausted_context;           // passed to it
    uint32_t wait_ms;                  // for LIDO_WAIT: longest wait of an allocation, milliseconds; 0 is no limit
    lido_check_level check;            // see <lido/check.h>
} lido_pool_options;

// Counts are in blocks, sizes in bytes. Exact while no other thread is inside a call on this pool; otherwise each
// figure is one that was true at some moment during the call.
typedef struct lido_pool_statistics {
    size_t block_size;    // after rounding
    size_t alignment;
    size_t capacity;      // now; 0: none
    size_t live;          // blocks that the program holds
    size_t high_water;    // most blocks alive at once since the pool was made or reset; for SHARED pools in LIFO order
                          // an upper bound (never above the capacity): it counts what threads' bins hold as alive
    size_t held_bytes;    // address space in the pool's slabs
    size_t committed_bytes;    // the part of it that has been handed out at least once since it was last given back
    size_t slab_count;
    size_t waiting;    // threads that wait in an allocation (LIDO_WAIT)
} lido_pool_statistics;

// Makes a pool. At most 1,664 SHARED pools in LIFO order exist at a time (ENOMEM beyond). Options are copied; a zeroed field means its default, NULL is not accepted.
// Threads: any. Fails: NULL; EINVAL for options out of range, ENOMEM. Cost: microseconds; no memory for blocks is
// taken before the first allocation unless prewarm asks for it.
LIDO_API LIDO_ATTR_MUST_USE lido_pool *lido_pool_new(const lido_pool_options *options);

// Gives all memory of the pool back. Blocks still alive are reported in one line on stderr and their memory is freed
// too. NULL is ignored. Requires: no other thread uses the pool or any of its blocks, now or later. A pool in which threads
// wait is reported and stays. Cost: proportional to its slabs.
LIDO_API void lido_pool_destroy(lido_pool *pool);

// The inline halves look at this prefix of a pool: the free list of a LOCAL pool, which ends with LIDO__POOL_END. NULL in all
// others, whose calls therefore take the out-of-line way. One word for both questions (is it that kind? is there a block?)
// keeps a pair of calls within 5 % of a bare list; a flag beside it cost 10 to 15 %.
typedef struct lido__link {
    struct lido__link *next;
} LIDO_ATTR_MAY_ALIAS lido__link;
typedef struct lido__pool_face {
    lido__link *free;
} lido__pool_face;
#define LIDO__POOL_END ((lido__link *)1)

LIDO_API LIDO_ATTR_MUST_USE void *lido__pool_alloc_slow(lido_pool *pool);
LIDO_API void lido__pool_free_slow(lido_pool *pool, void *block);

// One block, aligned as the pool's options say, contents undefined.
// Threads: as the pool's kind. Fails: NULL with ENOMEM when the capacity is reached (see lido_on_exhausted) or the system has no
// memory, with ETIMEDOUT after a wait, with EPERM from the wrong thread of a CONFINED pool.
// Cost: LOCAL 5 instructions; SHARED a call and a pop from the thread's bin, and every batch a refill with one atomic step or
// under the slabs' lock. A SHARED pool that has reached its capacity takes a lock for each call until a quarter is free again.
LIDO_INLINE LIDO_ATTR_MUST_USE void *lido_pool_alloc(lido_pool *pool) {
    lido__pool_face *face = (lido__pool_face *)(void *)pool;
    lido__link *block = face->free;
    if (LIDO_UNLIKELY((uintptr_t)block <= (uintptr_t)LIDO__POOL_END)) return lido__pool_alloc_slow(pool);
    face->free = block->next;
    return block;
}

// Gives a block back. Requires: `block` came from this pool and is alive; NULL is ignored.
// Threads: LOCAL and CONFINED as their kind says, SHARED any. Never fails, never changes errno.
// Cost: LOCAL 6 instructions; SHARED a call and a push to the thread's bin, and every batch a spill with one atomic step.
LIDO_INLINE void lido_pool_free(lido_pool *pool, void *block) {
    lido__pool_face *face = (lido__pool_face *)(void *)pool;
    lido__link *first = face->free, *link = (lido__link *)block;
    if (LIDO_UNLIKELY(first == NULL)) {
        lido__pool_free_slow(pool, block);
        return;
    }
    if (LIDO_UNLIKELY(block == NULL)) return;
    link->next = first;
    face->free = link;
}

// Fills `blocks[0..count)`; all or nothing. With LIDO_WAIT the blocks count as one request, for which one place in the queue is
// kept: two that wait for many cannot block each other; more than the capacity are refused at once.
// Fails: -1 instead of 0, with the error of lido_pool_alloc and nothing taken. Cost: proportional to `count`.
LIDO_API LIDO_ATTR_MUST_USE int lido_pool_alloc_bulk(lido_pool *pool, void **blocks, size_t count);
// Gives back `count` blocks; NULL entries are ignored. Requires, Threads: as lido_pool_free. Cost: proportional to `count`.
LIDO_API void lido_pool_free_bulk(lido_pool *pool, void *const *blocks, size_t count);

// All blocks count as free from now on; the memory stays with the pool for the next allocations.
// Requires: no other thread uses the pool, other than to wait in an allocation: those are served then.
// Cost: proportional to its slabs, not to its blocks.
LIDO_API void lido_pool_reset(lido_pool *pool);

// As lido_pool_reset, and the memory goes back to the system. Requires, Cost: as lido_pool_reset, and a system call a slab.
LIDO_API void lido_pool_free_all(lido_pool *pool);

// Gives free memory back to the system: whole slabs, and inside slabs every OS page that no live block touches.
// Returns the bytes decommitted. Threads: as the pool's kind; blocks that sit in other threads' bins stay.
// Cost: proportional to the slabs and the free blocks, and system calls.
LIDO_API size_t lido_pool_trim(lido_pool *pool);

// Sets the capacity, in blocks. Raising it wakes threads that wait. Lowering gathers free blocks first, from all threads.
// Threads: as the pool's kind; also from the callback of LIDO_CALL. Fails: -1; EINVAL for 0 or a pool made without a
// capacity, EBUSY if more blocks than that are alive, EPERM as lido_pool_alloc. Cost: raising, a lock; lowering, that of a trim.
LIDO_API int lido_pool_set_capacity(lido_pool *pool, size_t capacity);

// Makes the next `count` allocations of the calling thread free of page faults and system calls: commits and touches the memory
// now (of a SHARED pool each further thread takes a batch of its own, see lido_pool_alloc). Returns 0.
// Fails: -1 with ENOMEM; what was ready stays ready. Cost: that of the page faults, about a microsecond for 4 KiB.
LIDO_API int lido_pool_prewarm(lido_pool *pool, size_t count);

// True if `p` is the address of a block of this pool, or lies inside one, whether alive or free. Any address is
// allowed, also NULL and memory that lido never saw. Threads: any. Cost: a table look-up, no lock.
LIDO_API bool lido_pool_owns(const lido_pool *pool, const void *p);

// The pool in whose memory `p` lies, NULL if there is none (memory of lido_malloc belongs to no pool one can name).
// Requires: nothing, any address is allowed. Threads, Cost: as lido_pool_owns.
LIDO_API lido_pool *lido_pool_of(const void *p);

// Calls `visit` for every live block in address order within each slab, until it returns false. The visitor may
// free the block it was given, and nothing else of this pool. Returns the number of blocks visited.
// Requires: no other thread uses the pool. Cost: proportional to its blocks.
LIDO_API size_t lido_pool_visit_live(lido_pool *pool, bool (*visit)(void *block, void *context), void *context);

// The pool's figures now. Threads: as the pool's kind. Cost: the registry's lock, a look at each thread's bin; LOCAL: a walk of the free list.
LIDO_API lido_pool_statistics lido_pool_stats(lido_pool *pool);

// Bytes from one block to the next, and the name, which lives as long as the pool. Threads: any.
LIDO_API size_t lido_pool_block_size(const lido_pool *pool);
LIDO_API const char *lido_pool_name(const lido_pool *pool);

// LIDO_POOL_DEFINE(conn_pool, struct conn) defines the type `conn_pool` and the inline functions
//   conn_pool conn_pool_new(lido_pool_options)   block_size and alignment are filled in; .pool is NULL on failure
//   struct conn *conn_pool_alloc(conn_pool)      void conn_pool_free(conn_pool, struct conn *)
//   void conn_pool_destroy(conn_pool)
#define LIDO_POOL_DEFINE(NAME, TYPE)                                                                 \
    typedef struct NAME {                                                                            \
        lido_pool *pool;                                                                             \
    } NAME;                                                                                          \
    static inline NAME NAME##_new(lido_pool_options options) {                                       \
        options.block_size = sizeof(TYPE);                                                           \
        if (options.alignment < __alignof__(TYPE)) options.alignment = __alignof__(TYPE);            \
        if (options.name == NULL) options.name = #NAME;                                              \
        NAME typed = {lido_pool_new(&options)};                                                      \
        return typed;                                                                                \
    }                                                                                                \
    static inline TYPE *NAME##_alloc(NAME typed) { return (TYPE *)lido_pool_alloc(typed.pool); }     \
    static inline void NAME##_free(NAME typed, TYPE *object) { lido_pool_free(typed.pool, object); } \
    static inline void NAME##_destroy(NAME typed) { lido_pool_destroy(typed.pool); }                 \
    struct lido__semicolon_##NAME

LIDO_END_DECLS

#endif
