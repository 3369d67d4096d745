// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Arenas: memory that is given out by moving a pointer, and taken back all at once or down to a mark.
//
//      lido_arena *arena = lido_arena_new(NULL);
//      struct node *node = LIDO_ARENA_NEW(arena, struct node);
//      char *path = lido_arena_printf(arena, "%s/%s", folder, name);
//      lido_arena_point point = lido_arena_mark(arena);
//      ... work that leaves nothing behind ...
//      lido_arena_rewind(arena, point);
//      lido_arena_free(arena);
//
// Memory comes in chunks out of lido_malloc, each twice as large as the last one up to a bound. A request that does not
// fit into the rest of a chunk starts the next chunk; the rest is left. Rewind and reset keep the chunks for what comes
// next, so a loop that resets its arena takes nothing from beneath after its longest round.
//
// Arena and pool: a pool frees single blocks of one size; an arena frees blocks of any size, but only the newest first.
//
// Threads: one at a time for an arena together with its parents and children, as for any structure without a lock. The
// scratch arenas belong to the calling thread.
// Errors: a call that cannot succeed returns NULL, -1 or false and sets errno; success leaves errno alone. Misuse that is
// seen is one line on stderr, then abort(); LIDO_OPTIONS="on_misuse=continue" reports, ignores the call and carries on.
//
// Unless a call says otherwise: Requires: the arena is alive and not NULL. Threads: the arena's. Fails: never, and errno is
// left alone. Cost: constant.
#ifndef LIDO_ARENA_H
#define LIDO_ARENA_H

#include <lido/defs.h>
#include <stdarg.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

// What the calls below are about; its inside is lido's own.
typedef struct lido_arena lido_arena;

enum {
    LIDO_ARENA_NAME_MAX = 31,              // longer names are cut, in bytes without the NUL
    LIDO_ARENA_ALIGNMENT = 16,             // of every block that asks for no other, as with malloc
    LIDO_ARENA_ALIGNMENT_MAX = 2 << 20,    // bytes
    LIDO_ARENA_OVERHEAD_BYTES =
        384,    // of its first chunk, or of the caller's buffer, an arena takes for itself at most
    LIDO_ARENA_CHUNK_BYTES_MIN = 1 << 10,
    LIDO_ARENA_CHUNK_BYTES = 4 << 10,    // the defaults of the options
    LIDO_ARENA_CHUNK_MAX_BYTES = 1 << 20,
};

// What lido_arena_new makes. A zeroed field is its default.
typedef struct lido_arena_options {
    const char *name;      // for reports; copied; NULL is "arena"
    size_t chunk_bytes;    // of the first chunk, its header included; 0 is the default; raised to the minimum
    size_t
        chunk_max_bytes;    // where doubling ends; 0 is the default; raised to chunk_bytes. A larger request gets a chunk
                            // of its own size
    size_t limit_bytes;     // most bytes held in chunks, also those of children and the caller's buffer; 0 is no limit
    lido_arena *parent;     // chunks are taken from there, are part of its limit, and go back there. The parent's free
                            // and reset free the child, and so does a rewind to a mark from before the child was made
    void *buffer;           // the first chunk is this memory of the caller's, which outlives the arena; NULL: none
    size_t buffer_bytes;    // LIDO_ARENA_OVERHEAD_BYTES of it, and what alignment costs, are not for blocks
    bool fixed;             // the first chunk is all there will ever be
} lido_arena_options;

// Makes an arena. NULL options are the defaults, and so is every zeroed field.
// A child of a fixed arena lives in chunk_bytes that it takes at once from its parent's chunk, and is fixed too.
// Requires: a buffer outlives the arena, and nothing else uses it. Threads: any; with a parent, the parent's.
// Fails: NULL; EINVAL for a buffer or a limit too small for any block, a buffer of NULL that has bytes, or sizes above
// PTRDIFF_MAX; ENOMEM for a parent at its limit, or no memory. Cost: one lido_malloc; over a buffer none.
LIDO_API LIDO_ATTR_MUST_USE lido_arena *lido_arena_new(const lido_arena_options *options);

// Runs all cleanups, newest first, frees the children, and gives all chunks back. NULL is ignored.
// Requires: no cleanup of this arena is running (seen, and reported). Threads: the arena's. Cost: proportional to chunks
// and cleanups.
LIDO_API void lido_arena_free(lido_arena *arena);

// The same, but the arena stays, empty, and keeps its chunks. All marks end.
// Requires, Threads, Cost: as lido_arena_free.
LIDO_API void lido_arena_reset(lido_arena *arena);

// Gives chunks without any block back to the parent or to lido_malloc, until at most `keep_bytes` of them are left.
// Returns the bytes that went. Threads: the arena's. Cost: proportional to the chunks given back.
LIDO_API size_t lido_arena_trim(lido_arena *arena, size_t keep_bytes);

