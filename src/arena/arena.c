// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Making and freeing arenas, the slow half of allocation, resizing, and the questions.
#include "arena/arena.h"

#include "base/atomics.h"
#include "check/inject.h"
#include "os/report.h"

#include <errno.h>
#include <lido/heap.h>
#include <string.h>

// --- making ---------------------------------------------------------------------------------------------------------

// The least room for blocks that an arena is made with.
enum { LEAST_BYTES = LIDO_ARENA_OVERHEAD_BYTES + LIDO_ARENA_ALIGNMENT };
_Static_assert((int)LIDO_ARENA_CHUNK_BYTES_MIN >= (int)LEAST_BYTES, "the least chunk has room for a block");

// With all fields filled in. False: EINVAL.
static bool complete(lido_arena_options *options) {
    if (options->name == NULL) options->name = "arena";
    if (options->chunk_bytes == 0) options->chunk_bytes = LIDO_ARENA_CHUNK_BYTES;
    if (options->chunk_max_bytes == 0) options->chunk_max_bytes = LIDO_ARENA_CHUNK_MAX_BYTES;
    if (options->limit_bytes == 0) options->limit_bytes = SIZE_MAX;
    if (options->chunk_bytes > PTRDIFF_MAX || options->chunk_max_bytes > PTRDIFF_MAX) return false;
    if (options->buffer == NULL && options->buffer_bytes != 0) return false;
    if (options->parent != NULL && options->parent->fixed) options->fixed = true;
    size_t chunk = lido__max(options->chunk_bytes, LIDO_ARENA_CHUNK_BYTES_MIN);
    options->chunk_bytes = lido__round_down(lido__min(chunk, options->limit_bytes), LIDO_ARENA_ALIGNMENT);
    options->chunk_max_bytes =
        lido__max(options->chunk_bytes, lido__round_down(options->chunk_max_bytes, LIDO_ARENA_ALIGNMENT));
    return options->limit_bytes >= LEAST_BYTES;
}

// The chunk over the caller's memory, without the bytes that alignment costs. NULL: too small, or above the limit.
static lido__chunk *over_buffer(const lido_arena_options *options) {
    size_t skip = (size_t)(-(uintptr_t)options->buffer & (LIDO_ARENA_ALIGNMENT - 1));
    if (options->buffer_bytes > PTRDIFF_MAX || options->buffer_bytes < skip + LEAST_BYTES) return NULL;
    size_t bytes = lido__round_down(options->buffer_bytes - skip, LIDO_ARENA_ALIGNMENT);
    if (bytes > options->limit_bytes) return NULL;
    lido__chunk *chunk = (lido__chunk *)(void *)((char *)options->buffer + skip);
    chunk->bytes = bytes;
    return chunk;
}

static lido__chunk *home_chunk(const lido_arena_options *options, lido__arena_home *home) {
    size_t bytes = options->chunk_bytes;
    if (options->buffer != NULL) {
        *home = LIDO__HOME_CALLER;
        lido__chunk *chunk = over_buffer(options);
        if (chunk == NULL) errno = EINVAL;
        return chunk;
    }
    lido__chunk *chunk;
    if (options->parent == NULL) {
        *home = LIDO__HOME_MALLOC;
        return lido__arena_chunk_new(bytes);
    }
    if (options->parent->fixed) {
        *home = LIDO__HOME_BLOCK;
        chunk = (lido__chunk *)lido_arena_alloc(options->parent, bytes);
        if (chunk != NULL) chunk->bytes = bytes;
        return chunk;
    }
    *home = LIDO__HOME_STOCK;
    chunk = lido__arena_lend(options->parent, bytes, bytes, options->limit_bytes);
    if (chunk == NULL) errno = ENOMEM;
    return chunk;
}

// Tells the marks of one arena from those of another that stood at the same address. relaxed: only the number counts.
static uint64_t first_serial(void) {
    static _Atomic uint32_t arenas_made;
    return (uint64_t)LIDO__ATOMIC_ADD(&arenas_made, 1u, relaxed) << 32;
}

