// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Memory of any size. lido_malloc and its family follow the C standard and POSIX for malloc and its family, from any
// thread; the functions of liblido-malloc.so are these under the standard names. A size class is a shared pool.
//
// A lido_heap is a heap of its own: everything in it can be given back in one call.
#ifndef LIDO_HEAP_H
#define LIDO_HEAP_H

#include <lido/defs.h>
#include <lido/pool.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

// `size` bytes aligned to 16 (size 0 gives a unique block of 16 bytes). Fails: NULL and ENOMEM; sizes above PTRDIFF_MAX
// always fail. Cost: to 1 KiB about 15 instructions while the thread's bin holds a block.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(1) void *lido_malloc(size_t size);
// count * size bytes, all zero. An overflowing product fails with ENOMEM.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE2(1, 2) void *lido_calloc(size_t count, size_t size);
// Grows or shrinks in place where it can, otherwise moves. On failure NULL and `p` is untouched.
// realloc(p, 0) frees p and returns NULL, as glibc does.
LIDO_API LIDO_ATTR_MUST_USE LIDO_ATTR_ALLOC_SIZE(2) void *lido_realloc(void *p, size_t size);
LIDO_API LIDO_ATTR_MUST_USE LIDO_ATTR_ALLOC_SIZE2(2, 3) void *lido_reallocarray(void *p, size_t count, size_t size);
// `alignment` is any power of two, else EINVAL. Unlike C11's aligned_alloc the size need not be a multiple of it.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(2) void *lido_aligned_alloc(size_t alignment, size_t size);
// POSIX: returns 0, EINVAL (not a power of two times sizeof(void *)) or ENOMEM; *out is written on success only, errno never.
LIDO_API int lido_posix_memalign(void **out, size_t alignment, size_t size);
// Any block of lido: of lido_malloc, of any pool, of any heap. NULL is ignored. errno stays as it was.
LIDO_API void lido_free(void *p);
// `size` must be the size that was asked for; it is a hint, and check mode compares it.
LIDO_API void lido_free_sized(void *p, size_t size);
LIDO_API void lido_free_aligned_sized(void *p, size_t alignment, size_t size);
// Bytes that may be used at p, at least what was asked for; 0 for NULL.
LIDO_API size_t lido_usable_size(const void *p);
// What lido_malloc(size) would give: usable bytes for a request. 0 if no such request can succeed.
LIDO_API size_t lido_good_size(size_t size);
// Gives all free memory back to the system, of all threads but for what sits in other threads' bins (bounded, and asked
// for: each thread gives its own back at its next slow call). Keeps about `keep_bytes` ready. Returns the bytes given back.
LIDO_API size_t lido_trim(size_t keep_bytes);

typedef struct lido_heap_statistics {
    size_t live_bytes;    // in blocks that the program holds, after rounding; of pools and heaps that belong to one
                          // thread, which no other may look into, all blocks that they have taken
    size_t held_bytes;    // address space in segments and huge objects
    size_t committed_bytes;     // readable and writable
    size_t dirty_free_bytes;    // free, and not yet given back to the system
    size_t segment_count, huge_count, huge_bytes, thread_count;
} lido_heap_statistics;
// The whole process: size classes, large and huge objects, and named pools.
LIDO_API lido_heap_statistics lido_process_stats(void);

typedef struct lido_heap lido_heap;

typedef struct lido_heap_options {
    const char *name;        // copied; NULL is "heap"
    lido_threads threads;    // LIDO_LOCAL: one thread at a time; LIDO_SHARED: any thread, behind one lock per heap
    // Small blocks of all sizes lie side by side in the order in which they are asked for, each behind 8 bytes of lido's, as in an
    // arena; a freed one serves the next request of its size. For many blocks that go together and few single frees. Memory
    // of freed blocks serves no other size and stays with the heap until its reset or end.
    bool bump;
} lido_heap_options;

// NULL options are the defaults. Fails: NULL; EINVAL, ENOMEM.
LIDO_API LIDO_ATTR_MUST_USE lido_heap *lido_heap_new(const lido_heap_options *options);
// Frees every block of the heap, and the heap. NULL is ignored.
// Requires: no other thread uses the heap or any of its blocks, now or later.
LIDO_API void lido_heap_destroy(lido_heap *heap);
// Frees every block of the heap; memory of small ones stays with it for the next. NULL is ignored.
// Requires: no other thread uses the heap. Cost: proportional to its slabs, chunks and large blocks.
LIDO_API void lido_heap_reset(lido_heap *heap);
// As lido_malloc, lido_aligned_alloc and lido_realloc, but from this heap; a block of another heap moves here when it must move.
// Threads: as the heap's kind; for a LOCAL heap that goes for lido_free of its blocks too.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(2) void *lido_heap_alloc(lido_heap *heap, size_t size);
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(3) void *lido_heap_alloc_aligned(lido_heap *heap, size_t alignment,
                                                                                size_t size);
LIDO_API LIDO_ATTR_MUST_USE void *lido_heap_realloc(lido_heap *heap, void *p, size_t size);
// lido_free(p) does the same when the heap is not at hand. NULL is ignored.
LIDO_API void lido_heap_free(lido_heap *heap, void *p);

LIDO_END_DECLS

#endif
