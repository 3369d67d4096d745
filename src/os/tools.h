// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Tools that watch the memory of the process: AddressSanitizer, Valgrind's memcheck, heaptrack. They know malloc; what a pool
// gives out is all one to them, unless the pool says so. Here is what it says, if one of them is there:
//
//                      hide             out               back             show
//      memory     ──► out of bounds ──► of the program ──► out of bounds ──► as ever
//      ASan            poisoned          clean             poisoned         clean
//      memcheck        no access         a block, with     freed, with      defined
//                                        its stack         its stack
//      heaptrack                         allocated         freed
//
// Found once, when the library starts. ASan and memcheck make check=guard the default: the engine of src/check then has every
// block of pools, arenas, heaps and malloc in a slot of its own, hides what lies around it, and leaves patterns and their
// examination to the tool, which sees the very instruction. heaptrack makes check=light the default, so that each call passes here.
// In any other process `lido__tools` is 0, and no fast path asks for it.
//
// A library that was itself built with ASan leaves ASan off: its tests look at its own memory. LIDO_OPTIONS="tools=on" there.
//
// Threads: any, after lido__tools_find.
#ifndef LIDO_OS_TOOLS_H
#define LIDO_OS_TOOLS_H

#include "base/base.h"

enum {
    LIDO__TOOL_ASAN = 1,
    LIDO__TOOL_MEMCHECK = 2,
    LIDO__TOOL_HEAPTRACK = 4,
};

extern LIDO__HIDDEN uint32_t lido__tools;    // [const] once found

// True if a tool sees each access: patterns are not needed, and must not be touched.
LIDO_INLINE bool lido__tools_see_accesses(void) {
    return LIDO_UNLIKELY((lido__tools & (LIDO__TOOL_ASAN | LIDO__TOOL_MEMCHECK)) != 0);
}
LIDO_INLINE bool lido__tools_count(void) { return LIDO_UNLIKELY((lido__tools & LIDO__TOOL_HEAPTRACK) != 0); }
// True if a tool keeps the stacks of allocation and free itself.
LIDO_INLINE bool lido__tools_keep_stacks(void) { return LIDO_UNLIKELY((lido__tools & LIDO__TOOL_MEMCHECK) != 0); }

// Looks which are there, and sets the option check if it is off. `describe` says what lido knows of an address that ASan reports.
// True if there is one, and it was not known before.
LIDO__HIDDEN bool lido__tools_find(void (*describe)(const void *address));

// The calls below do nothing without a tool; tests of `lido__tools` before them keep them out of the way.
// An owner of blocks, before its first one.
LIDO__HIDDEN void lido__tools_owner(const void *owner);
LIDO__HIDDEN void lido__tools_hide(const void *start, size_t bytes);
LIDO__HIDDEN void lido__tools_show(const void *start, size_t bytes);
LIDO__HIDDEN void lido__tools_out(const void *owner, const void *block, size_t bytes);
LIDO__HIDDEN void lido__tools_back(const void *owner, const void *block);
// For heaptrack alone.
LIDO__HIDDEN void lido__tools_count_out(const void *block, size_t bytes);
LIDO__HIDDEN void lido__tools_count_back(const void *block);
// Memory in which blocks lie comes or goes: what they point to is no leak.
LIDO__HIDDEN void lido__tools_memory(const void *start, size_t bytes, bool comes);

#endif
