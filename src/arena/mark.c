// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Marks, cleanups, rewind and reset. See arena.h for how an ended mark is told from a good one.
#include "arena/arena.h"

#include "os/report.h"

#include <errno.h>

lido_arena_point lido_arena_mark(lido_arena *arena) {
    uint64_t stamp = ++arena->serial, depth = ++arena->depth;
    arena->marks[depth % LIDO__ARENA_SLOTS] = (lido__arena_slot){depth, stamp};
    return (lido_arena_point){arena, arena->current, arena->face.next, stamp, depth};
}

// Whether the slot of its depth speaks against a mark. A slot that a deeper mark has taken says nothing.
static bool has_ended(const lido_arena *arena, const lido_arena_point *point) {
    const lido__arena_slot *slot = &arena->marks[point->depth % LIDO__ARENA_SLOTS];
    return point->depth > arena->depth || (slot->depth == point->depth && slot->stamp != point->stamp);
}

// Whether the arena is still where the mark says, as far as memory goes: an ended mark that gets past the slots must not
// do more harm than a rewind to a wrong place in a chunk in use.
static bool in_use(const lido_arena *arena, const lido_arena_point *point) {
    const lido__chunk *chunk = arena->current;
    while (chunk != NULL && chunk != point->chunk) chunk = chunk->link;
    return chunk != NULL && point->next >= chunk->start && point->next <= lido__chunk_end(chunk);
}

static bool check_mark(const lido_arena *arena, const lido_arena_point *point) {
    if (LIDO_UNLIKELY(point->arena != arena)) {
        if (lido__arena_is_dead(arena, "lido_arena_rewind")) return false;
        lido__misuse("lido_arena_rewind(\"%s\" at %p): the mark is of another arena, %p", arena->name,
                     (const void *)arena, (void *)point->arena);
        return false;
    }
    if (LIDO_UNLIKELY(has_ended(arena, point) || !in_use(arena, point))) {
        if (lido__arena_is_dead(arena, "lido_arena_rewind")) return false;
        lido__misuse("lido_arena_rewind(\"%s\" at %p): the mark has ended, by a reset or a rewind to an earlier mark",
                     arena->name, (const void *)arena);
        return false;
    }
    return true;
}

bool lido__arena_rewind(lido_arena *arena, lido_arena_point point) {
    if (!check_mark(arena, &point) || !lido__arena_unwind(arena, point.stamp, "lido_arena_rewind")) return false;
    lido__arena_note_high(arena);
    if (arena->source != NULL) lido__checked_end_all(arena->source, point.stamp, LIDO__END_REWIND);
    lido__arena_drop_to(arena, (lido__chunk *)point.chunk);
    // a block older than the mark may have shrunk since
    if (point.next < arena->face.next) arena->face.next = point.next;
    arena->depth = point.depth;
    return true;
}

void lido_arena_rewind(lido_arena *arena, lido_arena_point point) { (void)lido__arena_rewind(arena, point); }

void lido_arena_reset(lido_arena *arena) {
    if (!lido__arena_unwind(arena, 0, "lido_arena_reset")) return;
    lido__arena_note_high(arena);
    if (arena->source != NULL) lido__checked_end_all(arena->source, 0, LIDO__END_RESET);
    lido__arena_drop_to(arena, lido__arena_home_chunk(arena));
    arena->face.next = arena->source == NULL ? arena->current->start : arena->face.limit;
    arena->depth = 0;
}

// --- cleanups -------------------------------------------------------------------------------------------------------

void lido__cleanup_link(lido_arena *arena, lido__cleanup *cleanup, void (*call)(void *), void *argument) {
    *cleanup = (lido__cleanup){arena->cleanups, NULL, ++arena->serial, call, argument};
    if (arena->cleanups != NULL) arena->cleanups->newer = cleanup;
    arena->cleanups = cleanup;
}

void lido__cleanup_unlink(lido_arena *arena, lido__cleanup *cleanup) {
    if (cleanup->older != NULL) cleanup->older->newer = cleanup->newer;
    if (cleanup->newer != NULL) {
        cleanup->newer->older = cleanup->older;
    } else {
        arena->cleanups = cleanup->older;
    }
}

bool lido__arena_unwind(lido_arena *arena, uint64_t stamp, const char *call) {
    if (LIDO_UNLIKELY(arena->unwinding)) {
        if (lido__arena_is_dead(arena, call)) return false;
        lido__misuse("%s(\"%s\" at %p): called from one of its own cleanups", call, arena->name, (void *)arena);
        return false;
    }
    arena->unwinding = true;
    for (lido__cleanup *cleanup; (cleanup = arena->cleanups) != NULL && cleanup->serial > stamp;) {
        lido__cleanup_unlink(arena, cleanup);
        cleanup->call(cleanup->argument);
    }
    arena->unwinding = false;
    return true;
}

int lido_arena_defer(lido_arena *arena, void (*call)(void *argument), void *argument) {
    if (call == NULL) {
        errno = EINVAL;
        return -1;
    }
    lido__cleanup *cleanup = LIDO_ARENA_NEW(arena, lido__cleanup);
    if (cleanup == NULL) return -1;
    lido__cleanup_link(arena, cleanup, call, argument);
    return 0;
}
