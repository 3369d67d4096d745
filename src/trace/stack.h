// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Call stacks kept once each: equal stacks have one id of 32 bits, for as long as the process lives.
//
//      buckets[2^17] ──► record ──► record ──► 0        a record: next, hash, count, addresses; multiples of 16 bytes
//      chunks[1024]  ──► 1 MiB of records               an id is a record's place among all chunks, in 16 bytes
//
// Invariants: a record never changes once its bucket leads to it; of equal stacks a bucket leads to one.
//
// Threads: any, also in malloc, signal handlers and a child of fork; lock-free. Memory is taken a chunk at a time with
// lido__os_map and kept. Limits: 1 GiB of records, about 7 million stacks of 16 addresses; then, or when the system
// refuses a chunk, new stacks get id 0 and known ones their id as before.
#ifndef LIDO_TRACE_STACK_H
#define LIDO_TRACE_STACK_H

#include "base/base.h"

enum { LIDO__STACK_DEPTH_MAX = 24 };

// The stack of the caller, from the caller on with skip 0, of as many addresses as the option check_frames says. 0: no memory is
// left for it.
// Cost: 43 ns for 10 addresses of the stack that was asked for last, 81 to 99 ns for another one that is known (measured as stated
// in unwind.h).
LIDO__HIDDEN uint32_t lido__stack_here(unsigned skip);
// The same for addresses from elsewhere; those beyond LIDO__STACK_DEPTH_MAX are left out.
LIDO__HIDDEN uint32_t lido__stack_keep(void *const *pcs, size_t count);
// The addresses of an id; 0 of them, and *pcs == NULL, for 0 and for what is no id.
LIDO__HIDDEN size_t lido__stack_at(uint32_t id, void *const **pcs);

#endif