// An arena over a buffer keeps to it: what is there is the caller's to check.
static void check_if_asked(lido_arena *arena, lido__arena_home home) {
    arena->check = (uint8_t)lido__check_now();
    if (LIDO_LIKELY(arena->check == LIDO_CHECK_OFF)) return;
    arena->told_home = home;
    arena->home = LIDO__HOME_TOLD;
    if (arena->check < LIDO_CHECK_GUARD || arena->fixed || home == LIDO__HOME_CALLER) return;
    arena->source = lido__check_source_new("arena", arena->name, arena, 0, 0);
    if (arena->source != NULL) arena->face.next = arena->face.limit;    // else no memory: as at light
}

static void bury(lido_arena *arena);
static void die_with_parent(void *argument) { bury((lido_arena *)argument); }

lido_arena *lido_arena_new(const lido_arena_options *given) {
    lido_arena_options options = {0};
    if (given != NULL) options = *given;
    if (!complete(&options)) {
        errno = EINVAL;
        return NULL;
    }
    lido__arena_home home;
    lido__chunk *chunk = home_chunk(&options, &home);
    if (chunk == NULL) return NULL;
    lido_arena *arena = (lido_arena *)(void *)(chunk + 1);
    chunk->link = NULL;
    chunk->start = (char *)(arena + 1);
    *arena = (lido_arena){
        .face = {chunk->start, lido__chunk_end(chunk)},
        .current = chunk,
        .held = chunk->bytes,
        .limit_bytes = options.limit_bytes,
        .growth = lido__min(2 * options.chunk_bytes, options.chunk_max_bytes),
        .growth_max = options.chunk_max_bytes,
        .serial = first_serial(),
        .parent = options.parent,
        .home = home,
        .fixed = options.fixed,
    };
    arena->growth_first = arena->growth;
    memcpy(arena->name, options.name, strnlen(options.name, LIDO_ARENA_NAME_MAX));
    check_if_asked(arena, home);
    if (arena->parent != NULL) lido__cleanup_link(arena->parent, &arena->death, die_with_parent, arena);
    return arena;
}

// --- freeing --------------------------------------------------------------------------------------------------------

// A block of a fixed parent: it goes back if nothing came after it.
static void give_block_back(lido_arena *parent, lido__chunk *home) {
    if (lido__chunk_end(home) != parent->face.next) return;
    lido__arena_note_high(parent);
    parent->face.next = (char *)home;
}

// A guess: 256 graves (check/grave.c) so hold at most 16 MiB.
enum { KEPT_HOME_MAX = 64 << 10 };

static void free_home(void *home) { lido_free(home); }

// True if the structure stays for later calls to be told; then its home is taken care of. One from the parent's stock is no longer
// part of what the parents hold.
static bool stays_dead(lido_arena *arena, lido__chunk *home) {
    arena->dead = arena->unwinding = arena->fixed = true;
    arena->face.next = arena->face.limit;
    arena->source = &lido__check_malloc_source;
    bool ours = arena->told_home == LIDO__HOME_MALLOC || arena->told_home == LIDO__HOME_STOCK;
    if (!ours || home->bytes > KEPT_HOME_MAX) return false;
    for (lido_arena *above = arena->parent; above != NULL; above = above->parent) above->held -= home->bytes;
    lido__check_bury(home, free_home);
    return true;
}

bool lido__arena_is_dead(const lido_arena *arena, const char *call) {
    if (LIDO_LIKELY(!arena->dead)) return false;
    lido__misuse("%s: arena '%s' was freed before", call, arena->name);
    return true;
}

static void give_home(lido_arena *arena, lido__chunk *home, lido__arena_home from) {
    switch (from) {
        case LIDO__HOME_MALLOC: lido_free(home); break;
        case LIDO__HOME_STOCK: lido__arena_keep(arena->parent, home); break;
        case LIDO__HOME_BLOCK: give_block_back(arena->parent, home); break;
        case LIDO__HOME_CALLER: break;
        case LIDO__HOME_TOLD:
            if (!stays_dead(arena, home)) give_home(arena, home, arena->told_home);
            break;
    }
}

