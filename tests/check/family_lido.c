// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The corpus over what lido adds to malloc: pools of each kind, objects, handles, heaps, arenas; and lido_malloc beside the C
// library's own malloc, whose blocks are foreign here.
#include "corpus.h"

#include <lido/lido.h>
#include <stdint.h>
#include <stdlib.h>

// --- pools ----------------------------------------------------------------------------------------------------------

static lido_pool *pool, *another;

static lido_pool *new_pool(const char *name, lido_threads threads, lido_order order, size_t capacity) {
    lido_pool *made = lido_pool_new(&(lido_pool_options){
        .name = name, .block_size = BLOCK_BYTES, .threads = threads, .order = order, .capacity = capacity});
    if (made == NULL) exit(9);
    return made;
}

static void open_pools(lido_threads threads, lido_order order, size_t capacity) {
    pool = new_pool("right", threads, order, capacity);
    another = new_pool("wrong", threads, order, capacity);
    // a pool that never had a block knows less of what is not its own
    lido_pool_free(another, hide(lido_pool_alloc(another)));
}
static void open_local(void) { open_pools(LIDO_LOCAL, LIDO_LIFO, 0); }
static void open_shared(void) { open_pools(LIDO_SHARED, LIDO_LIFO, 0); }
static void open_confined(void) { open_pools(LIDO_CONFINED, LIDO_LIFO, 0); }
static void open_fifo(void) { open_pools(LIDO_SHARED, LIDO_FIFO, 0); }
static void open_bounded(void) { open_pools(LIDO_SHARED, LIDO_LIFO, 100); }

static void *pool_make(size_t bytes) { return bytes == BLOCK_BYTES ? lido_pool_alloc(pool) : NULL; }
static void pool_end(void *p) { lido_pool_free(pool, p); }
static void pool_end_in_another(void *p) { lido_pool_free(another, p); }
static void pool_wipe(void) { lido_pool_reset(pool); }
static void pool_close(void) { lido_pool_destroy(pool); }

// --- objects --------------------------------------------------------------------------------------------------------

typedef struct thing {
    char bytes[BLOCK_BYTES];
} thing;
static lido_object_pool *objects, *other_objects;

static int construct(void *object, void *arguments, void *context) {
    ((thing *)object)->bytes[0] = 1;
    return (void)arguments, (void)context, 0;
}
static lido_object_pool *new_objects(const char *name) {
    lido_type type = {.name = name, .size = sizeof(thing), .align = 16, .construct = construct};
    lido_object_pool *made = lido_object_pool_new(&type, &(lido_object_options){.at_destroy = LIDO_LIVE_REPORTED});
    if (made == NULL) exit(9);
    return made;
}
static void open_objects(void) {
    objects = new_objects("right");
    other_objects = new_objects("wrong");
}
static void *object_make(size_t bytes) { return bytes == BLOCK_BYTES ? lido_object_new(objects, NULL) : NULL; }
static void object_end(void *p) { lido_object_delete(objects, p); }
static void object_end_in_another(void *p) { lido_object_delete(other_objects, p); }
static void object_close(void) { lido_object_pool_destroy(objects); }

// --- handles: an object ends by its handle, and a stale one is not misuse but an answer ------------------------------

static lido_handle_pool *handles;

static void open_handles(void) {
    lido_type type = {.name = "right", .size = sizeof(thing), .align = 16, .construct = construct};
    handles = lido_handle_pool_new(&type, NULL);
    // what is wrong with the second one is within the memory of all
    if (handles == NULL || lido_handle_new(handles, NULL).bits == 0) exit(9);
}
static lido_handle last_handle;
static void *handle_make(size_t bytes) {
    last_handle = lido_handle_new(handles, NULL);
    return bytes == BLOCK_BYTES ? lido_handle_get(handles, last_handle) : NULL;
}
static void handle_wipe(void) { lido_handle_delete(handles, last_handle); }
static void handle_close(void) { lido_handle_pool_destroy(handles); }

// --- heaps ----------------------------------------------------------------------------------------------------------

static lido_heap *heap;

static void open_heap_as(bool bump) {
    heap = lido_heap_new(&(lido_heap_options){.name = "right", .bump = bump});
    if (heap == NULL) exit(9);
}
static void open_heap(void) { open_heap_as(false); }
static void open_bump(void) { open_heap_as(true); }
static void *heap_make(size_t bytes) { return lido_heap_alloc(heap, bytes); }
static void heap_end(void *p) { lido_heap_free(heap, p); }
static void *heap_change(void *p, size_t bytes) { return lido_heap_realloc(heap, p, bytes); }
static void heap_wipe(void) { lido_heap_reset(heap); }
static void heap_close(void) { lido_heap_destroy(heap); }

// --- arenas ---------------------------------------------------------------------------------------------------------

static lido_arena *arena;
static lido_arena_point point;

static void open_arena(void) {
    arena = lido_arena_new(&(lido_arena_options){.name = "right"});
    if (arena == NULL || lido_arena_alloc(arena, BLOCK_BYTES) == NULL) exit(9);
}
static void *arena_make(size_t bytes) { return lido_arena_alloc(arena, bytes); }
static void arena_mark(void) { point = lido_arena_mark(arena); }
static void arena_rewind(void) { lido_arena_rewind(arena, point); }
static void arena_wipe(void) { lido_arena_reset(arena); }
static void arena_close(void) { lido_arena_free(arena); }

// --- lido_malloc ----------------------------------------------------------------------------------------------------

// Memory of somebody else: the C library's malloc, which is another one here.
static void end_foreign(void *p) {
    (void)p;
    lido_free(hide(malloc(BLOCK_BYTES)));
}

#define POOL(kind)                                                                      \
    {                                                                                   \
        .name = "pool_" #kind, .open = open_##kind, .make = pool_make, .end = pool_end, \
        .end_in_another = pool_end_in_another, .wipe = pool_wipe, .close = pool_close   \
    }

const family families[] = {
    POOL(local),
    POOL(shared),
    POOL(fifo),
    POOL(bounded),
    {.name = "pool_confined",
     .confined = true,
     .open = open_confined,
     .make = pool_make,
     .end = pool_end,
     .end_in_another = pool_end_in_another,
     .wipe = pool_wipe,
     .close = pool_close},
    {.name = "object",
     .open = open_objects,
     .make = object_make,
     .end = object_end,
     .end_in_another = object_end_in_another,
     .close = object_close},
    {.name = "handle", .open = open_handles, .make = handle_make, .wipe = handle_wipe, .close = handle_close},
    {.name = "heap",
     .any_size = true,
     .open = open_heap,
     .make = heap_make,
     .end = heap_end,
     .change = heap_change,
     .wipe = heap_wipe,
     .close = heap_close},
    {.name = "heap_bump",
     .any_size = true,
     .open = open_bump,
     .make = heap_make,
     .end = heap_end,
     .change = heap_change,
     .wipe = heap_wipe,
     .close = heap_close},
    {.name = "arena",
     .any_size = true,
     .open = open_arena,
     .make = arena_make,
     .mark = arena_mark,
     .rewind = arena_rewind,
     .wipe = arena_wipe,
     .close = arena_close},
    {.name = "lido_malloc",
     .any_size = true,
     .make = lido_malloc,
     .end = lido_free,
     .end_in_another = end_foreign,
     .end_sized = lido_free_sized,
     .change = lido_realloc},
};
const size_t family_count = sizeof families / sizeof families[0];
