// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Prototype B of docs/design/001-core.md: one free list for each slab, slabs owned by threads, frees by other threads pushed to a list of the
// slab with one atomic step and taken whole by the owner. Our own code for the shape that mimalloc and rpmalloc made known.
//
//      heap (one a thread):  current[class]    the slab that allocations come from
//                            others[class]     slabs with room
//                            woken             full slabs that another thread has freed into (atomic stack)
//      slab:                 free              allocations pop here              [owner]
//                            local             frees by the owner push here      [owner], joined to `free` when that is empty
//                            remote            frees by others push here         [atomic], taken whole
//
//      blocks handed out = used = fresh - |free| - |local|        (what lies in `remote` still counts as used)
//      remote == FULL_MARK:  the slab is full, and the first to free into it must wake the owner
//
// Switch LIFO: frees by the owner push to `free` at once, so that the block just freed is the next to go out.
// A heap of a thread that has ended goes to the next thread, slabs and all.
#include "substrate.h"

enum { FULL_MARK = 1, CARVE_BYTES = 4096 };

typedef struct heap heap;

typedef struct slab {
    link *free, *local;
    heap *_Atomic owner;
    uint32_t used, fresh;
    uint32_t block_bytes, blocks;
    struct slab *next, *previous;    // in others[class]
    uint16_t class_number;
    bool full;    // neither current nor in a list
    _Alignas(64) _Atomic uintptr_t remote;
    struct slab *woken_next;
} slab;

struct heap {
    slab *current[CLASS_COUNT + 1];    // by (size + 15) / 16; never NULL
    slab *others[CLASS_COUNT + 1];
    size_t slabs[CLASS_COUNT + 1];
    heap *next;
    _Alignas(64) slab *_Atomic woken;
};

static slab no_slab;
static heap no_heap;    // current[] is filled in before main by prepare()
static TLS heap *self = &no_heap;
static slab *slabs;    // one for each slice
static spin heaps_lock;
static heap *idle_heaps;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;

__attribute__((constructor)) static void prepare(void) {
    for (unsigned c = 0; c <= CLASS_COUNT; c++) no_heap.current[c] = &no_slab;
}

static void thread_end(void *argument) {
    heap *h = argument;
    self = &no_heap;
    spin_lock(&heaps_lock);
    h->next = idle_heaps;
    idle_heaps = h;
    spin_unlock(&heaps_lock);
}

static void start(void) {
    window_open();
    slabs = map_memory(WINDOW_SLICES * sizeof *slabs);
    if (pthread_key_create(&exit_key, thread_end) != 0) abort();
}

static void thread_start(void) {
    pthread_once(&once, start);
    spin_lock(&heaps_lock);
    heap *h = idle_heaps;
    if (h != NULL) idle_heaps = h->next;
    spin_unlock(&heaps_lock);
    if (h == NULL) {
        h = map_memory(sizeof *h);
        for (unsigned c = 0; c <= CLASS_COUNT; c++) h->current[c] = &no_slab;
    }
    self = h;
    if (pthread_setspecific(exit_key, h) != 0) abort();
}

// --- slabs of the calling thread ------------------------------------------------------------------------------------

static slab *slab_new(heap *h, unsigned c) {
    uint32_t slice = slice_new(c * 16, ++h->slabs[c]);
    slab *s = &slabs[slice];
    memset(s, 0, sizeof *s);
    s->block_bytes = c * 16;
    s->blocks = SLICE_BYTES / s->block_bytes;
    s->class_number = (uint16_t)c;
    atomic_store_explicit(&s->owner, h, memory_order_relaxed);    // relaxed: the slab's blocks are published later
    return s;
}

static void push_other(heap *h, slab *s) {
    slab **list = &h->others[s->class_number];
    s->full = false;
    s->previous = NULL;
    s->next = *list;
    if (*list != NULL) (*list)->previous = s;
    *list = s;
}

static void unlink_other(heap *h, slab *s) {
    if (s->previous != NULL) {
        s->previous->next = s->next;
    } else {
        h->others[s->class_number] = s->next;
    }
    if (s->next != NULL) s->next->previous = s->previous;
}

static void retire(heap *h, slab *s) {
    h->slabs[s->class_number]--;
    atomic_store_explicit(&s->owner, NULL, memory_order_relaxed);
    slice_free((uint32_t)(s - slabs));
}

// Puts in front of `free` what others have freed. Requires: the slab is not marked full.
static void collect_remote(slab *s) {
    if (atomic_load_explicit(&s->remote, memory_order_relaxed) == 0) return;
    link *list = (link *)atomic_exchange_explicit(&s->remote, 0, memory_order_acquire), *last = list;
    uint32_t count = 1;
    for (; last->next != NULL; last = last->next) count++;
    last->next = s->free;
    s->free = list;
    s->used -= count;
}

