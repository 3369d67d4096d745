// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// First-class heaps: every way in and out, contents through realloc, that destroying a heap gives everything back and touches no
// other heap, and heaps among threads.
#include "support.h"

#include "heap/heap.h"
#include "os/os.h"

#include <lido/heap.h>
#include <lido/options.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ODD_ERRNO = 12345, MIB = 1 << 20 };

static size_t resident_bytes(void) {
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    return strtoull(strchr(text, ' '), NULL, 10) * lido__os_page_bytes();
}

// The heaps of this program leave nothing behind, whatever they did.
static size_t live_before;

static int note_live(void **state) {
    (void)state;
    lido_heap_destroy(lido_heap_new(NULL));    // what is made once is made
    live_before = lido_process_stats().live_bytes;
    return 0;
}

static int nothing_is_left(void **state) {
    (void)state;
    size_t live = lido_process_stats().live_bytes;
    if (live != live_before) print_error("%zu bytes alive, %zu before\n", live, live_before);
    return live == live_before ? 0 : -1;
}

static void fill(char *p, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i += i < 64 || size - i < 64 ? 1 : 61) p[i] = (char)(seed + i * 7);
}

static void check_filled(const char *p, size_t size, unsigned seed, size_t whole) {
    for (size_t i = 0; i < size; i += i < 64 || whole - i < 64 ? 1 : 61) UNIT_CHECK(p[i] == (char)(seed + i * 7));
}

// --- ways in and out ------------------------------------------------------------------------------------------------

static void options(void **state) {
    (void)state;
    static const lido_heap_options bad[] = {
        {.threads = LIDO_CONFINED}, {.threads = (lido_threads)3}, {.threads = (lido_threads)-1}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        errno = 0;
        assert_null(lido_heap_new(&bad[i]));
        assert_int_equal(errno, EINVAL);
    }
    static const lido_heap_options good[] = {{.name = NULL},
                                             {.name = ""},
                                             {.name = "a name that is much longer than what is kept of it"},
                                             {.threads = LIDO_SHARED}};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        errno = ODD_ERRNO;
        lido_heap *heap = lido_heap_new(&good[i]);
        assert_non_null(heap);
        lido_heap_free(heap, lido_heap_alloc(heap, 100));
        lido_heap_free(heap, NULL);
        lido_heap_destroy(heap);
        assert_int_equal(errno, ODD_ERRNO);
    }
    lido_heap_destroy(NULL);
}

static void every_size(void **state) {
    (void)state;
    lido_heap *heap = lido_heap_new(NULL);
    for (size_t size = 0; size <= 12 * MIB; size = size < 3000 ? size + 1 : size * 6 / 5) {
        char *p = lido_heap_alloc(heap, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(lido_usable_size(p) >= size && lido_usable_size(p) > 0);
        assert_null(lido_pool_of(p));    // a part of a heap is no pool that one can name
        fill(p, lido_usable_size(p), (unsigned)size);
        check_filled(p, lido_usable_size(p), (unsigned)size, lido_usable_size(p));
        size % 2 == 0 ? lido_free(p) : lido_heap_free(heap, p);
    }
    lido_heap_destroy(heap);
}

static void aligned(void **state) {
    (void)state;
    lido_heap *heap = lido_heap_new(NULL);
    static const size_t bad[] = {0, 3, 24, 48, SIZE_MAX, SIZE_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        errno = 0;
        assert_null(lido_heap_alloc_aligned(heap, bad[i], 100));
        assert_int_equal(errno, EINVAL);
    }
    for (size_t alignment = 1; alignment <= 64 * MIB; alignment *= 2) {
        for (size_t size = 0; size <= 10 * MIB; size = size * 5 + 1) {
            errno = ODD_ERRNO;
            void *p[3];
            for (int i = 0; i < 3; i++) {
                p[i] = lido_heap_alloc_aligned(heap, alignment, size);
                assert_non_null(p[i]);
                assert_int_equal((uintptr_t)p[i] % alignment, 0);
                assert_true(lido_usable_size(p[i]) >= size);
                ((char *)p[i])[0] = 1;
            }
            lido_heap_free(heap, p[1]);
            lido_free(p[0]);
            lido_heap_free(heap, p[2]);
            assert_int_equal(errno, ODD_ERRNO);
        }
    }
    lido_heap_destroy(heap);
}

static void impossible_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4096, (size_t)PTRDIFF_MAX + 1, PTRDIFF_MAX, (size_t)1 << 50};
    lido_heap *heap = lido_heap_new(NULL);
    char *p = lido_heap_alloc(heap, 1000);
    fill(p, 1000, 1);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        errno = 0;
        assert_null(lido_heap_alloc(heap, sizes[i]));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(lido_heap_alloc_aligned(heap, 4096, sizes[i]));
        assert_int_equal(errno, ENOMEM);
        errno = 0;
        assert_null(lido_heap_realloc(heap, p, sizes[i]));
        assert_int_equal(errno, ENOMEM);
        check_filled(p, 1000, 1, 1000);
    }
    lido_heap_destroy(heap);
}

