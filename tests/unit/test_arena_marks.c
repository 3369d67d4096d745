// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Marks and what hangs on them: rewinding, cleanups and their order, children, scratch arenas, and the exact line for
// each misuse that arenas see.
#include "support.h"

#include "arena/arena.h"

#include <errno.h>
#include <lido/heap.h>
#include <lido/options.h>
#include <stdio.h>

enum { ODD_ERRNO = 12345, KIB = 1 << 10, MIB = 1 << 20 };

static size_t live_before;
static int note_live(void **state) {
    (void)state;
    lido_trim(0);    // the structures of ended threads too
    live_before = lido_process_stats().live_bytes;
    return lido_options_set("on_misuse=continue");
}
static int nothing_leaked(void **state) {
    (void)state;
    lido_trim(0);
    size_t live = lido_process_stats().live_bytes;
    if (live != live_before) print_error("%zu bytes live, %zu before\n", live, live_before);
    return live == live_before ? 0 : -1;
}

// What the cleanups write: their argument's first character each.
static char journal[64];
static size_t journal_length;
static void note(void *argument) { journal[journal_length++] = *(const char *)argument; }
static void assert_journal(const char *expected) {
    journal[journal_length] = '\0';
    assert_string_equal(journal, expected);
    journal_length = 0;
}
static void defer_note(lido_arena *arena, const char *letter) {
    assert_int_equal(lido_arena_defer(arena, note, lido_arena_strdup(arena, letter)), 0);
}

// --- marks ----------------------------------------------------------------------------------------------------------

static void rewind_takes_back(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    char *kept = lido_arena_strdup(arena, "kept");
    lido_arena_point point = lido_arena_mark(arena);
    char *first = lido_arena_alloc(arena, 32);
    for (size_t bytes = 1; bytes < 4 * MIB; bytes *= 2) {
        memset(lido_arena_alloc(arena, bytes), 0x11, bytes);
        lido_arena_point inner = lido_arena_mark(arena);
        size_t used = lido_arena_stats(arena).used_bytes;
        memset(lido_arena_alloc(arena, bytes), 0x22, bytes);
        lido_arena_rewind(arena, inner);
        assert_int_equal(lido_arena_stats(arena).used_bytes, used);
        assert_true(lido__arena_verify(arena));
        lido_arena_rewind(arena, point);    // a mark is good any number of times
        assert_ptr_equal(lido_arena_alloc(arena, 32), first);
    }
    assert_string_equal(kept, "kept");
    lido_arena_free(arena);
}

// A block from before the mark that has shrunk since: the rewind must not move forward.
static void shrunk_below_the_mark(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    char *block = lido_arena_alloc(arena, 500);
    lido_arena_point point = lido_arena_mark(arena);
    assert_true(lido_arena_resize(arena, block, 500, 100));
    lido_arena_rewind(arena, point);
    assert_int_equal(lido_arena_stats(arena).used_bytes, 100);
    assert_true(lido__arena_verify(arena));
    lido_arena_free(arena);
}

static void marks_nest_deeply(void **state) {
    (void)state;
    enum { DEPTH = 200 };
    lido_arena *arena = lido_arena_new(NULL);
    lido_arena_point points[DEPTH];
    size_t used[DEPTH];
    for (int i = 0; i < DEPTH; i++) {
        points[i] = lido_arena_mark(arena);
        used[i] = lido_arena_stats(arena).used_bytes;
        assert_non_null(lido_arena_alloc(arena, 300));
    }
    for (int i = DEPTH; i-- > 0;) {    // no false alarm, however deep
        lido_arena_rewind(arena, points[i]);
        assert_int_equal(lido_arena_stats(arena).used_bytes, used[i]);
        assert_true(lido__arena_verify(arena));
    }
    lido_arena_free(arena);
}

// --- cleanups -------------------------------------------------------------------------------------------------------

