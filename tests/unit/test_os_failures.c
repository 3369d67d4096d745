// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A system that refuses. One scenario through every part of the core is run again and again, each time in a child of its own:
// with only the Nth call to the system failing, and with every call from the Nth on failing, for N = 1, 2, ... until a run
// makes fewer than N calls. A refused request gives NULL and ENOMEM and changes nothing; all others work, contents stay,
// every structure verifies; and once the system gives again, everything works and nothing has leaked.
#include "pool_kinds.h"

#include "heap/heap.h"
#include "os/os.h"
#include "pool/pool.h"

#include <lido/heap.h>
#include <lido/options.h>

#include <errno.h>
#include <sys/mman.h>

enum { ODD_ERRNO = 12345, MIB = 1 << 20 };

typedef struct run {
    uint32_t first, count;    // of the calls that fail
    bool eager;               // memory goes back at once, huge pages from the start: many more calls
    bool lifted;              // nothing fails any more: nothing may be refused
    unsigned refused;         // requests so far
    uint32_t calls;           // made while failures were on
} run;

static run *the_run;    // shared with the parent

// Counts a refusal; a refused request says ENOMEM, a served one leaves errno alone.
static bool served(bool success) {
    if (success) {
        UNIT_CHECK(errno == ODD_ERRNO);
    } else {
        UNIT_CHECK(errno == ENOMEM && !the_run->lifted);
        the_run->refused++;
    }
    errno = ODD_ERRNO;
    return success;
}

static void must_keep_errno(void) {
    UNIT_CHECK(errno == ODD_ERRNO);
    UNIT_CHECK(lido__segments_verify());
}

static void *mark(void *p, size_t size) {
    if (!served(p != NULL)) return NULL;
    memset(p, (int)(size % 251), size < 256 ? size : 256);
    ((char *)p)[size - 1] = 7;
    return p;
}

static void check_mark(const void *p, size_t size) {
    const char *c = (const char *)p;
    for (size_t i = 0; i + 1 < size && i < 256; i++) UNIT_CHECK(c[i] == (char)(size % 251));
    UNIT_CHECK(c[size - 1] == 7);
}

// --- the scenario, part by part -------------------------------------------------------------------------------------

static bool visit_one(void *block, void *context) {
    check_mark(block, 48);
    return ++*(size_t *)context < 1000;
}

static void use_pool(lido_pool *pool) {
    enum { MOST = 150 };
    void *blocks[MOST];
    size_t live = 0, visited = 0;
    for (size_t i = 0; i < MOST; i++) live += (blocks[i] = mark(lido_pool_alloc(pool), 48)) != NULL;
    UNIT_CHECK(lido_pool_stats(pool).live == live);
    for (size_t i = 0; i < MOST; i += 2) {
        if (blocks[i] != NULL) check_mark(blocks[i], 48), live--;
        lido_pool_free(pool, blocks[i]);
        blocks[i] = NULL;
    }
    lido_pool_trim(pool);
    must_keep_errno();
    UNIT_CHECK(lido_pool_visit_live(pool, visit_one, &visited) == live);
    UNIT_CHECK(visited == live);
    served(lido_pool_prewarm(pool, 50) == 0);
    if (served(lido_pool_alloc_bulk(pool, blocks, 1) == 0)) live++, mark(blocks[0], 48);
    UNIT_CHECK(lido_pool_stats(pool).live == live);
    for (size_t i = 0; i < MOST; i++) {
        if (blocks[i] != NULL) check_mark(blocks[i], 48);
        i % 3 == 0 ? lido_free(blocks[i]) : lido_pool_free(pool, blocks[i]);
    }
    UNIT_CHECK(lido_pool_stats(pool).live == 0);
    UNIT_CHECK(lido__slabs_verify(&pool->slabs));
}

static void use_pools(void) {
    for (size_t k = 0; k < POOL_KINDS; k++) {
        const pool_kind *kind = &pool_kinds[k];
        lido_pool_options options = {
            .name = kind->name, .block_size = 48, .threads = kind->threads, .order = kind->order};
        options.capacity = kind->capacity;
        options.prewarm = k % 2 == 0 ? 30 : 0;
        lido_pool *pool = lido_pool_new(&options);
        if (!served(pool != NULL)) continue;
        use_pool(pool);
        size_t high = lido_pool_stats(pool).high_water;
        UNIT_CHECK(high <= 150 + (kind->exact_high ? 0 : 200));
        if (k % 3 == 0) lido_pool_reset(pool);
        if (k % 3 == 1) lido_pool_free_all(pool);
        lido_pool_destroy(pool);
        must_keep_errno();
    }
}

