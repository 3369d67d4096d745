// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// An arena from inside: a stack of chunks, of which the newest is being filled, and a stack of chunks kept for later.
//
//      home chunk           chunk                   current chunk
//      | head | arena |====filled  | ◄─link─ | head |=====filled | ◄─link─ | head |=====next        limit|
//             ▲       ▲ start
//             lido_arena                        spares ──► | head |            | ──► | head |            |
//
// The arena stands in its first chunk, its home, so that making one is one allocation, or none over a caller's buffer.
//
// Invariants:
//      current->start <= next <= limit = current + current->bytes,    limit is a multiple of 16
//      used = used_before + (next - current->start),    used_before = sum of filled - start over the older chunks
//      held = bytes of all chunks in both stacks + held of the children that live on chunks of ours
//      held <= limit_bytes
//      The high-water mark is brought up to date only where `used` is about to fall, and when somebody asks.
//
// Serials. Marks and cleanups are numbered by one counter, so "since the mark" is: serial > stamp. A mark has a depth too,
// the number of marks below it that are good; a rewind sets the depth back. `marks` remembers who stands at each of the
// last depths: a mark that has ended is deeper than now, or another one stands in its place. The counter starts at
// another number in each arena, so a mark from an earlier arena at the same address does not pass either.
//
// Children take chunks from their parent's stock of spares, or through it from further up, never out of its blocks: so a
// rewind of the parent cannot take memory from a child that was made before the mark. A child dies by a cleanup of its
// parent. Only the children of a fixed arena, which has no stock, stand in a block of it, taken when they are made.
//
// In check mode guard and page each block is a checked one (check/check.h), stamped with the serial of its moment: a rewind
// ends those with stamps at or above the mark's. The chunks are as good as empty then, and the face has no room.
//
// An arena that was freed in check mode, light and up, stays readable for a while (check/grave.c), so that a later call is told. It
// is `dead`; its face has no room, `source` is not NULL, and `unwinding` and `fixed` are true: so every call comes by a branch that it
// takes rarely anyhow. Where the home is a block of somebody else's, this holds until that memory is used again.
//
// Threads: one at a time, for a tree of parents and children.
#ifndef LIDO_ARENA_ARENA_H
#define LIDO_ARENA_ARENA_H

#include "base/base.h"
#include "check/check.h"

#include <lido/arena.h>

typedef struct lido__chunk {
    struct lido__chunk *link;    // the next older chunk in use; the next spare
    size_t bytes;                // with this head; a multiple of 16
    char *start;                 // of the part for blocks
    char *filled;                // once it is no longer current: where its blocks end
} lido__chunk;
_Static_assert(sizeof(lido__chunk) % LIDO_ARENA_ALIGNMENT == 0, "blocks begin behind the head");

typedef struct lido__cleanup {
    struct lido__cleanup *older, *newer;
    uint64_t serial;
    void (*call)(void *argument);
    void *argument;
} lido__cleanup;

// Where the home chunk came from, and so where it goes.
typedef enum lido__arena_home {
    LIDO__HOME_MALLOC,
    LIDO__HOME_STOCK,     // of the parent
    LIDO__HOME_BLOCK,     // of the parent
    LIDO__HOME_CALLER,    // stays
    LIDO__HOME_TOLD,      // in check mode: `told_home` says it
} lido__arena_home;

typedef struct lido__arena_slot {
    uint64_t depth, stamp;
} lido__arena_slot;
enum { LIDO__ARENA_SLOTS = 8 };    // guess: few programs nest marks deeper

struct lido_arena {
    _Alignas(LIDO_ARENA_ALIGNMENT) lido__arena_face face;    // must be first: the inline halves look here
    lido__chunk *current;
    lido__chunk *spares;
    lido__cleanup *cleanups;    // newest first
    size_t used_before, high_water;
    size_t held, limit_bytes;                   // limit_bytes: SIZE_MAX if there is none
    size_t growth, growth_first, growth_max;    // bytes of the next chunk, of the first one, where doubling ends
    uint64_t serial, depth;
    lido__arena_slot marks[LIDO__ARENA_SLOTS];
    lido_arena *parent;                    // [const]
    lido__cleanup death;                   // in the parent's list
    lido__arena_home home, told_home;      // [const]
    lido__check_source *source;            // [const] until it is dead; NULL: not checked
    bool fixed;                            // likewise
    uint8_t check;                         // [const] lido_check_level
    bool unwinding;                        // cleanups are running
    bool dead;                             // freed in check mode, see above
    char name[LIDO_ARENA_NAME_MAX + 1];    // [const]
};
_Static_assert(offsetof(lido_arena, face) == 0, "the inline halves look at the start");
_Static_assert(sizeof(lido_arena) % LIDO_ARENA_ALIGNMENT == 0, "blocks begin behind it");
_Static_assert(sizeof(lido_arena) + sizeof(lido__chunk) <= LIDO_ARENA_OVERHEAD_BYTES, "what the public header says");

LIDO_INLINE char *lido__chunk_end(const lido__chunk *chunk) { return (char *)(uintptr_t)chunk + chunk->bytes; }
LIDO_INLINE lido__chunk *lido__arena_home_chunk(const lido_arena *arena) {
    return (lido__chunk *)((uintptr_t)arena - sizeof(lido__chunk));
}
LIDO_INLINE size_t lido__arena_used(const lido_arena *arena) {
    if (LIDO_UNLIKELY(arena->source != NULL)) return arena->source->live_bytes;
    return arena->used_before + (size_t)(arena->face.next - arena->current->start);
}
// Before `used` falls.
LIDO_INLINE void lido__arena_note_high(lido_arena *arena) {
    arena->high_water = lido__max(arena->high_water, lido__arena_used(arena));
}

// chunk.c. Makes a chunk of at least `need` bytes, head included, the current one. False: the limit, or no memory.
LIDO__HIDDEN bool lido__arena_next_chunk(lido_arena *arena, size_t need);
// Out of the arena's stock or through it: at least `need` bytes, at best `want`, never above `most`.
// Requires: need <= want, need <= most. NULL: not possible.
LIDO__HIDDEN lido__chunk *lido__arena_lend(lido_arena *arena, size_t need, size_t want, size_t most);
// Makes older chunks current again until `chunk` is; those that were newer become spares. Does not set `next`.
LIDO__HIDDEN void lido__arena_drop_to(lido_arena *arena, lido__chunk *chunk);
LIDO__HIDDEN void lido__arena_keep(lido_arena *arena, lido__chunk *chunk);    // puts a chunk to the spares
LIDO__HIDDEN lido__chunk *lido__arena_chunk_new(size_t bytes);

// mark.c. False: misuse, reported, and nothing has changed.
LIDO__HIDDEN bool lido__arena_rewind(lido_arena *arena, lido_arena_point point);
// Runs the cleanups with serials above `stamp`. True if it did, false (and reported) if some are running already.
LIDO__HIDDEN bool lido__arena_unwind(lido_arena *arena, uint64_t stamp, const char *call);
LIDO__HIDDEN void lido__cleanup_link(lido_arena *arena, lido__cleanup *cleanup, void (*call)(void *), void *argument);
LIDO__HIDDEN void lido__cleanup_unlink(lido_arena *arena, lido__cleanup *cleanup);

// True, after a report, if the arena was freed in check mode.
LIDO__HIDDEN bool lido__arena_is_dead(const lido_arena *arena, const char *call);

// Walks everything and returns whether the invariants above hold. For tests.
LIDO__HIDDEN bool lido__arena_verify(const lido_arena *arena);

#endif
