// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects: what happens when their pool ends, sets of types, misuse by its exact line, threads, fork.
#include "support.h"

#include <errno.h>
#include <lido/heap.h>
#include <lido/object.h>
#include <stdio.h>

// A node owns the next one: its destructor frees it.
typedef struct node {
    struct node *next;
    int *destroyed;
} node;

static int node_construct(void *p, void *arguments, void *context) {
    *(node *)p = (node){(node *)arguments, (int *)context};
    return 0;
}
static void node_destroy(void *p, void *context) {
    node *n = (node *)p;
    assert_ptr_equal(n->destroyed, context);    // not destroyed before, and its memory is still there
    n->destroyed = NULL;
    ++*(int *)context;
    lido_object_free(n->next);
}

static lido_type node_type(const char *name, int *destroyed) {
    return (lido_type){
        .name = name, .size = sizeof(node), .construct = node_construct, .destroy = node_destroy, .context = destroyed};
}

static void test_destroying_a_pool_destroys_live_objects_once(void **state) {
    (void)state;
    for (int threads = LIDO_LOCAL; threads <= LIDO_CONFINED; threads++) {
        int destroyed = 0;
        lido_type type = node_type("node", &destroyed);
        lido_object_options options = {.pool.threads = (lido_threads)threads};
        lido_object_pool *pool = lido_object_pool_new(&type, &options);
        node *list = NULL;
        for (int i = 0; i < 3000; i++) {
            list = lido_object_new(pool, list);
            assert_non_null(list);
        }
        node *alone = lido_object_acquire(pool);
        lido_object_release(pool, alone);    // idle: destroyed too
        unit_catch_begin();
        lido_object_pool_destroy(pool);
        assert_string_equal(unit_catch_end(), "");
        assert_int_equal(destroyed, 3001);
    }
}

static void test_live_objects_are_only_reported(void **state) {
    (void)state;
    int destroyed = 0;
    lido_type type = node_type("node", &destroyed);
    lido_object_options options = {.at_destroy = LIDO_LIVE_REPORTED};
    lido_object_pool *pool = lido_object_pool_new(&type, &options);
    void *one = lido_object_new(pool, NULL), *two = lido_object_new(pool, NULL);
    void *other = lido_object_acquire(pool);
    assert_true(one != NULL && two != NULL && other != NULL);
    lido_object_release(pool, other);
    unit_catch_begin();
    lido_object_pool_destroy(pool);
    assert_string_equal(unit_catch_end(),
                        "lido: lido_object_pool_destroy: pool 'node': 2 objects are still alive; they are "
                        "not destroyed, their memory is freed\n");
    assert_int_equal(destroyed, 1);    // the idle one
}

static lido_object_pool *ending_pool;
static void destroy_and_make(void *p, void *context) {
    (void)p;
    errno = 0;
    assert_null(lido_object_new(ending_pool, NULL));
    assert_int_equal(errno, ECANCELED);
    assert_null(lido_object_acquire(ending_pool));
    lido_object_release(ending_pool, p);    // nothing
    ++*(int *)context;
}

static void test_no_new_objects_while_a_pool_ends(void **state) {
    (void)state;
    int destroyed = 0;
    lido_type type = {.size = 24, .destroy = destroy_and_make, .context = &destroyed};
    ending_pool = lido_object_pool_new(&type, NULL);
    for (int i = 0; i < 5; i++) assert_non_null(lido_object_new(ending_pool, NULL));
    lido_object_pool_destroy(ending_pool);
    assert_int_equal(destroyed, 5);
}

