// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Typed objects: constructed each time, with a constructor that may fail, and at most three at once.
//
// Prints:
//     3 live, 1 refused, 1 too many
//     closed 80
//     closed 81
//     closed 82
#include <errno.h>
#include <lido/object.h>
#include <stdio.h>

struct conn {
    int port;
    char buffer[1024];
};

static int conn_construct(void *object, void *arguments, void *context) {
    struct conn *c = (struct conn *)object;
    (void)context;
    c->port = *(const int *)arguments;
    return c->port > 0 ? 0 : EADDRNOTAVAIL;    // the block goes back to the pool by itself
}

static void conn_destroy(void *object, void *context) {
    (void)context;
    printf("closed %d\n", ((struct conn *)object)->port);
}

int main(void) {
    lido_type type = {
        .name = "conn", .size = sizeof(struct conn), .construct = conn_construct, .destroy = conn_destroy};
    lido_object_options options = {.pool.capacity = 3};
    lido_object_pool *conns = lido_object_pool_new(&type, &options);
    if (conns == NULL) return 1;
    int ports[] = {80, 81, -1, 82, 83}, refused = 0, full = 0;
    for (int i = 0; i < 5; i++) {
        if (lido_object_new(conns, &ports[i]) != NULL) continue;
        if (errno == EADDRNOTAVAIL) refused++;
        if (errno == ENOMEM) full++;
    }
    size_t live = lido_object_pool_stats(conns).live;
    printf("%zu live, %d refused, %d too many\n", live, refused, full);
    lido_object_pool_destroy(conns);    // the three that are left are closed
    return live == 3 && refused == 1 && full == 1 ? 0 : 1;
}
