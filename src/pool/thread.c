// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The slow halves of bins, and the life of thread structures. See thread.h for the picture.
//
// Life: the first slow half makes a structure; the system's thread-exit hook empties it and takes it away. What the thread
// still allocates and frees after that (other exit hooks, the C library's own clean-up) goes straight to the slabs, so
// nothing is left behind in whatever order the hooks run.
#include "pool/thread.h"

#include "pool/bounded.h"

#include "os/os.h"
#include "os/probes.h"
#include "os/report.h"

#include <string.h>

enum {
    // A bin starts with 256 bytes, at most 8 blocks and at least one, and doubles after 16 refills or spills: most bins of most
    // threads never see so many, and a thread that did a little of everything (8 blocks of 27 sizes to 5 KB) and now idles
    // holds 40 KB, where doubling each time left it with 200.
    GROW_EVENTS = 16,
    BATCH_FIRST = 8,
    BATCH_FIRST_BYTES = 256,
    CACHED_STRUCTURES = 16,    // of ended threads, kept for the next ones: their pages are present and zero
};

lido__thread lido__thread_none;
__thread lido__thread *lido__self __attribute__((tls_model("initial-exec"))) = &lido__thread_none;
static __thread bool thread_ended __attribute__((tls_model("initial-exec")));

static lido__thread *all_threads;      // [lock:registry]
static lido__thread *cached;           // [lock:registry] linked by `next`
static unsigned cached_count;          // [lock:registry]
static size_t thread_count;            // [lock:registry]
static size_t structure_count;         // [lock:registry] in use, cached, or lost in a fork
static uint32_t next_depot_start;      // [lock:registry]
static unsigned entry_limit;           // [lock:registry] no bin at or above this was ever used by a thread
static _Atomic uint32_t trim_epoch;    // relaxed: a wish

#define LOCK() lido__lock_acquire(lido__registry_lock(), LIDO__RANK_REGISTRY)
#define UNLOCK() lido__lock_release(lido__registry_lock(), LIDO__RANK_REGISTRY)

// --- bins -----------------------------------------------------------------------------------------------------------

static void bin_start(const lido_pool *pool, lido__bin *bin, lido__bin_back *back) {
    size_t first = lido__min(lido__min(BATCH_FIRST, BATCH_FIRST_BYTES / pool->slabs.block_bytes), pool->batch_max);
    back->batch = (uint16_t)lido__max(first, 1);
    bin->room = back->batch;
    if (pool->way == LIDO__WAY_BINS || pool->way == LIDO__WAY_WATCHED) bin->check = pool->block_check;
}

// After some refills and spills the batch doubles. Requires: the bin's head is empty.
static void bin_grow(const lido_pool *pool, lido__bin *bin, lido__bin_back *back) {
    if (back->batch >= pool->batch_max || ++back->events < GROW_EVENTS) return;
    back->events = 0;
    back->batch = (uint16_t)lido__min(back->batch * 2u, pool->batch_max);
    bin->room = back->batch;
}

static void set_head(lido__bin *bin, lido__bin_back *back, lido__link *first, uint32_t count) {
    if (back->batch < count) back->batch = (uint16_t)count;    // it came from a thread whose batches have grown further
    bin->head = first;
    bin->room = back->batch - count;
}

uint32_t lido__bin_wants(const lido_pool *pool, const lido__bin_back *back) {
    if (back->batch != 0) return back->batch;
    return (uint32_t)lido__max(lido__min(BATCH_FIRST, BATCH_FIRST_BYTES / pool->slabs.block_bytes), 1);
}

void *lido__bin_take(lido__bin *bin, lido__bin_back *back) {
    void *block = lido__bin_pop(bin);
    if (block != NULL || back->spare == NULL) return block;
    lido__link *spare = back->spare;
    back->spare = NULL;
    set_head(bin, back, spare->next, back->spare_count - 1);
    return spare;
}

void lido__bin_fill(lido_pool *pool, lido__bin *bin, lido__bin_back *back, lido__link *first, uint32_t count) {
    if (LIDO_UNLIKELY(back->batch == 0)) bin_start(pool, bin, back);
    bin_grow(pool, bin, back);
    set_head(bin, back, first, count);
    LIDO__PROBE4(refill, pool, pool->name, pool->slabs.block_bytes, count);
}

