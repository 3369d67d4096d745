// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A pool of fixed capacity over memory that the caller supplies. Header only and freestanding: no system, no C library,
// no lido library to link; C11 and C++17, without exceptions.
//
//      buffer                                                               buffer + bytes
//        | skipped |  block  |  block  | ... |  block  |   block   | ... |  unused  |
//                  start                             fresh                end
//                  |<--- carved: alive or in the list -->|<-- never given out -->|
//
//      LIDO_FIXED_BUFFER(storage, 4096, sizeof(struct task), 0);
//      lido_fixed tasks;
//      lido_fixed_init(&tasks, storage, sizeof storage, sizeof(struct task), 0);
//      struct task *t = (struct task *)lido_fixed_alloc(&tasks);
//
// Invariants:
//      start <= fresh <= end,  (end - start) and (fresh - start) are multiples of block_size
//      carved = (fresh - start) / block_size = live + length of the free list
//      A block is carved only while the list is empty, that is, while all carved blocks are alive: so carved is the
//      high-water mark, exact, with no counter on the fast path. `live` costs a walk of the list instead.
// Memory beyond `fresh` is never written: a large buffer costs no page faults and no start-up time before it is used.
// Links lie in the free blocks themselves, so the memory behind a buffer of `capacity` blocks is capacity * block_size.
//
// Threads: one at a time, as for any structure without a lock. Interrupt handlers count as threads.
//
// Unless a call says otherwise: Requires: lido_fixed_init has succeeded. Threads: one at a time. Fails: never. Cost: constant.
//
// Nothing is checked on the fast path: freeing a block twice or a foreign one is undefined; lido_fixed_owns tells
// blocks from other addresses.
#ifndef LIDO_FIXED_H
#define LIDO_FIXED_H

#include <lido/defs.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

typedef struct lido__fixed_link {
    struct lido__fixed_link *next;
} LIDO_ATTR_MAY_ALIAS lido__fixed_link;

// Set up by lido_fixed_init; read the fields through the calls below. May be copied or moved as long as only one copy is used.
typedef struct lido_fixed {
    lido__fixed_link *free;    // blocks that came back, the last one first
    unsigned char *fresh;      // the next block that was never given out
    unsigned char *end;        // [const] behind the last whole block
    unsigned char *start;      // [const] the first block
    size_t block_size;         // [const] bytes, after rounding
} lido_fixed;

// What lido_fixed_init makes of a block size and an alignment, as constant expressions (for constant arguments).
// The natural alignment (alignment 0) is the largest power of two that divides the size, at least that of a
// pointer and at most that of two.
#define LIDO__FIXED_AT_LEAST(low, n) ((n) < (low) ? (low) : (n))
#define LIDO__FIXED_AT_MOST(high, n) ((n) > (high) ? (high) : (n))
#define LIDO__FIXED_LOWEST_BIT(n) ((size_t)(n) & (~(size_t)(n) + 1))
#define LIDO_FIXED_ALIGNMENT(block_size, alignment)                                                 \
    LIDO__FIXED_AT_LEAST(sizeof(void *), (alignment) != 0 ? (size_t)(alignment)                     \
                                                          : LIDO__FIXED_AT_MOST(2 * sizeof(void *), \
                                                                                LIDO__FIXED_LOWEST_BIT(block_size)))
#define LIDO_FIXED_BLOCK_BYTES(block_size, alignment)                           \
    (((size_t)(block_size) + LIDO_FIXED_ALIGNMENT(block_size, alignment) - 1) & \
     ~(LIDO_FIXED_ALIGNMENT(block_size, alignment) - 1))

// Bytes that `count` blocks take in a buffer that is aligned to LIDO_FIXED_ALIGNMENT(block_size, alignment): no overhead
// at all. For a buffer that is aligned less, add that alignment minus one.
#define LIDO_FIXED_BYTES(count, block_size, alignment) ((count)*LIDO_FIXED_BLOCK_BYTES(block_size, alignment))

// Defines `static unsigned char name[]` with the size and the alignment for `count` blocks.
#define LIDO_FIXED_BUFFER(name, count, block_size, alignment)                 \
    static unsigned char name[LIDO_FIXED_BYTES(count, block_size, alignment)] \
        __attribute__((aligned(LIDO_FIXED_ALIGNMENT(block_size, alignment))))

