// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Segments in long random sequences against a shadow model: who has each slice, and whether it may be dirty. Each new run
// must lie where nothing else lies, at the lowest place that fits, aligned, with its entries in the window, zero exactly
// when the model says so; contents must survive. Then the same with calls of the system failing, and with threads.
#include "support.h"

#include "os/os.h"
#include "slab/segment.h"

#include <inttypes.h>
#include <lido/options.h>
#include <stdlib.h>

enum {
    SLICE = LIDO__SLICE_BYTES,
    RUNS_MAX = 160,
    OPERATIONS = UNIT_SANITIZED ? 20000 : 100000,
    THREADS = 4,
};

typedef enum purging {
    NEVER_PURGED,      // only by the calls of this test: the zero flag is exact
    PURGED_AT_ONCE,    // delay 0: nothing free is ever dirty
    FAILING,           // any call of the system may fail
} purging;

typedef struct live_run {
    lido__slab *run;
    char *memory;
    size_t count;
    uint64_t stamp;
    uint16_t entry;
} live_run;

typedef struct model {
    purging mode;
    uint64_t random;
    live_run runs[RUNS_MAX];
    size_t run_count, used, refusals;
    uint16_t *owner;    // per slice of the window: number of its run + 1, 0 free
    bool *dirty;        // per slice of the window
    uint32_t *live;     // per segment of the window: slices of live runs
} model;

static size_t slices_of_window(void) { return lido__the_window.slices; }

static void model_init(model *m, purging mode, uint64_t seed) {
    *m = (model){.mode = mode, .random = seed};
    bool zero;
    lido__run_free(lido__run_new(LIDO__RUN_META, 1, 1, LIDO__ENTRY_META, &zero));    // opens the window
    lido__segments_purge(true, 0);
    m->owner = calloc(slices_of_window(), sizeof *m->owner);
    m->dirty = calloc(slices_of_window(), sizeof *m->dirty);
    m->live = calloc(slices_of_window() / LIDO__SEGMENT_SLICES, sizeof *m->live);
    assert_true(m->owner != NULL && m->dirty != NULL && m->live != NULL);
}

static void model_fini(model *m) {
    free(m->owner);
    free(m->dirty);
    free(m->live);
}

static uint64_t pick_below(model *m, uint64_t limit) { return unit_random(&m->random) % limit; }

// Words that a run's owner writes: the first and the last of a slice, in up to 8 slices at each end (a touched page costs
// microseconds).
static bool is_stamped(const live_run *r, size_t slice) { return slice < 8 || slice + 8 >= r->count; }

static void stamp_slices(const live_run *r) {
    for (size_t i = 0; i < r->count; i++) {
        if (!is_stamped(r, i)) continue;
        ((uint64_t *)(void *)(r->memory + i * SLICE))[0] = r->stamp + i;
        ((uint64_t *)(void *)(r->memory + (i + 1) * SLICE))[-1] = ~(r->stamp + i);
    }
}

static void check_stamps(const live_run *r, size_t below) {
    for (size_t i = 0; i < r->count && i < below; i++) {
        if (!is_stamped(r, i)) continue;
        assert_int_equal(((uint64_t *)(void *)(r->memory + i * SLICE))[0], r->stamp + i);
        assert_int_equal(((uint64_t *)(void *)(r->memory + (i + 1) * SLICE))[-1], ~(r->stamp + i));
    }
}

static void check_entries(const live_run *r) {
    for (size_t i = 0; i < r->count; i++) {
        assert_int_equal(lido__window_entry(r->memory + i * SLICE + i), r->entry);
        assert_ptr_equal(lido__slab_of(r->memory + i * SLICE + i), r->run);
    }
}

// Slices [from, to) of a run change hands in the model.
static void account(model *m, size_t number, size_t from, size_t to, bool taken) {
    const live_run *r = &m->runs[number];
    size_t first = lido__window_index(r->memory);
    for (size_t i = first + from; i < first + to; i++) {
        assert_int_equal(m->owner[i], taken ? 0 : number + 1);
        m->owner[i] = (uint16_t)(taken ? number + 1 : 0);
        m->dirty[i] = m->mode != PURGED_AT_ONCE || taken;
    }
    m->used += taken ? to - from : from - to;
    m->live[first / LIDO__SEGMENT_SLICES] += (uint32_t)(taken ? to - from : from - to);
}

// No place below `first` would have done, in any segment that is known to be there.
static void check_lowest(model *m, size_t first, size_t count, size_t alignment) {
    size_t last_slot = first / LIDO__SEGMENT_SLICES;
    for (size_t slot = 0; slot <= last_slot; slot++) {
        if (m->live[slot] == 0) continue;
        size_t base = slot * LIDO__SEGMENT_SLICES, end = base + LIDO__SEGMENT_SLICES;
        for (size_t i = base + lido__round_up(LIDO__HEADER_SLICES, alignment); i + count <= end && i < first;) {
            size_t taken = 0;    // one more than the last taken slice in [i, i + count)
            for (size_t j = i; j < i + count; j++) taken = m->owner[j] != 0 ? j + 1 : taken;
            assert_int_not_equal(taken, 0);
            i = lido__round_up(taken, alignment);
        }
    }
}

