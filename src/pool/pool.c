// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The public pool: making, the out-of-line halves of alloc and free, bulk, ownership. What looks at whole pools (reset, trim,
// visits, statistics) is in pool_whole.c.
#include "pool/pool.h"

#include "check/inject.h"
#include "os/os.h"
#include "os/report.h"
#include "os/tools.h"
#include "pool/bounded.h"
#include "pool/checked.h"
#include "pool/exhaustion.h"
#include "pool/watched.h"

#include <errno.h>
#include <string.h>

// Below this capacity a bounded pool has no bins (guess: a recall costs a system call and a walk over the threads).
enum { BOUNDED_BINS_FROM = 256 };

// A full batch is 4 to 8 KiB: two chains a bin stay within the first-level cache, and an atomic step every that many bytes
// does not show. Fewer blocks above 1 KiB, where the work on a block outweighs the work for it.
static uint32_t batch_for(size_t block_bytes) {
    if (block_bytes > 8192) return 1;
    if (block_bytes > 2048) return 2;
    if (block_bytes > 1024) return 4;
    size_t blocks = (block_bytes <= 64 ? 4096 : 8192) / block_bytes;
    return (uint32_t)(blocks > 128 ? 128 : blocks);
}

static lido__way way_for(const lido_pool_options *options) {
    if (options->check >= LIDO_CHECK_GUARD) return LIDO__WAY_CHECKED;
    if (options->check >= LIDO_CHECK_LIGHT) {
        bool bins = options->threads == LIDO_SHARED && options->order == LIDO_LIFO && options->capacity == 0;
        return bins ? LIDO__WAY_WATCHED : LIDO__WAY_STOCK;
    }
    if (options->order == LIDO_FIFO || options->threads == LIDO_CONFINED) return LIDO__WAY_STOCK;
    if (options->threads == LIDO_LOCAL) return LIDO__WAY_FACE;
    return options->capacity != 0 ? LIDO__WAY_BOUNDED : LIDO__WAY_BINS;
}

static size_t natural_alignment(size_t block_size) {
    size_t lowest = block_size & (~block_size + 1);
    return lowest < sizeof(void *) ? sizeof(void *) : lido__min(lowest, 16);
}

static size_t alignment_for(const lido_pool_options *options) {
    return options->alignment != 0 ? options->alignment : natural_alignment(options->block_size);
}
// Watched blocks have 16 bytes at least, see slab/state.h.
static size_t block_bytes_for(const lido_pool_options *options) {
    bool watched = options->check == LIDO_CHECK_LIGHT || options->check == LIDO_CHECK_SAMPLE;
    size_t least = watched ? LIDO__STATE_BYTES : 1;
    return lido__round_up(lido__max(options->block_size, least), lido__max(alignment_for(options), sizeof(void *)));
}

// Bins of a bounded pool hold at most a 64th of the capacity each, and need a system that can recall them.
static void bound(lido_pool *pool) {
    pool->batch_max = (uint32_t)lido__max(lido__min(pool->batch_max, pool->capacity_first / 128), 1);
    pool->always_recalled = pool->capacity_first < BOUNDED_BINS_FROM || !lido__os_barrier_everywhere();
    pool->recalled = pool->always_recalled;
}

static void set_limits(lido_pool *pool, const lido_pool_options *options) {
    pool->capacity_first = options->capacity;
    pool->capacity = options->capacity;
    pool->growth = options->growth;
    pool->growth_max = options->growth_max;
    pool->on_exhausted = options->on_exhausted;
    pool->exhausted = options->exhausted;
    pool->exhausted_context = options->exhausted_context;
    pool->wait_ms = options->wait_ms;
    if (options->capacity != 0) pool->slabs.capacity = options->capacity;
    size_t slabs = options->growth_max / pool->slabs.blocks_per_slab;
    pool->slabs.growth_slabs = (uint32_t)lido__max(lido__min(slabs, UINT32_MAX), 1);
}