// --- realloc --------------------------------------------------------------------------------------------------------

// heap NULL: the process's own.
static char *resize(lido_heap *heap, char *p, size_t size) {
    return heap != NULL ? lido_heap_realloc(heap, p, size) : lido_realloc(p, size);
}

static void keep_contents(lido_heap *heap) {
    static const size_t sizes[] = {
        1,        16,      17,     1000,    40000,       70000,  200000,   300000,       MIB,    9 * MIB,
        30 * MIB, 9 * MIB, 300000, 65536,   65537,       32768,  32769,    100,          15,     1,
        20 * MIB, 8,       100000, 8 * MIB, 8 * MIB + 1, 131072, 12 * MIB, 12 * MIB + 5, 131071, 3};
    char *p = resize(heap, NULL, 1);
    size_t old = 1;
    fill(p, 1, 9);
    for (int round = 0; round < (UNIT_TSAN ? 1 : 2); round++) {
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            errno = ODD_ERRNO;
            char *moved = resize(heap, p, sizes[i]);
            assert_non_null(moved);
            assert_int_equal(errno, ODD_ERRNO);
            assert_true(lido_usable_size(moved) >= sizes[i]);
            check_filled(moved, lido__min(old, sizes[i]), 9, old);
            fill(moved, sizes[i], 9);
            p = moved;
            old = sizes[i];
        }
    }
    assert_null(resize(heap, p, 0));    // frees
}

static void realloc_keeps_contents(void **state) {
    (void)state;
    keep_contents(NULL);
    lido_heap *heap = lido_heap_new(NULL);
    keep_contents(heap);
    char *p = lido_heap_alloc(heap, 5 * MIB);
    assert_non_null(lido_heap_realloc(heap, p, 50 * MIB));    // stays with the heap, and goes with it
    assert_non_null(lido_heap_realloc(heap, lido_heap_alloc(heap, 10), 3 * MIB));
    assert_non_null(lido_heap_realloc(heap, lido_heap_alloc(heap, 3 * MIB), 10));
    lido_heap_destroy(heap);
}

// --- the end of a heap ----------------------------------------------------------------------------------------------

static void fill_heap(lido_heap *heap, uint64_t *random) {
    for (int i = 0; i < 20000; i++) {
        size_t size = 1 + unit_random(random) % 2000;
        char *p = lido_heap_alloc(heap, size);
        assert_non_null(p);
        memset(p, 1, size);
        if (i % 3 == 0) lido_heap_free(heap, p);
    }
    for (int i = 0; i < 60; i++) {
        size_t size = 40000 + unit_random(random) % (2 * MIB);
        char *p = i % 4 == 0 ? lido_heap_alloc_aligned(heap, 65536, size) : lido_heap_alloc(heap, size);
        assert_non_null(p);
        memset(p, 1, size);
        if (i % 3 == 0) lido_free(p);
    }
    for (int i = 0; i < 4; i++) {
        char *p = lido_heap_alloc(heap, (size_t)(9 + i) * MIB);
        assert_non_null(p);
        memset(p, 1, (size_t)(9 + i) * MIB);
        if (i == 1) lido_free(p);
    }
}

