// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The floor that pools are measured against: an intrusive list of free blocks over one piece of memory, inline, with no
// growth, no check but for an empty list, and no owner. Opened with all blocks on the list.
#include "worker/worker.h"

#include <stdlib.h>

typedef struct bare_link {
    struct bare_link *next;
} __attribute__((may_alias)) bare_link;

typedef struct bare_list {
    bare_link *free;
    uint64_t bytes;
    unsigned char *memory;
} bare_list;

typedef bare_list *bench_slot;

enum { SLOT_IS_SHARED = 0, SLOT_IS_HEAP = 0 };

static inline void *slot_alloc(bench_slot slot) {
    bare_link *block = slot->free;
    if (__builtin_expect(block == NULL, 0)) return NULL;
    slot->free = block->next;
    return block;
}

static inline void slot_free(bench_slot slot, void *block) {
    bare_link *link = (bare_link *)block;
    link->next = slot->free;
    slot->free = link;
}

static inline bool slot_open(bench_slot *slot, const bench_slot_options *options) {
    size_t size = (options->size + 7) & ~(size_t)7;
    size_t count = options->capacity != 0 ? options->capacity : options->most_live;
    bare_list *list = (bare_list *)malloc(sizeof *list);
    if (list == NULL) return false;
    list->free = NULL;
    list->bytes = size * count;
    list->memory = (unsigned char *)malloc(list->bytes);
    if (list->memory == NULL) return false;
    for (size_t i = count; i-- > 0;) slot_free(list, list->memory + i * size);
    *slot = list;
    return true;
}

static inline void slot_close(bench_slot slot) {
    free(slot->memory);
    free(slot);
}

static inline bench_requests slot_requests(const bench_slot *slot) {
    bench_requests asked = {1, (*slot)->bytes};
    return asked;
}

#include "workloads_all.h"

BENCH_BACKEND(bare_list_backend, "bare-list", BENCH_PAIR | BENCH_SINGLE | BENCH_REGION | BENCH_CAPACITY | BENCH_OBJECTS,
              "a bare intrusive free list, inline: the floor for pools");
