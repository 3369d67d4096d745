// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// One misuse a run: `death_misuse CASE`. What must happen stands in messages.txt; `run` compares. The program says
// "survived" if it gets to its end, which it may only with on_misuse=continue.
//
// Built twice: against the static core (lido_malloc and its family, and pools), and with DEATH_STANDARD_NAMES as a plain
// C program that runs under liblido-malloc.so, for the cases that have no pool in them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef DEATH_STANDARD_NAMES
#define give malloc
#define take free
#define change realloc
#define usable malloc_usable_size
#define trim() malloc_trim(0)
#else
#include <lido/lido.h>
#define give lido_malloc
#define take lido_free
#define change lido_realloc
#define usable lido_usable_size
#define trim() lido_trim(0)
#endif

// The compiler must not see what it could warn of, or remove.
static void *hide(const volatile void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return (void *)(uintptr_t)p;
}

static void *in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    void *result = NULL;
    if (pthread_create(&thread, NULL, function, argument) != 0) exit(9);
    pthread_join(thread, &result);
    return result;
}

// Allocates and frees so much of a size that what the thread had in its bin moves on.
static void churn(size_t size) {
    enum { COUNT = 5000 };
    static void *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) blocks[i] = give(size);
    for (int i = 0; i < COUNT; i++) take(blocks[i]);
}

static void *free_it(void *p) {
    take(p);
    return p;
}

// --- the malloc family ----------------------------------------------------------------------------------------------

static void double_free_now(void) {
    void *p = hide(give(64)), *other = hide(give(64));
    take(p);
    take(hide(p));
    trim();
    take(other);
}

static void double_free_later(void) {
    void *p = hide(give(200)), *keep = hide(give(200));
    take(p);
    churn(200);
    trim();
    take(hide(p));
    trim();
    take(keep);
}

static void double_free_at_thread_end(void) {
    void *p = hide(give(96)), *keep = hide(give(96));
    take(p);
    trim();
    in_thread(free_it, hide(p));
    take(keep);
}

static void double_free_large(void) {
    void *p = hide(give(300000));
    take(p);
    take(hide(p));
}

static void double_free_huge(void) {
    void *p = hide(give(100 << 20));
    take(p);
    take(hide(p));
}

static void interior_small(void) {
    char *p = hide(give(160));
    take(hide(p + 16));
    take(p);
}

static void interior_odd(void) {
    char *p = hide(give(160));
    take(hide(p + 1));
    take(p);
}

static void interior_medium(void) {
    char *p = hide(give(20000));
    take(hide(p + 4096));
    take(p);
}

static void interior_large(void) {
    char *p = hide(give(1000000));
    take(hide(p + 65536));
    take(p);
}

static void interior_huge(void) {
    char *p = hide(give(100 << 20));
    take(hide(p + 4096));
    take(p);
}

static void never_given_out(void) {
    char *p = hide(give(1024));
    take(hide(p + 16384));    // a block of the same slab that has not been allocated yet, by the look of it
    trim();
    take(p);
}

static void stack_pointer(void) {
    char local[64];
    take(hide(local));
}

static void *free_own_stack(void *unused) {
    char local[64];
    take(hide(local));
    return unused;
}

static void thread_stack_pointer(void) { in_thread(free_own_stack, NULL); }

static char static_data[64] = "initialised";
static void static_pointer(void) { take(hide(static_data)); }
static char static_zeroes[64];
static void static_zero_pointer(void) { take(hide(static_zeroes)); }
static void literal_pointer(void) { take(hide("a string literal")); }
static void code_pointer(void) { take(hide((void *)(uintptr_t)&code_pointer)); }
static void unmapped_pointer(void) { take(hide((void *)0x10000)); }
static void wild_pointer(void) { take(hide((void *)UINT64_C(0xDEADBEEFDEADBEE0))); }

static void foreign_mapping(void) {
    void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    take(hide(p));
}