static bool any_dirty(const model *m, size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) {
        if (m->dirty[i]) return true;
    }
    return false;
}

static void check_zero(const model *m, const live_run *r, bool zero) {
    bool dirty = any_dirty(m, lido__window_index(r->memory), r->count);
    if (m->mode != FAILING) assert_int_equal(zero, !dirty);    // else the model does not know what was purged
    for (size_t i = 0; zero && i < r->count; i++) {
        if (!is_stamped(r, i)) continue;
        assert_int_equal(((uint64_t *)(void *)(r->memory + i * SLICE))[0], 0);
        assert_int_equal(((uint64_t *)(void *)(r->memory + (i + 1) * SLICE))[-1], 0);
    }
}

static void random_new(model *m) {
    static const uint16_t entries[] = {LIDO__ENTRY_LARGE, LIDO__ENTRY_SLOW, LIDO__ENTRY_META, 16, 3200};
    static const uint8_t kinds[] = {LIDO__RUN_SLAB, LIDO__RUN_LARGE, LIDO__RUN_META};
    if (m->run_count == RUNS_MAX) return;
    size_t count = pick_below(m, 32) == 0 ? 1 + pick_below(m, 300) : 1 + pick_below(m, 20);
    size_t alignment = pick_below(m, 4) == 0 ? (size_t)1 << pick_below(m, 7) : 1;
    size_t number = m->run_count, most = LIDO__SEGMENT_SLICES - lido__round_up(LIDO__HEADER_SLICES, alignment);
    bool zero;
    live_run *r = &m->runs[number];
    r->count = lido__min(count, most);
    r->stamp = unit_random(&m->random);
    r->entry = entries[pick_below(m, COUNT_OF(entries))];
    unsigned kind = kinds[pick_below(m, COUNT_OF(kinds))];
    r->run = lido__run_new((lido__run_kind)kind, r->count, alignment, r->entry, &zero);
    if (r->run == NULL) {
        assert_int_equal(m->mode, FAILING);
        m->refusals++;
        return;
    }
    r->memory = lido__slab_memory(r->run);
    assert_true(r->run->kind == kind && r->run->slice_count == r->count && lido__slab_slice(r->run) % alignment == 0);
    check_zero(m, r, zero);
    if (m->mode != FAILING && pick_below(m, 4) == 0)
        check_lowest(m, lido__window_index(r->memory), r->count, alignment);
    m->run_count++;
    account(m, number, 0, r->count, true);
    check_entries(r);
    stamp_slices(r);
}

static void random_free(model *m) {
    if (m->run_count == 0) return;
    size_t number = pick_below(m, m->run_count), last = m->run_count - 1;
    live_run *r = &m->runs[number];
    check_entries(r);
    check_stamps(r, r->count);
    lido__run_free(r->run);
    for (size_t i = 0; i < r->count; i++) assert_int_equal(lido__window_entry(r->memory + i * SLICE), LIDO__ENTRY_NONE);
    account(m, number, 0, r->count, false);
    if (number != last) {    // the last run takes the free number
        account(m, last, 0, m->runs[last].count, false);
        *r = m->runs[last];
        m->run_count = last;
        account(m, number, 0, r->count, true);
    }
    m->run_count = last;
}

static bool is_free(const model *m, const live_run *r, size_t from, size_t to) {
    size_t first = lido__window_index(r->memory);
    if (first % LIDO__SEGMENT_SLICES + to > LIDO__SEGMENT_SLICES) return false;
    for (size_t i = first + from; i < first + to; i++) {
        if (m->owner[i] != 0) return false;
    }
    return true;
}

static void random_resize(model *m) {
    if (m->run_count == 0) return;
    size_t number = pick_below(m, m->run_count);
    live_run *r = &m->runs[number];
    size_t old = r->count, count = 1 + pick_below(m, pick_below(m, 16) == 0 ? 300 : lido__min(2 * old, 20) + 4);
    bool possible = count <= old || is_free(m, r, old, count), done = lido__run_resize(r->run, count);
    if (m->mode == FAILING) {
        assert_true(possible || !done);
    } else {
        assert_int_equal(done, possible);
    }
    if (!done) count = old;
    check_stamps(r, count);    // as far as it was and still is
    r->count = count;
    if (count > old) account(m, number, old, count, true);
    if (count < old) account(m, number, count, old, false);
    assert_int_equal(r->run->slice_count, count);
    check_entries(r);
    stamp_slices(r);
}

static void random_purge(model *m) {
    bool all = pick_below(m, 2) == 0;
    size_t before = lido__segments_totals().dirty_free_bytes, purged = lido__segments_purge(all, 0);
    size_t after = lido__segments_totals().dirty_free_bytes;
    if (m->mode == FAILING) {    // what could not be purged may still go with its segment
        assert_true(after <= before - purged);
        return;
    }
    assert_int_equal(before - purged, after);
    assert_int_equal(after, all ? 0 : before);    // without `all` nothing is old enough here
    for (size_t i = 0; all && i < slices_of_window(); i++) m->dirty[i] = m->owner[i] != 0;
}

