// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Check mode from the API: what each level sees, by the first line of its report; that a report does not stop the program
// with on_misuse=continue, that blocks rest, and that correct use says nothing. Each kind of misuse in a process of its own is in
// tests/check.
#include "support.h"

#include "check/check.h"
#include "check/zone.h"
#include "os/os.h"

#include <lido/arena.h>
#include <lido/handle.h>
#include <lido/heap.h>
#include <lido/object.h>
#include <lido/options.h>
#include <lido/pool.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *hide(const volatile void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return (void *)(uintptr_t)p;
}

static int set_up(void **state) {
    (void)state;
    return lido_options_set("on_misuse=continue:check=off:check_rest_kb=8192");
}

static const lido_check_level levels[] = {LIDO_CHECK_LIGHT, LIDO_CHECK_GUARD, LIDO_CHECK_PAGE};

static lido_pool *pool_of(lido_check_level level, lido_threads threads, size_t block_size) {
    lido_pool *pool = lido_pool_new(
        &(lido_pool_options){.name = "task", .block_size = block_size, .threads = threads, .check = level});
    assert_non_null(pool);
    return pool;
}

// The first line of what was caught.
static const char *first_line(const char *caught) {
    static char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(caught, "\n"), caught);
    return line;
}

static void assert_first(const char *caught, const char *format, ...) {
    char wanted[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wanted, sizeof wanted, format, arguments);
    va_end(arguments);
    assert_string_equal(first_line(caught), wanted);
}

static void correct_use_says_nothing(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    static char *blocks[COUNT];
    unit_catch_begin();
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        for (lido_threads threads = LIDO_LOCAL; threads <= LIDO_CONFINED; threads++) {
            for (size_t size = 1; size <= 9000; size = size * 9 + 3) {
                lido_pool *pool = pool_of(levels[l], threads, size);
                for (int round = 0; round < 3; round++) {
                    size_t count = levels[l] == LIDO_CHECK_PAGE ? 100 : COUNT;
                    for (size_t i = 0; i < count; i++) memset(blocks[i] = lido_pool_alloc(pool), (int)i, size);
                    for (size_t i = 0; i < count; i++) assert_int_equal((unsigned char)blocks[i][size - 1], i & 255);
                    assert_int_equal(lido_pool_stats(pool).live, count);
                    for (size_t i = 0; i < count; i++) lido_pool_free(pool, blocks[i]);
                    assert_int_equal(lido_pool_stats(pool).live, 0);
                }
                lido_pool_destroy(pool);
            }
        }
    }
    assert_int_equal(lido_check_all(), 0);
    assert_string_equal(unit_catch_end(), "");
}

static void alignments_are_honoured(void **state) {
    (void)state;
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        for (size_t alignment = 1; alignment <= 65536; alignment *= 4) {
            lido_pool *pool =
                lido_pool_new(&(lido_pool_options){.block_size = 100, .alignment = alignment, .check = levels[l]});
            for (int i = 0; i < 20; i++) {
                char *block = lido_pool_alloc(pool);
                assert_int_equal((uintptr_t)block % alignment, 0);
                memset(block, 1, 100);
            }
            lido_pool_reset(pool);
            lido_pool_destroy(pool);
        }
    }
    lido_options_set("check=guard");
    for (size_t alignment = 1; alignment <= 8 << 20; alignment *= 2) {
        char *block = lido_aligned_alloc(alignment, 3 * alignment);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % alignment, 0);
        block[0] = block[3 * alignment - 1] = 1;
        lido_free(block);
    }
    assert_int_equal(lido_check_all(), 0);
}

static void a_capacity_is_exact(void **state) {
    (void)state;
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        lido_pool *pool = lido_pool_new(
            &(lido_pool_options){.block_size = 64, .capacity = 4, .threads = LIDO_SHARED, .check = levels[l]});
        void *blocks[4];
        for (int i = 0; i < 4; i++) assert_non_null(blocks[i] = lido_pool_alloc(pool));
        errno = 0;
        assert_null(lido_pool_alloc(pool));
        assert_int_equal(errno, ENOMEM);
        lido_pool_free(pool, blocks[2]);
        assert_non_null(blocks[2] = lido_pool_alloc(pool));
        assert_null(lido_pool_alloc(pool));
        for (int i = 0; i < 4; i++) lido_pool_free(pool, blocks[i]);
        lido_pool_destroy(pool);
    }
}

