// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Slabs in long random sequences against a plain list of live blocks, several sets at once so that their slabs mix in the
// segments: every block is stamped and checked, sums are exact, every structure is verified. Then with the system refusing
// now and then, and with threads on one set.
#include "support.h"

#include "os/os.h"
#include "slab/slab.h"

#include <inttypes.h>
#include <lido/options.h>

enum {
    SETS = 6,
    LIVE_MAX = 6000,
    TAKE_MAX = 300,
    OPERATIONS = UNIT_SANITIZED ? 20000 : 100000,
};

typedef struct set_model {
    lido__slab_set set;
    size_t bytes, alignment, live_count, live_most;
    void *live[LIVE_MAX];
} set_model;

static set_model models[SETS];
static bool failing;
static uint64_t seed_now;

static uint64_t pick_below(uint64_t limit) { return unit_random(&seed_now) % limit; }

static void stamp(const set_model *m, void *block) {
    uint64_t *words = (uint64_t *)block;
    words[m->bytes / 8 - 1] = ~(uint64_t)(uintptr_t)block;
    words[0] = (uint64_t)(uintptr_t)block + m->bytes;
}

static void check_stamp(const set_model *m, const void *block) {
    const uint64_t *words = (const uint64_t *)block;
    if (m->bytes >= 16) UNIT_CHECK(words[m->bytes / 8 - 1] == ~(uint64_t)(uintptr_t)block);
    UNIT_CHECK(words[0] == (uint64_t)(uintptr_t)block + m->bytes);
}

static void note_live(set_model *m, void *block) {
    assert_int_equal((uintptr_t)block % m->alignment, 0);
    bool exact;
    lido__slab *slab = lido__slab_of(block);
    assert_ptr_equal(slab->set, &m->set);
    assert_true(lido__slab_index(&m->set, slab, block, &exact) < m->set.blocks_per_slab && exact);
    stamp(m, block);
    m->live[m->live_count++] = block;
    if (m->live_most < m->live_count) m->live_most = m->live_count;
}

static void random_take(set_model *m) {
    size_t want = lido__min(1 + pick_below(TAKE_MAX), LIVE_MAX - m->live_count);
    if (want == 0) return;
    lido__chain chain = lido__slabs_take(&m->set, (uint32_t)want);
    assert_true(chain.count <= want && (chain.count > 0 || failing));
    uint32_t count = 0;
    for (lido__link *link = chain.first, *next; link != NULL; link = next, count++) {
        next = link->next;
        if (next == NULL) assert_ptr_equal(link, chain.last);
        note_live(m, link);
    }
    assert_int_equal(count, chain.count);
}

static void random_take_fresh(set_model *m) {
    size_t got, want = lido__min(1 + pick_below(TAKE_MAX), LIVE_MAX - m->live_count);
    if (want == 0) return;
    char *first = lido__slabs_take_fresh(&m->set, want, &got);
    assert_int_equal(first == NULL, got == 0);
    for (size_t i = 0; i < got; i++) note_live(m, first + i * m->bytes);
}

static void *drop_live(set_model *m, size_t i) {
    void *block = m->live[i];
    check_stamp(m, block);
    m->live[i] = m->live[--m->live_count];
    return block;
}

static void random_give(set_model *m) {
    lido__link *first = NULL;
    for (size_t count = lido__min(1 + pick_below(TAKE_MAX), m->live_count); count > 0; count--) {
        lido__link *link = drop_live(m, pick_below(m->live_count));
        link->next = first;
        first = link;
    }
    assert_int_equal(lido__slabs_give(&m->set, first), m->live_count);
}

static bool check_and_drop_some(void *block, void *context) {
    set_model *m = (set_model *)context;
    check_stamp(m, block);
    return pick_below(1000) != 0;
}

static void random_whole(set_model *m) {
    switch (pick_below(16)) {
        case 0:
            lido__slabs_reset(&m->set);
            m->live_count = m->live_most = 0;
            break;
        case 1:
            lido__slabs_release(&m->set);
            m->live_count = m->live_most = 0;
            assert_int_equal(m->set.slab_count, 0);
            break;
        case 2:
        case 3:
            if (!lido__slabs_prewarm(&m->set, pick_below(2 * TAKE_MAX))) assert_true(failing);
            break;
        case 4:
        case 5: lido__slabs_trim(&m->set, true); break;
        case 6: lido__segments_purge(pick_below(2) == 0, pick_below(1 << 20)); break;
        default: {
            size_t visited = lido__slabs_visit(&m->set, check_and_drop_some, m);
            assert_true(visited <= m->live_count);
        }
    }
}

