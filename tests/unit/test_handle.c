// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Handles: what is stale stays stale, also when the generations of a slot are used up; address order; exact capacities; threads.
#include "support.h"

#include "object/handle.h"

#include <errno.h>
#include <lido/lido.h>

typedef struct unit {
    uint64_t number;
    char rest[40];
} unit;

typedef struct book {
    int made, ended, fail_at;
    lido_handle_pool *pool;
    lido_handle ending;        // stale by the time of the destructor
    lido_handle delete_too;    // by the destructor
    bool was_stale;
} book;

static int make(void *object, void *arguments, void *context) {
    book *b = (book *)context;
    if (b->made + 1 == b->fail_at) return ECHILD;
    ((unit *)object)->number = arguments != NULL ? *(uint64_t *)arguments : 7;
    b->made++;
    return 0;
}

static void end_unit(void *object, void *context) {
    (void)object;
    book *b = (book *)context;
    b->ended++;
    b->was_stale = lido_handle_get(b->pool, b->ending) == NULL;
    lido_handle other = b->delete_too;
    b->delete_too.bits = 0;
    lido_handle_delete(b->pool, other);
}

static lido_handle_pool *pool_with(book *b, const lido_handle_options *options) {
    lido_type type = {.name = "unit", .size = sizeof(unit), .construct = make, .destroy = end_unit, .context = b};
    lido_handle_pool *pool = lido_handle_pool_new(&type, options);
    assert_non_null(pool);
    b->pool = pool;
    return pool;
}

static void life(void **state) {
    (void)state;
    book b = {0};
    lido_handle_pool *pool = pool_with(&b, NULL);
    assert_null(lido_handle_get(pool, (lido_handle){0}));
    assert_null(lido_handle_get(pool, (lido_handle){UINT64_MAX}));
    uint64_t number = 42;
    lido_handle first = lido_handle_new(pool, &number), second = lido_handle_new(pool, NULL);
    assert_true(first.bits != 0 && second.bits != first.bits);
    unit *a = (unit *)lido_handle_get(pool, first);
    assert_int_equal(a->number, 42);
    assert_int_equal(((unit *)lido_handle_get(pool, second))->number, 7);
    b.ending = first;
    assert_true(lido_handle_delete(pool, first));
    assert_true(b.was_stale);
    assert_null(lido_handle_get(pool, first));
    assert_false(lido_handle_delete(pool, first));
    lido_handle third = lido_handle_new(pool, NULL);    // in the same place
    assert_ptr_equal(lido_handle_get(pool, third), a);
    assert_null(lido_handle_get(pool, first));
    assert_false(lido_handle_delete(pool, first));
    assert_int_equal(lido_handle_pool_stats(pool).live, 2);
    assert_int_equal(b.ended, 1);
    b.delete_too = second;    // a destructor that ends another object, at the pool's end too
    assert_true(lido_handle_delete(pool, third));
    assert_int_equal(b.ended, 3);
    assert_int_equal(lido_handle_pool_stats(pool).live, 0);
    for (int i = 0; i < 10; i++) b.delete_too = lido_handle_new(pool, NULL);
    lido_handle_pool_destroy(pool);
    assert_int_equal(b.made, b.ended);
    assert_int_equal(b.made, 13);
    lido_handle_pool_destroy(NULL);
}

static void constructors_that_fail(void **state) {
    (void)state;
    book b = {.fail_at = 3};
    lido_handle_pool *pool = pool_with(&b, &(lido_handle_options){.capacity = 3});
    lido_handle one = lido_handle_new(pool, NULL), two = lido_handle_new(pool, NULL);
    errno = 0;
    assert_int_equal(lido_handle_new(pool, NULL).bits, 0);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(lido_handle_pool_stats(pool).live, 2);
    b.fail_at = 0;
    assert_true(lido_handle_new(pool, NULL).bits != 0);    // the place is there
    errno = 0;
    assert_int_equal(lido_handle_new(pool, NULL).bits, 0);    // three and only three
    assert_int_equal(errno, ENOMEM);
    assert_true(lido_handle_delete(pool, one));
    assert_true(lido_handle_new(pool, NULL).bits != 0);
    assert_int_equal(lido_handle_new(pool, NULL).bits, 0);
    lido__handle_cancel(pool, two);
    assert_int_equal(b.ended, 1);    // without the destructor
    assert_null(lido_handle_get(pool, two));
    lido_handle_pool_destroy(pool);
    assert_int_equal(b.ended, 3);
}

