// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Check mode: misuse of memory found and explained, in the same binary, for one pool or for the whole program.
//
//   light    double free, foreign and interior pointers, the wrong pool, the wrong thread of a confined pool, use after
//            the pool's end: at the call. For production.
//   guard    and: writes outside of a block or after its free, found when the block is freed, when it leaves its rest,
//            or at exit; frees by the wrong call or with the wrong size; double frees long after. Each report has the
//            stacks of allocation and free.
//   page     and: reads. Each block ends at an inaccessible page and stays inaccessible for a while after its free, so that the
//            wrong instruction itself faults.
//   sample   page for one allocation in N, light for the others. For production.
//
// Turned on by LIDO_OPTIONS="check=guard" for all that has no word of its own, or by lido_pool_options.check for one pool. While
// it is off it costs nothing: a checked pool keeps no free blocks where the fast paths look.
//
// Unless a call says otherwise: Requires: nothing. Threads: any. Fails: never, and errno is left alone.
#ifndef LIDO_CHECK_H
#define LIDO_CHECK_H

#include <lido/defs.h>
#include <stdbool.h>
#include <stdint.h>

LIDO_BEGIN_DECLS

// How much is checked; each finds what the one before it finds.
typedef enum lido_check_level {
    LIDO_CHECK_DEFAULT = 0,    // of a pool: what LIDO_OPTIONS says, at the moment when the pool is made
    LIDO_CHECK_OFF = 1,
    LIDO_CHECK_LIGHT = 2,
    LIDO_CHECK_SAMPLE = 3,
    LIDO_CHECK_GUARD = 4,
    LIDO_CHECK_PAGE = 5,
} lido_check_level;

// Looks at all checked blocks now, alive and resting, and reports what was written where it should not have been. Returns the number
// of reports; each piece of damage is reported once. Cost: proportional to the checked memory.
LIDO_API size_t lido_check_all(void);

// Writes what is alive in check mode guard and page, one entry for each place that allocated and each pool, the most bytes first: count,
// bytes, age of the oldest, stack. The option suppressions names a file of patterns (with *) of functions, files, modules and pools
// to leave out. Returns the number of entries. LIDO_OPTIONS="leaks=exit" does it when the process ends.
// Cost: proportional to the checked memory.
LIDO_API size_t lido_check_leaks(void);

// The same for blocks allocated after a moment: what a piece of work has left behind.
//      uint64_t before = lido_check_moment();  work();  lido_check_leaks_since(before);
// Cost: of the moment one load, of the list as above.
LIDO_API uint64_t lido_check_moment(void);
LIDO_API size_t lido_check_leaks_since(uint64_t moment);

// Writes a line for each pool that has more live blocks than at the last call of this function, in any check mode or none, and
// returns how many. Call it at moments that should be alike, e.g. after each request: what is named each time leaks.
// LOCAL and CONFINED pools of other threads count what they have taken as alive. Cost: that of lido_pool_stats for each pool.
LIDO_API size_t lido_check_growing(void);

LIDO_END_DECLS

#endif
