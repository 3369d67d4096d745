// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The life of checked blocks: made, freed, looked over. See check.h for the picture.
#include "check/zone.h"

#include "os/os.h"
#include "os/probes.h"
#include "os/tools.h"
#include "trace/stack.h"

#include <string.h>

// Bytes of a new or a freed block that are filled at most: beyond, a block is so large that it has pages of its own, which fault.
enum { FILL_MAX = 1 << 20 };
// How long to wait before asking again whether a look is over. A look is a microsecond, unless it has something to report.
enum { LOOK_NS = 50000 };

static _Atomic uint64_t allocations;    // relaxed: only the number counts

// --- surroundings ---------------------------------------------------------------------------------------------------

typedef struct span {
    char *start, *end;
} span;

static span data_of(const lido__zone *zone, const lido__checked *record) {
    char *slot = lido__zone_slot(zone, record);
    return (span){slot, slot + zone->data_bytes};
}

// The first byte of [start, end) that is not `wanted`, or NULL. By words: this is most of the cost of guard mode.
static char *first_other(char *start, const char *end, unsigned char wanted) {
    uint64_t pattern = wanted * UINT64_C(0x0101010101010101), word;
    while (start < end && ((uintptr_t)start & 7) != 0) {
        if ((unsigned char)*start != wanted) return start;
        start++;
    }
    for (; end - start >= 8; start += 8) {
        memcpy(&word, start, 8);
        if (LIDO_UNLIKELY(word != pattern)) break;
    }
    for (; start < end; start++) {
        if ((unsigned char)*start != wanted) return start;
    }
    return NULL;
}

static size_t damage_length(const char *first, const char *end, unsigned char wanted) {
    while (end > first && (unsigned char)end[-1] == wanted) end--;
    return (size_t)(end - first);
}

// Reports the damage in [start, end), if there is any, and puts the pattern back, so that it is reported once.
static bool look_at(lido__checked *record, char *start, char *end, unsigned char wanted, const char *what,
                    const char *call) {
    if (lido__tools_see_accesses()) return false;    // it says so itself, and there are no patterns
    char *damaged = first_other(start, end, wanted);
    if (LIDO_LIKELY(damaged == NULL)) return false;
    size_t length = damage_length(damaged, end, wanted);
    lido__finding finding = {.what = what,
                             .call = call,
                             .address = damaged,
                             .record = record,
                             .damaged = damaged,
                             .damaged_bytes = length,
                             .claimed_bytes = SIZE_MAX};
    lido__check_report(&finding);
    memset(damaged, wanted, length);
    return true;
}

// What was written around a block; what lies before it may be a whole page or more, whose end is enough.
static size_t look_around(const lido__zone *zone, lido__checked *record, const char *call) {
    span data = data_of(zone, record);
    return (size_t)look_at(record, data.start, record->block, LIDO__CHECK_FRONT, "write before the start", call) +
           look_at(record, record->block + record->bytes, data.end, LIDO__CHECK_REAR, "write behind the end", call);
}

static size_t filled_bytes(const lido__checked *record) { return lido__min(record->bytes, FILL_MAX); }

// A guarded block that rests, or comes from its rest.
static size_t look_at_rested(const lido__zone *zone, lido__checked *record) {
    char *block = record->block;
    return (size_t)look_at(record, block, block + filled_bytes(record), LIDO__CHECK_POISON, "write after free", NULL) +
           look_around(zone, record, NULL);
}

// --- making ---------------------------------------------------------------------------------------------------------

uint64_t lido__check_moment(void) { return LIDO__ATOMIC_LOAD(&allocations, relaxed); }
uint64_t lido_check_moment(void) { return lido__check_moment(); }

// malloc's blocks are many, end one by one, and are found by walking over zones: for them a list and its lock would be a fifth of
// what guard costs. So they are only counted.
static bool keeps_list(const lido__check_source *source) { return source != &lido__check_malloc_source; }

static void count_live(lido__check_source *source, size_t blocks, size_t bytes) {
    LIDO__ATOMIC_ADD(&source->live, blocks, relaxed);
    LIDO__ATOMIC_ADD(&source->live_bytes, bytes, relaxed);
}

static void publish(lido__checked *record, lido__check_state state) {
    LIDO__ATOMIC_STORE(&record->state, (uint8_t)state, release);    // pairs with lido__checked_state
}

