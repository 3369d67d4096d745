// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Slices: finding, committing, taking back, giving to the system. See segment.h for the picture.
//
// Search is lowest address first, so that a heap that shrinks empties its upper segments. slot_room[] bounds from above
// the longest free run of each segment, so that full segments are passed over two bytes at a time.
#include "slab/segment.h"

#include "base/options.h"
#include "os/os.h"
#include "os/probes.h"
#include "os/tools.h"
#include "slab/state.h"

#include <string.h>

enum {
    // Commit steps: an eighth of what is in use, at least 256 KiB (guess: 4 system calls to the first megabyte).
    COMMIT_LEAST_SLICES = 4,
    COMMIT_SHARE = 8,
    HUGE_SLICES = (2 << 20) / LIDO__SLICE_BYTES,
    // Where segments are wanted: 2 to 10 TiB (2^18 places of 32 MiB), far from where Linux puts programs, libraries, stacks and mmap, within what
    // Valgrind manages, and a different place in every process.
    PLACE_FIRST_TIB = 2,
    PLACE_COUNT_LOG2 = 18,
};

enum { STATES_BYTES = LIDO__SEGMENT_BYTES / LIDO__STATE_BYTES };

static lido__lock the_lock;
#define LOCK() lido__lock_acquire(&the_lock, LIDO__RANK_SEGMENTS)
#define UNLOCK() lido__lock_release(&the_lock, LIDO__RANK_SEGMENTS)

lido__window lido__the_window;

// All [lock:segments].
static uint16_t *slot_room;    // per place in the window: longest free run is at most this; 0: full or no segment
static uint8_t *slot_used;     // per place: 1 if a segment is there
static size_t slot_count, slot_top;    // places; all segments lie below slot_top
static lido__segment_totals totals;
static uint32_t last_purge;

lido__lock *lido__segments_lock(void) { return &the_lock; }

static lido__segment *segment_at(size_t slot) {
    return (lido__segment *)(lido__the_window.base + (slot << LIDO__SEGMENT_SHIFT));
}

// --- maps -----------------------------------------------------------------------------------------------------------

static bool map_get(const uint64_t *map, size_t i) { return (map[i / 64] >> (i % 64)) & 1; }

static void map_set(uint64_t *map, size_t i, size_t count, bool value) {
    for (size_t end = i + count; i < end;) {
        size_t bits = lido__min(64 - i % 64, end - i);
        uint64_t mask = (bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1) << (i % 64);
        map[i / 64] = value ? map[i / 64] | mask : map[i / 64] & ~mask;
        i += bits;
    }
}

// The first i >= from with bit == value, or `limit`.
static size_t map_find(const uint64_t *map, size_t from, size_t limit, bool value) {
    while (from < limit) {
        uint64_t word = (value ? map[from / 64] : ~map[from / 64]) >> (from % 64);
        if (word != 0) return lido__min(from + lido__lowest_bit(word), limit);
        from = (from / 64 + 1) * 64;
    }
    return limit;
}

static size_t map_count(const uint64_t *map, size_t i, size_t count) {
    size_t ones = 0;
    for (size_t end = i + count; i < end; i++) ones += map_get(map, i);
    return ones;
}

// --- the window and new segments ------------------------------------------------------------------------------------

// Four times physical memory, at least 64 GiB: room for fragmentation, and for everything that is freed late. With a
// limit on address space, the limit is enough.
static size_t window_bytes(void) {
    size_t bytes = lido__max(lido__os_memory_bytes() * 4, (size_t)64 << 30);
    size_t limit = lido__os_address_limit();
    if (limit < bytes) bytes = lido__max(limit, (size_t)1 << 30);
    return lido__round_up(bytes, LIDO__SEGMENT_BYTES);
}

