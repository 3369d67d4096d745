// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects: pools that know how their blocks come to life and how they end.
//
//      static int conn_construct(void *object, void *arguments, void *context);     0, or an error
//      static void conn_destroy(void *object, void *context);
//
//      lido_type type = {.name = "conn", .size = sizeof(struct conn), .construct = conn_construct, .destroy = conn_destroy};
//      lido_object_pool *conns = lido_object_pool_new(&type, NULL);
//      struct conn *c = lido_object_new(conns, &address);        NULL: errno is what the constructor returned
//      lido_object_delete(conns, c);                             or lido_object_free(c), which finds the pool
//
//              new                     release (reset)
//      (block) ----> live <---------------------------> idle      an idle object stays constructed
//              <----       acquire (constructs if none is idle)
//              delete (destroy)                          |
//      <-------------------------------------------------+        destroyed by trim, by the pool's end, when more than
//                                                                 idle_max are idle, or when a new object needs the block
// Both pairs may be mixed on one pool. The capacity counts live and idle objects; an idle one never stands in the way of
// a new one: it is destroyed, and its block used, before the pool grows, calls or waits (lido_on_exhausted). A thread that
// waits is served by a delete and by a release; a waiting acquire gets the released object as it is, still constructed. The callback of
// LIDO_CALL gets the pool of blocks (lido_object_pool_memory), and may delete or release objects.
//
// An object starts where its block starts and there is no header: a pool of objects takes no more memory than a pool of
// blocks. Idle objects are noted in an array of pointers beside them.
//
// Callbacks run without any lock of lido: they may use pools, also the one that calls them. They return to lido: no
// longjmp and no exception leaves them (C++: see <lido/lido.hpp>).
// Errors: as in <lido/pool.h>.
//
// Unless a call says otherwise: Requires: the pool or set is alive and not NULL. Threads: as the pool's kind. Fails: never,
// and errno is left alone. Cost: constant.
#ifndef LIDO_OBJECT_H
#define LIDO_OBJECT_H

#include <lido/defs.h>
#include <lido/pool.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

// What a pool needs to know of a type. Every callback may be NULL: then there is nothing to do at that moment.
typedef struct lido_type {
    const char *name;    // for reports; copied, cut at LIDO_POOL_NAME_MAX bytes; NULL is "object"
    size_t size;         // bytes, 1 to LIDO_POOL_BLOCK_SIZE_MAX
    size_t align;        // 0 (see lido_pool_options.alignment) or a power of two to LIDO_POOL_ALIGNMENT_MAX
    // Makes an object of the `size` bytes at `object`, whose contents are undefined. `arguments` is what the caller of
    // lido_object_new passed, NULL from acquire and prewarm. Returns 0, or an error number that becomes the caller's errno;
    // then the object does not exist, and destroy is not called for it.
    int (*construct)(void *object, void *arguments, void *context);
    // Ends an object. Must not fail.
    void (*destroy)(void *object, void *context);
    // Brings a released object into the state in which the next acquire shall find it. Must not fail.
    void (*reset)(void *object, void *context);
    void *context;    // passed to the three above
} lido_type;

// What becomes of objects that are live when their pool is destroyed.
typedef enum lido_live_objects {
    LIDO_LIVE_DESTROYED = 0,    // each is destroyed, as if it had been deleted
    LIDO_LIVE_REPORTED =
        1,    // a line on stderr says how many there are; they are not destroyed, their memory is freed
} lido_live_objects;

// What lido_object_pool_new makes. A zeroed field is its default.
typedef struct lido_object_options {
    lido_pool_options
        pool;           // of the memory: threads, order, capacity, growth, prewarm. block_size and alignment are the
                        // type's and stay 0; name: the type's if NULL
    size_t idle_max;    // most objects kept constructed for acquire; 0 is no limit
    lido_live_objects at_destroy;
} lido_object_options;

// What the calls below are about; its inside is lido's own.
typedef struct lido_object_pool lido_object_pool;

// Counts are in objects. Exact while no other thread is inside a call on this pool.
typedef struct lido_object_statistics {
    size_t live;                    // objects that the program holds
    size_t idle;                    // constructed, and waiting for acquire
    lido_pool_statistics memory;    // of the blocks: its `live` is live + idle
} lido_object_statistics;

// Makes a pool of objects of one type. Type and options are copied; NULL options are the defaults.
// Threads: any. Fails: NULL; EINVAL for a type or options out of range, ENOMEM. Cost: microseconds.
LIDO_API LIDO_ATTR_MUST_USE lido_object_pool *lido_object_pool_new(const lido_type *type,
                                                                   const lido_object_options *options);

// Destroys idle objects, deals with live ones as the options say, and gives all memory back. NULL is ignored.
// While that goes on, a destructor may delete or free other objects of the pool, live or destroyed already: the call does
// nothing, for each object is destroyed exactly once, in an order that is not specified, and no memory goes before the last
// one. New objects are refused with ECANCELED.
// Requires: no other thread uses the pool or any of its objects, now or later. Threads: CONFINED, its own. Cost:
// proportional to slabs and objects.
LIDO_API void lido_object_pool_destroy(lido_object_pool *pool);

// A new object: a block, and the constructor with `arguments`.
// Threads: as the pool's kind. Fails: NULL; ENOMEM or ETIMEDOUT as lido_pool_alloc, or what the constructor returned, in
// which case the block is back in the pool. Cost: a call, lido_pool_alloc, and the constructor.
LIDO_API LIDO_ATTR_MUST_USE void *lido_object_new(lido_object_pool *pool, void *arguments);

