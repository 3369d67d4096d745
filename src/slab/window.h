// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The window: one range of addresses in which every segment of the process lies, and the slice table over it.
//
//      base                                                       base + (slices << 16)
//       |  segment  |  (free slot)  |  segment  |  not ours  | ...  |
//       |s|s|s|s|s|s|               |
//        table[0..]: two bytes for each 64 KiB slice of the window
//
// An entry says what the slice belongs to, in the form that free() can use at once: the byte offset of a pool's bin
// within the thread structure. Five entries name bins that never hold anything, so the same instructions that free a
// small block fall into the slow half for everything else:
//      LIDO__ENTRY_NONE   no lido memory (also what lies outside of the window)
//      LIDO__ENTRY_CHECK  blocks that are checked (check/zone.h)
//      LIDO__ENTRY_LARGE  a run of slices that is one object
//      LIDO__ENTRY_SLOW   a slab of a pool without bins (local, confined, FIFO, of a first-class heap)
//      LIDO__ENTRY_META   lido's own
//
// The window is address arithmetic, not a reservation: only segments take address space. Its size follows physical
// memory (segment.c). Why one window and one flat table instead of a map of segments and a table in each: it makes
// the foreign-pointer check and the pool look-up one load and saves six instructions a free (docs/design/001).
//
// Writers hold the segments' lock. Readers hold nothing: whoever has a block got it after its entry was written.
#ifndef LIDO_SLAB_WINDOW_H
#define LIDO_SLAB_WINDOW_H

#include "base/atomics.h"
#include "base/base.h"

enum {
    LIDO__SLICE_SHIFT = 16,
    LIDO__SLICE_BYTES = 1 << LIDO__SLICE_SHIFT,
    LIDO__SEGMENT_SHIFT = 25,
    LIDO__SEGMENT_BYTES = 1 << LIDO__SEGMENT_SHIFT,
    LIDO__SEGMENT_SLICES = LIDO__SEGMENT_BYTES / LIDO__SLICE_BYTES,
};

enum {
    LIDO__BIN_BYTES = 16,
    LIDO__CLASS_FIRST_BIN = 1,     // size classes of malloc, see heap/size_class.h
    LIDO__POOL_FIRST_BIN = 128,    // shared pools
    LIDO__ENTRY_NONE = 0,
    LIDO__ENTRY_CHECK = (LIDO__POOL_FIRST_BIN - 4) * LIDO__BIN_BYTES,
    LIDO__ENTRY_LARGE = (LIDO__POOL_FIRST_BIN - 3) * LIDO__BIN_BYTES,
    LIDO__ENTRY_SLOW = (LIDO__POOL_FIRST_BIN - 2) * LIDO__BIN_BYTES,
    LIDO__ENTRY_META = (LIDO__POOL_FIRST_BIN - 1) * LIDO__BIN_BYTES,
};

typedef struct lido__window {
    uintptr_t base;              // [lock:segments] written once, before slices
    _Atomic uint16_t *table;     // [lock:segments] written once, before slices
    _Atomic uintptr_t slices;    // [atomic:window] release after base and table; 0 until the first segment
} lido__window;

extern LIDO__HIDDEN lido__window lido__the_window;

// The slice's number within the window, or at least `slices` if p is outside.
LIDO_INLINE uintptr_t lido__window_index(const void *p) {
    return ((uintptr_t)p - lido__the_window.base) >> LIDO__SLICE_SHIFT;
}

// True if slice number `index` lies in the window. Acquire, pairs with the release in segment.c: whoever sees the size sees
// the table. On x86-64 every load acquires; written out there, because GCC does not make an atomic load an operand, and this is
// on the path of every free.
LIDO_INLINE bool lido__window_has(uintptr_t index) {
#if defined(__x86_64__)
    __asm__ goto("cmpq %1, %0\n\tjae %l[outside]"
                 :
                 : "r"(index), "m"(lido__the_window.slices)
                 : "cc", "memory"
                 : outside);
    return true;
outside:
    return false;
#else
    return index < LIDO__ATOMIC_LOAD(&lido__the_window.slices, acquire);
#endif
}

// Any address. Cost: 7 instructions.
LIDO_INLINE uint16_t lido__window_entry(const void *p) {
    uintptr_t index = lido__window_index(p);
    if (LIDO_UNLIKELY(!lido__window_has(index))) return LIDO__ENTRY_NONE;
    // relaxed: the entry of a live block was written before the block was handed out
    return LIDO__ATOMIC_LOAD(&lido__the_window.table[index], relaxed);
}

LIDO_INLINE bool lido__entry_has_bin(unsigned entry) {
    return entry != LIDO__ENTRY_NONE && entry - LIDO__ENTRY_CHECK > LIDO__ENTRY_META - LIDO__ENTRY_CHECK;
}
LIDO_INLINE bool lido__entry_is_slab(unsigned entry) { return entry == LIDO__ENTRY_SLOW || lido__entry_has_bin(entry); }

#endif