static void realloc_stack_pointer(void) {
    char local[64];
    if (change(hide(local), 100) != NULL) exit(8);
}

static void realloc_interior(void) {
    char *p = hide(give(160));
    if (change(hide(p + 32), 1000) != NULL) exit(8);
    take(p);
}

static void realloc_static_pointer(void) {
    if (change(hide(static_data), 100) != NULL) exit(8);
}

static void usable_size_stack_pointer(void) {
    char local[64];
    if (usable(hide(local)) != 0) exit(8);
}

// --- pools ----------------------------------------------------------------------------------------------------------

#ifndef DEATH_STANDARD_NAMES
static lido_pool *make(const char *name, lido_threads threads, lido_order order, size_t capacity) {
    lido_pool *pool = lido_pool_new(
        &(lido_pool_options){.name = name, .block_size = 64, .threads = threads, .order = order, .capacity = capacity});
    if (pool == NULL) exit(9);
    return pool;
}

static void free_to_another(lido_threads threads, lido_order order, size_t capacity) {
    lido_pool *right = make("right", threads, order, capacity), *wrong = make("wrong", threads, order, capacity);
    void *p = lido_pool_alloc(right), *q = lido_pool_alloc(wrong);
    lido_pool_free(wrong, hide(p));
    lido_pool_free(right, p);
    lido_pool_free(wrong, q);
    lido_pool_destroy(right);
    lido_pool_destroy(wrong);
}

static void wrong_pool_shared(void) { free_to_another(LIDO_SHARED, LIDO_LIFO, 0); }
static void wrong_pool_fifo(void) { free_to_another(LIDO_SHARED, LIDO_FIFO, 0); }
static void wrong_pool_bounded(void) { free_to_another(LIDO_SHARED, LIDO_LIFO, 100); }
static void wrong_pool_confined(void) { free_to_another(LIDO_CONFINED, LIDO_LIFO, 0); }

// Nothing is checked on the inline path of a local pool; it is seen when the pool's stock goes back into its slabs.
static void wrong_pool_local(void) {
    lido_pool *right = make("right", LIDO_LOCAL, LIDO_LIFO, 0), *wrong = make("wrong", LIDO_LOCAL, LIDO_LIFO, 0);
    void *p = lido_pool_alloc(right);
    lido_pool_free(wrong, hide(p));
    lido_pool_trim(wrong);
    lido_pool_free(right, p);
    lido_pool_destroy(right);
    lido_pool_destroy(wrong);
}

static void pool_free_of_malloc(void) {
    lido_pool *pool = make("tasks", LIDO_SHARED, LIDO_LIFO, 0);
    void *p = lido_malloc(64);
    lido_pool_free(pool, hide(p));
    lido_free(p);
    lido_pool_destroy(pool);
}

static void pool_free_interior(void) {
    lido_pool *pool = make("tasks", LIDO_SHARED, LIDO_FIFO, 0);
    char *p = lido_pool_alloc(pool);
    lido_pool_free(pool, hide(p + 8));
    lido_pool_free(pool, p);
    lido_pool_destroy(pool);
}

static void pool_free_stack(void) {
    lido_pool *pool = make("tasks", LIDO_SHARED, LIDO_LIFO, 0);
    char local[64];
    lido_pool_free(pool, hide(local));
    lido_pool_destroy(pool);
}

static void pool_double_free_fifo(void) {
    lido_pool *pool = make("tasks", LIDO_SHARED, LIDO_FIFO, 0);
    void *p = lido_pool_alloc(pool);
    lido_pool_free(pool, p);
    lido_pool_free(pool, hide(p));
    lido_pool_destroy(pool);
}