static bool window_open(void) {
    size_t bytes = window_bytes();
    size_t slices = bytes >> LIDO__SLICE_SHIFT, slots = bytes >> LIDO__SEGMENT_SHIFT;
    size_t table_bytes = lido__round_up(slices * sizeof(uint16_t) + slots * (sizeof *slot_room + sizeof *slot_used),
                                        lido__os_page_bytes());
    // A place that nobody has: our choice, or, where the system insists on its own, the middle of a window around it.
    uintptr_t base = 0;
    for (int i = 0; i < 4 && base == 0 && lido__os_lets_choose(); i++) {
        size_t step = (size_t)(lido__os_random() * 2654435761u + (unsigned)i * 0x9E3779B9u) >> (32 - PLACE_COUNT_LOG2);
        uintptr_t place = ((uintptr_t)PLACE_FIRST_TIB << 40) + (step << LIDO__SEGMENT_SHIFT);
        lido__os_result result = lido__os_reserve_at((void *)place, LIDO__SLICE_BYTES);
        // refused may also mean that addresses do not reach that far: below, the system chooses
        if (result == LIDO__OS_OK) {
            lido__os_release((void *)place, LIDO__SLICE_BYTES);
            base = place;
        }
    }
    if (base == 0) {
        void *probe = lido__os_reserve(LIDO__SLICE_BYTES, LIDO__SLICE_BYTES);
        if (probe == NULL) return false;
        lido__os_release(probe, LIDO__SLICE_BYTES);
        uintptr_t middle = lido__round_down((uintptr_t)probe, LIDO__SEGMENT_BYTES);
        base = middle > bytes / 2 + LIDO__SEGMENT_BYTES ? middle - lido__round_up(bytes / 2, LIDO__SEGMENT_BYTES)
                                                        : LIDO__SEGMENT_BYTES;
    }
    char *memory = lido__os_map(table_bytes);
    if (memory == NULL) return false;
    lido__the_window.table = (_Atomic uint16_t *)(void *)memory;
    slot_room = (uint16_t *)(void *)(memory + slices * sizeof(uint16_t));
    slot_used = (uint8_t *)(void *)(slot_room + slots);
    slot_count = slots;
    lido__the_window.base = base;
    LIDO__ATOMIC_STORE(&lido__the_window.slices, slices, release);    // pairs with lido__window_entry
    return true;
}

static bool segment_start(size_t slot, size_t slices) {
    lido__segment *segment = segment_at(slot);
    if (!lido__os_commit(segment, LIDO__HEADER_SLICES * LIDO__SLICE_BYTES)) {
        lido__os_release(segment, slices * LIDO__SLICE_BYTES);
        return false;
    }
    segment->slot = (uint32_t)slot;
    segment->slice_count = (uint32_t)slices;
    segment->free_count = (uint32_t)(slices - LIDO__HEADER_SLICES);
    segment->committed = LIDO__HEADER_SLICES;
    segment->huge_from = LIDO__SEGMENT_SLICES;
    map_set(segment->used, 0, LIDO__HEADER_SLICES, true);
    map_set(segment->used, slices, LIDO__SEGMENT_SLICES - slices, true);
    slot_used[slot] = 1;
    slot_room[slot] = (uint16_t)segment->free_count;
    slot_top = lido__max(slot_top, slot + 1);
    totals.segments++;
    totals.reserved_bytes += slices * LIDO__SLICE_BYTES;
    totals.committed_bytes += LIDO__HEADER_SLICES * LIDO__SLICE_BYTES;
    if (lido__tools != 0) lido__tools_memory(segment, slices * LIDO__SLICE_BYTES, true);
    LIDO__PROBE2(segment_new, segment, slices * LIDO__SLICE_BYTES);
    return true;
}

