// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Checked blocks: the memory of every pool, heap and malloc that is in check mode guard or page, or picked by sample.
// The layers above send an allocation here instead of to slabs, and everything there is to know about the block stands
// in its record, apart from the block (zone.h).
//
//      guard     | 0xFA front | block: 0xCD when new, 0xDD when freed | 0xFB rear |     next to each other in a zone
//      page      | no access |  0xFA ... block 0xFB.. | no access |                     the block ends at a page's end
//
//      state     FREE ──► BUSY ──alloc──► LIVE ──free──► BUSY ──► RESTING ──evicted, looked over──► BUSY
//
// BUSY is a record that one thread changes; FREE one that was never used, or whose page could not be opened. Who looks at the
// surroundings of a block that is LIVE or RESTING sets LOOKED beside the state meanwhile; whoever wants to change it waits.
//
// A freed block rests: it is poisoned (guard) or out of reach (page). Its memory is used again when another of its shape is
// wanted and `check_rest_kb` rest in all shapes together (paged ones: 4000 blocks; what has a mapping of its own: 64), but never
// before 64 of its shape rest behind it, or 2 MiB. What was written to it meanwhile is seen when it leaves, or at exit.
//
// Blocks belong to a source: malloc, a pool, an arena. A source has a name for reports and the list of its live blocks. It
// outlives what it was made for, because blocks do, and serves again when the last of them has left its rest.
//
// Invariants, of every source but malloc's: a record is LIVE <=> it is in its source's list, and both change under the source's
// lock, so that the child of a fork has whole lists. A record is RESTING, or about to be, if it is in its shape's queue.
//
// Threads: any, for everything here. Locks, all of rank CHECK and never nested but for sources: the list of sources, each
// source, each shape, the solo zones, the graves; none while stacks are walked or memory is filled. Not on any fast path: a
// checked pool keeps nothing in bins, so that all its calls come to the slow halves.
#ifndef LIDO_CHECK_CHECK_H
#define LIDO_CHECK_CHECK_H

#include "base/atomics.h"
#include "base/base.h"
#include "base/options.h"
#include "os/lock.h"

#include <lido/check.h>

enum {
    LIDO__CHECK_FRONT = 0xFA,     // bytes before the block
    LIDO__CHECK_REAR = 0xFB,      // bytes behind it
    LIDO__CHECK_FRESH = 0xCD,     // a block nobody has written to
    LIDO__CHECK_POISON = 0xDD,    // a block that was freed
};

// How a block was made, and so how it must end.
typedef enum lido__check_call {
    LIDO__CALL_MALLOC,
    LIDO__CALL_NEW,
    LIDO__CALL_NEW_ARRAY,
    LIDO__CALL_POOL,
    LIDO__CALL_ARENA,
    LIDO__CALL_HANDLE,
    LIDO__CALL_ANY,    // a free that does not say
} lido__check_call;

typedef enum lido__check_state {
    LIDO__CHECK_FREE,
    LIDO__CHECK_LIVE,
    LIDO__CHECK_BUSY,
    LIDO__CHECK_RESTING,
    LIDO__CHECK_LOOKED = 0x80,    // beside LIVE or RESTING
} lido__check_state;

// What ended a block, for reports.
typedef enum lido__check_end {
    LIDO__END_FREE,
    LIDO__END_RESET,      // of its pool or arena
    LIDO__END_DESTROY,    // likewise
    LIDO__END_REWIND,
} lido__check_end;

enum { LIDO__CHECK_NAME_MAX = 31 };

typedef struct lido__checked lido__checked;

typedef struct lido__check_source {
    lido__lock lock;
    lido__checked *newest;               // [lock:source] live blocks, by `older` and `newer`; malloc keeps no list
    size_t held;                         // [lock:source] records that name it; of malloc not counted
    _Atomic size_t live;                 // relaxed: for reports
    _Atomic size_t live_bytes;           // likewise; as asked for
    const void *owner;                   // [while it serves] the pool or arena; for malloc NULL
    const char *kind;                    // [likewise] "pool", "arena", "heap", "handle pool"; for malloc ""
    size_t block_bytes;                  // [likewise] of a pool; else 0
    uint32_t thread;                     // [likewise] the one that a confined pool belongs to; 0: any
    _Atomic uint32_t ended;              // [lock:source] written; relaxed. Its owner is gone, and gets no more blocks
    struct lido__check_source *next;     // [const] all sources there are
    struct lido__check_source *spare;    // [lock:sources] the next one that may serve again
    char name[LIDO__CHECK_NAME_MAX + 1];    // [while it serves]
} lido__check_source;

struct lido__checked {
    char *block;                   // [const while LIVE or RESTING]
    size_t bytes;                  // [likewise] as asked for
    lido__check_source *source;    // [likewise]
    lido__checked *older;          // [lock:source] while LIVE
    lido__checked *newer;          // likewise; [lock:shape] the queue's link while RESTING or FREE
    uint64_t number;               // [const while LIVE or RESTING] counts the checked allocations of the process
    uint64_t stamp;                // [likewise] the arena's serial, else 0
    uint32_t made_ms, ended_ms;
    uint32_t made_thread, ended_thread;
    uint32_t made_stack, ended_stack;    // ids, see trace/stack.h
    _Atomic uint8_t state;               // [atomic:checked] lido__check_state and LIDO__CHECK_LOOKED
    uint8_t call, end;                   // lido__check_call, lido__check_end
};
_Static_assert(sizeof(void *) != 8 || sizeof(lido__checked) == 88, "docs/check.md says what a block costs");

