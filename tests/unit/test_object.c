// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects: constructors that fail, objects that stay constructed, capacity, alignment, ends of pools, sets of types.
#include "support.h"

#include <assert.h>
#include <errno.h>
#include <lido/heap.h>
#include <lido/lido.h>
#include <lido/object.h>
#include <stdlib.h>

// What a type's callbacks did.
typedef struct book {
    int constructed, destroyed, reset, refused;
    int fail_at;    // the construction, counted from 0, that fails with 1000 + its number; -1: none
    uint64_t sum;
} book;

typedef struct object {
    uint64_t untouched[3];
    char text[28];
    uint32_t tag;
} object;
static_assert(sizeof(object) == 56, "the published workloads use 56 bytes");

enum { TAG = 0x600d };

static int construct(void *p, void *arguments, void *context) {
    book *b = (book *)context;
    object *o = (object *)p;
    int number = b->constructed + b->refused;
    if (number == b->fail_at) {
        b->refused++;
        return 1000 + number;
    }
    b->constructed++;
    memset(o->text, arguments != NULL ? *(const char *)arguments : 'x', sizeof o->text);
    o->tag = TAG;
    return 0;
}

static void destroy(void *p, void *context) {
    book *b = (book *)context;
    object *o = (object *)p;
    assert_int_equal(o->tag, TAG);
    b->destroyed++;
    b->sum += (uint64_t)o->text[27];
    o->tag = 0;
}

static void reset(void *p, void *context) {
    book *b = (book *)context;
    assert_int_equal(((object *)p)->tag, TAG);
    b->reset++;
}

static lido_type type_of(book *b) {
    return (lido_type){.name = "object",
                       .size = sizeof(object),
                       .construct = construct,
                       .destroy = destroy,
                       .reset = reset,
                       .context = b};
}

static lido_object_pool *pool_of(book *b, lido_pool_options pool) {
    lido_type type = type_of(b);
    lido_object_options options = {.pool = pool};
    lido_object_pool *objects = lido_object_pool_new(&type, &options);
    assert_non_null(objects);
    return objects;
}

static const lido_pool_options kinds[] = {
    {.threads = LIDO_LOCAL},
    {.threads = LIDO_SHARED},
    {.threads = LIDO_CONFINED},
    {.order = LIDO_FIFO},
    {.threads = LIDO_SHARED, .capacity = 1000},
};

static size_t live(lido_object_pool *pool) { return lido_object_pool_stats(pool).live; }
static size_t idle(lido_object_pool *pool) { return lido_object_pool_stats(pool).idle; }

static void test_new_delete(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        book b = {.fail_at = -1};
        lido_object_pool *pool = pool_of(&b, kinds[k]);
        object *made[100];
        for (int i = 0; i < 100; i++) {
            char letter = (char)('A' + i % 26);
            errno = 7;
            made[i] = lido_object_new(pool, &letter);
            assert_non_null(made[i]);
            assert_int_equal(errno, 7);
            assert_int_equal(made[i]->text[0], letter);
            assert_ptr_equal(lido_object_pool_of(made[i]), pool);
            assert_ptr_equal(lido_object_pool_of((char *)made[i] + 30), pool);
            assert_string_equal(lido_object_type_of(made[i])->name, "object");
        }
        assert_int_equal(live(pool), 100);
        for (int i = 0; i < 100; i++) {
            if (i % 2 == 0) {
                lido_object_delete(pool, made[i]);
            } else {
                lido_object_free(made[i]);
            }
        }
        lido_object_delete(pool, NULL);
        lido_object_free(NULL);
        assert_int_equal(errno, 7);
        assert_int_equal(live(pool), 0);
        assert_int_equal(lido_object_pool_stats(pool).memory.live, 0);
        lido_object_pool_destroy(pool);
        assert_int_equal(b.constructed, 100);
        assert_int_equal(b.destroyed, 100);
        assert_int_equal(b.reset, 0);
    }
}

