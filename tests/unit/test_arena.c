// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Arenas, call by call: blocks and their alignment, chunks, in-place growth, text, limits, the caller's buffer, failures.
// Marks, cleanups, children and scratch are in test_arena_marks.c, random sequences in test_arena_random.c.
#include "support.h"

#include "arena/arena.h"
#include "os/os.h"

#include <errno.h>
#include <lido/heap.h>
#include <stdio.h>

enum { ODD_ERRNO = 12345, KIB = 1 << 10, MIB = 1 << 20 };

static bool is_aligned(const void *p, size_t alignment) { return ((uintptr_t)p & (alignment - 1)) == 0; }

// Asserts that the call gives NULL, or another form of 0, with this errno, and that the arena is as it was.
#define FAILS_WITH(arena, error, call)                                            \
    do {                                                                          \
        lido_arena_statistics before_ = lido_arena_stats(arena);                  \
        errno = ODD_ERRNO;                                                        \
        assert_null(call);                                                        \
        assert_int_equal(errno, error);                                           \
        assert_int_equal(lido_arena_stats(arena).used_bytes, before_.used_bytes); \
        assert_true(lido__arena_verify(arena));                                   \
    } while (0)

static size_t live_before;
static int note_live(void **state) {
    (void)state;
    live_before = lido_process_stats().live_bytes;
    return 0;
}
static int nothing_leaked(void **state) {
    (void)state;
    size_t live = lido_process_stats().live_bytes;
    if (live != live_before) print_error("%zu bytes live, %zu before\n", live, live_before);
    return live == live_before ? 0 : -1;
}

// --- blocks ---------------------------------------------------------------------------------------------------------

static void blocks_lie_apart(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    char *last_end = NULL;
    errno = ODD_ERRNO;
    for (size_t size = 0; size < 100; size++) {
        char *block = lido_arena_alloc(arena, size);
        assert_true(block != NULL && is_aligned(block, 16));
        assert_true(block >= last_end || size > 60);    // the first chunk ends somewhere behind
        last_end = block + size + (size == 0);
        memset(block, 0x5A, size);
        assert_true(lido_arena_owns(arena, block));
    }
    assert_int_equal(errno, ODD_ERRNO);
    char *a = lido_arena_alloc(arena, 0), *b = lido_arena_alloc(arena, 0), *c = lido_arena_alloc_aligned(arena, 1, 0);
    assert_true(a != b && b != c && c != NULL);
    char *d = lido_arena_alloc_aligned(arena, 1, 3), *e = lido_arena_alloc_aligned(arena, 1, 2);
    assert_ptr_equal(d, c + 1);
    assert_ptr_equal(e, d + 3);
    assert_true(lido__arena_verify(arena));
    lido_arena_free(arena);
    lido_arena_free(NULL);
}

static void any_alignment(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    for (size_t alignment = 1; alignment <= LIDO_ARENA_ALIGNMENT_MAX; alignment *= 2) {
        for (size_t size = 0; size <= 200; size += 67) {
            char *block = lido_arena_alloc_aligned(arena, alignment, size);
            assert_true(block != NULL && is_aligned(block, alignment));
            memset(block, 1, size);
        }
        assert_true(lido__arena_verify(arena));
    }
    static const size_t bad[] = {0, 3, 24, 48, LIDO_ARENA_ALIGNMENT_MAX * 2, (size_t)1 << 63, SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) FAILS_WITH(arena, EINVAL, lido_arena_alloc_aligned(arena, bad[i], 8));
    FAILS_WITH(arena, EINVAL, lido_arena_alloc_aligned(arena, 12, 8));    // a constant
    assert_true(is_aligned(lido_arena_alloc_aligned(arena, 8, 8), 8));
    assert_true(is_aligned(LIDO_ARENA_NEW(arena, long double), 16));
    lido_arena_free(arena);
}

