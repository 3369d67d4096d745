// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See stack.h. A record is written before a bucket leads to it (S1), and whoever follows the bucket sees it whole (A1).
// A record that lost the race for its bucket to an equal one is left unused.
#include "trace/stack.h"

#include "base/atomics.h"
#include "base/options.h"
#include "os/os.h"
#include "trace/unwind.h"

#include <string.h>

enum { UNIT = 16, CHUNK_BYTES = 1 << 20, CHUNK_UNITS = CHUNK_BYTES / UNIT, CHUNKS = 1024, BUCKET_BITS = 17 };

typedef struct record {
    uint32_t next;     // [const] once published: id, 0 is the end
    uint32_t hash;     // [const]
    uint32_t count;    // [const]
    uint32_t id;       // [const] its own: tells an id from any other number
    void *pcs[];
} record;
_Static_assert(sizeof(record) == UNIT, "a record's head is one unit");

static _Atomic uint32_t buckets[1 << BUCKET_BITS];    // [atomic:S1/A1] id of the newest record
static _Atomic(char *) chunks[CHUNKS];                // [atomic:S2/A2] NULL until mapped
static _Atomic uint32_t next_unit = 1;                // relaxed: only hands out places; 0 is no id

static unsigned depth_now(void) {
    unsigned frames = LIDO__ATOMIC_LOAD(&lido__options.check_frames, relaxed);    // relaxed: see base/options.h
    return frames < LIDO__STACK_DEPTH_MAX ? frames : LIDO__STACK_DEPTH_MAX;
}

static record *record_at(uint32_t id) {
    char *chunk = LIDO__ATOMIC_LOAD(&chunks[id / CHUNK_UNITS], acquire);    // A2, pairs with S2
    return chunk != NULL ? (record *)(void *)(chunk + (size_t)(id % CHUNK_UNITS) * UNIT) : NULL;
}

static bool open_chunk(uint32_t index) {
    if (LIDO_LIKELY(LIDO__ATOMIC_LOAD(&chunks[index], acquire) != NULL)) return true;    // A2
    char *fresh = (char *)lido__os_map(CHUNK_BYTES), *none = NULL;
    if (fresh == NULL) return false;
    // S2, pairs with A2
    if (!LIDO__ATOMIC_CAS(&chunks[index], &none, fresh, release)) lido__os_release(fresh, CHUNK_BYTES);
    return true;
}

// A place for a record that no one else has; 0 if there is none.
static uint32_t take_place(size_t count) {
    uint32_t units = 1 + (uint32_t)(lido__round_up(count * sizeof(void *), UNIT) / UNIT);
    uint32_t at = LIDO__ATOMIC_LOAD(&next_unit, relaxed), start;
    do {
        start = at % CHUNK_UNITS + units > CHUNK_UNITS ? (at / CHUNK_UNITS + 1) * CHUNK_UNITS : at;
        if (start / CHUNK_UNITS >= CHUNKS || !open_chunk(start / CHUNK_UNITS)) return 0;
    } while (!LIDO__ATOMIC_CAS(&next_unit, &at, start + units, relaxed));
    return start;
}

// Fibonacci hashing over the addresses: the upper half has seen all of them.
static uint32_t hash_of(void *const *pcs, size_t count) {
    uint64_t h = count;
    for (size_t i = 0; i < count; i++) {
        h = (h ^ (uintptr_t)pcs[i]) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    return (uint32_t)(h >> 32);
}

// From the record `id` on, up to but without `end`.
static uint32_t find(uint32_t id, uint32_t end, uint32_t hash, void *const *pcs, size_t count) {
    while (id != end) {
        const record *r = record_at(id);
        if (r->hash == hash && r->count == count && memcmp(r->pcs, pcs, count * sizeof *pcs) == 0) return id;
        id = r->next;
    }
    return 0;
}

uint32_t lido__stack_keep(void *const *pcs, size_t count) {
    count = lido__min(count, LIDO__STACK_DEPTH_MAX);
    if (count == 0) return 0;
    uint32_t hash = hash_of(pcs, count);
    _Atomic uint32_t *bucket = &buckets[hash >> (32 - BUCKET_BITS)];
    uint32_t head = LIDO__ATOMIC_LOAD(bucket, acquire);    // A1
    uint32_t id = find(head, 0, hash, pcs, count);
    if (LIDO_LIKELY(id != 0)) return id;
    uint32_t own = take_place(count);
    if (own == 0) return 0;
    record *r = record_at(own);
    r->hash = hash;
    r->count = (uint32_t)count;
    r->id = own;
    memcpy(r->pcs, pcs, count * sizeof *pcs);
    for (;;) {
        uint32_t seen = head;
        r->next = head;
        // S1, pairs with A1
        if (LIDO__ATOMIC_CAS(bucket, &head, own, release)) return own;
        head = LIDO__ATOMIC_LOAD(bucket, acquire);    // A1: others came first, maybe with this stack
        id = find(head, seen, hash, pcs, count);
        if (id != 0) return id;
    }
}

LIDO__NOINLINE uint32_t lido__stack_here(unsigned skip) {
    void *pcs[LIDO__STACK_DEPTH_MAX];
    size_t count = lido__unwind(pcs, depth_now(), skip + 1);
    return lido__stack_keep(pcs, count);
}

size_t lido__stack_at(uint32_t id, void *const **pcs) {
    *pcs = NULL;
    // relaxed: who has an id got it after the place was taken
    if (id == 0 || id / CHUNK_UNITS >= CHUNKS || id >= LIDO__ATOMIC_LOAD(&next_unit, relaxed)) return 0;
    const record *r = record_at(id);
    if (r == NULL || r->id != id || r->count > LIDO__STACK_DEPTH_MAX) return 0;
    *pcs = r->pcs;
    return r->count;
}
