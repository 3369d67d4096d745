// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido_malloc and its family: which way a request goes, and the slow halves. See heap.h.
#include "heap/heap.h"

#include "check/inject.h"
#include "heap/bump.h"
#include "heap/checked.h"
#include "os/os.h"
#include "os/report.h"
#include "pool/watched.h"

#include <errno.h>
#include <string.h>

// weak: src/malloc has another
__attribute__((weak)) lido__foreign lido__foreign_malloc;

static lido_pool classes[LIDO__CLASS_COUNT];
// Made one by one, when first needed: a small program uses a few, and all of them are ten pages.
static _Atomic uint8_t class_made[LIDO__CLASS_COUNT];    // [atomic:class]

// In check mode light and sample a class is a watched pool: the window names its bin as ever, which stays empty, and its blocks
// go through another one.
static void make_pool(lido_pool *pool, lido_pool_options *options, unsigned entry) {
    lido_check_level level = lido__check_now();
    unsigned own = level == LIDO_CHECK_LIGHT || level == LIDO_CHECK_SAMPLE ? lido__entry_new() : 0;
    if (own == 0) {
        lido__pool_init(pool, options, entry);
        return;
    }
    options->check = level;
    lido__pool_init(pool, options, own);
    pool->slabs.entry = (uint16_t)entry;
    lido__registry_name(entry, pool);
}

static LIDO__COLD void make_class(unsigned size_class) {
    lido__start();
    lido__lock_acquire(lido__making_lock(), LIDO__RANK_MAKING);
    if (LIDO__ATOMIC_LOAD(&class_made[size_class], relaxed) == 0) {    // relaxed: written under this lock
        lido_pool_options options = {
            .name = "malloc", .block_size = lido__class_bytes(size_class), .threads = LIDO_SHARED};
        make_pool(&classes[size_class], &options, lido__class_entry(size_class));
        classes[size_class].anonymous = true;
        // release, pairs with class_pool
        LIDO__ATOMIC_STORE(&class_made[size_class], (uint8_t)1, release);
    }
    lido__lock_release(lido__making_lock(), LIDO__RANK_MAKING);
}

LIDO_INLINE lido_pool *class_pool(size_t size) {
    unsigned size_class = lido__class_of(size);
    // acquire, pairs with the release in make_class
    if (LIDO_UNLIKELY(LIDO__ATOMIC_LOAD(&class_made[size_class], acquire) == 0)) make_class(size_class);
    return &classes[size_class];
}

lido_pool *lido__class_pool(size_t size) { return class_pool(size); }

static void *out_of_memory(void) {
    errno = ENOMEM;
    return NULL;
}

// --- malloc, calloc, aligned ----------------------------------------------------------------------------------------

static LIDO__NOINLINE void *lido__small_refill(size_t size) {
    bool zero;
    if (lido__heap_has_checks()) return lido__malloc_checked(size, 1, LIDO__CALL_MALLOC, &zero);
    void *block = lido__class_alloc(class_pool(size != 0 ? size : 1));
    return LIDO_LIKELY(block != NULL) ? block : out_of_memory();
}

// Requires: 1 <= size <= LIDO__SMALL_MAX.
LIDO_INLINE void *small_alloc(size_t size) {
    void *block = lido__bin_pop(lido__bin_at(lido__self, lido__class_entry(lido__class_of(size))));
    return LIDO_LIKELY(block != NULL) ? block : lido__small_refill(size);
}

static LIDO__NOINLINE void *large_alloc(size_t size, bool *zero) {
    *zero = false;
    if (lido__heap_has_checks()) return lido__malloc_checked(size, 1, LIDO__CALL_MALLOC, zero);
    return lido__large_alloc(size, 1, NULL, zero);
}

// What check mode light does in place of the fast half: the block of a watched class from the thread's bin. NULL: anything else.
LIDO_INLINE void *watched_alloc(const lido_pool *pool) {
    bool light = lido__check_now() == LIDO_CHECK_LIGHT && !lido__inject_is_on();
    return light && pool != NULL && pool->way == LIDO__WAY_WATCHED ? lido__watched_pop(pool) : NULL;
}

void *lido__malloc_tiny_refill(size_t size) {
    void *block = watched_alloc(lido__pool_at_entry((unsigned)lido__tiny_entry(size)));    // 0 has no pool
    return LIDO_LIKELY(block != NULL) ? block : lido__small_refill(size);
}

void *lido__malloc_not_tiny(size_t size) {
    bool zero;
    return LIDO_LIKELY(size <= LIDO__SMALL_MAX) ? small_alloc(size) : large_alloc(size, &zero);
}

void *lido_malloc(size_t size) { return lido__malloc(size); }

void *lido_calloc(size_t count, size_t size) {
    size_t bytes;
    if (LIDO_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) return out_of_memory();
    if (LIDO_LIKELY(bytes <= LIDO__SMALL_MAX)) {
        void *block = lido__malloc(bytes);
        return LIDO_LIKELY(block != NULL) ? memset(block, 0, bytes) : NULL;
    }
    bool zero;
    void *block = large_alloc(bytes, &zero);
    return block != NULL && !zero ? memset(block, 0, bytes) : block;
}

