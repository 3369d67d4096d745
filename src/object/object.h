// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// An object pool from inside: a pool of blocks, and stripes of idle objects.
//
//      blocks alive in `memory` = live objects + idle objects, idle = sum over stripes of count
//
// Idle objects are noted in arrays beside them: a free list through them would overwrite what is constructed, a link of its own
// would cost each object 8 bytes. A LOCAL pool has one stripe and takes no lock; a SHARED one has eight, which threads
// choose by a hash of their token. No callback of the program runs while a stripe is locked.
#ifndef LIDO_OBJECT_OBJECT_H
#define LIDO_OBJECT_OBJECT_H

#include "os/lock.h"
#include "pool/pool.h"

#include <lido/object.h>

enum { LIDO__STRIPES = 8 };    // guess: more than threads that meet in one pool at a time on common machines would fill

typedef struct lido__stripe {
    LIDO__LINE_ALIGNED lido__lock lock;
    void **objects;          // [lock:stripe] the newest last; from lido_malloc
    size_t room;             // [lock:stripe] entries
    _Atomic size_t count;    // [lock:stripe] written; read relaxed by those who look for a stripe worth a lock
} lido__stripe;

struct lido_object_pool {
    lido_type type;                       // [const] its name is that of `memory`
    lido_pool *memory;                    // [const]
    size_t idle_max;                      // [const] 0: no limit
    lido_live_objects at_destroy;         // [const]
    unsigned stripe_mask;                 // [const] stripes - 1, a power of two less one
    bool shared, confined;                // [const]
    bool ending;                          // [owner] being destroyed
    bool dead;                            // [owner] destroyed in check mode, and kept to tell of it; `ending` too
    char name[LIDO_POOL_NAME_MAX + 1];    // [owner] of the dead one, whose memory is gone
    _Atomic size_t idle_count;            // [atomic:none] kept only if there is an idle_max
    lido_object_pool *next, *previous;    // [lock:objects]
    lido__stripe stripes[LIDO__STRIPES];
};

// The idle object that the calling thread's stripe got last, else one of another stripe; NULL if no object is idle. surely: looks
// under each lock, so that an object that was put there before is found (pool/wait.h: L).
LIDO__HIDDEN void *lido__idle_take(lido_object_pool *pool, bool surely);
// False if the object cannot be kept: idle_max are, or there is no memory for the array. Reports an object that is the
// newest of its stripe already (and then says true: it is kept).
LIDO__HIDDEN bool lido__idle_put(lido_object_pool *pool, void *object);
LIDO__HIDDEN size_t lido__idle_count(lido_object_pool *pool);
// Frees the arrays. Requires: nothing is idle.
LIDO__HIDDEN void lido__idle_release(lido_object_pool *pool);

// The list of all object pools, which fork needs for their locks.
LIDO__HIDDEN void lido__objects_list(lido_object_pool *pool);
LIDO__HIDDEN void lido__objects_unlist(lido_object_pool *pool);

// The three steps of destroying, apart for a set: all its pools take the first before one takes the second.
LIDO__HIDDEN void lido__object_pool_end(lido_object_pool *pool);
LIDO__HIDDEN void lido__object_pool_destroy_objects(lido_object_pool *pool);
LIDO__HIDDEN void lido__object_pool_release(lido_object_pool *pool);

#endif
