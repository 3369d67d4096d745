// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What the prototypes of docs/design/001-core.md have in common, so that they differ only in what is being compared: a
// window of 64 KiB slices, the slice table, size classes in steps of 16 up to 1 KiB, a lock, and the policy for fresh
// memory (huge-page advice from 16 MiB on; below that, populate from the ninth slab of a class on).
//
//      base      slice 0 | slice 1 | ...            a slab is one slice
//      table     uint16  | uint16  | ...            entry of the slice: (class + 1) * 16, or 0
//
// Left out on purpose, because nothing here is measured with it: sizes above 1 KiB, decay, failure of the system (abort).
// With -DPURGE a free slice goes back to the system at once.
// With -DTABLE_PER_SEGMENT the entry is found through a map of segments and a table in each segment's first slice.
#ifndef SUBSTRATE_H
#define SUBSTRATE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TLS __thread __attribute__((tls_model("initial-exec")))

enum {
    SLICE_SHIFT = 16,
    SLICE_BYTES = 1 << SLICE_SHIFT,
    SEGMENT_SHIFT = 25,
    SEGMENT_SLICES = 1 << (SEGMENT_SHIFT - SLICE_SHIFT),
    WINDOW_SLICES = 1 << 17,    // 8 GiB
    SIZE_MOST = 1024,
    CLASS_COUNT = SIZE_MOST / 16,
    HUGE_SLICES = 32,          // 2 MiB
    HUGE_FROM_SLICES = 256,    // 16 MiB
    POPULATE_FROM_SLABS = 8,
};

typedef struct link {
    struct link *next;
} __attribute__((may_alias)) link;

// --- a lock ---------------------------------------------------------------------------------------------------------

typedef struct spin {
    _Atomic uint32_t word;
} spin;

INLINE void spin_lock(spin *lock) {
    for (uint32_t free_word = 0;
         !atomic_compare_exchange_weak_explicit(&lock->word, &free_word, 1, memory_order_acquire, memory_order_relaxed);
         free_word = 0) {
        sched_yield();
    }
}
INLINE void spin_unlock(spin *lock) { (void)atomic_exchange_explicit(&lock->word, 0, memory_order_release); }

// --- slices ---------------------------------------------------------------------------------------------------------

static struct {
    char *base;         // written once, before the first block is handed out
    uint32_t slices;    // 0 until then
    uint16_t *table;
    spin lock;
    uint32_t next, free_count, huge_from;
    uint32_t *free_list;
} window;

static void *map_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

// Called once, before anything else.
static void window_open(void) {
    size_t bytes = (size_t)WINDOW_SLICES << SLICE_SHIFT, segment = (size_t)1 << SEGMENT_SHIFT;
    uintptr_t memory = (uintptr_t)map_memory(bytes + segment);
    window.base = (char *)((memory + segment - 1) & ~(segment - 1));
    window.table = map_memory(WINDOW_SLICES * sizeof(uint16_t));
    window.free_list = map_memory(WINDOW_SLICES * sizeof(uint32_t));
    window.huge_from = WINDOW_SLICES;
    window.slices = WINDOW_SLICES;
}

INLINE uint32_t slice_of(const void *p) { return (uint32_t)(((uintptr_t)p - (uintptr_t)window.base) >> SLICE_SHIFT); }
INLINE char *slice_memory(uint32_t slice) { return window.base + ((size_t)slice << SLICE_SHIFT); }

#ifdef TABLE_PER_SEGMENT
static uint8_t segment_map[(size_t)1 << (47 - SEGMENT_SHIFT)];    // 1: a segment of ours
INLINE unsigned entry_of(const void *p) {
    if (UNLIKELY((uintptr_t)p >> 47 != 0 || segment_map[(uintptr_t)p >> SEGMENT_SHIFT] == 0)) return 0;
    const uint16_t *table = (const uint16_t *)((uintptr_t)p & ~(((uintptr_t)1 << SEGMENT_SHIFT) - 1));
    return table[((uintptr_t)p >> SLICE_SHIFT) & (SEGMENT_SLICES - 1)];
}
static void set_entry(uint32_t slice, unsigned entry) {
    char *segment = slice_memory(slice & ~(uint32_t)(SEGMENT_SLICES - 1));
    segment_map[(uintptr_t)segment >> SEGMENT_SHIFT] = 1;
    ((uint16_t *)(void *)segment)[slice & (SEGMENT_SLICES - 1)] = (uint16_t)entry;
}
static bool is_header(uint32_t slice) { return slice % SEGMENT_SLICES == 0; }
#else
INLINE unsigned entry_of(const void *p) {
    uintptr_t slice = ((uintptr_t)p - (uintptr_t)window.base) >> SLICE_SHIFT;
    return UNLIKELY(slice >= window.slices) ? 0 : window.table[slice];
}
static void set_entry(uint32_t slice, unsigned entry) { window.table[slice] = (uint16_t)entry; }
static bool is_header(uint32_t slice) {
    (void)slice;
    return false;
}
#endif

// A slice. `slabs` is how many the caller's class has: a slice that was never used is populated from the ninth on.
static uint32_t slice_new(unsigned entry, size_t slabs) {
    spin_lock(&window.lock);
    bool fresh = window.free_count == 0;
    if (fresh && is_header(window.next)) window.next++;
    uint32_t slice = fresh ? window.next++ : window.free_list[--window.free_count];
    if (slice >= WINDOW_SLICES) abort();
    bool advise = fresh && slice >= HUGE_FROM_SLICES && slice % HUGE_SLICES == 0;
    if (advise && window.huge_from > slice) window.huge_from = slice;
    bool huge = slice >= window.huge_from;
    set_entry(slice, entry);
    spin_unlock(&window.lock);
    // pages or a populate that the system refuses come in one by one, on touch
    if (advise) (void)madvise(slice_memory(slice), (size_t)HUGE_SLICES * SLICE_BYTES, MADV_HUGEPAGE);
    if (fresh && !huge && slabs > POPULATE_FROM_SLABS)
        (void)madvise(slice_memory(slice), SLICE_BYTES, MADV_POPULATE_WRITE);
    return slice;
}

static void slice_free(uint32_t slice) {
#ifdef PURGE
    (void)madvise(slice_memory(slice), SLICE_BYTES, MADV_DONTNEED);    // refused: the memory stays
#endif
    spin_lock(&window.lock);
    set_entry(slice, 0);
    window.free_list[window.free_count++] = slice;
    spin_unlock(&window.lock);
}

#endif