bool lido__pool_init(lido_pool *pool, const lido_pool_options *options, unsigned bin) {
    memset(pool, 0, sizeof *pool);
    pool->way = way_for(options);
    pool->face.free = pool->way == LIDO__WAY_FACE ? LIDO__POOL_END : NULL;
    pool->bin = (uint16_t)bin;
    pool->threads = (uint8_t)options->threads;
    pool->order = (uint8_t)options->order;
    pool->owner_thread = options->threads == LIDO_CONFINED ? lido__os_thread_id() : 0;
    pool->owner = lido__thread_token();
    pool->alignment = alignment_for(options);
    size_t align = lido__max(pool->alignment, sizeof(void *)), block_bytes = block_bytes_for(options);
    size_t least = options->growth;
    if (options->capacity != 0 && options->on_exhausted != LIDO_GROW && least > options->capacity)
        least = options->capacity;
    pool->watched = options->check == LIDO_CHECK_LIGHT || options->check == LIDO_CHECK_SAMPLE;
    bool seen = bin != 0 && pool->way != LIDO__WAY_WATCHED;
    lido__slabs_init(&pool->slabs, block_bytes, align, least, seen ? bin : LIDO__ENTRY_SLOW);
    set_limits(pool, options);
    pool->batch_max = batch_for(block_bytes);
    if (pool->way == LIDO__WAY_BOUNDED) bound(pool);
    if (lido__slabs_are_slices(&pool->slabs)) {
        pool->block_check = (uint32_t)(((UINT64_C(1) << 32) + block_bytes - 1) / block_bytes);
        pool->block_end = pool->slabs.blocks_per_slab * pool->slabs.block_bytes;
    }
    strncpy(pool->name, options->name != NULL ? options->name : "pool", LIDO_POOL_NAME_MAX);
    pool->asked_bytes = options->block_size;
    pool->check = (uint8_t)options->check;
    if (options->check >= LIDO_CHECK_GUARD && !lido__checked_pool_init(pool)) return false;
    lido__registry_add(pool);
    return true;
}

void lido__pool_fini(lido_pool *pool) {
    lido__registry_remove(pool);
    if (pool->way == LIDO__WAY_CHECKED) lido__check_source_end(pool->source);
    lido__slabs_release(&pool->slabs);
    if (pool->bin != 0) lido__entry_free(pool->bin);
}

static bool limits_are_good(const lido_pool_options *options) {
    if ((unsigned)options->on_exhausted > LIDO_WAIT) return false;
    if (options->growth_max != 0 && options->growth_max < options->growth) return false;
    if (options->on_exhausted != LIDO_FAIL && options->capacity == 0) return false;
    if (options->on_exhausted == LIDO_CALL && options->exhausted == NULL) return false;
    if (options->on_exhausted == LIDO_WAIT && options->threads != LIDO_SHARED) return false;    // who would free?
    return options->capacity == 0 || options->prewarm <= options->capacity;
}

// False for options out of range. A capacity in bytes becomes one in blocks.
static bool options_are_good(lido_pool_options *options) {
    if (options->block_size < 1 || options->block_size > LIDO_POOL_BLOCK_SIZE_MAX) return false;
    if (options->alignment != 0 && !lido__is_power_of_two(options->alignment)) return false;
    if (options->alignment > LIDO_POOL_ALIGNMENT_MAX || (unsigned)options->threads > LIDO_CONFINED) return false;
    if ((unsigned)options->order > LIDO_FIFO || (unsigned)options->check > LIDO_CHECK_PAGE) return false;
    if (options->capacity_bytes != 0) {
        size_t blocks = options->capacity_bytes / block_bytes_for(options);
        if (blocks == 0) return false;
        options->capacity = options->capacity != 0 ? lido__min(options->capacity, blocks) : blocks;
    }
    return limits_are_good(options);
}

// Pool structures are blocks of a pool of pools.
static lido_pool *structures(void) {
    static lido_pool pool;
    static _Atomic uint32_t made;
    if (LIDO_LIKELY(LIDO__ATOMIC_LOAD(&made, acquire) != 0)) return &pool;    // pairs with the release below
    lido__start();
    lido__lock_acquire(lido__making_lock(), LIDO__RANK_MAKING);
    if (LIDO__ATOMIC_LOAD(&made, relaxed) == 0) {    // relaxed: written under this lock
        lido_pool_options options = {.name = "pools",
                                     .block_size = sizeof(lido_pool),
                                     .alignment = LIDO__CACHE_LINE,
                                     .threads = LIDO_SHARED,
                                     .order = LIDO_FIFO,
                                     .check = LIDO_CHECK_OFF};
        lido__pool_init(&pool, &options, 0);
        pool.anonymous = true;
        LIDO__ATOMIC_STORE(&made, 1u, release);
    }
    lido__lock_release(lido__making_lock(), LIDO__RANK_MAKING);
    return &pool;
}

