// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The call stack of the calling thread, as addresses, fast enough to be taken at every allocation of check mode.
//
// On x86-64 the tables that exceptions use (.eh_frame) say how to leave a function at each instruction; nearly always
// that is one of few simple ways, which fits 30 bits and is kept by address. So a frame that was seen before costs two
// or three loads, and code without frame pointers is walked like any other. Elsewhere frame pointers are followed.
//
// Every address is a return address, or looks like one: the instruction in question is the one at address - 1. Where a
// signal came between two instructions, the address of the next instruction plus one is given, so that this holds.
//
// Threads: any, also in malloc, in signal handlers, before constructors, and in a child of fork or vfork. Nothing is
// allocated and no lock taken (before glibc 2.35: the loader's, for addresses not seen yet). errno stays as it was.
//
// Cost: 10 frames like those of the last walk take 25 ns; frames that were seen before, 52 ns built by clang 14 and 74 ns by gcc 12 on a cloud machine of 2 cores, the C
// library's backtrace() 1.2 to 1.6 us (`test_unit_trace-depot time`). An address seen first adds
// 50 to 70 ns when its tables are in the cache; more, unmeasured, when they are not.
//
// Limits: ends at code without tables (generated at run time), at a frame above 1 MiB, and at one that keeps its frame
// in another register than rsp or rbp. After dlclose code at an old address may be walked by the old rule; then a frame
// may be wrong, but never faults: only stack that was seen to be readable is read.
#ifndef LIDO_TRACE_UNWIND_H
#define LIDO_TRACE_UNWIND_H

#include "base/base.h"

// Fills pcs with at most `max` addresses, the innermost first, and returns how many. With skip 0 the first lies in the
// caller of this function; skip leaves that many more out.
LIDO__HIDDEN size_t lido__unwind(void **pcs, size_t max, unsigned skip);

// The same from the registers of a ucontext_t, as a signal handler gets it: the first address is where the signal came.
LIDO__HIDDEN size_t lido__unwind_from(void **pcs, size_t max, const void *ucontext);

#endif