static void pool_double_free_local(void) {
    lido_pool *pool = make("tasks", LIDO_LOCAL, LIDO_LIFO, 0);
    void *p = lido_pool_alloc(pool), *q = lido_pool_alloc(pool);
    lido_pool_free(pool, p);
    lido_pool_trim(pool);
    lido_pool_free(pool, hide(p));
    lido_pool_trim(pool);
    lido_pool_free(pool, q);
    lido_pool_destroy(pool);
}

static void pool_double_free_shared(void) {
    lido_pool *pool = make("tasks", LIDO_SHARED, LIDO_LIFO, 0);
    void *p = lido_pool_alloc(pool), *q = lido_pool_alloc(pool);
    lido_pool_free(pool, p);
    lido_pool_trim(pool);
    lido_pool_free(pool, hide(p));
    lido_pool_trim(pool);
    lido_pool_free(pool, q);
    lido_pool_destroy(pool);
}

static void *alloc_from(void *pool) { return lido_pool_alloc(pool); }

static lido_pool *shared_with_thread;
static void *free_to(void *p) {
    lido_pool_free(shared_with_thread, p);
    return NULL;
}

static void confined_alloc(void) {
    lido_pool *pool = make("mine alone", LIDO_CONFINED, LIDO_LIFO, 0);
    if (in_thread(alloc_from, pool) != NULL) exit(8);
    lido_pool_destroy(pool);
}

static void confined_free(void) {
    shared_with_thread = make("mine alone", LIDO_CONFINED, LIDO_LIFO, 0);
    void *p = lido_pool_alloc(shared_with_thread);
    in_thread(free_to, p);
    lido_pool_free(shared_with_thread, p);
    lido_pool_destroy(shared_with_thread);
}

static void confined_lido_free(void) {
    shared_with_thread = make("mine alone", LIDO_CONFINED, LIDO_LIFO, 0);
    void *p = lido_pool_alloc(shared_with_thread);
    in_thread(free_it, p);
    lido_pool_free(shared_with_thread, p);
    lido_pool_destroy(shared_with_thread);
}

static void destroy_with_live(void) {
    for (int i = 0; i < 3; i++) {
        lido_pool *pool = make("left behind", (lido_threads)i, LIDO_LIFO, 0);
        for (int k = 0; k < 7; k++) {
            if (lido_pool_alloc(pool) == NULL) exit(9);
        }
        lido_pool_destroy(pool);
    }
}

static void destroy_fifo_with_live(void) {
    lido_pool *pool = make("left behind", LIDO_SHARED, LIDO_FIFO, 10);
    if (lido_pool_alloc(pool) == NULL) exit(9);
    lido_pool_destroy(pool);
}

static lido_heap *bumping(void) {
    lido_heap *heap = lido_heap_new(&(lido_heap_options){.bump = true});
    if (heap == NULL) exit(9);
    return heap;
}

static void bump_double_free(void) {
    lido_heap *heap = bumping();
    void *p = lido_heap_alloc(heap, 100);
    lido_free(p);
    lido_free(hide(p));
    lido_heap_destroy(heap);
}

static void bump_interior(void) {
    lido_heap *heap = bumping();
    char *p = lido_heap_alloc(heap, 100);
    memset(p, 0, 100);
    lido_free(hide(p + 16));
    lido_heap_destroy(heap);
}

static void bump_free_after_reset(void) {
    lido_heap *heap = bumping();
    void *p = lido_heap_alloc(heap, 100);
    lido_heap_reset(heap);
    lido_free(hide(p));
    if (lido_heap_realloc(heap, NULL, 10) == NULL) exit(9);
    lido_heap_destroy(heap);
}

static void *wait_for_block(void *pool) { return lido_pool_alloc(pool); }