static void impossible_sizes(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    static const size_t sizes[] = {
        SIZE_MAX,    SIZE_MAX - 1,     SIZE_MAX - 15,  SIZE_MAX - 16, (size_t)PTRDIFF_MAX + 1,
        PTRDIFF_MAX, PTRDIFF_MAX - 64, (size_t)1 << 50};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        volatile size_t size = sizes[i];    // the compiler warns of the constants
        FAILS_WITH(arena, ENOMEM, lido_arena_alloc(arena, size));
        FAILS_WITH(arena, ENOMEM, lido_arena_alloc_aligned(arena, 1, size));
        FAILS_WITH(arena, ENOMEM, lido_arena_alloc_aligned(arena, LIDO_ARENA_ALIGNMENT_MAX, size));
        FAILS_WITH(arena, ENOMEM, lido_arena_calloc(arena, 1, size));
        FAILS_WITH(arena, ENOMEM, lido_arena_realloc(arena, NULL, 0, size));
        char *block = lido_arena_alloc(arena, 10);
        FAILS_WITH(arena, ENOMEM, lido_arena_realloc(arena, block, 10, size));
    }
    volatile size_t half = SIZE_MAX / 2 + 1;
    FAILS_WITH(arena, ENOMEM, lido_arena_calloc(arena, half, 2));
    FAILS_WITH(arena, ENOMEM, lido_arena_calloc(arena, 3, half));
    lido_arena_free(arena);
}

static void calloc_is_zero_again(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    for (int round = 0; round < 2; round++) {
        unsigned char *bytes = lido_arena_calloc(arena, 50, 7);
        for (int i = 0; i < 350; i++) assert_int_equal(bytes[i], 0);
        memset(bytes, 0xFF, 350);
        lido_arena_reset(arena);
    }
    assert_non_null(lido_arena_calloc(arena, 0, 8));
    lido_arena_free(arena);
}

static void resize_in_place(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(&(lido_arena_options){.chunk_bytes = 4 * KIB});
    char *first = lido_arena_alloc(arena, 100), *last = lido_arena_alloc(arena, 10);
    assert_true(lido_arena_resize(arena, last, 10, 1000));
    assert_true(lido_arena_resize(arena, last, 1000, 20));
    assert_int_equal(lido_arena_stats(arena).high_water_bytes, 112 + 1000);
    assert_int_equal(lido_arena_stats(arena).used_bytes, 112 + 20);
    assert_false(lido_arena_resize(arena, first, 100, 101));
    assert_true(lido_arena_resize(arena, first, 100, 50));
    assert_false(lido_arena_resize(arena, last, 20, 8 * KIB));
    volatile size_t huge = SIZE_MAX;
    assert_false(lido_arena_resize(arena, last, 20, huge));
    assert_true(lido_arena_resize(arena, last, 20, 0));
    assert_ptr_equal(lido_arena_alloc_aligned(arena, 1, 1), last + 1);    // a block of size 0 keeps its one byte
    char *empty = lido_arena_alloc(arena, 0);
    assert_true(lido_arena_resize(arena, empty, 0, 100));
    assert_true(lido_arena_resize(arena, empty, 100, 0));
    assert_true(lido_arena_resize(arena, empty, 0, 2));
    lido_arena_free(arena);
}

static void realloc_grows(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    char *text = lido_arena_realloc(arena, NULL, 0, 1);
    size_t moves = 0;
    for (size_t size = 1; size < 300 * KIB; size++) {
        text[size - 1] = (char)size;
        char *grown = lido_arena_realloc(arena, text, size, size + 1);
        moves += grown != text;
        text = grown;
    }
    for (size_t i = 1; i < 300 * KIB; i++) assert_int_equal(text[i - 1], (char)i);
    assert_true(moves > 0 && moves <= 10);    // once a chunk
    char *other = lido_arena_alloc(arena, 1);
    char *moved = lido_arena_realloc(arena, text, 300 * KIB, 300 * KIB + 1);
    assert_true(moved != text && memcmp(moved, text, 300 * KIB) == 0);
    assert_ptr_equal(lido_arena_realloc(arena, other, 1, 1), other);
    assert_true(lido__arena_verify(arena));
    lido_arena_free(arena);
}