static void cleanups_in_reverse(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    defer_note(arena, "a");
    lido_arena_point point = lido_arena_mark(arena);
    defer_note(arena, "b");
    assert_non_null(lido_arena_alloc(arena, 100 * KIB));
    defer_note(arena, "c");
    lido_arena_point inner = lido_arena_mark(arena);
    lido_arena_rewind(arena, inner);
    assert_journal("");
    defer_note(arena, "d");
    lido_arena_rewind(arena, inner);
    assert_journal("d");
    lido_arena_rewind(arena, point);
    assert_journal("cb");
    lido_arena_rewind(arena, point);
    assert_journal("");
    defer_note(arena, "e");
    lido_arena_reset(arena);
    assert_journal("ea");
    lido_arena_reset(arena);
    assert_journal("");
    defer_note(arena, "f");
    defer_note(arena, "g");
    lido_arena_free(arena);
    assert_journal("gf");
}

static void lively(void *argument) {
    lido_arena *arena = (lido_arena *)argument;
    journal[journal_length++] = '!';
    char *block = lido_arena_alloc(arena, 64 * KIB);    // beyond the chunk
    memset(block, 0x33, 64 * KIB);
    defer_note(arena, "z");
    assert_int_equal(lido_arena_mark(arena).arena == arena, 1);
}

static void a_cleanup_may_allocate(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    defer_note(arena, "a");
    lido_arena_point point = lido_arena_mark(arena);
    size_t used = lido_arena_stats(arena).used_bytes;
    assert_int_equal(lido_arena_defer(arena, lively, arena), 0);
    lido_arena_rewind(arena, point);
    assert_journal("!z");
    assert_int_equal(lido_arena_stats(arena).used_bytes, used);
    assert_true(lido__arena_verify(arena));
    assert_int_equal(lido_arena_defer(arena, lively, arena), 0);
    lido_arena_free(arena);
    assert_journal("!za");
}

static void defer_that_fails(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(&(lido_arena_options){.chunk_bytes = 1, .fixed = true});
    errno = ODD_ERRNO;
    assert_int_equal(lido_arena_defer(arena, NULL, NULL), -1);
    assert_int_equal(errno, EINVAL);
    while (lido_arena_alloc(arena, 16) != NULL) {
    }
    errno = ODD_ERRNO;
    assert_int_equal(lido_arena_defer(arena, note, "x"), -1);
    assert_int_equal(errno, ENOMEM);
    lido_arena_free(arena);
    assert_journal("");
}

// --- children -------------------------------------------------------------------------------------------------------

static lido_arena *child_of(lido_arena *parent, const char *name) {
    return lido_arena_new(&(lido_arena_options){.name = name, .parent = parent});
}

static void children_die_with_the_parent(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(NULL);
    lido_arena *old = child_of(parent, "old");
    defer_note(old, "o");
    lido_arena_point point = lido_arena_mark(parent);
    defer_note(parent, "p");
    lido_arena *young = child_of(parent, "young");
    defer_note(young, "y");
    defer_note(child_of(young, "grandchild"), "g");
    char *text = lido_arena_strdup(old, "still here");
    for (int i = 0; i < 100; i++) memset(lido_arena_alloc(old, 5000), 0x44, 5000);    // memory since the mark
    lido_arena_rewind(parent, point);
    assert_journal("gyp");
    assert_string_equal(text, "still here");    // made before the mark
    for (int i = 0; i < 100; i++) assert_non_null(lido_arena_alloc(parent, 5000));
    assert_string_equal(text, "still here");
    assert_true(lido__arena_verify(parent) && lido__arena_verify(old));
    lido_arena_reset(parent);
    assert_journal("o");
    defer_note(child_of(parent, "last"), "l");
    lido_arena_free(parent);
    assert_journal("l");
}

static void children_freed_in_any_order(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(NULL), *children[5];
    static const char *const letters[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) defer_note(children[i] = child_of(parent, letters[i]), letters[i]);
    static const int order[] = {2, 4, 0};
    for (int i = 0; i < 3; i++) {
        lido_arena_free(children[order[i]]);
        assert_true(lido__arena_verify(parent));
    }
    assert_journal("cea");
    lido_arena_free(parent);
    assert_journal("db");
}