static void test_set_of_types(void **state) {
    (void)state;
    enum { TYPES = 30 };
    int destroyed[TYPES] = {0};
    char name[32];
    lido_object_set *set = lido_object_set_new(NULL);
    assert_non_null(set);
    for (int i = 0; i < TYPES; i++) {
        snprintf(name, sizeof name, "type-%d", i);
        lido_type type = node_type(name, &destroyed[i]);
        if (i % 3 == 1) type.align = 64;
        assert_int_equal(lido_object_set_add(set, &type), i);
        errno = 0;
        assert_int_equal(lido_object_set_add(set, &type), -1);
        assert_int_equal(errno, EEXIST);
    }
    assert_int_equal(lido_object_set_find(set, "type-17"), 17);
    assert_int_equal(lido_object_set_find(set, "type"), -1);
    void *of_each[TYPES];
    for (int i = 0; i < TYPES; i++) {
        of_each[i] = lido_object_set_make(set, i, NULL);
        assert_non_null(of_each[i]);
        assert_ptr_equal(lido_object_pool_of(of_each[i]), lido_object_set_pool(set, i));
        snprintf(name, sizeof name, "type-%d", i);
        assert_string_equal(lido_object_type_of(of_each[i])->name, name);
    }
    for (int i = TYPES - 1; i >= 0; i--) {
        lido_object_free(of_each[i]);
        for (int other = 0; other < TYPES; other++) assert_int_equal(destroyed[other], other >= i);
        assert_int_equal(lido_object_pool_stats(lido_object_set_pool(set, i)).memory.live, 0);
    }
    errno = 0;
    assert_null(lido_object_set_make(set, TYPES, NULL));
    assert_int_equal(errno, EINVAL);
    assert_null(lido_object_set_pool(set, -1));
    assert_int_equal(lido_object_set_add(set, NULL), -1);
    lido_object_set_destroy(set);
    lido_object_set_destroy(NULL);
}

// Lists whose nodes are of two types, in turn: whichever pool ends first, nothing is destroyed twice or touched too late.
static void test_destroying_a_set_across_types(void **state) {
    (void)state;
    int destroyed[2] = {0, 0};
    lido_object_set *set = lido_object_set_new(NULL);
    lido_type even = node_type("even", &destroyed[0]), odd = node_type("odd", &destroyed[1]);
    assert_int_equal(lido_object_set_add(set, &even), 0);
    assert_int_equal(lido_object_set_add(set, &odd), 1);
    node *list = NULL;
    for (int i = 0; i < 1000; i++) list = lido_object_set_make(set, i % 2, list);
    assert_non_null(list);
    lido_object_set_destroy(set);
    assert_int_equal(destroyed[0], 500);
    assert_int_equal(destroyed[1], 500);
}

// --- misuse ---------------------------------------------------------------------------------------------------------

static void assert_misuse(void (*body)(void *), void *argument, const char *text) {
    unit_child child = unit_fork(body, argument);
    unit_assert_aborted(&child);
    if (strstr(child.text, text) == NULL) fail_msg("expected '%s' in '%s'", text, child.text);
}

static void free_foreign(void *p) { lido_object_free(p); }
static void free_inside(void *p) { lido_object_free((char *)p + 8); }
static void release_twice(void *p) {
    lido_object_pool *pool = lido_object_pool_of(p);
    lido_object_release(pool, p);
    lido_object_release(pool, p);
}
static void delete_of_other_pool(void *p) {
    lido_type type = {.name = "other", .size = 16};
    lido_object_delete(lido_object_pool_new(&type, NULL), p);
}
static void new_in_thread(unsigned index, void *pool) {
    (void)index;
    (void)!lido_object_new((lido_object_pool *)pool, NULL);
}
static void use_from_other_thread(void *pool) { unit_threads(1, new_in_thread, pool); }

static void test_misuse(void **state) {
    (void)state;
    int destroyed = 0, on_stack = 0;
    lido_type type = node_type("node", &destroyed);
    lido_object_options confined = {.pool.threads = LIDO_CONFINED};
    lido_object_pool *pool = lido_object_pool_new(&type, NULL), *mine = lido_object_pool_new(&type, &confined);
    void *p = lido_object_new(pool, NULL), *plain = lido_malloc(24);
    assert_misuse(free_foreign, &on_stack, "not an object of any object pool");
    assert_misuse(free_foreign, plain, "not an object of any object pool");
    assert_misuse(free_inside, p, "inside an object of pool 'node', not at its start");
    assert_misuse(release_twice, p, "the object of type 'node' was released before");
    assert_misuse(delete_of_other_pool, p, "not an object of pool 'other'");
    assert_misuse(use_from_other_thread, mine, "lido_object_new: pool 'node' is confined to thread");
    lido_free(plain);
    lido_object_pool_destroy(mine);
    lido_object_pool_destroy(pool);
    assert_int_equal(destroyed, 1);
}

