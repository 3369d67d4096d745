// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Object pools: making and ending objects. Idle ones are in idle.c, sets of types in set.c.
#include "object/object.h"

#include "os/os.h"
#include "os/report.h"
#include "pool/checked.h"
#include "pool/exhaustion.h"
#include "pool/thread.h"
#include "pool/watched.h"
#include "slab/window.h"

#include <errno.h>
#include <lido/heap.h>
#include <string.h>

// --- the pool -------------------------------------------------------------------------------------------------------

static bool are_good(const lido_type *type, const lido_object_options *options) {
    return type != NULL && options->pool.block_size == 0 && options->pool.alignment == 0 &&
           (unsigned)options->at_destroy <= LIDO_LIVE_REPORTED;
}

static void set_up(lido_object_pool *pool, const lido_type *type, const lido_object_options *options,
                   lido_pool *memory) {
    memset(pool, 0, sizeof *pool);
    pool->type = *type;
    pool->type.name = lido_pool_name(memory);
    pool->memory = memory;
    pool->idle_max = options->idle_max;
    pool->at_destroy = options->at_destroy;
    pool->shared = options->pool.threads == LIDO_SHARED;
    pool->confined = options->pool.threads == LIDO_CONFINED;
    pool->stripe_mask = pool->shared ? LIDO__STRIPES - 1 : 0;
    memory->objects = pool;
}

lido_object_pool *lido_object_pool_new(const lido_type *type, const lido_object_options *options) {
    static const lido_object_options defaults;
    if (options == NULL) options = &defaults;
    if (!are_good(type, options)) {
        errno = EINVAL;
        return NULL;
    }
    lido_pool_options blocks = options->pool;
    blocks.block_size = type->size;
    blocks.alignment = type->align;
    if (blocks.name == NULL) blocks.name = type->name != NULL ? type->name : "object";
    lido_pool *memory = lido_pool_new(&blocks);
    if (memory == NULL) return NULL;
    lido_object_pool *pool = (lido_object_pool *)lido_aligned_alloc(LIDO__CACHE_LINE, sizeof *pool);
    if (pool == NULL) {
        lido_pool_destroy(memory);
        errno = ENOMEM;
        return NULL;
    }
    set_up(pool, type, options, memory);
    lido__objects_list(pool);
    return pool;
}

// --- objects --------------------------------------------------------------------------------------------------------

LIDO_INLINE void destroy_object(lido_object_pool *pool, void *object) {
    if (pool->type.destroy != NULL) pool->type.destroy(object, pool->type.context);
}

// True if the calling thread may use the pool; a confined pool's own check comes too late for the callbacks.
static bool thread_is_right(const lido_object_pool *pool, const char *call) {
    if (LIDO_LIKELY(!pool->confined || lido__thread_token() == pool->memory->owner)) return true;
    lido__misuse("%s: pool '%s' is confined to thread %u and was called from thread %u", call, pool->type.name,
                 (unsigned)pool->memory->owner_thread, (unsigned)lido__os_thread_id());
    return false;
}

// True if `p` is where an object of the pool starts; whether it is alive is known in check mode only.
static bool is_object_of(const lido_object_pool *pool, const void *p, const char *call) {
    bool exact = false;
    if (LIDO_UNLIKELY(pool == NULL || lido_pool_of(p) != pool->memory)) {
        lido__misuse(pool == NULL ? "%s(%p): not an object of any object pool" : "%s(%p): not an object of pool '%s'",
                     call, p, pool == NULL ? "" : pool->type.name);
        return false;
    }
    if (LIDO_UNLIKELY(pool->memory->way == LIDO__WAY_CHECKED)) return lido__checked_pool_is_live(pool->memory, p, call);
    lido__slab_index(&pool->memory->slabs, lido__slab_of(p), p, &exact);
    if (LIDO_LIKELY(exact)) return lido__watch_require(pool->memory, p, call, LIDO__DOUBLE_FREE);
    lido__misuse("%s(%p): inside an object of pool '%s', not at its start", call, p, pool->type.name);
    return false;
}

// A block, or an idle object, which never stands in the way: at the capacity it comes first, before the pool grows, asks or
// waits.
typedef struct wanted {
    lido_object_pool *pool;
    bool idle_first;
    bool idle;    // what was had is one
} wanted;