// With 3 generations (1, 3, 5) a slot serves three objects. None of their handles ever finds another.
static void generations_end(void **state) {
    (void)state;
    enum { SLOTS = 8, LAST = 5, LIVES = (LAST + 1) / 2 };
    book b = {0};
    lido_handle_pool *pool = pool_with(&b, &(lido_handle_options){.capacity = SLOTS});
    lido_handle old[1000];
    size_t count = 0;
    lido__handle_pool_retire_after(pool, LAST);
    for (int i = 0; i < 300; i++) {
        lido_handle handle = lido_handle_new(pool, NULL);
        assert_true(handle.bits != 0);
        assert_true(handle.bits >> 32 <= LAST);
        for (size_t k = 0; k < count; k++) {
            assert_true(old[k].bits != handle.bits);
            assert_null(lido_handle_get(pool, old[k]));
            assert_false(lido_handle_delete(pool, old[k]));
        }
        assert_non_null(lido_handle_get(pool, handle));
        assert_true(lido_handle_delete(pool, handle));
        old[count++] = handle;
    }
    // one slot at a time was in use, so all but the present one are used up
    lido_handle_statistics s = lido_handle_pool_stats(pool);
    assert_int_equal(s.retired, 300 / LIVES);
    assert_int_equal(s.live, 0);
    assert_int_equal(s.high_water, 1);
    for (uint64_t index = 0; index < s.slots; index++) {    // and the generations behind the last are none
        assert_null(lido_handle_get(pool, (lido_handle){(uint64_t)(LAST + 1) << 32 | index}));
        assert_null(lido_handle_get(pool, (lido_handle){(uint64_t)(LAST + 2) << 32 | index}));
    }
    lido_handle_pool_destroy(pool);
    // the true last generation: its successor is 0
    book c = {0};
    pool = pool_with(&c, NULL);
    lido_handle handle = lido_handle_new(pool, NULL);
    lido__chunk_of_objects *chunk = pool->directory->chunks[0];
    chunk->slots[0].generation = UINT32_MAX;
    lido_handle end = {(uint64_t)UINT32_MAX << 32 | (uint32_t)handle.bits};
    assert_non_null(lido_handle_get(pool, end));
    assert_true(lido_handle_delete(pool, end));
    assert_int_equal(chunk->slots[0].generation, 0);
    assert_int_equal(lido_handle_pool_stats(pool).retired, 1);
    assert_null(lido_handle_get(pool, (lido_handle){(uint32_t)handle.bits}));
    assert_true((uint32_t)lido_handle_new(pool, NULL).bits != (uint32_t)handle.bits);
    lido_handle_pool_destroy(pool);
}

// --- order ----------------------------------------------------------------------------------------------------------

typedef struct walk {
    lido_handle_pool *pool;
    const char *last;
    size_t seen, stop_at, delete_every;
} walk;

static bool visit(void *object, lido_handle handle, void *context) {
    walk *w = (walk *)context;
    assert_true((const char *)object > w->last);
    w->last = (const char *)object;
    assert_ptr_equal(lido_handle_get(w->pool, handle), object);
    assert_int_equal(lido_handle_of(w->pool, (char *)object + sizeof(unit) - 1).bits, handle.bits);
    w->seen++;
    if (w->delete_every != 0 && w->seen % w->delete_every == 0) assert_true(lido_handle_delete(w->pool, handle));
    return w->seen != w->stop_at;
}

static void address_order(void **state) {
    (void)state;
    enum { COUNT = 20000 };    // some 17 chunks
    static lido_handle handles[COUNT];
    book b = {0};
    lido_handle_pool *pool = pool_with(&b, NULL);
    void *holes[64];    // so that chunks do not come in the order of their addresses
    for (size_t i = 0; i < COUNT_OF(holes); i++) holes[i] = lido_malloc(64 << 10);
    for (size_t i = 0; i < COUNT; i++) {
        if (i % 1000 == 0)
            lido_free(holes[(i / 1000 * 37) % COUNT_OF(holes)]), holes[(i / 1000 * 37) % COUNT_OF(holes)] = NULL;
        assert_true((handles[i] = lido_handle_new(pool, NULL)).bits != 0);
    }
    assert_true(pool->directory->count > 10);
    uint64_t random = 5;
    size_t live = COUNT;
    for (size_t i = 0; i < COUNT; i += 1 + unit_random(&random) % 3) live -= lido_handle_delete(pool, handles[i]);
    walk w = {.pool = pool};
    assert_int_equal(lido_handle_visit(pool, visit, &w), live);
    assert_int_equal(w.seen, live);
    w = (walk){.pool = pool, .stop_at = 100};
    assert_int_equal(lido_handle_visit(pool, visit, &w), 100);
    w = (walk){.pool = pool, .delete_every = 2};
    assert_int_equal(lido_handle_visit(pool, visit, &w), live);
    assert_int_equal(lido_handle_pool_stats(pool).live, live - live / 2);
    assert_int_equal(lido_handle_of(pool, &w).bits, 0);
    assert_int_equal(lido_handle_of(pool, NULL).bits, 0);
    assert_int_equal(lido_handle_of(pool, (void *)UINTPTR_MAX).bits, 0);
    for (size_t i = 0; i < COUNT_OF(holes); i++) lido_free(holes[i]);
    lido_handle_pool_destroy(pool);
    assert_int_equal(b.made, b.ended);
}