static void destroy_gives_all_back(void **state) {
    (void)state;
    uint64_t random = unit_seed("destroy_gives_all_back", 601);
    for (unsigned kind = LIDO_LOCAL; kind <= LIDO_SHARED; kind++) {
        lido_trim(0);
        lido_heap_statistics before = lido_process_stats();
        size_t resident = resident_bytes();
        for (int round = 0; round < 3; round++) {
            lido_heap *heap = lido_heap_new(&(lido_heap_options){.threads = (lido_threads)kind});
            fill_heap(heap, &random);
            assert_true(lido_process_stats().live_bytes > before.live_bytes + 40 * MIB);
            assert_true(lido_process_stats().huge_count == before.huge_count + 3);
            lido_heap_destroy(heap);
            lido_heap_statistics after = lido_process_stats();
            assert_int_equal(after.live_bytes, before.live_bytes);
            assert_int_equal(after.huge_count, before.huge_count);
            assert_int_equal(after.huge_bytes, before.huge_bytes);
        }
        lido_trim(0);
        if (!UNIT_SANITIZED) assert_true(resident_bytes() < resident + 4 * MIB);
        assert_true(lido__segments_verify());
        assert_int_equal(lido_process_stats().dirty_free_bytes, 0);
        assert_true(lido_process_stats().held_bytes <= before.held_bytes + LIDO__SEGMENT_BYTES);
    }
}

typedef struct held {
    lido_heap *heap;
    char *p;
    size_t size;
    unsigned seed;
} held;

static void heaps_do_not_know_each_other(void **state) {
    (void)state;
    enum { HEAPS = 5, BLOCKS = 3000 };
    static held blocks[BLOCKS];
    lido_heap *heaps[HEAPS];
    uint64_t random = unit_seed("heaps_do_not_know_each_other", 602);
    for (size_t i = 0; i < HEAPS; i++) heaps[i] = lido_heap_new(NULL);
    for (size_t i = 0; i < BLOCKS; i++) {
        held *h = &blocks[i];
        h->heap = heaps[unit_random(&random) % HEAPS];
        h->size =
            unit_random(&random) % 50 == 0 ? 50000 + unit_random(&random) % 100000 : 1 + unit_random(&random) % 3000;
        if (i % 700 == 0) h->size = 9 * MIB;
        h->seed = (unsigned)i;
        h->p = lido_heap_alloc(h->heap, h->size);
        assert_non_null(h->p);
        fill(h->p, h->size, h->seed);
    }
    for (size_t i = 0; i < HEAPS; i++) {
        lido_heap_destroy(heaps[i]);
        for (size_t j = 0; j < BLOCKS; j++) {
            if (blocks[j].heap == heaps[i]) blocks[j].p = NULL;
            if (blocks[j].p != NULL) check_filled(blocks[j].p, blocks[j].size, blocks[j].seed, blocks[j].size);
        }
    }
}

// --- sequences ------------------------------------------------------------------------------------------------------

static size_t random_size(uint64_t *random) {
    switch (unit_random(random) % 256) {
        case 0: return 8 * MIB + unit_random(random) % MIB;
        case 1:
        case 2:
        case 3:
        case 4:
        case 5:
        case 6: return 32768 + unit_random(random) % 300000;
        case 7: return 0;
        default: return unit_random(random) % (unit_random(random) % 8 == 0 ? 33000 : 700);
    }
}

