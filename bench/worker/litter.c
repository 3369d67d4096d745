// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The book of the litter. Its memory is mapped, so that the allocator under test sees the litter alone.
//
//   count of a slot = litter bytes / sum of the block sizes of all slots      (the workload's mix, equal counts)
//   alive afterwards = count * percent / 100
#include "worker/litter.h"
#include "worker/look.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LITTER_COUNT_MAX = 4 << 20 };    // of a slot: tiny blocks would otherwise cost minutes and gigabytes

static unsigned litter_percent;    // [const] once slots are opened
static size_t litter_bytes, slots_bytes;
static pthread_mutex_t book_lock = PTHREAD_MUTEX_INITIALIZER;
static litter *book;                               // [lock:book_lock] of open slots
static uint64_t book_dice = 88172645463325252u;    // [lock:book_lock]

void litter_set(unsigned percent, size_t bytes) {
    litter_percent = percent;
    litter_bytes = bytes;
}

void bench_slots_bytes(size_t bytes) { slots_bytes = bytes; }

size_t litter_count(size_t size) {
    if (litter_percent == 0) return 0;
    size_t count = litter_bytes / (slots_bytes > size ? slots_bytes : size);
    return count < LITTER_COUNT_MAX ? count : LITTER_COUNT_MAX;
}

static void *map_or_die(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) return memory;
    fprintf(stderr,
            "lido-bench worker: no memory for the list of the litter (%zu bytes); ask for less with litter_mb=\n",
            bytes);
    exit(1);
}

static size_t whole_pages(size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

litter *litter_new(const void *slot, size_t slot_bytes, size_t count, size_t size) {
    size_t bytes = whole_pages(sizeof(litter) + count * sizeof(void *));
    litter *all = (litter *)map_or_die(bytes);
    all->blocks = (void **)(void *)(all + 1);
    all->count = count;
    all->kept = count * litter_percent / 100;
    all->size = size;
    all->mapped_bytes = bytes;
    memcpy(all->slot, slot, slot_bytes < sizeof all->slot ? slot_bytes : sizeof all->slot);
    pthread_mutex_lock(&book_lock);
    all->next = book;
    book = all;
    pthread_mutex_unlock(&book_lock);
    return all;
}

void litter_refused(const litter *all, size_t have) {
    fprintf(stderr,
            "lido-bench worker: the allocator refused litter after %zu of %zu blocks of %zu bytes; ask for less with "
            "litter_mb=\n",
            have, all->count, all->size);
    exit(1);
}

// Fisher and Yates; the same order in every process that opens the same slots in the same order.
void litter_shuffle(litter *all) {
    pthread_mutex_lock(&book_lock);
    uint64_t dice = bench_random(&book_dice);
    pthread_mutex_unlock(&book_lock);
    for (size_t i = all->count; i > 1; i--) {
        size_t other = (size_t)(bench_random(&dice) % i);
        void *block = all->blocks[i - 1];
        all->blocks[i - 1] = all->blocks[other];
        all->blocks[other] = block;
    }
}

// The peak starts anew where the system allows it (it is then that of the work); elsewhere it holds the filling too.
static void restart_peak(void) {
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t wrote = write(fd, "5", 1);
    (void)wrote;
    close(fd);
}

void litter_laid(litter *all) {
    size_t bytes = whole_pages(sizeof(litter) + all->kept * sizeof(void *));
    if (bytes < all->mapped_bytes) munmap((char *)all + bytes, all->mapped_bytes - bytes);
    all->mapped_bytes = bytes;
    look_live((int64_t)(all->kept * all->size));
    look_own((int64_t)bytes);
    restart_peak();
}

litter *litter_of(const void *slot, size_t slot_bytes) {
    if (litter_percent == 0) return NULL;
    if (slot_bytes > LITTER_SLOT_BYTES) slot_bytes = LITTER_SLOT_BYTES;
    pthread_mutex_lock(&book_lock);
    litter **at = &book;
    while (*at != NULL && memcmp((*at)->slot, slot, slot_bytes) != 0) at = &(*at)->next;
    litter *all = *at;
    if (all != NULL) *at = all->next;
    pthread_mutex_unlock(&book_lock);
    return all;
}

void litter_end(litter *all) {
    if (all == NULL) return;
    look_live(-(int64_t)(all->kept * all->size));
    look_own(-(int64_t)all->mapped_bytes);
    munmap(all, all->mapped_bytes);
}
