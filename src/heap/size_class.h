// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Size classes of malloc: 16 to 256 bytes in steps of 16, then eight to a doubling up to 32 KiB.
//
//      class   0    1    2  ...   15  |   16   17  ...   23  |   24   25 ...  31  |  ...   71
//      bytes  16   32   48  ...  256  |  288  320  ...  512  |  576  640 ... 1024 |  ... 32768
//
// Why: a request of n > 128 bytes wastes at most n/8 (tests/unit checks every n): steps of 16 above 128, and eight steps
// to a doubling above 256, are at most an eighth of the size below. Up to 128 the waste is at most 15 bytes. The steps
// are multiples of 16, which is the alignment that malloc owes.
//
// A class is a shared pool with the bin number of the class, so that for n <= 256 the bin's offset is plain arithmetic:
//      entry(n) = round_up(n, 16)
// and n = 0 gives LIDO__ENTRY_NONE, whose bin is always empty, and so comes to the slow half, which knows what to do.
#ifndef LIDO_HEAP_SIZE_CLASS_H
#define LIDO_HEAP_SIZE_CLASS_H

#include "pool/pool.h"
#include "slab/window.h"

enum {
    LIDO__TINY_MAX = 256,
    LIDO__SMALL_MAX = 32768,
    LIDO__CLASS_COUNT = 72,
    LIDO__LARGE_MAX = 8 << 20,
};
_Static_assert(LIDO__CLASS_FIRST_BIN * LIDO__BIN_BYTES == 16, "the first class is that of 16 bytes");
_Static_assert((LIDO__CLASS_FIRST_BIN + LIDO__CLASS_COUNT) * LIDO__BIN_BYTES <= LIDO__ENTRY_LARGE, "classes end before others begin");

// Requires: size <= LIDO__TINY_MAX.
LIDO_INLINE size_t lido__tiny_entry(size_t size) {
    return (size + 15) & ~(size_t)15;
}

// Requires: 1 <= size <= LIDO__SMALL_MAX.
LIDO_INLINE unsigned lido__class_of(size_t size) {
    if (size <= LIDO__TINY_MAX) return (unsigned)((size - 1) / 16);
    unsigned doubling = lido__highest_bit(size - 1);    // size is in (2^doubling, 2^(doubling + 1)]
    return 16 + (doubling - 8) * 8 + (unsigned)((size - 1) >> (doubling - 3)) - 8;
}

LIDO_INLINE size_t lido__class_bytes(unsigned size_class) {
    if (size_class < 16) return 16 * (size_t)(size_class + 1);
    unsigned doubling = 8 + (size_class - 16) / 8;
    return ((size_t)1 << doubling) + (((size_class - 16) % 8 + 1) * ((size_t)1 << (doubling - 3)));
}

// The least class whose blocks are all aligned: slabs start at a slice, so it is enough that the block size is a multiple.
// Requires: alignment is a power of two, and round_up(size, alignment) is 1 to LIDO__SMALL_MAX.
LIDO_INLINE size_t lido__aligned_class_bytes(size_t size, size_t alignment) {
    unsigned size_class = lido__class_of(lido__round_up(size, alignment));
    while (lido__class_bytes(size_class) % alignment != 0) size_class++;    // ends at the latest at a power of two
    return lido__class_bytes(size_class);
}

LIDO_INLINE unsigned lido__class_entry(unsigned size_class) {
    return (LIDO__CLASS_FIRST_BIN + size_class) * LIDO__BIN_BYTES;
}

#endif