// --- threads --------------------------------------------------------------------------------------------------------

typedef struct crowd {
    lido_object_pool *pool;
    _Atomic int constructed, destroyed, live, most;
} crowd;

static int crowd_construct(void *p, void *arguments, void *context) {
    (void)arguments;
    *(uint64_t *)p = 0;
    ((crowd *)context)->constructed++;
    return 0;
}
static void crowd_destroy(void *p, void *context) {
    UNIT_CHECK(*(uint64_t *)p == 0);
    ((crowd *)context)->destroyed++;
}

static void crowd_work(unsigned index, void *argument) {
    crowd *c = (crowd *)argument;
    uint64_t seed = index;
    uint64_t *held[4] = {NULL};
    for (int i = 0; i < 3000; i++) {
        unsigned slot = (unsigned)(unit_random(&seed) % 4);
        if (held[slot] == NULL) {
            held[slot] = unit_random(&seed) % 3 == 0 ? lido_object_new(c->pool, NULL) : lido_object_acquire(c->pool);
            if (held[slot] == NULL) continue;
            UNIT_CHECK(*held[slot] == 0);
            *held[slot] = index + 1;
            UNIT_CHECK(++c->live <= c->most);
            continue;
        }
        UNIT_CHECK(*held[slot] == index + 1);    // nobody else has it
        *held[slot] = 0;
        c->live--;
        if (unit_random(&seed) % 4 == 0) {
            lido_object_free(held[slot]);
        } else {
            lido_object_release(c->pool, held[slot]);
        }
        held[slot] = NULL;
    }
    for (int i = 0; i < 4; i++) {
        if (held[i] == NULL) continue;
        *held[i] = 0;
        c->live--;
        lido_object_release(c->pool, held[i]);
    }
}

static void test_threads(void **state) {
    (void)state;
    static const size_t capacities[] = {0, 5};
    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        crowd c = {.most = capacities[i] != 0 ? (int)capacities[i] : 1000000};
        lido_type type = {
            .name = "crowd", .size = 8, .construct = crowd_construct, .destroy = crowd_destroy, .context = &c};
        lido_object_options options = {.pool = {.threads = LIDO_SHARED, .capacity = capacities[i]}};
        c.pool = lido_object_pool_new(&type, &options);
        unit_threads(6, crowd_work, &c);
        lido_object_statistics statistics = lido_object_pool_stats(c.pool);
        assert_int_equal(statistics.live, 0);
        assert_int_equal(c.constructed - c.destroyed, (int)statistics.idle);
        for (size_t n = 0; n < capacities[i]; n++) assert_non_null(lido_object_acquire(c.pool));    // all of them
        if (capacities[i] != 0) assert_null(lido_object_acquire(c.pool));
        lido_object_pool_destroy(c.pool);
        assert_int_equal(c.constructed, c.destroyed);
    }
}

static void use_in_child(void *argument) {
    lido_object_pool *pool = (lido_object_pool *)argument;
    node *n = lido_object_acquire(pool);
    UNIT_CHECK(n != NULL);
    lido_object_release(pool, n);
    lido_object_pool_destroy(pool);
}

static void test_fork(void **state) {
    (void)state;
    int destroyed = 0;
    lido_type type = node_type("node", &destroyed);
    lido_object_options options = {.pool.threads = LIDO_SHARED};
    lido_object_pool *pool = lido_object_pool_new(&type, &options);
    lido_object_release(pool, lido_object_acquire(pool));
    unit_child child = unit_fork(use_in_child, pool);
    unit_assert_done(&child);
    lido_object_pool_destroy(pool);
    assert_int_equal(destroyed, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_destroying_a_pool_destroys_live_objects_once),
        cmocka_unit_test(test_live_objects_are_only_reported),
        cmocka_unit_test(test_no_new_objects_while_a_pool_ends),
        cmocka_unit_test(test_set_of_types),
        cmocka_unit_test(test_destroying_a_set_across_types),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests_name("object end", tests, NULL, NULL);
}