// --- chunks ---------------------------------------------------------------------------------------------------------

static void fill(lido_arena *arena, size_t bytes) {
    for (size_t given = 0; given < bytes; given += 64) assert_non_null(lido_arena_alloc(arena, 64));
}

static void chunks_double_to_a_bound(void **state) {
    (void)state;
    lido_arena *arena =
        lido_arena_new(&(lido_arena_options){.name = "grows", .chunk_bytes = 4 * KIB, .chunk_max_bytes = 32 * KIB});
    assert_int_equal(lido_arena_stats(arena).held_bytes, 4 * KIB);
    static const size_t expected[] = {4, 12, 28, 60, 92, 124};    // KiB after each chunk
    for (size_t chunks = 1; chunks <= COUNT_OF(expected); chunks++) {
        while (lido_arena_stats(arena).chunk_count < chunks) assert_non_null(lido_arena_alloc(arena, 64));
        assert_int_equal(lido_arena_stats(arena).held_bytes, expected[chunks - 1] * KIB);
    }
    char *large = lido_arena_alloc(arena, MIB);    // larger than the bound: its own size, rounded as lido_malloc does
    memset(large, 1, MIB);
    assert_int_equal(lido_arena_stats(arena).held_bytes, 124 * KIB + lido_good_size(MIB + sizeof(lido__chunk)));
    assert_true(lido__arena_verify(arena));
    lido_arena_free(arena);
}

static void reset_keeps_trim_gives(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    size_t held = 0;
    for (int round = 0; round < 20; round++) {
        fill(arena, 3 * MIB);
        assert_non_null(lido_arena_alloc(arena, 3 * MIB + 12345));
        fill(arena, MIB);
        if (round == 0) held = lido_arena_stats(arena).held_bytes;
        assert_int_equal(lido_arena_stats(arena).held_bytes, held);    // the rounds after the first take nothing
        lido_arena_reset(arena);
        lido_arena_statistics statistics = lido_arena_stats(arena);
        assert_int_equal(statistics.used_bytes, 0);
        assert_int_equal(statistics.held_bytes, held);
        assert_int_equal(statistics.kept_bytes, held - LIDO_ARENA_CHUNK_BYTES);
        assert_true(statistics.high_water_bytes >= 7 * MIB && statistics.high_water_bytes <= held);
    }
    size_t given = lido_arena_trim(arena, 2 * MIB);
    lido_arena_statistics statistics = lido_arena_stats(arena);
    assert_true(given > 0 && statistics.kept_bytes <= 2 * MIB && statistics.kept_bytes > 0);
    assert_int_equal(statistics.held_bytes, held - given);
    lido_arena_trim(arena, 0);
    statistics = lido_arena_stats(arena);
    assert_int_equal(statistics.held_bytes, LIDO_ARENA_CHUNK_BYTES);
    assert_int_equal(statistics.chunk_count, 1);
    assert_int_equal(lido_arena_trim(arena, 0), 0);
    // after a trim growth starts from below again, so that cycles of trim and growth end at the same size
    for (int round = 0; round < 5; round++) {
        fill(arena, 100 * KIB);
        assert_true(lido_arena_stats(arena).held_bytes <= 256 * KIB);
        lido_arena_reset(arena);
        lido_arena_trim(arena, 0);
    }
    lido_arena_free(arena);
}

static void a_larger_chunk_when_kept_ones_are_small(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    fill(arena, 200 * KIB);
    lido_arena_reset(arena);
    size_t chunks = lido_arena_stats(arena).chunk_count;
    char *large = lido_arena_alloc(arena, 2 * MIB);
    memset(large, 3, 2 * MIB);
    assert_int_equal(lido_arena_stats(arena).chunk_count, chunks + 1);
    fill(arena, 100 * KIB);
    assert_int_equal(lido_arena_stats(arena).chunk_count, chunks + 1);    // those that were kept serve now
    assert_true(lido__arena_verify(arena));
    lido_arena_free(arena);
}