static void use_malloc(void) {
    static const size_t sizes[] = {1, 100, 1000, 5000, 20000, 40000, 300000, 3 * MIB, 9 * MIB};
    void *blocks[COUNT_OF(sizes)];
    for (size_t i = 0; i < COUNT_OF(sizes); i++) blocks[i] = mark(lido_malloc(sizes[i]), sizes[i]);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (blocks[i] != NULL) check_mark(blocks[i], sizes[i]);
        lido_free(blocks[i]);
    }
    must_keep_errno();
    for (size_t i = 0; i + 2 < COUNT_OF(sizes); i++) {    // clearing megabytes is not the point
        char *p = lido_calloc(1, sizes[i]);
        if (!served(p != NULL)) continue;
        for (size_t j = 0; j < sizes[i]; j += 64) UNIT_CHECK(p[j] == 0);
        lido_free(p);
    }
    for (size_t alignment = 64; alignment <= 4 * MIB; alignment *= 16) {
        void *p = lido_aligned_alloc(alignment, 5000), *out = &p;
        if (served(p != NULL)) UNIT_CHECK((uintptr_t)p % alignment == 0);
        lido_free(p);
        int error = lido_posix_memalign(&out, alignment, 70000);
        UNIT_CHECK(errno == ODD_ERRNO && (error == 0 || error == ENOMEM));
        UNIT_CHECK(error == 0 ? (uintptr_t)out % alignment == 0 : out == &p && !the_run->lifted);
        the_run->refused += error != 0;
        if (error == 0) lido_free(out);
    }
    must_keep_errno();
}

static void use_realloc(void) {
    static const size_t sizes[] = {16,  100,     1000,     5000, 33000,  70000, 140000, 300000,
                                   MIB, 9 * MIB, 12 * MIB, MIB,  100000, 200,   8};
    size_t size = 8;
    char *p = mark(lido_malloc(size), size);
    for (size_t i = 0; i < COUNT_OF(sizes) && p != NULL; i++) {
        char *moved = lido_realloc(p, sizes[i]);
        if (!served(moved != NULL)) {    // and nothing has changed
            check_mark(p, size);
            continue;
        }
        for (size_t j = 0; j + 1 < size && j + 1 < sizes[i] && j < 256; j++) UNIT_CHECK(moved[j] == (char)(size % 251));
        p = moved;
        size = sizes[i];
        memset(p, (int)(size % 251), size < 256 ? size : 256);
        p[size - 1] = 7;
    }
    lido_free(p);
    must_keep_errno();
}

static void use_heaps(void) {
    static const size_t sizes[] = {1, 500, 30000, 100000, 9 * MIB};
    for (unsigned kind = LIDO_LOCAL; kind <= LIDO_SHARED; kind++) {
        lido_heap *heap = lido_heap_new(&(lido_heap_options){.threads = (lido_threads)kind});
        if (!served(heap != NULL)) continue;
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            void *p = mark(lido_heap_alloc(heap, sizes[i]), sizes[i]);
            if (p == NULL) continue;
            if (i + 1 == COUNT_OF(sizes)) break;
            void *moved = lido_heap_realloc(heap, p, sizes[i] * 2);
            if (!served(moved != NULL)) check_mark(p, sizes[i]);
            if (i % 2 == 0) lido_free(moved != NULL ? moved : p);
        }
        lido_heap_destroy(heap);
        must_keep_errno();
    }
}

static void use_in_thread(unsigned index, void *argument) {
    (void)index;
    lido_pool *pool = (lido_pool *)argument;
    void *blocks[60];
    errno = ODD_ERRNO;
    for (size_t i = 0; i < 60; i++)
        blocks[i] = i % 2 == 0 ? mark(lido_malloc(200), 200) : pool != NULL ? mark(lido_pool_alloc(pool), 48) : NULL;
    for (size_t i = 0; i < 60; i++) lido_free(blocks[i]);
    UNIT_CHECK(errno == ODD_ERRNO);
}

