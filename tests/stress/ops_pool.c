// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Operations on pools of every kind. Each machine uses its pools from one thread; pools that threads share are in
// ops_threads.c.
#include "ops.h"

#include <errno.h>
#include <string.h>

enum { PREPARED_BYTES = 4 << 20 };    // most that growth or prewarm ask for

// A pool of the machine, one that exists if there is any.
static ops_pool *choose_pool(ops_machine *m) {
    unsigned start = ops_byte(m);
    for (unsigned i = 0; i < OPS_POOLS; i++) {
        ops_pool *pool = &m->pools[(start + i) % OPS_POOLS];
        if (pool->pool != NULL) return pool;
    }
    return NULL;
}

static int index_of(const ops_machine *m, const ops_pool *pool) { return (int)(pool - m->pools); }

// --- the order of a FIFO pool ---------------------------------------------------------------------------------------

static void order_lost(ops_pool *pool) {
    pool->freed_first = pool->freed_count = 0;
    pool->followed = false;
}

static void order_begins(ops_pool *pool) {
    pool->freed_first = pool->freed_count = 0;
    pool->followed = pool->options.order == LIDO_FIFO;
}

static void order_freed(ops_pool *pool, void *p) {
    if (!pool->followed) return;
    if (pool->freed_count == OPS_FREED_MAX) {
        order_lost(pool);
        return;
    }
    pool->freed[(pool->freed_first + pool->freed_count++) % OPS_FREED_MAX] = p;
}

// A block that comes again must be the one that has rested longest.
static void order_allocated(ops_machine *m, ops_pool *pool, void *p) {
    if (!pool->followed) return;
    for (size_t i = 0; i < pool->freed_count; i++) {
        if (pool->freed[(pool->freed_first + i) % OPS_FREED_MAX] != p) continue;
        OPS_CHECK(m, i == 0, "FIFO pool: %p comes again before %zu blocks that were freed earlier", p, i);
        pool->freed_first = (pool->freed_first + 1) % OPS_FREED_MAX;
        pool->freed_count--;
        return;
    }
}

// --- one block ------------------------------------------------------------------------------------------------------

// Takes note of a block that the pool gave. False: no slot, and it has gone back.
static void note_block(ops_machine *m, ops_pool *pool, void *p) {
    size_t alignment = pool->options.alignment != 0 ? pool->options.alignment : 1;
    if (p != NULL) {
        pool->live++;
        if (pool->live > pool->high_water) pool->high_water = pool->live;
        order_allocated(m, pool, p);
        OPS_CHECK(m, pool->options.capacity == 0 || pool->live <= pool->options.capacity, "%zu blocks of at most %zu",
                  pool->live, pool->options.capacity);
    }
    ops_block *block = ops_note(m, p, pool->block_size, alignment, OPS_POOL, (unsigned)index_of(m, pool));
    if (block == NULL && p != NULL) {
        pool->live--;
        order_freed(pool, p);
        lido_pool_free(pool->pool, p);
    }
}

static bool is_full(const ops_pool *pool) {
    return pool->options.capacity != 0 && pool->live == pool->options.capacity;
}

// --- at the capacity ------------------------------------------------------------------------------------------------

// options.capacity is the one of now.
static void capacity_is(ops_pool *pool, size_t capacity) {
    pool->options.capacity = capacity;
    if (capacity > pool->capacity_most) pool->capacity_most = capacity;
}

// LIDO_GROW, with `live` blocks alive and one more wanted.
static void grow_if_full(ops_pool *pool, size_t live) {
    const lido_pool_options *o = &pool->options;
    if (o->on_exhausted != LIDO_GROW || live != o->capacity) return;
    size_t step = o->growth;
    if (o->growth_max != 0) {
        if (o->capacity > step) step = o->capacity;
        if (step > o->growth_max) step = o->growth_max;
    }
    capacity_is(pool, o->capacity + step);
}

// After a call that may have raised it, and was refused by the system then.
static void read_capacity(ops_pool *pool) { capacity_is(pool, lido_pool_stats(pool->pool).capacity); }

