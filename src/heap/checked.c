// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See checked.h.
#include "heap/checked.h"

#include "check/inject.h"
#include "heap/heap.h"
#include "os/os.h"
#include "pool/checked.h"
#include "pool/watched.h"

#include <errno.h>
#include <string.h>

void *lido__heap_checked_alloc(lido__check_source *source, size_t size, size_t alignment, lido__check_call call) {
    lido_check_level level = lido__check_now();
    alignment = lido__max(alignment, 16);
    int before = errno;
    if (lido__inject(source->name)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = lido__checked_alloc(source, level, size, alignment, call, 0);
    if (LIDO_UNLIKELY(block == NULL) && size <= PTRDIFF_MAX) {
        lido__reclaim(0);
        block = lido__checked_alloc(source, level, size, alignment, call, 0);
    }
    errno = block != NULL ? before : ENOMEM;
    return block;
}

// Every Nth allocation of the thread by way of check=sample:N. Threads start at different places, so that short-lived ones are
// not left out.
static bool is_sampled(void) {
    static __thread uint32_t left __attribute__((tls_model("initial-exec")));
    uint32_t interval = LIDO__ATOMIC_LOAD(&lido__options.check_sample, relaxed);    // relaxed: see base/options.h
    if (LIDO_UNLIKELY(left == 0)) {
        uint32_t place = lido__os_random() ^ lido__os_thread_id() * UINT32_C(0x9E3779B1);
        left = place % interval + 1;
    }
    if (LIDO_LIKELY(--left != 0)) return false;
    left = interval;
    return true;
}

static void *plain_alloc(size_t size, size_t alignment, bool *zero) {
    size_t small = lido__small_bytes(lido__max(size, 1), alignment);
    if (small == 0) return lido__large_alloc(lido__max(size, 1), alignment, NULL, zero);
    void *block = lido__class_alloc(lido__class_pool(small));
    if (LIDO_UNLIKELY(block == NULL)) errno = ENOMEM;
    return block;
}

void *lido__malloc_checked(size_t size, size_t alignment, lido__check_call call, bool *zero) {
    lido_check_level level = lido__check_now();
    *zero = false;
    if (level >= LIDO_CHECK_GUARD || (level == LIDO_CHECK_SAMPLE && is_sampled()))
        return lido__heap_checked_alloc(&lido__check_malloc_source, size, alignment, call);
    if (lido__inject("malloc")) {
        errno = ENOMEM;
        return NULL;
    }
    return plain_alloc(size, alignment, zero);
}

bool lido__heap_is_live(const void *p, const char *call) {
    if (!lido__entry_is_slab(lido__window_entry(p))) return true;
    const lido__slab *slab = lido__slab_of(p);
    if (slab->kind != LIDO__RUN_SLAB || slab->set == NULL) return true;
    return lido__watch_require(lido__pool_of_set(slab->set), p, call, LIDO__WAS_FREED);
}

static const char *name_of(lido__check_call call, size_t bytes) {
    switch (call) {
        case LIDO__CALL_NEW: return "delete";
        case LIDO__CALL_NEW_ARRAY: return "delete[]";
        default: return bytes != SIZE_MAX ? "free_sized" : "free";
    }
}

void lido__heap_checked_free(void *p, lido__check_call call, size_t bytes) {
    const lido__checked *record = lido__checked_find(p);
    // a block of a pool may come back through free: it leads to its pool
    if (record->call == LIDO__CALL_POOL && call != LIDO__CALL_NEW && call != LIDO__CALL_NEW_ARRAY) {
        lido_pool *pool = lido__checked_pool_of(p);
        if (pool != NULL) {
            lido__checked_pool_free(pool, p, "free");
            return;
        }
    }
    lido__check_claim claim = {.name = name_of(call, bytes), .call = call, .bytes = bytes};
    lido__checked_free(p, &claim);
}

size_t lido__heap_checked_bytes(const void *p, const char *call) {
    lido__check_claim claim = {.name = call, .call = LIDO__CALL_ANY, .bytes = SIZE_MAX};
    return lido__checked_require(p, &claim) ? lido__checked_bytes(p) : 0;
}

bool lido__heap_checked_require(const void *p, const char *call, size_t *bytes) {
    lido__check_claim claim = {.name = call, .call = LIDO__CALL_MALLOC, .bytes = SIZE_MAX};
    if (!lido__checked_require(p, &claim)) return false;
    *bytes = lido__checked_bytes(p);
    return true;
}

void *lido__heap_checked_realloc(void *p, size_t size) {
    size_t old_bytes;
    if (!lido__heap_checked_require(p, "realloc", &old_bytes)) return NULL;
    // always moved: what still uses the old address is seen
    lido__check_source *source = lido__checked_find(p)->source;
    bool zero;
    void *moved = source == &lido__check_malloc_source ? lido__malloc_checked(size, 1, LIDO__CALL_MALLOC, &zero)
                                                       : lido__heap_checked_alloc(source, size, 1, LIDO__CALL_MALLOC);
    if (moved == NULL) return NULL;
    memcpy(moved, p, lido__min(old_bytes, size));
    lido__heap_checked_free(p, LIDO__CALL_MALLOC, SIZE_MAX);
    return moved;
}

void lido__free_as(void *p, lido__check_call call, size_t bytes) {
    if (LIDO_LIKELY(!lido__heap_is_checked_block(p, lido__window_entry(p)))) {
        lido__free_slow(p);
        return;
    }
    int saved = errno;
    lido__heap_checked_free(p, call, bytes);
    errno = saved;
}

void *lido__new_refill(size_t size, lido__check_call call) {
    bool zero;
    if (lido__heap_has_checks()) return lido__malloc_checked(size, 1, call, &zero);
    return size > LIDO__TINY_MAX ? lido__malloc_not_tiny(size) : lido__malloc_tiny_refill(size);
}
