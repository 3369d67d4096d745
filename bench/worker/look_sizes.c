// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The sizes of resized blocks during a look: an open hash table with linear probing, from address to bytes.
//
//   a block stands at the first free cell from its home on; forgetting one moves later ones back, so no gap ever hides one
#include "worker/look.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CELL_BITS = 17,
    CELLS = 1 << CELL_BITS,
    USED_MAX = CELLS / 4 * 3,
};

typedef struct cell {
    uintptr_t block;    // 0: free
    int64_t bytes;
} cell;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cell cells[CELLS];    // [lock:lock] static data: pages that are never touched cost nothing
static size_t used;          // [lock:lock]

static size_t home_of(uintptr_t block) { return (size_t)((uint64_t)block * 0x9e3779b97f4a7c15u >> (64 - CELL_BITS)); }

static size_t find_locked(uintptr_t block) {
    size_t at = home_of(block);
    while (cells[at].block != 0 && cells[at].block != block) at = (at + 1) % CELLS;
    return at;
}

void look_remember(const void *block, int64_t bytes) {
    pthread_mutex_lock(&lock);
    size_t at = find_locked((uintptr_t)block);
    if (cells[at].block == 0 && used++ == USED_MAX) {
        fprintf(stderr, "lido-bench worker: more than %d resized blocks are alive; run with look=0\n", USED_MAX);
        exit(1);
    }
    cells[at].block = (uintptr_t)block;
    cells[at].bytes = bytes;
    pthread_mutex_unlock(&lock);
}

// Closes the gap at `gap`: a later cell whose home is not between the gap and itself moves into it.
static void close_gap_locked(size_t gap) {
    for (size_t at = (gap + 1) % CELLS; cells[at].block != 0; at = (at + 1) % CELLS) {
        size_t home = home_of(cells[at].block);
        if ((at - home) % CELLS < (at - gap) % CELLS) continue;
        cells[gap] = cells[at];
        gap = at;
    }
    cells[gap].block = 0;
}

int64_t look_forget(const void *block, int64_t otherwise) {
    if (block == NULL) return otherwise;
    pthread_mutex_lock(&lock);
    size_t at = find_locked((uintptr_t)block);
    int64_t bytes = otherwise;
    if (cells[at].block != 0) {
        bytes = cells[at].bytes;
        used--;
        close_gap_locked(at);
    }
    pthread_mutex_unlock(&lock);
    return bytes;
}
