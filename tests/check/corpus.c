// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// One misuse a run: `corpus FAMILY.KIND`; without an argument the names of all. Which level of check mode finds which, and
// what it says, stands in corpus.txt; `run` compares. The program says "survived" if it gets to its end.
//
// Stacks must name: make_block where a block was allocated, end_block (or wipe_all, close_all, rewind_all) where it was freed, and
// the function of the kind where the misuse was seen. So nothing here may be inlined (see CMakeLists.txt).
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "corpus.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE_BYTES = 100 << 10, HUGE_BYTES = 64 << 20 };

static void *make_block(const family *f, size_t bytes) {
    void *p = f->make(bytes);
    if (p == NULL) exit(9);
    memset(p, 0x11, bytes < 4096 ? bytes : 4096);
    return hide(p);
}

static void end_block(const family *f, void *p) { f->end(hide(p)); }
static void wipe_all(const family *f) { f->wipe(); }
static void rewind_all(const family *f) { f->rewind(); }
static void close_all(const family *f) {
    if (f->close != NULL) f->close();
}

// The correct end of a case, in which damage may be seen.
static void finish(const family *f, void *p) {
    if (f->end != NULL) end_block(f, p);
    close_all(f);
}

static void in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, argument) != 0) exit(9);
    pthread_join(thread, NULL);
}

typedef struct job {
    const family *f;
    void *p;
} job;

static void *end_job(void *argument) {
    job *j = (job *)argument;
    end_block(j->f, j->p);
    return NULL;
}

static void *make_job(void *argument) {
    job *j = (job *)argument;
    j->p = j->f->make(BLOCK_BYTES);
    return NULL;
}

// --- outside of a block ---------------------------------------------------------------------------------------------

static volatile unsigned char sink;

static void write_up(char *p, size_t count) {
    volatile char *at = (volatile char *)hide(p);
    for (size_t i = 0; i < count; i++) at[i] = 0x42;
}
static void write_down(char *p, size_t count) {
    volatile char *at = (volatile char *)hide(p);
    for (size_t i = 1; i <= count; i++) at[-(ptrdiff_t)i] = 0x42;
}
static void read_up(char *p, size_t count) {
    volatile unsigned char *at = (volatile unsigned char *)hide(p);
    for (size_t i = 0; i < count; i++) sink = at[i];
}
static void read_down(char *p, size_t count) {
    volatile unsigned char *at = (volatile unsigned char *)hide(p);
    for (size_t i = 1; i <= count; i++) sink = at[-(ptrdiff_t)i];
}

static void overflow(const family *f, size_t count) {
    char *p = make_block(f, BLOCK_BYTES);
    write_up(p + BLOCK_BYTES, count);
    finish(f, p);
}
static void underflow(const family *f, size_t count) {
    char *p = make_block(f, BLOCK_BYTES);
    write_down(p, count);
    finish(f, p);
}
static void overread(const family *f, size_t count) {
    char *p = make_block(f, BLOCK_BYTES);
    read_up(p + BLOCK_BYTES, count);
    finish(f, p);
}
static void underread(const family *f, size_t count) {
    char *p = make_block(f, BLOCK_BYTES);
    read_down(p, count);
    finish(f, p);
}

static void overflow_1(const family *f) { overflow(f, 1); }
static void overflow_8(const family *f) { overflow(f, 8); }
static void overflow_4096(const family *f) { overflow(f, 4096); }
static void underflow_1(const family *f) { underflow(f, 1); }
static void underflow_8(const family *f) { underflow(f, 8); }
static void underflow_4096(const family *f) { underflow(f, 4096); }
static void overread_1(const family *f) { overread(f, 1); }
static void overread_8(const family *f) { overread(f, 8); }
static void underread_1(const family *f) { underread(f, 1); }
static void underread_8(const family *f) { underread(f, 8); }

// One byte behind a block whose size is not a multiple of its alignment: the nearest page border is further away.
static void overflow_odd(const family *f) {
    char *p = make_block(f, 101);
    write_up(p + 101, 1);
    finish(f, p);
}

