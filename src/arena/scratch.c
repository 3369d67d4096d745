// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The two scratch arenas of each thread: made at the first begin, freed by a thread-specific key when the thread ends.
//
// Why two: a function that gets its caller's scratch as the place for its results needs another one for itself. With two,
// any chain of calls can alternate between them.
#include "arena/arena.h"

#include "os/report.h"

#include <errno.h>
#include <threads.h>

// Large enough for most uses to end in the first chunk (guess).
enum { FIRST_CHUNK_BYTES = 32 << 10 };

static __thread lido_arena *scratch[2];    // [owner]
static once_flag key_once = ONCE_FLAG_INIT;
static tss_t key;
static bool key_made;    // [const] after key_once

static void free_both(void *argument) {
    (void)argument;
    for (int i = 0; i < 2; i++) {
        lido_arena_free(scratch[i]);
        scratch[i] = NULL;
    }
}

static void make_key(void) { key_made = tss_create(&key, free_both) == thrd_success; }

// A thread that cannot be told of its end gets no scratch: it would be lost.
static LIDO__COLD lido_arena *make_scratch(int i) {
    call_once(&key_once, make_key);
    int saved = errno;
    if (!key_made || tss_set(key, &scratch[0]) != thrd_success) {
        errno = ENOMEM;
        return NULL;
    }
    errno = saved;
    return scratch[i] = lido_arena_new(&(lido_arena_options){.name = "scratch", .chunk_bytes = FIRST_CHUNK_BYTES});
}

lido_arena_point lido_arena_scratch_begin(const lido_arena *other) {
    int i = other != NULL && other == scratch[0];
    lido_arena *arena = scratch[i];
    if (LIDO_UNLIKELY(arena == NULL)) arena = make_scratch(i);
    return arena != NULL ? lido_arena_mark(arena) : (lido_arena_point){0};
}

void lido_arena_scratch_end(lido_arena_point point) {
    lido_arena *arena = point.arena;
    if (arena == NULL) return;
    if (LIDO_UNLIKELY(arena != scratch[0] && arena != scratch[1])) {
        lido__misuse("lido_arena_scratch_end: the mark is of arena %p, which is no scratch of this thread",
                     (void *)arena);
        return;
    }
    if (!lido__arena_rewind(arena, point)) return;
    arena->depth--;    // unlike other marks this one is done with
    if (LIDO_UNLIKELY(arena->depth == 0 && arena->spares != NULL))
        lido_arena_trim(arena, LIDO_ARENA_CHUNK_MAX_BYTES / 2);
}