static void owns_and_questions(void **state) {
    (void)state;
    lido_arena *arena =
        lido_arena_new(&(lido_arena_options){.name = "a name that is longer than the thirty-one bytes"});
    assert_string_equal(lido_arena_name(arena), "a name that is longer than the ");
    int here = 0;
    assert_false(lido_arena_owns(arena, &here));
    assert_false(lido_arena_owns(arena, NULL));
    assert_false(lido_arena_owns(arena, arena));
    char *blocks[64];
    for (int i = 0; i < 64; i++) blocks[i] = lido_arena_alloc(arena, 1000);
    for (int i = 0; i < 64; i++) {
        assert_true(lido_arena_owns(arena, blocks[i]) && lido_arena_owns(arena, blocks[i] + 999));
    }
    assert_false(lido_arena_owns(arena, blocks[63] + 1000));
    lido_arena_reset(arena);
    for (int i = 0; i < 64; i++) assert_false(lido_arena_owns(arena, blocks[i]));
    lido_arena_free(arena);
    arena = lido_arena_new(NULL);
    assert_string_equal(lido_arena_name(arena), "arena");
    lido_arena_free(arena);
}

// --- text -----------------------------------------------------------------------------------------------------------

static void copies(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    static const char no_end[] = {'a', 'b', 'c'};
    assert_string_equal(lido_arena_strdup(arena, ""), "");
    assert_string_equal(lido_arena_strdup(arena, "one"), "one");
    assert_string_equal(lido_arena_strndup(arena, no_end, 3), "abc");
    assert_string_equal(lido_arena_strndup(arena, "four", 100), "four");
    assert_string_equal(lido_arena_strndup(arena, "four", 0), "");
    static const int numbers[] = {1, 2, 3};
    int *copy = lido_arena_memdup(arena, numbers, sizeof numbers);
    assert_true(is_aligned(copy, 16) && memcmp(copy, numbers, sizeof numbers) == 0);
    assert_non_null(lido_arena_memdup(arena, numbers, 0));
    assert_non_null(lido_arena_memdup(arena, NULL, 0));
    char *a = lido_arena_strdup(arena, "x"), *b = lido_arena_strdup(arena, "y");
    assert_ptr_equal(b, a + 2);    // strings lie side by side
    lido_arena_free(arena);
}

static void printed(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    char expected[64], *texts[3000];
    errno = ODD_ERRNO;
    for (int i = 0; i < 3000; i++) texts[i] = lido_arena_printf(arena, "%d of %s, %05.1f", i, "many", i / 2.0);
    assert_int_equal(errno, ODD_ERRNO);
    for (int i = 0; i < 3000; i++) {    // over many chunk ends, none disturbed
        snprintf(expected, sizeof expected, "%d of %s, %05.1f", i, "many", i / 2.0);
        assert_string_equal(texts[i], expected);
    }
    char *wide = lido_arena_printf(arena, "%*s", 500000, "end");
    assert_int_equal(strlen(wide), 500000);
    assert_string_equal(wide + 500000 - 4, " end");
    assert_string_equal(lido_arena_printf(arena, "%s", ""), "");
    assert_true(lido__arena_verify(arena));
    static const int bad[] = {0x110000, 0};
    errno = 0;
    assert_null(lido_arena_printf(arena, "%ls", (const wchar_t *)bad));
    assert_int_equal(errno, EILSEQ);
    lido_arena_free(arena);
}

// The text that just fits into what is left, and the one that is a byte too long.
static void printed_to_the_last_byte(void **state) {
    (void)state;
    static char buffer[2 * KIB];
    for (int excess = 0; excess < 2; excess++) {
        lido_arena *arena =
            lido_arena_new(&(lido_arena_options){.buffer = buffer, .buffer_bytes = sizeof buffer, .fixed = true});
        int room = (int)(arena->face.limit - arena->face.next);
        errno = ODD_ERRNO;
        char *text = lido_arena_printf(arena, "%*d", room - 1 + excess, 7);
        if (excess == 0) {
            assert_int_equal(strlen(text), room - 1);
            assert_null(lido_arena_strdup(arena, ""));    // full to the byte
        } else {
            assert_null(text);
            assert_int_equal(errno, ENOMEM);
            assert_int_equal(lido_arena_stats(arena).used_bytes, 0);
        }
        lido_arena_free(arena);
    }
}

