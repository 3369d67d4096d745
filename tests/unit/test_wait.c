// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Threads that wait for a block: who is woken by what, in which order, when the time is over, and across reset and fork.
#include "support.h"

#include "os/os.h"
#include "pool/pool.h"

#include <errno.h>
#include <lido/lido.h>
#include <pthread.h>
#include <unistd.h>

enum { WAITERS = 6 };

typedef struct scene {
    lido_pool *pool;
    void *held[512];
    size_t capacity;
    _Atomic unsigned served;
    _Atomic unsigned order[WAITERS];    // who was served as the how-manieth, + 1
    size_t bulk;                        // blocks that each wants; 0: one, by lido_pool_alloc
    pthread_t threads[WAITERS];
} scene;

typedef struct part {
    scene *scene;
    unsigned index;
} part;

static lido_pool *waiting_pool(size_t capacity, lido_order order, uint32_t wait_ms) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "seats",
                                                         .block_size = 64,
                                                         .threads = LIDO_SHARED,
                                                         .order = order,
                                                         .capacity = capacity,
                                                         .on_exhausted = LIDO_WAIT,
                                                         .wait_ms = wait_ms});
    UNIT_CHECK(pool != NULL);
    return pool;
}

static void wait_until_waiting(lido_pool *pool, size_t count) {
    for (int i = 0; lido_pool_stats(pool).waiting != count; i++) {
        UNIT_CHECK(i < 20000);
        usleep(500);
    }
}

static void *wait_for_one(void *argument) {
    part *p = (part *)argument;
    scene *s = p->scene;
    void *blocks[8];
    errno = 0;
    if (s->bulk == 0) {
        blocks[0] = lido_pool_alloc(s->pool);
    } else if (lido_pool_alloc_bulk(s->pool, blocks, s->bulk) != 0) {
        blocks[0] = NULL;
    }
    UNIT_CHECK(blocks[0] != NULL && errno == 0);
    s->order[s->served++] = p->index + 1;
    for (size_t i = 0; i < s->bulk; i++) UNIT_CHECK(lido_pool_owns(s->pool, blocks[i]));
    return NULL;
}

static void fill(scene *s, size_t capacity, lido_order order) {
    memset(s, 0, sizeof *s);
    s->capacity = capacity;
    s->pool = waiting_pool(capacity, order, 0);
    for (size_t i = 0; i < capacity; i++) UNIT_CHECK((s->held[i] = lido_pool_alloc(s->pool)) != NULL);
}

static void start_waiters(scene *s, part *parts, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        parts[i] = (part){s, i};
        UNIT_CHECK(pthread_create(&s->threads[i], NULL, wait_for_one, &parts[i]) == 0);
        wait_until_waiting(s->pool, i + 1);    // so that their order is known
    }
}

static void join_all(scene *s, unsigned count) {
    for (unsigned i = 0; i < count; i++) pthread_join(s->threads[i], NULL);
    assert_int_equal(s->served, count);
    assert_int_equal(lido_pool_stats(s->pool).waiting, 0);
}

// For waiters that were served one by one: of those that are let go together, each notes that itself, in any order.
static void join_in_order(scene *s, unsigned count) {
    join_all(s, count);
    for (unsigned i = 0; i < count; i++) assert_int_equal(s->order[i], i + 1);
}

static void end(scene *s) {
    lido_pool_reset(s->pool);
    lido_pool_destroy(s->pool);
}

// 4: always recalled; 300: has bins; FIFO: the stock.
static const struct {
    size_t capacity;
    lido_order order;
} ways[] = {{4, LIDO_LIFO}, {300, LIDO_LIFO}, {8, LIDO_FIFO}};

static void wait_until_served(scene *s, unsigned count) {
    for (int i = 0; s->served < count; i++) {
        UNIT_CHECK(i < 20000);
        usleep(500);
    }
}

static void first_come_first_served(void **state) {
    (void)state;
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        scene s;
        part parts[WAITERS];
        fill(&s, ways[w].capacity, ways[w].order);
        start_waiters(&s, parts, WAITERS < ways[w].capacity ? WAITERS : (unsigned)ways[w].capacity);
        unsigned count = (unsigned)lido_pool_stats(s.pool).waiting;
        for (unsigned i = 0; i < count; i++) {    // one free, one served, and it is the oldest
            if (i % 2 == 0)
                lido_pool_free(s.pool, s.held[i]);
            else
                lido_free(s.held[i]);
            wait_until_served(&s, i + 1);
            usleep(1000);
            assert_int_equal(s.served, i + 1);
        }
        join_in_order(&s, count);
        assert_int_equal(lido_pool_stats(s.pool).live, ways[w].capacity);
        end(&s);
    }
}

typedef enum event { FREE_BULK, FREE_FROM_THREAD, RAISE, RESET, FREE_ALL, EVENTS } event;

static void *free_three(void *argument) {
    scene *s = (scene *)argument;
    for (int i = 0; i < 3; i++) lido_pool_free(s->pool, s->held[i]);
    return NULL;
}