static void check_totals(const model *m) {
    lido__segment_totals now = lido__segments_totals();
    assert_int_equal(now.used_bytes, m->used * SLICE);
    assert_true(now.committed_bytes <= now.reserved_bytes);
    assert_true(now.used_bytes + now.dirty_free_bytes + now.segments * LIDO__HEADER_SLICES * SLICE <=
                now.committed_bytes);
    if (m->mode == PURGED_AT_ONCE) assert_int_equal(now.dirty_free_bytes, 0);
    assert_true(lido__segments_verify());
}

static void run_sequence(model *m) {
    unsigned operations = m->mode == NEVER_PURGED ? OPERATIONS : OPERATIONS / 10;
    for (unsigned i = 0; i < operations; i++) {
        if (m->mode == FAILING) lido__os_fail_from(1 + (uint32_t)pick_below(m, 6), (uint32_t)pick_below(m, 4));
        // phases of growth and decline, so that segments come and go
        unsigned grow = i / 2000 % 2 == 0 ? 52 : 34, pick = (unsigned)pick_below(m, 100);
        if (pick < grow) {
            random_new(m);
        } else if (pick < 80) {
            random_free(m);
        } else if (pick < 99) {
            random_resize(m);
        } else if (pick_below(m, 10) == 0) {
            random_purge(m);
        }
        if (m->mode == FAILING) lido__os_fail_from(0, 0);
        if (i % 64 == 0) check_totals(m);
    }
    while (m->run_count > 0) random_free(m);
    lido__segments_purge(true, 0);
    assert_int_equal(lido__segments_totals().segments, 0);
    assert_int_equal(lido__segments_totals().committed_bytes, 0);
}

static void sequence(purging mode, const char *name, const char *options, uint64_t seed) {
    static model m;
    assert_int_equal(lido_options_set(options), 0);
    model_init(&m, mode, unit_seed(name, seed));
    run_sequence(&m);
    if (mode == FAILING) assert_true(m.refusals > 0);
    model_fini(&m);
}

static void sequence_never_purged(void **state) {
    (void)state;
    sequence(NEVER_PURGED, "sequence_never_purged", "purge_delay_ms=4294967294:huge_from_mb=never", 11);
}
static void sequence_purged_at_once(void **state) {
    (void)state;
    sequence(PURGED_AT_ONCE, "sequence_purged_at_once", "purge_delay_ms=0:huge_from_mb=never", 22);
}
static void sequence_failing(void **state) {
    (void)state;
    sequence(FAILING, "sequence_failing", "purge_delay_ms=5:huge_from_mb=16", 33);
}

// --- threads --------------------------------------------------------------------------------------------------------

static void thread_of_runs(unsigned index, void *argument) {
    enum { MINE = 40 };
    live_run runs[MINE] = {0};
    uint64_t random = *(uint64_t *)argument + index;
    for (unsigned i = 0; i < OPERATIONS / 8; i++) {
        live_run *r = &runs[unit_random(&random) % MINE];
        if (r->run != NULL) {
            for (size_t s = 0; s < r->count; s++) {
                UNIT_CHECK(((uint64_t *)(void *)(r->memory + s * SLICE))[0] == r->stamp + s);
                UNIT_CHECK(lido__window_entry(r->memory + s * SLICE) == r->entry);
            }
            lido__run_free(r->run);
            r->run = NULL;
            if (unit_random(&random) % 256 == 0) lido__segments_purge(true, 0);
            continue;
        }
        bool zero;
        r->count = 1 + unit_random(&random) % 8;
        r->stamp = unit_random(&random);
        r->entry = (uint16_t)(LIDO__POOL_FIRST_BIN + index) * LIDO__BIN_BYTES;
        r->run = lido__run_new(LIDO__RUN_SLAB, r->count, 1, r->entry, &zero);
        UNIT_CHECK(r->run != NULL);
        r->memory = lido__slab_memory(r->run);
        UNIT_CHECK(!zero || *(uint64_t *)(void *)r->memory == 0);
        stamp_slices(r);
    }
    for (unsigned i = 0; i < MINE; i++) {
        if (runs[i].run != NULL) lido__run_free(runs[i].run);
    }
}

static void threads_take_and_give(void **state) {
    (void)state;
    assert_int_equal(lido_options_set("purge_delay_ms=3:huge_from_mb=16"), 0);
    uint64_t seed = unit_seed("threads_take_and_give", 44);
    unit_threads(THREADS, thread_of_runs, &seed);
    assert_int_equal(lido__segments_totals().used_bytes, 0);
    assert_true(lido__segments_verify());
    lido__segments_purge(true, 0);
    assert_int_equal(lido__segments_totals().segments, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_never_purged),
        cmocka_unit_test(sequence_purged_at_once),
        cmocka_unit_test(sequence_failing),
        cmocka_unit_test(threads_take_and_give),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