// Whichever construction fails: its error comes out, nothing is left of it, and all others are destroyed once.
static void test_constructor_failing_at_every_position(void **state) {
    (void)state;
    enum { MOST = 40 };
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        for (int fail_at = 0; fail_at < MOST; fail_at++) {
            book b = {.fail_at = fail_at};
            lido_object_pool *pool = pool_of(&b, kinds[k]);
            object *made[MOST];
            for (int i = 0; i < MOST; i++) {
                made[i] = i % 2 == 0 ? lido_object_new(pool, NULL) : lido_object_acquire(pool);
                if (i != fail_at) {
                    assert_non_null(made[i]);
                    continue;
                }
                assert_null(made[i]);
                assert_int_equal(errno, 1000 + i);
                assert_int_equal(lido_object_pool_stats(pool).memory.live, i);
            }
            assert_int_equal(live(pool), MOST - 1);
            for (int i = 0; i < MOST; i++) lido_object_delete(pool, made[i]);
            assert_int_equal(lido_object_pool_stats(pool).memory.live, 0);
            lido_object_pool_destroy(pool);
            assert_int_equal(b.refused, 1);
            assert_int_equal(b.constructed, MOST - 1);
            assert_int_equal(b.destroyed, MOST - 1);
        }
    }
}

static void test_acquire_keeps_objects_constructed(void **state) {
    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        book b = {.fail_at = -1};
        lido_object_pool *pool = pool_of(&b, kinds[k]);
        object *held[50];
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < 50; i++) {
                held[i] = lido_object_acquire(pool);
                assert_int_equal(held[i]->tag, TAG);
                if (round > 0) assert_int_equal(held[i]->text[3], 'k');    // kept from the last use
                held[i]->text[3] = 'k';
            }
            assert_int_equal(live(pool), 50);
            for (int i = 0; i < 50; i++) lido_object_release(pool, held[i]);
            assert_int_equal(live(pool), 0);
            assert_int_equal(idle(pool), 50);
        }
        assert_ptr_equal(lido_object_acquire(pool), held[49]);    // the last one released is the warmest
        lido_object_release(pool, held[49]);
        assert_int_equal(b.constructed, 50);
        assert_int_equal(b.reset, 20 * 50 + 1);
        assert_int_equal(b.destroyed, 0);
        lido_object_pool_trim(pool);
        assert_int_equal(b.destroyed, 50);
        assert_int_equal(lido_object_pool_stats(pool).memory.live, 0);
        lido_object_release(pool, lido_object_acquire(pool));
        lido_object_release(pool, NULL);
        lido_object_pool_destroy(pool);
        assert_int_equal(b.constructed, 51);
        assert_int_equal(b.destroyed, 51);
    }
}

static void test_idle_max_and_prewarm(void **state) {
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        book b = {.fail_at = -1};
        lido_type type = type_of(&b);
        lido_object_options options = {.pool.threads = shared ? LIDO_SHARED : LIDO_LOCAL, .idle_max = 3};
        lido_object_pool *pool = lido_object_pool_new(&type, &options);
        void *held[5];
        for (int i = 0; i < 5; i++) held[i] = lido_object_acquire(pool);
        for (int i = 0; i < 5; i++) lido_object_release(pool, held[i]);
        assert_int_equal(idle(pool), 3);
        assert_int_equal(b.destroyed, 2);
        assert_int_equal(lido_object_pool_prewarm(pool, 3), 0);
        errno = 0;
        assert_int_equal(lido_object_pool_prewarm(pool, 4), -1);
        assert_int_equal(errno, ENOMEM);
        assert_int_equal(lido_object_pool_stats(pool).memory.live, 3);
        lido_object_pool_trim(pool);
        assert_int_equal(lido_object_pool_prewarm(pool, 2), 0);
        assert_int_equal(idle(pool), 2);
        b.fail_at = b.constructed;
        assert_int_equal(lido_object_pool_prewarm(pool, 3), -1);
        assert_int_equal(errno, 1000 + b.fail_at);
        lido_object_pool_destroy(pool);
        assert_int_equal(b.constructed, b.destroyed);
    }
}