static void double_free(void **state) {
    (void)state;
    for (lido_threads threads = LIDO_LOCAL; threads <= LIDO_CONFINED; threads++) {
        lido_pool *pool = pool_of(LIDO_CHECK_LIGHT, threads, 48);
        char *block = lido_pool_alloc(pool), *other = lido_pool_alloc(pool);
        lido_pool_free(pool, block);
        unit_catch_begin();
        lido_pool_free(pool, block);
        assert_first(unit_catch_end(), "lido: free(%p): double free of a block of 48 bytes of pool 'task'",
                     (void *)block);
        assert_int_equal(lido_pool_stats(pool).live, 1);
        lido_pool_free(pool, other);
        lido_pool_destroy(pool);
    }
    for (int l = 1; l < 3; l++) {
        lido_pool *pool = pool_of(levels[l], LIDO_SHARED, 48);
        char *block = lido_pool_alloc(pool);
        lido_pool_free(pool, block);
        for (int i = 0; i < 50; i++) lido_pool_free(pool, lido_pool_alloc(pool));    // long after
        unit_catch_begin();
        lido_pool_free(pool, block);
        assert_first(unit_catch_end(),
                     "lido: lido_pool_free(%p): double free; 0 bytes into a block of 48 bytes of pool 'task'",
                     (void *)block);
        lido_pool_destroy(pool);
    }
}

static void writes_around_a_block(void **state) {
    (void)state;
    lido_pool *pool = pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 41);
    for (size_t length = 1; length <= 12; length++) {
        char *block = hide(lido_pool_alloc(pool));
        memset(block + 41, 1, length);
        unit_catch_begin();
        lido_pool_free(pool, block);
        assert_first(
            unit_catch_end(),
            "lido: lido_pool_free(%p): write behind the end; 0 bytes behind a block of 41 bytes of pool 'task'; "
            "%zu bytes damaged",
            (void *)(block + 41), length);
        block = hide(lido_pool_alloc(pool));
        memset(block - length, 1, length);
        unit_catch_begin();
        assert_int_equal(lido_check_all(), 1);
        assert_first(
            unit_catch_end(),
            "lido: %p: write before the start; %zu bytes before a block of 41 bytes of pool 'task'; %zu bytes damaged",
            (void *)(block - length), length, length);
        assert_int_equal(lido_check_all(), 0);    // each is reported once
        lido_pool_free(pool, block);
    }
    assert_int_equal(lido_pool_stats(pool).live, 0);
    lido_pool_destroy(pool);
}

static void a_write_after_free(void **state) {
    (void)state;
    lido_pool *pool = pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 64);
    char *block = hide(lido_pool_alloc(pool));
    lido_pool_free(pool, block);
    block[7] = 1;
    unit_catch_begin();
    assert_int_equal(lido_check_all(), 1);
    assert_first(unit_catch_end(),
                 "lido: %p: write after free; 7 bytes into a block of 64 bytes of pool 'task'; 1 bytes damaged",
                 (void *)(block + 7));
    block[9] = 1;
    lido_options_set("check_rest_kb=0");    // it leaves its rest with the next allocation of its size
    unit_catch_begin();
    for (int i = 0; i < 200; i++) lido_pool_free(pool, lido_pool_alloc(pool));
    assert_first(unit_catch_end(),
                 "lido: %p: write after free; 9 bytes into a block of 64 bytes of pool 'task'; 1 bytes damaged",
                 (void *)(block + 9));
    lido_pool_destroy(pool);
}

static void blocks_rest(void **state) {
    (void)state;
    lido_pool *pool = pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 200);
    lido_options_set("check_rest_kb=64");
    char *first = lido_pool_alloc(pool);
    lido_pool_free(pool, first);
    size_t until = 0;
    for (char *block = NULL; block != first; until++) {
        block = lido_pool_alloc(pool);
        lido_pool_free(pool, block);
        assert_true(until < 10000);
    }
    assert_true(until > 64);    // at least so many of each size, whatever else rests
    lido_pool_destroy(pool);
}

