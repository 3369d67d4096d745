// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Figures of the whole process, and the line at exit (option stats=exit).
#include "heap/heap.h"

#include "base/options.h"
#include "os/report.h"
#include "slab/mapping.h"

#include <errno.h>
#include <unistd.h>

typedef struct small_totals {
    size_t live_bytes, held_bytes;
} small_totals;

static void add_pool(lido_pool *pool, void *context) {
    small_totals *totals = (small_totals *)context;
    lido_pool_statistics statistics = lido__pool_stats_locked(pool, false);
    totals->live_bytes += statistics.live * statistics.block_size;
    totals->held_bytes += statistics.held_bytes;
}

lido_heap_statistics lido_process_stats(void) {
    small_totals small = {0, 0};
    lido__registry_each(add_pool, &small);
    lido__segment_totals segments = lido__segments_totals();
    lido__mapping_totals huge = lido__mappings_totals();
    size_t threads = lido__threads_count();
    // runs that are neither slabs nor thread structures are large objects
    size_t own = small.held_bytes + lido__threads_structures() * LIDO__SLICE_BYTES;
    size_t large = segments.used_bytes > own ? segments.used_bytes - own : 0;
    return (lido_heap_statistics){
        .live_bytes = small.live_bytes + large + huge.bytes,
        .held_bytes = segments.reserved_bytes + huge.bytes + huge.cached_bytes,
        .committed_bytes = segments.committed_bytes + huge.bytes + huge.cached_bytes,
        .dirty_free_bytes = segments.dirty_free_bytes + huge.cached_bytes,
        .segment_count = segments.segments,
        .huge_count = huge.count,
        .huge_bytes = huge.bytes,
        .thread_count = threads,
    };
}

__attribute__((destructor)) static void line_at_exit(void) {
    if (LIDO__ATOMIC_LOAD(&lido__options.stats_at_exit, relaxed) == 0) return;
    lido_heap_statistics now = lido_process_stats();
    lido__warn("%s (process %u) at exit: live %z bytes, committed %z, free and kept %z, segments %z, huge objects %z, "
               "threads %z",
               program_invocation_short_name, (unsigned)getpid(), now.live_bytes, now.committed_bytes,
               now.dirty_free_bytes, now.segment_count, now.huge_count, now.thread_count);
}