lido_pool *lido__pool_structure_new(void) { return lido_pool_alloc(structures()); }
void lido__pool_structure_free(lido_pool *pool) { lido_pool_free(structures(), pool); }

lido_pool *lido_pool_new(const lido_pool_options *given) {
    lido_pool_options copy = given != NULL ? *given : (lido_pool_options){.block_size = 0}, *options = &copy;
    if (!options_are_good(options)) {
        errno = EINVAL;
        return NULL;
    }
    unsigned bin = 0;
    lido__start();    // the options must have been read
    if (options->check == LIDO_CHECK_DEFAULT)
        options->check = (lido_check_level)lido__options_check_of(options->name != NULL ? options->name : "pool");
    lido__way way = way_for(options);
    lido_pool *pool = lido__pool_structure_new();
    if (pool != NULL && (way == LIDO__WAY_BINS || way == LIDO__WAY_BOUNDED || way == LIDO__WAY_WATCHED)) {
        bin = lido__entry_new();
        if (bin == 0) {    // 1,664 shared pools exist: the thread structure has no more bins
            lido__pool_structure_free(pool);
            pool = NULL;
            errno = ENOMEM;
        }
    }
    if (pool == NULL) return NULL;
    if (!lido__pool_init(pool, options, bin)) {
        if (bin != 0) lido__entry_free(bin);
        lido__pool_structure_free(pool);
        errno = ENOMEM;
        return NULL;
    }
    if (options->prewarm != 0 && lido_pool_prewarm(pool, options->prewarm) != 0) {
        lido__pool_fini(pool);
        lido__pool_structure_free(pool);
        errno = ENOMEM;
        return NULL;
    }
    return pool;
}

void lido_pool_destroy(lido_pool *pool) {
    if (pool == NULL || lido__pool_is_dead(pool, "lido_pool_destroy")) return;
    size_t live = lido_pool_stats(pool).live,
           waiting = LIDO__ATOMIC_LOAD(&pool->wait.used, relaxed);    // a report's figure
    if (waiting > 0) {
        lido__misuse("lido_pool_destroy: pool '%s': %z threads wait for a block", pool->name, waiting);
        return;
    }
    if (live > 0)
        lido__warn("lido_pool_destroy: pool '%s': %z blocks of %z bytes are still alive; their memory is freed too",
                   pool->name, live, (size_t)pool->slabs.block_bytes);
    if (lido__tools_count() && pool->watched) lido_pool_reset(pool);    // says that the live ones end
    if (pool->bin != 0) lido__threads_drain(pool);
    if (pool->way == LIDO__WAY_CHECKED) lido__checked_pool_end_all(pool, LIDO__END_DESTROY);
    lido__pool_fini(pool);
    if (pool->check > LIDO_CHECK_OFF) {
        lido__pool_bury(pool);
    } else {
        lido__pool_structure_free(pool);
    }
}

// --- one block ------------------------------------------------------------------------------------------------------

// Way face: the free list is empty, so all issued blocks but the fresh range are alive.
static void *face_alloc(lido_pool *pool, bool *refused) {
    size_t block_bytes = pool->slabs.block_bytes, capacity = lido__pool_capacity(pool);
    size_t live = pool->slabs.issued - (size_t)(pool->fresh_end - pool->fresh_next) / block_bytes;
    if (capacity != 0 && live >= capacity) return NULL;
    void *block = pool->fresh_next;
    if (pool->fresh_next == pool->fresh_end) {
        size_t got, most = capacity != 0 ? capacity - live : SIZE_MAX;
        char *fresh = lido__slabs_take_fresh(&pool->slabs, most, &got);
        if (got != 0) {
            block = fresh;
            pool->fresh_next = fresh + block_bytes;
            pool->fresh_end = fresh + got * block_bytes;
        } else {    // free blocks in the slabs (after a trim) come one by one, which keeps the high-water mark exact
            lido__chain chain = lido__slabs_take(&pool->slabs, 1);
            *refused = chain.refused;
            block = chain.first;
        }
    } else {
        pool->fresh_next += block_bytes;
    }
    if (block != NULL && pool->high_water <= live) pool->high_water = live + 1;
    return block;
}

static void *face_take(lido_pool *pool, bool *refused) {
    lido__link *block = pool->face.free;
    if (block == LIDO__POOL_END) return face_alloc(pool, refused);
    pool->face.free = block->next;
    return block;
}

