// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See mapping.h. The table is open addressing with linear probing and backward-shift deletion (Knuth 6.4, algorithm R),
// grown by doubling in mappings of its own; at most half full.
#include "slab/mapping.h"

#include "base/options.h"
#include "os/os.h"

enum {
    CACHE_SLOTS = 32,
    TABLE_FIRST = 256,    // entries: one and a half pages
    // A cached mapping serves a request if it is not more than a quarter too large.
    FIT_SHARE = 4,
};
// The cache holds at most this much, or an eighth of what is mapped, whichever is more. Guess, of the size that
// programs juggle with a few buffers.
static const size_t cache_least_bytes = (size_t)64 << 20;

typedef struct cached_mapping {
    void *start;
    size_t bytes;
    uint32_t freed_at;
} cached_mapping;

static lido__lock the_lock;
#define LOCK() lido__lock_acquire(&the_lock, LIDO__RANK_HUGE)
#define UNLOCK() lido__lock_release(&the_lock, LIDO__RANK_HUGE)

// All [lock:huge].
static lido__mapping *table;
static size_t table_size;    // a power of two, or 0
static lido__mapping_totals totals;
static cached_mapping cache[CACHE_SLOTS];
static uint32_t last_purge;

lido__lock *lido__mappings_lock(void) { return &the_lock; }

// --- the table ------------------------------------------------------------------------------------------------------

static size_t home_of(const void *start) {
    return (size_t)(((uintptr_t)start >> 12) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (table_size - 1);
}

static lido__mapping *find(const void *start) {
    if (table_size == 0) return NULL;
    for (size_t i = home_of(start); table[i].start != NULL; i = (i + 1) & (table_size - 1)) {
        if (table[i].start == start) return &table[i];
    }
    return NULL;
}

static void insert(lido__mapping mapping) {
    size_t i = home_of(mapping.start);
    while (table[i].start != NULL) i = (i + 1) & (table_size - 1);
    table[i] = mapping;
}

static void erase(lido__mapping *entry) {
    size_t hole = (size_t)(entry - table), mask = table_size - 1;
    table[hole].start = NULL;
    for (size_t i = (hole + 1) & mask; table[i].start != NULL; i = (i + 1) & mask) {
        // an entry may fill the hole unless its home lies cyclically in (hole, i]
        size_t home = home_of(table[i].start);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        table[hole] = table[i];
        table[i].start = NULL;
        hole = i;
    }
}

// Room for one more. False if the table cannot grow.
static bool make_room(void) {
    if (totals.count * 2 < table_size) return true;
    size_t old_size = table_size, size = old_size == 0 ? TABLE_FIRST : old_size * 2;
    lido__mapping *old = table, *grown = lido__os_map(lido__round_up(size * sizeof *grown, lido__os_page_bytes()));
    if (grown == NULL) return totals.count + 1 < table_size;
    table = grown;
    table_size = size;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].start != NULL) insert(old[i]);
    }
    if (old != NULL) lido__os_release(old, lido__round_up(old_size * sizeof *old, lido__os_page_bytes()));
    return true;
}

static bool enter(lido__mapping mapping) {
    LOCK();
    bool done = make_room();
    if (done) {
        insert(mapping);
        totals.count++;
        totals.bytes += mapping.bytes;
    }
    UNLOCK();
    return done;
}

// --- the cache ------------------------------------------------------------------------------------------------------

static cached_mapping take_cached(size_t bytes, size_t alignment) {
    cached_mapping best = {NULL, 0, 0};
    LOCK();
    cached_mapping *best_slot = NULL;
    for (size_t i = 0; i < CACHE_SLOTS; i++) {
        cached_mapping *slot = &cache[i];
        if (slot->start == NULL || slot->bytes < bytes || slot->bytes - bytes > bytes / FIT_SHARE) continue;
        if (((uintptr_t)slot->start & (alignment - 1)) != 0) continue;
        if (best_slot == NULL || slot->bytes < best_slot->bytes) best_slot = slot;
    }
    if (best_slot != NULL) {
        best = *best_slot;
        best_slot->start = NULL;
        totals.cached_bytes -= best.bytes;
    }
    UNLOCK();
    return best;
}

// Takes one cached mapping out that is due, the oldest first; NULL if none is.
static cached_mapping take_due(bool all, size_t limit, uint32_t now, uint32_t delay) {
    cached_mapping due = {NULL, 0, 0};
    LOCK();
    cached_mapping *oldest = NULL;
    for (size_t i = 0; i < CACHE_SLOTS; i++) {
        if (cache[i].start == NULL) continue;
        if (oldest == NULL || lido__os_age_ms(now, cache[i].freed_at) > lido__os_age_ms(now, oldest->freed_at))
            oldest = &cache[i];
    }
    if (oldest != NULL && (all || totals.cached_bytes > limit || lido__os_age_ms(now, oldest->freed_at) >= delay)) {
        due = *oldest;
        oldest->start = NULL;
        totals.cached_bytes -= due.bytes;
    }
    UNLOCK();
    return due;
}

static size_t purge(bool all, size_t limit, uint32_t delay) {
    size_t bytes = 0;
    uint32_t now = lido__os_clock_ms();
    for (;;) {
        cached_mapping due = take_due(all, limit, now, delay);
        if (due.start == NULL) return bytes;
        lido__os_release(due.start, due.bytes);
        bytes += due.bytes;
    }
}

