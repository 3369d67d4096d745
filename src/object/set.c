// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Sets of types: an array of object pools. Which type an object has, its address tells (lido_object_pool_of), so a set is
// needed only to make objects and to end all of them.
#include "object/object.h"

#include <errno.h>
#include <lido/heap.h>
#include <limits.h>
#include <string.h>

struct lido_object_set {
    lido_object_options options;    // [const] of every pool
    lido_object_pool **pools;       // [owner] by type number
    int count, room;                // [owner]
};

lido_object_set *lido_object_set_new(const lido_object_options *options) {
    if (options != NULL && (options->pool.block_size != 0 || options->pool.alignment != 0)) {
        errno = EINVAL;
        return NULL;
    }
    lido_object_set *set = (lido_object_set *)lido_calloc(1, sizeof *set);
    if (set == NULL) return NULL;
    if (options != NULL) set->options = *options;
    set->options.pool.name = NULL;    // each pool has its type's
    return set;
}

void lido_object_set_destroy(lido_object_set *set) {
    if (set == NULL) return;
    for (int i = 0; i < set->count; i++) lido__object_pool_end(set->pools[i]);
    for (int i = 0; i < set->count; i++) lido__object_pool_destroy_objects(set->pools[i]);
    for (int i = 0; i < set->count; i++) lido__object_pool_release(set->pools[i]);
    lido_free(set->pools);
    lido_free(set);
}

// Names are compared as pools keep them: cut at LIDO_POOL_NAME_MAX.
int lido_object_set_find(const lido_object_set *set, const char *name) {
    for (int i = 0; i < set->count; i++)
        if (strncmp(lido_object_pool_type(set->pools[i])->name, name, LIDO_POOL_NAME_MAX) == 0) return i;
    return -1;
}

static bool has_room(lido_object_set *set) {
    if (set->count < set->room) return true;
    if (set->room > INT_MAX / 2) return false;
    int room = set->room == 0 ? 8 : 2 * set->room;
    lido_object_pool **pools = (lido_object_pool **)lido_realloc(set->pools, (size_t)room * sizeof(lido_object_pool *));
    if (pools == NULL) return false;
    set->pools = pools;
    set->room = room;
    return true;
}

int lido_object_set_add(lido_object_set *set, const lido_type *type) {
    if (type == NULL) {
        errno = EINVAL;
        return -1;
    }
    if (lido_object_set_find(set, type->name != NULL ? type->name : "object") >= 0) {
        errno = EEXIST;
        return -1;
    }
    if (!has_room(set)) {
        errno = ENOMEM;
        return -1;
    }
    lido_object_pool *pool = lido_object_pool_new(type, &set->options);
    if (pool == NULL) return -1;
    set->pools[set->count] = pool;
    return set->count++;
}

lido_object_pool *lido_object_set_pool(const lido_object_set *set, int type) {
    if (LIDO_LIKELY(type >= 0 && type < set->count)) return set->pools[type];
    errno = EINVAL;
    return NULL;
}

void *lido_object_set_make(lido_object_set *set, int type, void *arguments) {
    lido_object_pool *pool = lido_object_set_pool(set, type);
    return pool != NULL ? lido_object_new(pool, arguments) : NULL;
}
