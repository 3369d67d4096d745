// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Operations on the lido_malloc family.
#include "ops.h"

#include "slab/segment.h"

#include <errno.h>

enum { SIZE_TOP = 24 };    // to 32 MiB, which is beyond what a segment holds

static void note_malloc(ops_machine *m, void *p, size_t size, size_t alignment) {
    ops_block *block = ops_note(m, p, size, alignment, OPS_MALLOC, 0);
    if (block == NULL) {
        lido_free(p);
        return;
    }
    OPS_CHECK(m, lido_usable_size(p) >= size, "%zu usable of %zu", lido_usable_size(p), size);
    OPS_CHECK(m, lido_pool_of(p) == NULL, "a block of malloc belongs to a pool that has a name");
}

static void op_malloc(ops_machine *m) {
    size_t size = ops_size(m, SIZE_TOP);
    if (!ops_has_room(m, size)) return;
    note_malloc(m, lido_malloc(size), size, 16);
}

static void op_malloc_burst(ops_machine *m) {
    size_t size = ops_size(m, 15);
    unsigned count = ops_byte(m);
    for (unsigned i = 0; i < count && ops_has_room(m, size); i++) note_malloc(m, lido_malloc(size), size, 16);
}

static void op_calloc(ops_machine *m) {
    size_t size = ops_size(m, SIZE_TOP), count = ops_byte(m) % 5;
    if (!ops_has_room(m, size * count)) return;
    void *p = lido_calloc(count, size);
    if (p != NULL) OPS_CHECK(m, ops_is_zero(p, count * size), "calloc(%zu, %zu) is not zero", count, size);
    note_malloc(m, p, count * size, 16);
}

static void op_aligned(ops_machine *m) {
    size_t alignment = ops_alignment(m, 22), size = ops_size(m, 20);
    if (!ops_has_room(m, size)) return;
    if (ops_byte(m) % 2 == 0) {
        note_malloc(m, lido_aligned_alloc(alignment, size), size, alignment);
        return;
    }
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    void *p = NULL;
    int error = lido_posix_memalign(&p, alignment, size);
    OPS_CHECK(m, errno == 0, "posix_memalign set errno to %d", errno);
    OPS_CHECK(m, error == (p == NULL ? ENOMEM : 0), "posix_memalign answers %d and %p", error, p);
    if (p == NULL) errno = ENOMEM;    // so that ops_note sees what it expects of the others
    note_malloc(m, p, size, alignment);
}

static void op_free(ops_machine *m) {
    ops_block *block = ops_choose(m, OPS_MALLOC, -1);
    if (block == NULL) return;
    void *p = block->p;
    size_t size = block->size;
    ops_forget(m, block);
    if (size % 3 == 0)
        lido_free_sized(p, size);
    else
        lido_free(p);
}

static void op_free_burst(ops_machine *m) {
    for (unsigned count = ops_byte(m); count > 0; count--) {
        ops_block *block = ops_choose(m, OPS_MALLOC, -1);
        if (block == NULL) return;
        ops_free_any(m, block);
        if (m->at >= m->end) return;
    }
}

static void op_realloc(ops_machine *m) {
    size_t size = ops_size(m, SIZE_TOP);
    ops_block *block = ops_choose(m, OPS_MALLOC, -1);
    if (block == NULL || !ops_has_room(m, size)) return;
    ops_block old = *block;
    void *q = ops_byte(m) % 4 == 0 ? lido_reallocarray(old.p, 1, size) : lido_realloc(old.p, size);
    if (size == 0) {
        OPS_CHECK(m, q == NULL && errno == 0, "realloc to 0 gives %p and errno %d", q, errno);
        // It is free, so its contents may have changed: the model forgets it without a look.
        ops_block *gone = block;
        gone->size = 0;
        m->live_bytes -= old.size;
        ops_forget(m, gone);
        return;
    }
    if (q == NULL) {
        OPS_CHECK(m, m->may_fail && errno == ENOMEM, "realloc from %zu to %zu fails with errno %d", old.size, size,
                  errno);
        OPS_CHECK(m, ops_intact(block, block->size), "a failed realloc changed the block");
        errno = 0;
        m->failures++;
        return;
    }
    OPS_CHECK(m, errno == 0, "realloc set errno to %d", errno);
    // The pattern of the old block, now at the new address.
    uint64_t tag = old.tag ^ (uintptr_t)old.p ^ (uintptr_t)q;
    ops_block moved = {.p = q, .size = old.size, .tag = tag};
    size_t common = (old.size < size ? old.size : size) & ~(size_t)7;
    OPS_CHECK(m, ops_intact(&moved, common), "realloc from %zu to %zu lost contents", old.size, size);
    block->size = 0;
    m->live_bytes -= old.size;
    ops_forget(m, block);
    note_malloc(m, q, size, 16);
}