static void *attempt_object(lido_pool *memory, void *context, bool *refused) {
    wanted *w = (wanted *)context;
    void *object = w->idle_first ? lido__idle_take(w->pool, true) : NULL;
    w->idle = object != NULL;
    if (object == NULL) object = lido__pool_take(memory, refused);
    if (object != NULL || w->idle_first) return object;
    object = lido__idle_take(w->pool, true);
    w->idle = object != NULL;
    return object;
}

static void *obtain(lido_object_pool *pool, wanted *w) {
    w->pool = pool;
    return lido__pool_obtain(pool->memory, attempt_object, w, NULL);
}

// A block for a new object. At the capacity an idle object makes room: its block comes back with the object ended.
static void *block_for_new(lido_object_pool *pool) {
    wanted w = {.idle_first = false};
    if (LIDO_LIKELY(pool->memory->on_exhausted == LIDO_FAIL)) {
        int before = errno;
        void *fresh = lido_pool_alloc(pool->memory);
        if (LIDO_LIKELY(fresh != NULL)) return fresh;
        errno = before;
    }
    void *block = obtain(pool, &w);
    if (block != NULL && w.idle) destroy_object(pool, block);
    return block;
}

static void *construct_in(lido_object_pool *pool, void *block, void *arguments) {
    if (block == NULL || pool->type.construct == NULL) return block;
    int error = pool->type.construct(block, arguments, pool->type.context);
    if (LIDO_LIKELY(error == 0)) return block;
    lido_pool_free(pool->memory, block);
    errno = error;
    return NULL;
}

// Of a pool that is ending: true, after a report if it has ended.
static LIDO__COLD bool has_ended(const lido_object_pool *pool, const char *call) {
    if (pool->dead) lido__misuse("%s: object pool '%s' was destroyed before", call, pool->type.name);
    return true;
}

static bool may_make(lido_object_pool *pool, const char *call) {
    if (LIDO_UNLIKELY(pool->ending)) {
        has_ended(pool, call);
        errno = ECANCELED;
        return false;
    }
    return thread_is_right(pool, call);
}

void *lido_object_new(lido_object_pool *pool, void *arguments) {
    if (!may_make(pool, "lido_object_new")) return NULL;
    return construct_in(pool, block_for_new(pool), arguments);
}

void lido_object_delete(lido_object_pool *pool, void *object) {
    if (object == NULL || (pool->ending && has_ended(pool, "lido_object_delete"))) return;
    if (!thread_is_right(pool, "lido_object_delete")) return;
    if (!is_object_of(pool, object, "lido_object_delete")) return;
    destroy_object(pool, object);
    lido_pool_free(pool->memory, object);
}

void *lido_object_acquire(lido_object_pool *pool) {
    if (!may_make(pool, "lido_object_acquire")) return NULL;
    if (LIDO_LIKELY(!lido__wait_queue_is_used(&pool->memory->wait))) {
        void *object = lido__idle_take(pool, false);
        if (LIDO_LIKELY(object != NULL)) return object;
    }
    wanted w = {.idle_first = true};
    void *object = obtain(pool, &w);
    return w.idle ? object : construct_in(pool, object, NULL);
}

void lido_object_release(lido_object_pool *pool, void *object) {
    if (object == NULL || (pool->ending && has_ended(pool, "lido_object_release"))) return;
    if (!thread_is_right(pool, "lido_object_release")) return;
    if (!is_object_of(pool, object, "lido_object_release")) return;
    if (pool->type.reset != NULL) pool->type.reset(object, pool->type.context);
    int before = errno;
    if (LIDO_LIKELY(lido__idle_put(pool, object))) {
        lido__wait_queue_wake(&pool->memory->wait);
        return;
    }
    errno = before;
    destroy_object(pool, object);
    lido_pool_free(pool->memory, object);
}

