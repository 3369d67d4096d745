// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Prototype A of docs/design/001-core.md: bins over slabs, the core's design in small. Nothing belongs to a thread but its bins.
//
//      thread: bin[class] = head chain + spare chain  <->  depot[class]: 8 slots of whole batches  <->  slabs of the class
//
// Switches:  SLAB_LIST   a slab keeps its free blocks in a list through them, not in a bitmap   (experiment C)
//            NO_CHECK    free() does not ask whether the pointer is the start of a block
//            NO_DEPOT    every spill and refill goes to the slabs, under the class's lock       (experiment D, in small)
#include "substrate.h"

enum { DEPOT_SLOTS = 8, BATCH_FIRST = 8, BITMAP_WORDS = SLICE_BYTES / 16 / 64 };

typedef struct bin {
    link *head;
    uint32_t room, check;
} bin;

typedef struct bin_back {
    link *spare;
    uint32_t spare_count, batch;
} bin_back;

typedef struct thread {
    bin bins[CLASS_COUNT +
             1];    // entry 0 belongs to no class: always empty, so that free(foreign) takes the slow half
    bin_back backs[CLASS_COUNT + 1];
    unsigned depot_start;
    struct thread *next;
} thread;

typedef struct slab {
    struct slab *next, *previous;
    uint32_t fresh, free_count, hint;
    bool full;
#ifdef SLAB_LIST
    link *list;
#else
    uint64_t *bitmap;
#endif
} slab;

typedef struct slab_set {
    _Alignas(64) _Atomic uint64_t depot[DEPOT_SLOTS];
    _Alignas(64) spin lock;
    slab *available, *filled;
    size_t slabs;
    uint32_t block_bytes, blocks, batch_most, check;
    uint64_t reciprocal;
} slab_set;

static thread none;
static TLS thread *self = &none;
static slab_set sets[CLASS_COUNT];
static slab *slabs;    // one for each slice
static uint64_t (*bitmaps)[BITMAP_WORDS];
static spin threads_lock;
static thread *idle_threads;
static unsigned thread_count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;

// --- slabs, all under the set's lock --------------------------------------------------------------------------------

static void unlink_slab(slab **list, slab *s) {
    if (s->previous != NULL) {
        s->previous->next = s->next;
    } else {
        *list = s->next;
    }
    if (s->next != NULL) s->next->previous = s->previous;
}

static void push_slab(slab **list, slab *s) {
    s->previous = NULL;
    s->next = *list;
    if (*list != NULL) (*list)->previous = s;
    *list = s;
}

static slab *slab_new(slab_set *set) {
    uint32_t slice = slice_new((unsigned)(set - sets + 1) * sizeof(bin), ++set->slabs);
    slab *s = &slabs[slice];
    memset(s, 0, sizeof *s);
#ifndef SLAB_LIST
    s->bitmap = bitmaps[slice];
#endif
    push_slab(&set->available, s);
    return s;
}

#ifdef SLAB_LIST
static link **take_returned(slab_set *set, slab *s, link **tail, uint32_t want, uint32_t *count) {
    (void)set;
    uint32_t taken = 0;
    link *block = s->list;
    for (*tail = block; taken < want && block != NULL; taken++) {    // the chain is linked already: walk to its end
        tail = &block->next;
        block = block->next;
    }
    s->list = block;
    s->free_count -= taken;
    *count += taken;
    return tail;
}

static void put_back(slab_set *set, slab *s, uint32_t slice, link *block) {
    (void)set;
    (void)slice;
    block->next = s->list;
    s->list = block;
}
static void make_empty(slab *s) { s->list = NULL; }
#else
static link **take_returned(slab_set *set, slab *s, link **tail, uint32_t want, uint32_t *count) {
    char *memory = slice_memory((uint32_t)(s - slabs));
    uint32_t taken = 0, w = s->hint;
    if (want > s->free_count) want = s->free_count;
    while (taken < want) {
        uint64_t word = s->bitmap[w];
        for (; word != 0 && taken < want; word &= word - 1, taken++) {
            link *block =
                (link *)(void *)(memory + ((size_t)w * 64 + (unsigned)__builtin_ctzll(word)) * set->block_bytes);
            *tail = block;
            tail = &block->next;
        }
        s->bitmap[w] = word;
        if (word == 0) w++;
    }
    s->hint = w;
    s->free_count -= taken;
    *count += taken;
    return tail;
}

