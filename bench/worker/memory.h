// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What the system says of the process's memory. Nothing here allocates: a reading must not change what it reads.
#ifndef LIDO_BENCH_MEMORY_H
#define LIDO_BENCH_MEMORY_H

#include <stddef.h>
#include <stdint.h>

enum { MEMORY_UNKNOWN = -1 };    // where /proc cannot be read

typedef struct memory_state {
    long peak_kb, now_kb, lazyfree_kb;
} memory_state;

// Peak and present resident memory, and pages that MADV_FREE marked: resident still, the system's when it wants them.
memory_state memory_now(void);
// Resident without the lazily freed pages.
long memory_settled_kb(void);

// Before the first memory_held.
void memory_held_open(void);
// Bytes of resident anonymous memory, without the static data of the worker. 0 where /proc cannot be read.
int64_t memory_held(void);
// Of a page-aligned range, resident bytes.
int64_t memory_resident(const void *from, size_t bytes);

#endif
