// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Failures on demand, so that programs can test what they do without memory. The option fault is a list of rules:
//
//      at=N            the Nth allocation fails, counted from 1
//      every=N         each Nth
//      chance=PERCENT  each with this chance, e.g. 0.5; seed=N makes it the same each time
//      pool=NAME       only allocations of pools, heaps or arenas of this name are counted and fail; that of malloc is "malloc"
//      site=FUNCTION   only those under a call of this function
//
// e.g. fault=every=100,pool=task. Arenas count what they take from malloc, in check mode guard and page each block.
// The option turns check mode light on where no other is: the fast halves do not ask.
//
// Threads: any. Counting is exact; which thread gets the Nth is up to them.
#ifndef LIDO_CHECK_INJECT_H
#define LIDO_CHECK_INJECT_H

#include "base/base.h"
#include "base/options.h"

// True if this allocation shall fail. `name`: of its pool, or "malloc".
LIDO__HIDDEN bool lido__inject_now(const char *name);
LIDO_INLINE bool lido__inject_is_on(void) { return LIDO_UNLIKELY(lido__option_texts_now.fault[0] != '\0'); }
LIDO_INLINE bool lido__inject(const char *name) { return lido__inject_is_on() && lido__inject_now(name); }

#endif
