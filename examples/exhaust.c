// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The end of a pool: a capacity of 4 gives 4 objects and no more, and after one is released the next request succeeds.
//
// Prints:
//     4 alive; the fifth: refused, Cannot allocate memory
//     one released; the next: made
//     all returned: 0 alive, 5 constructed, 5 destroyed
#include <errno.h>
#include <lido/object.h>
#include <stdio.h>
#include <string.h>

static int constructed, destroyed;

static int construct(void *object, void *arguments, void *context) {
    (void)arguments, (void)context;
    *(int *)object = ++constructed;
    return 0;
}
static void destroy(void *object, void *context) {
    (void)object, (void)context;
    destroyed++;
}

int main(void) {
    lido_type type = {.name = "message", .size = 56, .construct = construct, .destroy = destroy};
    lido_object_pool *pool = lido_object_pool_new(&type, &(lido_object_options){.pool.capacity = 4});
    if (pool == NULL) return perror("message"), 1;
    void *objects[4];
    for (int i = 0; i < 4; i++) objects[i] = lido_object_new(pool, NULL);
    errno = 0;
    const void *fifth = lido_object_new(pool, NULL);
    printf("%zu alive; the fifth: %s, %s\n", lido_object_pool_stats(pool).live, fifth == NULL ? "refused" : "made",
           strerror(errno));
    lido_object_delete(pool, objects[2]);
    objects[2] = lido_object_new(pool, NULL);
    printf("one released; the next: %s\n", objects[2] == NULL ? "refused" : "made");
    for (int i = 0; i < 4; i++) lido_object_delete(pool, objects[i]);
    printf("all returned: %zu alive, %d constructed, %d destroyed\n", lido_object_pool_stats(pool).live, constructed,
           destroyed);
    lido_object_pool_destroy(pool);
    return 0;
}
