// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// An event, created and destroyed at once: its constructor writes a header of 24 bytes and clears the room for the name; the
// name and the payload behind it are not touched.
#include "worker/worker.h"

#include <string.h>

typedef struct event264_head {
    uint64_t time, source;
    uint32_t kind, length;
    char name[48];
} event264_head;

enum { EVENT264_SIZE_LEAST = sizeof(event264_head) };

static uint64_t event264_pass(const bench_run *run, bench_slot slot, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        event264_head *event = (event264_head *)bench_need(run, slot_alloc(slot));
        event->time = i;
        event->source = i >> 4;
        event->kind = (uint32_t)(i % 7);
        event->length = 0;
        memset(event->name, 0, sizeof event->name);
        bench_escape(event);
        sum += event->time + 3 * event->source + 5 * event->kind + event->length + (uint64_t)event->name[47];
        event->kind = UINT32_MAX;
        bench_escape(event);
        slot_free(slot, event);
    }
    return sum;
}

static void event264_run(bench_run *run) {
    uint64_t count = bench_value(run, "count");
    bench_slot_options options = {(size_t)bench_value(run, "size"), 0, 1};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    event264_pass(run, slot, count / 10 + 1);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = event264_pass(run, slot, count);
        bench_stop(run, count, sum);
    }
    slot_close(slot);
}

BENCH_WORKLOAD(event264, BENCH_SINGLE, "one event created and destroyed",
               "create an event of 264 bytes, destroy it at once; its constructor writes 72 of them",
               {"count", 1000000, 1, 1000000000, "events in a pass"},
               {"size", 264, EVENT264_SIZE_LEAST, 1048576, "bytes of an event"});
