// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What the calls of a pool do, for every kind of pool: the order of blocks, bulk calls, ownership, visits, reset, free_all and
// trim; and long random sequences against a shadow list with exact statistics.
#include "pool_kinds.h"

#include "pool/pool.h"

#include <lido/heap.h>
#include <lido/options.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ODD_ERRNO = 12345 };

// --- order ----------------------------------------------------------------------------------------------------------

// FIFO: a queue that is filled up with 16 fresh blocks whenever it is empty, and nothing else.
static void fifo_is_exact(void **state) {
    (void)state;
    enum { MOST = 4096, BLOCK = 64 };
    static char *queue[MOST * 8], *live[MOST];
    uint64_t random = unit_seed("fifo_is_exact", 501);
    for (size_t k = 0; k < POOL_KINDS; k++) {
        if (pool_kinds[k].order != LIDO_FIFO) continue;
        size_t first = 0, end = 0, live_count = 0;
        lido_pool *pool = pool_of_kind(&pool_kinds[k], BLOCK, 0, pool_kinds[k].capacity);
        for (unsigned i = 0; i < 8000; i++) {
            bool grow = unit_random(&random) % 100 < (i / 1000 % 2 == 0 ? 60u : 40u);
            if (grow && live_count < 900) {
                char *block = lido_pool_alloc(pool);
                assert_non_null(block);
                if (first == end) {    // the rest of the 16 follows, side by side
                    for (size_t j = 0; j < 16; j++) queue[end++ % COUNT_OF(queue)] = block + j * BLOCK;
                }
                assert_ptr_equal(block, queue[first++ % COUNT_OF(queue)]);
                live[live_count++] = block;
            } else if (!grow && live_count > 0) {
                size_t pick = unit_random(&random) % live_count;
                lido_pool_free(pool, live[pick]);
                queue[end++ % COUNT_OF(queue)] = live[pick];
                live[pick] = live[--live_count];
            }
        }
        while (live_count > 0) lido_pool_free(pool, live[--live_count]);
        lido_pool_destroy(pool);
    }
}

// LIFO: the block that came back last goes out first; exact for one thread as far as its list reaches.
static void lifo_is_exact(void **state) {
    (void)state;
    static void *blocks[64];
    uint64_t random = unit_seed("lifo_is_exact", 502);
    for (size_t k = 0; k < POOL_KINDS; k++) {
        if (pool_kinds[k].order != LIDO_LIFO || pool_kinds[k].capacity == 200) continue;    // that one has no lists
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 64, 0, pool_kinds[k].capacity);
        for (size_t i = 0; i < 64; i++) blocks[i] = lido_pool_alloc(pool);
        size_t depth =
            pool->bin != 0 ? pool->batch_max < 8 ? pool->batch_max : 8 : 64;    // a young bin holds that many
        for (int round = 0; round < 200; round++) {
            size_t count = 1 + unit_random(&random) % depth, from = unit_random(&random) % (65 - count);
            for (size_t i = from; i < from + count; i++) lido_pool_free(pool, blocks[i]);
            for (size_t i = from + count; i > from; i--) assert_ptr_equal(lido_pool_alloc(pool), blocks[i - 1]);
        }
        lido_pool_free_bulk(pool, blocks, 64);
        lido_pool_destroy(pool);
    }
}

// --- bulk -----------------------------------------------------------------------------------------------------------