static void random_calls(lido_heap *heap, uint64_t *random, unsigned operations) {
    enum { MOST = 400 };
    held blocks[MOST] = {0};
    for (unsigned i = 0; i < operations; i++) {
        held *h = &blocks[unit_random(random) % MOST];
        size_t size = random_size(random);
        if (h->p == NULL) {
            size_t alignment = (size_t)1 << unit_random(random) % 14;
            h->p = i % 5 == 0 ? lido_heap_alloc_aligned(heap, alignment, size) : lido_heap_alloc(heap, size);
            if (i % 5 == 0) UNIT_CHECK((uintptr_t)h->p % alignment == 0);
        } else {
            check_filled(h->p, h->size, h->seed, h->size);
            if (unit_random(random) % 3 != 0 || size == 0) {
                i % 2 == 0 ? lido_heap_free(heap, h->p) : lido_free(h->p);
                h->p = NULL;
                continue;
            }
            h->p = lido_heap_realloc(heap, h->p, size);
            check_filled(h->p, lido__min(size, h->size), h->seed, h->size);
        }
        UNIT_CHECK(h->p != NULL);
        h->size = size;
        h->seed = i;
        fill(h->p, size, i);
    }
    for (size_t i = 0; i < MOST; i += 2) lido_free(blocks[i].p);    // the others go with the heap
}

static void random_sequence(void **state) {
    (void)state;
    uint64_t random = unit_seed("random_sequence", 603);
    for (int round = 0; round < 4; round++) {
        lido_heap *heap = lido_heap_new(&(lido_heap_options){.threads = round % 2 == 0 ? LIDO_LOCAL : LIDO_SHARED});
        random_calls(heap, &random, UNIT_SANITIZED ? 3000 : 10000);
        lido_heap_destroy(heap);
    }
}

typedef struct shared_heap {
    lido_heap *heap;
    uint64_t seed;
    _Atomic(void *) places[64];
} shared_heap;

static void use_shared_heap(unsigned index, void *argument) {
    shared_heap *s = (shared_heap *)argument;
    uint64_t random = s->seed + index;
    random_calls(s->heap, &random, UNIT_TSAN ? 1000 : 3000);
    for (int i = 0; i < 3000; i++) {    // blocks that other threads free
        size_t *p = lido_heap_alloc(s->heap, 8 + unit_random(&random) % 2000);
        UNIT_CHECK(p != NULL);
        *p = (uintptr_t)p;
        p = atomic_exchange(&s->places[unit_random(&random) % 64], p);
        if (p == NULL) continue;
        UNIT_CHECK(*p == (uintptr_t)p);
        lido_free(p);
    }
}

static void heaps_among_threads(void **state) {
    (void)state;
    static shared_heap s;
    s.seed = unit_seed("heaps_among_threads", 604);
    s.heap = lido_heap_new(&(lido_heap_options){.name = "shared", .threads = LIDO_SHARED});
    unit_threads(4, use_shared_heap, &s);
    lido_heap_destroy(s.heap);
}

static void one_heap_each(unsigned index, void *argument) {
    uint64_t random = *(uint64_t *)argument + index;
    for (int i = 0; i < 3; i++) {
        lido_heap *heap = lido_heap_new(NULL);
        random_calls(heap, &random, UNIT_TSAN ? 500 : 1500);
        lido_heap_destroy(heap);
    }
}

static void a_heap_for_each_thread(void **state) {
    (void)state;
    uint64_t seed = unit_seed("a_heap_for_each_thread", 605);
    unit_threads(4, one_heap_each, &seed);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, note_live, nothing_is_left)
    const struct CMUnitTest tests[] = {
        CASE(options),
        CASE(every_size),
        CASE(aligned),
        CASE(impossible_sizes),
        CASE(realloc_keeps_contents),
        CASE(destroy_gives_all_back),
        CASE(heaps_do_not_know_each_other),
        CASE(random_sequence),
        CASE(heaps_among_threads),
        CASE(a_heap_for_each_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