// The row "exhaust": capacity 4; the fifth fails; one back, the next succeeds; all back: 0 alive, 5 constructed, 5 destroyed.
static void test_exhaust(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        book b = {.fail_at = -1};
        lido_pool_options options = kinds[k];
        options.capacity = 4;
        lido_object_pool *pool = pool_of(&b, options);
        object *four[4];
        for (int i = 0; i < 4; i++) assert_non_null(four[i] = lido_object_new(pool, NULL));
        errno = 0;
        assert_null(lido_object_new(pool, NULL));
        assert_int_equal(errno, ENOMEM);
        assert_null(lido_object_acquire(pool));
        lido_object_delete(pool, four[2]);
        assert_non_null(four[2] = lido_object_new(pool, NULL));
        for (int i = 0; i < 4; i++) lido_object_delete(pool, four[i]);
        assert_int_equal(live(pool), 0);
        assert_int_equal(lido_object_pool_stats(pool).memory.live, 0);
        assert_int_equal(b.constructed, 5);
        assert_int_equal(b.destroyed, 5);
        lido_object_pool_destroy(pool);
    }
}

// An idle object is no obstacle at the capacity: acquire takes it as it is, new takes its block.
static void test_idle_objects_make_room(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        book b = {.fail_at = -1};
        lido_pool_options options = kinds[k];
        options.capacity = 2;
        lido_object_pool *pool = pool_of(&b, options);
        object *first = lido_object_acquire(pool), *second = lido_object_acquire(pool);
        lido_object_release(pool, first);
        errno = 7;
        assert_ptr_equal(lido_object_new(pool, NULL), first);
        assert_int_equal(errno, 7);
        assert_int_equal(b.destroyed, 1);
        assert_int_equal(b.constructed, 3);
        assert_null(lido_object_acquire(pool));
        lido_object_release(pool, first);
        b.fail_at = 3;    // the idle object is gone for the new one, which then fails: its block is free
        assert_null(lido_object_new(pool, NULL));
        assert_int_equal(errno, 1003);
        assert_int_equal(lido_object_pool_stats(pool).memory.live, 1);
        lido_object_delete(pool, second);
        lido_object_pool_destroy(pool);
        assert_int_equal(b.constructed, b.destroyed);
    }
}

// The row "ledger": what a pool saves (heap allocations) and what it does not (constructions), counted on both sides.
typedef struct ledger {
    size_t heap_allocations, heap_bytes;
} ledger;

static void *counted_malloc(ledger *l, size_t bytes) {
    l->heap_allocations++;
    l->heap_bytes += bytes;
    return malloc(bytes);
}

static void test_ledger(void **state) {
    (void)state;
    enum { COUNT = 1000000, CAPACITY = 4096 };
    book heap_book = {.fail_at = -1}, fixed_book = heap_book, pool_book = heap_book;
    ledger heap = {0, 0}, fixed = {0, 0};
    size_t bytes = LIDO_FIXED_BYTES(CAPACITY, sizeof(object), 0);
    void *buffer = counted_malloc(&fixed, bytes);
    lido_fixed blocks = {0};
    assert_true(lido_fixed_init(&blocks, buffer, bytes, sizeof(object), 0));
    assert_int_equal(lido_fixed_capacity(&blocks), CAPACITY);
    lido_object_pool *pool = pool_of(&pool_book, (lido_pool_options){.capacity = CAPACITY});
    for (int i = 0; i < COUNT; i++) {
        char letter = (char)(i & 0x7f);
        void *one = counted_malloc(&heap, sizeof(object)), *two = lido_fixed_alloc(&blocks);
        construct(one, &letter, &heap_book);
        construct(two, &letter, &fixed_book);
        void *three = lido_object_new(pool, &letter);
        destroy(one, &heap_book);
        destroy(two, &fixed_book);
        lido_object_delete(pool, three);
        free(one);
        lido_fixed_free(&blocks, two);
    }
    assert_int_equal(heap.heap_allocations, 1000000);
    assert_int_equal(heap.heap_bytes, 56000000);
    assert_int_equal(fixed.heap_allocations, 1);
    assert_int_equal(fixed.heap_bytes, 229376);
    const book *books[] = {&heap_book, &fixed_book, &pool_book};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(books[i]->constructed, COUNT);
        assert_int_equal(books[i]->destroyed, COUNT);
        assert_int_equal(books[i]->sum, heap_book.sum);
    }
    assert_int_equal(lido_fixed_live(&blocks), 0);
    assert_int_equal(live(pool), 0);
    lido_object_pool_destroy(pool);
    free(buffer);
}