static void destroy_with_waiter(void) {
    lido_pool *pool = lido_pool_new(&(lido_pool_options){
        .name = "seats", .block_size = 64, .threads = LIDO_SHARED, .capacity = 1, .on_exhausted = LIDO_WAIT});
    pthread_t thread;
    void *p = lido_pool_alloc(pool);
    if (pthread_create(&thread, NULL, wait_for_block, pool) != 0) exit(9);
    while (lido_pool_stats(pool).waiting != 1) usleep(1000);
    lido_pool_destroy(pool);
    lido_pool_free(pool, p);    // the pool is still there
    pthread_join(thread, &p);
    lido_pool_free(pool, p);
    lido_pool_destroy(pool);
}

static void *set_capacity_of(void *pool) {
    if (lido_pool_set_capacity(pool, 10) != -1 || errno != EPERM) exit(8);
    return NULL;
}

static void confined_set_capacity(void) {
    lido_pool *pool = make("mine alone", LIDO_CONFINED, LIDO_LIFO, 4);
    in_thread(set_capacity_of, pool);
    lido_pool_destroy(pool);
}

static void free_object_of_handle(void) {
    lido_type type = {.name = "unit", .size = 64};
    lido_handle_pool *pool = lido_handle_pool_new(&type, NULL);
    lido_handle first = lido_handle_new(pool, NULL), second = lido_handle_new(pool, NULL);
    if (first.bits == 0) exit(9);
    lido_free(hide(lido_handle_get(pool, second)));
    lido_handle_pool_destroy(pool);
}

static void free_after_destroy(void) {
    lido_pool *pool = make("gone", LIDO_LOCAL, LIDO_LIFO, 0);
    void *p = lido_pool_alloc(pool);
    lido_pool_reset(pool);
    lido_pool_destroy(pool);
    lido_free(hide(p));
}
#endif

// --- which ----------------------------------------------------------------------------------------------------------

#define ENTRY(name) \
    { #name, name }
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    ENTRY(double_free_now),
    ENTRY(double_free_later),
    ENTRY(double_free_at_thread_end),
    ENTRY(double_free_large),
    ENTRY(double_free_huge),
    ENTRY(interior_small),
    ENTRY(interior_odd),
    ENTRY(interior_medium),
    ENTRY(interior_large),
    ENTRY(interior_huge),
    ENTRY(never_given_out),
    ENTRY(stack_pointer),
    ENTRY(thread_stack_pointer),
    ENTRY(static_pointer),
    ENTRY(static_zero_pointer),
    ENTRY(literal_pointer),
    ENTRY(code_pointer),
    ENTRY(unmapped_pointer),
    ENTRY(wild_pointer),
    ENTRY(foreign_mapping),
    ENTRY(realloc_stack_pointer),
    ENTRY(realloc_interior),
    ENTRY(realloc_static_pointer),
    ENTRY(usable_size_stack_pointer),
#ifndef DEATH_STANDARD_NAMES
    ENTRY(wrong_pool_shared),
    ENTRY(wrong_pool_fifo),
    ENTRY(wrong_pool_bounded),
    ENTRY(wrong_pool_confined),
    ENTRY(wrong_pool_local),
    ENTRY(pool_free_of_malloc),
    ENTRY(pool_free_interior),
    ENTRY(pool_free_stack),
    ENTRY(pool_double_free_fifo),
    ENTRY(pool_double_free_local),
    ENTRY(pool_double_free_shared),
    ENTRY(confined_alloc),
    ENTRY(confined_free),
    ENTRY(confined_lido_free),
    ENTRY(destroy_with_live),
    ENTRY(destroy_fifo_with_live),
    ENTRY(bump_double_free),
    ENTRY(bump_interior),
    ENTRY(bump_free_after_reset),
    ENTRY(destroy_with_waiter),
    ENTRY(confined_set_capacity),
    ENTRY(free_object_of_handle),
    ENTRY(free_after_destroy),
#endif
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        alarm(20);    // a list that has become a ring must not keep the test for ever
        cases[i].run();
        if (write(STDOUT_FILENO, "survived\n", 9) != 9) return 7;
        return 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) printf("%s\n", cases[i].name);
    return argc == 1 ? 0 : 2;
}