void *lido__pool_take(lido_pool *pool, bool *refused) {
    switch (pool->way) {
        case LIDO__WAY_FACE: return face_take(pool, refused);
        case LIDO__WAY_BINS: return lido__bin_alloc_slow(pool);
        case LIDO__WAY_BOUNDED: return lido__bounded_alloc(pool, refused);
        case LIDO__WAY_STOCK: return lido__stock_alloc(pool, refused);
        case LIDO__WAY_WATCHED: return lido__watched_alloc(pool);
        case LIDO__WAY_CHECKED: return lido__checked_pool_alloc(pool, refused);
        case LIDO__WAY_DEAD: break;
    }
    return NULL;
}

// In check mode light every call comes here, so the common case comes first. NULL: any other.
static void *watched_alloc(lido_pool *pool) {
    bool refused = false;
    if (lido__inject_is_on() || pool->on_exhausted == LIDO_WAIT) return NULL;    // who waits has the first claim
    if (pool->way == LIDO__WAY_WATCHED) return lido__watched_pop(pool);
    return pool->threads != LIDO_CONFINED || lido__thread_token() == pool->owner ? lido__stock_alloc(pool, &refused)
                                                                                 : NULL;
}

static LIDO__NOINLINE void *lido__pool_alloc_rarely(lido_pool *pool) {
    void *block = pool->watched ? watched_alloc(pool) : NULL;
    if (LIDO_LIKELY(block != NULL)) return block;
    if (LIDO_UNLIKELY(lido__pool_is_dead(pool, "lido_pool_alloc"))) {
        errno = EINVAL;
        return NULL;
    }
    if (LIDO_UNLIKELY(!lido__stock_allows(pool, "lido_pool_alloc"))) {
        errno = EPERM;
        return NULL;
    }
    return lido__pool_obtain(pool, lido__attempt_block, NULL, NULL);
}

void *lido__pool_alloc_slow(lido_pool *pool) {
    void *block = NULL;
    if (LIDO_LIKELY(pool->way == LIDO__WAY_BINS)) {
        block = lido__bin_pop(lido__bin_at(lido__self, pool->bin));
    } else if (pool->way == LIDO__WAY_BOUNDED) {
        block = lido__bounded_pop(pool);
    }
    return LIDO_LIKELY(block != NULL) ? block : lido__pool_alloc_rarely(pool);
}

// Any address: whether it lies in a slab of the pool.
static bool lies_in(const lido_pool *pool, const void *p) {
    if (!lido__entry_is_slab(lido__window_entry(p))) return false;
    const lido__slab *slab = lido__slab_of(p);
    return slab->kind == LIDO__RUN_SLAB && slab->set == &pool->slabs;
}

static bool is_block_of(lido_pool *pool, void *p) {
    bool exact = false;
    if (!lies_in(pool, p)) {
        lido__misuse("lido_pool_free(%p): not a block of pool '%s'", p, pool->name);
        return false;
    }
    if (pool->watched && lido__watch_is_out(p)) return true;
    lido__slab *slab = lido__slab_of(p);
    size_t index = lido__slab_index(&pool->slabs, slab, p, &exact);
    if (exact && index < pool->slabs.blocks_per_slab) return true;
    char *start = lido__slab_memory(slab) + index * pool->slabs.block_bytes;
    if (index >= pool->slabs.blocks_per_slab) {
        lido__misuse(
            "lido_pool_free(%p): behind the last block of a slab of pool '%s'; nothing was ever allocated there", p,
            pool->name);
    } else {
        lido__misuse("lido_pool_free(%p): inside a block of pool '%s', %z bytes after its start at %p", p, pool->name,
                     (size_t)((char *)p - start), (void *)start);
    }
    return false;
}

static LIDO__NOINLINE void lido__pool_free_rarely(lido_pool *pool, void *p) {
    if (pool->way == LIDO__WAY_WATCHED && lies_in(pool, p) && lido__watched_push(pool, p)) return;
    if (p == NULL || lido__pool_is_dead(pool, "lido_pool_free")) return;
    if (pool->way == LIDO__WAY_CHECKED) {
        lido__checked_pool_free(pool, p, "lido_pool_free");
        return;
    }
    if (!is_block_of(pool, p)) return;
    switch (pool->way) {
        case LIDO__WAY_FACE: lido_pool_free(pool, p); break;
        case LIDO__WAY_BINS: lido__bin_free_slow(pool, p); break;
        case LIDO__WAY_BOUNDED: lido__bounded_free(pool, p); break;
        case LIDO__WAY_STOCK: lido__stock_free(pool, p); break;
        case LIDO__WAY_WATCHED: lido__watched_free(pool, p); break;
        case LIDO__WAY_CHECKED:
        case LIDO__WAY_DEAD: break;
    }
}

