// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool saves and what it does not: churn, with a count of everything. A heap counts one request a block; a pool
// counts what it asked its own source for. Constructions, destructions and contents are the same for both.
#include "worker/object.h"

typedef struct ledger_book {
    uint64_t blocks, bytes, constructed, destroyed, sum;
} ledger_book;

static ledger_book ledger_pass(const bench_run *run, bench_slot slot, uint64_t count, uint64_t size) {
    ledger_book book = {0, 0, 0, 0, 0};
    for (uint64_t i = 0; i < count; i++) {
        void *block = bench_need(run, slot_alloc(slot));
        book.blocks++;
        book.bytes += size;
        bench_object *object = object_construct(block, i);
        book.constructed++;
        bench_escape(object);
        book.sum += object_destroy(object);
        book.destroyed++;
        bench_escape(object);
        slot_free(slot, object);
    }
    return book;
}

static void ledger_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), size = bench_value(run, "size");
    bench_slot_options options = {size, bench_value(run, "capacity"), 1};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    ledger_book book = {0, 0, 0, 0, 0};
    ledger_pass(run, slot, count / 10 + 1, size);
    while (bench_more(run)) {
        bench_start(run);
        book = ledger_pass(run, slot, count, size);
        bench_stop(run, count, book.sum);
    }
    if (book.constructed != book.destroyed || book.constructed != count) bench_fail(run, "objects were lost");
    bench_requests asked = slot_requests(&slot);
    bool heap = SLOT_IS_HEAP;    // every block is a request of its own
    bench_count(run, "heap_allocations", heap ? book.blocks : asked.count);
    bench_count(run, "heap_bytes", heap ? book.bytes : asked.bytes);
    bench_count(run, "constructed", book.constructed);
    bench_count(run, "destroyed", book.destroyed);
    slot_close(slot);
}

BENCH_WORKLOAD(ledger, BENCH_LEDGER, "one object created and destroyed, and counted",
               "churn with a ledger: heap allocations, bytes asked for, constructions, destructions, contents",
               {"count", 1000000, 1, 1000000000, "objects in a pass"},
               {"size", BENCH_OBJECT_SIZE, BENCH_OBJECT_SIZE, 65536, "bytes of a block"},
               {"capacity", 4096, 0, 1000000, "hard limit of a pool, 0 for none"});
