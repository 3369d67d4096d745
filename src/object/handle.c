// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See handle.h. Chunks and directories come from lido_malloc.
#include "object/handle.h"

#include "check/inject.h"
#include "os/report.h"

#include <errno.h>
#include <lido/heap.h>
#include <pthread.h>
#include <string.h>

enum {
    CHUNK_BYTES = 64 << 10,    // of objects, as a slab
    CHUNK_SLOTS_MIN = 16,      // of large objects: they take address space, and memory when touched
    CHUNK_SLOTS_MAX = 8192,
    DIRECTORY_FIRST = 16,
};

LIDO_INLINE void lock_if_needed(lido_handle_pool *pool) {
    if (pool->locks) lido__lock_acquire(&pool->lock, LIDO__RANK_HANDLES);
}
LIDO_INLINE void unlock_if_needed(lido_handle_pool *pool) {
    if (pool->locks) lido__lock_release(&pool->lock, LIDO__RANK_HANDLES);
}

// --- fork -----------------------------------------------------------------------------------------------------------

static lido__lock list_lock;
static lido_handle_pool *all_pools;    // [lock:objects]

static void each_lock(void (*call)(lido__lock *)) {
    for (lido_handle_pool *pool = all_pools; pool != NULL; pool = pool->next) call(&pool->lock);
}
// The lock of the list first, and last after the fork: nobody may change the list while it is walked.
static void before_fork(void) {
    lido__lock_acquire_unranked(&list_lock);
    each_lock(lido__lock_acquire_unranked);
}
static void after_fork_in_parent(void) {
    each_lock(lido__lock_release_unranked);
    lido__lock_release_unranked(&list_lock);
}
static void after_fork_in_child(void) {
    each_lock(lido__lock_reset);
    lido__lock_reset(&list_lock);
}

// As in idle.c: registered later than the handlers of the layers below, they run before them.
static void list_pool(lido_handle_pool *pool) {
    static atomic_flag watching = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&watching)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    lido__lock_acquire(&list_lock, LIDO__RANK_OBJECTS);
    pool->next = all_pools;
    if (all_pools != NULL) all_pools->previous = pool;
    all_pools = pool;
    lido__lock_release(&list_lock, LIDO__RANK_OBJECTS);
}

static void unlist_pool(lido_handle_pool *pool) {
    lido__lock_acquire(&list_lock, LIDO__RANK_OBJECTS);
    if (pool->previous != NULL) {
        pool->previous->next = pool->next;
    } else {
        all_pools = pool->next;
    }
    if (pool->next != NULL) pool->next->previous = pool->previous;
    lido__lock_release(&list_lock, LIDO__RANK_OBJECTS);
}

// --- the pool -------------------------------------------------------------------------------------------------------

static bool are_good(const lido_type *type, const lido_handle_options *options) {
    return type != NULL && type->size >= 1 && type->size <= LIDO_POOL_BLOCK_SIZE_MAX &&
           (type->align == 0 || lido__is_power_of_two(type->align)) && type->align <= LIDO_POOL_ALIGNMENT_MAX &&
           (unsigned)options->threads <= LIDO_SHARED && (unsigned)options->at_destroy <= LIDO_LIVE_REPORTED &&
           options->capacity < UINT32_MAX;
}

static unsigned shift_for(size_t stride, size_t capacity) {
    size_t slots = lido__min(lido__max(CHUNK_BYTES / stride, CHUNK_SLOTS_MIN), CHUNK_SLOTS_MAX);
    if (capacity != 0) slots = lido__min(slots, capacity);
    unsigned shift = lido__highest_bit(slots);
    return slots > (size_t)1 << shift && capacity == slots ? shift + 1 : shift;    // one chunk for a small capacity
}

// The natural alignment, as a pool's.
static size_t alignment_for(const lido_type *type) {
    size_t lowest = type->size & (~type->size + 1);
    return type->align != 0 ? type->align : lido__max(lido__min(lowest, 16), sizeof(void *));
}