size_t lido__mappings_purge(bool all) {
    return purge(all, SIZE_MAX, LIDO__ATOMIC_LOAD(&lido__options.purge_delay_ms, relaxed));
}

static void put_in_cache(void *start, size_t bytes) {
    uint32_t delay = LIDO__ATOMIC_LOAD(&lido__options.purge_delay_ms, relaxed);
    bool kept = false;
    LOCK();
    uint32_t now = lido__os_clock_ms();
    size_t limit = lido__max(cache_least_bytes, totals.bytes / 8);
    for (size_t i = 0; i < CACHE_SLOTS && delay > 0 && bytes <= limit && !kept; i++) {
        if (cache[i].start != NULL) continue;
        cache[i] = (cached_mapping){start, bytes, now};
        totals.cached_bytes += bytes;
        kept = true;
    }
    bool due = lido__os_age_ms(now, last_purge) > delay / 4 || totals.cached_bytes > limit;
    if (due) last_purge = now;
    UNLOCK();
    if (!kept) lido__os_release(start, bytes);
    if (due) purge(false, limit, delay);
}

// --- the calls ------------------------------------------------------------------------------------------------------

static void *map_aligned(size_t *bytes, size_t alignment) {
    if (*bytes >= LIDO__OS_HUGE_BYTES && alignment <= LIDO__OS_HUGE_BYTES &&
        LIDO__ATOMIC_LOAD(&lido__options.hugetlb, relaxed) != 0) {
        size_t whole = lido__round_up(*bytes, LIDO__OS_HUGE_BYTES);
        void *memory = lido__os_map_huge(whole);
        if (memory != NULL) return *bytes = whole, memory;
    }
    if (alignment <= lido__os_page_bytes()) return lido__os_map(*bytes);
    if (*bytes > SIZE_MAX - alignment) return NULL;
    char *memory = lido__os_reserve(*bytes, alignment);
    if (memory == NULL) return NULL;
    if (lido__os_commit(memory, *bytes)) return memory;
    lido__os_release(memory, *bytes);
    return NULL;
}

lido__mapping lido__mapping_new(size_t bytes, size_t alignment, void *owner, bool *zero) {
    bytes = lido__round_up(bytes, lido__os_page_bytes());
    cached_mapping cached = take_cached(bytes, alignment);
    lido__mapping mapping = {cached.start, cached.bytes, owner};
    *zero = cached.start == NULL;
    if (cached.start == NULL) {
        void *start = map_aligned(&bytes, alignment);
        mapping = (lido__mapping){start, bytes, owner};
    }
    if (mapping.start == NULL || enter(mapping)) return mapping;
    lido__os_release(mapping.start, mapping.bytes);
    return (lido__mapping){NULL, 0, NULL};
}

lido__mapping lido__mapping_find(const void *start) {
    LOCK();
    lido__mapping *entry = find(start);
    lido__mapping mapping = entry != NULL ? *entry : (lido__mapping){NULL, 0, NULL};
    UNLOCK();
    return mapping;
}

bool lido__mapping_free(void *start) {
    LOCK();
    lido__mapping *entry = find(start);
    lido__mapping mapping = entry != NULL ? *entry : (lido__mapping){NULL, 0, NULL};
    if (entry != NULL) {
        erase(entry);
        totals.count--;
        totals.bytes -= mapping.bytes;
    }
    UNLOCK();
    if (mapping.start == NULL) return false;
    put_in_cache(mapping.start, mapping.bytes);
    return true;
}

lido__mapping lido__mapping_resize(void *start, size_t bytes) {
    lido__mapping mapping = {NULL, 0, NULL};
    bytes = lido__round_up(bytes, lido__os_page_bytes());
    // Under the lock: another thread's new mapping could otherwise get the old address before the table knows.
    LOCK();
    lido__mapping *entry = find(start);
    // it may be of hugetlb, which comes and goes in whole huge pages
    if (entry != NULL && (((uintptr_t)start | entry->bytes) & (LIDO__OS_HUGE_BYTES - 1)) == 0) {
        bytes = lido__round_up(bytes, LIDO__OS_HUGE_BYTES);
    }
    void *moved = entry != NULL ? lido__os_remap(start, entry->bytes, bytes) : NULL;
    if (moved != NULL) {
        totals.bytes += bytes - entry->bytes;
        mapping = (lido__mapping){moved, bytes, entry->owner};
        erase(entry);
        insert(mapping);
    }
    UNLOCK();
    return mapping;
}

static void *first_of(const void *owner) {
    void *start = NULL;
    LOCK();
    for (size_t i = 0; i < table_size && start == NULL; i++) {
        if (table[i].start != NULL && table[i].owner == owner) start = table[i].start;
    }
    UNLOCK();
    return start;
}

void lido__mappings_free_of(const void *owner) {
    // from the first place each time: what others do meanwhile moves entries
    for (void *start = first_of(owner); start != NULL; start = first_of(owner)) lido__mapping_free(start);
}

lido__mapping_totals lido__mappings_totals(void) {
    LOCK();
    lido__mapping_totals now = totals;
    UNLOCK();
    return now;
}