// --- limits and buffers ---------------------------------------------------------------------------------------------

static void limit_holds(void **state) {
    (void)state;
    for (size_t limit = LIDO_ARENA_OVERHEAD_BYTES + 16; limit < 200 * KIB; limit += 4999) {
        lido_arena *arena = lido_arena_new(&(lido_arena_options){.limit_bytes = limit});
        lido_arena_point point = lido_arena_mark(arena);
        for (int round = 0; round < 2; round++) {
            size_t given = 0;
            errno = ODD_ERRNO;
            while (lido_arena_alloc(arena, 48) != NULL) given += 48;
            assert_int_equal(errno, ENOMEM);
            lido_arena_statistics statistics = lido_arena_stats(arena);
            assert_int_equal(statistics.limit_bytes, limit);
            assert_true(statistics.held_bytes <= limit && statistics.held_bytes + 80 > limit);
            // nothing lost but the heads, and less than a block at the end of each chunk and of the limit
            assert_true(given + LIDO_ARENA_OVERHEAD_BYTES + statistics.chunk_count * 96 + 80 >= limit);
            assert_true(lido__arena_verify(arena));
            lido_arena_rewind(arena, point);
        }
        lido_arena_free(arena);
    }
}

// Kept chunks that are too small for a request must not use the limit up.
static void limit_and_kept_chunks(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(&(lido_arena_options){.limit_bytes = MIB, .chunk_max_bytes = 16 * KIB});
    fill(arena, 900 * KIB);
    lido_arena_reset(arena);
    assert_non_null(lido_arena_alloc(arena, 900 * KIB));
    FAILS_WITH(arena, ENOMEM, lido_arena_alloc(arena, 200 * KIB));
    assert_true(lido__arena_verify(arena));
    lido_arena_free(arena);
}

static void over_the_callers_buffer(void **state) {
    (void)state;
    static char buffer[4096 + 16];
    for (size_t offset = 0; offset < 16; offset += 5) {
        for (int fixed = 0; fixed < 2; fixed++) {
            char *start = buffer + offset;
            size_t bytes = 4096, before = lido_process_stats().live_bytes, inside = 0;
            lido_arena *arena =
                lido_arena_new(&(lido_arena_options){.buffer = start, .buffer_bytes = bytes, .fixed = fixed});
            assert_int_equal(lido_process_stats().live_bytes, before);
            char *block;
            while ((block = lido_arena_alloc(arena, 32)) != NULL && block >= start && block + 32 <= start + bytes) {
                memset(block, 0x77, 32);
                inside += 32;
            }
            assert_true(inside + LIDO_ARENA_OVERHEAD_BYTES + 64 >= bytes);
            if (fixed) {
                assert_null(block);
                FAILS_WITH(arena, ENOMEM, lido_arena_alloc(arena, 32));
                FAILS_WITH(arena, ENOMEM, lido_arena_alloc(arena, MIB));
            } else {
                assert_true(lido_arena_owns(arena, block) && lido_process_stats().live_bytes > before);
            }
            assert_true(lido__arena_verify(arena));
            lido_arena_reset(arena);
            block = lido_arena_alloc(arena, 32);
            assert_true(block >= start && block < start + bytes);
            lido_arena_free(arena);
            assert_int_equal(lido_process_stats().live_bytes, before);
        }
    }
}