// No longer in the parent's list of cleanups.
static void bury(lido_arena *arena) {
    if (!lido__arena_unwind(arena, 0, "lido_arena_free")) return;
    if (arena->source != NULL) {
        lido__checked_end_all(arena->source, 0, LIDO__END_DESTROY);
        lido__check_source_end(arena->source);
    }
    lido__chunk *home = lido__arena_home_chunk(arena);
    lido__arena_drop_to(arena, home);
    lido_arena_trim(arena, 0);
    give_home(arena, home, arena->home);
}

void lido_arena_free(lido_arena *arena) {
    if (arena == NULL) return;
    // a cleanup that frees its own arena is reported by bury, and the arena must stay in its parent's list
    if (arena->parent != NULL && !arena->unwinding) lido__cleanup_unlink(arena->parent, &arena->death);
    bury(arena);
}

// --- blocks ---------------------------------------------------------------------------------------------------------

// In the current chunk, or NULL. Requires: as lido__arena_alloc_slow has checked.
static void *alloc_here(lido_arena *arena, size_t alignment, size_t size) {
    size_t pad = (size_t)(-(uintptr_t)arena->face.next & (alignment - 1));
    size_t room = (size_t)(arena->face.limit - arena->face.next);
    if (pad > room || size > room - pad) return NULL;
    char *block = arena->face.next + pad;
    arena->face.next = block + size;
    return block;
}

static void *lido__arena_alloc_checked(lido_arena *arena, size_t alignment, size_t size) {
    void *block = NULL;
    if (lido__arena_is_dead(arena, "lido_arena_alloc")) {
        errno = EINVAL;
        return NULL;
    }
    if (!lido__inject(arena->name) &&
        size <= arena->limit_bytes - lido__min(arena->held + arena->source->live_bytes, arena->limit_bytes))
        block = lido__checked_alloc(arena->source, (lido_check_level)arena->check, size, alignment, LIDO__CALL_ARENA,
                                    arena->serial);
    if (block == NULL) errno = ENOMEM;
    return block;
}

LIDO__NOINLINE void *lido__arena_alloc_slow(lido_arena *arena, size_t alignment, size_t size) {
    if (!lido__is_power_of_two(alignment) || alignment > LIDO_ARENA_ALIGNMENT_MAX) {
        errno = EINVAL;
        return NULL;
    }
    if (size == 0) size = 1;
    if (LIDO_UNLIKELY(arena->source != NULL)) return lido__arena_alloc_checked(arena, alignment, size);
    void *block = alloc_here(arena, alignment, size);
    if (LIDO_LIKELY(block != NULL)) return block;
    size_t pad_most = lido__max(alignment, LIDO_ARENA_ALIGNMENT) - LIDO_ARENA_ALIGNMENT;
    if (size > PTRDIFF_MAX - 2 * (size_t)LIDO_ARENA_ALIGNMENT_MAX ||
        !lido__arena_next_chunk(arena, sizeof(lido__chunk) + pad_most + size)) {
        errno = ENOMEM;
        return NULL;
    }
    return alloc_here(arena, alignment, size);
}

