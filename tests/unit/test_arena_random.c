// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Random sequences of every call on a tree of three arenas against a shadow model: which blocks are alive, what is in
// them, which marks are good, and which cleanups must run, in which order. The system may refuse memory at any step.
//
// The model is a stack: blocks, marks and cleanups of one arena in the order in which they were made. A rewind cuts it.
#include "support.h"

#include "arena/arena.h"
#include "os/os.h"

#include <errno.h>
#include <lido/heap.h>
#include <stdlib.h>

enum { ARENAS = 3, ENTRIES_MAX = 600, STEPS = 3000, ROUNDS = 40 };

typedef enum item_kind { BLOCK, MARK, CLEANUP, CHILD } item_kind;

typedef struct item {
    item_kind kind;
    unsigned char *block;
    size_t size;
    unsigned char fill;
    lido_arena_point point;
    unsigned number;    // of a cleanup, and of the arena that a CHILD entry stands for
} item;

typedef struct model {
    lido_arena *arena;    // NULL: not there
    item entries[ENTRIES_MAX];
    size_t count;
    size_t high_water;    // most bytes used after any step
} model;

static model shadows[ARENAS];    // each the parent of the next
static uint64_t seed;
static size_t limit;

// Cleanups must come in exactly this order.
static unsigned expected[ARENAS * ENTRIES_MAX];
static size_t expected_count, came;
static unsigned next_number;

static uint64_t below(uint64_t n) { return unit_random(&seed) % n; }

static void on_cleanup(void *argument) {
    assert_true(came < expected_count);
    assert_int_equal((uintptr_t)argument, expected[came]);
    came++;
}

static void check_block(const item *entry) {
    for (size_t i = 0; i < entry->size; i++) assert_int_equal(entry->block[i], entry->fill);
}

static void check(const model *shadow) {
    if (shadow->arena == NULL) return;
    assert_true(lido__arena_verify(shadow->arena));
    size_t bytes = 0;
    for (size_t i = 0; i < shadow->count; i++) {
        const item *entry = &shadow->entries[i];
        if (entry->kind != BLOCK) continue;
        check_block(entry);
        assert_true(lido_arena_owns(shadow->arena, entry->block));
        bytes += entry->size;
    }
    lido_arena_statistics statistics = lido_arena_stats(shadow->arena);
    assert_true(statistics.used_bytes >= bytes && statistics.high_water_bytes >= statistics.used_bytes);
    assert_true(statistics.held_bytes >= statistics.used_bytes && (limit == 0 || statistics.held_bytes <= limit));
}

static void check_figures(model *shadow) {
    if (shadow->arena == NULL) return;
    assert_true(lido__arena_verify(shadow->arena));
    lido_arena_statistics statistics = lido_arena_stats(shadow->arena);
    if (statistics.used_bytes > shadow->high_water) shadow->high_water = statistics.used_bytes;
    assert_int_equal(statistics.high_water_bytes, shadow->high_water);
}

static void check_all(void) {
    for (int i = 0; i < ARENAS; i++) check(&shadows[i]);
}

// Takes the entries from `from` on out of the model, and notes which cleanups must run for that.
static void cut(model *shadow, size_t from) {
    while (shadow->count > from) {
        const item *entry = &shadow->entries[--shadow->count];
        if (entry->kind == CLEANUP) expected[expected_count++] = entry->number;
        if (entry->kind == CHILD) {
            cut(&shadows[entry->number], 0);
            shadows[entry->number].arena = NULL;
        }
    }
}

static item *push(model *shadow, item_kind kind) {
    item *entry = &shadow->entries[shadow->count++];
    entry->kind = kind;
    return entry;
}

static void push_block(model *shadow, void *block, size_t size) {
    item *entry = push(shadow, BLOCK);
    entry->block = (unsigned char *)block;
    entry->size = size;
    entry->fill = (unsigned char)below(256);
    memset(block, entry->fill, size);
}

static size_t some_size(void) {
    uint64_t kind = below(100);
    return kind < 70 ? below(100) : kind < 95 ? below(3000) : kind < 99 ? below(40000) : below(2 << 20);
}

// --- the steps ------------------------------------------------------------------------------------------------------

static void step_alloc(model *shadow) {
    size_t size = some_size(), alignment = (size_t)1 << (below(20) == 0 ? below(22) : below(8));
    bool plain = below(2) == 0;
    void *block =
        plain ? lido_arena_alloc(shadow->arena, size) : lido_arena_alloc_aligned(shadow->arena, alignment, size);
    if (block == NULL) {
        assert_int_equal(errno, ENOMEM);
        return;
    }
    assert_int_equal((uintptr_t)block & ((plain ? LIDO_ARENA_ALIGNMENT : alignment) - 1), 0);
    push_block(shadow, block, size);
}

static void step_text(model *shadow) {
    int width = (int)below(200);
    char *text = lido_arena_printf(shadow->arena, "%*d", width, 7);
    if (text == NULL) return;
    size_t length = width > 1 ? (size_t)width : 1;
    assert_true(strlen(text) == length && text[length - 1] == '7');
    push_block(shadow, text, length + 1);
}

static void step_mark(model *shadow) { push(shadow, MARK)->point = lido_arena_mark(shadow->arena); }

static void step_defer(model *shadow) {
    unsigned number = ++next_number;
    if (lido_arena_defer(shadow->arena, on_cleanup, (void *)(uintptr_t)number) == 0)
        push(shadow, CLEANUP)->number = number;
}

