// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Who exists: the list of pools, who owns which bin, the start of the library, fork, and what happens when the
// system refuses memory.
//
// The bin owners are read without a lock: each is released when its pool is complete.
#include "pool/thread.h"

#include "base/options.h"
#include "check/check.h"
#include "os/os.h"
#include "os/report.h"
#include "os/tools.h"
#include "slab/mapping.h"

#include <pthread.h>
#include <unistd.h>

static lido__lock the_lock, making_lock;
#define LOCK() lido__lock_acquire(&the_lock, LIDO__RANK_REGISTRY)
#define UNLOCK() lido__lock_release(&the_lock, LIDO__RANK_REGISTRY)

_Atomic(lido_pool *) lido__pools_of_bins[LIDO__BIN_COUNT];    // [lock:registry] written; read without
static lido_pool *all_pools;                                  // [lock:registry]

lido__lock *lido__registry_lock(void) { return &the_lock; }
lido__lock *lido__making_lock(void) { return &making_lock; }

// Size classes have the first bins (heap/size_class.h).
unsigned lido__entry_new(void) {
    static lido_pool reserved;
    unsigned entry = 0;
    LOCK();
    for (unsigned i = LIDO__POOL_FIRST_BIN; i < LIDO__BIN_COUNT && entry == 0; i++) {
        if (LIDO__ATOMIC_LOAD(&lido__pools_of_bins[i], relaxed) != NULL) continue;
        LIDO__ATOMIC_STORE(&lido__pools_of_bins[i], &reserved, relaxed);
        entry = i * LIDO__BIN_BYTES;
    }
    UNLOCK();
    return entry;
}

void lido__entry_free(unsigned entry) {
    LOCK();
    LIDO__ATOMIC_STORE(&lido__pools_of_bins[entry / LIDO__BIN_BYTES], NULL, relaxed);
    UNLOCK();
}

void lido__registry_add(lido_pool *pool) {
    LOCK();
    pool->previous = NULL;
    pool->next = all_pools;
    if (all_pools != NULL) all_pools->previous = pool;
    all_pools = pool;
    if (pool->bin != 0) {
        LIDO__ATOMIC_STORE(&lido__pools_of_bins[pool->bin / LIDO__BIN_BYTES], pool,
                           release);    // pairs with lido__pool_at_entry
        lido__thread_note_entry_locked(pool->bin);
    }
    UNLOCK();
}

void lido__registry_name(unsigned entry, lido_pool *pool) {
    LOCK();
    LIDO__ATOMIC_STORE(&lido__pools_of_bins[entry / LIDO__BIN_BYTES], pool, release);    // as above
    UNLOCK();
}

void lido__registry_remove(lido_pool *pool) {
    LOCK();
    if (pool->previous != NULL) {
        pool->previous->next = pool->next;
    } else {
        all_pools = pool->next;
    }
    if (pool->next != NULL) pool->next->previous = pool->previous;
    UNLOCK();
}

void lido__registry_each(void (*call)(lido_pool *pool, void *context), void *context) {
    LOCK();
    for (lido_pool *pool = all_pools; pool != NULL; pool = pool->next) call(pool, context);
    UNLOCK();
}

// --- start and fork -------------------------------------------------------------------------------------------------

void lido__start(void) {
    // 0 not begun, 1 done. Under the registry's lock: the steps below take no other lock and do not allocate.
    static _Atomic uint32_t started;
    if (LIDO_LIKELY(LIDO__ATOMIC_LOAD(&started, acquire) == 1)) return;    // pairs with the release below
    LOCK();
    if (LIDO__ATOMIC_LOAD(&started, relaxed) == 0) {
        lido__options_warn = lido__warn;
        lido__options_load(environ);
        if (lido__tools_find(lido__check_describe)) lido__tools_owner(&lido__check_malloc_source);
        if (lido__os_thread_exit_register(lido__thread_end)) LIDO__ATOMIC_STORE(&started, 1u, release);
    }
    UNLOCK();
}

// Fork while others allocate: the forking thread takes every lock, so that the child's copy is consistent. In the child the
// other threads are gone; what their bins held is lost to it, a few batches each.
static void each_pool_lock(void (*call)(lido__lock *)) {
    for (lido_pool *pool = all_pools; pool != NULL; pool = pool->next) call(&pool->lock);
    for (lido_pool *pool = all_pools; pool != NULL; pool = pool->next) call(&pool->slabs.lock);
}
static void each_lower_lock(void (*call)(lido__lock *)) {
    lido__check_each_lock(call);
    call(lido__segments_lock());
    call(lido__mappings_lock());
}
// The locks of the lists that these two walk: taken before them, and released last, so that nobody changes a list in between.
static void each_list_lock(void (*call)(lido__lock *)) {
    call(lido__check_sources_lock());
    call(&the_lock);
    call(&making_lock);
}

static void before_fork(void) {    // in the order of ranks
    lido__lock_acquire_unranked(&making_lock);
    lido__lock_acquire_unranked(&the_lock);
    each_pool_lock(lido__lock_acquire_unranked);
    lido__lock_acquire_unranked(lido__check_sources_lock());
    each_lower_lock(lido__lock_acquire_unranked);
    lido__lock_exempt = true;
}
static void after_fork_in_parent(void) {
    lido__lock_exempt = false;
    each_lower_lock(lido__lock_release_unranked);
    each_pool_lock(lido__lock_release_unranked);
    each_list_lock(lido__lock_release_unranked);
}
static void after_fork_in_child(void) {
    lido__os_thread_id_forget();
    lido__check_after_fork();
    lido__lock_exempt = false;
    each_lower_lock(lido__lock_reset);
    each_pool_lock(lido__lock_reset);
    each_list_lock(lido__lock_reset);
    for (lido_pool *pool = all_pools; pool != NULL; pool = pool->next) lido__wait_queue_forget(&pool->wait);
    lido__threads_forget_others();
}

__attribute__((constructor)) static void watch_forks(void) {
    lido__start();
    lido__options_load(environ);    // if the first call came before the C library knew its environment
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

// --- memory pressure and trim ---------------------------------------------------------------------------------------

static void reclaim_pool(lido_pool *pool, void *context) {
    size_t *bytes = (size_t *)context;
    lido__depot_empty_locked(pool);
    *bytes += lido__slabs_trim(&pool->slabs, false);
}

size_t lido__reclaim(size_t keep_bytes) {
    size_t bytes = 0;
    lido__thread_flush();
    lido__threads_ask_to_flush();
    lido__registry_each(reclaim_pool, &bytes);
    lido__threads_trim();
    bytes += lido__mappings_purge(true);
    return bytes + lido__segments_purge(true, keep_bytes);
}