// The chunks of one child serve the next, and the parent.
static void children_give_chunks_back(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(NULL);
    size_t held = 0;
    for (int round = 0; round < 50; round++) {
        lido_arena *child = child_of(parent, "round");
        for (int i = 0; i < 1000; i++) assert_non_null(lido_arena_alloc(child, 1000));
        lido_arena_statistics statistics = lido_arena_stats(parent);
        assert_int_equal(statistics.held_bytes,
                         LIDO_ARENA_CHUNK_BYTES + statistics.kept_bytes + lido_arena_stats(child).held_bytes);
        if (round == 0) held = statistics.held_bytes;
        assert_int_equal(statistics.held_bytes, held);
        lido_arena_reset(child);
        lido_arena_trim(child, 0);    // to the parent
        assert_int_equal(lido_arena_stats(parent).held_bytes, held);
        assert_int_equal(lido_arena_stats(child).held_bytes, LIDO_ARENA_CHUNK_BYTES);
        lido_arena_free(child);
        assert_int_equal(lido_arena_stats(parent).kept_bytes, held - LIDO_ARENA_CHUNK_BYTES);
        assert_true(lido__arena_verify(parent));
    }
    assert_int_equal(lido_arena_trim(parent, 0), held - LIDO_ARENA_CHUNK_BYTES);
    lido_arena_free(parent);
}

static void limits_of_both(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(&(lido_arena_options){.limit_bytes = 100 * KIB});
    lido_arena *child = lido_arena_new(&(lido_arena_options){.parent = parent, .limit_bytes = 40 * KIB});
    while (lido_arena_alloc(child, 100) != NULL) assert_true(lido_arena_stats(child).held_bytes <= 40 * KIB);
    assert_true(lido_arena_stats(child).held_bytes > 39 * KIB);
    lido_arena *free_child = child_of(parent, "no limit of its own");
    while (lido_arena_alloc(free_child, 100) != NULL) {
    }
    assert_true(lido_arena_stats(parent).held_bytes <= 100 * KIB && lido_arena_stats(parent).held_bytes > 99 * KIB);
    errno = ODD_ERRNO;
    assert_null(child_of(parent, "too many"));
    assert_int_equal(errno, ENOMEM);
    lido_arena_free(child);    // its 40 KiB are there for others now, in pieces or in one
    assert_non_null(lido_arena_alloc(free_child, 30 * KIB));
    assert_true(lido__arena_verify(parent) && lido__arena_verify(free_child));
    lido_arena_free(parent);
}

// What a child keeps in small pieces is there again for a large one, though the limit is its parent's.
static void small_pieces_make_room(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(&(lido_arena_options){.limit_bytes = MIB, .chunk_max_bytes = 16 * KIB});
    lido_arena *child = lido_arena_new(&(lido_arena_options){.parent = parent, .chunk_max_bytes = 16 * KIB});
    while (lido_arena_alloc(child, 100) != NULL) {
    }
    lido_arena_reset(child);
    assert_non_null(lido_arena_alloc(child, 900 * KIB));
    assert_true(lido_arena_stats(parent).held_bytes <= MIB);
    assert_true(lido__arena_verify(parent) && lido__arena_verify(child));
    lido_arena_free(parent);
}

// A kept chunk of the parent may be larger than a child's limit allows.
static void a_limited_child_of_a_rich_parent(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(NULL);
    assert_non_null(lido_arena_alloc(parent, MIB));
    lido_arena_reset(parent);
    lido_arena *child = lido_arena_new(&(lido_arena_options){.parent = parent, .limit_bytes = 10 * KIB});
    while (lido_arena_alloc(child, 100) != NULL) {
    }
    assert_true(lido_arena_stats(child).held_bytes <= 10 * KIB);
    assert_true(lido__arena_verify(parent) && lido__arena_verify(child));
    lido_arena_free(parent);
}

