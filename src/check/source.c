// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Sources of checked blocks: made with a pool, an arena or a heap, and used again when that is gone and none of its blocks
// rests any more. So their number is bounded by what was in use at one time, and so is the time that fork takes. See check.h.
#include "check/check.h"

#include "os/os.h"
#include "os/tools.h"

#include <string.h>

lido__check_source lido__check_malloc_source = {.kind = "", .name = "malloc"};

static lido__lock sources_lock;
static _Atomic(lido__check_source *) all_sources = &lido__check_malloc_source;    // [lock:sources] written
static lido__check_source *spare_sources;                                         // [lock:sources]
static char *room, *room_end;                                                     // [lock:sources] for new ones

#define LOCK() lido__lock_acquire(&sources_lock, LIDO__RANK_CHECK)
#define UNLOCK() lido__lock_release(&sources_lock, LIDO__RANK_CHECK)

const lido__check_source *lido__check_sources(void) {
    return LIDO__ATOMIC_LOAD(&all_sources, acquire);    // pairs with the release in fresh_locked
}

static lido__check_source *fresh_locked(void) {
    enum { CHUNK_BYTES = 64 << 10 };
    if ((size_t)(room_end - room) < sizeof(lido__check_source)) {
        room = (char *)lido__os_map(CHUNK_BYTES);
        room_end = room != NULL ? room + CHUNK_BYTES : NULL;
    }
    if (room == NULL) return NULL;
    lido__check_source *source = (lido__check_source *)(void *)room;
    room += sizeof *source;
    source->kind = "";
    source->next = LIDO__ATOMIC_LOAD(&all_sources, relaxed);
    LIDO__ATOMIC_STORE(&all_sources, source, release);    // pairs with lido__check_sources
    return source;
}

lido__check_source *lido__check_source_new(const char *kind, const char *name, const void *owner, size_t block_bytes,
                                           uint32_t thread) {
    LOCK();
    lido__check_source *source = spare_sources;
    if (source != NULL) {
        spare_sources = source->spare;
    } else {
        source = fresh_locked();
    }
    UNLOCK();
    if (source == NULL) return NULL;
    source->kind = kind;
    source->owner = owner;
    source->block_bytes = block_bytes;
    source->thread = thread;
    strncpy(source->name, name, LIDO__CHECK_NAME_MAX);    // zeroes the rest
    LIDO__ATOMIC_STORE(&source->ended, 0u, relaxed);      // only its owner has it yet
    if (lido__tools != 0) lido__tools_owner(source);
    return source;
}

static void make_spare(lido__check_source *source) {
    LOCK();
    source->spare = spare_sources;
    spare_sources = source;
    UNLOCK();
}

void lido__check_source_end(lido__check_source *source) {
    if (source == &lido__check_malloc_source) return;
    lido__lock_acquire(&source->lock, LIDO__RANK_CHECK);
    LIDO__ATOMIC_STORE(&source->ended, 1u, relaxed);
    bool idle = source->held == 0;
    lido__lock_release(&source->lock, LIDO__RANK_CHECK);
    if (idle) make_spare(source);
}

void lido__check_source_drop(lido__check_source *source) {
    if (source == &lido__check_malloc_source) return;
    lido__lock_acquire(&source->lock, LIDO__RANK_CHECK);
    bool idle = --source->held == 0 && LIDO__ATOMIC_LOAD(&source->ended, relaxed) != 0;
    lido__lock_release(&source->lock, LIDO__RANK_CHECK);
    if (idle) make_spare(source);
}

lido__lock *lido__check_sources_lock(void) { return &sources_lock; }

void lido__check_sources_each_lock(void (*call)(lido__lock *)) {
    for (lido__check_source *s = LIDO__ATOMIC_LOAD(&all_sources, relaxed); s != NULL; s = s->next) call(&s->lock);
}