static void capacity_lowered(ops_pool *pool) {
    if (pool->options.on_exhausted != LIDO_GROW) return;
    pool->options.capacity = pool->live > pool->capacity_first ? pool->live : pool->capacity_first;
}

// Whose allocation LIDO_CALL asks for, and whether it shall be helped; NULL machine: never.
static _Thread_local struct {
    ops_machine *m;
    ops_pool *pool;
    size_t calls;
    bool refused;
} asked;

static bool on_exhausted(lido_pool *native, size_t attempt, void *context) {
    ops_machine *m = asked.m;
    (void)context;
    asked.refused = true;
    if (m == NULL) return false;
    ops_pool *pool = asked.pool;
    unsigned answer = ops_byte(m) % 4;
    OPS_CHECK(m, native == pool->pool && attempt == ++asked.calls, "call %zu of another allocation", attempt);
    ops_block *block = answer == 1 ? ops_choose(m, OPS_POOL, index_of(m, pool)) : NULL;
    if (block != NULL) ops_pool_free(m, block, attempt % 2 == 0);
    if (answer == 2) {
        OPS_CHECK(m, lido_pool_set_capacity(native, pool->options.capacity + 3) == 0, "the capacity cannot be raised");
        capacity_is(pool, pool->options.capacity + 3);
    }
    if (answer != 0) asked.refused = false;
    return answer != 0 && attempt < 50;    // 3: "again" without any help
}

static void note_full(ops_machine *m, ops_pool *pool) {
    asked.m = m;
    asked.pool = pool;
    asked.calls = 0;
    asked.refused = pool->options.on_exhausted != LIDO_CALL;
    void *p = lido_pool_alloc(pool->pool);
    asked.m = NULL;
    if (p == NULL) {
        OPS_CHECK(m, errno == ENOMEM && (asked.refused || asked.calls == 50 || m->may_fail),
                  "full at %zu: errno %d after %zu calls", pool->options.capacity, errno, asked.calls);
        errno = 0;
        return;
    }
    OPS_CHECK(m, pool->options.on_exhausted == LIDO_CALL && !asked.refused, "a block beyond the capacity of %zu",
              pool->options.capacity);
    note_block(m, pool, p);
}

static void op_alloc(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool == NULL) return;
    unsigned count = ops_byte(m);
    for (count = count < 200 ? 1 : count - 190; count > 0 && ops_has_room(m, pool->block_size); count--) {
        if (is_full(pool) && pool->options.on_exhausted != LIDO_GROW) {
            note_full(m, pool);
            return;
        }
        grow_if_full(pool, pool->live);
        void *p = lido_pool_alloc(pool->pool);
        if (p == NULL) read_capacity(pool);
        note_block(m, pool, p);
    }
}

void ops_pool_free(ops_machine *m, ops_block *block, bool by_lido_free) {
    ops_pool *pool = &m->pools[block->index];
    void *p = block->p;
    ops_forget(m, block);
    pool->live--;
    order_freed(pool, p);
    if (by_lido_free)
        lido_free(p);
    else
        lido_pool_free(pool->pool, p);
}

static void op_free(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool == NULL) return;
    unsigned count = ops_byte(m);
    bool by_lido_free = count % 3 == 0;
    for (count = count < 200 ? 1 : count - 190; count > 0; count--) {
        ops_block *block = ops_choose(m, OPS_POOL, index_of(m, pool));
        if (block == NULL) return;
        ops_pool_free(m, block, by_lido_free);
    }
    lido_pool_free(pool->pool, NULL);
}

