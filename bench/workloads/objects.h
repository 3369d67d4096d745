// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects with a constructor that works: it fills a table to the end of the block. lido-object constructs each time, lido-kept
// hands out objects that were released and are still constructed; with all others the workload constructs.
#include "workloads/parts/object_type.h"
#include "workloads/parts/optional.h"

enum { OBJECTS_LIVE_MAX = 1 << 16 };
BENCH_TABLE built_object *objects_live[OBJECTS_LIVE_MAX];

static inline built_object *objects_create(const bench_run *run, bench_slot slot, size_t size, uint64_t serial) {
    void *block = bench_need(run, slot_alloc(slot));
    if (!SLOT_CONSTRUCTS) built_construct(block, size);
    built_object *object = (built_object *)block;
    object->serial = serial;
    bench_escape(object);
    return object;
}

static inline uint64_t objects_destroy(bench_slot slot, built_object *object, size_t size) {
    uint64_t sum = object->serial + object->built + built_last(object, size);
    if (!SLOT_CONSTRUCTS) built_destroy(object);
    slot_free(slot, object);
    return sum;
}

static uint64_t objects_pass(const bench_run *run, bench_slot slot, size_t size, uint64_t count, uint64_t live) {
    uint64_t sum = 0, at = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += objects_destroy(slot, objects_live[at], size) * (i + 1);
        objects_live[at] = objects_create(run, slot, size, i);
        if (++at == live) at = 0;
    }
    return sum;
}

static void objects_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), live = bench_value(run, "live");
    size_t size = (size_t)bench_value(run, "size");
    bench_slot_options options = {size, 0, (size_t)live};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    for (uint64_t i = 0; i < live; i++) objects_live[i] = objects_create(run, slot, size, i);
    objects_pass(run, slot, size, count, live);    // leaves the objects as each pass leaves them
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = objects_pass(run, slot, size, count, live);
        bench_stop(run, count, sum);
    }
    for (uint64_t i = 0; i < live; i++) objects_destroy(slot, objects_live[i], size);
    slot_close(slot);
}

BENCH_WORKLOAD(objects, BENCH_OBJECTS, "one object destroyed and one created",
               "objects whose constructor fills 248 of 264 bytes: constructed each time, or kept constructed",
               {"count", 500000, 1, 1000000000, "steps in a pass"}, {"live", 64, 1, OBJECTS_LIVE_MAX, "objects alive"},
               {"size", 264, BUILT_SIZE_LEAST, 65536, "bytes of an object"});
