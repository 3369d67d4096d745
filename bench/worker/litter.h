// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Litter: before the work a slot is filled with blocks of its own size; all but a part of them, chosen at random, are
// freed in random order, and the rest stays until the slot is closed. The heap is then scattered like that of a process
// that has run for long (the method of Berger and van Kempen, 2026). worker/slot.h does the calls; here is the book.
#ifndef LIDO_BENCH_LITTER_H
#define LIDO_BENCH_LITTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LITTER_SLOT_BYTES = 64,    // of the largest backend's slot; it must have no padding
};

typedef struct litter {
    void **blocks;         // mapped, not allocated
    size_t count, kept;    // count: blocks that are alive; kept: of those that will be when the work begins
    size_t size, mapped_bytes;
    unsigned char slot[LITTER_SLOT_BYTES];
    struct litter *next;
} litter;

// From the command line, before any slot is opened; percent 0 is none. With none every call below does nothing.
void litter_set(unsigned percent, size_t bytes);
// Of litter blocks for a slot of this block size.
size_t litter_count(size_t size);

// The calls below: any thread, for a slot that is this thread's.
litter *litter_new(const void *slot, size_t slot_bytes, size_t count, size_t size);
// One line on stderr and exit status 1: the allocator refused a block of the litter.
void litter_refused(const litter *all, size_t have) __attribute__((noreturn));
void litter_shuffle(litter *all);
// All but the kept blocks are freed: gives the rest of the book's memory back and starts the peak anew.
void litter_laid(litter *all);
// The litter of a slot, NULL if there is none. It is out of the book then.
litter *litter_of(const void *slot, size_t slot_bytes);
void litter_end(litter *all);

#ifdef __cplusplus
}
#endif

#endif
