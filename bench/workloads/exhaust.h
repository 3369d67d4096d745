// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The end of a pool: with a capacity of 4 the fifth request fails; after one release the next succeeds; all are returned: 0
// alive, 5 constructed, 5 destroyed. Any other outcome fails the process. A pass does that many times over.
#include "worker/object.h"
#include "worker/worker.h"

enum { EXHAUST_CAPACITY_MAX = 1024 };

typedef struct exhaust_book {
    uint64_t constructed, destroyed, alive, refused, sum;
} exhaust_book;

static bench_object *exhaust_make(bench_slot slot, exhaust_book *book) {
    void *block = slot_alloc(slot);
    if (block == NULL) {
        book->refused++;
        return NULL;
    }
    book->alive++;
    return object_construct(block, book->constructed++);
}

static void exhaust_end(bench_slot slot, exhaust_book *book, bench_object *object) {
    bench_escape(object);
    book->sum += object_destroy(object) * ++book->destroyed;
    book->alive--;
    slot_free(slot, object);
}

static exhaust_book exhaust_once(const bench_run *run, bench_slot slot, uint64_t capacity) {
    bench_object *objects[EXHAUST_CAPACITY_MAX];
    exhaust_book book = {0, 0, 0, 0, 0};
    for (uint64_t i = 0; i < capacity; i++)
        if ((objects[i] = exhaust_make(slot, &book)) == NULL) bench_fail(run, "refused a block within the capacity");
    if (exhaust_make(slot, &book) != NULL) bench_fail(run, "gave a block beyond the capacity");
    exhaust_end(slot, &book, objects[capacity / 2]);
    objects[capacity / 2] = exhaust_make(slot, &book);
    if (objects[capacity / 2] == NULL) bench_fail(run, "refused a block after one was given back");
    for (uint64_t i = 0; i < capacity; i++) exhaust_end(slot, &book, objects[i]);
    if (book.alive != 0 || book.constructed != capacity + 1 || book.destroyed != capacity + 1 || book.refused != 1)
        bench_fail(run, "objects were lost");
    return book;
}

static void exhaust_run(bench_run *run) {
    uint64_t count = bench_value(run, "count"), capacity = bench_value(run, "capacity");
    bench_slot_options options = {(size_t)bench_value(run, "size"), (size_t)capacity, (size_t)capacity};
    bench_slot slot;
    if (!slot_open(&slot, &options)) bench_fail(run, "cannot open the allocator");
    exhaust_book book = exhaust_once(run, slot, capacity);
    while (bench_more(run)) {
        uint64_t sum = 0;
        bench_start(run);
        for (uint64_t i = 0; i < count; i++) {
            book = exhaust_once(run, slot, capacity);
            sum += book.sum;
        }
        bench_stop(run, count, sum);
    }
    bench_count(run, "refused", book.refused);
    bench_count(run, "constructed", book.constructed);
    bench_count(run, "destroyed", book.destroyed);
    bench_count(run, "alive", book.alive);
    slot_close(slot);
}

BENCH_WORKLOAD(exhaust, BENCH_CAPACITY, "a pool filled, one refusal, one replaced, all returned",
               "capacity 4: the fifth request fails; one is returned and the next succeeds; 5 constructed, 5 destroyed",
               {"count", 300000, 1, 100000000, "times in a pass"},
               {"capacity", 4, 1, EXHAUST_CAPACITY_MAX, "blocks of the pool"},
               {"size", BENCH_OBJECT_SIZE, BENCH_OBJECT_SIZE, 65536, "bytes of a block"});