static void children_of_a_buffer(void **state) {
    (void)state;
    static char buffer[16 * KIB];
    lido_arena *parent =
        lido_arena_new(&(lido_arena_options){.buffer = buffer, .buffer_bytes = sizeof buffer, .fixed = true});
    size_t used = lido_arena_stats(parent).used_bytes;
    for (int round = 0; round < 20; round++) {    // freed before anything else is taken: its place comes back
        lido_arena *child = child_of(parent, "in the buffer");
        char *block = lido_arena_alloc(child, 100);
        assert_true(block > buffer && block < buffer + sizeof buffer);
        lido_arena_point point = lido_arena_mark(parent);
        while (lido_arena_alloc(child, 100) != NULL) {
        }
        lido_arena_free(child);
        lido_arena_rewind(parent, point);    // a mark above the place that went back
        assert_int_equal(lido_arena_stats(parent).used_bytes, used);
        assert_int_equal(lido_arena_stats(parent).high_water_bytes, used + LIDO_ARENA_CHUNK_BYTES);
        assert_true(lido__arena_verify(parent));
    }
    int count = 0;
    for (lido_arena *child; (child = child_of(parent, "many")) != NULL; count++) defer_note(child, "m");
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(count, 3);
    static char other[8 * KIB];
    lido_arena *over_other =    // a child over memory of its own costs its parent nothing
        lido_arena_new(&(lido_arena_options){.parent = parent, .buffer = other, .buffer_bytes = sizeof other});
    defer_note(over_other, "o");
    lido_arena_reset(parent);
    assert_journal("ommm");
    lido_arena_free(parent);
}

static void a_growing_child_over_a_buffer(void **state) {
    (void)state;
    static char buffer[2 * KIB];
    lido_arena *parent = lido_arena_new(NULL);
    lido_arena *child =
        lido_arena_new(&(lido_arena_options){.parent = parent, .buffer = buffer, .buffer_bytes = sizeof buffer});
    assert_int_equal(lido_arena_stats(parent).held_bytes, LIDO_ARENA_CHUNK_BYTES);
    for (int i = 0; i < 1000; i++) assert_non_null(lido_arena_alloc(child, 100));
    assert_true(lido_arena_stats(parent).held_bytes > 100000);
    assert_true(lido__arena_verify(parent) && lido__arena_verify(child));
    lido_arena_free(parent);
}

// --- scratch --------------------------------------------------------------------------------------------------------

static char *join(lido_arena *result, const char *a, const char *b, int depth) {
    lido_arena_point scratch = lido_arena_scratch_begin(result);
    assert_true(scratch.arena != NULL && scratch.arena != result);
    char *text = lido_arena_printf(scratch.arena, "%s%s", a, b);
    memset(lido_arena_alloc(scratch.arena, 20 * KIB), 0x55, 20 * KIB);
    if (depth > 0)
        text = join(scratch.arena, text, "+", depth - 1);    // the caller's scratch as the place for the result
    char *copy = lido_arena_strdup(result, text);
    lido_arena_scratch_end(scratch);
    return copy;
}

static void use_scratch(unsigned index, void *argument) {
    (void)index;
    size_t *bytes = (size_t *)argument;
    for (int i = 0; i < 200; i++) {
        lido_arena_point scratch = lido_arena_scratch_begin(NULL);
        lido_arena_point inner = lido_arena_scratch_begin(NULL), other = lido_arena_scratch_begin(scratch.arena);
        UNIT_CHECK(inner.arena == scratch.arena && other.arena != scratch.arena);
        UNIT_CHECK(lido_arena_alloc(scratch.arena, *bytes) != NULL && lido_arena_alloc(other.arena, 10) != NULL);
        lido_arena_scratch_end(other);
        lido_arena_scratch_end(inner);
        lido_arena_scratch_end(scratch);
        lido_arena_statistics statistics = lido_arena_stats(scratch.arena);
        UNIT_CHECK(statistics.used_bytes == 0 && statistics.held_bytes <= LIDO_ARENA_CHUNK_MAX_BYTES);
    }
}

static void scratch_nests(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    for (int i = 0; i < 100; i++) assert_string_equal(join(arena, "sum", "of", 10), "sumof++++++++++");
    lido_arena_free(arena);
}