static void op_alloc_bulk(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    void *blocks[64];
    size_t count = ops_byte(m) % 64;
    if (pool == NULL || !ops_has_room(m, pool->block_size * count) || (size_t)m->free_slot_count < count) return;
    bool fits = pool->options.capacity == 0 || pool->live + count <= pool->options.capacity ||
                pool->options.on_exhausted == LIDO_GROW;
    for (size_t i = 0; i < count; i++) grow_if_full(pool, pool->live + i);
    memset(blocks, 0, sizeof blocks);
    int result = lido_pool_alloc_bulk(pool->pool, blocks, count);
    if (result != 0) {
        OPS_CHECK(m, result == -1 && errno == ENOMEM, "answers %d with errno %d", result, errno);
        OPS_CHECK(m, !fits || m->may_fail, "%zu blocks refused with %zu of %zu alive", count, pool->live,
                  pool->options.capacity);
        if (pool->live + count > pool->high_water_tried) pool->high_water_tried = pool->live + count;
        order_lost(pool);    // what went out and came back has moved in the order
        errno = 0;
        read_capacity(pool);
        return;
    }
    OPS_CHECK(m, fits, "%zu blocks given with %zu of %zu alive", count, pool->live, pool->options.capacity);
    for (size_t i = 0; i < count; i++) {
        OPS_CHECK(m, blocks[i] != NULL, "entry %zu is NULL", i);
        note_block(m, pool, blocks[i]);
    }
}

static void op_free_bulk(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    void *blocks[64];
    size_t count = ops_byte(m) % 64, used = 0;
    if (pool == NULL) return;
    for (size_t i = 0; i < count; i++) {
        ops_block *block = i % 5 == 4 ? NULL : ops_choose(m, OPS_POOL, index_of(m, pool));
        blocks[used++] = block == NULL ? NULL : block->p;
        if (block == NULL) continue;
        ops_forget(m, block);
        pool->live--;
        order_freed(pool, block->p);
    }
    lido_pool_free_bulk(pool->pool, blocks, used);
    order_lost(pool);    // the order within one bulk call is not promised
}

// --- making and ending ----------------------------------------------------------------------------------------------

static void decode_exhaustion(ops_machine *m, lido_pool_options *o) {
    unsigned what = ops_byte(m);
    if (what % 4 == 1) {
        o->on_exhausted = LIDO_GROW;
        o->growth = 1 + what / 4;
        o->growth_max = what % 8 == 1 ? o->growth * 3 : 0;
    } else if (what % 4 == 2) {
        o->on_exhausted = LIDO_CALL;
        o->exhausted = on_exhausted;
    }
    if (what % 16 == 4) {    // the same in bytes; large enough whatever the alignment makes of the block
        size_t align = o->alignment > 16 ? o->alignment : 16, block = (o->block_size + align - 1) / align * align;
        o->capacity_bytes = o->capacity * block;
        o->capacity = 0;
        o->prewarm = 0;
    }
}

static lido_pool_options decode_options(ops_machine *m) {
    unsigned kind = ops_byte(m), numbers = ops_byte(m);
    lido_pool_options o = {
        .name = kind % 5 == 0 ? NULL : "a pool of the operation sequences",
        .block_size = ops_size(m, numbers % 16 == 0 ? 20 : 14) + 1,
        .threads = (lido_threads)(kind % 3),
        .order = (kind >> 2) % 4 == 0 ? LIDO_FIFO : LIDO_LIFO,
        .capacity = (kind >> 4) % 2 == 0 ? 0 : 1 + (numbers % 4 == 0 ? 300 + numbers * 4u : numbers),
        .growth = numbers % 8 == 1 ? numbers : 0,
    };
    if (kind % 7 == 0) o.alignment = ops_alignment(m, 21);
    size_t most = PREPARED_BYTES / (o.block_size + o.alignment) + 1;
    if (o.growth > most) o.growth = most;
    if (numbers % 8 == 2) o.prewarm = most < 50 ? most : 50;
    if (o.capacity != 0 && o.prewarm > o.capacity) o.prewarm = o.capacity;
    if (o.capacity != 0) decode_exhaustion(m, &o);
    return o;
}

static void check_refused(ops_machine *m, lido_pool_options o) {
    switch (ops_byte(m) % 6) {
        case 0: o.block_size = 0; break;
        case 1: o.block_size = (size_t)LIDO_POOL_BLOCK_SIZE_MAX + 1; break;
        case 2: o.alignment = 24; break;
        case 3: o.alignment = (size_t)LIDO_POOL_ALIGNMENT_MAX * 2; break;
        case 4: o.threads = (lido_threads)(3 + ops_byte(m)); break;
        default: o.order = (lido_order)(2 + ops_byte(m)); break;
    }
    OPS_CHECK(m, lido_pool_new(&o) == NULL && errno == EINVAL, "bad options were taken, or errno is %d", errno);
    errno = 0;
}