lido__link *lido__bin_put(lido_pool *pool, lido__bin *bin, lido__bin_back *back, void *p, uint32_t *count) {
    lido__link *leaves = NULL, *link = (lido__link *)p;
    if (LIDO_UNLIKELY(back->batch == 0)) bin_start(pool, bin, back);
    if (bin->room == 0 &&
        back->batch == 1) {    // no spare yet: one block is all that a hardly used bin of large blocks keeps
        leaves = bin->head;
        *count = 1;
        bin->head = NULL;
        bin->room = 1;
        bin_grow(pool, bin, back);
    } else if (bin->room == 0) {    // head is full: it becomes the spare, and the old spare leaves
        leaves = back->spare;
        *count = back->spare_count;
        back->spare = bin->head;
        back->spare_count = back->batch;
        bin->head = NULL;
        bin->room = back->batch;
        bin_grow(pool, bin, back);
    }
    bin->room--;
    link->next = bin->head;
    bin->head = link;
    if (leaves != NULL) LIDO__PROBE4(spill, pool, pool->name, pool->slabs.block_bytes, *count);
    return leaves;
}

void lido__bin_empty(lido_pool *pool, lido__bin *bin, lido__bin_back *back) {
    lido__link *head = bin->head, *spare = back->spare;
    bin->head = NULL;
    bin->room = back->batch;
    back->spare = NULL;
    back->spare_count = 0;
    if (head != NULL) lido__slabs_give(&pool->slabs, head);
    if (spare != NULL) lido__slabs_give(&pool->slabs, spare);
}

static void follow_trim(lido__thread *thread) {
    uint32_t epoch = LIDO__ATOMIC_LOAD(&trim_epoch, relaxed);
    if (LIDO_LIKELY(thread->trim_epoch == epoch)) return;
    thread->trim_epoch = epoch;
    lido__thread_flush();
}

static void *take_one(lido_pool *pool) {
    lido__chain chain = lido__slabs_take(&pool->slabs, 1);
    if (LIDO_UNLIKELY(chain.count == 0)) {
        lido__reclaim(0);
        chain = lido__slabs_take(&pool->slabs, 1);
    }
    return chain.first;
}

void *lido__bin_alloc_slow(lido_pool *pool) {
    lido__thread *thread = lido__thread_self();
    if (LIDO_UNLIKELY(thread == &lido__thread_none)) return take_one(pool);
    lido__bin *bin = lido__bin_at(thread, pool->bin);
    lido__bin_back *back = lido__bin_back_at(thread, pool->bin);
    follow_trim(thread);
    void *block = lido__bin_take(bin, back);
    if (block != NULL) return block;
    uint32_t count;
    lido__link *batch = lido__depot_pop(&pool->depot, &count, thread->depot_start);
    if (batch == NULL) {
        lido__chain chain = lido__slabs_take(&pool->slabs, lido__bin_wants(pool, back));
        if (LIDO_UNLIKELY(chain.count == 0)) return take_one(pool);
        batch = chain.first;
        count = chain.count;
    }
    lido__bin_fill(pool, bin, back, batch->next, count - 1);
    return batch;
}

void lido__bin_free_slow(lido_pool *pool, void *p) {
    if (!lido__slabs_check_start(&pool->slabs, p, "free")) return;
    lido__thread *thread = lido__thread_self();
    if (LIDO_UNLIKELY(thread == &lido__thread_none)) {
        ((lido__link *)p)->next = NULL;
        lido__slabs_give(&pool->slabs, (lido__link *)p);
        return;
    }
    follow_trim(thread);
    uint32_t count;
    lido__link *leaves =
        lido__bin_put(pool, lido__bin_at(thread, pool->bin), lido__bin_back_at(thread, pool->bin), p, &count);
    if (leaves != NULL && !lido__depot_push(&pool->depot, leaves, count, thread->depot_start))
        lido__slabs_give(&pool->slabs, leaves);
}

// --- thread life ----------------------------------------------------------------------------------------------------