static void wrong_pools_and_places(void **state) {
    (void)state;
    lido_pool *pool = pool_of(LIDO_CHECK_GUARD, LIDO_SHARED, 64);
    lido_pool *other =
        lido_pool_new(&(lido_pool_options){.name = "other", .block_size = 64, .check = LIDO_CHECK_GUARD});
    char *block = lido_pool_alloc(pool);
    int local;
    unit_catch_begin();
    lido_pool_free(other, block);
    assert_first(unit_catch_end(),
                 "lido: lido_pool_free(%p): block of another pool; 0 bytes into a block of 64 bytes of pool 'task', "
                 "not of pool 'other'",
                 (void *)block);
    unit_catch_begin();
    lido_pool_free(pool, block + 8);
    assert_first(unit_catch_end(),
                 "lido: lido_pool_free(%p): inside of a block; 8 bytes into a block of 64 bytes of pool 'task'",
                 (void *)(block + 8));
    unit_catch_begin();
    lido_pool_free(pool, hide(&local));
    assert_first(unit_catch_end(), "lido: lido_pool_free(%p): not a block of pool 'task'", (void *)&local);
    assert_true(lido_pool_owns(pool, block) && lido_pool_owns(pool, block + 63) && !lido_pool_owns(other, block));
    assert_ptr_equal(lido_pool_of(block), pool);
    lido_free(block);    // a block leads to its pool
    assert_int_equal(lido_pool_stats(pool).live, 0);
    lido_pool_destroy(pool);
    lido_pool_destroy(other);
}

static void a_destroyed_pool(void **state) {
    (void)state;
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        for (lido_threads threads = LIDO_LOCAL; threads <= LIDO_CONFINED; threads++) {
            lido_pool *pool = pool_of(levels[l], threads, 32);
            lido_pool_free(pool, lido_pool_alloc(pool));
            lido_pool_destroy(pool);
            pool = hide(pool);
            unit_catch_begin();
            assert_null(lido_pool_alloc(pool));
            assert_first(unit_catch_end(), "lido: lido_pool_alloc: pool 'task' was destroyed before");
            unit_catch_begin();
            lido_pool_destroy(pool);
            assert_first(unit_catch_end(), "lido: lido_pool_destroy: pool 'task' was destroyed before");
        }
    }
}

// Their structures stay for a while, but not for good: a program that makes pools without end does not grow.
static void many_destroyed_pools(void **state) {
    (void)state;
    enum { CYCLES = 3000, KEPT = 256 };
    static lido_pool *seen[CYCLES];
    unsigned kinds = 0;
    for (unsigned i = 0; i < CYCLES; i++) {
        lido_pool *pool = pool_of(LIDO_CHECK_LIGHT, LIDO_LOCAL, 32);
        unsigned k = 0;
        while (k < kinds && seen[k] != pool) k++;
        if (k == kinds) seen[kinds++] = pool;
        lido_pool_destroy(pool);
    }
    assert_in_range(kinds, KEPT, KEPT + 32);    // structures are taken 16 at a time
    assert_int_equal(lido_check_leaks(), 0);    // and clears them
    lido_pool *pool = pool_of(LIDO_CHECK_LIGHT, LIDO_LOCAL, 32);
    lido_pool_destroy(pool);
    unit_catch_begin();
    assert_null(lido_pool_alloc(pool));
    assert_first(unit_catch_end(), "lido: lido_pool_alloc: pool 'task' was destroyed before");
}

// Objects of a handle pool come and go in checked blocks; it must still sort and find them.
static bool note_order(void *object, lido_handle handle, void *context) {
    uintptr_t *last = (uintptr_t *)context;
    assert_true((uintptr_t)object > last[0]);
    last[0] = (uintptr_t)object;
    last[1]++;
    if (handle.bits % 3 == 0) lido_handle_delete((lido_handle_pool *)last[2], handle);
    return true;
}