static void check_stats(ops_machine *m, ops_pool *pool) {
    lido_pool_statistics s = lido_pool_stats(pool->pool);
    OPS_CHECK(m, errno == 0, "statistics set errno to %d", errno);
    OPS_CHECK(m, s.live == pool->live, "%zu alive, but the model has %zu", s.live, pool->live);
    OPS_CHECK(m, s.block_size == pool->block_size && s.capacity == pool->options.capacity,
              "block size or capacity changed");
    OPS_CHECK(m, s.alignment != 0 && (s.alignment & (s.alignment - 1)) == 0 && s.alignment >= pool->options.alignment,
              "alignment %zu for %zu asked", s.alignment, pool->options.alignment);
    // Counts what bins hold; see pool.h.
    bool bound_only = pool->options.threads == LIDO_SHARED && pool->options.order == LIDO_LIFO;
    bool tried = s.high_water > pool->high_water && s.high_water <= pool->high_water_tried;
    OPS_CHECK(m, s.high_water == pool->high_water || tried || (bound_only && s.high_water > pool->high_water),
              "high water %zu, but the model saw %zu (threads %d, order %d, capacity %zu)", s.high_water,
              pool->high_water, (int)pool->options.threads, (int)pool->options.order, pool->options.capacity);
    OPS_CHECK(m, pool->options.capacity == 0 || s.high_water <= pool->capacity_most,
              "high water %zu above the capacity of %zu", s.high_water, pool->capacity_most);
    OPS_CHECK(m, s.waiting == 0, "%zu threads wait", s.waiting);
    OPS_CHECK(m, s.held_bytes >= s.committed_bytes && s.committed_bytes >= s.live * s.block_size,
              "held %zu, committed %zu, live %zu of %zu", s.held_bytes, s.committed_bytes, s.live, s.block_size);
    OPS_CHECK(m, (s.slab_count == 0) == (s.held_bytes == 0), "%zu slabs hold %zu bytes", s.slab_count, s.held_bytes);
}

static void op_new(ops_machine *m) {
    ops_pool *pool = &m->pools[ops_byte(m) % OPS_POOLS];
    lido_pool_options o = decode_options(m);
    if (pool->pool != NULL) {
        check_refused(m, o);
        return;
    }
    memset(pool, 0, sizeof *pool);
    pool->pool = lido_pool_new(&o);
    if (pool->pool == NULL) {
        OPS_CHECK(m, m->may_fail && errno == ENOMEM, "no pool, errno %d", errno);
        errno = 0;
        m->failures++;
        return;
    }
    OPS_CHECK(m, errno == 0, "errno is %d", errno);
    pool->options = o;
    pool->block_size = lido_pool_block_size(pool->pool);
    if (o.capacity_bytes != 0) pool->options.capacity = o.capacity_bytes / pool->block_size;
    pool->capacity_first = pool->options.capacity;
    capacity_is(pool, pool->options.capacity);
    size_t multiple = o.alignment != 0 ? o.alignment : 1;
    OPS_CHECK(m,
              pool->block_size >= o.block_size && pool->block_size % multiple == 0 &&
                  pool->block_size < o.block_size + (multiple < 16 ? 16 : multiple),
              "block size %zu for %zu at %zu", pool->block_size, o.block_size, o.alignment);
    const char *name = o.name == NULL ? "pool" : o.name;
    size_t shown = strlen(name) < LIDO_POOL_NAME_MAX ? strlen(name) : LIDO_POOL_NAME_MAX;
    OPS_CHECK(m, strlen(lido_pool_name(pool->pool)) == shown && strncmp(lido_pool_name(pool->pool), name, shown) == 0,
              "the name is '%s'", lido_pool_name(pool->pool));
    order_begins(pool);
    check_stats(m, pool);
}

