// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Handles: a missile that keeps a handle of its target notices that the target is gone, also when another unit has its place.
//
// Prints:
//     target gone: yes, 1 healthy
#include <lido/lido.h>

#include <stdio.h>

struct unit {
    int health;
};

static bool count_healthy(void *object, lido_handle handle, void *context) {
    (void)handle;
    if (((struct unit *)object)->health > 0) ++*(int *)context;
    return true;
}

int main(void) {
    lido_type type = {.name = "unit", .size = sizeof(struct unit)};
    lido_handle_pool *units = lido_handle_pool_new(&type, NULL);
    if (units == NULL) return perror("units"), 1;
    lido_handle target = lido_handle_new(units, NULL);
    struct unit *unit = lido_handle_get(units, target);
    if (unit == NULL) return perror("unit"), 1;
    unit->health = 10;

    lido_handle_delete(units, target);
    lido_handle another = lido_handle_new(units, NULL);
    if (another.bits == 0) return perror("another unit"), 1;
    ((struct unit *)lido_handle_get(units, another))->health = 20;

    int healthy = 0;
    bool gone = lido_handle_get(units, target) == NULL;
    lido_handle_visit(units, count_healthy, &healthy);
    printf("target gone: %s, %d healthy\n", gone ? "yes" : "no", healthy);
    lido_handle_pool_destroy(units);
    return gone && healthy == 1 ? 0 : 1;
}