static void handles(void **state) {
    (void)state;
    enum { COUNT = 200 };
    lido_handle given[COUNT];
    for (unsigned level = 1; level < COUNT_OF(levels); level++) {
        lido_options_set(level == 1 ? "check=guard" : "check=page");
        lido_handle_pool *pool = lido_handle_pool_new(&(lido_type){.name = "unit", .size = 40}, NULL);
        for (unsigned i = 0; i < COUNT; i++) given[i] = lido_handle_new(pool, NULL);
        for (unsigned i = 0; i < COUNT; i += 2) assert_true(lido_handle_delete(pool, given[i]));
        for (unsigned i = 0; i < COUNT; i += 4) given[i] = lido_handle_new(pool, NULL);
        for (unsigned i = 0; i < COUNT; i++) {
            char *object = (char *)lido_handle_get(pool, given[i]);
            assert_true((object != NULL) == (i % 4 != 2));
            assert_int_equal(lido_handle_of(pool, object != NULL ? object + 39 : NULL).bits,
                             object != NULL ? given[i].bits : 0);
        }
        uintptr_t order[] = {0, 0, (uintptr_t)pool};
        assert_int_equal(lido_handle_visit(pool, note_order, order), COUNT / 4 * 3);
        assert_int_equal(order[1], COUNT / 4 * 3);
        order[0] = 0;
        size_t left = lido_handle_pool_stats(pool).live;
        assert_int_equal(lido_handle_visit(pool, note_order, order), left);
        lido_handle_pool_destroy(pool);
        unit_catch_begin();
        assert_null(lido_handle_get(pool, given[1]));
        assert_first(unit_catch_end(), "lido: lido_handle_get: handle pool 'unit' was destroyed before");
        unit_catch_begin();
        assert_int_equal(lido_handle_of(pool, &order).bits, 0);
        assert_first(unit_catch_end(), "lido: lido_handle_of: handle pool 'unit' was destroyed before");
        unit_catch_begin();
        assert_int_equal(lido_handle_visit(pool, note_order, order), 0);
        assert_first(unit_catch_end(), "lido: lido_handle_visit: handle pool 'unit' was destroyed before");
        unit_catch_begin();
        assert_int_equal(lido_handle_pool_stats(pool).live, 0);
        assert_first(unit_catch_end(), "lido: lido_handle_pool_stats: handle pool 'unit' was destroyed before");
        set_up(NULL);
    }
}

// An object for which there is no memory leaves its slot and its place in the capacity to the next one. (The rules are read once in
// a process: this one fails one allocation of one name.)
static void handles_without_memory(void **state) {
    (void)state;
    lido_options_set("check=guard:fault=at=2,pool=faulty");
    lido_handle_pool *pool =
        lido_handle_pool_new(&(lido_type){.name = "faulty", .size = 40}, &(lido_handle_options){.capacity = 2});
    lido_handle first = lido_handle_new(pool, NULL);
    errno = 0;
    assert_int_equal(lido_handle_new(pool, NULL).bits, 0);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(lido_handle_pool_stats(pool).live, 1);
    assert_non_null(lido_handle_get(pool, lido_handle_new(pool, NULL)));
    assert_int_equal(lido_handle_new(pool, NULL).bits, 0);    // the capacity
    assert_true(lido_handle_delete(pool, first));
    assert_int_equal(lido_handle_pool_stats(pool).slots, 2);
    lido_handle_pool_destroy(pool);
}

static void stale_after_reset(void **state) {
    (void)state;
    for (size_t l = 0; l < COUNT_OF(levels); l++) {
        lido_pool *pool = pool_of(levels[l], LIDO_SHARED, 32);
        void *block = lido_pool_alloc(pool);
        lido_pool_reset(pool);
        assert_int_equal(lido_pool_stats(pool).live, 0);
        unit_catch_begin();
        lido_pool_free(pool, block);
        assert_true(strstr(unit_catch_end(), levels[l] == LIDO_CHECK_LIGHT
                                                 ? "a block of 32 bytes of pool 'task' that nobody has"
                                                 : "double free") != NULL);
        lido_pool_destroy(pool);
    }
}

static void arenas(void **state) {
    (void)state;
    lido_options_set("check=guard");
    lido_arena *arena = lido_arena_new(&(lido_arena_options){.name = "request"});
    char *kept = hide(lido_arena_strdup(arena, "kept"));
    lido_arena_point mark = lido_arena_mark(arena);
    char *gone = hide(lido_arena_alloc(arena, 40));
    assert_true(lido_arena_owns(arena, gone) && lido_arena_owns(arena, kept));
    lido_arena_rewind(arena, mark);
    assert_true(!lido_arena_owns(arena, gone) && lido_arena_owns(arena, kept));
    assert_string_equal(kept, "kept");
    unit_catch_begin();
    assert_int_equal(lido_check_all(), 0);
    gone[3] = 1;
    assert_int_equal(lido_check_all(), 1);
    const char *caught = unit_catch_end();
    assert_first(caught,
                 "lido: %p: write after free; 3 bytes into a block of 40 bytes of arena 'request'; 1 bytes damaged",
                 (void *)(gone + 3));
    assert_non_null(strstr(caught, ", by rewind:"));
    lido_arena_free(arena);
}