// The model forgets every block of the pool; their contents are looked at a last time.
static void forget_all(ops_machine *m, ops_pool *pool) {
    for (int i = 0; i < OPS_SLOTS; i++) {
        if (m->blocks[i].owner == OPS_POOL && m->blocks[i].index == (unsigned)index_of(m, pool))
            ops_forget(m, &m->blocks[i]);
    }
    pool->live = pool->high_water = pool->high_water_tried = 0;
    order_begins(pool);
}

static void op_destroy(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool == NULL) return;
    if (ops_byte(m) % 2 == 0) {
        for (ops_block *block; (block = ops_choose(m, OPS_POOL, index_of(m, pool))) != NULL;)
            ops_pool_free(m, block, false);
        check_stats(m, pool);
    } else {
        forget_all(m, pool);
        lido_pool_reset(
            pool->pool);    // so that destroy has nothing to report; the death tests look at what it reports
    }
    lido_pool_destroy(pool->pool);
    pool->pool = NULL;
    lido_pool_destroy(NULL);
}

static void op_reset(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool == NULL) return;
    forget_all(m, pool);
    lido_pool_reset(pool->pool);
    check_stats(m, pool);
}

static void op_free_all(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool == NULL) return;
    forget_all(m, pool);
    lido_pool_free_all(pool->pool);
    capacity_lowered(pool);
    check_stats(m, pool);
    lido_pool_statistics s = lido_pool_stats(pool->pool);
    OPS_CHECK(m, s.held_bytes == 0 && s.committed_bytes == 0, "held %zu, committed %zu afterwards", s.held_bytes,
              s.committed_bytes);
}

// --- the pool as a whole --------------------------------------------------------------------------------------------

static void op_trim(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool == NULL) return;
    size_t before = lido_pool_stats(pool->pool).held_bytes;
    lido_pool_trim(pool->pool);
    capacity_lowered(pool);
    order_lost(pool);
    check_stats(m, pool);
    OPS_CHECK(m, lido_pool_stats(pool->pool).held_bytes <= before, "trim made the pool larger");
}

static void op_set_capacity(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    size_t byte = ops_byte(m), wanted = pool == NULL ? 0 : pool->live + byte % 16;
    if (pool == NULL) return;
    if (byte > 200) wanted = wanted > 40 ? wanted - 40 : 0;
    int expected = wanted == 0 || pool->options.capacity == 0 ? EINVAL : wanted < pool->live ? EBUSY : 0;
    int result = lido_pool_set_capacity(pool->pool, wanted);
    OPS_CHECK(m, result == (expected == 0 ? 0 : -1) && errno == expected, "to %zu with %zu alive: %d, errno %d", wanted,
              pool->live, result, errno);
    errno = 0;
    if (expected == 0) capacity_is(pool, wanted);
    order_lost(pool);    // lowering gathers the stock
    check_stats(m, pool);
}

static void op_prewarm(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool == NULL) return;
    size_t count = ops_byte(m), most = PREPARED_BYTES / pool->block_size + 1;
    int result = lido_pool_prewarm(pool->pool, count < most ? count : most);
    OPS_CHECK(m, result == 0 || (result == -1 && errno == ENOMEM && (m->may_fail || pool->options.capacity != 0)),
              "answers %d with errno %d", result, errno);
    errno = 0;
    check_stats(m, pool);
}

typedef struct visit_context {
    ops_machine *m;
    ops_pool *pool;
    size_t seen, stop_after;
    unsigned free_every;    // 0: free none
    bool marked[OPS_SLOTS];
} visit_context;

static bool visit_block(void *p, void *data) {
    visit_context *c = data;
    int slot = spans_find(&c->m->live, p);
    OPS_CHECK(c->m, slot != SPANS_NONE, "visit_live shows %p, which is not alive", p);
    ops_block *block = &c->m->blocks[slot];
    OPS_CHECK(c->m, block->p == p && block->owner == OPS_POOL && block->index == (unsigned)index_of(c->m, c->pool),
              "visit_live shows %p, which is no block of this pool", p);
    OPS_CHECK(c->m, !c->marked[slot], "visit_live shows %p twice", p);
    c->marked[slot] = true;
    c->seen++;
    if (c->free_every != 0 && c->seen % c->free_every == 0) ops_pool_free(c->m, block, false);
    return c->seen != c->stop_after;
}