static void make_live(lido__checked *record) {
    lido__check_source *source = record->source;
    count_live(source, 1, record->bytes);
    if (!keeps_list(source)) {
        publish(record, LIDO__CHECK_LIVE);
        return;
    }
    lido__lock_acquire(&source->lock, LIDO__RANK_CHECK);
    record->older = source->newest;
    record->newer = NULL;
    if (source->newest != NULL) source->newest->newer = record;
    source->newest = record;
    source->held++;
    publish(record, LIDO__CHECK_LIVE);
    lido__lock_release(&source->lock, LIDO__RANK_CHECK);
}

static void unlist_locked(lido__check_source *source, const lido__checked *record) {
    if (record->newer != NULL) {
        record->newer->older = record->older;
    } else {
        source->newest = record->older;
    }
    if (record->older != NULL) record->older->newer = record->newer;
}

bool lido__checked_claim(lido__checked *record, lido__check_state from) {
    for (;;) {
        uint8_t seen = (uint8_t)from;
        // acquire, pairs with the releases of publish and of whoever looked; of two claims at once one gets it
        if (LIDO__ATOMIC_CAS(&record->state, &seen, (uint8_t)LIDO__CHECK_BUSY, acquire)) return true;
        if (seen != (uint8_t)(from | LIDO__CHECK_LOOKED)) return false;
        if (lido__lock_exempt) return true;    // on the way to abort; who looks may be this thread
        static _Atomic uint32_t never;
        lido__os_wait_until(&never, 0, lido__os_time_ns() + LOOK_NS);
    }
}

// Of two frees at once one gets the block, BUSY and in no list.
static bool make_busy(lido__checked *record) {
    lido__check_source *source = record->source;
    bool listed = keeps_list(source);
    if (listed) lido__lock_acquire(&source->lock, LIDO__RANK_CHECK);
    bool got = lido__checked_claim(record, LIDO__CHECK_LIVE);
    if (got && listed) unlist_locked(source, record);
    if (listed) lido__lock_release(&source->lock, LIDO__RANK_CHECK);
    if (got) count_live(source, (size_t)-1, (size_t)0 - record->bytes);
    return got;
}

static void fill(const lido__zone *zone, const lido__checked *record) {
    span data = data_of(zone, record);
    if (lido__tools_see_accesses()) {
        lido__tools_hide(data.start, (size_t)(data.end - data.start));
        lido__tools_out(record->source, record->block, record->bytes);
        return;
    }
    char *end = record->block + record->bytes;
    memset(data.start, LIDO__CHECK_FRONT, (size_t)(record->block - data.start));
    memset(record->block, LIDO__CHECK_FRESH, filled_bytes(record));
    memset(end, LIDO__CHECK_REAR, (size_t)(data.end - end));
}

// A slot and in it the place for the block.
static lido__checked *place(bool paged, size_t bytes, size_t alignment, lido__zone **zone) {
    bool rested;
    size_t edge = LIDO__GUARD_EDGE, slack = alignment > edge ? alignment - edge : 0, asked = lido__max(bytes, 1);
    if (bytes > PTRDIFF_MAX - 2 * edge || alignment > PTRDIFF_MAX - 2 * edge - bytes) return NULL;
    if (paged && edge + slack + asked + edge <= LIDO__GUARD_SLOT_MAX && !lido__may_be_paged()) paged = false;
    // a page's end is aligned to anything up to a page
    size_t above_page = alignment > lido__os_page_bytes() ? alignment : 0;
    size_t need = paged ? lido__round_up(asked, alignment) + above_page : edge + slack + asked + edge;
    lido__checked *record = lido__slot_take(paged, need, zone, &rested);
    if (record == NULL) return NULL;
    if (rested && !(*zone)->paged) look_at_rested(*zone, record);
    span data = data_of(*zone, record);
    if ((*zone)->paged &&
        LIDO__ATOMIC_LOAD(&lido__options.check_front, relaxed) == 0) {    // relaxed: see base/options.h
        record->block = (char *)lido__round_down((uintptr_t)data.end - asked, alignment);
    } else if ((*zone)->paged) {
        record->block = (char *)lido__round_up((uintptr_t)data.start, alignment);
    } else {
        record->block = (char *)lido__round_up((uintptr_t)data.start + LIDO__GUARD_EDGE, alignment);
    }
    return record;
}