static void check_set(set_model *m) {
    assert_true(lido__slabs_verify(&m->set));
    assert_int_equal(m->set.issued, m->live_count);
    assert_in_range(m->set.issued_most, 0, m->live_most);    // a fresh run does not count, a chain does
    assert_true(m->set.fresh >= m->set.issued);
    assert_true(m->set.fresh <= m->set.slab_count * m->set.blocks_per_slab);
}

static void run_sequence(const char *name, uint64_t standard, unsigned operations) {
    static const struct {
        size_t bytes, alignment, least;
    } shapes[SETS] = {{8, 8, 0}, {48, 16, 0}, {1024, 1024, 0}, {9000, 8, 0}, {65536, 65536, 0}, {24, 8, 20000}};
    seed_now = unit_seed(name, standard);
    for (size_t i = 0; i < SETS; i++) {
        models[i].bytes = shapes[i].bytes;
        models[i].alignment = shapes[i].alignment;
        models[i].live_count = models[i].live_most = 0;
        lido__slabs_init(&models[i].set, shapes[i].bytes, shapes[i].alignment, shapes[i].least,
                         (unsigned)(LIDO__POOL_FIRST_BIN + i) * LIDO__BIN_BYTES);
    }
    for (unsigned i = 0; i < operations; i++) {
        set_model *m = &models[pick_below(SETS)];
        size_t most = m->bytes >= 9000 ? 200 : LIVE_MAX;    // large ones would eat the machine
        bool grow = i / 3000 % 2 == 0 ? pick_below(100) < 55 : pick_below(100) < 40;
        if (failing) lido__os_fail_from(1 + (uint32_t)pick_below(5), (uint32_t)pick_below(3));
        if (pick_below(200) == 0) {
            random_whole(m);
        } else if (grow && m->live_count < most) {
            pick_below(6) == 0 ? random_take_fresh(m) : random_take(m);
        } else {
            random_give(m);
        }
        if (failing) lido__os_fail_from(0, 0);
        if (i % 50 == 0) check_set(m);
        if (i % 1000 == 0) assert_true(lido__segments_verify());
    }
    for (size_t i = 0; i < SETS; i++) {
        check_set(&models[i]);
        lido__slabs_release(&models[i].set);
    }
    lido__segments_purge(true, 0);
    assert_int_equal(lido__segments_totals().segments, 0);
}

static void sequence(void **state) {
    (void)state;
    failing = false;
    lido_options_set("purge_delay_ms=2:populate=1");
    run_sequence("sequence", 101, OPERATIONS);
}

static void sequence_refused_now_and_then(void **state) {
    (void)state;
    failing = true;
    lido_options_set("purge_delay_ms=0:populate=1");
    run_sequence("sequence_refused_now_and_then", 102, OPERATIONS / 4);
    failing = false;
}

// --- threads --------------------------------------------------------------------------------------------------------

static void take_and_give(unsigned index, void *argument) {
    enum { MINE = 500 };
    set_model *m = (set_model *)argument;
    void *mine[MINE];
    size_t count = 0;
    uint64_t random = seed_now + index;
    for (unsigned i = 0; i < OPERATIONS / 20; i++) {
        if (unit_random(&random) % 2 == 0) {
            lido__chain chain =
                lido__slabs_take(&m->set, (uint32_t)lido__min(1 + unit_random(&random) % 64, MINE - count));
            for (lido__link *link = chain.first, *next; chain.count > 0; link = next, chain.count--) {
                next = link->next;
                stamp(m, link);
                mine[count++] = link;
            }
            continue;
        }
        lido__link *first = NULL;
        for (size_t give = lido__min(unit_random(&random) % 64, count); give > 0; give--) {
            lido__link *link = mine[--count];
            check_stamp(m, link);
            link->next = first;
            first = link;
        }
        lido__slabs_give(&m->set, first);
        if (unit_random(&random) % 200 == 0) lido__slabs_trim(&m->set, true);
        if (unit_random(&random) % 500 == 0) lido__slabs_prewarm(&m->set, 700);
    }
    for (; count > 0; count--) {
        ((lido__link *)mine[count - 1])->next = NULL;
        lido__slabs_give(&m->set, mine[count - 1]);
    }
}

static void threads_share_a_set(void **state) {
    (void)state;
    set_model *m = &models[0];
    seed_now = unit_seed("threads_share_a_set", 103);
    m->bytes = 160;
    lido__slabs_init(&m->set, 160, 16, 0, LIDO__ENTRY_SLOW);
    unit_threads(4, take_and_give, m);
    assert_true(lido__slabs_verify(&m->set));
    assert_int_equal(m->set.issued, 0);
    lido__slabs_release(&m->set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence),
        cmocka_unit_test(sequence_refused_now_and_then),
        cmocka_unit_test(threads_share_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