static void bulk_is_all_or_nothing(void **state) {
    (void)state;
    static void *blocks[2][400];
    for (size_t k = 0; k < POOL_KINDS; k++) {
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 40, 0, 300);
        for (int round = 0; round < 20; round++) {
            errno = ODD_ERRNO;
            assert_int_equal(lido_pool_alloc_bulk(pool, blocks[0], 0), 0);
            assert_int_equal(lido_pool_alloc_bulk(pool, blocks[0], 170), 0);
            assert_int_equal(errno, ODD_ERRNO);
            assert_int_equal(lido_pool_alloc_bulk(pool, blocks[1], 131), -1);
            assert_int_equal(errno, ENOMEM);
            assert_int_equal(lido_pool_stats(pool).live, 170);    // nothing taken
            assert_int_equal(lido_pool_alloc_bulk(pool, blocks[1], SIZE_MAX), -1);
            assert_int_equal(lido_pool_alloc_bulk(pool, blocks[1], 130), 0);
            assert_int_equal(lido_pool_stats(pool).live, 300);
            assert_int_equal(lido_pool_alloc_bulk(pool, blocks[0] + 200, 1), -1);
            for (size_t i = 0; i < 300; i++) {
                void *block = i < 170 ? blocks[0][i] : blocks[1][i - 170];
                assert_non_null(block);
                memset(block, (int)i, 40);
            }
            errno = ODD_ERRNO;
            void *keep = blocks[0][7];
            blocks[0][7] = blocks[0][100] = NULL;    // NULL is ignored; that one leaks until the reset
            lido_pool_free_bulk(pool, blocks[0], 170);
            lido_pool_free_bulk(pool, blocks[1], 130);
            lido_pool_free_bulk(pool, blocks[1], 0);
            assert_int_equal(lido_pool_stats(pool).live, 2);
            lido_pool_free(pool, keep);
            lido_pool_reset(pool);
            assert_int_equal(lido_pool_stats(pool).live, 0);
            assert_int_equal(errno, ODD_ERRNO);
        }
        lido_pool_destroy(pool);
    }
}

// --- ownership ------------------------------------------------------------------------------------------------------

static void who_owns_what(void **state) {
    (void)state;
    int local;
    void *of_libc = malloc(10), *of_lido = lido_malloc(100), *large = lido_malloc(1 << 20),
         *huge = lido_malloc(16 << 20);
    lido_heap *heap = lido_heap_new(NULL);
    void *of_heap = lido_heap_alloc(heap, 48);
    lido_pool *other = lido_pool_new(&(lido_pool_options){.block_size = 48});
    void *of_other = lido_pool_alloc(other);
    void *const foreign[] = {NULL,      &local, of_libc, of_lido, large, huge, of_heap, (void *)UINTPTR_MAX,
                             (void *)1, other};
    for (size_t k = 0; k < POOL_KINDS; k++) {
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 48, 0, pool_kinds[k].capacity);
        char *a = lido_pool_alloc(pool), *b = lido_pool_alloc(pool);
        char *slab = (char *)((uintptr_t)a & ~(uintptr_t)65535);
        char *const mine[] = {a, a + 1, a + 47, b, slab, slab + (size_t)1365 * 48 - 1};
        for (size_t i = 0; i < COUNT_OF(mine); i++) {
            assert_true(lido_pool_owns(pool, mine[i]) && !lido_pool_owns(other, mine[i]));
            assert_ptr_equal(lido_pool_of(mine[i]), pool);
        }
        assert_false(lido_pool_owns(pool, slab + (size_t)1365 * 48));    // the tail of the slab belongs to no block
        assert_null(lido_pool_of(slab + 65535));
        for (size_t i = 0; i < COUNT_OF(foreign); i++) {
            assert_false(lido_pool_owns(pool, foreign[i]));
            assert_null(lido_pool_of(foreign[i]));
        }
        assert_false(lido_pool_owns(pool, of_other));
        lido_pool_free(pool, a);
        assert_true(lido_pool_owns(pool, a));    // free, and still its memory
        lido_pool_free(pool, b);
        lido_pool_free_all(pool);
        assert_false(lido_pool_owns(pool, a));    // given back
        lido_pool_destroy(pool);
    }
    assert_ptr_equal(lido_pool_of(of_other), other);
    lido_pool_free(other, of_other);
    lido_pool_destroy(other);
    lido_heap_destroy(heap);
    lido_free(huge);
    lido_free(large);
    lido_free(of_lido);
    free(of_libc);
}

// --- visits ---------------------------------------------------------------------------------------------------------

typedef struct visits {
    lido_pool *pool;
    size_t count, freed, stop_at;
    void *seen[2000];
} visits;

