// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Segments: 32 MiB of address space, aligned, cut into 512 slices of 64 KiB. Runs of slices are handed out as slabs
// (slab.h), as large objects, or for lido's own structures.
//
//      slices 0..4: the header                                   slices 5..511: memory for others
//      +--------+-----------------+---------------------------+  +-------+-------+--------
//      | maps   | descriptors     | bitmaps                   |  | run   | run   | ...
//      | 1 page | 512 x 64 bytes  | 512 x 512 bytes           |  |       |       |
//      +--------+-----------------+---------------------------+  +-------+-------+--------
//
// Descriptors and bitmaps lie apart from the blocks: a stray write through a block does not reach them, free blocks can
// be given back to the system page by page, and only the header pages of slices in use are ever touched.
//
// State of a slice, one bit in each of two maps:
//      used   dirty
//       0      0     free, reads as zero
//       0      1     free, was in use: purged after a while (decay)
//       1      1     handed out, or being purged
//       1      0     the header, and what a short segment lacks
// Slices at or above `committed` are reserved only; committed grows in steps and never shrinks.
//
// A segment may be short (slice_count < 512) if the system would not give the whole range.
//
// Everything here is guarded by one lock, rank SEGMENTS, taken inside; no system call but commit and reserve is made
// under it.
#ifndef LIDO_SLAB_SEGMENT_H
#define LIDO_SLAB_SEGMENT_H

#include "os/lock.h"
#include "slab/window.h"

struct lido__slab_set;

typedef enum lido__run_kind {
    LIDO__RUN_FREE = 0,
    LIDO__RUN_SLAB,
    LIDO__RUN_LARGE,
    LIDO__RUN_META,
    LIDO__RUN_BUMP,     // a chunk of heap/bump.h
    LIDO__RUN_CHECK,    // a zone of check/zone.h
} lido__run_kind;

// One for each slice; the first slice of a run holds the run's data, the others only `back`.
typedef struct lido__slab {
    _Alignas(64) struct lido__slab_set *set;    // [const while in use] slabs only
    struct lido__slab *next, *previous;         // [lock:slabs] in one of the set's lists
    union {
        struct {
            uint32_t fresh;         // [lock:slabs] blocks [0, fresh) were handed out at least once
            uint32_t free_count;    // [lock:slabs] of them, free now: bits set in the bitmap
            uint32_t hint;          // [lock:slabs] no bit is set in the bitmap words below this one
            bool listed_full;       // [lock:slabs] which list it is in
            bool reads_zero;        // [lock:slabs] blocks at and above `fresh` read as zero
        };
        struct {
            size_t large_bytes;    // [owner] what the large object may use
            void *large_heap;    // [const while in use] first-class heap or NULL; also of a chunk that bumps; the zone
        };
    };
    uint32_t freed_at;       // [lock:segments] clock when this slice became free
    uint16_t slice_count;    // [const while in use] of the run
    uint16_t back;           // [const while in use] slices back to the first of the run
    uint8_t kind;            // [const while in use] lido__run_kind
    bool huge;               // [const while in use] in memory that was advised huge
} lido__slab;
_Static_assert(sizeof(lido__slab) == 64, "descriptors are cache lines");

enum {
    LIDO__BITMAP_WORDS = 64,                          // a slice
    LIDO__BITMAP_BLOCKS = LIDO__BITMAP_WORDS * 64,    // most blocks a slice of a slab may hold
    LIDO__HEADER_SLICES = 5,
    LIDO__RUN_MAX_SLICES = LIDO__SEGMENT_SLICES - LIDO__HEADER_SLICES,
};

// A run of `count` slices whose first slice number is a multiple of `alignment` (a power of two). Table entries of all
// its slices are set to `entry`. *zero says whether the memory reads as zero.
// NULL when the system refuses.
LIDO__HIDDEN lido__slab *lido__run_new(lido__run_kind kind, size_t count, size_t alignment, unsigned entry, bool *zero);
LIDO__HIDDEN void lido__run_free(lido__slab *run);
// Grows or shrinks a run at its end, in place. False if the slices behind it are taken.
LIDO__HIDDEN bool lido__run_resize(lido__slab *run, size_t count);

// Gives free slices back that have been free for the option purge_delay_ms, or all of them; then segments that are
// empty. Keeps `keep_bytes` of dirty slices. Returns the bytes given back.
LIDO__HIDDEN size_t lido__segments_purge(bool all, size_t keep_bytes);

typedef struct lido__segment_totals {
    size_t segments, reserved_bytes, committed_bytes, used_bytes, dirty_free_bytes;
} lido__segment_totals;
LIDO__HIDDEN lido__segment_totals lido__segments_totals(void);

// For fork: the one lock of this file.
LIDO__HIDDEN lido__lock *lido__segments_lock(void);
// Checks every invariant of every segment (VERIFY grade). True, or aborts with a line.
LIDO__HIDDEN bool lido__segments_verify(void);

// The header of a segment. Only this layer's files look inside.
typedef struct lido__segment {
    uint64_t used[LIDO__SEGMENT_SLICES / 64];
    uint64_t dirty[LIDO__SEGMENT_SLICES / 64];
    uint32_t slot;                // [const] number of this segment's place in the window
    uint32_t slice_count;         // [const]
    uint32_t free_count;          // slices with used == 0
    uint32_t dirty_free_count;    // of them, with dirty == 1
    uint32_t committed;           // slices
    uint32_t huge_from;           // slices at and above this one were advised huge
    _Atomic(_Atomic uint8_t *)
        states;    // [atomic:states] see state.h; NULL until asked for, and for good LIDO__STATES_NEVER
    _Alignas(4096) lido__slab slabs[LIDO__SEGMENT_SLICES];
    uint64_t bitmaps[LIDO__SEGMENT_SLICES][LIDO__BITMAP_WORDS];
} lido__segment;
_Static_assert(sizeof(lido__segment) <= LIDO__HEADER_SLICES * LIDO__SLICE_BYTES, "the header fits its slices");

// Requires: p lies in a segment.
LIDO_INLINE lido__segment *lido__segment_of(const void *p) {
    return (lido__segment *)((uintptr_t)p & ~(uintptr_t)(LIDO__SEGMENT_BYTES - 1));
}
LIDO_INLINE size_t lido__slab_slice(const lido__slab *slab) { return (size_t)(slab - lido__segment_of(slab)->slabs); }
// Requires: the window entry of p is not LIDO__ENTRY_NONE.
LIDO_INLINE lido__slab *lido__slab_of(const void *p) {
    lido__segment *segment = lido__segment_of(p);
    lido__slab *slab = &segment->slabs[((uintptr_t)p >> LIDO__SLICE_SHIFT) & (LIDO__SEGMENT_SLICES - 1)];
    return slab - slab->back;
}
LIDO_INLINE char *lido__slab_memory(const lido__slab *slab) {
    return (char *)lido__segment_of(slab) + lido__slab_slice(slab) * LIDO__SLICE_BYTES;
}
LIDO_INLINE uint64_t *lido__slab_bitmap(const lido__slab *slab) {
    return lido__segment_of(slab)->bitmaps[lido__slab_slice(slab)];
}

#endif