static void put_back(slab_set *set, slab *s, uint32_t slice, link *block) {
    size_t offset = (size_t)((char *)block - slice_memory(slice));
    size_t index = (size_t)(((unsigned __int128)offset * set->reciprocal) >> 50);
    uint64_t *word = &s->bitmap[index / 64], bit = UINT64_C(1) << (index % 64);
    if (UNLIKELY(index * set->block_bytes != offset || index >= s->fresh || (*word & bit) != 0)) abort();
    *word |= bit;
    if (index / 64 < s->hint) s->hint = (uint32_t)(index / 64);
}
static void make_empty(slab *s) { memset(s->bitmap, 0, (s->fresh + 63) / 64 * sizeof(uint64_t)); }
#endif

static link **take_fresh(slab_set *set, slab *s, link **tail, uint32_t want, uint32_t *count) {
    char *block = slice_memory((uint32_t)(s - slabs)) + (size_t)s->fresh * set->block_bytes;
    for (uint32_t i = 0; i < want && s->fresh < set->blocks; i++, block += set->block_bytes) {
        *tail = (link *)(void *)block;
        tail = &(*tail)->next;
        s->fresh++;
        ++*count;
    }
    return tail;
}

static link *slabs_take(slab_set *set, uint32_t want, uint32_t *count) {
    link *first = NULL, **tail = &first;
    *count = 0;
    spin_lock(&set->lock);
    while (*count < want && (*count == 0 || set->available != NULL)) {
        slab *s = set->available != NULL ? set->available : slab_new(set);
        if (s->free_count > 0) tail = take_returned(set, s, tail, want - *count, count);
        if (*count < want) tail = take_fresh(set, s, tail, want - *count, count);
        if (s->free_count > 0 || s->fresh < set->blocks) continue;
        unlink_slab(&set->available, s);
        push_slab(&set->filled, s);
        s->full = true;
    }
    spin_unlock(&set->lock);
    *tail = NULL;
    return first;
}

static void slabs_give(slab_set *set, link *block) {
    spin_lock(&set->lock);
    for (link *next; block != NULL; block = next) {
        next = block->next;
        uint32_t slice = slice_of(block);
        slab *s = &slabs[slice];
        put_back(set, s, slice, block);
        s->free_count++;
        if (s->full) {
            unlink_slab(&set->filled, s);
            push_slab(&set->available, s);
            s->full = false;
        }
        if (s->free_count != s->fresh) continue;
        make_empty(s);
        s->fresh = s->free_count = s->hint = 0;
        if (set->available == s && s->next == NULL) continue;
        unlink_slab(&set->available, s);
        set->slabs--;
        slice_free(slice);
    }
    spin_unlock(&set->lock);
}

// --- the depot ------------------------------------------------------------------------------------------------------

static bool depot_push(slab_set *set, link *batch, uint32_t count, unsigned start) {
#ifdef NO_DEPOT
    return false;
#endif
    for (unsigned i = 0; i < DEPOT_SLOTS; i++) {
        _Atomic uint64_t *slot = &set->depot[(start + i) % DEPOT_SLOTS];
        uint64_t empty = 0, packed = (uint64_t)count << 48 | (uintptr_t)batch;
        if (atomic_load_explicit(slot, memory_order_relaxed) != 0) continue;
        if (atomic_compare_exchange_strong_explicit(slot, &empty, packed, memory_order_release, memory_order_relaxed))
            return true;
    }
    return false;
}

static link *depot_pop(slab_set *set, uint32_t *count, unsigned start) {
    for (unsigned i = 0; i < DEPOT_SLOTS; i++) {
        _Atomic uint64_t *slot = &set->depot[(start + i) % DEPOT_SLOTS];
        if (atomic_load_explicit(slot, memory_order_relaxed) == 0) continue;
        uint64_t packed = atomic_exchange_explicit(slot, 0, memory_order_acquire);
        if (packed == 0) continue;
        *count = (uint32_t)(packed >> 48);
        return (link *)(uintptr_t)(packed & ((UINT64_C(1) << 48) - 1));
    }
    return NULL;
}

// --- threads --------------------------------------------------------------------------------------------------------

static void thread_end(void *argument) {
    thread *t = argument;
    self = &none;
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        if (t->bins[c + 1].head != NULL) slabs_give(&sets[c], t->bins[c + 1].head);
        if (t->backs[c + 1].spare != NULL) slabs_give(&sets[c], t->backs[c + 1].spare);
    }
    memset(t->bins, 0, sizeof t->bins);
    memset(t->backs, 0, sizeof t->backs);
    spin_lock(&threads_lock);
    t->next = idle_threads;
    idle_threads = t;
    spin_unlock(&threads_lock);
}

static uint32_t batch_for(uint32_t block_bytes) {
    uint32_t blocks = (block_bytes <= 64 ? 4096u : 8192u) / block_bytes;
    return blocks > 128 ? 128 : blocks;
}