// Makes a pool over [buffer, buffer + bytes). `alignment` is a power of two, or 0 for the natural one; blocks smaller
// than a pointer are rounded up to one, and every size is rounded up to a multiple of the alignment. Bytes before the
// first aligned address are skipped.
// Requires: the buffer outlives the pool, and nothing else uses it.
// Fails: false, and `fixed` is left alone, if a pointer is NULL, block_size is 0, the alignment is no power of two, or
// not even one block fits. Cost: constant; the buffer is not touched.
static inline LIDO_ATTR_MUST_USE bool lido_fixed_init(lido_fixed *fixed, void *buffer, size_t bytes, size_t block_size,
                                                      size_t alignment) {
    if (fixed == NULL || buffer == NULL || block_size == 0) return false;
    if ((alignment & (alignment - 1)) != 0) return false;
    size_t align = LIDO_FIXED_ALIGNMENT(block_size, alignment);
    if (block_size > SIZE_MAX - (align - 1)) return false;
    size_t block = (block_size + align - 1) & ~(align - 1);
    size_t skip = (size_t)(~(uintptr_t)buffer + 1) & (align - 1);
    if (bytes < skip || bytes - skip < block) return false;
    fixed->start = (unsigned char *)buffer + skip;
    fixed->end = fixed->start + (bytes - skip) / block * block;
    fixed->fresh = fixed->start;
    fixed->free = NULL;
    fixed->block_size = block;
    return true;
}

// One block, contents undefined. Fails: NULL at capacity; errno is left alone. Cost: 4 instructions for a block that came back, 6 for a fresh one.
LIDO_INLINE LIDO_ATTR_MUST_USE void *lido_fixed_alloc(lido_fixed *fixed) {
    lido__fixed_link *link = fixed->free;
    if (LIDO_LIKELY(link != NULL)) {
        fixed->free = link->next;
        return link;
    }
    unsigned char *block = fixed->fresh;
    if (LIDO_UNLIKELY(block == fixed->end)) return NULL;
    fixed->fresh = block + fixed->block_size;
    return block;
}

// Gives a block back; it is the next one to go out. NULL is ignored.
// Requires: `block` came from this pool and is alive. Cost: 4 instructions.
LIDO_INLINE void lido_fixed_free(lido_fixed *fixed, void *block) {
    if (LIDO_UNLIKELY(block == NULL)) return;
    lido__fixed_link *link = (lido__fixed_link *)block;
    link->next = fixed->free;
    fixed->free = link;
}

// True if and only if `p` is the address of one of the pool's blocks, alive, free or never given out. An address inside
// a block is not one. Any address may be asked for. Cost: a division.
static inline bool lido_fixed_owns(const lido_fixed *fixed, const void *p) {
    uintptr_t offset = (uintptr_t)p - (uintptr_t)fixed->start;
    return offset < (uintptr_t)(fixed->end - fixed->start) && offset % fixed->block_size == 0;
}

// All blocks count as free, and the high-water mark starts again. Cost: constant.
static inline void lido_fixed_reset(lido_fixed *fixed) {
    fixed->free = NULL;
    fixed->fresh = fixed->start;
}

// Most blocks that can be alive at once.
static inline size_t lido_fixed_capacity(const lido_fixed *fixed) {
    return (size_t)(fixed->end - fixed->start) / fixed->block_size;
}

// Most blocks that were alive at once since init or reset.
static inline size_t lido_fixed_high_water(const lido_fixed *fixed) {
    return (size_t)(fixed->fresh - fixed->start) / fixed->block_size;
}

// Blocks that are alive now. Cost: proportional to high_water - live.
static inline size_t lido_fixed_live(const lido_fixed *fixed) {
    size_t live = lido_fixed_high_water(fixed);
    for (const lido__fixed_link *link = fixed->free; link != NULL; link = link->next) live--;
    return live;
}

// Bytes from one block to the next, after rounding.
static inline size_t lido_fixed_block_size(const lido_fixed *fixed) { return fixed->block_size; }

LIDO_END_DECLS

#endif
