// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A handle pool from inside: chunks of objects, and beside each the slots with their generations.
//
//      directory ──► [ chunk 0 | chunk 1 | ... ]         by index: chunk = index >> shift
//                         │
//                         ├─ objects ──► | object | object | ...      2^shift of them, `stride` bytes each
//                         └─ slots[]     | generation, next free | ...
//      by_address ──► the same chunks, sorted by the address of their objects
//
// Of a slot:
//      generation even    no object lives there; 0 also before the first one. In the free list, or being constructed or destroyed
//      generation odd     an object lives, and this is the generation in its handle
//      last + 1           (last: 2^32 - 1, so this is 0) retired: in no list, never odd again
//      live + free + retired + slots at and above `fresh` + those in the hands of a callback = slots
//
// In check mode guard and page a chunk has one slot, and its object is a checked block (check/check.h) from its construction to its
// end; between two objects there is none, and the chunk is not in by_address.
//
// Readers take no lock. A generation that becomes odd releases what the constructor wrote (H1), a reader acquires it (H2). The
// directory is replaced when it is full, and the old ones are kept until the pool's end, for readers that are still in them.
#ifndef LIDO_OBJECT_HANDLE_H
#define LIDO_OBJECT_HANDLE_H

#include "base/atomics.h"
#include "check/check.h"
#include "os/lock.h"
#include "pool/pool.h"

#include <lido/handle.h>

typedef struct lido__slot {
    _Atomic uint32_t generation;    // [atomic:handle]
    uint32_t next;                  // [lock:handles] index of the next free slot, LIDO__NO_SLOT at the end
} lido__slot;
enum { LIDO__NO_SLOT = UINT32_MAX };

typedef struct lido__chunk_of_objects {
    _Atomic(char *) objects;    // [const]; in check mode written by the owner of the slot, NULL without an object
    uint32_t first;             // [const] index of its first slot
    lido__slot slots[];         // [const] of 2^shift
} lido__chunk_of_objects;

typedef struct lido__directory {
    struct lido__directory *older;    // [lock:handles]
    uint32_t room;                    // [const]
    _Atomic uint32_t count;           // [atomic:directory] chunks; release after the pointer is written
    lido__chunk_of_objects *chunks[];
} lido__directory;

struct lido_handle_pool {
    // [const]
    lido_type type;
    char name[LIDO_POOL_NAME_MAX + 1];
    size_t stride, alignment, capacity;
    unsigned shift;
    bool locks;    // shared, or in check mode guard and page, which so costs the others no look of its own
    lido_live_objects at_destroy;
    uint32_t last;    // the last generation of a slot, odd
    // [lock:handles] but `directory`, which readers load
    lido__lock lock;
    _Atomic(lido__directory *) directory;
    lido__chunk_of_objects **by_address;
    uint32_t by_address_room;
    uint32_t free, fresh;    // first of the free list; no slot at or above was used
    size_t live, high_water, retired;
    bool ending;
    bool rare;                     // ending, or in check mode guard and page: lido_handle_new goes the long way
    uint8_t check;                 // [const] lido_check_level
    bool dead;                     // destroyed in check mode, and kept to tell of it; `ending` too
    uint32_t listed;               // chunks in by_address: all of them, in check mode those with an object
    lido__check_source *source;    // [const] in check mode guard and page; else NULL
    struct lido_handle_pool *next, *previous;    // [lock:objects]
};

// For tests: slots are retired after generation `last`, which is odd. Requires: the pool has no slots yet.
LIDO__HIDDEN void lido__handle_pool_retire_after(lido_handle_pool *pool, uint32_t last);

#endif