lido_handle_pool *lido_handle_pool_new(const lido_type *type, const lido_handle_options *options) {
    static const lido_handle_options defaults;
    if (options == NULL) options = &defaults;
    if (!are_good(type, options)) {
        errno = EINVAL;
        return NULL;
    }
    lido_handle_pool *pool = (lido_handle_pool *)lido_calloc(1, sizeof *pool);
    if (pool == NULL) return NULL;
    pool->type = *type;
    strncpy(pool->name, type->name != NULL ? type->name : "object", LIDO_POOL_NAME_MAX);
    pool->type.name = pool->name;
    pool->alignment = alignment_for(type);
    pool->stride = lido__round_up(type->size, pool->alignment);
    pool->capacity = options->capacity != 0 ? options->capacity : LIDO__NO_SLOT;
    lido__start();    // the options must have been read
    lido_check_level level = (lido_check_level)lido__options_check_of(pool->name);
    pool->check = (uint8_t)level;
    if (level >= LIDO_CHECK_GUARD) {
        pool->source = lido__check_source_new("handle pool", pool->name, pool, type->size, 0);
        if (pool->source == NULL) {
            lido_free(pool);
            errno = ENOMEM;
            return NULL;
        }
    }
    pool->shift = pool->source != NULL ? 0 : shift_for(pool->stride, options->capacity);
    pool->locks = options->threads == LIDO_SHARED || pool->source != NULL;
    pool->rare = pool->source != NULL;
    pool->at_destroy = options->at_destroy;
    pool->last = UINT32_MAX;
    pool->free = LIDO__NO_SLOT;
    list_pool(pool);
    return pool;
}

void lido__handle_pool_retire_after(lido_handle_pool *pool, uint32_t last) {
    LIDO_ASSERT(pool->fresh == 0 && last % 2 == 1);
    pool->last = last;
}

const lido_type *lido_handle_pool_type(const lido_handle_pool *pool) { return &pool->type; }

// --- chunks ---------------------------------------------------------------------------------------------------------

LIDO_INLINE lido__directory *directory_of(const lido_handle_pool *pool) {
    return LIDO__ATOMIC_LOAD(&pool->directory, acquire);    // pairs with the release in room_in_directory
}

// Caller holds the lock, as in all that follows up to "slots".
static lido__directory *room_in_directory(lido_handle_pool *pool) {
    lido__directory *old = directory_of(pool);
    uint32_t count = old != NULL ? LIDO__ATOMIC_LOAD(&old->count, relaxed) : 0;    // ours: under the lock
    if (old != NULL && count < old->room) return old;
    uint32_t room = old != NULL ? 2 * old->room : DIRECTORY_FIRST;
    lido__directory *fresh = (lido__directory *)lido_malloc(sizeof *fresh + room * sizeof(lido__chunk_of_objects *));
    if (fresh == NULL) return NULL;
    fresh->older = old;
    fresh->room = room;
    if (old != NULL) memcpy(fresh->chunks, old->chunks, count * sizeof(lido__chunk_of_objects *));
    LIDO__ATOMIC_STORE(&fresh->count, count, relaxed);       // published by the next line
    LIDO__ATOMIC_STORE(&pool->directory, fresh, release);    // pairs with directory_of
    return fresh;
}

static bool room_by_address(lido_handle_pool *pool, uint32_t count) {
    if (count < pool->by_address_room) return true;
    uint32_t room = lido__max(2 * (size_t)pool->by_address_room, DIRECTORY_FIRST);
    lido__chunk_of_objects **sorted =
        (lido__chunk_of_objects **)lido_realloc(pool->by_address, room * sizeof(lido__chunk_of_objects *));
    if (sorted == NULL) return false;
    pool->by_address = sorted;
    pool->by_address_room = room;
    return true;
}

static lido__chunk_of_objects *chunk_new(lido_handle_pool *pool) {
    size_t slots = (size_t)1 << pool->shift;
    lido__chunk_of_objects *chunk =
        (lido__chunk_of_objects *)lido_calloc(1, sizeof *chunk + slots * sizeof(lido__slot));
    if (chunk == NULL) return NULL;
    if (pool->source != NULL) return chunk;    // its object comes later
    char *objects = (char *)lido_aligned_alloc(pool->alignment, slots * pool->stride);
    LIDO__ATOMIC_STORE(&chunk->objects, objects, relaxed);    // ours, until add_chunk publishes it
    if (objects != NULL) return chunk;
    lido_free(chunk);
    return NULL;
}

