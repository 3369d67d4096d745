// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Operations on first-class heaps.
#include "ops.h"

#include <errno.h>

enum { SIZE_TOP = 22 };

static int choose_heap(ops_machine *m) {
    unsigned start = ops_byte(m);
    for (unsigned i = 0; i < OPS_HEAPS; i++) {
        unsigned index = (start + i) % OPS_HEAPS;
        if (m->heaps[index] != NULL) return (int)index;
    }
    return -1;
}

static void note_block(ops_machine *m, int heap, void *p, size_t size, size_t alignment) {
    ops_block *block = ops_note(m, p, size, alignment, OPS_HEAP, (unsigned)heap);
    if (block == NULL && p != NULL) lido_heap_free(m->heaps[heap], p);
    if (block != NULL) OPS_CHECK(m, lido_usable_size(p) >= size, "%zu usable of %zu", lido_usable_size(p), size);
}

static void op_new(ops_machine *m) {
    unsigned index = ops_byte(m) % OPS_HEAPS, mode = ops_byte(m);
    if (m->heaps[index] != NULL) {
        lido_heap_options bad = {.threads = (lido_threads)(3 + mode)};
        OPS_CHECK(m, lido_heap_new(&bad) == NULL && errno == EINVAL, "bad options were taken, or errno is %d", errno);
        errno = 0;
        return;
    }
    lido_heap_options options = {
        .name = "a heap", .threads = mode % 2 == 0 ? LIDO_LOCAL : LIDO_SHARED, .bump = mode / 2 % 2 == 0};
    m->heaps[index] = lido_heap_new(mode % 5 == 0 ? NULL : &options);
    if (m->heaps[index] != NULL) return;
    OPS_CHECK(m, m->may_fail && errno == ENOMEM, "no heap, errno %d", errno);
    errno = 0;
    m->failures++;
}

static void op_alloc(ops_machine *m) {
    int heap = choose_heap(m);
    size_t size = ops_size(m, SIZE_TOP);
    if (heap < 0) return;
    for (unsigned count = 1 + (ops_byte(m) > 200 ? ops_byte(m) % 100 : 0); count > 0 && ops_has_room(m, size);
         count--) {
        note_block(m, heap, lido_heap_alloc(m->heaps[heap], size), size, 16);
    }
}

static void op_alloc_aligned(ops_machine *m) {
    int heap = choose_heap(m);
    size_t alignment = ops_alignment(m, 21), size = ops_size(m, 18);
    if (heap < 0 || !ops_has_room(m, size)) return;
    note_block(m, heap, lido_heap_alloc_aligned(m->heaps[heap], alignment, size), size, alignment);
    OPS_CHECK(m, lido_heap_alloc_aligned(m->heaps[heap], 48, size) == NULL && errno == EINVAL, "alignment 48: errno %d",
              errno);
    errno = 0;
}

static void op_realloc(ops_machine *m) {
    int heap = choose_heap(m);
    size_t size = ops_size(m, SIZE_TOP);
    ops_block *block = heap < 0 ? NULL : ops_choose(m, OPS_HEAP, heap);
    if (block == NULL || size == 0 || !ops_has_room(m, size)) return;
    ops_block old = *block;
    void *q = lido_heap_realloc(m->heaps[heap], old.p, size);
    if (q == NULL) {
        OPS_CHECK(m, m->may_fail && errno == ENOMEM, "from %zu to %zu fails with errno %d", old.size, size, errno);
        OPS_CHECK(m, ops_intact(block, block->size), "a failed realloc changed the block");
        errno = 0;
        m->failures++;
        return;
    }
    ops_block moved = {.p = q, .size = old.size, .tag = old.tag ^ (uintptr_t)old.p ^ (uintptr_t)q};
    OPS_CHECK(m, ops_intact(&moved, (old.size < size ? old.size : size) & ~(size_t)7), "from %zu to %zu lost contents",
              old.size, size);
    block->size = 0;
    m->live_bytes -= old.size;
    ops_forget(m, block);
    note_block(m, heap, q, size, 16);
}

static void op_free(ops_machine *m) {
    int heap = choose_heap(m);
    unsigned mode = ops_byte(m);
    ops_block *block = heap < 0 ? NULL : ops_choose(m, OPS_HEAP, heap);
    if (block == NULL) return;
    void *p = block->p;
    ops_forget(m, block);
    if (mode % 3 == 0)
        lido_free(p);
    else
        lido_heap_free(m->heaps[heap], p);
    lido_heap_free(m->heaps[heap], NULL);
}

static void forget_all(ops_machine *m, int heap) {
    for (int i = 0; i < OPS_SLOTS; i++) {
        if (m->blocks[i].owner == OPS_HEAP && m->blocks[i].index == (unsigned)heap) ops_forget(m, &m->blocks[i]);
    }
}

static void op_reset(ops_machine *m) {
    int heap = choose_heap(m);
    if (heap < 0) return;
    forget_all(m, heap);
    lido_heap_reset(m->heaps[heap]);
}

static void destroy(ops_machine *m, int heap) {
    forget_all(m, heap);
    lido_heap_destroy(m->heaps[heap]);
    m->heaps[heap] = NULL;
    lido_heap_destroy(NULL);
}

static void op_destroy(ops_machine *m) {
    int heap = choose_heap(m);
    if (heap >= 0) destroy(m, heap);
}

void ops_heaps_finish(ops_machine *m) {
    for (int i = 0; i < OPS_HEAPS; i++) {
        if (m->heaps[i] != NULL) destroy(m, i);
    }
}

const ops_entry ops_heap_table[] = {
    {"heap new", op_new, 16},
    {"heap alloc", op_alloc, 100},
    {"heap alloc aligned", op_alloc_aligned, 20},
    {"heap realloc", op_realloc, 30},
    {"heap free", op_free, 80},
    {"heap reset", op_reset, 6},
    {"heap destroy", op_destroy, 10},
    {NULL, NULL, 0},
};
