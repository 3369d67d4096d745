// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A program to look at from gdb: pools of every kind, an arena, an object pool, blocks of malloc of every size, alive and
// freed, in variables that the test asks for by name. Everything is there when it comes to scene_ready. With the word
// "abort" it dies there.
#include <lido/lido.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct conn {
    int id;
    char buffer[60];
} conn;

lido_pool *conns, *queue, *mine, *jobs, *bounded, *gone;
lido_object_pool *objects;
lido_arena *arena;
lido_heap *heap;

void *live_conn, *freed_conn, *fresh_conn, *live_job, *binned_job, *other_job, *spare_job, *depot_job, *live_queued,
    *freed_queued, *live_mine, *live_bounded;
void *live_small, *freed_small, *live_large, *live_huge, *live_heap, *live_arena, *live_object, *idle_object;
int here;

__attribute__((noinline)) void scene_ready(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) static void *make_conn(int id) {
    conn *c = (conn *)lido_pool_alloc(conns);
    if (c != NULL) c->id = id;
    return c;
}

__attribute__((noinline)) static void drop_conn(void *c) {
    lido_pool_free(conns, c);
    __asm__ volatile("" ::: "memory");    // a frame of its own, not a tail call
}

static lido_pool *pool(const char *name, size_t bytes, lido_threads threads, lido_order order, size_t capacity) {
    lido_pool_options options = {
        .name = name, .block_size = bytes, .threads = threads, .order = order, .capacity = capacity};
    lido_pool *made = lido_pool_new(&options);
    if (made == NULL) abort();
    return made;
}

static void fill_pools(void) {
    conns = pool("conn", sizeof(conn), LIDO_LOCAL, LIDO_LIFO, 0);
    jobs = pool("job", 48, LIDO_SHARED, LIDO_LIFO, 0);
    queue = pool("queue", 128, LIDO_SHARED, LIDO_FIFO, 0);
    mine = pool("mine", 32, LIDO_CONFINED, LIDO_LIFO, 0);
    bounded = pool("bounded", 24, LIDO_SHARED, LIDO_LIFO, 1000);
    gone = pool("gone", 24, LIDO_LOCAL, LIDO_LIFO, 0);
    live_conn = make_conn(1);
    freed_conn = make_conn(2);
    fresh_conn = (char *)freed_conn + sizeof(conn);
    drop_conn(freed_conn);
    live_job = lido_pool_alloc(jobs);
    binned_job = lido_pool_alloc(jobs);
    lido_pool_free(jobs, binned_job);
    live_queued = lido_pool_alloc(queue);
    freed_queued = lido_pool_alloc(queue);
    lido_pool_free(queue, freed_queued);
    live_mine = lido_pool_alloc(mine);
    live_bounded = lido_pool_alloc(bounded);
    lido_pool_destroy(gone);
}

// A thread that has freed many blocks: the last ones are in its bin, those before them its spare batch, the first ones in the
// depot. It stays until the program ends.
static pthread_barrier_t done;
static void *work(void *unused) {
    enum { JOBS = 4000 };
    static void *block[JOBS];
    (void)unused;
    for (int i = 0; i < JOBS; i++) block[i] = lido_pool_alloc(jobs);
    for (int i = 0; i < JOBS; i++) lido_pool_free(jobs, block[i]);
    depot_job = block[0];
    other_job = block[JOBS - 1];
    spare_job = block[JOBS - 85];    // a batch of 48 bytes is 85 blocks
    pthread_barrier_wait(&done);
    pthread_barrier_wait(&done);
    return NULL;
}

static void start_worker(void) {
    static pthread_t thread;
    pthread_barrier_init(&done, NULL, 2);
    if (pthread_create(&thread, NULL, work, NULL) != 0) abort();
    pthread_barrier_wait(&done);
}

static void fill_others(void) {
    live_small = lido_malloc(100);
    freed_small = lido_malloc(100);
    lido_free(freed_small);
    live_large = lido_malloc(100000);
    live_huge = lido_malloc(20 << 20);
    heap = lido_heap_new(&(lido_heap_options){.name = "request"});
    live_heap = lido_heap_alloc(heap, 40);
    arena = lido_arena_new(&(lido_arena_options){.name = "parse"});
    live_arena = lido_arena_alloc(arena, 40);
    objects = lido_object_pool_new(&(lido_type){.name = "session", .size = 72}, NULL);
    live_object = lido_object_acquire(objects);
    idle_object = lido_object_acquire(objects);
    lido_object_release(objects, idle_object);
}

int main(int argc, char **argv) {
    fill_pools();
    fill_others();
    start_worker();
    here = argc;
    scene_ready();
    if (argc > 1 && strcmp(argv[1], "abort") == 0) abort();
    return 0;
}
