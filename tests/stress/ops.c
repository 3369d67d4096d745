// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The machine: program bytes, slots, patterns, the loop. See ops.h.
#include "ops.h"

#include "slab/segment.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Blocks up to this size are filled to the last byte; of larger ones the two ends, and a word in each stretch between.
enum { FULL_FILL = 8192, EDGE = 256, STRETCH = 4096 - 64 };

void ops_violation(const ops_machine *m, const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "step %zu, %s: ", m->step, m->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

unsigned ops_byte(ops_machine *m) { return m->at < m->end ? *m->at++ : 0; }

size_t ops_size(ops_machine *m, unsigned top) {
    unsigned a = ops_byte(m), b = ops_byte(m);
    // Half of the sizes are below 512, one in eight reaches to 1 MiB, one in sixty to the top.
    unsigned bits = a < 128 ? a % 9 : a < 220 ? a % 16 : a < 252 ? a % 20 : top - a % 5;
    if (bits > top) bits = top;
    return ((size_t)1 << bits) + (((size_t)b << bits) >> 8) - 1;
}

size_t ops_alignment(ops_machine *m, unsigned top) {
    unsigned a = ops_byte(m);
    return (size_t)1 << (a < 200 ? a % 8 : a % (top + 1));
}

bool ops_has_room(const ops_machine *m, size_t bytes) {
    return m->live_bytes + bytes <= m->live_bytes_most && m->free_slot_count > 0;
}

static uint64_t pattern(const ops_block *block, size_t offset) {
    return (block->tag ^ (uintptr_t)block->p ^ offset) * UINT64_C(0x9E3779B97F4A7C15);
}

// Calls for each piece that carries the pattern. Writes it, or compares; false at the first difference.
static bool walk(const ops_block *block, size_t bytes, bool write) {
    for (size_t i = 0; i < bytes;) {
        uint64_t word = pattern(block, i);
        size_t n = bytes - i < sizeof word ? bytes - i : sizeof word;
        if (write)
            memcpy(block->p + i, &word, n);
        else if (memcmp(block->p + i, &word, n) != 0)
            return false;
        bool dense = block->size <= FULL_FILL || i < EDGE || i + EDGE + STRETCH >= block->size;
        i += dense ? sizeof word : STRETCH;
    }
    return true;
}

void ops_fill(ops_block *block) { walk(block, block->size, true); }
bool ops_intact(const ops_block *block, size_t bytes) { return walk(block, bytes, false); }

bool ops_is_zero(const void *p, size_t bytes) {
    const unsigned char *from = p;
    return bytes == 0 || (from[0] == 0 && memcmp(from, from + 1, bytes - 1) == 0);
}

ops_block *ops_choose(ops_machine *m, ops_owner owner, int index) {
    unsigned start = ops_byte(m) | ops_byte(m) << 8;
    for (unsigned i = 0; i < OPS_SLOTS; i++) {
        ops_block *block = &m->blocks[(start + i) % OPS_SLOTS];
        if (block->owner == owner && (index < 0 || block->index == (unsigned)index)) return block;
    }
    return NULL;
}

ops_block *ops_note(ops_machine *m, void *p, size_t size, size_t alignment, ops_owner owner, unsigned index) {
    if (p == NULL) {
        OPS_CHECK(m, m->may_fail, "no memory for %zu bytes at alignment %zu with %zu bytes alive", size, alignment,
                  m->live_bytes);
        OPS_CHECK(m, errno == ENOMEM, "failed with errno %d, not ENOMEM", errno);
        errno = 0;
        m->failures++;
        return NULL;
    }
    OPS_CHECK(m, errno == 0, "a success set errno to %d", errno);
    OPS_CHECK(m, (uintptr_t)p % alignment == 0, "%p is not aligned to %zu", p, alignment);
    if (m->free_slot_count == 0) return NULL;
    int slot = m->free_slots[--m->free_slot_count];
    int other = spans_insert(&m->live, slot, p, size);
    OPS_CHECK(m, other == SPANS_NONE, "[%p, +%zu) overlaps the live block [%p, +%zu) of owner %d", p, size,
              (void *)m->blocks[other].p, m->blocks[other].size, (int)m->blocks[other].owner);
    ops_block *block = &m->blocks[slot];
    *block = (ops_block){.p = p, .size = size, .tag = ++m->serial << 20, .owner = owner, .index = index};
    m->live_bytes += size;
    ops_fill(block);
    return block;
}

void ops_forget(ops_machine *m, ops_block *block) {
    OPS_CHECK(m, ops_intact(block, block->size), "the contents of the live block [%p, +%zu) of owner %d have changed",
              (void *)block->p, block->size, (int)block->owner);
    int slot = (int)(block - m->blocks);
    spans_remove(&m->live, slot);
    m->live_bytes -= block->size;
    block->owner = OPS_NOBODY;
    m->free_slots[m->free_slot_count++] = slot;
}

void ops_free_any(ops_machine *m, ops_block *block) {
    ops_block copy = *block;
    switch (copy.owner) {
        case OPS_POOL: ops_pool_free(m, block, (copy.tag >> 20 & 1) == 0); return;
        case OPS_SHARED_POOL:
            ops_forget(m, block);
            if (copy.tag >> 20 & 1)
                lido_free(copy.p);
            else
                lido_pool_free(m->shared->pools[copy.index], copy.p);
            return;
        default:
            ops_forget(m, block);
            lido_free(copy.p);
            return;
    }
}

void ops_init(ops_machine *m) {
    memset(m, 0, sizeof *m);
    m->name = "start";
    m->live_bytes_most = OPS_LIVE_BYTES;
    spans_init(&m->live);
    for (int i = 0; i < OPS_SLOTS; i++) m->free_slots[m->free_slot_count++] = OPS_SLOTS - 1 - i;
}

static void run_table(ops_machine *m, const ops_entry *table, unsigned byte) {
    unsigned sum = 0;
    for (const ops_entry *entry = table; entry->name != NULL; entry++) sum += entry->weight;
    unsigned share = byte % sum;
    const ops_entry *entry = table;
    for (; share >= entry->weight; entry++) share -= entry->weight;
    m->name = entry->name;
    if (m->trace) fprintf(stderr, "%zu %s\n", m->step, m->name);
    errno = 0;
    entry->function(m);
    OPS_CHECK(m, errno == 0, "errno is %d afterwards", errno);
}

void ops_run(ops_machine *m, const uint8_t *program, size_t bytes) {
    m->at = program;
    m->end = program + bytes;
    while (m->at < m->end) {
        unsigned group = ops_byte(m), byte = ops_byte(m);
        const ops_entry *table = group < 105   ? ops_malloc_table
                                 : group < 210 ? ops_pool_table
                                 : group < 240 ? ops_heap_table
                                               : ops_handle_table;
        if (m->shared != NULL && group % 2 == 0) table = ops_thread_table;
        run_table(m, table, byte);
        m->step++;
    }
}

void ops_finish(ops_machine *m) {
    m->name = "finish";
    errno = 0;
    for (int i = 0; i < OPS_SLOTS; i++) {
        if (m->blocks[i].owner != OPS_NOBODY) ops_free_any(m, &m->blocks[i]);
    }
    OPS_CHECK(m, m->live.count == 0 && m->live_bytes == 0, "the model itself lost count");
    ops_pools_finish(m);
    ops_heaps_finish(m);
    ops_handles_finish(m);
    OPS_CHECK(m, errno == 0, "freeing everything set errno to %d", errno);
    if (m->shared == NULL) lido__segments_verify();    // the figures are exact while nobody else is at it
}