// A segment with room for `slices`; whole if the system gives that much, else shorter.
static bool segment_new(size_t slices) {
    if (lido__the_window.table == NULL && !window_open()) return false;
    size_t need = slices + LIDO__HEADER_SLICES;
    for (size_t size = LIDO__SEGMENT_SLICES; size >= need && size >= 2 * LIDO__HEADER_SLICES; size /= 4) {
        lido__os_result result = LIDO__OS_TAKEN;
        for (size_t slot = 0; slot < slot_count && result == LIDO__OS_TAKEN; slot++) {
            if (slot_used[slot]) continue;
            result = lido__os_reserve_at(segment_at(slot), size * LIDO__SLICE_BYTES);
            if (result == LIDO__OS_OK) return segment_start(slot, size);
        }
        if (result == LIDO__OS_TAKEN) return false;    // the window is full
    }
    return false;
}

static bool has_states(const _Atomic uint8_t *states) { return (uintptr_t)states > (uintptr_t)LIDO__STATES_NEVER; }

static void segment_release(lido__segment *segment) {
    size_t slot = segment->slot, bytes = (size_t)segment->slice_count * LIDO__SLICE_BYTES;
    totals.segments--;
    totals.reserved_bytes -= bytes;
    totals.committed_bytes -= (size_t)segment->committed * LIDO__SLICE_BYTES;
    totals.dirty_free_bytes -= (size_t)segment->dirty_free_count * LIDO__SLICE_BYTES;
    slot_used[slot] = 0;
    slot_room[slot] = 0;
    while (slot_top > 0 && !slot_used[slot_top - 1]) slot_top--;
    // relaxed: nobody has a block of it any more
    _Atomic uint8_t *states = LIDO__ATOMIC_LOAD(&segment->states, relaxed);
    if (has_states(states)) lido__os_release((void *)states, STATES_BYTES);
    if (lido__tools != 0) {
        lido__tools_show(segment, bytes);
        lido__tools_memory(segment, bytes, false);
    }
    LIDO__PROBE2(segment_free, segment, bytes);
    lido__os_release(segment, bytes);
}

// --- states ---------------------------------------------------------------------------------------------------------

void lido__states_new(lido__segment *segment) {
    _Atomic uint8_t *states = LIDO__ATOMIC_LOAD(&segment->states, relaxed), *before = NULL;
    if (states != NULL) return;
    states = (_Atomic uint8_t *)lido__os_map(STATES_BYTES);
    if (states == NULL) states = LIDO__STATES_NEVER;
    // release, pairs with the acquire in lido__state_if_any; of two at once one gets it
    if (LIDO__ATOMIC_CAS(&segment->states, &before, states, release)) return;
    if (has_states(states)) lido__os_release((void *)states, STATES_BYTES);
}

void lido__slab_states_clear(const lido__slab *slab) {
    enum { SLICE = LIDO__SLICE_BYTES / LIDO__STATE_BYTES };
    _Atomic uint8_t *states = LIDO__ATOMIC_LOAD(&lido__segment_of(slab)->states, acquire);    // as above
    if (has_states(states))
        memset((void *)(states + lido__slab_slice(slab) * SLICE), 0, (size_t)slab->slice_count * SLICE);
}

static bool segment_is_empty(const lido__segment *segment) {
    return segment->free_count == segment->slice_count - LIDO__HEADER_SLICES;
}

// --- runs -----------------------------------------------------------------------------------------------------------

// Makes slices below `end` usable. Grows in steps; under pressure exactly what is needed.
static bool commit_to(lido__segment *segment, size_t end) {
    if (end <= segment->committed) return true;
    size_t in_use = totals.used_bytes / LIDO__SLICE_BYTES;
    size_t target = lido__max(end, segment->committed + lido__max(in_use / COMMIT_SHARE, COMMIT_LEAST_SLICES));
    target = lido__min(target, segment->slice_count);
    uint32_t huge_from_mb = LIDO__ATOMIC_LOAD(&lido__options.huge_from_mb, relaxed);
    bool huge = huge_from_mb != UINT32_MAX && totals.used_bytes >= (size_t)huge_from_mb << 20;
    if (huge) target = lido__min(lido__round_up(target, HUGE_SLICES), segment->slice_count);
    char *start = (char *)segment + (size_t)segment->committed * LIDO__SLICE_BYTES;
    if (!lido__os_commit(start, (target - segment->committed) * LIDO__SLICE_BYTES)) {
        target = end;
        huge = false;
        if (!lido__os_commit(start, (target - segment->committed) * LIDO__SLICE_BYTES)) return false;
    }
    if (huge) {
        size_t from = lido__round_up(segment->committed, HUGE_SLICES);
        if (from < target) {
            lido__os_advise_huge((char *)segment + from * LIDO__SLICE_BYTES, (target - from) * LIDO__SLICE_BYTES);
            segment->huge_from = (uint32_t)lido__min(segment->huge_from, from);
        }
    }
    totals.committed_bytes += (target - segment->committed) * LIDO__SLICE_BYTES;
    segment->committed = (uint32_t)target;
    return true;
}