static void scratch_of_threads(void **state) {
    (void)state;
    size_t bytes = 5 * MIB;
    unit_threads(4, use_scratch, &bytes);    // `nothing_leaked` sees that all of it is freed
    bytes = 100;
    unit_threads(4, use_scratch, &bytes);
}

// --- misuse ---------------------------------------------------------------------------------------------------------

static const char *line(const char *format, ...) {
    static char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

static void rewind_and_expect(lido_arena *arena, lido_arena_point point, const char *expected) {
    size_t used = lido_arena_stats(arena).used_bytes;
    unit_catch_begin();
    lido_arena_rewind(arena, point);
    assert_string_equal(unit_catch_end(), expected);
    assert_int_equal(lido_arena_stats(arena).used_bytes, used);    // the call is ignored
    assert_true(lido__arena_verify(arena));
}

static const char *ended_line(const lido_arena *arena) {
    return line(
        "lido: lido_arena_rewind(\"arena\" at %p): the mark has ended, by a reset or a rewind to an earlier mark\n",
        (const void *)arena);
}

static void foreign_marks(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL), *other = lido_arena_new(NULL);
    rewind_and_expect(arena, lido_arena_mark(other),
                      line("lido: lido_arena_rewind(\"arena\" at %p): the mark is of another arena, %p\n",
                           (void *)arena, (void *)other));
    rewind_and_expect(
        arena, (lido_arena_point){0},
        line("lido: lido_arena_rewind(\"arena\" at %p): the mark is of another arena, 0x0\n", (void *)arena));
    static char buffer[4 * KIB];
    const lido_arena_options options = {.buffer = buffer, .buffer_bytes = sizeof buffer};
    lido_arena *earlier = lido_arena_new(&options);
    assert_int_equal(lido_arena_defer(earlier, note, "e"), 0);
    lido_arena_point point = lido_arena_mark(earlier);
    lido_arena_free(earlier);
    assert_journal("e");
    lido_arena *later = lido_arena_new(&options);    // at the same address, with marks of its own
    assert_ptr_equal(later, earlier);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lido_arena_mark(later).depth, i + 1);
        rewind_and_expect(later, point, ended_line(later));
    }
    lido_arena_free(later);
    lido_arena_free(arena);
    lido_arena_free(other);
}

// In every pattern of up to six marks above the one that is rewound to, with as many set anew.
static void ended_marks(void **state) {
    (void)state;
    for (int above = 1; above <= 6; above++) {
        for (int anew = 0; anew <= above + 1 && anew < 8; anew++) {
            lido_arena *arena = lido_arena_new(NULL);
            lido_arena_point base = lido_arena_mark(arena), ended[6], good[8];
            for (int i = 0; i < above; i++) {
                assert_non_null(lido_arena_alloc(arena, 10));
                ended[i] = lido_arena_mark(arena);
            }
            lido_arena_rewind(arena, base);
            for (int i = 0; i < anew; i++) {
                assert_non_null(lido_arena_alloc(arena, 100));
                good[i] = lido_arena_mark(arena);
            }
            for (int i = 0; i < above; i++) rewind_and_expect(arena, ended[i], ended_line(arena));
            for (int i = anew; i-- > 0;) lido_arena_rewind(arena, good[i]);
            lido_arena_reset(arena);
            rewind_and_expect(arena, base, ended_line(arena));
            lido_arena_free(arena);
        }
    }
}

static void rewinds_own(void *argument) {
    lido_arena *arena = (lido_arena *)argument;
    lido_arena_rewind(arena, lido_arena_mark(arena));
    lido_arena_reset(arena);
    lido_arena_free(arena);
}