static lido__thread *structure_new(void) {
    lido__thread *thread = NULL;
    LOCK();
    if (cached != NULL) {
        thread = cached;
        cached = thread->next;
        cached_count--;
        thread->next = NULL;
    }
    UNLOCK();
    if (thread != NULL) return thread;
    bool zero;
    lido__slab *run = lido__run_new(LIDO__RUN_META, 1, 1, LIDO__ENTRY_META, &zero);
    if (run == NULL) return NULL;
    LOCK();
    structure_count++;
    UNLOCK();
    thread = (lido__thread *)(void *)lido__slab_memory(run);
    if (!zero) memset(thread, 0, sizeof *thread);
    return thread;
}

// Requires: all bins are empty.
static void structure_free(lido__thread *thread, unsigned limit) {
    memset(thread->bins, 0, limit);
    memset(thread->backs, 0, limit);
    thread->next = thread->previous = NULL;
    LOCK();
    bool keep = cached_count < CACHED_STRUCTURES;
    if (keep) {
        thread->next = cached;
        cached = thread;
        cached_count++;
    } else {
        structure_count--;
    }
    UNLOCK();
    if (!keep) lido__run_free(lido__slab_of(thread));
}

static LIDO__NOINLINE lido__thread *thread_start(void) {
    lido__start();
    if (thread_ended) return &lido__thread_none;
    lido__thread *thread = structure_new();
    if (thread == NULL) return &lido__thread_none;
    LOCK();
    thread->next = all_threads;
    if (all_threads != NULL) all_threads->previous = thread;
    all_threads = thread;
    thread_count++;
    thread->depot_start = next_depot_start++ % LIDO__DEPOT_SLOTS;
    UNLOCK();
    thread->trim_epoch = LIDO__ATOMIC_LOAD(&trim_epoch, relaxed);
    lido__self = thread;
    // arming may come back here through calloc: self is set, so it finds its bins
    if (lido__os_thread_exit_arm(thread)) return thread;
    lido__thread_end(thread);    // nobody would take it away: this thread does without
    return &lido__thread_none;
}

lido__thread *lido__thread_self(void) {
    return LIDO_LIKELY(lido__self != &lido__thread_none) ? lido__self : thread_start();
}

void lido__thread_prewarm(lido_pool *pool) {
    lido__thread *thread = lido__thread_self();
    if (thread == &lido__thread_none) return;
    bool bounded = pool->way == LIDO__WAY_BOUNDED;
    if (bounded && !lido__bounded_enter(thread, pool)) return;
    lido__bin_back *back = lido__bin_back_at(thread, pool->bin);
    if (back->batch == 0) bin_start(pool, lido__bin_at(thread, pool->bin), back);
    if (bounded) lido__bounded_leave(thread);
}

void lido__thread_note_entry_locked(unsigned entry) {
    if (entry_limit < entry + LIDO__BIN_BYTES) entry_limit = entry + LIDO__BIN_BYTES;
}

static void flush_pool(lido__thread *thread, lido_pool *pool) {
    lido__bin_back *back = lido__bin_back_at(thread, pool->bin);
    if (back->batch == 0) return;
    bool mine = pool->way != LIDO__WAY_BOUNDED || lido__bounded_enter(thread, pool);
    if (!mine) return;    // recalled: another thread has emptied it, or does so now
    lido__bin_empty(pool, lido__bin_at(thread, pool->bin), back);
    if (pool->way == LIDO__WAY_BOUNDED) lido__bounded_leave(thread);
}

static void flush_between(lido__thread *thread, unsigned first, unsigned limit) {
    for (unsigned entry = first; entry < limit; entry += LIDO__BIN_BYTES) {
        if (lido__bin_back_at(thread, entry)->batch != 0) flush_pool(thread, lido__pool_at_entry(entry));
    }
}

// Size classes live for ever. A pool may be destroyed at this moment, by a thread that knows that this one uses it no more:
// the lock keeps the two from emptying one bin.
static void flush(lido__thread *thread) {
    flush_between(thread, LIDO__CLASS_FIRST_BIN * LIDO__BIN_BYTES, LIDO__POOL_FIRST_BIN * LIDO__BIN_BYTES);
    LOCK();
    flush_between(thread, LIDO__POOL_FIRST_BIN * LIDO__BIN_BYTES, entry_limit);
    UNLOCK();
}