// Of each call on an arena that was freed: what it says, and that nothing comes of it.
static void calls_on_a_dead_arena(lido_arena *arena, lido_arena_point mark, void *block) {
    const char *said = "lido: %s: arena 'request' was freed before";
    unit_catch_begin();
    errno = 0;
    assert_null(lido_arena_alloc(arena, 8));
    assert_int_equal(errno, EINVAL);
    assert_first(unit_catch_end(), said, "lido_arena_alloc");
    unit_catch_begin();
    assert_null(lido_arena_printf(arena, "%d", 1));
    assert_first(unit_catch_end(), said, "lido_arena_alloc");
    unit_catch_begin();
    assert_int_equal(lido_arena_defer(arena, free, block), -1);
    assert_first(unit_catch_end(), said, "lido_arena_alloc");
    unit_catch_begin();
    assert_false(lido_arena_resize(arena, block, 40, 8));
    assert_first(unit_catch_end(), said, "lido_arena_resize");
    unit_catch_begin();
    assert_null(lido_arena_realloc(arena, block, 40, 80));
    assert_first(unit_catch_end(), said, "lido_arena_realloc");
    unit_catch_begin();
    assert_false(lido_arena_owns(arena, block));
    assert_first(unit_catch_end(), said, "lido_arena_owns");
    unit_catch_begin();
    assert_int_equal(lido_arena_trim(arena, 0), 0);
    assert_first(unit_catch_end(), said, "lido_arena_trim");
    unit_catch_begin();
    lido_arena_rewind(arena, mark);
    assert_first(unit_catch_end(), said, "lido_arena_rewind");
    unit_catch_begin();
    lido_arena_reset(arena);
    assert_first(unit_catch_end(), said, "lido_arena_reset");
    unit_catch_begin();
    lido_arena_free(arena);
    assert_first(unit_catch_end(), said, "lido_arena_free");
    unit_catch_begin();
    assert_null(lido_arena_new(&(lido_arena_options){.parent = arena}));
    assert_first(unit_catch_end(), said, "lido_arena_alloc");
}

static void dead_arenas(void **state) {
    (void)state;
    static const char *const options[] = {"check=light", "check=guard", "check=page"};
    for (size_t l = 0; l < COUNT_OF(options); l++) {
        lido_options_set(options[l]);
        lido_arena *parent = lido_arena_new(&(lido_arena_options){.name = "parent", .limit_bytes = 1 << 20});
        size_t held = lido_arena_stats(parent).held_bytes;
        for (int child = 0; child < 2; child++) {
            lido_arena *arena =
                lido_arena_new(&(lido_arena_options){.name = "request", .parent = child == 1 ? parent : NULL});
            lido_arena_point mark = lido_arena_mark(arena);
            void *block = hide(lido_arena_alloc(arena, 40));
            if (child == 1)
                lido_arena_reset(parent);    // ends its children
            else
                lido_arena_free(arena);
            calls_on_a_dead_arena(arena, mark, block);
        }
        // what stays for reports is no longer the parent's
        assert_int_equal(lido_arena_stats(parent).held_bytes, held);
        for (int i = 0; i < 2000; i++) {
            lido_arena *arena = lido_arena_new(&(lido_arena_options){.parent = parent});
            assert_non_null(arena);
            assert_non_null(lido_arena_alloc(arena, 5000));
            lido_arena_free(arena);
        }
        lido_arena_free(parent);
        lido_check_leaks_since(lido_check_moment());    // and so the graves are empty
        set_up(NULL);
    }
}

