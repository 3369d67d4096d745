// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See zone.h.
#include "check/zone.h"

#include "base/options.h"
#include "os/os.h"
#include "os/report.h"
#include "os/tools.h"

enum {
    ZONE_BYTES_MAX = 4 << 20,    // a shape's zones double from 64 KiB to this (guess)
    ZONE_SLOTS_MIN = 8,
    // Each paged slot may cost two of the 65,530 mappings that Linux allows a process by default; half of them are left to the
    // program.
    PAGED_ALIVE_MAX = 12000,
    PAGED_REST_MAX = 4000,
    SOLO_REST_MAX = 64,
    SHAPE_REST_MIN = 64,               // of each shape, however much the others hold,
    SHAPE_REST_MIN_BYTES = 2 << 20,    // or fewer that have so much
};

static lido__shape shapes[LIDO__SHAPE_COUNT];
static _Atomic(lido__zone *) all_zones;                // release when a zone is listed, pairs with lido__zones_each
static _Atomic size_t resting_bytes;                   // of guarded slots; relaxed: a limit that need not be exact
static _Atomic uint32_t paged_alive, paged_resting;    // likewise

static lido__lock solos_lock;
static lido__zone *spare_solos;                         // [lock:solos] heads without memory
static lido__zone *solo_rest_first, *solo_rest_last;    // [lock:solos]
static unsigned solo_rest_count;                        // [lock:solos]
#define LOCK_SOLOS() lido__lock_acquire(&solos_lock, LIDO__RANK_CHECK)
#define UNLOCK_SOLOS() lido__lock_release(&solos_lock, LIDO__RANK_CHECK)

// --- finding --------------------------------------------------------------------------------------------------------

static lido__zone *solo_outside_of(const void *p) {
    lido__zone *zone = LIDO__ATOMIC_LOAD(&all_zones, acquire);    // pairs with the release in list_zone
    if (zone == NULL) return NULL;
    LOCK_SOLOS();
    while (zone != NULL && !(zone->mapped && (size_t)((const char *)p - zone->memory) < zone->memory_bytes))
        zone = zone->next;
    UNLOCK_SOLOS();
    return zone;
}

lido__zone *lido__zone_of(const void *p) {
    unsigned entry = lido__window_entry(p);
    if (entry == LIDO__ENTRY_CHECK) return (lido__zone *)lido__slab_of(p)->large_heap;
    return entry == LIDO__ENTRY_NONE ? solo_outside_of(p) : NULL;
}

lido__checked *lido__zone_record(lido__zone *zone, const void *p) {
    if ((const char *)p < zone->slots) return &zone->records[0];
    size_t index = (size_t)((const char *)p - zone->slots) / zone->slot_bytes;
    return &zone->records[lido__min(index, zone->slot_count - 1)];
}

void lido__zones_each(void (*call)(lido__zone *zone, void *context), void *context) {
    // acquire, pairs with the release in list_zone
    for (lido__zone *zone = LIDO__ATOMIC_LOAD(&all_zones, acquire); zone != NULL; zone = zone->next)
        call(zone, context);
}

static void list_zone(lido__zone *zone) {
    zone->next = LIDO__ATOMIC_LOAD(&all_zones, relaxed);
    while (!LIDO__ATOMIC_CAS(&all_zones, &zone->next, zone, release)) {
    }
}

// --- zones ----------------------------------------------------------------------------------------------------------

// The zone and its records, all zero.
static lido__zone *head_new(size_t slot_count) {
    size_t bytes = sizeof(lido__zone) + slot_count * sizeof(lido__checked);
    bool zero;
    lido__slab *run =
        lido__run_new(LIDO__RUN_META, (bytes + LIDO__SLICE_BYTES - 1) >> LIDO__SLICE_SHIFT, 1, LIDO__ENTRY_META, &zero);
    if (run == NULL) return NULL;
    lido__zone *zone = (lido__zone *)(void *)lido__slab_memory(run);
    if (!zero) __builtin_memset(zone, 0, bytes);
    return zone;
}

// Cuts the edges off, and of a paged zone all there is.
static bool close_off(const lido__zone *zone) {
    size_t page = lido__os_page_bytes();
    if (zone->paged) return lido__os_decommit(zone->memory, zone->memory_bytes);
    return lido__os_decommit(zone->memory, page) && lido__os_decommit(zone->memory + zone->memory_bytes - page, page);
}

static void run_give_back(lido__slab *run, char *memory, size_t bytes) {
    // what cannot be committed again is lost rather than handed out
    if (lido__os_commit(memory, bytes)) lido__run_free(run);
}