// Lowest start of `count` free slices, or 0. Lowers the segment's room when there is none.
static size_t find_in_segment(lido__segment *segment, size_t count, size_t alignment) {
    size_t longest = 0;
    for (size_t i = LIDO__HEADER_SLICES; i < segment->slice_count;) {
        i = map_find(segment->used, i, segment->slice_count, false);
        size_t end = map_find(segment->used, i, segment->slice_count, true);
        size_t start = lido__round_up(i, alignment);
        if (start + count <= end) return start;
        longest = lido__max(longest, end - i);
        i = end;
    }
    slot_room[segment->slot] = (uint16_t)longest;
    return 0;
}

static void set_entries(const lido__slab *run, size_t from, size_t to, unsigned entry) {
    uintptr_t index = lido__window_index(lido__slab_memory(run));
    for (size_t i = from; i < to; i++) {
        // relaxed: the block that makes anybody look is published later
        LIDO__ATOMIC_STORE(&lido__the_window.table[index + i], (uint16_t)entry, relaxed);
    }
}

static void take_slices(lido__segment *segment, size_t start, size_t count) {
    size_t dirty = map_count(segment->dirty, start, count);
    segment->dirty_free_count -= (uint32_t)dirty;
    segment->free_count -= (uint32_t)count;
    totals.dirty_free_bytes -= dirty * LIDO__SLICE_BYTES;
    totals.used_bytes += count * LIDO__SLICE_BYTES;
    map_set(segment->used, start, count, true);
    map_set(segment->dirty, start, count, true);
}

static void mark_run(lido__slab *run, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) run[i].back = (uint16_t)i;
    run->slice_count = (uint16_t)to;
}

static lido__slab *take_run(lido__segment *segment, size_t start, lido__run_kind kind, size_t count, unsigned entry,
                            bool *zero) {
    *zero = map_count(segment->dirty, start, count) == 0;
    take_slices(segment, start, count);
    lido__slab *run = &segment->slabs[start];
    mark_run(run, 0, count);
    run->kind = (uint8_t)kind;
    run->huge = start >= segment->huge_from;
    set_entries(run, 0, count, entry);
    if (lido__tools != 0) lido__tools_show(lido__slab_memory(run), count * LIDO__SLICE_BYTES);
    if (kind == LIDO__RUN_SLAB) lido__slab_states_clear(run);
    return run;
}

static lido__slab *run_new_locked(lido__run_kind kind, size_t count, size_t alignment, unsigned entry, bool *zero) {
    for (;;) {
        bool refused = false;
        for (size_t slot = 0; slot < slot_top; slot++) {
            if (slot_room[slot] < count) continue;
            lido__segment *segment = segment_at(slot);
            size_t start = find_in_segment(segment, count, alignment);
            if (start == 0) continue;
            if (commit_to(segment, start + count)) return take_run(segment, start, kind, count, entry, zero);
            refused = true;    // a higher segment may have room that is committed already
        }
        // the new segment must do, or this would make segments for ever: what the alignment leaves unused in front counts
        if (refused || !segment_new(count + lido__round_up(LIDO__HEADER_SLICES, alignment) - LIDO__HEADER_SLICES))
            return NULL;
    }
}

