// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Memory of any size. lido_malloc and its family follow the C standard and POSIX for malloc and its family, from any
// thread; the functions of liblido-malloc.so are these under the standard names. A size class is a shared pool.
//
// A lido_heap is a heap of its own: everything in it can be given back in one call.
//
// Unless a call says otherwise: Requires: a block that is named is alive and not NULL. Threads: any. Fails: never, and errno
// is left alone. Cost: constant; small sizes (to 32 KiB) a thread's bin and every batch a step under the slabs' lock,
// larger ones a lock and now and then a system call.
#ifndef LIDO_HEAP_H
#define LIDO_HEAP_H

#include <lido/defs.h>
#include <lido/pool.h>
#include <stdbool.h>

LIDO_BEGIN_DECLS

// `size` bytes aligned to 16 (size 0 gives a unique block of 16 bytes). Fails: NULL and ENOMEM; sizes above PTRDIFF_MAX
// always fail. Cost: to 1 KiB about 15 instructions while the thread's bin holds a block.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(1) void *lido_malloc(size_t size);
// count * size bytes, all zero. Fails: NULL and ENOMEM, also for a product that overflows. Cost: as lido_malloc and memset, which
// fresh memory of the system does not need.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE2(1, 2) void *lido_calloc(size_t count, size_t size);
// Grows or shrinks in place where it can, otherwise moves. NULL for p: as lido_malloc. Size 0 frees p and returns NULL, as
// glibc's does; the second takes count * size bytes.
// Fails: NULL and ENOMEM, also for a product that overflows; `p` is untouched. Cost: as lido_malloc, and the copy if it moves.
LIDO_API LIDO_ATTR_MUST_USE LIDO_ATTR_ALLOC_SIZE(2) void *lido_realloc(void *p, size_t size);
LIDO_API LIDO_ATTR_MUST_USE LIDO_ATTR_ALLOC_SIZE2(2, 3) void *lido_reallocarray(void *p, size_t count, size_t size);
// As lido_malloc, aligned to any power of two. Unlike C11's aligned_alloc the size need not be a multiple of it.
// Fails: NULL; EINVAL for another alignment, ENOMEM.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(2) void *lido_aligned_alloc(size_t alignment, size_t size);
// As POSIX says: 0, and the block in *out. Fails: EINVAL (not a power of two times sizeof(void *)) or ENOMEM as its value;
// *out is written on success only, errno never.
LIDO_API int lido_posix_memalign(void **out, size_t alignment, size_t size);
// Gives any block of lido back: of lido_malloc, of any pool, of any heap. NULL is ignored. Threads: any, but for a block of a pool
// or heap of one thread, as that says. Cost: to 1 KiB about 15 instructions while the thread's bin has room.
LIDO_API void lido_free(void *p);
// The same for a block whose size is known. Requires: `size`, and `alignment`, are those that were asked for.
LIDO_API void lido_free_sized(void *p, size_t size);
LIDO_API void lido_free_aligned_sized(void *p, size_t alignment, size_t size);
// Bytes that may be used at p, at least what was asked for; 0 for NULL. Cost: a table look-up.
LIDO_API size_t lido_usable_size(const void *p);
// What lido_malloc(size) would give: usable bytes for a request. 0 if no such request can succeed. Cost: an addition and a
// table look-up.
LIDO_API size_t lido_good_size(size_t size);
// Gives all free memory back to the system, of all threads but for what sits in other threads' bins (bounded, and asked
// for: each thread gives its own back at its next slow call). Keeps about `keep_bytes` ready. Returns the bytes given back.
// Cost: proportional to the free memory, and system calls.
LIDO_API size_t lido_trim(size_t keep_bytes);

// Sizes in bytes. While other threads allocate, the figures are of slightly different moments.
typedef struct lido_heap_statistics {
    size_t live_bytes;    // in blocks that the program holds, after rounding; of pools and heaps that belong to one
                          // thread, which no other may look into, all blocks that they have taken
    size_t held_bytes;    // address space in segments and huge objects
    size_t committed_bytes;     // readable and writable
    size_t dirty_free_bytes;    // free, and not yet given back to the system
    size_t segment_count, huge_count, huge_bytes, thread_count;
} lido_heap_statistics;

// The whole process: size classes, large and huge objects, and named pools. Cost: locks, and a look at each slab and thread.
LIDO_API lido_heap_statistics lido_process_stats(void);

// What the calls below are about; its inside is lido's own.
typedef struct lido_heap lido_heap;

// What lido_heap_new makes. A zeroed field is its default.
typedef struct lido_heap_options {
    const char *name;        // copied; NULL is "heap"
    lido_threads threads;    // LIDO_LOCAL: one thread at a time; LIDO_SHARED: any thread, behind one lock per heap
    // Small blocks of all sizes lie side by side in the order in which they are asked for, each behind 8 bytes of lido's, as in an
    // arena; a freed one serves the next request of its size. For many blocks that go together and few single frees. Memory
    // of freed blocks serves no other size and stays with the heap until its reset or end.
    bool bump;
} lido_heap_options;

// Makes a heap. NULL options are the defaults. Fails: NULL; EINVAL, ENOMEM. Cost: microseconds.
LIDO_API LIDO_ATTR_MUST_USE lido_heap *lido_heap_new(const lido_heap_options *options);
// Frees every block of the heap, and the heap. NULL is ignored.
// Requires: no other thread uses the heap or any of its blocks, now or later. Cost: proportional to its slabs, chunks and
// large blocks.
LIDO_API void lido_heap_destroy(lido_heap *heap);
// Frees every block of the heap; memory of small ones stays with it for the next. NULL is ignored.
// Requires: no other thread uses the heap. Cost: proportional to its slabs, chunks and large blocks.
LIDO_API void lido_heap_reset(lido_heap *heap);
// As lido_malloc, lido_aligned_alloc and lido_realloc, but from this heap; a block of another heap moves here when it must move.
// Requires: the heap is alive and not NULL. Threads: as the heap's kind; for a LOCAL heap that goes for lido_free of its
// blocks too. Fails: as lido_malloc, lido_aligned_alloc and lido_realloc.
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(2) void *lido_heap_alloc(lido_heap *heap, size_t size);
LIDO_API LIDO_ATTR_MALLOC LIDO_ATTR_ALLOC_SIZE(3) void *lido_heap_alloc_aligned(lido_heap *heap, size_t alignment,
                                                                                size_t size);
LIDO_API LIDO_ATTR_MUST_USE void *lido_heap_realloc(lido_heap *heap, void *p, size_t size);
// lido_free(p) does the same when the heap is not at hand. NULL is ignored. Threads: as the heap's kind.
LIDO_API void lido_heap_free(lido_heap *heap, void *p);

LIDO_END_DECLS

#endif