static bool note(void *block, void *context) {
    visits *v = (visits *)context;
    v->seen[v->count++] = block;
    return v->count != v->stop_at;
}

static bool note_and_free_odd(void *block, void *context) {
    visits *v = (visits *)context;
    v->seen[v->count++] = block;
    if (v->count % 2 != 0) lido_pool_free(v->pool, block), v->freed++;
    return true;
}

static bool note_and_free(void *block, void *context) {
    visits *v = (visits *)context;
    v->seen[v->count++] = block;
    lido_free(block);    // through the other door
    return true;
}

static int by_address(const void *a, const void *b) {
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static void visits_see_the_live(void **state) {
    (void)state;
    static void *live[1500];
    static visits v;
    uint64_t random = unit_seed("visits_see_the_live", 503);
    for (size_t k = 0; k < POOL_KINDS; k++) {
        size_t count = pool_kinds[k].capacity == 200 ? 200 : 1500, left = count;
        v = (visits){.pool = pool_of_kind(&pool_kinds[k], 80, 0, pool_kinds[k].capacity)};
        assert_int_equal(lido_pool_visit_live(v.pool, note, &v), 0);
        assert_int_equal(lido_pool_alloc_bulk(v.pool, live, count), 0);
        for (size_t i = 0; i < count / 3; i++) {
            size_t pick = unit_random(&random) % left;
            lido_pool_free(v.pool, live[pick]);
            live[pick] = live[--left];
        }
        assert_int_equal(lido_pool_visit_live(v.pool, note, &v), left);
        assert_int_equal(v.count, left);
        for (size_t i = 1; i < left; i++) {    // ascending within each slab
            bool same = (uintptr_t)v.seen[i] >> 16 == (uintptr_t)v.seen[i - 1] >> 16;
            assert_true(!same || (uintptr_t)v.seen[i] > (uintptr_t)v.seen[i - 1]);
        }
        qsort(v.seen, left, sizeof *v.seen, by_address);
        qsort(live, left, sizeof *live, by_address);
        assert_memory_equal(v.seen, live, left * sizeof *live);
        v.count = 0, v.stop_at = 7;
        assert_int_equal(lido_pool_visit_live(v.pool, note, &v), 7);
        assert_int_equal(lido_pool_stats(v.pool).live, left);    // looking changes nothing
        v.count = 0;
        assert_int_equal(lido_pool_visit_live(v.pool, note_and_free_odd, &v), left);
        assert_int_equal(lido_pool_stats(v.pool).live, left - v.freed);
        v.count = 0;
        assert_int_equal(lido_pool_visit_live(v.pool, note_and_free, &v), left - v.freed);
        assert_int_equal(lido_pool_stats(v.pool).live, 0);
        assert_int_equal(lido_pool_visit_live(v.pool, note, &v), 0);
        assert_int_equal(lido_pool_alloc_bulk(v.pool, live, count), 0);    // all of it is there again
        lido_pool_free_bulk(v.pool, live, count);
        assert_true(lido__slabs_verify(&v.pool->slabs));
        lido_pool_destroy(v.pool);
    }
}

// --- sequences against a shadow list --------------------------------------------------------------------------------

typedef struct shadow {
    const pool_kind *kind;
    lido_pool *pool;
    size_t bytes, live_count, high, high_bound;
    uint64_t random;
    uint64_t *live[3000];
} shadow;

static void fill(const shadow *s, uint64_t *block) {
    for (size_t i = 0; i < s->bytes / 8; i++) block[i] = (uintptr_t)block + i;
}

static void take_out(shadow *s, size_t i) {
    const uint64_t *block = s->live[i];
    for (size_t j = 0; j < s->bytes / 8; j++) assert_int_equal(block[j], (uintptr_t)block + j);
    s->live[i] = s->live[--s->live_count];
}

static void put_in(shadow *s, void *block) {
    fill(s, block);
    s->live[s->live_count++] = block;
    if (s->high < s->live_count) s->high = s->live_count;
}

static void shadow_alloc(shadow *s, size_t most) {
    size_t capacity = s->kind->capacity != 0 ? s->kind->capacity : SIZE_MAX;
    if (s->live_count == most && most < capacity) return;
    void *block = lido_pool_alloc(s->pool);
    assert_int_equal(block != NULL, s->live_count < capacity);
    if (block != NULL) put_in(s, block);
}

static void shadow_free(shadow *s) {
    if (s->live_count == 0) return;
    size_t i = unit_random(&s->random) % s->live_count;
    void *block = s->live[i];
    take_out(s, i);
    unit_random(&s->random) % 4 == 0 ? lido_free(block) : lido_pool_free(s->pool, block);
}

static bool check_visited(void *block, void *context) {
    shadow *s = (shadow *)context;
    assert_int_equal(*(uint64_t *)block, (uintptr_t)block);
    if (unit_random(&s->random) % 50 != 0) return true;
    for (size_t i = 0; i < s->live_count; i++) {
        if (s->live[i] != block) continue;
        take_out(s, i);
        lido_pool_free(s->pool, block);
        return true;
    }
    fail_msg("a visited block is not alive");
    return false;
}

static void shadow_whole(shadow *s) {
    void *blocks[100];
    switch (unit_random(&s->random) % 12) {
        case 0:
            lido_pool_reset(s->pool);
            s->live_count = s->high = 0;
            break;
        case 1:
            lido_pool_free_all(s->pool);
            s->live_count = s->high = 0;
            assert_int_equal(lido_pool_stats(s->pool).held_bytes, 0);
            break;
        case 2: assert_int_equal(lido_pool_prewarm(s->pool, unit_random(&s->random) % 150), 0); break;
        case 3:
        case 4: lido_trim(0); break;
        case 5:
        case 6: lido_pool_trim(s->pool); break;
        case 7: {
            size_t before = s->live_count;
            assert_int_equal(lido_pool_visit_live(s->pool, check_visited, s), before);
            break;
        }
        default: {
            size_t capacity = s->kind->capacity != 0 ? s->kind->capacity : SIZE_MAX,
                   count = unit_random(&s->random) % 100;
            if (s->live_count + count > COUNT_OF(s->live)) break;
            bool fits = s->live_count + count <= capacity;
            assert_int_equal(lido_pool_alloc_bulk(s->pool, blocks, count), fits ? 0 : -1);
            if (!fits && s->high < capacity) s->high = capacity;    // it got that far before it gave up
            for (size_t i = 0; fits && i < count; i++) put_in(s, blocks[i]);
        }
    }
}

static void check_statistics(shadow *s) {
    lido_pool_statistics now = lido_pool_stats(s->pool);
    size_t slab_bytes = (size_t)s->pool->slabs.slab_slices * LIDO__SLICE_BYTES;
    assert_int_equal(now.live, s->live_count);
    assert_int_equal(now.block_size, s->bytes);
    assert_int_equal(now.capacity, s->kind->capacity);
    assert_int_equal(now.held_bytes, now.slab_count * slab_bytes);
    assert_true(now.live * now.block_size <= now.committed_bytes && now.committed_bytes <= now.held_bytes);
    if (s->kind->exact_high) assert_int_equal(now.high_water, s->high);
    assert_true(now.high_water >= s->high);
    if (s->kind->capacity != 0) assert_true(now.high_water <= s->kind->capacity);
    assert_true(lido__slabs_verify(&s->pool->slabs));
}

static void run_shadow(const pool_kind *kind, size_t bytes, uint64_t seed, unsigned operations) {
    static shadow s;
    s = (shadow){.kind = kind, .bytes = bytes, .random = seed, .pool = pool_of_kind(kind, bytes, 0, kind->capacity)};
    size_t most = bytes > 4096 ? 300 : 2500;
    for (unsigned i = 0; i < operations; i++) {
        bool grow = unit_random(&s.random) % 100 < (i / 4000 % 2 == 0 ? 58u : 42u);
        if (unit_random(&s.random) % 300 == 0) {
            shadow_whole(&s);
        } else if (grow) {
            shadow_alloc(&s, most);
        } else {
            shadow_free(&s);
        }
        if (i % 97 == 0) check_statistics(&s);
    }
    while (s.live_count > 0) shadow_free(&s);
    check_statistics(&s);
    lido_pool_destroy(s.pool);
}

static void every_kind_against_a_shadow(void **state) {
    (void)state;
    static const size_t sizes[] = {8, 56, 1024, 10000};
    uint64_t seed = unit_seed("every_kind_against_a_shadow", 504);
    for (size_t k = 0; k < POOL_KINDS; k++) {
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            run_shadow(&pool_kinds[k], sizes[i], seed + k * 7 + i, UNIT_SANITIZED ? 4000 : 12000);
    }
}

// --- memory ---------------------------------------------------------------------------------------------------------

static void reset_keeps_and_free_all_gives_back(void **state) {
    (void)state;
    static void *blocks[3000];
    for (size_t k = 0; k < POOL_KINDS; k++) {
        size_t count = pool_kinds[k].capacity == 200 ? 200 : 3000;
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 512, 0, pool_kinds[k].capacity);
        assert_int_equal(lido_pool_alloc_bulk(pool, blocks, count), 0);
        size_t held = lido_pool_stats(pool).held_bytes;
        assert_true(held >= count * 512);
        lido_pool_reset(pool);
        assert_int_equal(lido_pool_stats(pool).live, 0);
        assert_int_equal(lido_pool_stats(pool).high_water, 0);
        assert_int_equal(lido_pool_stats(pool).held_bytes, held);
        assert_int_equal(lido_pool_alloc_bulk(pool, blocks, count), 0);
        assert_int_equal(lido_pool_stats(pool).held_bytes, held);    // the same memory again
        lido_pool_free_all(pool);
        assert_int_equal(lido_pool_stats(pool).held_bytes, 0);
        assert_int_equal(lido_pool_stats(pool).slab_count, 0);
        assert_int_equal(lido_pool_alloc_bulk(pool, blocks, count), 0);
        lido_pool_free_bulk(pool, blocks, count);
        assert_true(lido_pool_trim(pool) >= held / 2);
        assert_int_equal(lido_pool_stats(pool).held_bytes, 0);
        lido_pool_destroy(pool);
    }
}