lido__slab *lido__run_new(lido__run_kind kind, size_t count, size_t alignment, unsigned entry, bool *zero) {
    LIDO_ASSERT(count > 0 && count <= LIDO__RUN_MAX_SLICES);
    LOCK();
    lido__slab *run = run_new_locked(kind, count, alignment, entry, zero);
    UNLOCK();
    return run;
}

static void free_slices(lido__segment *segment, size_t start, size_t count, uint32_t now) {
    for (size_t i = start; i < start + count; i++) {
        segment->slabs[i].kind = LIDO__RUN_FREE;
        segment->slabs[i].set = NULL;
        segment->slabs[i].back = 0;
        segment->slabs[i].freed_at = now;
    }
    map_set(segment->used, start, count, false);
    segment->free_count += (uint32_t)count;
    segment->dirty_free_count += (uint32_t)count;
    totals.used_bytes -= count * LIDO__SLICE_BYTES;
    totals.dirty_free_bytes += count * LIDO__SLICE_BYTES;
    slot_room[segment->slot] = (uint16_t)segment->free_count;
}

// Takes slices [from, end) from a run. True if it is time to purge, once the lock is released.
static bool cut_run_locked(lido__slab *run, size_t from) {
    uint32_t now = lido__os_clock_ms();
    uint32_t delay = LIDO__ATOMIC_LOAD(&lido__options.purge_delay_ms, relaxed);
    set_entries(run, from, run->slice_count, LIDO__ENTRY_NONE);
    free_slices(lido__segment_of(run), lido__slab_slice(run) + from, run->slice_count - from, now);
    bool due = lido__os_age_ms(now, last_purge) > delay / 4 || delay == 0;
    if (due) last_purge = now;
    return due;
}

void lido__run_free(lido__slab *run) {
    if (run->kind == LIDO__RUN_SLAB)
        LIDO__PROBE2(slab_free, lido__slab_memory(run), (size_t)run->slice_count * LIDO__SLICE_BYTES);
    LOCK();
    bool due = cut_run_locked(run, 0);
    UNLOCK();
    if (due) lido__segments_purge(false, 0);
}

bool lido__run_resize(lido__slab *run, size_t count) {
    bool done = true, due = false;
    LOCK();
    lido__segment *segment = lido__segment_of(run);
    size_t start = lido__slab_slice(run), old = run->slice_count;
    if (count < old) {
        due = cut_run_locked(run, count);
        run->slice_count = (uint16_t)count;
    } else if (count > old) {
        done = start + count <= segment->slice_count &&
               map_find(segment->used, start + old, start + count, true) == start + count &&
               commit_to(segment, start + count);
        if (done) {
            take_slices(segment, start + old, count - old);
            mark_run(run, old, count);
            if (lido__tools != 0)
                lido__tools_show(lido__slab_memory(run) + old * LIDO__SLICE_BYTES, (count - old) * LIDO__SLICE_BYTES);
            set_entries(run, old, count, lido__window_entry(lido__slab_memory(run)));
        }
    }
    UNLOCK();
    if (due) lido__segments_purge(false, 0);
    return done;
}

// --- giving back ----------------------------------------------------------------------------------------------------

// The next run of free dirty slices old enough, of at most `most`, marked as used so that nobody takes it; false if there is
// none.
static bool claim_purgeable(size_t *slot, size_t *start, size_t *count, size_t most, uint32_t now, uint32_t delay) {
    for (; *slot < slot_top; (*slot)++, *start = 0) {
        if (!slot_used[*slot]) continue;
        lido__segment *segment = segment_at(*slot);
        if (segment->dirty_free_count == 0) continue;
        size_t limit = segment->slice_count;
        for (size_t i = map_find(segment->dirty, *start, limit, true); i < limit;
             i = map_find(segment->dirty, i + 1, limit, true)) {
            size_t end = i;
            while (end < limit && end - i < most && map_get(segment->dirty, end) && !map_get(segment->used, end) &&
                   lido__os_age_ms(now, segment->slabs[end].freed_at) >= delay) {
                end++;
            }
            if (end == i) continue;
            map_set(segment->used, i, end - i, true);
            segment->free_count -= (uint32_t)(end - i);
            segment->dirty_free_count -= (uint32_t)(end - i);
            totals.dirty_free_bytes -= (end - i) * LIDO__SLICE_BYTES;
            *start = i;
            *count = end - i;
            return true;
        }
    }
    return false;
}