static void cleanups_that_do_what_they_must_not(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(NULL);
    for (int i = 0; i < 2; i++) {
        lido_arena *arena = lido_arena_new(&(lido_arena_options){.parent = i == 0 ? NULL : parent});
        assert_int_equal(lido_arena_defer(arena, rewinds_own, arena), 0);
        unit_catch_begin();
        lido_arena_free(arena);
        char *expected =
            lido_arena_printf(parent,
                              "lido: lido_arena_rewind(\"arena\" at %p): called from one of its own cleanups\n"
                              "lido: lido_arena_reset(\"arena\" at %p): called from one of its own cleanups\n"
                              "lido: lido_arena_free(\"arena\" at %p): called from one of its own cleanups\n",
                              (void *)arena, (void *)arena, (void *)arena);
        assert_string_equal(unit_catch_end(), expected);
        assert_true(lido__arena_verify(parent));
    }
    lido_arena_free(parent);
}

static void frees_own(void *argument) { lido_arena_free((lido_arena *)argument); }

// A child that tried to free itself in its own reset is still its parent's.
static void a_child_that_frees_itself(void **state) {
    (void)state;
    lido_arena *parent = lido_arena_new(NULL), *child = child_of(parent, "child");
    assert_int_equal(lido_arena_defer(child, frees_own, child), 0);
    unit_catch_begin();
    lido_arena_reset(child);
    assert_string_equal(
        unit_catch_end(),
        line("lido: lido_arena_free(\"child\" at %p): called from one of its own cleanups\n", (void *)child));
    defer_note(child, "c");
    lido_arena_free(parent);
    assert_journal("c");
}

static void misuse_of_scratch(unsigned index, void *argument) {
    (void)index;
    (void)argument;
    lido_arena_point outer = lido_arena_scratch_begin(NULL), inner = lido_arena_scratch_begin(NULL);
    lido_arena_scratch_end(outer);
    unit_catch_begin();
    lido_arena_scratch_end(inner);    // in the wrong order
    lido_arena_scratch_end(outer);    // twice
    const char *said = unit_catch_end();
    UNIT_CHECK(strstr(said, "(\"scratch\" at ") != NULL && strstr(said, "the mark has ended") != NULL);
    UNIT_CHECK(strchr(strchr(said, '\n') + 1, '\n')[1] == '\0');    // two lines
    lido_arena *arena = lido_arena_new(NULL);
    unit_catch_begin();
    lido_arena_scratch_end(lido_arena_mark(arena));
    said = unit_catch_end();
    UNIT_CHECK(strcmp(said, line("lido: lido_arena_scratch_end: the mark is of arena %p, which is no scratch of this "
                                 "thread\n",
                                 (void *)arena)) == 0);
    lido_arena_free(arena);
    lido_arena_scratch_end((lido_arena_point){0});    // of a begin that failed
}

static void scratch_ended_wrongly(void **state) {
    (void)state;
    unit_threads(1, misuse_of_scratch, NULL);    // whose scratch is its own; `nothing_leaked` sees that it goes
}

static void rewind_foreign(void *argument) {
    lido_arena *arena = (lido_arena *)argument;
    (void)lido_options_set("on_misuse=abort");
    lido_arena_rewind(arena, (lido_arena_point){0});
}

static void misuse_aborts(void **state) {
    (void)state;
    lido_arena *arena = lido_arena_new(NULL);
    unit_child child = unit_fork(rewind_foreign, arena);
    unit_assert_aborted(&child);
    lido_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        // first, as it makes this thread's scratch arenas, which stay
        cmocka_unit_test(scratch_nests),
        cmocka_unit_test_setup_teardown(rewind_takes_back, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(shrunk_below_the_mark, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(marks_nest_deeply, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(cleanups_in_reverse, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(a_cleanup_may_allocate, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(defer_that_fails, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(children_die_with_the_parent, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(children_freed_in_any_order, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(children_give_chunks_back, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(limits_of_both, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(small_pieces_make_room, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(a_limited_child_of_a_rich_parent, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(children_of_a_buffer, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(a_growing_child_over_a_buffer, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(scratch_of_threads, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(foreign_marks, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(ended_marks, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(cleanups_that_do_what_they_must_not, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(a_child_that_frees_itself, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(scratch_ended_wrongly, note_live, nothing_leaked),
        cmocka_unit_test_setup_teardown(misuse_aborts, note_live, nothing_leaked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