LIDO_INLINE lido__check_state lido__checked_state(const lido__checked *record) {
    // acquire, pairs with the releases that publish a record: whoever sees it LIVE or RESTING sees what it is
    return (lido__check_state)(LIDO__ATOMIC_LOAD(&record->state, acquire) & ~LIDO__CHECK_LOOKED);
}

// The level of malloc. relaxed: a wish, see base/options.h.
LIDO_INLINE lido_check_level lido__check_now(void) {
    return (lido_check_level)LIDO__ATOMIC_LOAD(&lido__options.check, relaxed);
}

// The source of malloc.
extern LIDO__HIDDEN lido__check_source lido__check_malloc_source;
// A source; NULL if the system has no memory for one. `kind` (static storage) and `owner` as above.
LIDO__HIDDEN lido__check_source *lido__check_source_new(const char *kind, const char *name, const void *owner,
                                                        size_t block_bytes, uint32_t thread);
// Its owner goes. Requires: no live blocks. The source may serve somebody else from now on.
LIDO__HIDDEN void lido__check_source_end(lido__check_source *source);
// All sources, linked by `next`, also those that have ended; their memory never goes.
LIDO__HIDDEN const lido__check_source *lido__check_sources(void);
// How many checked blocks were made so far.
LIDO__HIDDEN uint64_t lido__check_moment(void);

// A block, filled with LIDO__CHECK_FRESH. alignment: a power of two. NULL when the system refuses; errno untouched.
LIDO__HIDDEN void *lido__checked_alloc(lido__check_source *source, lido_check_level level, size_t bytes,
                                       size_t alignment, lido__check_call call, uint64_t stamp);

// The record of the slot in which p lies, NULL if p is in no checked memory; free slots have one too. `block` may be anywhere
// in the slot: compare. Cost: a table look-up; huge blocks a walk over their list.
LIDO__HIDDEN lido__checked *lido__checked_find(const void *p);

// What the caller of a free knows; SIZE_MAX for a size and 0 for an alignment that it does not.
typedef struct lido__check_claim {
    const char *name;    // of the call, for reports
    lido__check_call call;
    const lido__check_source *source;    // the pool that the block must be of, or NULL
    size_t bytes;
} lido__check_claim;

// Frees. False, after a report, if p is not the start of a live block or not what the claim says; damage around the block is
// reported and the block is freed all the same. Requires: lido__checked_find(p) is not NULL.
LIDO__HIDDEN bool lido__checked_free(void *p, const lido__check_claim *claim);
// Only looks: true if p is the start of a live block, else reported.
LIDO__HIDDEN bool lido__checked_require(const void *p, const lido__check_claim *claim);
// Bytes of the live block that starts at p, 0 if there is none.
LIDO__HIDDEN size_t lido__checked_bytes(const void *p);

// Ends all live blocks of a source with stamps from `stamp` on, newest first. Returns how many.
LIDO__HIDDEN size_t lido__checked_end_all(lido__check_source *source, uint64_t stamp, lido__check_end end);
// Calls `visit` for each live block of a source, the newest first, until it says false; it may free that block.
LIDO__HIDDEN size_t lido__checked_visit(lido__check_source *source, bool (*visit)(void *block, void *context),
                                        void *context);

// Writes the list of live blocks, of one source or (NULL) of all, that were made after the moment. Returns the groups written.
LIDO__HIDDEN size_t lido__check_alive(const lido__check_source *only, uint64_t after);

// Keeps the structure of something that was destroyed, whose every call says that it is dead from now on; `release` frees it when
// others have come after it.
LIDO__HIDDEN void lido__check_bury(void *structure, void (*release)(void *structure));
// Frees them now. For lists of what is alive.
LIDO__HIDDEN void lido__check_clear_graves(void);

// Turns fault handling on, once; called before the first block that ends at a page.
LIDO__HIDDEN void lido__check_watch_faults(void);
// For fork. Requires of the second: the first lock is held, or the process has one thread.
LIDO__HIDDEN lido__lock *lido__check_sources_lock(void);
LIDO__HIDDEN void lido__check_each_lock(void (*call)(lido__lock *));
LIDO__HIDDEN void lido__check_after_fork(void);    // in the child

// --- within this layer ----------------------------------------------------------------------------------------------

LIDO__HIDDEN void lido__check_grave_lock(void (*call)(lido__lock *));
LIDO__HIDDEN void lido__check_sources_each_lock(void (*call)(lido__lock *));
// A record that named this source names another from now on.
LIDO__HIDDEN void lido__check_source_drop(lido__check_source *source);
// Makes a record BUSY that is in state `from` and in no list; waits while somebody looks at it. False: its state is another.
LIDO__HIDDEN bool lido__checked_claim(lido__checked *record, lido__check_state from);

// Something is wrong with a block or an address; report.c says it, and aborts or returns as `on_misuse` says.
typedef struct lido__finding {
    const char *what;                      // e.g. "double free"
    const char *call;                      // where it was seen, or NULL: "at exit" and the like come with `what`
    const void *address;                   // the one that is wrong
    const lido__checked *record;           // of the block, or NULL
    const char *damaged;                   // the first wrong byte, or NULL
    size_t damaged_bytes;                  // from the first to the last one
    const void *context;                   // of the signal that told (ucontext_t), or NULL
    const lido__check_source *expected;    // the pool that was asked, or NULL
    size_t claimed_bytes;                  // SIZE_MAX: no size was given
} lido__finding;
LIDO__HIDDEN void lido__check_report(const lido__finding *finding);
// Writes what is known of an address that another tool has reported; nothing if it is in no checked block.
LIDO__HIDDEN void lido__check_describe(const void *address);

#endif