void lido__thread_flush(void) {
    if (lido__self != &lido__thread_none) flush(lido__self);
}

void lido__thread_flush_pool(lido_pool *pool) {
    if (lido__self != &lido__thread_none) flush_pool(lido__self, pool);
}

void lido__thread_end(void *argument) {
    lido__thread *thread = (lido__thread *)argument;
    thread_ended = true;
    lido__self = &lido__thread_none;
    flush(thread);
    LOCK();
    unsigned limit = entry_limit;
    if (thread->previous != NULL) {
        thread->previous->next = thread->next;
    } else {
        all_threads = thread->next;
    }
    if (thread->next != NULL) thread->next->previous = thread->previous;
    thread_count--;
    UNLOCK();
    structure_free(thread, limit);
}

// --- all threads ----------------------------------------------------------------------------------------------------

void lido__depot_empty_locked(lido_pool *pool) {
    uint32_t count;
    for (;;) {
        lido__link *batch = (lido__link *)lido__depot_pop(&pool->depot, &count, 0);
        if (batch == NULL) return;
        lido__slabs_give(&pool->slabs, batch);
    }
}

void lido__threads_each_locked(void (*call)(lido__thread *thread, void *context), void *context) {
    for (lido__thread *thread = all_threads; thread != NULL; thread = thread->next) call(thread, context);
}

static void drain_one(lido__thread *thread, void *context) {
    lido_pool *pool = (lido_pool *)context;
    lido__bin *bin = lido__bin_at(thread, pool->bin);
    lido__bin_back *back = lido__bin_back_at(thread, pool->bin);
    if (back->batch == 0) return;
    lido__bin_empty(pool, bin, back);
    *bin = (lido__bin){NULL, 0, 0};
    *back = (lido__bin_back){NULL, 0, 0, 0};
}

void lido__threads_drain(lido_pool *pool) {
    LOCK();
    lido__threads_each_locked(drain_one, pool);
    UNLOCK();
}

// Reads what other threads write with plain stores: their fast paths cannot pay for atomic ones (`room++` would be three
// instructions in place of one). Word-sized reads of values that are exact once the thread is quiet, and the one
// place of its kind; ThreadSanitizer is told so.
__attribute__((no_sanitize("thread"))) size_t lido__threads_stock_locked(const lido_pool *pool) {
    size_t blocks = 0;
    for (lido__thread *thread = all_threads; thread != NULL; thread = thread->next) {
        const lido__bin *bin = lido__bin_at(thread, pool->bin);
        const lido__bin_back *back = lido__bin_back_at(thread, pool->bin);
        if (__atomic_load_n(&back->batch, __ATOMIC_RELAXED) == 0) continue;
        if (__atomic_load_n(&back->spare, __ATOMIC_RELAXED) != NULL)
            blocks += __atomic_load_n(&back->spare_count, __ATOMIC_RELAXED);
        if (__atomic_load_n(&bin->head, __ATOMIC_RELAXED) == NULL) continue;
        blocks += __atomic_load_n(&back->batch, __ATOMIC_RELAXED) - __atomic_load_n(&bin->room, __ATOMIC_RELAXED);
    }
    return blocks;
}

size_t lido__threads_structures(void) {
    LOCK();
    size_t count = structure_count;
    UNLOCK();
    return count;
}

size_t lido__threads_count(void) {
    LOCK();
    size_t count = thread_count;
    UNLOCK();
    return count;
}

void lido__threads_trim(void) {
    LOCK();
    lido__thread *list = cached;
    cached = NULL;
    structure_count -= cached_count;
    cached_count = 0;
    UNLOCK();
    while (list != NULL) {
        lido__thread *next = list->next;
        lido__run_free(lido__slab_of(list));
        list = next;
    }
}

void lido__threads_forget_others(void) {
    lido__thread *self = lido__self != &lido__thread_none ? lido__self : NULL;
    all_threads = self;
    thread_count = self != NULL ? 1 : 0;
    if (self != NULL) self->next = self->previous = NULL;
}

void lido__threads_ask_to_flush(void) {
    uint32_t epoch = LIDO__ATOMIC_ADD(&trim_epoch, 1u, relaxed) + 1;
    if (lido__self != &lido__thread_none) lido__self->trim_epoch = epoch;
}