static void return_purged(lido__segment *segment, size_t start, size_t count, bool purged) {
    map_set(segment->used, start, count, false);
    segment->free_count += (uint32_t)count;
    slot_room[segment->slot] = (uint16_t)segment->free_count;
    if (purged) {
        map_set(segment->dirty, start, count, false);
    } else {
        segment->dirty_free_count += (uint32_t)count;
        totals.dirty_free_bytes += count * LIDO__SLICE_BYTES;
    }
}

static void release_empty_segments(bool all) {
    size_t kept = 0;
    for (size_t slot = 0; slot < slot_top; slot++) {
        if (!slot_used[slot] || !segment_is_empty(segment_at(slot))) continue;
        // what is dirty is kept on purpose, or not old enough; and one more stays: a program at the edge would map and
        // unmap it for ever
        if (!all && (kept == 0 || segment_at(slot)->dirty_free_count > 0)) {
            kept = 1;
            continue;
        }
        segment_release(segment_at(slot));
    }
}

size_t lido__segments_purge(bool all, size_t keep_bytes) {
    uint32_t now = lido__os_clock_ms();
    uint32_t delay = all ? 0 : LIDO__ATOMIC_LOAD(&lido__options.purge_delay_ms, relaxed);
    size_t slot = 0, start = 0, count = 0, purged_bytes = 0;
    LOCK();
    while (totals.dirty_free_bytes > keep_bytes) {
        size_t most = (totals.dirty_free_bytes - keep_bytes + LIDO__SLICE_BYTES - 1) >> LIDO__SLICE_SHIFT;
        if (!claim_purgeable(&slot, &start, &count, most, now, delay)) break;
        UNLOCK();
        lido__segment *segment = segment_at(slot);
        bool purged = lido__os_purge((char *)segment + start * LIDO__SLICE_BYTES, count * LIDO__SLICE_BYTES);
        LOCK();
        return_purged(segment, start, count, purged);
        if (purged) purged_bytes += count * LIDO__SLICE_BYTES;
        start += count;
    }
    if (all || purged_bytes > 0) release_empty_segments(all && keep_bytes == 0);
    UNLOCK();
    return purged_bytes;
}

lido__segment_totals lido__segments_totals(void) {
    LOCK();
    lido__segment_totals now = totals;
    UNLOCK();
    return now;
}

bool lido__segments_verify(void) {
    LOCK();
    size_t used = 0, dirty_free = 0, segments = 0;
    for (size_t slot = 0; slot < slot_top; slot++) {
        if (!slot_used[slot]) continue;
        segments++;
        const lido__segment *segment = segment_at(slot);
        size_t in_use = map_count(segment->used, 0, segment->slice_count);
        size_t dirty = 0;
        for (size_t i = 0; i < segment->slice_count; i++)
            dirty += map_get(segment->dirty, i) && !map_get(segment->used, i);
        if (in_use + segment->free_count != segment->slice_count)
            lido__assert_failed("used + free == slices", __FILE__, __LINE__);
        if (dirty != segment->dirty_free_count) lido__assert_failed("dirty free count", __FILE__, __LINE__);
        used += in_use - LIDO__HEADER_SLICES;
        dirty_free += dirty;
    }
    bool right = used * LIDO__SLICE_BYTES == totals.used_bytes &&
                 dirty_free * LIDO__SLICE_BYTES == totals.dirty_free_bytes && segments == totals.segments;
    UNLOCK();
    if (!right) lido__assert_failed("segment totals", __FILE__, __LINE__);
    return right;
}