static void op_refused(ops_machine *m) {
    static const size_t sizes[] = {SIZE_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 65536, SIZE_MAX / 2 + 2};
    volatile size_t size = sizes[ops_byte(m) % 4];
    OPS_CHECK(m, lido_malloc(size) == NULL && errno == ENOMEM, "malloc(%zu): errno %d", size, errno);
    errno = 0;
    OPS_CHECK(m, lido_calloc(size, 3) == NULL && errno == ENOMEM, "calloc(%zu, 3): errno %d", size, errno);
    errno = 0;
    OPS_CHECK(m, lido_aligned_alloc(48, 100) == NULL && errno == EINVAL, "alignment 48: errno %d", errno);
    errno = 0;
    OPS_CHECK(m, lido_good_size(size) == 0, "good_size(%zu) is %zu", size, lido_good_size(size));
    lido_free(NULL);
}

static void op_good_size(ops_machine *m) {
    size_t size = ops_size(m, SIZE_TOP), good = lido_good_size(size);
    OPS_CHECK(m, good >= size && lido_good_size(good) == good, "good_size(%zu) is %zu, and of that %zu", size, good,
              lido_good_size(good));
}

static void op_trim(ops_machine *m) {
    lido_trim(ops_byte(m) % 2 == 0 ? 0 : 1 << 20);
    OPS_CHECK(m, errno == 0, "trim set errno to %d", errno);
    ops_pools_trimmed(m);
}

static void op_verify(ops_machine *m) {
    if (m->shared == NULL) OPS_CHECK(m, lido__segments_verify(), "the segments do not verify");
    lido_heap_statistics s = lido_process_stats();
    OPS_CHECK(m, s.held_bytes >= s.committed_bytes, "committed %zu of %zu held", s.committed_bytes, s.held_bytes);
    if (m->shared == NULL) {
        OPS_CHECK(m, s.live_bytes >= m->live_bytes && s.committed_bytes >= m->live_bytes,
                  "live %zu, committed %zu, but the model has %zu alive", s.live_bytes, s.committed_bytes,
                  m->live_bytes);
    }
}

// Looks at some blocks again: nobody writes into them behind our back.
static void op_look(ops_machine *m) {
    for (int i = 0; i < 8; i++) {
        ops_block *block = &m->blocks[(ops_byte(m) * 4 + (unsigned)i) % OPS_SLOTS];
        if (block->owner == OPS_NOBODY) continue;
        OPS_CHECK(m, ops_intact(block, block->size), "the contents of [%p, +%zu) have changed", (void *)block->p,
                  block->size);
        OPS_CHECK(m, lido_usable_size(block->p) >= block->size, "usable size of [%p, +%zu)", (void *)block->p,
                  block->size);
    }
}

const ops_entry ops_malloc_table[] = {
    {"malloc", op_malloc, 60},
    {"malloc burst", op_malloc_burst, 12},
    {"calloc", op_calloc, 24},
    {"aligned", op_aligned, 24},
    {"free", op_free, 60},
    {"free burst", op_free_burst, 6},
    {"realloc", op_realloc, 40},
    {"refused", op_refused, 4},
    {"good size", op_good_size, 4},
    {"trim", op_trim, 2},
    {"verify", op_verify, 3},
    {"look", op_look, 10},
    {NULL, NULL, 0},
};