static void start(void) {
    window_open();
    slabs = map_memory(WINDOW_SLICES * sizeof *slabs);
    bitmaps = map_memory(WINDOW_SLICES * sizeof *bitmaps);
    for (uint32_t c = 0; c < CLASS_COUNT; c++) {
        uint32_t bytes = (c + 1) * 16;
        sets[c].block_bytes = bytes;
        sets[c].blocks = SLICE_BYTES / bytes;
        sets[c].batch_most = batch_for(bytes);
        sets[c].reciprocal = ((UINT64_C(1) << 50) + bytes - 1) / bytes;
        sets[c].check = (uint32_t)(((UINT64_C(1) << 32) + bytes - 1) / bytes);
    }
    if (pthread_key_create(&exit_key, thread_end) != 0) abort();
}

static void thread_start(void) {
    pthread_once(&once, start);
    spin_lock(&threads_lock);
    thread *t = idle_threads;
    if (t != NULL) idle_threads = t->next;
    unsigned number = thread_count++;
    spin_unlock(&threads_lock);
    if (t == NULL) t = map_memory(sizeof *t);
    t->depot_start = number % DEPOT_SLOTS;
    self = t;
    if (pthread_setspecific(exit_key, t) != 0) abort();
}

// --- bins -----------------------------------------------------------------------------------------------------------

// A batch that a bin has never had: the bin's batches start small and double.
static void grow(const slab_set *set, bin *b, bin_back *back) {
    uint32_t batch = back->batch == 0 ? BATCH_FIRST : back->batch * 2;
    back->batch = batch < set->batch_most ? batch : set->batch_most;
    b->room = back->batch;
    b->check = set->check;
}

static NOINLINE void *refill(unsigned entry) {
    if (UNLIKELY(self == &none)) thread_start();
    unsigned c = entry / sizeof(bin) - 1;
    slab_set *set = &sets[c];
    bin *b = &self->bins[c + 1];
    bin_back *back = &self->backs[c + 1];
    link *batch = back->spare;
    uint32_t count = back->spare_count;
    back->spare = NULL;
    if (batch == NULL) {
        batch = depot_pop(set, &count, self->depot_start);
        grow(set, b, back);
        if (batch == NULL) batch = slabs_take(set, back->batch, &count);
    }
    if (back->batch < count) back->batch = count;
    b->head = batch->next;
    b->room = back->batch - count + 1;
    return batch;
}

static NOINLINE void spill(void *p) {
    unsigned entry = entry_of(p);
    if (entry == 0) {
        if (p == NULL) return;
        abort();
    }
    if (UNLIKELY(self == &none)) thread_start();
    unsigned c = entry / sizeof(bin) - 1;
    slab_set *set = &sets[c];
    bin *b = &self->bins[c + 1];
    bin_back *back = &self->backs[c + 1];
    if (b->room == 0 && b->head != NULL) {
        link *old = back->spare;
        uint32_t old_count = back->spare_count;
        back->spare = b->head;
        back->spare_count = back->batch;
        b->head = NULL;
        b->room = back->batch;
        grow(set, b, back);
        if (old != NULL && !depot_push(set, old, old_count, self->depot_start)) slabs_give(set, old);
    } else if (back->batch == 0) {
        grow(set, b, back);
    } else {
        abort();    // not the start of a block
    }
    ((link *)p)->next = b->head;
    b->head = p;
    b->room--;
}

// --- malloc and free ------------------------------------------------------------------------------------------------

void *malloc(size_t size) {
    if (UNLIKELY(size - 1 >= SIZE_MOST)) abort();    // prototypes are never asked
    size_t entry = (size + 15) & ~(size_t)15;
    bin *b = (bin *)(void *)((char *)self + entry);
    link *block = b->head;
    if (UNLIKELY(block == NULL)) return refill((unsigned)entry);
    b->room++;
    b->head = block->next;
    return block;
}

// room-- in memory; true if it was 0. In two instructions, as in the core.
INLINE bool count_down(uint32_t *room) {
#if defined(__x86_64__)
    __asm__ goto("subl $1, %0\n\tjb %l[below]" : : "m"(*room) : "cc", "memory" : below);
    return false;
below:
    *room = 0;
    return true;
#else
    if (*room == 0) return true;
    --*room;
    return false;
#endif
}

void free(void *p) {
    bin *b = (bin *)(void *)((char *)self + entry_of(p));
#ifndef NO_CHECK
    uint32_t product = (uint16_t)(uintptr_t)p * b->check;
    __asm__("" : "+m"(b->check));
    if (UNLIKELY(product >= b->check)) {
        spill(p);
        return;
    }
#endif
    if (UNLIKELY(count_down(&b->room))) {
        spill(p);
        return;
    }
    ((link *)p)->next = b->head;
    b->head = p;
}