// The newest block, if nothing stands above it: a mark would tie what it gains to the rewind.
static void step_resize(model *shadow) {
    if (shadow->count == 0 || shadow->entries[shadow->count - 1].kind != BLOCK) return;
    item *entry = &shadow->entries[shadow->count - 1];
    size_t size = some_size(), least = size < entry->size ? size : entry->size;
    unsigned char *moved = lido_arena_realloc(shadow->arena, entry->block, entry->size, size);
    if (moved == NULL) {
        assert_int_equal(errno, ENOMEM);
        assert_true(size > entry->size);
        return;
    }
    for (size_t i = 0; i < least; i++) assert_int_equal(moved[i], entry->fill);
    shadow->count--;    // where it moved away from, nothing is expected any more
    push_block(shadow, moved, size);
}

static void step_rewind(model *shadow) {
    size_t marks[ENTRIES_MAX], count = 0;
    for (size_t i = 0; i < shadow->count; i++) {
        if (shadow->entries[i].kind == MARK) marks[count++] = i;
    }
    if (count == 0) return;
    // most rewinds are to near marks
    size_t chosen = marks[count - 1 - (below(4) == 0 ? below(count) : below(count < 3 ? count : 3))];
    expected_count = came = 0;
    cut(shadow, chosen + 1);
    lido_arena_rewind(shadow->arena, shadow->entries[chosen].point);
    assert_int_equal(came, expected_count);
}

static void step_reset(model *shadow) {
    expected_count = came = 0;
    cut(shadow, 0);
    lido_arena_reset(shadow->arena);
    assert_int_equal(came, expected_count);
    assert_int_equal(lido_arena_stats(shadow->arena).used_bytes, 0);
}

static void step_child(unsigned number) {
    if (number + 1 == ARENAS || shadows[number + 1].arena != NULL) return;
    lido_arena *child = lido_arena_new(
        &(lido_arena_options){.parent = shadows[number].arena, .chunk_bytes = 1024u << below(4), .limit_bytes = limit});
    if (child == NULL) return;
    shadows[number + 1].arena = child;
    shadows[number + 1].high_water = 0;
    push(&shadows[number], CHILD)->number = number + 1;
}

static void step_free_child(unsigned number) {
    if (number == 0) return;
    model *parent = &shadows[number - 1], *child = &shadows[number];
    expected_count = came = 0;
    cut(child, 0);
    lido_arena_free(child->arena);
    child->arena = NULL;
    assert_int_equal(came, expected_count);
    size_t i = 0;
    while (parent->entries[i].kind != CHILD) i++;
    memmove(&parent->entries[i], &parent->entries[i + 1], (parent->count - i - 1) * sizeof(item));
    parent->count--;
}

static void step(void) {
    unsigned number = (unsigned)below(ARENAS);
    model *shadow = &shadows[number];
    if (shadow->arena == NULL) return;
    if (shadow->count == ENTRIES_MAX) {
        step_reset(shadow);
        return;
    }
    uint64_t kind = below(1000);
    if (kind < 500)
        step_alloc(shadow);
    else if (kind < 570)
        step_text(shadow);
    else if (kind < 690)
        step_mark(shadow);
    else if (kind < 770)
        step_defer(shadow);
    else if (kind < 850)
        step_resize(shadow);
    else if (kind < 955)
        step_rewind(shadow);
    else if (kind < 960)
        step_reset(shadow);
    else if (kind < 985)
        step_child(number);
    else if (kind < 990)
        step_free_child(number);
    else
        lido_arena_trim(shadow->arena, below(2) * 65536);
}

static void run(const lido_arena_options *options, bool failures) {
    limit = options->limit_bytes;
    for (int i = 0; i < ARENAS; i++) shadows[i] = (model){0};
    shadows[0].arena = lido_arena_new(options);
    assert_non_null(shadows[0].arena);
    for (int i = 0; i < STEPS; i++) {
        if (failures) lido__os_fail_from(1 + (uint32_t)below(3), (uint32_t)below(3));
        step();
        lido__os_fail_from(0, 0);
        for (int j = 0; j < ARENAS; j++) check_figures(&shadows[j]);
        if (i % 64 == 0) check_all();
        if (failures && i % 512 == 0) lido_trim(0);    // so that memory has to come from the system
    }
    check_all();
    expected_count = came = 0;
    cut(&shadows[0], 0);
    lido_arena_free(shadows[0].arena);
    assert_int_equal(came, expected_count);
}

static void sequences(void **state) {
    (void)state;
    seed = unit_seed("arena", 20020611);
    static unsigned char buffer[64 << 10];
    size_t before = lido_process_stats().live_bytes;
    for (int round = 0; round < ROUNDS; round++) {
        lido_arena_options options = {.chunk_bytes = 1024u << below(8)};
        if (below(2) == 0) options.limit_bytes = 10000 + below(3 << 20);
        if (below(3) == 0) {
            options.buffer = buffer + below(32);
            options.buffer_bytes = 2048 + below(7) * 1024;
            options.fixed = below(2) == 0;
            if (options.fixed) options.buffer_bytes = sizeof buffer - 32;
            if (options.limit_bytes != 0) options.limit_bytes += sizeof buffer;
        }
        run(&options, below(3) == 0);
        assert_int_equal(lido_process_stats().live_bytes, before);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sequences)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