void *lido_arena_calloc(lido_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (LIDO_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = lido_arena_alloc(arena, bytes);
    return block != NULL ? memset(block, 0, bytes) : NULL;
}

LIDO_INLINE bool resize(lido_arena *arena, void *p, size_t old_size, size_t new_size, const char *call) {
    size_t old_bytes = lido__max(old_size, 1), bytes = lido__max(new_size, 1);
    if (LIDO_UNLIKELY(arena->source != NULL)) return !lido__arena_is_dead(arena, call) && bytes <= old_bytes;
    if ((char *)p + old_bytes != arena->face.next) return bytes <= old_bytes;
    if (bytes > (size_t)(arena->face.limit - (char *)p)) return false;
    if (bytes < old_bytes) lido__arena_note_high(arena);
    arena->face.next = (char *)p + bytes;
    return true;
}

bool lido_arena_resize(lido_arena *arena, void *p, size_t old_size, size_t new_size) {
    return resize(arena, p, old_size, new_size, "lido_arena_resize");
}

void *lido_arena_realloc(lido_arena *arena, void *p, size_t old_size, size_t new_size) {
    if (p == NULL) return lido_arena_alloc(arena, new_size);
    if (resize(arena, p, old_size, new_size, "lido_arena_realloc")) return p;
    void *moved = lido_arena_alloc(arena, new_size);
    return moved != NULL ? memcpy(moved, p, old_size) : NULL;
}

// --- questions ------------------------------------------------------------------------------------------------------

static bool owns_checked(const lido_arena *arena, const void *p) {
    if (lido__arena_is_dead(arena, "lido_arena_owns")) return false;
    const lido__checked *record = lido__checked_find(p);
    if (record == NULL || record->source != arena->source) return false;
    bool live = lido__checked_state(record) == LIDO__CHECK_LIVE;
    return live && (const char *)p >= record->block && (const char *)p < record->block + record->bytes;
}

bool lido_arena_owns(const lido_arena *arena, const void *p) {
    if (LIDO_UNLIKELY(arena->source != NULL)) return owns_checked(arena, p);
    uintptr_t place = (uintptr_t)p, end = (uintptr_t)arena->face.next;
    for (const lido__chunk *chunk = arena->current; chunk != NULL; chunk = chunk->link) {
        if (place >= (uintptr_t)chunk->start && place < end) return true;
        if (chunk->link != NULL) end = (uintptr_t)chunk->link->filled;
    }
    return false;
}

lido_arena_statistics lido_arena_stats(const lido_arena *arena) {
    size_t used = lido__arena_used(arena);
    lido_arena_statistics statistics = {
        .used_bytes = used,
        .high_water_bytes = lido__max(arena->high_water, used),
        .held_bytes = arena->held,
        .limit_bytes = arena->limit_bytes == SIZE_MAX ? 0 : arena->limit_bytes,
    };
    for (const lido__chunk *chunk = arena->current; chunk != NULL; chunk = chunk->link) statistics.chunk_count++;
    for (const lido__chunk *chunk = arena->spares; chunk != NULL; chunk = chunk->link) {
        statistics.chunk_count++;
        statistics.kept_bytes += chunk->bytes;
    }
    return statistics;
}

const char *lido_arena_name(const lido_arena *arena) { return arena->name; }

static lido__arena_home home_of(const lido_arena *arena) {
    return arena->home == LIDO__HOME_TOLD ? arena->told_home : arena->home;
}

static size_t held_by_children(const lido_arena *arena) {
    size_t bytes = 0;
    for (const lido__cleanup *cleanup = arena->cleanups; cleanup != NULL; cleanup = cleanup->older) {
        if (cleanup->call != die_with_parent) continue;
        const lido_arena *child = (const lido_arena *)cleanup->argument;
        bytes += child->held - (home_of(child) == LIDO__HOME_STOCK ? 0 : lido__arena_home_chunk(child)->bytes);
    }
    return bytes;
}

static bool verify_cleanups(const lido_arena *arena) {
    const lido__cleanup *newer = NULL;
    for (const lido__cleanup *cleanup = arena->cleanups; cleanup != NULL; cleanup = cleanup->older) {
        if (cleanup->newer != newer || cleanup->serial > arena->serial) return false;
        if (newer != NULL && newer->serial <= cleanup->serial) return false;
        if (cleanup->call == die_with_parent && ((const lido_arena *)cleanup->argument)->parent != arena) return false;
        newer = cleanup;
    }
    return true;
}

bool lido__arena_verify(const lido_arena *arena) {
    size_t used_before = 0, held = 0;
    const lido__chunk *oldest = arena->current;
    for (const lido__chunk *chunk = arena->current; chunk != NULL; chunk = chunk->link) {
        const char *filled = chunk == arena->current ? arena->face.next : chunk->filled;
        if (filled < chunk->start || filled > lido__chunk_end(chunk)) return false;
        if (chunk != arena->current) used_before += (size_t)(filled - chunk->start);
        held += chunk->bytes;
        oldest = chunk;
    }
    for (const lido__chunk *chunk = arena->spares; chunk != NULL; chunk = chunk->link) held += chunk->bytes;
    return oldest == lido__arena_home_chunk(arena) && used_before == arena->used_before &&
           arena->face.limit == lido__chunk_end(arena->current) &&
           (uintptr_t)arena->face.limit % LIDO_ARENA_ALIGNMENT == 0 && arena->held <= arena->limit_bytes &&
           held + held_by_children(arena) == arena->held && verify_cleanups(arena);
}