static void heaps_at_light(void **state) {
    (void)state;
    lido_options_set("check=light");
    for (int bump = 0; bump < 2; bump++) {
        lido_heap *heap = lido_heap_new(&(lido_heap_options){.name = "unit", .bump = bump});
        char *kept = lido_heap_realloc(heap, lido_heap_alloc_aligned(heap, 64, 60), 62);
        assert_int_equal((uintptr_t)kept % 64, 0);    // it fitted
        kept = lido_heap_realloc(heap, memset(kept, 7, 60), 3000);
        assert_int_equal(kept[59], 7);
        void *gone = hide(lido_heap_alloc(heap, 96)), *other = hide(lido_malloc(96));
        lido_heap_free(heap, gone);
        lido_free(other);
        for (size_t size = 90; size <= 900; size *= 10) {    // in place, and moved
            unit_catch_begin();
            assert_null(lido_heap_realloc(heap, gone, size));
            assert_first(unit_catch_end(), "lido: lido_heap_realloc(%p): %s a block of %d bytes", gone,
                         bump == 1 ? "double free of" : "was freed before:", bump == 1 ? 104 : 96);
            unit_catch_begin();
            assert_null(lido_heap_realloc(heap, other, size));
            assert_first(unit_catch_end(), "lido: lido_heap_realloc(%p): was freed before: a block of 96 bytes", other);
        }
        lido_heap_destroy(heap);
        unit_catch_begin();
        errno = 0;
        assert_null(lido_heap_realloc(heap, other, 90));
        assert_int_equal(errno, EINVAL);
        assert_first(unit_catch_end(), "lido: lido_heap_realloc: heap 'unit' was destroyed before");
    }
}

static void malloc_and_realloc(void **state) {
    (void)state;
    lido_options_set("check=guard");
    char *block = hide(lido_malloc(100));
    assert_int_equal(lido_usable_size(block), 100);
    assert_int_equal((unsigned char)block[99], LIDO__CHECK_FRESH);
    strcpy(block, "text");
    char *moved = hide(lido_realloc(block, 100000));
    assert_string_equal(moved, "text");
    assert_int_equal(lido_usable_size(moved), 100000);
    unit_catch_begin();
    assert_null(lido_realloc(block, 10));
    assert_first(unit_catch_end(), "lido: realloc(%p): double free; 0 bytes into a block of 100 bytes of malloc",
                 (void *)block);
    lido_free(moved);
    char *zeroed = lido_calloc(1000, 7);
    for (int i = 0; i < 7000; i++) assert_int_equal(zeroed[i], 0);
    lido_free(zeroed);
    void *nothing = lido_malloc(0);
    assert_non_null(nothing);
    lido_free(nothing);
    char *huge = hide(lido_malloc((size_t)40 << 20));
    huge[0] = huge[((size_t)40 << 20) - 1] = 1;
    assert_int_equal(lido_usable_size(huge), (size_t)40 << 20);
    lido_free(huge);
    unit_catch_begin();
    lido_free_sized(lido_malloc(33), 32);
    assert_non_null(
        strstr(unit_catch_end(), "wrong size; 0 bytes into a block of 33 bytes of malloc, said to have 32"));
}

// --- faults ---------------------------------------------------------------------------------------------------------

static const size_t fault_sizes[] = {16, 4096, 100000, (size_t)40 << 20};

// What "fault N" does, in a process without the signal handlers of the test runner: an odd N reads behind the end of a
// block of fault_sizes[N / 2], an even one its second byte after the free.
static int read_wrongly(int n) {
    lido_options_set("check=page");
    char *block = hide(lido_malloc(fault_sizes[n / 2]));
    fprintf(stderr, "%p\n", (void *)block);
    if (n % 2 != 0) return *(volatile char *)(block + fault_sizes[n / 2]);
    lido_free(block);
    return *(volatile char *)(block + 1);
}

static void run_read(void *argument) {
    char number[8];
    snprintf(number, sizeof number, "%d", *(int *)argument);
    execl("/proc/self/exe", "test", "fault", number, (char *)NULL);
}

static void faults(void **state) {
    (void)state;
    if (UNIT_SANITIZED) skip();    // they handle the signal first
    for (int n = 0; n < 2 * (int)COUNT_OF(fault_sizes); n++) {
        unit_child child = unit_fork(run_read, &n);
        unit_assert_aborted(&child);
        void *block = NULL;
        char wanted[256], *line = strchr(child.text, '\n');
        assert_int_equal(sscanf(child.text, "%p", &block), 1);
        assert_non_null(line);
        size_t bytes = fault_sizes[n / 2];
        if (n % 2 != 0) {
            snprintf(wanted, sizeof wanted,
                     "lido: %p: read behind the end; 0 bytes behind a block of %zu bytes of malloc",
                     (void *)((char *)block + bytes), bytes);
        } else {
            snprintf(wanted, sizeof wanted, "lido: %p: read after free; 1 bytes into a block of %zu bytes of malloc",
                     (void *)((char *)block + 1), bytes);
        }
        assert_string_equal(first_line(line + 1), wanted);
    }
}