static void overflow_large(const family *f) {
    char *p = make_block(f, LARGE_BYTES);
    write_up(p + LARGE_BYTES, 1);
    finish(f, p);
}

// --- after the end of a block ---------------------------------------------------------------------------------------

static void write_freed(const family *f, size_t bytes) {
    char *p = make_block(f, bytes);
    end_block(f, p);
    write_up(p + bytes / 2, 8);
    close_all(f);
}
static void read_freed(const family *f, size_t bytes) {
    char *p = make_block(f, bytes);
    end_block(f, p);
    read_up(p + bytes / 2, 8);
    close_all(f);
}
static void write_after_free(const family *f) { write_freed(f, BLOCK_BYTES); }
static void write_after_free_large(const family *f) { write_freed(f, LARGE_BYTES); }
static void write_after_free_huge(const family *f) { write_freed(f, HUGE_BYTES); }
static void read_after_free(const family *f) { read_freed(f, BLOCK_BYTES); }
static void read_after_free_large(const family *f) { read_freed(f, LARGE_BYTES); }
static void read_after_free_huge(const family *f) { read_freed(f, HUGE_BYTES); }

// The first bytes of a freed block are where most mallocs keep their links.
static void write_link_after_free(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    end_block(f, p);
    write_up(p, 8);
    close_all(f);
}

static void double_free(const family *f) {
    void *p = make_block(f, BLOCK_BYTES);
    end_block(f, p);
    end_block(f, p);
    close_all(f);
}

static void double_free_large(const family *f) {
    void *p = make_block(f, LARGE_BYTES);
    end_block(f, p);
    end_block(f, p);
    close_all(f);
}

static void double_free_huge(const family *f) {
    void *p = make_block(f, HUGE_BYTES);
    end_block(f, p);
    end_block(f, p);
    close_all(f);
}

// Another block of the size may have got the memory meanwhile, and is what the second free ends then.
static void double_free_reused(const family *f) {
    void *p = make_block(f, BLOCK_BYTES);
    end_block(f, p);
    void *other = make_block(f, BLOCK_BYTES);
    end_block(f, p);
    end_block(f, other);
    close_all(f);
}

// Blocks of the size have come and gone, so that it is in no short list of the last ones.
static void double_free_later(const family *f) {
    enum { COUNT = 20 };
    void *p = make_block(f, BLOCK_BYTES), *others[COUNT];
    for (int i = 0; i < COUNT; i++) others[i] = make_block(f, BLOCK_BYTES);
    end_block(f, p);
    for (int i = 0; i < COUNT; i++) end_block(f, others[i]);
    end_block(f, p);
    close_all(f);
}

static void double_free_thread(const family *f) {
    job j = {f, make_block(f, BLOCK_BYTES)};
    end_block(f, j.p);
    in_thread(end_job, &j);
    close_all(f);
}

static void realloc_freed(const family *f) {
    void *p = make_block(f, BLOCK_BYTES);
    end_block(f, p);
    void *q = f->change(hide(p), 2 * BLOCK_BYTES);
    if (q != NULL) end_block(f, q);
    close_all(f);
}

// It would still fit where it is, so that nothing needs to be copied or freed.
static void realloc_freed_in_place(const family *f) {
    void *p = make_block(f, BLOCK_BYTES);
    end_block(f, p);
    void *q = f->change(hide(p), BLOCK_BYTES - 8);
    sink = q != NULL;
    close_all(f);
}

static void realloc_interior(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    if (f->change(hide(p + 32), 2 * BLOCK_BYTES) == NULL) finish(f, p);
}

// --- what is no block -----------------------------------------------------------------------------------------------

static void free_stack(const family *f) {
    char local[BLOCK_BYTES] __attribute__((aligned(16)));
    local[0] = 1;
    end_block(f, local);
    close_all(f);
}