static lido__zone *zone_new(lido__shape *shape, bool paged, size_t slot_bytes, size_t data_bytes) {
    size_t page = lido__os_page_bytes(), bytes = (size_t)LIDO__SLICE_BYTES << lido__min(shape->zone_count, 4);
    bytes = lido__min(lido__max(bytes, slot_bytes * ZONE_SLOTS_MIN + 2 * page), ZONE_BYTES_MAX);
    bytes = lido__round_up(bytes, LIDO__SLICE_BYTES);
    size_t count = (bytes - 2 * page + (paged ? page : 0)) / slot_bytes;    // a paged slot has its page behind it
    lido__zone *zone = head_new(count);
    bool zero;
    if (zone == NULL) return NULL;
    lido__slab *run = lido__run_new(LIDO__RUN_CHECK, bytes >> LIDO__SLICE_SHIFT, 1, LIDO__ENTRY_CHECK, &zero);
    if (run == NULL) {
        lido__run_free(lido__slab_of(zone));
        return NULL;
    }
    char *memory = lido__slab_memory(run);
    *zone = (lido__zone){.shape = shape,
                         .memory = memory,
                         .memory_bytes = bytes,
                         .slots = memory + page,
                         .slot_bytes = slot_bytes,
                         .data_bytes = data_bytes,
                         .slot_count = (uint32_t)count,
                         .paged = paged};
    run->large_heap = zone;
    if (!close_off(zone)) {
        run_give_back(run, memory, bytes);
        lido__run_free(lido__slab_of(zone));
        return NULL;
    }
    if (lido__tools != 0) lido__tools_hide(memory, bytes);
    list_zone(zone);
    return zone;
}

// --- solo zones -----------------------------------------------------------------------------------------------------

// The head of a solo zone: one that has served, or a new one.
static lido__zone *solo_head(void) {
    LOCK_SOLOS();
    lido__zone *zone = spare_solos;
    if (zone != NULL) spare_solos = zone->queued;
    UNLOCK_SOLOS();
    if (zone != NULL) return zone;
    zone = head_new(1);
    if (zone == NULL) return NULL;
    zone->paged = true;
    zone->slot_count = 1;
    list_zone(zone);
    return zone;
}

static void solo_spare(lido__zone *zone) {
    LOCK_SOLOS();
    zone->memory = zone->slots = NULL;
    zone->memory_bytes = 0;
    zone->mapped = false;
    zone->queued = spare_solos;
    spare_solos = zone;
    UNLOCK_SOLOS();
}

static bool solo_memory(lido__zone *zone, size_t bytes) {
    size_t slices = (bytes + LIDO__SLICE_BYTES - 1) >> LIDO__SLICE_SHIFT;
    bool zero;
    lido__slab *run =
        slices <= LIDO__RUN_MAX_SLICES ? lido__run_new(LIDO__RUN_CHECK, slices, 1, LIDO__ENTRY_CHECK, &zero) : NULL;
    if (run != NULL) run->large_heap = zone;
    char *memory = run != NULL ? lido__slab_memory(run) : (char *)lido__os_map(bytes);
    LOCK_SOLOS();
    zone->mapped = run == NULL;
    zone->memory = memory;
    zone->memory_bytes = run != NULL ? slices << LIDO__SLICE_SHIFT : bytes;
    UNLOCK_SOLOS();
    if (lido__tools != 0 && run == NULL && zone->memory != NULL) lido__tools_memory(zone->memory, bytes, true);
    return zone->memory != NULL;
}

static void solo_release(lido__zone *zone) {
    char *memory = zone->memory;
    size_t bytes = zone->memory_bytes;
    bool mapped = zone->mapped;
    solo_spare(zone);
    if (mapped) {
        if (lido__tools != 0) lido__tools_show(memory, bytes);
        if (lido__tools != 0) lido__tools_memory(memory, bytes, false);
        lido__os_release(memory, bytes);
    } else {
        run_give_back(lido__slab_of(memory), memory, bytes);
    }
}

