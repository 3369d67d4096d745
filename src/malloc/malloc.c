// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The malloc family under its standard names: the fast paths of heap/heap.h inlined, everything else handed on.
//
// Early life: all state of lido is valid when zero, so these functions work before any constructor has run, from the loader
// and from .preinit_array. Blocks that the C library or the loader gave out before this library took over come back to
// free here: they are recognized by their place in memory (heap.c) and handed to the C library's own free.
#include "heap/heap.h"

#include "os/os.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

// The C library's own malloc, which it exports under these names; absent elsewhere (weak).
extern void __libc_free(void *p) __attribute__((weak));
extern void *__libc_realloc(void *p, size_t size) __attribute__((weak));

static void foreign_free(void *p) {
    if (__libc_free != NULL) __libc_free(p);
}
static void *foreign_realloc(void *p, size_t size) { return __libc_realloc != NULL ? __libc_realloc(p, size) : NULL; }
// The size field of the C library's chunk, less its header word and the flag bits.
static size_t foreign_usable_size(const void *p) {
    size_t field = ((const size_t *)p)[-1];
    return (field & ~(size_t)7) - sizeof(size_t);
}

lido__foreign lido__foreign_malloc = {foreign_free, foreign_realloc, foreign_usable_size};

EXPORT void *malloc(size_t size) { return lido__malloc(size); }
EXPORT void free(void *p) { lido__free(p); }
EXPORT void cfree(void *p) { lido__free(p); }
EXPORT void *calloc(size_t count, size_t size) { return lido_calloc(count, size); }
LIDO__NOINLINE EXPORT void *realloc(void *p, size_t size) { return lido_realloc(p, size); }
// By way of realloc's symbol: memcheck takes the place of that one and of free, but not of this one.
EXPORT void *reallocarray(void *p, size_t count, size_t size) {
    size_t bytes;
    if (!__builtin_mul_overflow(count, size, &bytes)) return realloc(p, bytes);
    errno = ENOMEM;
    return NULL;
}
EXPORT void free_sized(void *p, size_t size) { lido_free_sized(p, size); }
EXPORT void free_aligned_sized(void *p, size_t alignment, size_t size) { lido_free_aligned_sized(p, alignment, size); }

EXPORT void *aligned_alloc(size_t alignment, size_t size) { return lido_aligned_alloc(alignment, size); }
EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    return lido_posix_memalign(out, alignment, size);
}

// memalign takes any alignment and rounds it up to a power of two, as the C library does.
EXPORT void *memalign(size_t alignment, size_t size) {
    if (alignment > PTRDIFF_MAX / 2 + 1) {
        errno = EINVAL;
        return NULL;
    }
    size_t rounded = 16;
    while (rounded < alignment) rounded *= 2;
    return lido_aligned_alloc(rounded, size);
}

EXPORT void *valloc(size_t size) { return lido_aligned_alloc(lido__os_page_bytes(), size); }

EXPORT void *pvalloc(size_t size) {
    size_t page = lido__os_page_bytes();
    if (size > PTRDIFF_MAX - page) {
        errno = ENOMEM;
        return NULL;
    }
    return lido_aligned_alloc(page, lido__round_up(size != 0 ? size : 1, page));
}

EXPORT size_t malloc_usable_size(void *p) { return lido_usable_size(p); }
EXPORT int malloc_trim(size_t pad) { return lido_trim(pad) > 0; }

// 1 is success: every tunable of the C library's malloc is one that lido does without.
EXPORT int mallopt(int parameter, int value) {
    (void)parameter;
    (void)value;
    return 1;
}
