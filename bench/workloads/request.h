// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A request of a server: it allocates some hundred blocks of several sizes, works, and gives all back at its end.
#include "workloads/parts/optional.h"

enum { REQUEST_SIZES = 5, REQUEST_BATCH_MAX = 65536 };
static const size_t request_sizes[REQUEST_SIZES] = {16, 40, 72, 160, 400};

BENCH_TABLE void *request_blocks[REQUEST_SIZES][REQUEST_BATCH_MAX];

static uint64_t request_serve(const bench_run *run, const bench_slot *slots, uint64_t batch, uint64_t *state) {
    size_t counts[REQUEST_SIZES] = {0};
    uint64_t sum = 0;
    for (uint64_t i = 0; i < batch; i++) {
        uint64_t dice = bench_random(state), kind = (dice & 0xffffffff) * REQUEST_SIZES >> 32;
        uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slots[kind]));
        block[0] = dice;
        block[request_sizes[kind] / 8 - 1] = dice >> 5;
        request_blocks[kind][counts[kind]++] = block;
    }
    bench_escape(request_blocks);
    for (int kind = 0; kind < REQUEST_SIZES; kind++)
        for (size_t i = 0; i < counts[kind]; i++) {
            const uint64_t *block = (const uint64_t *)request_blocks[kind][i];
            sum += (block[0] + 3 * block[request_sizes[kind] / 8 - 1]) * (i + 1);
        }
    for (int kind = 0; kind < REQUEST_SIZES; kind++) slot_release(slots[kind], request_blocks[kind], counts[kind]);
    return sum;
}

static uint64_t request_pass(const bench_run *run, const bench_slot *slots, uint64_t count, uint64_t batch) {
    uint64_t sum = 0, state = 88172645463325252u;
    for (uint64_t i = 0; i < count; i++) sum += request_serve(run, slots, batch, &state) * (i + 1);
    return sum;
}

static void request_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), batch = bench_value(run, "batch");
    bench_slot slots[REQUEST_SIZES];
    bench_slots_bytes(16 + 40 + 72 + 160 + 400);
    for (int i = 0; i < REQUEST_SIZES; i++) {
        bench_slot_options options = {request_sizes[i], 0, (size_t)batch};
        if (!slot_open(&slots[i], &options)) bench_fail(run, "cannot open the allocator");
    }
    request_pass(run, slots, count / 10 + 1, batch);
    while (bench_more(run)) {
        bench_start(run);
        uint64_t sum = request_pass(run, slots, count, batch);
        bench_stop(run, count * batch, sum);
    }
    for (int i = 0; i < REQUEST_SIZES; i++) slot_close(slots[i]);
}

BENCH_WORKLOAD(request, BENCH_REGION, "one block allocated, and given back with all others",
               "a request of 200 blocks of 16 to 400 bytes, all given back at its end",
               {"count", 5000, 1, 100000000, "requests in a pass"},
               {"batch", 200, 1, REQUEST_BATCH_MAX, "blocks of a request"});