static char static_data[2 * BLOCK_BYTES] __attribute__((aligned(16))) = "initialised";
static void free_static(const family *f) {
    end_block(f, static_data + 16);
    close_all(f);
}

static void free_interior(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    end_block(f, p + 16);
    finish(f, p);
}

static void free_odd(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    end_block(f, p + 1);
    finish(f, p);
}

static void free_interior_large(const family *f) {
    char *p = make_block(f, LARGE_BYTES);
    end_block(f, p + 4096);
    finish(f, p);
}

static void free_mapping(const family *f) {
    char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == (char *)MAP_FAILED) exit(9);
    end_block(f, p + 64);
    close_all(f);
}

static void free_null_8(const family *f) {
    end_block(f, (void *)8);
    close_all(f);
}

static void free_null_4096(const family *f) {
    end_block(f, (void *)4096);
    close_all(f);
}

// --- the wrong call -------------------------------------------------------------------------------------------------

static void free_wrong_pool(const family *f) {
    void *p = make_block(f, BLOCK_BYTES);
    f->end_in_another(hide(p));
    finish(f, p);
}

static void free_wrong_size(const family *f) {
    void *p = make_block(f, BLOCK_BYTES);
    f->end_sized(hide(p), 200);
    close_all(f);
}

static void free_in_thread(const family *f) {
    job j = {f, make_block(f, BLOCK_BYTES)};
    in_thread(end_job, &j);
    finish(f, j.p);
}

static void alloc_in_thread(const family *f) {
    job j = {f, NULL};
    in_thread(make_job, &j);
    close_all(f);
}

// --- after the end of all -------------------------------------------------------------------------------------------

static void write_after_rewind(const family *f) {
    f->mark();
    char *p = make_block(f, BLOCK_BYTES);
    rewind_all(f);
    write_up(p + 40, 8);
    close_all(f);
}
static void read_after_rewind(const family *f) {
    f->mark();
    char *p = make_block(f, BLOCK_BYTES);
    rewind_all(f);
    read_up(p + 40, 8);
    close_all(f);
}
static void write_after_reset(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    wipe_all(f);
    write_up(p + 40, 8);
    close_all(f);
}
static void read_after_reset(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    wipe_all(f);
    read_up(p + 40, 8);
    close_all(f);
}
static void free_after_reset(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    wipe_all(f);
    end_block(f, p);
    close_all(f);
}
static void write_after_destroy(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    close_all(f);
    write_up(p + 40, 8);
}
static void read_after_destroy(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    close_all(f);
    read_up(p + 40, 8);
}
static void free_after_destroy(const family *f) {
    char *p = make_block(f, BLOCK_BYTES);
    close_all(f);
    end_block(f, p);
}
static void alloc_after_destroy(const family *f) {
    close_all(f);
    void *p = f->make(BLOCK_BYTES);
    sink = p != NULL;
}
static void destroy_again(const family *f) {
    close_all(f);
    close_all(f);
}

// --- what is left ---------------------------------------------------------------------------------------------------

enum { LEFT = 3 };
static void leak(const family *f) {
    for (volatile int i = 0; i < LEFT; i++) make_block(f, BLOCK_BYTES);    // one place, so not unrolled
}
static void destroy_with_live(const family *f) {
    leak(f);
    close_all(f);
}

// --- which ----------------------------------------------------------------------------------------------------------

enum {
    END = 1 << 0,
    ANOTHER = 1 << 1,
    SIZED = 1 << 2,
    CHANGE = 1 << 3,
    MARK = 1 << 4,
    WIPE = 1 << 5,
    CLOSE = 1 << 6,
    ANY_SIZE = 1 << 7,
    CONFINED = 1 << 8,
};

static unsigned abilities(const family *f) {
    return (f->end != NULL ? END : 0u) | (f->end_in_another != NULL ? ANOTHER : 0u) |
           (f->end_sized != NULL ? SIZED : 0u) | (f->change != NULL ? CHANGE : 0u) | (f->mark != NULL ? MARK : 0u) |
           (f->wipe != NULL ? WIPE : 0u) | (f->close != NULL ? CLOSE : 0u) | (f->any_size ? ANY_SIZE : 0u) |
           (f->confined ? CONFINED : 0u);
}