static void op_visit(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    static _Thread_local visit_context c;
    unsigned mode = ops_byte(m);
    if (pool == NULL) return;
    memset(&c, 0, sizeof c);
    c.m = m;
    c.pool = pool;
    c.free_every = mode % 3 == 1 ? 1 + mode % 4 : 0;
    c.stop_after = mode % 5 == 4 ? 1 + mode / 16 : SIZE_MAX;
    size_t live = pool->live;
    order_lost(pool);    // visits gather the stock
    size_t visited = lido_pool_visit_live(pool->pool, visit_block, &c);
    size_t expected = c.stop_after < live ? c.stop_after : live;
    OPS_CHECK(m, visited == c.seen && c.seen == expected, "%zu visited, %zu shown, %zu of %zu expected", visited,
              c.seen, expected, live);
    check_stats(m, pool);
}

static void op_owns(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    unsigned inside = ops_byte(m) * 37u;
    int local;
    if (pool == NULL) return;
    for (unsigned i = 0; i < OPS_SLOTS; i += 1 + inside % 13) {
        const ops_block *block = &m->blocks[i];
        if (block->owner == OPS_NOBODY || block->size == 0) continue;
        bool ours = block->owner == OPS_POOL && block->index == (unsigned)index_of(m, pool);
        const unsigned char *p = block->p + inside % block->size;
        OPS_CHECK(m, lido_pool_owns(pool->pool, p) == ours, "owns(%p) is not %d; block [%p, +%zu) of owner %d",
                  (const void *)p, ours, (void *)block->p, block->size, (int)block->owner);
        lido_pool *of = lido_pool_of(p);
        if (block->owner == OPS_POOL) OPS_CHECK(m, of == m->pools[block->index].pool, "pool_of(%p)", (const void *)p);
        if (block->owner == OPS_MALLOC || block->owner == OPS_HEAP)
            OPS_CHECK(m, of == NULL, "pool_of(%p) is not NULL", (const void *)p);
    }
    OPS_CHECK(m,
              !lido_pool_owns(pool->pool, NULL) && !lido_pool_owns(pool->pool, &local) &&
                  !lido_pool_owns(pool->pool, "text"),
              "owns memory that lido never saw");
    OPS_CHECK(m, !lido_pool_owns(pool->pool, (void *)UINTPTR_MAX) && !lido_pool_owns(pool->pool, pool->pool),
              "owns what it cannot");
    OPS_CHECK(m, lido_pool_of(NULL) == NULL && lido_pool_of(&local) == NULL && lido_pool_of((void *)16) == NULL,
              "pool_of");
}

static void op_stats(ops_machine *m) {
    ops_pool *pool = choose_pool(m);
    if (pool != NULL) check_stats(m, pool);
}

void ops_pools_trimmed(ops_machine *m) {
    for (int i = 0; i < OPS_POOLS; i++) order_lost(&m->pools[i]);
}

void ops_pools_finish(ops_machine *m) {
    for (int i = 0; i < OPS_POOLS; i++) {
        if (m->pools[i].pool == NULL) continue;
        check_stats(m, &m->pools[i]);
        lido_pool_destroy(m->pools[i].pool);
        m->pools[i].pool = NULL;
    }
}

const ops_entry ops_pool_table[] = {
    {"pool new", op_new, 30},
    {"pool destroy", op_destroy, 6},
    {"pool alloc", op_alloc, 70},
    {"pool free", op_free, 60},
    {"pool alloc bulk", op_alloc_bulk, 20},
    {"pool free bulk", op_free_bulk, 18},
    {"pool reset", op_reset, 4},
    {"pool free all", op_free_all, 4},
    {"pool trim", op_trim, 6},
    {"pool prewarm", op_prewarm, 6},
    {"pool set capacity", op_set_capacity, 8},
    {"pool visit", op_visit, 10},
    {"pool owns", op_owns, 10},
    {"pool stats", op_stats, 12},
    {NULL, NULL, 0},
};
