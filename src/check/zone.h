// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Where checked blocks lie. A zone is a run of slices cut into equal slots; all zones of one slot size and kind are a
// shape. Records stand in a run of their own, so that no stray write through a block reaches them.
//
//      guarded   |page: no access| slot 0 | slot 1 | ...                        |page: no access|
//      paged     |no access| data of slot 0 |no access| data of slot 1 |no access| ...
//                          ◄── slot_bytes ─────────────►
//
// The data of a paged slot is committed only while its block is alive. What is larger than any shape has a zone for itself
// (solo), paged, which goes when its rest ends; beyond a segment it is a mapping outside of the window.
//
//      record i of a zone  <=>  slot i  <=>  [slots + i * slot_bytes, + data_bytes)
//
// Threads: any. Lists and counters of a shape are under its lock; the list of zones only grows at its head, and is walked
// without a lock (solo zones are never taken out of it: their memory is, and they serve again). The lock of solos is also taken
// by the handler of faults: nothing under it touches memory that can fault.
#ifndef LIDO_CHECK_ZONE_H
#define LIDO_CHECK_ZONE_H

#include "check/check.h"
#include "slab/segment.h"

enum {
    LIDO__GUARD_EDGE = 16,             // least bytes of pattern on each side of a guarded block
    LIDO__GUARD_SLOT_MAX = 1 << 20,    // larger ones are paged
    LIDO__PAGED_PAGES_MAX = 16,        // larger ones are solo
    LIDO__GUARD_SHAPES = 57,           // 64 bytes to 1 MiB, four to a doubling
    LIDO__SHAPE_COUNT = LIDO__GUARD_SHAPES + LIDO__PAGED_PAGES_MAX,
};

typedef struct lido__zone {
    struct lido__zone *next;      // [const once listed]
    struct lido__shape *shape;    // [const] NULL: solo
    char *memory;                 // [const] with the pages that cannot be accessed; solo: [lock:solos] written
    size_t memory_bytes;          // likewise
    char *slots;                  // [const]; solo: changes only while its record is BUSY
    size_t slot_bytes;            // likewise; distance of slots
    size_t data_bytes;            // likewise; of a slot
    uint32_t slot_count;          // [const]
    bool paged;                   // [const]
    bool mapped;                  // [lock:solos] written; solo: a mapping of its own
    struct lido__zone *queued;    // [lock:solos] solo: the next that rests, or that has no memory
    lido__checked records[];
} lido__zone;

typedef struct lido__shape {
    lido__lock lock;
    lido__checked *free;                      // [lock:shape] linked by `newer`
    lido__checked *rest_first, *rest_last;    // [lock:shape] the one that has rested longest first
    uint32_t rest_count;                      // [lock:shape]
    lido__zone *zone;                         // [lock:shape] the newest
    uint32_t fresh;                           // [lock:shape] slots of it that were handed out at least once
    uint32_t zone_count;                      // [lock:shape]
} lido__shape;

// The zone in which p lies, or NULL.
LIDO__HIDDEN lido__zone *lido__zone_of(const void *p);
// The slot nearest to p in its zone.
LIDO__HIDDEN lido__checked *lido__zone_record(lido__zone *zone, const void *p);
LIDO_INLINE char *lido__zone_slot(const lido__zone *zone, const lido__checked *record) {
    return zone->slots + (size_t)(record - zone->records) * zone->slot_bytes;
}
// Calls `call` for every zone.
LIDO__HIDDEN void lido__zones_each(void (*call)(lido__zone *zone, void *context), void *context);

// A slot for a block, BUSY, its data accessible; waits while somebody looks at what rested there. *rested: a guarded one that comes from its rest, to be looked over by the
// caller. NULL: no memory.
LIDO__HIDDEN lido__checked *lido__slot_take(bool paged, size_t data_bytes, lido__zone **zone, bool *rested);
// Puts a BUSY slot to rest; its data becomes inaccessible if it is paged. The state is RESTING before anybody can find it in the
// queue.
LIDO__HIDDEN void lido__slot_rest(lido__zone *zone, lido__checked *record);
// False once so many paged blocks are alive that small ones must be guarded instead.
LIDO__HIDDEN bool lido__may_be_paged(void);
// For fork.
LIDO__HIDDEN void lido__zones_each_lock(void (*call)(lido__lock *));

#endif
