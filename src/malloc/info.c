// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// mallinfo, mallinfo2, malloc_stats, malloc_info: lido's figures in the C library's forms.
//
//      arena     bytes committed in segments          uordblks  bytes in blocks that are alive
//      hblks     huge objects, hblkhd their bytes     fordblks  committed in segments and not alive
//      keepcost  free and not yet given back
#include "base/format.h"
#include "heap/heap.h"
#include "os/os.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT struct mallinfo2 mallinfo2(void) {
    lido_heap_statistics now = lido_process_stats();
    size_t in_segments = now.committed_bytes - now.huge_bytes;
    size_t live_in_segments = now.live_bytes - lido__min(now.huge_bytes, now.live_bytes);
    struct mallinfo2 info = {
        .arena = in_segments,
        .ordblks = now.segment_count,
        .hblks = now.huge_count,
        .hblkhd = now.huge_bytes,
        .uordblks = live_in_segments,
        .fordblks = in_segments - lido__min(live_in_segments, in_segments),
        .keepcost = now.dirty_free_bytes,
    };
    return info;
}

static int narrow(size_t n) { return n > INT_MAX ? INT_MAX : (int)n; }

EXPORT struct mallinfo mallinfo(void) {
    struct mallinfo2 wide = mallinfo2();
    struct mallinfo info = {
        .arena = narrow(wide.arena),
        .ordblks = narrow(wide.ordblks),
        .hblks = narrow(wide.hblks),
        .hblkhd = narrow(wide.hblkhd),
        .uordblks = narrow(wide.uordblks),
        .fordblks = narrow(wide.fordblks),
        .keepcost = narrow(wide.keepcost),
    };
    return info;
}

EXPORT void malloc_stats(void) {
    lido_heap_statistics now = lido_process_stats();
    char line[320];
    lido__text text = lido__text_over(line, sizeof line);
    lido__text_format(
        &text,
        "lido: live %z bytes, committed %z, free and kept %z, segments %z, huge objects %z (%z bytes), threads %z\n",
        now.live_bytes, now.committed_bytes, now.dirty_free_bytes, now.segment_count, now.huge_count, now.huge_bytes,
        now.thread_count);
    lido__os_write_error(line, text.length);
}

EXPORT int malloc_info(int options, FILE *stream) {
    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    lido_heap_statistics now = lido_process_stats();
    int written = fprintf(
        stream,
        "<malloc version=\"lido-1\">\n<total type=\"live\" size=\"%zu\"/>\n<total type=\"rest\" size=\"%zu\"/>\n"
        "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n<system type=\"current\" size=\"%zu\"/>\n"
        "<aspace type=\"total\" size=\"%zu\"/>\n</malloc>\n",
        now.live_bytes, now.dirty_free_bytes, now.huge_count, now.huge_bytes, now.committed_bytes, now.held_bytes);
    return written < 0 ? -1 : 0;
}