static void test_sizes_and_alignments(void **state) {
    (void)state;
    static const struct {
        size_t size, align;
    } shapes[] = {{1, 0}, {1, 1}, {3, 1}, {4, 4}, {16, 16}, {96, 32}, {40, 64}, {100, 4096}, {70000, 64}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        lido_type type = {.name = "shape", .size = shapes[i].size, .align = shapes[i].align};
        lido_object_pool *pool = lido_object_pool_new(&type, NULL);
        assert_non_null(pool);
        void *made[20];
        for (int n = 0; n < 20; n++) {
            made[n] = n % 2 ? lido_object_new(pool, NULL) : lido_object_acquire(pool);
            assert_non_null(made[n]);
            if (shapes[i].align != 0) assert_int_equal((uintptr_t)made[n] % shapes[i].align, 0);
            memset(made[n], n, shapes[i].size);
        }
        for (int n = 0; n < 20; n++) {
            assert_int_equal(*(unsigned char *)made[n], n);
            lido_object_release(pool, made[n]);
        }
        assert_int_equal(idle(pool), 20);
        lido_object_pool_destroy(pool);
    }
}

static void test_bad_types_and_options(void **state) {
    (void)state;
    book b = {.fail_at = -1};
    lido_type good = type_of(&b), type = good;
    lido_object_options options = {.pool.block_size = 8};
    lido_object_pool *pool = lido_object_pool_new(NULL, NULL);
    assert_null(pool);
    assert_int_equal(errno, EINVAL);
    assert_null(pool = lido_object_pool_new(&good, &options));
    options = (lido_object_options){.pool.alignment = 8};
    assert_null(pool = lido_object_pool_new(&good, &options));
    options = (lido_object_options){.at_destroy = (lido_live_objects)7};
    assert_null(pool = lido_object_pool_new(&good, &options));
    type.size = 0;
    errno = 0;
    assert_null(pool = lido_object_pool_new(&type, NULL));
    assert_int_equal(errno, EINVAL);
    type = good;
    type.align = 24;
    assert_null(pool = lido_object_pool_new(&type, NULL));
    type = (lido_type){.size = 8};
    assert_non_null(pool = lido_object_pool_new(&type, NULL));
    assert_string_equal(lido_object_pool_type(pool)->name, "object");
    assert_ptr_equal(lido_pool_of(pool), NULL);    // memory of lido_malloc
    assert_int_equal(lido_pool_block_size(lido_object_pool_memory(pool)), 8);
    lido_object_pool_destroy(pool);
    lido_object_pool_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_delete),
        cmocka_unit_test(test_constructor_failing_at_every_position),
        cmocka_unit_test(test_acquire_keeps_objects_constructed),
        cmocka_unit_test(test_idle_max_and_prewarm),
        cmocka_unit_test(test_exhaust),
        cmocka_unit_test(test_idle_objects_make_room),
        cmocka_unit_test(test_ledger),
        cmocka_unit_test(test_sizes_and_alignments),
        cmocka_unit_test(test_bad_types_and_options),
    };
    return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