// Live blocks keep their contents through a trim, and free pages among them go.
static void trim_spares_the_live(void **state) {
    (void)state;
    static char *blocks[1024];
    for (size_t k = 0; k < POOL_KINDS; k++) {
        if (pool_kinds[k].capacity == 200) continue;
        lido_pool *pool = pool_of_kind(&pool_kinds[k], 4096, 4096, pool_kinds[k].capacity);
        assert_int_equal(lido_pool_alloc_bulk(pool, (void **)blocks, 1024), 0);
        for (size_t i = 0; i < 1024; i++) memset(blocks[i], (int)(i % 251) + 1, 4096);
        for (size_t i = 0; i < 1024; i++) {
            if (i % 16 != 3) lido_pool_free(pool, blocks[i]);
        }
        size_t held = lido_pool_stats(pool).held_bytes;
        assert_true(lido_pool_trim(pool) >= 900 * 4096);
        assert_int_equal(lido_pool_stats(pool).held_bytes, held);    // each slab has a live block
        assert_int_equal(lido_pool_stats(pool).live, 64);
        for (size_t i = 3; i < 1024; i += 16) {
            for (size_t j = 0; j < 4096; j++) assert_int_equal(blocks[i][j], (char)((i % 251) + 1));
            lido_pool_free(pool, blocks[i]);
        }
        lido_pool_destroy(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifo_is_exact),
        cmocka_unit_test(lifo_is_exact),
        cmocka_unit_test(bulk_is_all_or_nothing),
        cmocka_unit_test(who_owns_what),
        cmocka_unit_test(visits_see_the_live),
        cmocka_unit_test(every_kind_against_a_shadow),
        cmocka_unit_test(reset_keeps_and_free_all_gives_back),
        cmocka_unit_test(trim_spares_the_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
