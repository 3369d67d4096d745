// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Operations of a machine that has neighbours: shared pools, and blocks that wander through a ring, so that most frees
// are by another thread than the allocation. A block on its way keeps its pattern; whoever takes it checks that.
#include "ops.h"

#include "slab/segment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void op_shared_alloc(ops_machine *m) {
    unsigned index = ops_byte(m) % OPS_SHARED_POOLS, count = ops_byte(m) % 32;
    for (; count > 0 && ops_has_room(m, m->shared->block_sizes[index]); count--) {
        void *p = lido_pool_alloc(m->shared->pools[index]);
        if (p == NULL && errno == ENOMEM && index == 1) {    // the one that has a capacity
            errno = 0;
            return;
        }
        if (ops_note(m, p, m->shared->block_sizes[index], 8, OPS_SHARED_POOL, index) == NULL)
            lido_pool_free(m->shared->pools[index], p);
    }
}

static void op_shared_free(ops_machine *m) {
    for (unsigned count = ops_byte(m) % 32; count > 0; count--) {
        ops_block *block = ops_choose(m, OPS_SHARED_POOL, -1);
        if (block == NULL) return;
        ops_free_any(m, block);
    }
}

static void op_shared_bulk(ops_machine *m) {
    unsigned index = ops_byte(m) % OPS_SHARED_POOLS, count = 1 + ops_byte(m) % 40;
    void *blocks[64];
    if (lido_pool_alloc_bulk(m->shared->pools[index], blocks, count) != 0) {
        OPS_CHECK(m, errno == ENOMEM && index == 1, "bulk refused, errno %d", errno);
        errno = 0;
        return;
    }
    for (unsigned i = 0; i < count; i++) memset(blocks[i], (int)i, m->shared->block_sizes[index]);
    for (unsigned i = 0; i < count; i++) OPS_CHECK(m, *(unsigned char *)blocks[i] == i, "two threads have one block");
    lido_pool_free_bulk(m->shared->pools[index], blocks, count);
}

static void op_shared_owns(ops_machine *m) {
    ops_block *block = ops_choose(m, OPS_SHARED_POOL, -1);
    if (block == NULL) return;
    for (unsigned i = 0; i < OPS_SHARED_POOLS; i++) {
        OPS_CHECK(m, lido_pool_owns(m->shared->pools[i], block->p) == (i == block->index), "pool %u, block of pool %u",
                  i, block->index);
    }
    OPS_CHECK(m, lido_pool_of(block->p) == m->shared->pools[block->index], "pool_of");
    lido_pool_statistics s = lido_pool_stats(m->shared->pools[block->index]);
    OPS_CHECK(m, s.block_size == m->shared->block_sizes[block->index] && s.slab_count > 0,
              "statistics of a pool in use");
}

static void op_shared_trim(ops_machine *m) {
    unsigned index = ops_byte(m);
    if (index < 200)
        lido_pool_trim(m->shared->pools[index % OPS_SHARED_POOLS]);
    else
        lido_trim(0);
}

static bool try_place(ops_shared *shared, unsigned place) {
    return __atomic_exchange_n(&shared->ring[place].lock, 1, __ATOMIC_ACQUIRE) == 0;
}

static void leave_place(ops_shared *shared, unsigned place) {
    __atomic_store_n(&shared->ring[place].lock, 0, __ATOMIC_RELEASE);
}

static ops_block *choose_to_send(ops_machine *m) {
    ops_block *block = ops_choose(m, m->step % 2 == 0 ? OPS_MALLOC : OPS_SHARED_POOL, -1);
    return block;
}

// Puts one of our blocks into the ring and takes what lies there.
static void op_exchange(ops_machine *m) {
    for (unsigned count = 1 + ops_byte(m) % 16; count > 0; count--) {
        unsigned place = ops_byte(m) % OPS_RING;
        ops_block out = {.owner = OPS_NOBODY}, in, *block = choose_to_send(m);
        if (!try_place(m->shared, place)) continue;
        in = m->shared->ring[place].block;
        if (block != NULL) {
            out = *block;
            ops_forget(m, block);
        }
        m->shared->ring[place].block = out;
        leave_place(m->shared, place);
        if (in.owner == OPS_NOBODY) continue;
        OPS_CHECK(m, ops_intact(&in, in.size), "a block of %zu bytes changed on its way between threads", in.size);
        ops_block *mine = ops_note(m, in.p, in.size, 1, in.owner, in.index);
        if (mine != NULL && in.tag % 3 != 0) ops_free_any(m, mine);
        if (mine == NULL) lido_free(in.p);
    }
}

void ops_shared_init(ops_shared *shared) {
    static const lido_pool_options kinds[OPS_SHARED_POOLS] = {
        {.name = "shared small", .block_size = 48, .threads = LIDO_SHARED},
        {.name = "shared bounded", .block_size = 100, .threads = LIDO_SHARED, .capacity = 600},
        {.name = "shared first in first out", .block_size = 256, .threads = LIDO_SHARED, .order = LIDO_FIFO},
        {.name = "shared large", .block_size = 5000, .threads = LIDO_SHARED, .alignment = 64},
    };
    memset(shared, 0, sizeof *shared);
    for (int i = 0; i < OPS_SHARED_POOLS; i++) {
        shared->pools[i] = lido_pool_new(&kinds[i]);
        if (shared->pools[i] == NULL) abort();
        shared->block_sizes[i] = lido_pool_block_size(shared->pools[i]);
    }
}

void ops_shared_finish(ops_shared *shared) {
    for (int i = 0; i < OPS_RING; i++) {
        const ops_block *block = &shared->ring[i].block;
        if (block->owner == OPS_NOBODY) continue;
        if (!ops_intact(block, block->size)) abort();
        lido_free(block->p);
    }
    for (int i = 0; i < OPS_SHARED_POOLS; i++) {
        size_t live = lido_pool_stats(shared->pools[i]).live;
        if (live != 0) {
            fprintf(stderr, "pool '%s': %zu blocks alive after everything was freed\n",
                    lido_pool_name(shared->pools[i]), live);
            abort();
        }
        lido_pool_destroy(shared->pools[i]);
    }
    lido__segments_verify();
}

const ops_entry ops_thread_table[] = {
    {"shared alloc", op_shared_alloc, 50},
    {"shared free", op_shared_free, 40},
    {"shared bulk", op_shared_bulk, 10},
    {"shared owns", op_shared_owns, 10},
    {"shared trim", op_shared_trim, 2},
    {"exchange", op_exchange, 140},
    {NULL, NULL, 0},
};