static void many_threads(unsigned index, void *argument) {
    lido_pool *pool = (lido_pool *)argument;
    void *mine[64] = {NULL};
    uint32_t random = index * 7919 + 1;
    for (int i = 0; i < 4000; i++) {
        random = random * 1664525 + 1013904223;
        void **place = &mine[random >> 26];
        if (*place != NULL) {
            UNIT_CHECK(*(unsigned *)*place == index);
            (i & 1) != 0 ? lido_free(*place) : lido_pool_free(pool, *place);
        }
        *place = lido_pool_alloc(pool);
        *(unsigned *)*place = index;
        void *other = lido_malloc(random % 5000);
        lido_free(other);
    }
    for (int i = 0; i < 64; i++) lido_pool_free(pool, mine[i]);
}

static void threads(void **state) {
    (void)state;
    for (size_t l = 0; l < 2; l++) {
        lido_options_set(l == 0 ? "check=light" : "check=guard:check_rest_kb=256");
        lido_pool *pool = pool_of(levels[l], LIDO_SHARED, 72);
        unit_catch_begin();
        unit_threads(4, many_threads, pool);
        assert_int_equal(lido_pool_stats(pool).live, 0);
        assert_int_equal(lido_check_all(), 0);
        lido_pool_destroy(pool);
        assert_string_equal(unit_catch_end(), "");
    }
}

static void leaks(void **state) {
    (void)state;
    uint64_t before = lido_check_moment();
    lido_pool *pool = pool_of(LIDO_CHECK_GUARD, LIDO_LOCAL, 56);
    void *kept[3];
    for (int i = 0; i < 3; i++) kept[i] = lido_pool_alloc(pool);
    unit_catch_begin();
    assert_int_equal(lido_check_leaks_since(before), 1);
    const char *caught = unit_catch_end();
    assert_non_null(strstr(caught, "lido: alive: 3 blocks, 168 bytes, of pool 'task', the oldest for "));
    assert_non_null(
        strstr(caught, "lido: alive in all: 3 blocks, 168 bytes, from 1 places; 0 places are suppressed\n"));
    for (int i = 0; i < 3; i++) lido_pool_free(pool, kept[i]);
    unit_catch_begin();
    assert_int_equal(lido_check_leaks_since(before), 0);
    assert_string_equal(unit_catch_end(), "");
    lido_pool_destroy(pool);
}

static void growing(void **state) {
    (void)state;
    lido_pool *pool = pool_of(LIDO_CHECK_OFF, LIDO_SHARED, 56);
    unit_catch_begin();
    lido_check_growing();
    void *block = lido_pool_alloc(pool);
    assert_true(lido_check_growing() >= 1);
    assert_non_null(strstr(unit_catch_end(), "lido: growing: pool 'task' has 1 live blocks of 56 bytes, 1 more than "));
    unit_catch_begin();
    assert_int_equal(lido_check_growing(), 0);
    assert_string_equal(unit_catch_end(), "");
    lido_pool_free(pool, block);
    lido_pool_destroy(pool);
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "fault") == 0) return read_wrongly(atoi(arguments[2]));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(correct_use_says_nothing, set_up),
        cmocka_unit_test_setup(alignments_are_honoured, set_up),
        cmocka_unit_test_setup(a_capacity_is_exact, set_up),
        cmocka_unit_test_setup(double_free, set_up),
        cmocka_unit_test_setup(writes_around_a_block, set_up),
        cmocka_unit_test_setup(a_write_after_free, set_up),
        cmocka_unit_test_setup(blocks_rest, set_up),
        cmocka_unit_test_setup(wrong_pools_and_places, set_up),
        cmocka_unit_test_setup(a_destroyed_pool, set_up),
        cmocka_unit_test_setup(many_destroyed_pools, set_up),
        cmocka_unit_test_setup(handles, set_up),
        cmocka_unit_test_setup(handles_without_memory, set_up),
        cmocka_unit_test_setup(stale_after_reset, set_up),
        cmocka_unit_test_setup(arenas, set_up),
        cmocka_unit_test_setup(dead_arenas, set_up),
        cmocka_unit_test_setup(heaps_at_light, set_up),
        cmocka_unit_test_setup(malloc_and_realloc, set_up),
        cmocka_unit_test_setup(faults, set_up),
        cmocka_unit_test_setup(threads, set_up),
        cmocka_unit_test_setup(leaks, set_up),
        cmocka_unit_test_setup(growing, set_up),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
