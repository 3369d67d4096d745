// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The figures of the whole process add up: each kind of memory by exactly what was taken, back to the start when it is given
// back, threads while they live; what a trim leaves; and the line at exit.
#include "support.h"

#include "heap/heap.h"
#include "slab/mapping.h"

#include <lido/heap.h>
#include <lido/options.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static void assert_sane(const lido_heap_statistics *now) {
    assert_true(now->live_bytes <= now->committed_bytes);
    assert_true(now->committed_bytes <= now->held_bytes);
    assert_true(now->dirty_free_bytes <= now->committed_bytes);
    assert_true(now->live_bytes + now->dirty_free_bytes <= now->committed_bytes);
    assert_true(now->held_bytes <=
                now->segment_count * LIDO__SEGMENT_BYTES + now->huge_bytes + lido__mappings_totals().cached_bytes);
    assert_true(now->huge_bytes <= now->live_bytes);
    assert_true((now->huge_count == 0) == (now->huge_bytes == 0));
}

static lido_heap_statistics stats(void) {
    lido_heap_statistics now = lido_process_stats();
    assert_sane(&now);
    return now;
}

static void malloc_by_the_byte(void **state) {
    (void)state;
    static void *blocks[3000];
    uint64_t random = unit_seed("malloc_by_the_byte", 701);
    size_t base = stats().live_bytes, sum = 0;
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        size_t size = i % 100 == 0 ? 32769 + unit_random(&random) % MIB : unit_random(&random) % 5000;
        if (i % 1000 == 0) size = 9 * MIB;
        blocks[i] = lido_malloc(size);
        sum += lido_usable_size(blocks[i]);
        if (i % 50 == 0) assert_int_equal(stats().live_bytes, base + sum);
    }
    assert_int_equal(stats().huge_count, 3);
    assert_int_equal(stats().huge_bytes, 27 * MIB);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        sum -= lido_usable_size(blocks[i]);
        lido_free(blocks[i]);
        if (i % 50 == 0) assert_int_equal(stats().live_bytes, base + sum);
    }
    assert_int_equal(stats().live_bytes, base);
    assert_int_equal(stats().huge_count, 0);
}

static void pools_by_the_block(void **state) {
    (void)state;
    size_t base = stats().live_bytes;
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 100, .threads = LIDO_SHARED});
    size_t with_pool = stats().live_bytes;
    void *blocks[500];
    assert_int_equal(lido_pool_alloc_bulk(pool, blocks, 500), 0);
    assert_int_equal(stats().live_bytes, with_pool + 500 * lido_pool_block_size(pool));
    lido_pool_free_bulk(pool, blocks, 200);
    assert_int_equal(stats().live_bytes, with_pool + 300 * lido_pool_block_size(pool));
    lido_pool_reset(pool);
    assert_int_equal(stats().live_bytes, with_pool);
    lido_pool_destroy(pool);
    assert_int_equal(stats().live_bytes, base);
}

// Of a pool that belongs to one thread: everything that it has taken, and nothing once that went back.
static void local_pools_by_what_they_took(void **state) {
    (void)state;
    size_t base = stats().live_bytes;
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.block_size = 128});
    size_t with_pool = stats().live_bytes;
    void *block = lido_pool_alloc(pool);
    assert_in_range(stats().live_bytes, with_pool + 128, with_pool + 65536);
    lido_pool_free(pool, block);
    lido_pool_trim(pool);
    assert_int_equal(stats().live_bytes, with_pool);
    lido_pool_destroy(pool);
    assert_int_equal(stats().live_bytes, base);
}

typedef struct meeting {
    pthread_barrier_t here, done;
} meeting;

static void allocate_and_wait(unsigned index, void *argument) {
    meeting *m = (meeting *)argument;
    void *block = lido_malloc(100 + index);
    pthread_barrier_wait(&m->here);
    pthread_barrier_wait(&m->done);
    lido_free(block);
}

static void *meet(void *argument) {
    unit_threads(8, allocate_and_wait, argument);
    return NULL;
}

static void threads_while_they_live(void **state) {
    (void)state;
    lido_free(lido_malloc(1));
    lido_trim(0);
    lido_heap_statistics before = stats();
    for (int round = 0; round < 5; round++) {
        meeting m;
        pthread_t other;
        pthread_barrier_init(&m.here, NULL, 9);
        pthread_barrier_init(&m.done, NULL, 9);
        assert_int_equal(pthread_create(&other, NULL, meet, &m), 0);
        pthread_barrier_wait(&m.here);
        lido_heap_statistics now = stats();
        assert_int_equal(now.thread_count, before.thread_count + 8);
        assert_int_equal(now.live_bytes, before.live_bytes + 8 * 112);
        pthread_barrier_wait(&m.done);
        pthread_join(other, NULL);
        now = stats();
        assert_int_equal(now.thread_count, before.thread_count);
        assert_int_equal(now.live_bytes,
                         before.live_bytes);    // structures that wait for the next threads are not alive
    }
}

static void trim_leaves_nothing_dirty(void **state) {
    (void)state;
    static void *blocks[2000];
    lido_trim(0);
    lido_heap_statistics before = stats();
    for (size_t i = 0; i < COUNT_OF(blocks); i++) blocks[i] = memset(lido_malloc(10000), 1, 10000);
    void *huge = memset(lido_malloc(20 * MIB), 1, 20 * MIB);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) lido_free(blocks[i]);
    lido_free(huge);
    assert_true(stats().dirty_free_bytes >= 20 * MIB);
    assert_true(lido_trim(0) >= 30 * MIB);
    assert_int_equal(stats().dirty_free_bytes, 0);
    assert_true(stats().committed_bytes <= before.committed_bytes + MIB);
    assert_true(stats().held_bytes <= before.held_bytes + LIDO__SEGMENT_BYTES);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) blocks[i] = memset(lido_malloc(40000), 1, 40000);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) lido_free(blocks[i]);
    lido_trim(10 * MIB);    // keeps about that much ready
    assert_in_range(stats().dirty_free_bytes, 9 * MIB, 10 * MIB);
    lido_trim(0);
    assert_int_equal(stats().live_bytes, before.live_bytes);
}

static void end_with_a_line(void *argument) {
    (void)argument;
    lido_options_set("stats=exit");
    void *p = lido_malloc(100);
    p = lido_malloc(10 * MIB);
    (void)p;
    exit(0);    // not _exit: destructors run
}

static void line_at_exit(void **state) {
    (void)state;
    unit_child child = unit_fork(end_with_a_line, NULL);
    unit_assert_done(&child);
    size_t live, committed, kept, segments, huge, threads;
    char name[32];
    unsigned process;
    int end = 0;
    int got = sscanf(child.text,
                     "lido: %31s (process %u) at exit: live %zu bytes, committed %zu, free and kept %zu, segments %zu, "
                     "huge objects %zu, threads %zu%n",
                     name, &process, &live, &committed, &kept, &segments, &huge, &threads, &end);
    assert_int_equal(got, 8);
    assert_string_equal(name, program_invocation_short_name);
    assert_int_not_equal(process, 0);
    assert_string_equal(child.text + end, "\n");
    assert_true(live >= 10 * MIB + 112 && live < 11 * MIB && committed >= live);
    assert_int_equal(huge, 1);
    assert_int_equal(threads, 1);
    assert_true(segments >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malloc_by_the_byte),
        cmocka_unit_test(pools_by_the_block),
        cmocka_unit_test(local_pools_by_what_they_took),
        cmocka_unit_test(threads_while_they_live),
        cmocka_unit_test(trim_leaves_nothing_dirty),
        cmocka_unit_test(line_at_exit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