// Puts one to rest; too many, and the one that has rested longest goes.
static void solo_rest(lido__zone *zone) {
    lido__os_decommit(zone->slots, zone->data_bytes);    // refused: a use is only not seen
    // release, pairs with lido__checked_state
    LIDO__ATOMIC_STORE(&zone->records[0].state, (uint8_t)LIDO__CHECK_RESTING, release);
    lido__zone *oldest = NULL;
    LOCK_SOLOS();
    zone->queued = NULL;
    if (solo_rest_first == NULL) {
        solo_rest_first = zone;
    } else {
        solo_rest_last->queued = zone;
    }
    solo_rest_last = zone;
    if (++solo_rest_count > SOLO_REST_MAX) {
        oldest = solo_rest_first;
        solo_rest_first = oldest->queued;
        solo_rest_count--;
    }
    UNLOCK_SOLOS();
    if (oldest == NULL) return;
    lido__checked_claim(&oldest->records[0], LIDO__CHECK_RESTING);
    LIDO__ATOMIC_STORE(&oldest->records[0].state, (uint8_t)LIDO__CHECK_FREE, relaxed);    // out of every list
    solo_release(oldest);
}

static lido__checked *solo_take(size_t data_bytes, lido__zone **out) {
    size_t page = lido__os_page_bytes();
    lido__zone *zone = solo_head();
    if (zone == NULL) return NULL;
    if (!solo_memory(zone, data_bytes + 2 * page)) {
        solo_spare(zone);
        return NULL;
    }
    // the data at the end of the memory: in a run it may be longer than asked for
    zone->data_bytes = data_bytes;
    zone->slot_bytes = zone->memory_bytes;
    zone->slots = zone->memory + zone->memory_bytes - page - data_bytes;
    if (!lido__os_decommit(zone->memory, (size_t)(zone->slots - zone->memory)) ||
        !lido__os_decommit(zone->slots + data_bytes, page)) {
        solo_release(zone);
        return NULL;
    }
    *out = zone;
    LIDO__ATOMIC_STORE(&zone->records[0].state, (uint8_t)LIDO__CHECK_BUSY, relaxed);    // nobody else has it
    return &zone->records[0];
}

// --- shapes ---------------------------------------------------------------------------------------------------------

static unsigned guard_shape(size_t bytes) {
    if (bytes <= 64) return 0;
    unsigned doubling = lido__highest_bit(bytes - 1);    // bytes is in (2^doubling, 2^(doubling + 1)]
    return 1 + (doubling - 6) * 4 + (unsigned)((bytes - 1 - ((size_t)1 << doubling)) >> (doubling - 2));
}

static size_t guard_shape_bytes(unsigned shape) {
    if (shape == 0) return 64;
    unsigned doubling = 6 + (shape - 1) / 4;
    return ((size_t)1 << doubling) + ((shape - 1) % 4 + 1) * ((size_t)1 << (doubling - 2));
}

static lido__checked *pop_rested_locked(lido__shape *shape) {
    lido__checked *record = shape->rest_first;
    if (record == NULL) return NULL;
    shape->rest_first = record->newer;
    shape->rest_count--;
    return record;
}

static lido__checked *fresh_locked(lido__shape *shape, bool paged, size_t slot_bytes, size_t data_bytes) {
    if (shape->zone == NULL || shape->fresh == shape->zone->slot_count) {
        lido__zone *zone = zone_new(shape, paged, slot_bytes, data_bytes);
        if (zone == NULL) return NULL;
        shape->zone = zone;
        shape->zone_count++;
        shape->fresh = 0;
    }
    return &shape->zone->records[shape->fresh++];
}

static bool rest_is_full(bool paged) {
    if (paged) return LIDO__ATOMIC_LOAD(&paged_resting, relaxed) > PAGED_REST_MAX;
    size_t most = (size_t)LIDO__ATOMIC_LOAD(&lido__options.check_rest_kb, relaxed) << 10;
    return LIDO__ATOMIC_LOAD(&resting_bytes, relaxed) > most;
}

static void count_resting(bool paged, size_t slot_bytes, bool more) {
    if (paged) {
        if (more)
            LIDO__ATOMIC_ADD(&paged_resting, 1u, relaxed);
        else
            LIDO__ATOMIC_SUB(&paged_resting, 1u, relaxed);
    } else if (more) {
        LIDO__ATOMIC_ADD(&resting_bytes, slot_bytes, relaxed);
    } else {
        LIDO__ATOMIC_SUB(&resting_bytes, slot_bytes, relaxed);
    }
}

// From the free ones, from the rest if that is full, fresh, and if there is no memory from the rest all the same.
static lido__checked *take_locked(lido__shape *shape, bool paged, size_t slot_bytes, size_t data_bytes, bool *rested) {
    lido__checked *record = shape->free;
    *rested = false;
    if (record != NULL) {
        shape->free = record->newer;
        return record;
    }
    if (shape->rest_count <= lido__min(SHAPE_REST_MIN, SHAPE_REST_MIN_BYTES / slot_bytes) || !rest_is_full(paged)) {
        record = fresh_locked(shape, paged, slot_bytes, data_bytes);
        if (record != NULL) return record;
    }
    record = pop_rested_locked(shape);
    *rested = record != NULL;
    return record != NULL ? record : fresh_locked(shape, paged, slot_bytes, data_bytes);
}