void *lido_aligned_alloc(size_t alignment, size_t size) {
    if (!lido__is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    if (alignment <= 16) return lido__malloc(size);
    bool zero;
    if (lido__heap_has_checks()) return lido__malloc_checked(size, alignment, LIDO__CALL_MALLOC, &zero);
    if (size == 0) size = 1;
    size_t small = lido__small_bytes(size, alignment);
    if (small != 0) return small_alloc(small);
    return lido__large_alloc(size, alignment, NULL, &zero);
}

int lido_posix_memalign(void **out, size_t alignment, size_t size) {
    if (!lido__is_power_of_two(alignment) || alignment < sizeof(void *)) return EINVAL;
    int saved = errno;
    void *block = lido_aligned_alloc(alignment, size);
    errno = saved;
    if (block == NULL) return ENOMEM;
    *out = block;
    return 0;
}

// --- free -----------------------------------------------------------------------------------------------------------

bool lido__foreign_block(const char *call, const void *p, bool *loader) {
    static const char *const what[] = {
        [LIDO__PLACE_UNMAPPED] = "not mapped; never allocated, or freed already",
        [LIDO__PLACE_STACK] = "on the stack",
        [LIDO__PLACE_BREAK_HEAP] = "in the heap of the C library",
        [LIDO__PLACE_LOADER] = "memory of the dynamic loader",
        [LIDO__PLACE_FILE] = "static data of ",
        [LIDO__PLACE_ANONYMOUS] =
            "not the start of a block of lido; memory of somebody else, inside a large block, or freed already",
    };
    char name[128];
    lido__os_place place = lido__os_describe(p, name, sizeof name);
    if (place == LIDO__PLACE_UNKNOWN) {
        lido__warn("%s(%p): not a block of lido, and /proc/self/maps cannot be read to tell whose; ignored", call, p);
        return false;
    }
    *loader = place == LIDO__PLACE_LOADER;
    if (*loader || (place == LIDO__PLACE_BREAK_HEAP && lido__foreign_malloc.free != NULL)) return true;
    lido__misuse("%s(%p): %s%s", call, p, what[place], place == LIDO__PLACE_FILE ? name : "");
    return false;
}

static LIDO__COLD void free_unknown(void *p) {
    if (p == NULL || lido__huge_free(p)) return;
    if (lido__checked_find(p) != NULL) {    // one too large for a segment
        lido__heap_checked_free(p, LIDO__CALL_ANY, SIZE_MAX);
        return;
    }
    bool loader;
    if (lido__foreign_block("free", p, &loader) && !loader) lido__foreign_malloc.free(p);
}

static void free_slow_pool(void *p) {
    lido__slab *slab = lido__slab_of(p);
    if (slab->kind == LIDO__RUN_BUMP) {
        lido__heap_free_bumped((lido_heap *)slab->large_heap, p);
        return;
    }
    if (slab->kind != LIDO__RUN_SLAB || slab->set == NULL) {
        lido__misuse("free(%p): freed already, and its slab is gone", p);
        return;
    }
    lido_pool *pool = lido__pool_of_set(slab->set);
    if (pool->heap != NULL) {
        lido__heap_free_small(pool, p);
    } else {
        lido__pool_free_slow(pool, p);
    }
}

static void free_binned(lido_pool *pool, void *p) {
    if (LIDO_LIKELY(pool->way == LIDO__WAY_BINS)) {
        lido__bin_free_slow(pool, p);
    } else if (pool->way == LIDO__WAY_WATCHED && pool->anonymous) {
        if (lido__slabs_check_start(&pool->slabs, p, "free")) lido__watched_free(pool, p);
    } else {
        lido__pool_free_slow(pool, p);
    }
}

static LIDO__NOINLINE void lido__free_slowly(void *p, unsigned entry) {
    int saved = errno;
    switch (entry) {
        case LIDO__ENTRY_NONE: free_unknown(p); break;
        case LIDO__ENTRY_CHECK: lido__heap_checked_free(p, LIDO__CALL_MALLOC, SIZE_MAX); break;
        case LIDO__ENTRY_LARGE: lido__large_free(p); break;
        case LIDO__ENTRY_SLOW: free_slow_pool(p); break;
        case LIDO__ENTRY_META: lido__misuse("free(%p): memory that lido uses for itself", p); break;
        default: free_binned(lido__pool_at_entry(entry), p); break;
    }
    errno = saved;
}

void lido__free_slow(void *p) {
    unsigned entry = lido__window_entry(p);
    if (LIDO_LIKELY(lido__entry_has_bin(entry))) {    // all of check mode light; nobody else comes here often
        const lido_pool *pool = lido__pool_at_entry(entry);
        if (pool->way == LIDO__WAY_WATCHED && LIDO_LIKELY(lido__watched_push(pool, p))) return;
    }
    lido__free_slowly(p, entry);
}

void lido_free(void *p) { lido__free(p); }
void lido_free_sized(void *p, size_t size) { lido__free_sized(p, LIDO__CALL_MALLOC, size); }
void lido_free_aligned_sized(void *p, size_t alignment, size_t size) {
    (void)
        alignment;    // whoever knows the size rarely errs there, and a block with more than was asked for is not wrong
    lido__free_sized(p, LIDO__CALL_MALLOC, size);
}

// --- size and realloc -----------------------------------------------------------------------------------------------

// Usable bytes of a block of lido, 0 if p is not one.
static size_t usable(const void *p, unsigned entry) {
    if (lido__entry_has_bin(entry)) return lido__pool_at_entry(entry)->slabs.block_bytes;
    if (entry == LIDO__ENTRY_LARGE) return lido__large_usable(p);
    if (entry == LIDO__ENTRY_SLOW) {
        const lido__slab *slab = lido__slab_of(p);
        if (slab->kind == LIDO__RUN_BUMP) return lido__bump_usable(p);
        return slab->set != NULL ? slab->set->block_bytes : 0;
    }
    if (entry == LIDO__ENTRY_CHECK) return lido__checked_bytes(p);
    return entry == LIDO__ENTRY_NONE ? lido__huge_usable(p) : 0;
}

// False, after a report in the name of `call`, if p lies inside a block.
static bool starts_block(const char *call, const void *p, unsigned entry) {
    if (entry == LIDO__ENTRY_LARGE) return lido__large_check_start(p, call);
    if (!lido__entry_is_slab(entry)) return true;
    const lido__slab *slab = lido__slab_of(p);
    if (slab->kind == LIDO__RUN_BUMP) return lido__heap_check_bumped((lido_heap *)slab->large_heap, p, call);
    const lido__slab_set *set = slab->set;
    return set == NULL || lido__slabs_check_start(set, p, call);
}

size_t lido_usable_size(const void *p) { return lido__usable_size(p, "malloc_usable_size"); }

size_t lido__usable_size(const void *p, const char *call) {
    if (p == NULL) return 0;
    unsigned entry = lido__window_entry(p);
    if (LIDO_UNLIKELY(lido__heap_is_checked_block(p, entry))) return lido__heap_checked_bytes(p, call);
    if (LIDO_UNLIKELY(!starts_block(call, p, entry))) return 0;
    size_t bytes = usable(p, entry);
    if (LIDO_LIKELY(bytes != 0)) return bytes;
    bool loader;
    if (!lido__foreign_block(call, p, &loader) || loader) return 0;
    return lido__foreign_malloc.usable_size(p);
}

size_t lido_good_size(size_t size) {
    if (size > PTRDIFF_MAX) return 0;
    if (size <= LIDO__SMALL_MAX) return lido__class_bytes(lido__class_of(size != 0 ? size : 1));
    return lido__round_up(size, size <= LIDO__LARGE_MAX ? LIDO__SLICE_BYTES : lido__os_page_bytes());
}

static LIDO__COLD void *realloc_foreign(void *p, size_t size) {
    bool loader;
    if (!lido__foreign_block("realloc", p, &loader)) return NULL;
    if (!loader) return lido__foreign_malloc.realloc(p, size);
    lido__misuse("realloc(%p): memory of the dynamic loader, whose size nobody knows", p);
    return NULL;
}

static void *move(void *p, size_t old_bytes, size_t size) {
    void *moved = lido__malloc(size);
    if (moved == NULL) return NULL;
    memcpy(moved, p, lido__min(old_bytes, size));
    lido__free(p);
    return moved;
}

void *lido_realloc(void *p, size_t size) {
    if (p == NULL) return lido__malloc(size);
    if (size == 0) {
        lido__free(p);
        return NULL;
    }
    if (LIDO_UNLIKELY(size > PTRDIFF_MAX)) return out_of_memory();
    unsigned entry = lido__window_entry(p);
    if (LIDO_UNLIKELY(lido__heap_is_checked_block(p, entry))) return lido__heap_checked_realloc(p, size);
    if (LIDO_UNLIKELY(!starts_block("realloc", p, entry))) return NULL;
    if (LIDO_UNLIKELY(lido__check_now() != LIDO_CHECK_OFF) && !lido__heap_is_live(p, "realloc")) return NULL;
    size_t old_bytes = usable(p, entry);
    if (LIDO_UNLIKELY(old_bytes == 0)) return realloc_foreign(p, size);
    if (entry == LIDO__ENTRY_LARGE || entry == LIDO__ENTRY_NONE) {
        void *resized = entry == LIDO__ENTRY_LARGE ? lido__large_resize(p, size) : lido__huge_resize(p, size);
        if (resized != NULL) return resized;
    } else if (size <= old_bytes && size >= old_bytes / 2) {
        return p;    // not worth a move
    }
    return move(p, old_bytes, size);
}

void *lido_reallocarray(void *p, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return out_of_memory();
    return lido_realloc(p, bytes);
}

size_t lido_trim(size_t keep_bytes) { return lido__reclaim(keep_bytes); }