LIDO_INLINE char *objects_of(const lido__chunk_of_objects *chunk) {
    return LIDO__ATOMIC_LOAD(&chunk->objects, relaxed);    // in check mode (H2) comes before it
}

// How many listed chunks start at or before p: the place of the next one.
static uint32_t chunks_up_to(const lido_handle_pool *pool, uintptr_t p) {
    uint32_t low = 0, high = pool->listed;
    while (low < high) {    // chunks below `low` start at or before p
        uint32_t middle = low + (high - low) / 2;
        if ((uintptr_t)objects_of(pool->by_address[middle]) <= p)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void list_by_address(lido_handle_pool *pool, lido__chunk_of_objects *chunk) {
    uint32_t place = chunks_up_to(pool, (uintptr_t)objects_of(chunk));
    lido__chunk_of_objects **at = &pool->by_address[place];
    memmove(at + 1, at, (pool->listed - place) * sizeof *at);
    *at = chunk;
    pool->listed++;
}

static bool add_chunk(lido_handle_pool *pool) {
    lido__directory *directory = room_in_directory(pool);
    if (directory == NULL) return false;
    uint32_t count = LIDO__ATOMIC_LOAD(&directory->count, relaxed);    // ours: under the lock
    if (count >= (UINT32_MAX >> pool->shift) || !room_by_address(pool, count)) return false;
    lido__chunk_of_objects *chunk = chunk_new(pool);
    if (chunk == NULL) return false;
    chunk->first = count << pool->shift;
    if (pool->source == NULL) list_by_address(pool, chunk);
    directory->chunks[count] = chunk;
    LIDO__ATOMIC_STORE(&directory->count, count + 1, release);    // pairs with the acquire in chunk_of
    return true;
}

// --- slots ----------------------------------------------------------------------------------------------------------

LIDO_INLINE lido__chunk_of_objects *chunk_of(const lido_handle_pool *pool, uint32_t index) {
    const lido__directory *directory = directory_of(pool);
    if (LIDO_UNLIKELY(directory == NULL)) return NULL;
    uint32_t number = index >> pool->shift;
    // acquire, pairs with the release in add_chunk
    return LIDO_LIKELY(number < LIDO__ATOMIC_LOAD(&directory->count, acquire)) ? directory->chunks[number] : NULL;
}
LIDO_INLINE uint32_t place_in_chunk(const lido_handle_pool *pool, uint32_t index) {
    return index & (((uint32_t)1 << pool->shift) - 1);
}
LIDO_INLINE lido__slot *slot_at(const lido_handle_pool *pool, uint32_t index) {
    lido__chunk_of_objects *chunk = chunk_of(pool, index);
    return LIDO_LIKELY(chunk != NULL) ? &chunk->slots[place_in_chunk(pool, index)] : NULL;
}
LIDO_INLINE void *object_at(const lido_handle_pool *pool, uint32_t index) {
    return objects_of(chunk_of(pool, index)) + (size_t)place_in_chunk(pool, index) * pool->stride;
}
LIDO_INLINE lido_handle handle_from(uint32_t index, uint32_t generation) {
    return (lido_handle){(uint64_t)generation << 32 | index};
}
LIDO_INLINE uint32_t index_in(lido_handle handle) { return (uint32_t)handle.bits; }
LIDO_INLINE uint32_t generation_in(lido_handle handle) { return (uint32_t)(handle.bits >> 32); }

// --- in check mode guard and page -----------------------------------------------------------------------------------

static void unlist_by_address(lido_handle_pool *pool, const lido__chunk_of_objects *chunk) {
    uint32_t place = chunks_up_to(pool, (uintptr_t)objects_of(chunk)) - 1;
    lido__chunk_of_objects **at = &pool->by_address[place];
    pool->listed--;
    memmove(at, at + 1, (pool->listed - place) * sizeof *at);
}

// A checked block for an object to be. False: the system has no memory, or it fails on demand.
static bool checked_block_begins(lido_handle_pool *pool, lido__chunk_of_objects *chunk) {
    if (lido__inject(pool->name)) return false;
    char *block = (char *)lido__checked_alloc(pool->source, (lido_check_level)pool->check, pool->type.size,
                                              pool->alignment, LIDO__CALL_HANDLE, 0);
    if (block == NULL) return false;
    lock_if_needed(pool);
    LIDO__ATOMIC_STORE(&chunk->objects, block, relaxed);    // (H1) publishes it
    list_by_address(pool, chunk);
    unlock_if_needed(pool);
    return true;
}

// Before the slot goes back.
static void checked_block_ends(lido_handle_pool *pool, lido__chunk_of_objects *chunk) {
    lido__check_claim claim = {
        .name = "lido_handle_delete", .call = LIDO__CALL_HANDLE, .source = pool->source, .bytes = SIZE_MAX};
    char *block = objects_of(chunk);
    if (block == NULL) return;    // there was no memory for it
    lock_if_needed(pool);
    unlist_by_address(pool, chunk);
    LIDO__ATOMIC_STORE(&chunk->objects, NULL, relaxed);    // who still reads it has a handle that is stale
    unlock_if_needed(pool);
    lido__checked_free(block, &claim);
}

// --- taking and giving slots ----------------------------------------------------------------------------------------

// Both are inline, as what lido_handle_new and lido_handle_delete do is little more. This one gives a slot for a new object, counted
// as live; LIDO__NO_SLOT and ENOMEM if there is none.
LIDO_INLINE uint32_t slot_take(lido_handle_pool *pool) {
    uint32_t index = LIDO__NO_SLOT;
    lock_if_needed(pool);
    const lido__directory *directory = directory_of(pool);
    uint32_t slots = directory != NULL ? LIDO__ATOMIC_LOAD(&directory->count, relaxed) << pool->shift : 0;    // ours
    if (pool->live < pool->capacity) {
        if (pool->free != LIDO__NO_SLOT) {
            index = pool->free;
            pool->free = slot_at(pool, index)->next;
        } else if (pool->fresh < slots || add_chunk(pool)) {
            index = pool->fresh++;
        }
    }
    if (index != LIDO__NO_SLOT && ++pool->live > pool->high_water) pool->high_water = pool->live;
    unlock_if_needed(pool);
    if (index == LIDO__NO_SLOT) errno = ENOMEM;
    return index;
}

// The slot of an object that has ended goes back, or is retired: then its generation is never odd again.
LIDO_INLINE void slot_give(lido_handle_pool *pool, uint32_t index, bool used_up) {
    if (pool->locks) {
        if (LIDO_UNLIKELY(pool->source != NULL)) checked_block_ends(pool, chunk_of(pool, index));
        lock_if_needed(pool);
    }
    pool->live--;
    if (used_up) {
        pool->retired++;
    } else {
        slot_at(pool, index)->next = pool->free;
        pool->free = index;
    }
    unlock_if_needed(pool);
}

// Makes a handle stale. True for the one caller who did it.
static bool make_stale(lido_handle_pool *pool, lido_handle handle) {
    uint32_t generation = generation_in(handle);
    lido__slot *slot = slot_at(pool, index_in(handle));
    if (slot == NULL || generation % 2 == 0) return false;
    // Release, as the destructor may free what others read; on failure nothing is read. The next object in the slot comes by the
    // pool's lock.
    return LIDO__ATOMIC_CAS(&slot->generation, &generation, generation + 1, acq_rel);
}

// True, after a report, if the pool was destroyed in check mode.
static bool is_dead(const lido_handle_pool *pool, const char *call) {
    if (LIDO_LIKELY(!pool->dead)) return false;
    lido__misuse("%s: handle pool '%s' was destroyed before", call, pool->name);
    return true;
}

// --- objects --------------------------------------------------------------------------------------------------------

LIDO_INLINE lido_handle make_in(lido_handle_pool *pool, uint32_t index, void *arguments) {
    int error =
        pool->type.construct != NULL ? pool->type.construct(object_at(pool, index), arguments, pool->type.context) : 0;
    if (LIDO_UNLIKELY(error != 0)) {
        slot_give(pool, index, false);
        errno = error;
        return (lido_handle){0};
    }
    lido__slot *slot = slot_at(pool, index);
    uint32_t generation = LIDO__ATOMIC_LOAD(&slot->generation, relaxed) + 1;    // the slot is ours
    LIDO__ATOMIC_STORE(&slot->generation, generation, release);                 // (H1)
    return handle_from(index, generation);
}

static LIDO__NOINLINE lido_handle new_rarely(lido_handle_pool *pool, void *arguments) {
    if (pool->ending) {
        is_dead(pool, "lido_handle_new");
        errno = ECANCELED;
        return (lido_handle){0};
    }
    uint32_t index = slot_take(pool);
    if (index == LIDO__NO_SLOT) return (lido_handle){0};
    if (checked_block_begins(pool, chunk_of(pool, index))) return make_in(pool, index, arguments);
    slot_give(pool, index, false);
    errno = ENOMEM;
    return (lido_handle){0};
}

lido_handle lido_handle_new(lido_handle_pool *pool, void *arguments) {
    if (LIDO_UNLIKELY(pool->rare)) return new_rarely(pool, arguments);
    uint32_t index = slot_take(pool);
    return LIDO_LIKELY(index != LIDO__NO_SLOT) ? make_in(pool, index, arguments) : (lido_handle){0};
}

void *lido_handle_get(const lido_handle_pool *pool, lido_handle handle) {
    uint32_t index = index_in(handle), generation = generation_in(handle);
    lido__chunk_of_objects *chunk = chunk_of(pool, index);
    if (LIDO_UNLIKELY(chunk == NULL)) {
        is_dead(pool, "lido_handle_get");
        return NULL;
    }
    uint32_t place = place_in_chunk(pool, index);
    uint32_t present = LIDO__ATOMIC_LOAD(&chunk->slots[place].generation, acquire);    // (H2)
    if (LIDO_UNLIKELY(present != generation || generation % 2 == 0)) return NULL;
    return objects_of(chunk) + (size_t)place * pool->stride;
}

static bool end_object(lido_handle_pool *pool, lido_handle handle, bool destroy) {
    if (!make_stale(pool, handle)) return false;
    uint32_t index = index_in(handle);
    if (destroy && pool->type.destroy != NULL) pool->type.destroy(object_at(pool, index), pool->type.context);
    slot_give(pool, index, generation_in(handle) == pool->last);
    return true;
}

bool lido_handle_delete(lido_handle_pool *pool, lido_handle handle) {
    if (LIDO_LIKELY(end_object(pool, handle, true))) return true;
    is_dead(pool, "lido_handle_delete");
    return false;
}
void lido__handle_cancel(lido_handle_pool *pool, lido_handle handle) { end_object(pool, handle, false); }

// --- by address -----------------------------------------------------------------------------------------------------

static uint32_t chunk_count(lido_handle_pool *pool) {
    const lido__directory *directory = directory_of(pool);
    return directory != NULL ? LIDO__ATOMIC_LOAD(&directory->count, relaxed) : 0;    // exact under the lock
}

// The chunk around p, or NULL. Caller holds the lock.
static const lido__chunk_of_objects *chunk_around(lido_handle_pool *pool, uintptr_t p) {
    uint32_t behind = chunks_up_to(pool, p);
    if (behind == 0) return NULL;
    const lido__chunk_of_objects *chunk = pool->by_address[behind - 1];
    return p - (uintptr_t)objects_of(chunk) < pool->stride << pool->shift ? chunk : NULL;
}

lido_handle lido_handle_of(lido_handle_pool *pool, const void *p) {
    uint32_t place = 0;
    lock_if_needed(pool);
    const lido__chunk_of_objects *chunk = chunk_around(pool, (uintptr_t)p);
    if (chunk != NULL) place = (uint32_t)(((uintptr_t)p - (uintptr_t)objects_of(chunk)) / pool->stride);
    unlock_if_needed(pool);
    if (chunk == NULL) {
        is_dead(pool, "lido_handle_of");
        return (lido_handle){0};
    }
    uint32_t generation = LIDO__ATOMIC_LOAD(&chunk->slots[place].generation, acquire);    // (H2)
    return generation % 2 == 1 ? handle_from(chunk->first + place, generation) : (lido_handle){0};
}

// Chunks that the visitor adds, or in check mode takes away, move the others in by_address; their addresses stay.
size_t lido_handle_visit(lido_handle_pool *pool, bool (*visit)(void *, lido_handle, void *), void *context) {
    size_t visited = 0;
    uintptr_t at = 0;
    for (uint32_t i; (i = chunks_up_to(pool, at)) < pool->listed;) {
        const lido__chunk_of_objects *chunk = pool->by_address[i];
        at = (uintptr_t)objects_of(chunk);
        for (uint32_t place = 0; place < (uint32_t)1 << pool->shift; place++) {
            uint32_t generation = LIDO__ATOMIC_LOAD(&chunk->slots[place].generation, acquire);    // (H2)
            if (generation % 2 == 0) continue;
            visited++;
            if (!visit(objects_of(chunk) + place * pool->stride, handle_from(chunk->first + place, generation), context))
                return visited;
        }
    }
    if (visited == 0) is_dead(pool, "lido_handle_visit");
    return visited;
}

lido_handle_statistics lido_handle_pool_stats(lido_handle_pool *pool) {
    lock_if_needed(pool);
    size_t slots = (size_t)chunk_count(pool) << pool->shift;
    lido_handle_statistics statistics = {
        .live = pool->live,
        .high_water = pool->high_water,
        .slots = slots,
        .retired = pool->retired,
        .object_size = pool->stride,
        .held_bytes = slots * (pool->stride + sizeof(lido__slot)),
    };
    unlock_if_needed(pool);
    if (slots == 0) is_dead(pool, "lido_handle_pool_stats");
    return statistics;
}

// --- the end --------------------------------------------------------------------------------------------------------

static bool end_visited(void *object, lido_handle handle, void *context) {
    (void)object;
    lido_handle_delete((lido_handle_pool *)context, handle);
    return true;
}

static void free_memory(lido_handle_pool *pool) {
    lido__directory *directory = directory_of(pool), *older;
    uint32_t count = chunk_count(pool);
    if (pool->source != NULL) {
        lido__checked_end_all(pool->source, 0, LIDO__END_DESTROY);
        lido__check_source_end(pool->source);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (pool->source == NULL) lido_free(objects_of(directory->chunks[i]));
        lido_free(directory->chunks[i]);
    }
    for (; directory != NULL; directory = older) {
        older = directory->older;
        lido_free(directory);
    }
    lido_free(pool->by_address);
}

static void free_structure(void *pool) { lido_free(pool); }

// In check mode no handle leads anywhere from now on, and every call says why.
static void bury(lido_handle_pool *pool) {
    LIDO__ATOMIC_STORE(&pool->directory, NULL, relaxed);    // nobody else uses the pool
    pool->by_address = NULL;
    pool->listed = 0;
    pool->live = 0;
    pool->dead = true;
    lido__check_bury(pool, free_structure);
}

void lido_handle_pool_destroy(lido_handle_pool *pool) {
    if (pool == NULL || is_dead(pool, "lido_handle_pool_destroy")) return;
    pool->ending = pool->rare = true;
    if (pool->at_destroy == LIDO_LIVE_DESTROYED) {
        lido_handle_visit(pool, end_visited, pool);
    } else if (pool->live > 0) {
        lido__warn(
            "lido_handle_pool_destroy: pool '%s': %z objects are still alive; they are not destroyed, their memory "
            "is freed",
            pool->name, pool->live);
    }
    unlist_pool(pool);
    free_memory(pool);
    if (pool->check > LIDO_CHECK_OFF) {
        bury(pool);
    } else {
        lido_free(pool);
    }
}