int lido_object_pool_prewarm(lido_object_pool *pool, size_t count) {
    if (!may_make(pool, "lido_object_pool_prewarm")) return -1;
    for (size_t have = lido__idle_count(pool); have < count; have++) {
        void *object = construct_in(pool, lido__pool_try(pool->memory), NULL);
        if (object == NULL) return -1;
        if (lido__idle_put(pool, object)) {
            lido__wait_queue_wake(&pool->memory->wait);
            continue;
        }
        destroy_object(pool, object);
        lido_pool_free(pool->memory, object);
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

static void destroy_idle(lido_object_pool *pool) {
    for (void *object; (object = lido__idle_take(pool, false)) != NULL;) {
        destroy_object(pool, object);
        lido_pool_free(pool->memory, object);
    }
    lido__idle_release(pool);
}

size_t lido_object_pool_trim(lido_object_pool *pool) {
    if (pool->dead && has_ended(pool, "lido_object_pool_trim")) return 0;
    if (!thread_is_right(pool, "lido_object_pool_trim")) return 0;
    destroy_idle(pool);
    return lido_pool_trim(pool->memory);
}

lido_object_statistics lido_object_pool_stats(lido_object_pool *pool) {
    if (pool->dead && has_ended(pool, "lido_object_pool_stats")) return (lido_object_statistics){0};
    lido_object_statistics statistics = {.idle = lido__idle_count(pool), .memory = lido_pool_stats(pool->memory)};
    size_t alive = statistics.memory.live;
    statistics.live = alive > statistics.idle ? alive - statistics.idle : 0;
    return statistics;
}

const lido_type *lido_object_pool_type(const lido_object_pool *pool) { return &pool->type; }
lido_pool *lido_object_pool_memory(lido_object_pool *pool) { return pool->memory; }

// --- from the pointer -----------------------------------------------------------------------------------------------

lido_object_pool *lido_object_pool_of(const void *p) {
    lido_pool *memory = lido_pool_of(p);
    return memory != NULL ? memory->objects : NULL;
}

const lido_type *lido_object_type_of(const void *p) {
    lido_object_pool *pool = lido_object_pool_of(p);
    return pool != NULL ? &pool->type : NULL;
}

void lido_object_free(void *p) {
    if (p == NULL) return;
    lido_object_pool *pool = lido_object_pool_of(p);
    if (LIDO_UNLIKELY(pool == NULL)) {
        is_object_of(NULL, p, "lido_object_free");
        return;
    }
    lido_object_delete(pool, p);
}

// --- the end --------------------------------------------------------------------------------------------------------

static bool destroy_visited(void *object, void *context) {
    destroy_object((lido_object_pool *)context, object);
    return true;
}

void lido__object_pool_end(lido_object_pool *pool) {
    // No block goes back from here on: idle objects are told from live ones first if live ones are not to be destroyed.
    if (pool->at_destroy == LIDO_LIVE_REPORTED) destroy_idle(pool);
    pool->ending = true;
}

void lido__object_pool_destroy_objects(lido_object_pool *pool) {
    if (pool->at_destroy == LIDO_LIVE_DESTROYED) {
        lido_pool_visit_live(pool->memory, destroy_visited, pool);
        return;
    }
    size_t live = lido_pool_stats(pool->memory).live;
    if (live > 0)
        lido__warn(
            "lido_object_pool_destroy: pool '%s': %z objects are still alive; they are not destroyed, their memory "
            "is freed",
            pool->type.name, live);
}

static void free_structure(void *pool) { lido_free(pool); }

void lido__object_pool_release(lido_object_pool *pool) {
    while (lido__idle_take(pool, false) != NULL) {
    }
    lido__idle_release(pool);
    lido__objects_unlist(pool);
    lido_pool_reset(pool->memory);
    bool keeps = pool->memory->check > LIDO_CHECK_OFF;
    if (keeps) strncpy(pool->name, pool->type.name, LIDO_POOL_NAME_MAX);
    lido_pool_destroy(pool->memory);
    if (keeps) {
        pool->type.name = pool->name;
        pool->dead = true;
        lido__check_bury(pool, free_structure);
    } else {
        lido_free(pool);
    }
}

void lido_object_pool_destroy(lido_object_pool *pool) {
    if (pool == NULL || (pool->dead && has_ended(pool, "lido_object_pool_destroy"))) return;
    if (!thread_is_right(pool, "lido_object_pool_destroy")) return;
    lido__object_pool_end(pool);
    lido__object_pool_destroy_objects(pool);
    lido__object_pool_release(pool);
}
