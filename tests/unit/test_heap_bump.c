// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Heaps that bump: blocks in the order of their requests, single frees that are used again, reset, and everything in random order
// beside a shadow.
#include "support.h"

#include "slab/segment.h"

#include <errno.h>
#include <lido/lido.h>

static lido_heap *bumping(lido_threads threads) {
    lido_heap *heap = lido_heap_new(&(lido_heap_options){.name = "reap", .threads = threads, .bump = true});
    assert_non_null(heap);
    return heap;
}

static void side_by_side(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 8, 9, 24, 25, 100, 1000, 3000, 16};
    lido_heap *heap = bumping(LIDO_LOCAL);
    char *last = NULL, *blocks[COUNT_OF(sizes)];
    size_t last_usable = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *p = blocks[i] = (char *)lido_heap_alloc(heap, sizes[i]);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(lido_usable_size(p) >= sizes[i]);
        if (sizes[i] <= 1000) assert_true(lido_usable_size(p) < sizes[i] + 16);
        if (last != NULL) assert_ptr_equal(p, last + last_usable + 8);    // 8 bytes of lido's lie between
        last = p;
        last_usable = lido_usable_size(p);
        memset(p, (int)i, last_usable);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) assert_int_equal(blocks[i][sizes[i] - 1], (char)i);
    lido_free(blocks[5]);
    lido_heap_free(heap, blocks[3]);
    lido_free(blocks[1]);
    assert_ptr_equal(lido_heap_alloc(heap, 24), blocks[3]);    // the size decides, not the order of the frees
    assert_ptr_equal(lido_heap_alloc(heap, 97), blocks[5]);
    assert_ptr_equal(lido_heap_alloc(heap, 3), blocks[1]);
    assert_ptr_equal(lido_heap_alloc(heap, 16), last + last_usable + 8);
    lido_heap_destroy(heap);
}

static void reset_keeps_the_memory(void **state) {
    (void)state;
    lido_heap *heap = bumping(LIDO_LOCAL);
    void *first = NULL;
    size_t held = 0;
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < 20000; i++) {
            void *p = lido_heap_alloc(heap, 1 + i * 7 % 300);
            assert_non_null(p);
            if (i == 0 && round == 0) first = p;
            memset(p, 1, 1 + i * 7 % 300);
        }
        assert_non_null(lido_heap_alloc(heap, 200000));
        assert_non_null(lido_heap_alloc(heap, 20 << 20));
        size_t now = lido_process_stats().live_bytes;
        if (round == 1) held = now;
        if (round > 1) assert_int_equal(now, held);
        lido_heap_reset(heap);
    }
    bool again = false;    // memory of the first round is used, in whatever order chunks come
    for (size_t i = 0; i < 40000 && !again; i++) again = lido_heap_alloc(heap, 100) == first;
    assert_true(again);
    size_t before = lido_process_stats().live_bytes;
    lido_heap_destroy(heap);
    assert_true(lido_process_stats().live_bytes + (2 << 20) < before);
    lido__segments_verify();
    // and of an ordinary heap
    heap = lido_heap_new(NULL);
    first = lido_heap_alloc(heap, 48);
    assert_non_null(lido_heap_alloc(heap, 1 << 20));
    lido_heap_reset(heap);
    assert_ptr_equal(lido_heap_alloc(heap, 48), first);
    lido_heap_destroy(heap);
    lido_heap_reset(NULL);
}

enum { SLOTS = 500 };
typedef struct shadow {
    unsigned char *p;
    size_t size;
    unsigned char tag;
} shadow;

static void check(const shadow *s) {
    for (size_t i = 0; i < s->size; i += 1 + s->size / 64) UNIT_CHECK(s->p[i] == s->tag);
    UNIT_CHECK(s->size == 0 || s->p[s->size - 1] == s->tag);
}

static void random_steps(lido_heap *heap, uint64_t random, unsigned steps) {
    static _Thread_local shadow all[SLOTS];
    memset(all, 0, sizeof all);
    for (unsigned step = 0; step < steps; step++) {
        uint64_t r = unit_random(&random);
        shadow *s = &all[r % SLOTS];
        size_t size = (r >> 20) % ((size_t)1 << (1 + (r >> 40) % 16)), align = (size_t)16 << (r >> 50) % 8;
        if (s->p == NULL) {
            bool aligned = (r >> 12) % 8 == 0;
            s->p =
                (unsigned char *)(aligned ? lido_heap_alloc_aligned(heap, align, size) : lido_heap_alloc(heap, size));
            UNIT_CHECK(s->p != NULL && (uintptr_t)s->p % (aligned ? align : 16) == 0);
        } else if ((r >> 12) % 4 == 0 && size > 0) {
            check(s);
            if (size < s->size) s->size = size;
            s->p = (unsigned char *)lido_heap_realloc(heap, s->p, size);
            UNIT_CHECK(s->p != NULL);
            check(s);
        } else {
            check(s);
            if ((r >> 13) % 2 == 0)
                lido_free(s->p);
            else
                lido_heap_free(heap, s->p);
            s->p = NULL;
            continue;
        }
        s->size = size;
        UNIT_CHECK(lido_usable_size(s->p) >= size);
        memset(s->p, s->tag = (unsigned char)r, size);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (all[i].p == NULL) continue;
        check(&all[i]);
        if (i % 2 == 0) lido_free(all[i].p);
    }
}

static void random_calls(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        lido_heap *heap = bumping(seed % 2 == 0 ? LIDO_LOCAL : LIDO_SHARED);
        for (int round = 0; round < 3; round++) {
            random_steps(heap, seed * 10 + (uint64_t)round, 20000);
            lido_heap_reset(heap);
        }
        lido_heap_destroy(heap);
        lido__segments_verify();
    }
}

static void in_threads(unsigned index, void *heap) { random_steps((lido_heap *)heap, index + 100, 10000); }

static void shared_by_threads(void **state) {
    (void)state;
    lido_heap *heap = bumping(LIDO_SHARED);
    unit_threads(4, in_threads, heap);
    lido_heap_destroy(heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_by_side),
        cmocka_unit_test(reset_keeps_the_memory),
        cmocka_unit_test(random_calls),
        cmocka_unit_test(shared_by_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
