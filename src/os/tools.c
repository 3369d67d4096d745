// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// See tools.h. The run-time of ASan and heaptrack's library are asked through weak symbols, which are NULL without them.
#include "os/tools.h"

#include "base/atomics.h"
#include "base/options.h"
#include "os/memcheck.h"

#include <lido/check.h>

// Of other libraries, and so not hidden like the rest.
#define FOREIGN __attribute__((weak, visibility("default")))
void __asan_poison_memory_region(const volatile void *start, size_t bytes) FOREIGN;
void __asan_unpoison_memory_region(const volatile void *start, size_t bytes) FOREIGN;
void __asan_set_error_report_callback(void (*call)(const char *text)) FOREIGN;
void *__asan_get_report_address(void) FOREIGN;
void __lsan_register_root_region(const void *start, size_t bytes) FOREIGN;
void __lsan_unregister_root_region(const void *start, size_t bytes) FOREIGN;
void heaptrack_malloc(void *block, size_t bytes) FOREIGN;
void heaptrack_free(void *block) FOREIGN;

uint32_t lido__tools;
static void (*describe_address)(const void *address);    // [const] once found

static bool has(uint32_t tool) { return (lido__tools & tool) != 0; }

static bool runs_under_memcheck(void) {
    static int probe;
    return lido__memcheck_ask(LIDO__MEMCHECK_DEFINED, &probe, sizeof probe, 0) != 0;
}

// ASan has written its report.
static void on_asan_report(const char *text) {
    (void)text;
    describe_address(__asan_get_report_address());
}

bool lido__tools_find(void (*describe)(const void *address)) {
    if (lido__tools != 0 || LIDO__ATOMIC_LOAD(&lido__options.tools, relaxed) == 0)
        return false;    // see base/options.h
    uint32_t found = runs_under_memcheck() ? LIDO__TOOL_MEMCHECK : 0;
    if (__asan_poison_memory_region != NULL && __asan_unpoison_memory_region != NULL) found |= LIDO__TOOL_ASAN;
    if (heaptrack_malloc != NULL && heaptrack_free != NULL) found |= LIDO__TOOL_HEAPTRACK;
    lido__tools = found;
    if (found == 0) return false;
    describe_address = describe;
    if (has(LIDO__TOOL_ASAN) && __asan_set_error_report_callback != NULL && __asan_get_report_address != NULL)
        __asan_set_error_report_callback(on_asan_report);
    uint32_t off = LIDO_CHECK_OFF, level = lido__tools_see_accesses() ? LIDO_CHECK_GUARD : LIDO_CHECK_LIGHT;
    LIDO__ATOMIC_CAS(&lido__options.check, &off, level, relaxed);    // as all options
    return true;
}

void lido__tools_owner(const void *owner) {
    if (has(LIDO__TOOL_MEMCHECK)) lido__memcheck_ask(LIDO__MEMCHECK_POOL_NEW, owner, 0, 0);
}

void lido__tools_hide(const void *start, size_t bytes) {
    if (has(LIDO__TOOL_ASAN)) __asan_poison_memory_region(start, bytes);
    if (has(LIDO__TOOL_MEMCHECK)) lido__memcheck_ask(LIDO__MEMCHECK_NO_ACCESS, start, bytes, 0);
}

void lido__tools_show(const void *start, size_t bytes) {
    if (has(LIDO__TOOL_ASAN)) __asan_unpoison_memory_region(start, bytes);
    if (has(LIDO__TOOL_MEMCHECK)) lido__memcheck_ask(LIDO__MEMCHECK_DEFINED, start, bytes, 0);
}

void lido__tools_out(const void *owner, const void *block, size_t bytes) {
    if (has(LIDO__TOOL_ASAN)) __asan_unpoison_memory_region(block, bytes);
    if (has(LIDO__TOOL_MEMCHECK)) lido__memcheck_ask(LIDO__MEMCHECK_POOL_ALLOC, owner, (uintptr_t)block, bytes);
}

void lido__tools_back(const void *owner, const void *block) {
    if (has(LIDO__TOOL_MEMCHECK)) lido__memcheck_ask(LIDO__MEMCHECK_POOL_FREE, owner, (uintptr_t)block, 0);
}

void lido__tools_count_out(const void *block, size_t bytes) {
    if (has(LIDO__TOOL_HEAPTRACK)) heaptrack_malloc((void *)(uintptr_t)block, bytes);
}

void lido__tools_count_back(const void *block) {
    if (has(LIDO__TOOL_HEAPTRACK)) heaptrack_free((void *)(uintptr_t)block);
}

void lido__tools_memory(const void *start, size_t bytes, bool comes) {
    if (!has(LIDO__TOOL_ASAN) || __lsan_register_root_region == NULL || __lsan_unregister_root_region == NULL) return;
    if (comes) {
        __lsan_register_root_region(start, bytes);
    } else {
        __lsan_unregister_root_region(start, bytes);
    }
}