static void carve(slab *s) {
    uint32_t count = CARVE_BYTES / s->block_bytes;
    if (count > s->blocks - s->fresh) count = s->blocks - s->fresh;
    char *memory = slice_memory((uint32_t)(s - slabs)) + (size_t)s->fresh * s->block_bytes;
    link **tail = &s->free;
    for (uint32_t i = 0; i < count; i++, memory += s->block_bytes) {
        *tail = (link *)(void *)memory;
        tail = &(*tail)->next;
    }
    *tail = NULL;
    s->fresh += count;
}

// Fills `free`. False: every block is out.
static bool make_room(slab *s) {
    if (s->free == NULL) {
        s->free = s->local;
        s->local = NULL;
    }
    if (s->free == NULL) collect_remote(s);
    if (s->free == NULL && s->fresh < s->blocks) carve(s);
    return s->free != NULL;
}

// Takes the full slabs that others have freed into out of their wait.
static void wake(heap *h) {
    if (atomic_load_explicit(&h->woken, memory_order_relaxed) == NULL) return;
    slab *s = atomic_exchange_explicit(&h->woken, NULL, memory_order_acquire);
    for (slab *next; s != NULL; s = next) {
        next = s->woken_next;
        collect_remote(s);
        if (s->used == 0) {
            retire(h, s);
        } else {
            push_other(h, s);
        }
    }
}

// The slab is full: files it so that the next free, by whomever, brings it back. False: a free came in between.
static bool file_full(slab *s) {
    uintptr_t empty = 0;
    if (!atomic_compare_exchange_strong_explicit(&s->remote, &empty, FULL_MARK, memory_order_relaxed,
                                                 memory_order_relaxed))
        return false;
    s->full = true;
    return true;
}

static NOINLINE void *refill(unsigned c) {
    if (UNLIKELY(self == &no_heap)) thread_start();
    heap *h = self;
    slab *s = h->current[c];
    while (s == &no_slab || !make_room(s)) {
        if (s != &no_slab && !file_full(s)) continue;
        wake(h);
        s = h->others[c];
        if (s != NULL) {
            unlink_other(h, s);
        } else {
            s = slab_new(h, c);
        }
        h->current[c] = s;
    }
    link *block = s->free;
    s->free = block->next;
    s->used++;
    return block;
}

// --- frees that need more than a push -------------------------------------------------------------------------------

// The owner has freed into a slab that is now empty, or was filed as full.
static NOINLINE void settle(slab *s) {
    heap *h = self;
    if (s->full) {
        uintptr_t mark = FULL_MARK;
        // another thread was first: the slab comes back through `woken`
        if (!atomic_compare_exchange_strong_explicit(&s->remote, &mark, 0, memory_order_relaxed, memory_order_relaxed))
            return;
        push_other(h, s);
    }
    if (s->used > 0 || h->current[s->class_number] == s) return;
    unlink_other(h, s);
    retire(h, s);
}

static NOINLINE void free_remote(slab *s, link *block) {
    heap *h = atomic_load_explicit(&s->owner, memory_order_relaxed);    // a heap lives for ever
    if (UNLIKELY(h == NULL)) abort();                                   // not a block
    uintptr_t old = atomic_load_explicit(&s->remote, memory_order_relaxed);
    do {
        block->next = (link *)(old & ~(uintptr_t)FULL_MARK);
    } while (!atomic_compare_exchange_weak_explicit(&s->remote, &old, (uintptr_t)block, memory_order_release,
                                                    memory_order_relaxed));
    if (LIKELY(old != FULL_MARK)) return;
    s->woken_next = atomic_load_explicit(&h->woken, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&h->woken, &s->woken_next, s, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

static NOINLINE void free_foreign(void *p) {
    if (p != NULL) abort();
}

// --- malloc and free ------------------------------------------------------------------------------------------------

void *malloc(size_t size) {
    if (UNLIKELY(size - 1 >= SIZE_MOST)) abort();    // prototypes are never asked
    unsigned c = (unsigned)((size + 15) / 16);
    slab *s = self->current[c];
    link *block = s->free;
    if (UNLIKELY(block == NULL)) return refill(c);
    s->free = block->next;
    s->used++;
    return block;
}

void free(void *p) {
    uintptr_t slice = ((uintptr_t)p - (uintptr_t)window.base) >> SLICE_SHIFT;
    if (UNLIKELY(slice >= window.slices)) {
        free_foreign(p);
        return;
    }
    slab *s = &slabs[slice];
    link *block = p;
    // relaxed: whoever has the block got it after the owner was written
    if (UNLIKELY(atomic_load_explicit(&s->owner, memory_order_relaxed) != self)) {
        free_remote(s, block);
        return;
    }
#ifdef LIFO
    block->next = s->free;
    s->free = block;
#else
    block->next = s->local;
    s->local = block;
#endif
    if (UNLIKELY(--s->used == 0 || s->full)) settle(s);
}
