// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Where chunks come from and where they go: the arena's own spares, the stock of its parents, lido_malloc.
//
// A chunk that went out by a rewind lies on top of the spares in the order of its use, so a round that repeats finds each
// chunk where it looks first.
#include "arena/arena.h"

#include <lido/heap.h>

// How many spares are looked at for one that is large enough. Rounds that repeat need one look (guess: the rest is for
// chunks of odd sizes, of which there are few).
enum { LOOKS_MAX = 8 };

lido__chunk *lido__arena_chunk_new(size_t bytes) {
    lido__chunk *chunk = (lido__chunk *)lido_malloc(bytes);
    if (chunk != NULL) chunk->bytes = bytes;
    return chunk;
}

void lido__arena_keep(lido_arena *arena, lido__chunk *chunk) {
    chunk->link = arena->spares;
    arena->spares = chunk;
}

static lido__chunk *take_spare(lido_arena *arena, size_t need, size_t most) {
    lido__chunk **link = &arena->spares;
    for (int look = 0; *link != NULL && look < LOOKS_MAX; look++, link = &(*link)->link) {
        lido__chunk *chunk = *link;
        if (chunk->bytes < need || chunk->bytes > most) continue;
        *link = chunk->link;
        return chunk;
    }
    return NULL;
}

static lido__chunk *make(size_t need, size_t want, size_t most) {
    size_t good = lido_good_size(want);    // lido_malloc rounds up anyway
    if (good >= want && good <= most) want = lido__round_down(good, LIDO_ARENA_ALIGNMENT);
    lido__chunk *chunk = lido__arena_chunk_new(want);
    return chunk == NULL && need < want ? lido__arena_chunk_new(need) : chunk;
}

static lido__chunk *from_beneath(lido_arena *arena, size_t need, size_t want, size_t most) {
    return arena->parent != NULL ? lido__arena_lend(arena->parent, need, want, most) : make(need, want, most);
}

// From beyond the arena's own stock; counts it. Spares that are too small go when they stand in the way.
static lido__chunk *take_more(lido_arena *arena, size_t need, size_t want, size_t most) {
    if (arena->fixed) return NULL;
    if (need > arena->limit_bytes - arena->held) lido_arena_trim(arena, 0);
    size_t room = lido__round_down(arena->limit_bytes - arena->held, LIDO_ARENA_ALIGNMENT);
    if (need > room) return NULL;
    most = lido__min(most, room);
    want = lido__min(want, most);
    lido__chunk *chunk = from_beneath(arena, need, want, most);
    if (chunk == NULL && lido_arena_trim(arena, 0) > 0) chunk = from_beneath(arena, need, want, most);
    if (chunk != NULL) arena->held += chunk->bytes;
    return chunk;
}

lido__chunk *lido__arena_lend(lido_arena *arena, size_t need, size_t want, size_t most) {
    lido__chunk *chunk = take_spare(arena, need, most);
    return chunk != NULL ? chunk : take_more(arena, need, want, most);
}

// Growth is tied to chunks that had to be taken, so it does not go on through rounds that use the same ones again.
static lido__chunk *take(lido_arena *arena, size_t need) {
    lido__chunk *chunk = take_spare(arena, need, SIZE_MAX);
    if (chunk != NULL) return chunk;
    chunk = take_more(arena, need, lido__max(need, arena->growth), SIZE_MAX);
    if (chunk != NULL && arena->growth < arena->growth_max) {
        arena->growth = lido__min(arena->growth * 2, arena->growth_max);
    }
    return chunk;
}

bool lido__arena_next_chunk(lido_arena *arena, size_t need) {
    lido__chunk *chunk = take(arena, lido__round_up(need, LIDO_ARENA_ALIGNMENT));
    if (chunk == NULL) return false;
    arena->used_before = lido__arena_used(arena);
    arena->current->filled = arena->face.next;
    chunk->link = arena->current;
    chunk->start = (char *)(chunk + 1);
    arena->current = chunk;
    arena->face.next = chunk->start;
    arena->face.limit = lido__chunk_end(chunk);
    return true;
}

void lido__arena_drop_to(lido_arena *arena, lido__chunk *chunk) {
    while (arena->current != chunk) {
        lido__chunk *newest = arena->current;
        arena->current = newest->link;
        lido__arena_keep(arena, newest);
        arena->used_before -= (size_t)(arena->current->filled - arena->current->start);
        arena->face.next = arena->current->filled;
        arena->face.limit = lido__chunk_end(arena->current);
    }
}

size_t lido_arena_trim(lido_arena *arena, size_t keep_bytes) {
    size_t kept = 0, given = 0;
    lido__chunk **link = &arena->spares;
    while (*link != NULL) {
        lido__chunk *chunk = *link;
        if (chunk->bytes <= keep_bytes - kept) {
            kept += chunk->bytes;
            link = &chunk->link;
            continue;
        }
        *link = chunk->link;
        given += chunk->bytes;
        arena->held -= chunk->bytes;
        if (arena->parent != NULL) {
            lido__arena_keep(arena->parent, chunk);
        } else {
            lido_free(chunk);
        }
    }
    // what was taken for a peak that is over says nothing about what comes
    if (arena->spares == NULL && arena->current == lido__arena_home_chunk(arena)) {
        arena->growth = arena->growth_first;
        if (LIDO_UNLIKELY(arena->dead)) lido__arena_is_dead(arena, "lido_arena_trim");
    }
    return given;
}
