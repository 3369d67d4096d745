// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What stands between a workload and a backend's slot. Included once by each backend, through workloads_all.h, after the
// backend's own functions and before the workloads:
//
//   slot_open, slot_close    lay litter in the slot and take it away; nothing more without litter=
//   slot_open_clean, ..._close_clean    the backend's own, for slots that are opened over and over as part of the work
//   slot_alloc, slot_free    the backend's own, inlined; in the second compilation (BENCH_LOOK) each call is timed, and
//                            bench_slot is the backend's slot with its block size
//   slot_release             only where the backend has them (SLOT_RELEASES, SLOT_RESIZES), timed as a free and as a
//   slot_resize              resize; workloads/parts/optional.h stands in for them elsewhere, by slot_alloc and slot_free
//
// Litter of a region (SLOT_RELEASES) lies in the process's malloc, where regions get their memory from: in the region
// itself it would be forgotten with everything else. So does that of a backend that cannot have many blocks
// (SLOT_LITTERS_OUTSIDE).
#include <stdlib.h>
#include <string.h>

#include "worker/litter.h"
#include "worker/look.h"

#ifdef BENCH_LOOK
enum { SLOT_IS_LOOK = 1 };
#else
enum { SLOT_IS_LOOK = 0 };
#endif

#if defined(SLOT_RELEASES) || defined(SLOT_LITTERS_OUTSIDE)
static inline void *slot__litter_alloc(bench_slot slot, size_t size) {
    (void)slot;
    return malloc(size);
}
static inline void slot__litter_free(bench_slot slot, void *block) {
    (void)slot;
    free(block);
}
#else
static inline void *slot__litter_alloc(bench_slot slot, size_t size) {
    (void)size;
    return slot_alloc(slot);
}
static inline void slot__litter_free(bench_slot slot, void *block) { slot_free(slot, block); }
#endif

// Objects come constructed and stay so; plain blocks are written, so that their pages are there as a program's are.
static inline void slot__litter_write(void *block, size_t size) {
#ifdef SLOT_CONSTRUCTS
    (void)block;
    (void)size;
#else
    memset(block, 0x6c, size);
#endif
}

static __attribute__((noinline)) bool slot__open(bench_slot *slot, const bench_slot_options *options) {
    size_t count = litter_count(options->size);
    if (count == 0) return slot_open(slot, options);
    bench_slot_options raised = *options;
    if (raised.capacity != 0) raised.capacity += count;
    raised.most_live += count;
    if (!slot_open(slot, &raised)) return false;
    litter *all = litter_new(slot, sizeof *slot, count, options->size);
    for (size_t i = 0; i < count; i++) {
        void *block = slot__litter_alloc(*slot, options->size);
        if (block == NULL) litter_refused(all, i);
        slot__litter_write(block, options->size);
        all->blocks[i] = block;
    }
    litter_shuffle(all);
    while (all->count > all->kept) slot__litter_free(*slot, all->blocks[--all->count]);
    litter_laid(all);
    return true;
}

static __attribute__((noinline)) void slot__close(bench_slot slot) {
    litter *all = litter_of(&slot, sizeof slot);
    while (all != NULL && all->count > 0) slot__litter_free(slot, all->blocks[--all->count]);
    litter_end(all);
    slot_close(slot);
}

// For a slot that is opened over and over, as part of the work: never any litter.
static inline bool slot__clean_open(bench_slot *slot, const bench_slot_options *options) {
    return slot_open(slot, options);
}
static inline void slot__clean_close(bench_slot slot) { slot_close(slot); }

static void slot__tick(bench_tick what) {
    static bench_slot slot;
    static bool open;
    bench_slot_options options = {64, 0, 1};
    if (what == BENCH_TICK_OPEN) open = slot_open(&slot, &options);
    if (!open) return;
    if (what == BENCH_TICK_BEAT) {
        void *block = slot_alloc(slot);
        bench_escape(block);
        if (block != NULL) slot_free(slot, block);
    }
    if (what == BENCH_TICK_CLOSE) slot_close(slot);
}

#ifdef BENCH_LOOK
typedef struct look_slot {
    bench_slot inner;
    size_t size;
} look_slot;

static inline bool slot__look_open(look_slot *slot, const bench_slot_options *options) {
    slot->size = options->size;
    return slot__open(&slot->inner, options);
}

static inline void slot__look_close(look_slot slot) { slot__close(slot.inner); }

static inline bool slot__look_clean_open(look_slot *slot, const bench_slot_options *options) {
    slot->size = options->size;
    return slot__clean_open(&slot->inner, options);
}

static inline void slot__look_clean_close(look_slot slot) { slot__clean_close(slot.inner); }

static inline bench_requests slot__look_requests(const look_slot *slot) { return slot_requests(&slot->inner); }

// Not inlined into the workload; the backend's function is inlined between the two readings.
static __attribute__((noinline)) void *slot__look_alloc(look_slot slot) {
    uint64_t from = look_ticks();
    void *block = slot_alloc(slot.inner);
    uint64_t to = look_ticks();
    look_note(LOOK_ALLOC, to - from, block != NULL ? (int64_t)slot.size : 0);
    return block;
}

static __attribute__((noinline)) void slot__look_free(look_slot slot, void *block) {
#ifdef SLOT_RESIZES
    int64_t size = look_forget(block, (int64_t)slot.size);
#else
    int64_t size = (int64_t)slot.size;
#endif
    uint64_t from = look_ticks();
    slot_free(slot.inner, block);
    uint64_t to = look_ticks();
    look_note(LOOK_FREE, to - from, -size);
}

#ifdef SLOT_RELEASES
static inline void slot__look_release(look_slot slot, void *const *blocks, size_t count) {
    uint64_t from = look_ticks();
    slot_release(slot.inner, blocks, count);
    uint64_t to = look_ticks();
    look_note(LOOK_FREE, to - from, -(int64_t)(slot.size * count));
}
#define slot_release slot__look_release
#endif

#ifdef SLOT_RESIZES
static inline void *slot__look_resize(look_slot slot, void *block, size_t size) {
    int64_t old = look_forget(block, (int64_t)slot.size);
    uint64_t from = look_ticks();
    void *moved = slot_resize(slot.inner, block, size);
    uint64_t to = look_ticks();
    look_remember(moved != NULL ? moved : block, moved != NULL ? (int64_t)size : old);
    look_note(LOOK_RESIZE, to - from, moved != NULL ? (int64_t)size - old : 0);
    return moved;
}
#define slot_resize slot__look_resize
#endif

#define bench_slot look_slot
#define slot_open slot__look_open
#define slot_close slot__look_close
#define slot_open_clean slot__look_clean_open
#define slot_close_clean slot__look_clean_close
#define slot_alloc slot__look_alloc
#define slot_free slot__look_free
#define slot_requests slot__look_requests
#else
#define slot_open slot__open
#define slot_close slot__close
#define slot_open_clean slot__clean_open
#define slot_close_clean slot__clean_close
#endif