// --- blocks -----------------------------------------------------------------------------------------------------------

// The inline halves look at this prefix of an arena.
typedef struct lido__arena_face {
    char *next;     // where the free part of the current chunk begins
    char *limit;    // where it ends: a multiple of LIDO_ARENA_ALIGNMENT
} lido__arena_face;

// Any alignment, any size: checks everything, and takes a new chunk if need be.
LIDO_API LIDO_ATTR_MUST_USE void *lido__arena_alloc_slow(lido_arena *arena, size_t alignment, size_t size);

// Requires: `alignment` is a power of two up to LIDO_ARENA_ALIGNMENT, so that aligning `next` cannot pass `limit`.
// size - 1 sends 0, which must give a block of its own, to the slow half with the same comparison.
LIDO_INLINE LIDO_ATTR_MUST_USE void *lido__arena_bump(lido_arena *arena, size_t alignment, size_t size) {
    lido__arena_face *face = (lido__arena_face *)(void *)arena;
    uintptr_t block = ((uintptr_t)face->next + (alignment - 1)) & ~(uintptr_t)(alignment - 1);
    if (LIDO_UNLIKELY(size - 1 >= (uintptr_t)face->limit - block))
        return lido__arena_alloc_slow(arena, alignment, size);
    face->next = (char *)(block + size);
    return (void *)block;
}

// `size` bytes aligned to 16, contents undefined; size 0 gives a block of its own, as if it were 1.
// Threads: the arena's. Fails: NULL and ENOMEM when the limit is reached or there is no memory.
// Cost: 10 instructions; a chunk's first block a lido_malloc, or a look at the kept chunks.
LIDO_INLINE LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(2) void *lido_arena_alloc(lido_arena *arena, size_t size) {
    return lido__arena_bump(arena, LIDO_ARENA_ALIGNMENT, size);
}

// The same with any alignment, a power of two from 1 to LIDO_ARENA_ALIGNMENT_MAX; blocks aligned to 1 lie side by side.
// Threads: the arena's. Fails: as lido_arena_alloc; EINVAL for another alignment.
// Cost: as lido_arena_alloc for constants up to 16, otherwise a call more.
LIDO_INLINE LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(3) void *lido_arena_alloc_aligned(lido_arena *arena, size_t alignment,
                                                                                    size_t size) {
    if (__builtin_constant_p(alignment) && alignment - 1 < LIDO_ARENA_ALIGNMENT && (alignment & (alignment - 1)) == 0)
        return lido__arena_bump(arena, alignment, size);
    return lido__arena_alloc_slow(arena, alignment, size);
}

// A block of the size and alignment of TYPE, contents undefined.
#define LIDO_ARENA_NEW(arena, TYPE) ((TYPE *)lido_arena_alloc_aligned((arena), __alignof__(TYPE), sizeof(TYPE)))

// count * size bytes aligned to 16, all zero. Threads: the arena's. Fails: as lido_arena_alloc; ENOMEM if the product
// overflows. Cost: that of lido_arena_alloc and of memset.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE2(2, 3) void *lido_arena_calloc(lido_arena *arena, size_t count,
                                                                              size_t size);

// Makes the block at p, which was asked for with old_size, one of new_size without moving it. True if it is: always for
// a smaller size, and for a larger one if it is the arena's newest block and its chunk has room.
// What a block gains counts as allocated now: a rewind to an earlier mark takes it away.
// Requires: p and old_size are those of a block of this arena. Threads: the arena's. Fails: false, nothing changed, errno
// neither. Cost: constant.
LIDO_API LIDO_ATTR_MUST_USE bool lido_arena_resize(lido_arena *arena, void *p, size_t old_size, size_t new_size);

// As lido_arena_resize, and where that fails a new block, aligned to 16, with the old contents; the old block stays where
// it is until a rewind or reset. NULL for p: a new block. new_size 0: as if it were 1.
// Requires, Threads: as lido_arena_resize. Fails: NULL and ENOMEM; the block at p is untouched. Cost: constant in place,
// otherwise that of the copy.
LIDO_API LIDO_ATTR_MUST_USE void *lido_arena_realloc(lido_arena *arena, void *p, size_t old_size, size_t new_size);

// Copies: of a string; of a string of at most `length` bytes, which then need not end with a NUL; of bytes, aligned to 16.
// Strings are aligned to 1 and end with a NUL.
// Threads: the arena's. Fails: NULL and ENOMEM. Cost: that of the copy.
// strdup is inline: its call cost a fifth of a copy of a short string (arena-strings of script/side-by-side).
LIDO_INLINE LIDO_ATTR_MALLOC char *lido_arena_strdup(lido_arena *arena, const char *s) {
    size_t bytes = __builtin_strlen(s) + 1;
    void *copy = lido__arena_bump(arena, 1, bytes);
    return copy == NULL ? NULL : (char *)__builtin_memcpy(copy, s, bytes);
}
LIDO_API LIDO_ATTR_MALLOC char *lido_arena_strndup(lido_arena *arena, const char *s, size_t length);
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(3) void *lido_arena_memdup(lido_arena *arena, const void *p,
                                                                          size_t size);

