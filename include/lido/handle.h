// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Handles: references to objects that can go stale. A handle is a number of 64 bits, and asking for its object answers NULL once the
// object is gone, also when another object lies in its place.
//
//      lido_type type = {.name = "unit", .size = sizeof(struct unit)};
//      lido_handle_pool *units = lido_handle_pool_new(&type, NULL);
//      lido_handle target = lido_handle_new(units, NULL);
//      struct unit *unit = lido_handle_get(units, target);       NULL if it is gone
//      lido_handle_delete(units, target);                        false if it was gone
//
//       63           32 31            0
//      | generation    | index         |      generation: odd while the object lives, 0 in no handle
//
// Every slot of a pool counts its generations: one up when an object is made in it, one up when it ends. A slot whose
// 2^31 objects are used up is retired, so a stale handle never comes back to life.
//
// Objects lie side by side in chunks and never move. Beside them a slot takes 8 bytes. Memory stays with the pool until its end: a
// chunk that is empty waits for new objects, because its generations must be remembered.
//
// Callbacks of the type: as in <lido/object.h>; they run without any lock of lido, and may use the pool.
// Errors: as in <lido/pool.h>.
//
// Unless a call says otherwise: Requires: the pool is alive and not NULL. Threads: as the pool's kind. Fails: never, and
// errno is left alone. Cost: constant.
#ifndef LIDO_HANDLE_H
#define LIDO_HANDLE_H

#include <lido/defs.h>
#include <lido/object.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

// 0, as any zeroed memory, is the handle of nothing. Compare .bits; handles of different pools are not told apart.
typedef struct lido_handle {
    uint64_t bits;
} lido_handle;

// What lido_handle_pool_new makes. A zeroed field is its default.
typedef struct lido_handle_options {
    lido_threads threads;            // LIDO_LOCAL or LIDO_SHARED
    size_t capacity;                 // most objects alive at once; 0 is no limit but that of the index, 2^32 - 1
    lido_live_objects at_destroy;    // what becomes of objects that live when the pool is destroyed
} lido_handle_options;

// What the calls below are about; its inside is lido's own.
typedef struct lido_handle_pool lido_handle_pool;

// Makes a pool. Type and options are copied; NULL options are the defaults. type->reset is not used.
// Threads: any. Fails: NULL; EINVAL for a type or options out of range, ENOMEM. Cost: microseconds, no memory for objects.
LIDO_API LIDO_ATTR_MUST_USE lido_handle_pool *lido_handle_pool_new(const lido_type *type,
                                                                   const lido_handle_options *options);

// Deals with live objects as the options say, in address order, and gives all memory back. NULL is ignored. A destructor may delete
// other objects of the pool; new ones are refused with ECANCELED.
// Requires: no other thread uses the pool or any of its objects. Cost: proportional to the slots.
LIDO_API void lido_handle_pool_destroy(lido_handle_pool *pool);

// A new object, made by the constructor with `arguments`. Its handle is good when the constructor has succeeded.
// Threads: LOCAL one at a time, SHARED any. Fails: a handle of 0 bits; ENOMEM at the capacity or without memory, or what the constructor
// returned. Cost: constant, SHARED under a lock; a chunk of about 64 KiB at a time.
LIDO_API LIDO_ATTR_MUST_USE lido_handle lido_handle_new(lido_handle_pool *pool, void *arguments);

// The object of a handle; NULL if it is gone, or if no such handle was ever given out. Any bits are allowed.
// Threads: as lido_handle_new, and no lock. In a SHARED pool another thread may end the object at any time after the answer: those
// who use objects and those who end them must agree otherwise on when.
// Fails: NULL, errno is left alone. Cost: constant; about 20 instructions.
LIDO_API LIDO_ATTR_MUST_USE void *lido_handle_get(const lido_handle_pool *pool, lido_handle handle);

// Ends the object of a handle: the handle is stale first, then the destructor runs. True if it was this call that did it, false if the
// object was gone: of two threads that delete one handle, one gets true.
// Threads: as lido_handle_new. Never fails, leaves errno alone. Cost: constant, and the destructor; SHARED under a lock.
LIDO_API bool lido_handle_delete(lido_handle_pool *pool, lido_handle handle);

// The handle of a live object, given its address or one inside it; 0 bits if p is not in a live object of this pool. Any address is
// allowed. Threads: as lido_handle_get. Cost: a binary search of the chunks, SHARED under a lock.
LIDO_API LIDO_ATTR_MUST_USE lido_handle lido_handle_of(lido_handle_pool *pool, const void *p);

// Calls `visit` for every live object in address order until it returns false, and returns the number of objects visited.
// The visitor may delete any object of the pool; whether it sees objects that it makes is not said.
// Requires: no other thread makes or ends objects meanwhile. Cost: proportional to the slots.
LIDO_API size_t lido_handle_visit(lido_handle_pool *pool,
                                  bool (*visit)(void *object, lido_handle handle, void *context), void *context);

// Counts are in objects, sizes in bytes.
typedef struct lido_handle_statistics {
    size_t live, high_water;    // objects; the second is the most at once since the pool was made
    size_t slots;               // places for objects, also those that no object was in yet
    size_t retired;             // of them, used up for good
    size_t object_size;         // bytes from one object to the next
    size_t held_bytes;          // of objects and slots
} lido_handle_statistics;

// The pool's figures now. Threads: as lido_handle_new. Cost: constant, SHARED under a lock.
LIDO_API lido_handle_statistics lido_handle_pool_stats(lido_handle_pool *pool);

// The pool's copy of its type; lives as long as the pool. Threads: any.
LIDO_API const lido_type *lido_handle_pool_type(const lido_handle_pool *pool);

// For the C++ header: ends an object whose construction has failed, without its destructor.
LIDO_API void lido__handle_cancel(lido_handle_pool *pool, lido_handle handle);

LIDO_END_DECLS

#endif