void *lido__checked_alloc(lido__check_source *source, lido_check_level level, size_t bytes, size_t alignment,
                          lido__check_call call, uint64_t stamp) {
    lido__zone *zone;
    bool paged = level == LIDO_CHECK_PAGE || level == LIDO_CHECK_SAMPLE || bytes + alignment > LIDO__GUARD_SLOT_MAX / 2;
    lido__check_watch_faults();
    lido__checked *record = place(paged, bytes, alignment, &zone);
    if (record == NULL) return NULL;
    if (record->source != NULL) lido__check_source_drop(record->source);
    record->bytes = bytes;
    record->source = source;
    record->number = LIDO__ATOMIC_ADD(&allocations, 1u, relaxed) + 1;
    record->stamp = stamp;
    record->call = (uint8_t)call;
    record->made_ms = lido__os_clock_ms();
    record->made_thread = lido__os_thread_id();
    record->made_stack = lido__tools_keep_stacks() ? 0 : lido__stack_here(1);
    fill(zone, record);
    if (lido__tools_count() && source != &lido__check_malloc_source) lido__tools_count_out(record->block, bytes);
    make_live(record);
    LIDO__PROBE4(checked_alloc, source, source->name, record->block, bytes);
    return record->block;
}

// --- finding --------------------------------------------------------------------------------------------------------

lido__checked *lido__checked_find(const void *p) {
    lido__zone *zone = lido__zone_of(p);
    return zone != NULL ? lido__zone_record(zone, p) : NULL;
}

size_t lido__checked_bytes(const void *p) {
    const lido__checked *record = lido__checked_find(p);
    return record != NULL && record->block == p && lido__checked_state(record) == LIDO__CHECK_LIVE ? record->bytes : 0;
}

// --- ending ---------------------------------------------------------------------------------------------------------

static bool refuse(const lido__checked *record, const void *p, const lido__check_claim *claim, const char *what) {
    lido__finding finding = {.what = what,
                             .call = claim->name,
                             .address = p,
                             .record = record,
                             .expected = claim->source,
                             .claimed_bytes = claim->bytes};
    lido__check_report(&finding);
    return false;
}

static bool starts_live_block(const lido__checked *record, const void *p, const lido__check_claim *claim) {
    switch (lido__checked_state(record)) {
        case LIDO__CHECK_LIVE: break;
        case LIDO__CHECK_RESTING:
            return refuse(record, p, claim, record->block == p ? "double free" : "pointer into a freed block");
        case LIDO__CHECK_BUSY: return refuse(record, p, claim, "another thread frees it at this moment");
        default: return refuse(NULL, p, claim, "not the start of a block; freed long ago, or never given out");
    }
    if (record->block == p) return true;
    bool inside = (const char *)p > record->block && (const char *)p < record->block + record->bytes;
    return refuse(record, p, claim, inside ? "inside of a block" : "beside a block");
}

static bool is_as_claimed(const lido__checked *record, const void *p, const lido__check_claim *claim) {
    if (claim->source != NULL && record->source != claim->source)
        return refuse(record, p, claim, "block of another pool");
    if (claim->call != LIDO__CALL_ANY && claim->call != record->call) return refuse(record, p, claim, "wrong call");
    if (claim->bytes != SIZE_MAX && claim->bytes != record->bytes) return refuse(record, p, claim, "wrong size");
    if (record->source->thread != 0 && record->source->thread != lido__os_thread_id())
        return refuse(record, p, claim, "freed by another thread than its pool's");
    return true;
}

bool lido__checked_require(const void *p, const lido__check_claim *claim) {
    const lido__checked *record = lido__checked_find(p);
    return starts_live_block(record, p, claim) && is_as_claimed(record, p, claim);
}

// Of a BUSY record that is in no list.
static void end(lido__zone *zone, lido__checked *record, lido__check_end how, unsigned skip) {
    LIDO__PROBE4(checked_free, record->source, record->source->name, record->block, record->bytes);
    record->end = (uint8_t)how;
    record->ended_ms = lido__os_clock_ms();
    record->ended_thread = lido__os_thread_id();
    record->ended_stack = lido__tools_keep_stacks() ? 0 : lido__stack_here(skip + 1);
    if (lido__tools_see_accesses()) {
        span data = data_of(zone, record);
        lido__tools_back(record->source, record->block);
        lido__tools_hide(data.start, (size_t)(data.end - data.start));
    } else if (!zone->paged) {
        memset(record->block, LIDO__CHECK_POISON, filled_bytes(record));
    }
    if (lido__tools_count() && record->source != &lido__check_malloc_source) lido__tools_count_back(record->block);
    lido__slot_rest(zone, record);
}

bool lido__checked_free(void *p, const lido__check_claim *claim) {
    lido__zone *zone = lido__zone_of(p);
    lido__checked *record = lido__zone_record(zone, p);
    if (!starts_live_block(record, p, claim) || !is_as_claimed(record, p, claim)) return false;
    if (!make_busy(record)) return refuse(record, p, claim, "double free");
    look_around(zone, record, claim->name);
    end(zone, record, LIDO__END_FREE, 1);
    return true;
}