void lido__pool_free_slow(lido_pool *pool, void *p) {
    if (LIDO_LIKELY(lido__window_entry(p) == pool->bin && (uint16_t)(uintptr_t)p < pool->block_end)) {
        if (LIDO_LIKELY(pool->way == LIDO__WAY_BINS)) {
            if (LIDO_LIKELY(lido__bin_push(lido__bin_at(lido__self, pool->bin), p))) return;
        } else if (pool->way == LIDO__WAY_BOUNDED) {
            if (LIDO_LIKELY(lido__bounded_push(pool, p))) return;
        }
    }
    lido__pool_free_rarely(pool, p);
}

// --- many blocks ----------------------------------------------------------------------------------------------------

typedef struct bulk {
    void **blocks;
    size_t count, have;
    uint32_t resets;    // when `have` was 0
} bulk;

// Adds what can be had; NULL as long as that is not all.
static void *attempt_bulk(lido_pool *pool, void *context, bool *refused) {
    bulk *b = (bulk *)context;
    if (b->have > 0 && b->resets != pool->wait.resets) b->have = 0;    // a reset has declared them free
    b->resets = pool->wait.resets;
    while (b->have < b->count) {
        void *block = lido__pool_take(pool, refused);
        if (block == NULL) return NULL;
        b->blocks[b->have++] = block;
    }
    return b->blocks;
}

static void give_up_bulk(lido_pool *pool, void *context) {
    bulk *b = (bulk *)context;
    if (b->resets == pool->wait.resets) lido_pool_free_bulk(pool, b->blocks, b->have);
    b->have = 0;
}

// LIDO_WAIT. What was had before the wait goes back: a thread that waits at the end of the queue holds nothing.
static int wait_for_bulk(lido_pool *pool, void **blocks, size_t count) {
    bulk b = {blocks, count, 0, 0};
    if (count == 0) return 0;
    if (count > lido__pool_capacity(pool)) {
        errno = ENOMEM;
        return -1;
    }
    return lido__pool_obtain(pool, attempt_bulk, &b, give_up_bulk) != NULL ? 0 : -1;
}

int lido_pool_alloc_bulk(lido_pool *pool, void **blocks, size_t count) {
    if (LIDO_UNLIKELY(pool->on_exhausted == LIDO_WAIT)) return wait_for_bulk(pool, blocks, count);
    for (size_t i = 0; i < count; i++) {
        blocks[i] = lido_pool_alloc(pool);
        if (LIDO_LIKELY(blocks[i] != NULL)) continue;
        int error = errno;
        lido_pool_free_bulk(pool, blocks, i);
        errno = error;
        return -1;
    }
    return 0;
}

void lido_pool_free_bulk(lido_pool *pool, void *const *blocks, size_t count) {
    for (size_t i = count; i > 0; i--) lido_pool_free(pool, blocks[i - 1]);
}

// --- ownership ------------------------------------------------------------------------------------------------------

static lido_pool *pool_in_whose_memory(const void *p) {
    if (LIDO_UNLIKELY(lido__window_entry(p) == LIDO__ENTRY_CHECK)) return lido__checked_pool_of(p);
    if (!lido__entry_is_slab(lido__window_entry(p))) return NULL;
    const lido__slab *slab = lido__slab_of(p);
    if (slab->kind != LIDO__RUN_SLAB || slab->set == NULL) return NULL;
    lido_pool *pool = lido__pool_of_set(slab->set);
    bool exact;
    return lido__slab_index(slab->set, slab, p, &exact) < slab->set->blocks_per_slab ? pool : NULL;
}

bool lido_pool_owns(const lido_pool *pool, const void *p) { return pool_in_whose_memory(p) == pool; }

lido_pool *lido_pool_of(const void *p) {
    lido_pool *pool = pool_in_whose_memory(p);
    return pool == NULL || pool->anonymous ? NULL : pool;
}

size_t lido_pool_block_size(const lido_pool *pool) { return pool->slabs.block_bytes; }
const char *lido_pool_name(const lido_pool *pool) { return pool->name; }