// Three wait; whatever makes room for three lets all three go on.
static void whatever_makes_room(void **state) {
    (void)state;
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        for (int e = 0; e < EVENTS; e++) {
            scene s;
            part parts[WAITERS];
            pthread_t thread;
            fill(&s, ways[w].capacity, ways[w].order);
            start_waiters(&s, parts, 3);
            switch ((event)e) {
                case FREE_BULK: lido_pool_free_bulk(s.pool, s.held, 3); break;
                case FREE_FROM_THREAD:
                    assert_int_equal(pthread_create(&thread, NULL, free_three, &s), 0);
                    pthread_join(thread, NULL);
                    break;
                case RAISE: assert_int_equal(lido_pool_set_capacity(s.pool, s.capacity + 3), 0); break;
                case RESET: lido_pool_reset(s.pool); break;
                case FREE_ALL: lido_pool_free_all(s.pool); break;
                case EVENTS: break;
            }
            join_all(&s, 3);
            size_t live = lido_pool_stats(s.pool).live;
            assert_int_equal(live, e == RAISE ? s.capacity + 3 : e == RESET || e == FREE_ALL ? 3 : s.capacity);
            lido_pool_trim(s.pool);
            assert_int_equal(lido_pool_stats(s.pool).live, live);
            end(&s);
        }
    }
}

// Blocks that another thread has freed lie in its bin: that is free enough.
static void *free_into_bin(void *argument) {
    scene *s = (scene *)argument;
    for (size_t i = 0; i < s->capacity; i++) lido_pool_free(s->pool, s->held[i]);
    for (size_t i = 0; i < s->capacity; i++) UNIT_CHECK((s->held[i] = lido_pool_alloc(s->pool)) != NULL);
    lido_pool_free(s->pool, s->held[0]);
    lido_pool_free(s->pool, s->held[1]);
    s->served = 1;
    while (s->served != 2) usleep(500);
    return NULL;
}

static void what_lies_in_a_bin(void **state) {
    (void)state;
    scene s;
    pthread_t thread;
    fill(&s, 1000 < COUNT_OF(s.held) ? 1000 : 500, LIDO_LIFO);
    assert_int_equal(pthread_create(&thread, NULL, free_into_bin, &s), 0);
    while (s.served != 1) usleep(500);
    assert_non_null(lido_pool_alloc(s.pool));
    assert_non_null(lido_pool_alloc(s.pool));
    s.served = 2;
    pthread_join(thread, NULL);
    end(&s);
}

static void time_is_over(void **state) {
    (void)state;
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        lido_pool *pool = waiting_pool(ways[w].capacity, ways[w].order, 30);
        void *blocks[512];
        assert_int_equal(lido_pool_alloc_bulk(pool, blocks, ways[w].capacity), 0);
        uint64_t start = lido__os_time_ns();
        errno = 0;
        assert_null(lido_pool_alloc(pool));
        assert_int_equal(errno, ETIMEDOUT);
        uint64_t waited = lido__os_time_ns() - start;
        assert_true(waited >= 30000000 && waited < 10000000000);
        lido_pool_free(pool, blocks[0]);
        lido_pool_free(pool, blocks[1]);
        errno = 0;
        void *three[3];
        assert_int_equal(lido_pool_alloc_bulk(pool, three, 3), -1);    // two can be had, and go back
        assert_int_equal(errno, ETIMEDOUT);
        assert_int_equal(lido_pool_stats(pool).live, ways[w].capacity - 2);
        assert_int_equal(lido_pool_alloc_bulk(pool, three, 2), 0);
        errno = 0;
        assert_int_equal(lido_pool_alloc_bulk(pool, blocks, ways[w].capacity + 1), -1);    // never: no wait
        assert_int_equal(errno, ENOMEM);
        lido_pool_reset(pool);
        lido_pool_destroy(pool);
    }
}

// Those who want many hold nothing while they stand behind others, so they cannot lock each other up.
static void many_at_once(void **state) {
    (void)state;
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        scene s;
        part parts[WAITERS];
        fill(&s, ways[w].capacity, ways[w].order);
        s.bulk = ways[w].capacity < 6 ? 2 : 3;
        start_waiters(&s, parts, 2);
        for (size_t i = 0; i < s.bulk; i++) {
            assert_int_equal(s.served, 0);
            lido_pool_free(s.pool, s.held[i]);
        }
        wait_until_served(&s, 1);
        lido_pool_free_bulk(s.pool, s.held + s.bulk, s.capacity - s.bulk < s.bulk ? s.capacity - s.bulk : s.bulk);
        join_in_order(&s, 2);
        assert_int_equal(lido_pool_stats(s.pool).live, s.capacity);
        // a reset in the middle: what the first had gathered is free again
        lido_pool_reset(s.pool);
        for (size_t i = 0; i < s.capacity; i++) assert_non_null(s.held[i] = lido_pool_alloc(s.pool));
        s.served = 0;
        start_waiters(&s, parts, 1);
        lido_pool_free(s.pool, s.held[0]);
        usleep(5000);
        lido_pool_reset(s.pool);
        join_in_order(&s, 1);
        assert_int_equal(lido_pool_stats(s.pool).live, s.bulk);
        end(&s);
    }
}

