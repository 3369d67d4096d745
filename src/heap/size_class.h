// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Size classes of malloc: 16 to 1024 bytes in steps of 16, then eight to a doubling up to 32 KiB.
//
//      class   0    1    2  ...   63  |   64   65  ...   71  |   72   73 ...  79  |  ...  103
//      bytes  16   32   48  ... 1024  | 1152 1280  ... 2048  | 2304 2560 ... 4096 |  ... 32768
//
// A request wastes at most 15 bytes up to 1 KiB and less than an eighth above (tests/unit checks every size). All sizes
// are multiples of 16, which is the alignment that malloc owes.
//
// A class is a shared pool with the bin number of the class, so that for n <= 1024 the bin's offset is plain arithmetic:
//      entry(n) = round_up(n, 16)
// and n = 0 gives LIDO__ENTRY_NONE, whose bin is always empty, and so comes to the slow half, which knows what to do.
// Why 64 fine classes: with the usual eight to a doubling and a bit scan to find them, a mix of 16 to 1016 bytes takes 1.26 of
// the time (a branch nobody can predict); with a table it is a tie, at two instructions more. Rounding wastes 1.5 % in place of
// 4.2 %. The price: with 8 threads the bins hold 9 MB where coarse classes would hold 7 (docs/design/001, E).
#ifndef LIDO_HEAP_SIZE_CLASS_H
#define LIDO_HEAP_SIZE_CLASS_H

#include "pool/pool.h"
#include "slab/window.h"

enum {
    LIDO__TINY_MAX = 1024,
    LIDO__SMALL_MAX = 32768,
    LIDO__CLASS_COUNT = 104,
    LIDO__LARGE_MAX = 8 << 20,
};
_Static_assert(LIDO__CLASS_FIRST_BIN *LIDO__BIN_BYTES == 16, "the first class is that of 16 bytes");
_Static_assert((LIDO__CLASS_FIRST_BIN + LIDO__CLASS_COUNT) * LIDO__BIN_BYTES <= LIDO__ENTRY_CHECK,
               "classes end before others begin");

// Requires: size <= LIDO__TINY_MAX.
LIDO_INLINE size_t lido__tiny_entry(size_t size) { return (size + 15) & ~(size_t)15; }

// Requires: 1 <= size <= LIDO__SMALL_MAX.
LIDO_INLINE unsigned lido__class_of(size_t size) {
    if (size <= LIDO__TINY_MAX) return (unsigned)((size - 1) / 16);
    unsigned doubling = lido__highest_bit(size - 1);    // size is in (2^doubling, 2^(doubling + 1)]
    return 64 + (doubling - 10) * 8 + (unsigned)((size - 1) >> (doubling - 3)) - 8;
}

LIDO_INLINE size_t lido__class_bytes(unsigned size_class) {
    if (size_class < 64) return 16 * (size_t)(size_class + 1);
    unsigned doubling = 10 + (size_class - 64) / 8;
    return ((size_t)1 << doubling) + (((size_class - 64) % 8 + 1) * ((size_t)1 << (doubling - 3)));
}

// The least class whose blocks are all aligned. Slabs start at a slice, so it is enough that the class is a multiple of the
// alignment. It is: around the rounded size, classes are multiples of a power of two; an alignment of no more than that divides
// them, and a larger one has made the rounded size such a multiple, which is a class.
// Requires: alignment is a power of two, and round_up(size, alignment) is 1 to LIDO__SMALL_MAX.
LIDO_INLINE size_t lido__aligned_class_bytes(size_t size, size_t alignment) {
    return lido__class_bytes(lido__class_of(lido__round_up(size, alignment)));
}

// The same for any request of at least a byte; 0 if it is none for a class. alignment: a power of two, at most 16 is any.
LIDO_INLINE size_t lido__small_bytes(size_t size, size_t alignment) {
    if (alignment <= 16) return size <= LIDO__SMALL_MAX ? size : 0;
    bool fits =
        size <= LIDO__SMALL_MAX && alignment <= LIDO__SMALL_MAX && lido__round_up(size, alignment) <= LIDO__SMALL_MAX;
    return fits ? lido__aligned_class_bytes(size, alignment) : 0;
}

LIDO_INLINE unsigned lido__class_entry(unsigned size_class) {
    return (LIDO__CLASS_FIRST_BIN + size_class) * LIDO__BIN_BYTES;
}

#endif