static void bad_options(void **state) {
    (void)state;
    static char buffer[4096];
    const lido_arena_options bad[] = {
        {.buffer_bytes = 4096},
        {.buffer = buffer, .buffer_bytes = 0},
        {.buffer = buffer, .buffer_bytes = 100},
        {.buffer = buffer + 1, .buffer_bytes = LIDO_ARENA_OVERHEAD_BYTES + 16},
        {.buffer = buffer, .buffer_bytes = 4096, .limit_bytes = 4095},
        {.buffer = buffer, .buffer_bytes = SIZE_MAX},
        {.limit_bytes = 1},
        {.limit_bytes = LIDO_ARENA_OVERHEAD_BYTES},
        {.chunk_bytes = SIZE_MAX},
        {.chunk_max_bytes = (size_t)PTRDIFF_MAX + 1},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        errno = ODD_ERRNO;
        assert_null(lido_arena_new(&bad[i]));
        assert_int_equal(errno, EINVAL);
    }
    errno = ODD_ERRNO;
    assert_null(lido_arena_new(&(lido_arena_options){.chunk_bytes = PTRDIFF_MAX}));
    assert_int_equal(errno, ENOMEM);
    lido_arena *arena = lido_arena_new(&(lido_arena_options){.chunk_bytes = 1, .fixed = true});    // raised
    assert_int_equal(lido_arena_stats(arena).held_bytes, LIDO_ARENA_CHUNK_BYTES_MIN);
    FAILS_WITH(arena, ENOMEM, lido_arena_alloc(arena, LIDO_ARENA_CHUNK_BYTES_MIN));
    lido_arena_free(arena);
    arena = lido_arena_new(&(lido_arena_options){.buffer = buffer, .buffer_bytes = LIDO_ARENA_OVERHEAD_BYTES + 31});
    assert_non_null(arena);
    lido_arena_free(arena);
}

// --- failures of the system -----------------------------------------------------------------------------------------

// What a program does with an arena, in chunks so large that each is a call to the system or two. True if all succeeded.
static bool use(lido_arena *arena) {
    bool done = true;
    for (int i = 0; i < 4; i++) {
        char *block = lido_arena_alloc(arena, 9 * MIB + (size_t)i * MIB);
        if (block != NULL) {
            block[0] = block[9 * MIB - 1] = 1;
        } else {
            assert_int_equal(errno, ENOMEM);
            done = false;
        }
        assert_true(lido__arena_verify(arena));
    }
    return done;
}

static void every_system_call_fails_once(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    uint32_t first = 1;
    for (bool done = false; !done; first++) {
        assert_true(first < 1000);
        lido__os_fail_from(first, 1);
        done = use(arena);
        done = lido__os_fail_from(0, 0) < first && done;
        lido_arena_reset(arena);
        lido_arena_trim(arena, 0);
        lido_trim(0);
    }
    assert_true(first > 3);    // some calls did fail
    lido_arena_free(arena);
}

static void no_memory_at_all(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    char *kept = lido_arena_strdup(arena, "kept");
    lido__os_fail_from(1, UINT32_MAX);
    assert_false(use(arena));
    FAILS_WITH(arena, ENOMEM, lido_arena_realloc(arena, kept, 5, 20 * MIB));
    FAILS_WITH(arena, ENOMEM, lido_arena_calloc(arena, 20, MIB));
    FAILS_WITH(arena, ENOMEM, lido_arena_printf(arena, "%*d", 20 * MIB, 1));
    FAILS_WITH(arena, ENOMEM, lido_arena_new(&(lido_arena_options){.chunk_bytes = 64 * MIB}));
    lido__os_fail_from(0, 0);
    assert_string_equal(kept, "kept");
    assert_true(use(arena));
    lido_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_lie_apart, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(any_alignment, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(impossible_sizes, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(calloc_is_zero_again, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(resize_in_place, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(realloc_grows, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(chunks_double_to_a_bound, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(reset_keeps_trim_gives, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(a_larger_chunk_when_kept_ones_are_small, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(owns_and_questions, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(copies, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(printed, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(printed_to_the_last_byte, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(limit_holds, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(limit_and_kept_chunks, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(over_the_callers_buffer, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(bad_options, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(every_system_call_fails_once, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(no_memory_at_all, note_live, nothing_leaked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
