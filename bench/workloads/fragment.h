// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A long run whose sizes shift: a phase fills memory with blocks of one size, frees all but one in eight at random, and the next
// phase does the same with larger ones. What survives holds pages that the next size may not be able to use. Survivors live
// for five more phases; after the largest size the smallest follows. The peak of memory against live_peak_bytes is the point.
#include "worker/worker.h"

enum { FRAGMENT_SIZES = 6, FRAGMENT_KB_MAX = 64 << 10, FRAGMENT_KEPT = 8 };
static const size_t fragment_sizes[FRAGMENT_SIZES] = {32, 64, 128, 256, 512, 1024};

BENCH_TABLE uint64_t *fragment_blocks[FRAGMENT_KB_MAX * 1024 / 32];
BENCH_TABLE uint64_t *fragment_survivors[FRAGMENT_SIZES][FRAGMENT_KB_MAX * 1024 / 32 / FRAGMENT_KEPT + 1];
static uint64_t fragment_survivor_count[FRAGMENT_SIZES];

typedef struct fragment_result {
    uint64_t ops, sum, live_bytes, peak_bytes;
} fragment_result;

static uint64_t fragment_end(bench_slot slot, uint64_t *block, size_t size) {
    uint64_t sum = block[0] + 3 * block[size / 8 - 1];
    slot_free(slot, block);
    return sum;
}

// The survivors of the last phase of this size.
static void fragment_retire(bench_slot slot, int kind, fragment_result *result) {
    uint64_t count = fragment_survivor_count[kind];
    for (uint64_t i = 0; i < count; i++)
        result->sum += fragment_end(slot, fragment_survivors[kind][i], fragment_sizes[kind]) * (i + 1);
    fragment_survivor_count[kind] = 0;
    result->live_bytes -= count * fragment_sizes[kind];
}

static void fragment_phase(const bench_run *run, bench_slot slot, int kind, uint64_t bytes, uint64_t *state,
                           fragment_result *result) {
    size_t size = fragment_sizes[kind];
    uint64_t count = bytes / size;
    fragment_retire(slot, kind, result);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *block = (uint64_t *)bench_need(run, slot_alloc(slot));
        block[0] = i;
        block[size / 8 - 1] = i >> 3;
        fragment_blocks[i] = block;
    }
    result->ops += count;
    result->live_bytes += count * size;
    if (result->live_bytes > result->peak_bytes) result->peak_bytes = result->live_bytes;
    for (uint64_t left = count; left > count / FRAGMENT_KEPT;) {
        uint64_t at = (bench_random(state) >> 32) * left >> 32;
        result->sum += fragment_end(slot, fragment_blocks[at], size) * left;
        fragment_blocks[at] = fragment_blocks[--left];
    }
    for (uint64_t i = 0; i < count / FRAGMENT_KEPT; i++) fragment_survivors[kind][i] = fragment_blocks[i];
    fragment_survivor_count[kind] = count / FRAGMENT_KEPT;
    result->live_bytes -= (count - count / FRAGMENT_KEPT) * size;
}

static fragment_result fragment_pass(const bench_run *run, const bench_slot *slots, uint64_t count, uint64_t bytes) {
    fragment_result result = {0, 0, 0, 0};
    uint64_t state = 88172645463325252u;
    for (uint64_t phase = 0; phase < count; phase++) {
        int kind = (int)(phase % FRAGMENT_SIZES);
        fragment_phase(run, slots[kind], kind, bytes, &state, &result);
    }
    for (int kind = 0; kind < FRAGMENT_SIZES; kind++) fragment_retire(slots[kind], kind, &result);
    return result;
}

static void fragment_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), bytes = bench_value(run, "kb") * 1024;
    bench_slot slots[FRAGMENT_SIZES];
    bench_slots_bytes(32 + 64 + 128 + 256 + 512 + 1024);
    for (int i = 0; i < FRAGMENT_SIZES; i++) {
        bench_slot_options options = {fragment_sizes[i], 0, (size_t)(bytes / fragment_sizes[i] + 1)};
        if (!slot_open(&slots[i], &options)) bench_fail(run, "cannot open the allocator");
    }
    fragment_result result = {0, 0, 0, 0};
    while (bench_more(run)) {    // without warm-up: it would leave the pages of the first phase
        bench_start(run);
        result = fragment_pass(run, slots, count, bytes);
        bench_stop(run, result.ops, result.sum);
    }
    bench_count(run, "live_peak_bytes", result.peak_bytes);
    for (int i = 0; i < FRAGMENT_SIZES; i++) slot_close(slots[i]);
}

BENCH_WORKLOAD(fragment, BENCH_SIZES, "one block created and one destroyed",
               "a long run: memory is filled with small blocks, most are freed at random, then with larger ones",
               {"count", 12, 1, 1000000, "phases in a pass, of blocks of 32, 64, ... 1024 bytes"},
               {"kb", 4096, 1, FRAGMENT_KB_MAX, "kB that a phase allocates"});