static void sizes_and_alignments(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 8, 12, 24, 100, 4096, 70000, 1 << 20}, aligns[] = {0, 1, 16, 64, 4096};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (size_t k = 0; k < COUNT_OF(aligns); k++) {
            lido_type type = {.size = sizes[i], .align = aligns[k]};
            lido_handle_pool *pool = lido_handle_pool_new(&type, NULL);
            lido_handle handles[40];
            for (size_t n = 0; n < COUNT_OF(handles); n++) {
                handles[n] = lido_handle_new(pool, NULL);
                char *object = (char *)lido_handle_get(pool, handles[n]);
                assert_int_equal((uintptr_t)object % (aligns[k] != 0 ? aligns[k] : 1), 0);
                object[0] = object[sizes[i] - 1] = (char)n;
            }
            for (size_t n = 0; n < COUNT_OF(handles); n++)
                assert_int_equal(((char *)lido_handle_get(pool, handles[n]))[sizes[i] - 1], (char)n);
            lido_handle_pool_destroy(pool);
        }
    }
    lido_type good = {.size = 8};
    const lido_type bad[] = {{.size = 0}, {.size = 8, .align = 3}, {.size = (size_t)LIDO_POOL_BLOCK_SIZE_MAX + 1}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        errno = 0;
        assert_null(lido_handle_pool_new(&bad[i], NULL));
        assert_int_equal(errno, EINVAL);
    }
    assert_null(lido_handle_pool_new(&good, &(lido_handle_options){.threads = LIDO_CONFINED}));
    assert_null(lido_handle_pool_new(&good, &(lido_handle_options){.capacity = UINT32_MAX}));
    assert_null(lido_handle_pool_new(NULL, NULL));
}

static void live_ones_are_reported(void **state) {
    (void)state;
    lido_type type = {.name = "unit", .size = 8};
    lido_handle_pool *pool = lido_handle_pool_new(&type, &(lido_handle_options){.at_destroy = LIDO_LIVE_REPORTED});
    assert_true(lido_handle_new(pool, NULL).bits != 0);
    unit_catch_begin();
    lido_handle_pool_destroy(pool);
    assert_string_equal(unit_catch_end(),
                        "lido: lido_handle_pool_destroy: pool 'unit': 1 objects are still alive; they are "
                        "not destroyed, their memory is freed\n");
}

// --- threads --------------------------------------------------------------------------------------------------------

enum { THREADS = 8, SHARED_HANDLES = 64, TURNS = 20000 };

typedef struct ring {
    lido_handle_pool *pool;
    _Atomic uint64_t handles[SHARED_HANDLES];
    _Atomic size_t made, deleted, constructed, destroyed;
} ring;

static int count_made(void *object, void *arguments, void *context) {
    (void)arguments;
    *(_Atomic uint64_t *)object = 0x11;
    ((ring *)context)->constructed++;
    return 0;
}
static void count_ended(void *object, void *context) {
    *(_Atomic uint64_t *)object = 0x22;
    ((ring *)context)->destroyed++;
}

static void exchange(unsigned index, void *argument) {
    ring *r = (ring *)argument;
    uint64_t random = index + 1;
    for (int i = 0; i < TURNS; i++) {
        uint64_t x = unit_random(&random);
        _Atomic uint64_t *place = &r->handles[x % SHARED_HANDLES];
        if (x / 64 % 2 == 0) {
            lido_handle handle = lido_handle_new(r->pool, NULL);
            if (handle.bits == 0) continue;    // the capacity
            r->made++;
            *place = handle.bits;    // what was there is found by nobody any more, unless it is deleted below
        } else {                     // several threads may do so with one handle
            lido_handle handle = {*place};
            _Atomic uint64_t *object = (_Atomic uint64_t *)lido_handle_get(r->pool, handle);
            // another thread may end it now, and make another: what it never is is not constructed
            if (object != NULL) UNIT_CHECK(*object == 0x11 || *object == 0x22);
            r->deleted += lido_handle_delete(r->pool, handle);
            UNIT_CHECK(lido_handle_get(r->pool, handle) == NULL);
        }
    }
}

static void eight_threads(void **state) {
    (void)state;
    static ring r;
    lido_type type = {.size = 16, .construct = count_made, .destroy = count_ended, .context = &r};
    r.pool = lido_handle_pool_new(&type, &(lido_handle_options){.threads = LIDO_SHARED, .capacity = 50000});
    unit_threads(THREADS, exchange, &r);
    assert_int_equal(r.constructed, r.made);
    assert_int_equal(r.destroyed, r.deleted);
    assert_true(r.deleted > 1000);
    assert_int_equal(lido_handle_pool_stats(r.pool).live, r.made - r.deleted);
    lido_handle_pool_destroy(r.pool);
    assert_int_equal(r.constructed, r.destroyed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(life),
        cmocka_unit_test(constructors_that_fail),
        cmocka_unit_test(generations_end),
        cmocka_unit_test(address_order),
        cmocka_unit_test(sizes_and_alignments),
        cmocka_unit_test(live_ones_are_reported),
        cmocka_unit_test(eight_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