bool lido__may_be_paged(void) {
    static _Atomic uint32_t warned;
    if (LIDO__ATOMIC_LOAD(&paged_alive, relaxed) < PAGED_ALIVE_MAX) return true;
    if (LIDO__ATOMIC_EXCHANGE(&warned, 1u, relaxed) == 0)
        lido__warn(
            "check=page: %u blocks are alive; from here on small ones are only guarded, as the system's limit on "
            "mappings (vm.max_map_count) would be reached",
            PAGED_ALIVE_MAX);
    return false;
}

static lido__checked *shape_take(lido__shape *shape, bool paged, size_t slot_bytes, size_t data_bytes,
                                 lido__zone **zone, bool *rested) {
    lido__lock_acquire(&shape->lock, LIDO__RANK_CHECK);
    lido__checked *record = take_locked(shape, paged, slot_bytes, data_bytes, rested);
    lido__lock_release(&shape->lock, LIDO__RANK_CHECK);
    if (record == NULL) return NULL;
    // a head is a run, and records lie in it
    *zone = (lido__zone *)(void *)lido__slab_memory(lido__slab_of(record));
    if (*rested) {
        count_resting(paged, slot_bytes, false);
        lido__checked_claim(record, LIDO__CHECK_RESTING);
    } else {
        LIDO__ATOMIC_STORE(&record->state, (uint8_t)LIDO__CHECK_BUSY, relaxed);    // nobody else has it
    }
    if (paged && !lido__os_commit(lido__zone_slot(*zone, record), data_bytes)) {
        lido__lock_acquire(&shape->lock, LIDO__RANK_CHECK);
        LIDO__ATOMIC_STORE(&record->state, (uint8_t)LIDO__CHECK_FREE, relaxed);    // nobody has it
        record->newer = shape->free;
        shape->free = record;
        lido__lock_release(&shape->lock, LIDO__RANK_CHECK);
        return NULL;
    }
    return record;
}

lido__checked *lido__slot_take(bool paged, size_t data_bytes, lido__zone **zone, bool *rested) {
    size_t page = lido__os_page_bytes();
    *rested = false;
    if (!paged && data_bytes <= LIDO__GUARD_SLOT_MAX) {
        unsigned i = guard_shape(data_bytes);
        return shape_take(&shapes[i], false, guard_shape_bytes(i), guard_shape_bytes(i), zone, rested);
    }
    data_bytes = lido__round_up(data_bytes, page);
    if (data_bytes > LIDO__PAGED_PAGES_MAX * page) return solo_take(data_bytes, zone);
    unsigned i = LIDO__GUARD_SHAPES + (unsigned)(data_bytes / page) - 1;
    lido__checked *record = shape_take(&shapes[i], true, data_bytes + page, data_bytes, zone, rested);
    if (record != NULL) LIDO__ATOMIC_ADD(&paged_alive, 1u, relaxed);
    return record;
}

void lido__slot_rest(lido__zone *zone, lido__checked *record) {
    if (zone->shape == NULL) {
        solo_rest(zone);
        return;
    }
    if (zone->paged) {
        lido__os_decommit(lido__zone_slot(zone, record),
                          zone->data_bytes);    // refused: it is only not seen to be used
        LIDO__ATOMIC_SUB(&paged_alive, 1u, relaxed);
    }
    count_resting(zone->paged, zone->slot_bytes, true);
    // release, pairs with finders' acquire: whoever sees it resting sees who ended it
    LIDO__ATOMIC_STORE(&record->state, (uint8_t)LIDO__CHECK_RESTING, release);
    lido__shape *shape = zone->shape;
    lido__lock_acquire(&shape->lock, LIDO__RANK_CHECK);
    record->newer = NULL;
    if (shape->rest_first == NULL) {
        shape->rest_first = record;
    } else {
        shape->rest_last->newer = record;
    }
    shape->rest_last = record;
    shape->rest_count++;
    lido__lock_release(&shape->lock, LIDO__RANK_CHECK);
}

void lido__zones_each_lock(void (*call)(lido__lock *)) {
    call(&solos_lock);
    for (unsigned i = 0; i < LIDO__SHAPE_COUNT; i++) call(&shapes[i].lock);
}