#define KIND(name, needs) \
    { #name, name, needs }
static const struct kind {
    const char *name;
    void (*run)(const family *f);
    unsigned needs;
} kinds[] = {
    KIND(overflow_1, 0),
    KIND(overflow_8, 0),
    KIND(overflow_4096, 0),
    KIND(overflow_odd, ANY_SIZE),
    KIND(overflow_large, ANY_SIZE),
    KIND(underflow_1, 0),
    KIND(underflow_8, 0),
    KIND(underflow_4096, 0),
    KIND(overread_1, 0),
    KIND(overread_8, 0),
    KIND(underread_1, 0),
    KIND(underread_8, 0),
    KIND(write_after_free, END),
    KIND(write_link_after_free, END),
    KIND(write_after_free_large, END | ANY_SIZE),
    KIND(write_after_free_huge, END | ANY_SIZE),
    KIND(read_after_free, END),
    KIND(read_after_free_large, END | ANY_SIZE),
    KIND(read_after_free_huge, END | ANY_SIZE),
    KIND(double_free, END),
    KIND(double_free_large, END | ANY_SIZE),
    KIND(double_free_huge, END | ANY_SIZE),
    KIND(double_free_reused, END),
    KIND(double_free_later, END),
    KIND(double_free_thread, END),
    KIND(free_stack, END),
    KIND(free_static, END),
    KIND(free_interior, END),
    KIND(free_odd, END),
    KIND(free_interior_large, END | ANY_SIZE),
    KIND(free_mapping, END),
    KIND(free_null_8, END),
    KIND(free_null_4096, END),
    KIND(realloc_freed, END | CHANGE),
    KIND(realloc_freed_in_place, END | CHANGE),
    KIND(realloc_interior, END | CHANGE),
    KIND(free_wrong_pool, ANOTHER),
    KIND(free_wrong_size, SIZED),
    KIND(free_in_thread, END | CONFINED),
    KIND(alloc_in_thread, CONFINED),
    KIND(write_after_rewind, MARK),
    KIND(read_after_rewind, MARK),
    KIND(write_after_reset, WIPE),
    KIND(read_after_reset, WIPE),
    KIND(free_after_reset, WIPE | END),
    KIND(write_after_destroy, CLOSE),
    KIND(read_after_destroy, CLOSE),
    KIND(free_after_destroy, CLOSE | END),
    KIND(alloc_after_destroy, CLOSE),
    KIND(destroy_again, CLOSE),
    KIND(leak, 0),
    KIND(destroy_with_live, CLOSE | ANOTHER)    // a heap or an arena ends with its blocks by right
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static bool can(const family *f, const struct kind *kind) { return (kind->needs & ~abilities(f)) == 0; }

static void list_all(void) {
    for (size_t i = 0; i < family_count; i++) {
        for (size_t k = 0; k < KIND_COUNT; k++) {
            if (can(&families[i], &kinds[k])) printf("%s.%s\n", families[i].name, kinds[k].name);
        }
    }
}

static int run(const family *f, const struct kind *kind) {
    alarm(20);    // a list that has become a ring must not keep the test for ever
    if (f->open != NULL) f->open();
    kind->run(f);
    return write(STDOUT_FILENO, "survived\n", 9) == 9 ? 0 : 7;
}

int main(int argc, char **argv) {
    char name[80];
    for (size_t i = 0; argc == 2 && i < family_count; i++) {
        for (size_t k = 0; k < KIND_COUNT; k++) {
            snprintf(name, sizeof name, "%s.%s", families[i].name, kinds[k].name);
            if (strcmp(argv[1], name) == 0 && can(&families[i], &kinds[k])) return run(&families[i], &kinds[k]);
        }
    }
    list_all();
    return argc == 1 ? 0 : 2;
}
