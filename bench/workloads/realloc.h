// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Buffers that grow: from 16 bytes by doubling, several in turns, the new half of each written. Where the allocator cannot extend
// a block it copies it, and where it copies pages by moving them it can be far ahead.
#include "workloads/parts/optional.h"

#include <string.h>

enum { REALLOC_BUFFERS_MAX = 1024 };

typedef struct realloc_result {
    uint64_t ops, sum;
} realloc_result;

static realloc_result realloc_grow(const bench_run *run, bench_slot slot, uint64_t buffers, uint64_t first,
                                   uint64_t last) {
    unsigned char *at[REALLOC_BUFFERS_MAX];
    realloc_result result = {0, 0};
    for (uint64_t i = 0; i < buffers; i++) {
        at[i] = (unsigned char *)bench_need(run, slot_alloc(slot));
        memset(at[i], (int)(i & 0x7f), first);
    }
    for (uint64_t size = first; size * 2 <= last; size *= 2)
        for (uint64_t i = 0; i < buffers; i++, result.ops++) {
            at[i] = (unsigned char *)bench_need(run, slot_resize(slot, at[i], size * 2));
            memset(at[i] + size, (int)(i + size % 251) & 0x7f, size);
            bench_escape(at[i]);
        }
    for (uint64_t i = 0; i < buffers; i++) {
        result.sum += at[i][0];
        for (uint64_t size = first; size * 2 <= last; size *= 2)
            result.sum = result.sum * 3 + at[i][size] + 5u * at[i][2 * size - 1];
        slot_free(slot, at[i]);
    }
    return result;
}

static void realloc_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), buffers = bench_value(run, "live"), first = bench_value(run, "size"),
             last = bench_value(run, "last");
    if (last < 2 * first) bench_fail(run, "last is below two times size");
    bench_slot_options options = {(size_t)first, 0, (size_t)buffers};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    realloc_grow(run, slot, buffers, first, last);
    while (bench_more(run)) {
        realloc_result result = {0, 0};
        bench_start(run);
        for (uint64_t i = 0; i < count; i++) {
            realloc_result one = realloc_grow(run, slot, buffers, first, last);
            result.ops += one.ops;
            result.sum += one.sum * (i + 1);
        }
        bench_stop(run, result.ops, result.sum);
    }
    slot_close(slot);
}

BENCH_WORKLOAD(realloc, BENCH_REALLOC, "one buffer doubled and its new half written",
               "buffers that grow from 16 bytes to 64 KiB by doubling, eight in turns",
               {"count", 20, 1, 100000000, "times that all buffers grow in a pass"},
               {"live", 8, 1, REALLOC_BUFFERS_MAX, "buffers that grow in turns"},
               {"size", 16, 8, 65536, "bytes at first"}, {"last", 65536, 16, 1 << 28, "bytes at most"});
