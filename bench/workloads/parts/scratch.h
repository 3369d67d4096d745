// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Small objects of several threads, each written many times before it is freed. Where two threads' objects lie in one cache
// line, every write takes the line away from the other thread.
//
//   active   an allocator gives neighbours in a line to two threads that allocate (cache-thrash)
//   passive  a thread frees an object that it was given, and is served again from that line, whose other objects are the
//            other threads' (cache-scratch)
//
// The patterns are those of Berger et al., Hoard (ASPLOS 2000), section 5.
#ifndef LIDO_BENCH_SCRATCH_H
#define LIDO_BENCH_SCRATCH_H

#include "workloads/parts/crew.h"

static inline uint64_t scratch_use(unsigned char *block, uint64_t size, uint64_t writes, uint64_t serial) {
    for (uint64_t at = 0; at < size; at++) block[at] = (unsigned char)(serial + at);
    for (uint64_t i = 0; i < writes; i++) {
        block[i % size]++;
        bench_escape(block);
    }
    return block[0] + 3u * block[size - 1];
}

static uint64_t scratch_work(crew_member *member, uint64_t count) {
    const bench_run *run = member->all->run;
    uint64_t size = bench_value(run, "size"), writes = bench_value(run, "writes"), sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        unsigned char *block = (unsigned char *)bench_need(run, slot_alloc(member->slot));
        sum += scratch_use(block, size, writes, i);
        slot_free(member->slot, block);
    }
    return sum;
}

#endif