// The text that printf would write. Threads: the arena's. Fails: NULL; ENOMEM, or what vsnprintf sets.
// Cost: that of vsnprintf, twice if the rest of the chunk is too short.
LIDO_API LIDO_ATTR_MALLOC __attribute__((format(printf, 2, 3))) char *lido_arena_printf(lido_arena *arena,
                                                                                        const char *format, ...);
LIDO_API LIDO_ATTR_MALLOC __attribute__((format(printf, 2, 0))) char *
lido_arena_vprintf(lido_arena *arena, const char *format, va_list arguments);

// --- marks and cleanups -----------------------------------------------------------------------------------------------

// A moment in the life of an arena. Copy it as you like; the fields are lido's own.
typedef struct lido_arena_point {
    lido_arena *arena;
    void *chunk;
    char *next;
    uint64_t stamp, depth;
} lido_arena_point;

// The present moment, for lido_arena_rewind. Threads: the arena's. Never fails. Cost: a call.
LIDO_API LIDO_ATTR_MUST_USE lido_arena_point lido_arena_mark(lido_arena *arena);

// Takes back every block since the mark, after running the cleanups since then, newest first, and freeing the children
// made since then. The mark stays good for another rewind; later marks end.
// Requires: the mark is one of this arena and has not ended by a reset or a rewind to an earlier mark, and no cleanup of
// the arena is running. A mark of another arena is always seen and reported; an ended one if fewer than eight marks were
// set since and not rewound. Threads: the arena's. Cost: proportional to chunks and cleanups since the mark.
LIDO_API void lido_arena_rewind(lido_arena *arena, lido_arena_point point);

// Has call(argument) run when the blocks of now are taken back: by rewind, reset or free, in reverse order. The call may
// use all blocks older than itself and may allocate; it must return, and must not rewind, reset or free this arena.
// Threads: the arena's. Fails: -1, and the call will not run: EINVAL for NULL, ENOMEM. Cost: a block of 40 bytes.
LIDO_API LIDO_ATTR_MUST_USE int lido_arena_defer(lido_arena *arena, void (*call)(void *argument), void *argument);

// --- scratch ----------------------------------------------------------------------------------------------------------

// Memory for the length of a function: begin gives a mark in an arena of the calling thread, allocate from .arena, end
// takes everything back. Uses nest; each end must come in the thread and in the reverse order of its begin (seen and
// reported as in lido_arena_rewind).
//
//      lido_arena_point scratch = lido_arena_scratch_begin(result);
//      char *line = lido_arena_strdup(scratch.arena, text);
//      ...
//      lido_arena_scratch_end(scratch);
//
// A thread has two scratch arenas. `other` is the arena into which the function puts its results, or NULL: the scratch
// given is never that one, though the caller may have passed its own scratch.
// Both are freed when the thread ends; between uses a thread keeps at most LIDO_ARENA_CHUNK_MAX_BYTES in each.
// Threads: any. Fails: .arena is NULL, and ENOMEM; end ignores such a mark. Cost: a few ns.
LIDO_API LIDO_ATTR_MUST_USE lido_arena_point lido_arena_scratch_begin(const lido_arena *other);
LIDO_API void lido_arena_scratch_end(lido_arena_point point);

// --- questions --------------------------------------------------------------------------------------------------------

// True if p lies in a block of this arena, or in the padding before one. Any address may be asked for; blocks of children
// are not the parent's. Threads: the arena's. Cost: proportional to the chunks in use.
LIDO_API bool lido_arena_owns(const lido_arena *arena, const void *p);

// Bytes.
typedef struct lido_arena_statistics {
    size_t used_bytes;          // in blocks, with the padding that their alignment took
    size_t high_water_bytes;    // most bytes used at once since the arena was made
    size_t held_bytes;          // in chunks: used, left over and kept; those of children too
    size_t kept_bytes;          // in chunks without any block
    size_t limit_bytes;         // 0: none
    size_t chunk_count;         // without those of children
} lido_arena_statistics;

// The arena's figures now. Threads: the arena's. Cost: proportional to the chunks.
LIDO_API lido_arena_statistics lido_arena_stats(const lido_arena *arena);
// The name, for the life of the arena. Threads: any.
LIDO_API const char *lido_arena_name(const lido_arena *arena);

LIDO_END_DECLS

#endif