// --- all of a source ------------------------------------------------------------------------------------------------

// The newest live block with a stamp from this one on, BUSY and out of the list; NULL if there is none.
static lido__checked *claim_newest(lido__check_source *source, uint64_t stamp) {
    lido__lock_acquire(&source->lock, LIDO__RANK_CHECK);
    lido__checked *record = source->newest;
    bool got = record != NULL && record->stamp >= stamp && lido__checked_claim(record, LIDO__CHECK_LIVE);
    if (got) unlist_locked(source, record);
    lido__lock_release(&source->lock, LIDO__RANK_CHECK);
    if (!got) return NULL;
    count_live(source, (size_t)-1, (size_t)0 - record->bytes);
    return record;
}

size_t lido__checked_end_all(lido__check_source *source, uint64_t stamp, lido__check_end how) {
    size_t count = 0;
    lido__checked *record;
    for (; (record = claim_newest(source, stamp)) != NULL; count++) {
        lido__zone *zone = lido__zone_of(record->block);
        look_around(zone, record, NULL);
        end(zone, record, how, 1);
    }
    return count;
}

size_t lido__checked_visit(lido__check_source *source, bool (*visit)(void *block, void *context), void *context) {
    size_t count = 0;
    bool more = true;
    lido__checked *record = source->newest;
    while (record != NULL && more) {
        lido__checked *older = record->older;    // the visitor may free the block
        more = visit(record->block, context);
        count++;
        record = older;
    }
    return count;
}

// --- all of them ----------------------------------------------------------------------------------------------------

typedef struct look {
    uint64_t after;    // at blocks with higher numbers
    size_t count;      // of what was damaged
} look;

static _Atomic uint32_t lookers;    // relaxed: threads that may have set LOOKED somewhere, for fork

// Keeps a block as it is while it is looked at: false if it is neither LIVE nor RESTING, or somebody else looks.
static bool hold(lido__checked *record, lido__check_state *state) {
    *state = lido__checked_state(record);
    if (*state != LIDO__CHECK_LIVE && *state != LIDO__CHECK_RESTING) return false;
    uint8_t seen = (uint8_t)*state;
    return LIDO__ATOMIC_CAS(&record->state, &seen, (uint8_t)(*state | LIDO__CHECK_LOOKED), acquire);
}

static void look_at_zone(lido__zone *zone, void *context) {
    look *all = (look *)context;
    for (uint32_t i = 0; i < zone->slot_count; i++) {
        lido__checked *record = &zone->records[i];
        lido__check_state state;
        if (!hold(record, &state)) continue;
        if (record->number > all->after) {
            if (state == LIDO__CHECK_LIVE) all->count += look_around(zone, record, NULL);
            if (state == LIDO__CHECK_RESTING && !zone->paged) all->count += look_at_rested(zone, record);
        }
        publish(record, state);
    }
}

static size_t check_all(uint64_t after) {
    look all = {after, 0};
    LIDO__ATOMIC_ADD(&lookers, 1u, relaxed);
    lido__zones_each(look_at_zone, &all);
    LIDO__ATOMIC_SUB(&lookers, 1u, relaxed);
    return all.count;
}

size_t lido_check_all(void) { return check_all(0); }

void lido__check_each_lock(void (*call)(lido__lock *)) {
    lido__check_sources_each_lock(call);
    lido__zones_each_lock(call);
    lido__check_grave_lock(call);
}

// --- the end of the process -----------------------------------------------------------------------------------------

static uint64_t inherited;    // [const] from the fork on: blocks up to this number were made by the parent

static void forget_look(lido__zone *zone, void *context) {
    (void)context;
    for (uint32_t i = 0; i < zone->slot_count; i++) publish(&zone->records[i], lido__checked_state(&zone->records[i]));
}

void lido__check_after_fork(void) {
    inherited = lido__check_moment();
    if (LIDO__ATOMIC_LOAD(&lookers, relaxed) == 0) return;    // the threads that looked are not in the child
    LIDO__ATOMIC_STORE(&lookers, 0u, relaxed);
    lido__zones_each(forget_look, NULL);
}

// Runs after the program's own destructors, which belong to what depends on this library. A forked child answers for the blocks
// that it made itself, and not at all if it leaves by _exit.
__attribute__((destructor)) static void lido__check_at_exit(void) {
    if (lido__check_moment() == inherited) return;
    lido__check_clear_graves();
    if (LIDO__ATOMIC_LOAD(&lido__options.leaks_at_exit, relaxed) != 0) lido__check_alive(NULL, inherited);
    check_all(inherited);
}