// One after the other, so that the calls have an order.
static void use_threads(void) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){.name = "threads", .block_size = 48, .threads = LIDO_SHARED});
    served(pool != NULL);
    for (int i = 0; i < 3; i++) unit_threads(1, use_in_thread, pool);
    errno = ODD_ERRNO;    // making a thread is not ours
    if (pool != NULL) UNIT_CHECK(lido_pool_stats(pool).live == 0);
    lido_pool_destroy(pool);
    lido_trim(MIB);
    lido_trim(0);
    must_keep_errno();
}

static void scenario(void) {
    errno = ODD_ERRNO;
    use_pools();
    use_malloc();
    use_realloc();
    use_heaps();
    use_threads();
    use_malloc();
}

static void nothing_has_leaked(void) {
    lido_trim(0);
    lido_heap_statistics now = lido_process_stats();
    UNIT_CHECK(now.live_bytes == 0 && now.huge_count == 0 && now.dirty_free_bytes == 0);
    UNIT_CHECK(now.thread_count <= 1);
    UNIT_CHECK(lido__segments_totals().used_bytes <=
               4 * LIDO__SLICE_BYTES);    // this thread's structure, and a slab or two
    UNIT_CHECK(lido__segments_verify());
}

static void run_once(void *argument) {
    (void)argument;
    if (the_run->eager) lido_options_set("purge_delay_ms=0:huge_from_mb=0:hugetlb=1");
    lido__os_fail_from(the_run->first, the_run->count);
    scenario();
    the_run->calls = lido__os_fail_from(0, 0);
    the_run->lifted = true;
    scenario();
    nothing_has_leaked();
}

// --- the runs -------------------------------------------------------------------------------------------------------

static uint32_t run_with(uint32_t first, uint32_t count, bool eager) {
    *the_run = (run){.first = first, .count = count, .eager = eager};
    unit_child child = unit_fork(run_once, NULL);
    if (child.status != 0)
        print_error("calls from %u on fail, %u of them, eager %d\n", (unsigned)first, (unsigned)count, eager);
    unit_assert_done(&child);
    return the_run->calls;
}

static int share_the_run(void **state) {
    (void)state;
    the_run = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return the_run != MAP_FAILED ? 0 : -1;
}

static void nothing_fails(void **state) {
    (void)state;
    for (int eager = 0; eager <= 1; eager++) {
        assert_true(run_with(UINT32_MAX, 1, eager) > 50);
        assert_int_equal(the_run->refused, 0);
    }
}

// N = 1, 2, ... until a run makes fewer than N calls.
static void fail_from_each(uint32_t count, bool eager) {
    unsigned refused = 0, step = UNIT_TSAN ? 3 : 1;    // its children take a third of a second
    uint32_t n = 1;
    for (; run_with(n, count, eager) >= n; n += step) {
        refused += the_run->refused;
        if (n == 1 && count != 1) assert_true(the_run->refused > 50);    // nothing can be had
    }
    print_message("%u calls to the system, one run for each %u, %u requests refused\n", (unsigned)n - 1, step, refused);
    assert_true(n > 50);
}

static void only_the_nth_call_fails(void **state) {
    (void)state;
    fail_from_each(1, false);
}
static void only_the_nth_of_many_fails(void **state) {
    (void)state;
    fail_from_each(1, true);
}
static void all_calls_from_the_nth_on_fail(void **state) {
    (void)state;
    fail_from_each(UINT32_MAX, false);
}
static void all_of_many_from_the_nth_on_fail(void **state) {
    (void)state;
    fail_from_each(UINT32_MAX, true);
}

static void some_calls_fail_at_random(void **state) {
    (void)state;
    uint64_t random = unit_seed("some_calls_fail_at_random", 801);
    for (int i = 0; i < (UNIT_TSAN ? 20 : 100); i++) {
        uint32_t first = 1 + (uint32_t)(unit_random(&random) % 200);
        run_with(first, 2 + (uint32_t)(unit_random(&random) % 20), i % 2 == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_fails),
        cmocka_unit_test(only_the_nth_call_fails),
        cmocka_unit_test(only_the_nth_of_many_fails),
        cmocka_unit_test(all_calls_from_the_nth_on_fail),
        cmocka_unit_test(all_of_many_from_the_nth_on_fail),
        cmocka_unit_test(some_calls_fail_at_random),
    };
    return cmocka_run_group_tests(tests, share_the_run, NULL);
}