// Destroys an object and gives its block back. NULL is ignored.
// Requires: the object is a live one of this pool (a foreign one, or an address inside one, is reported).
// Threads: LOCAL and CONFINED as their kind says, SHARED any. Never fails, leaves errno alone (the destructor may not).
// Cost: a call, two table look-ups, lido_pool_free, and the destructor.
LIDO_API void lido_object_delete(lido_object_pool *pool, void *object);

// An object that is constructed: an idle one, the one released last first, else a new one with NULL for arguments.
// Threads, Fails: as lido_object_new. Cost: a call and an array; SHARED a lock that few threads share (8 sets of idle objects,
// chosen by thread; a thread whose set is empty looks into the others before it constructs).
LIDO_API LIDO_ATTR_MUST_USE void *lido_object_acquire(lido_object_pool *pool);

// Resets an object and keeps it constructed; if idle_max are idle already, or there is no memory to note it, destroys it.
// NULL is ignored. Requires, Threads: as lido_object_delete. Releasing the idle object again that was released last is
// reported. Never fails, leaves errno alone (reset may not). Cost: as lido_object_acquire, and two table look-ups.
LIDO_API void lido_object_release(lido_object_pool *pool, void *object);

// Constructs objects until `count` are idle. Returns 0. Threads: as the pool's kind.
// Fails: -1 with the error of lido_object_new, or ENOMEM if idle_max is less than count; what was made stays.
// Cost: that of `count` constructions.
LIDO_API int lido_object_pool_prewarm(lido_object_pool *pool, size_t count);

// Destroys the idle objects and gives free memory back to the system, as lido_pool_trim. Returns the bytes decommitted.
// Threads: as the pool's kind. Cost: that of the destructions and of lido_pool_trim.
LIDO_API size_t lido_object_pool_trim(lido_object_pool *pool);

// The pool's figures now. Threads: any for SHARED pools, else as the kind says. Cost: as lido_pool_stats.
LIDO_API lido_object_statistics lido_object_pool_stats(lido_object_pool *pool);

// The pool's copy of its type. Lives as long as the pool. Threads: any.
LIDO_API const lido_type *lido_object_pool_type(const lido_object_pool *pool);

// The pool of blocks under the objects, for lido_pool_owns, lido_pool_name and the like. Blocks must not be taken from it or given
// back to it, and it must not be reset or destroyed. Threads: any.
LIDO_API lido_pool *lido_object_pool_memory(lido_object_pool *pool);

// --- from the pointer alone -------------------------------------------------------------------------------------------

// The pool of the object at or around p, NULL if p lies in none. Any address may be asked for. Threads: any.
// Cost: two table look-ups, no lock.
LIDO_API lido_object_pool *lido_object_pool_of(const void *p);

// The type of that object, NULL if p lies in none. Threads, Cost: as above.
LIDO_API const lido_type *lido_object_type_of(const void *p);

// lido_object_delete with the pool that p belongs to. NULL is ignored; what is no object is reported.
// Requires, Threads, Cost: as lido_object_delete. lido_free(p) would give the block back without destroying the object.
LIDO_API void lido_object_free(void *p);

// --- many types -------------------------------------------------------------------------------------------------------

// A set of types, each with its pool: one call makes an object of any of them, lido_object_free(p) ends it.
//
//      lido_object_set *shapes = lido_object_set_new(NULL);
//      int circle = lido_object_set_add(shapes, &circle_type), square = lido_object_set_add(shapes, &square_type);
//      void *shape = lido_object_set_make(shapes, circle, &radius);
//      lido_object_free(shape);
typedef struct lido_object_set lido_object_set;

// Makes a set. The options hold for the pool of every type; a capacity is one of each pool. NULL is the defaults.
// Threads: any. Fails: NULL; EINVAL, ENOMEM. Cost: an allocation.
LIDO_API LIDO_ATTR_MUST_USE lido_object_set *lido_object_set_new(const lido_object_options *options);

// Destroys all pools of the set as lido_object_pool_destroy, with one difference: a destructor may free objects of any type of the
// set; no memory of any goes before all are destroyed. NULL is ignored. Requires: no other thread uses the set.
// Cost: as lido_object_pool_destroy, a pool each.
LIDO_API void lido_object_set_destroy(lido_object_set *set);

// Registers a type, and returns its number: 0, 1, 2, ... in the order of registration.
// Requires: no other thread uses the set. Fails: -1; EINVAL, ENOMEM, EEXIST if a type of that name is there.
// Cost: as lido_object_pool_new, and proportional to the types.
LIDO_API LIDO_ATTR_MUST_USE int lido_object_set_add(lido_object_set *set, const lido_type *type);

// The number of the type with that name, -1 if there is none (errno is left alone). Requires: no other thread adds a
// type. Threads: any. Cost: proportional to the types.
LIDO_API int lido_object_set_find(const lido_object_set *set, const char *name);

// The pool of a type, for acquire, release and statistics. Destroyed by the set, not by the caller. Requires: no other
// thread adds a type. Threads: any. Fails: NULL with EINVAL if there is no such type.
LIDO_API lido_object_pool *lido_object_set_pool(const lido_object_set *set, int type);

// lido_object_new with the pool of a type. Threads: as the options say. Fails: NULL; EINVAL for a number that no type has, else as
// lido_object_new. Cost: as lido_object_new.
LIDO_API LIDO_ATTR_MUST_USE void *lido_object_set_make(lido_object_set *set, int type, void *arguments);

LIDO_END_DECLS

#endif