// A thread that comes while others wait does not overtake them, whatever is free at that moment.
static void nobody_overtakes(void **state) {
    (void)state;
    scene s;
    part parts[WAITERS];
    fill(&s, 8, LIDO_LIFO);
    s.bulk = 4;
    start_waiters(&s, parts, 1);
    for (int i = 0; i < 3; i++) lido_pool_free(s.pool, s.held[i]);    // three are free, the head wants four
    s.bulk = 1;
    parts[1] = (part){&s, 1};
    // the head read its own count before; see wait_for_one
    assert_int_equal(pthread_create(&s.threads[1], NULL, wait_for_one, &parts[1]), 0);
    wait_until_waiting(s.pool, 2);
    usleep(5000);
    assert_int_equal(s.served, 0);
    lido_pool_free(s.pool, s.held[3]);
    wait_until_served(&s, 1);
    assert_int_equal(s.order[0], 1);
    lido_pool_free(s.pool, s.held[4]);
    join_in_order(&s, 2);
    end(&s);
}

// --- objects --------------------------------------------------------------------------------------------------------

typedef struct cache {
    lido_object_pool *pool;
    _Atomic int made, ended, served;
    bool by_new;
} cache;

static int make_object(void *object, void *arguments, void *context) {
    (void)arguments;
    *(int *)object = ++((cache *)context)->made;
    return 0;
}
static void end_object(void *object, void *context) {
    (void)object;
    ((cache *)context)->ended++;
}

static void *wait_for_object(void *argument) {
    cache *c = (cache *)argument;
    int *object = (int *)(c->by_new ? lido_object_new(c->pool, NULL) : lido_object_acquire(c->pool));
    UNIT_CHECK(object != NULL);
    c->served++;
    lido_object_release(c->pool, object);
    return NULL;
}

static void objects_in(cache *c, bool by_new, bool by_delete) {
    lido_type type = {.name = "connection", .size = 48, .construct = make_object, .destroy = end_object, .context = c};
    lido_object_options options = {
        .pool = {.threads = LIDO_SHARED, .capacity = 2, .on_exhausted = LIDO_WAIT, .wait_ms = 20000}};
    memset(c, 0, sizeof *c);
    c->by_new = by_new;
    c->pool = lido_object_pool_new(&type, &options);
    assert_non_null(c->pool);
    void *a = lido_object_acquire(c->pool), *b = lido_object_acquire(c->pool);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_object, c), 0);
        wait_until_waiting(lido_object_pool_memory(c->pool), (size_t)i + 1);
    }
    assert_int_equal(c->served, 0);
    if (by_delete)
        lido_object_delete(c->pool, a);
    else
        lido_object_release(c->pool, a);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);    // each serves the next
    assert_int_equal(c->served, 3);
    lido_object_release(c->pool, b);
}

static void objects(void **state) {
    (void)state;
    cache c;
    objects_in(&c, false, false);    // a released object stays constructed on its way to the one who waits
    assert_int_equal(c.made, 2);
    assert_int_equal(c.ended, 0);
    lido_object_pool_destroy(c.pool);
    assert_int_equal(c.ended, 2);
    objects_in(&c, false, true);
    assert_int_equal(c.made, 3);
    lido_object_pool_destroy(c.pool);
    objects_in(&c, true, false);    // each new one ends an idle one
    assert_int_equal(c.made, 5);
    assert_int_equal(c.ended, 3);
    lido_object_pool_destroy(c.pool);
    assert_int_equal(c.ended, 5);
}

// --- fork -----------------------------------------------------------------------------------------------------------

static void use_in_child(void *argument) {
    scene *s = (scene *)argument;
    UNIT_CHECK(lido_pool_stats(s->pool).waiting == 0);
    lido_pool_free(s->pool, s->held[0]);
    void *again = lido_pool_alloc(s->pool);
    UNIT_CHECK(again != NULL);
    lido_pool_reset(s->pool);
    UNIT_CHECK(lido_pool_alloc(s->pool) != NULL);
    lido_pool_reset(s->pool);
    lido_pool_destroy(s->pool);
}

static void fork_while_others_wait(void **state) {
    (void)state;
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        scene s;
        part parts[WAITERS];
        fill(&s, ways[w].capacity, ways[w].order);
        start_waiters(&s, parts, 3);
        unit_child child = unit_fork(use_in_child, &s);
        unit_assert_done(&child);
        assert_int_equal(lido_pool_stats(s.pool).waiting, 3);
        lido_pool_free_bulk(s.pool, s.held, 3);
        join_all(&s, 3);
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(whatever_makes_room),
        cmocka_unit_test(what_lies_in_a_bin),
        cmocka_unit_test(time_is_over),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(nobody_overtakes),
        cmocka_unit_test(objects),
        cmocka_unit_test(fork_while_others_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
