// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// operator new and delete by their linker names, so that the library needs no C++ run time: what a failed new must do (call
// the new-handler, throw std::bad_alloc) is asked of the program's own, which is there whenever somebody calls these.
// Compiled with -fexceptions: the exception passes through.
//
// The nothrow forms are not here: the C++ library's own call the throwing ones and catch, which C cannot.
//
// The names are those of the Itanium C++ ABI with size_t as unsigned long (m) or unsigned int (j).
#include "heap/heap.h"

#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

#if __SIZEOF_SIZE_T__ == 8
#define SIZED(prefix, suffix) prefix##m##suffix
#else
#define SIZED(prefix, suffix) prefix##j##suffix
#endif

typedef void (*new_handler)(void);
// std::get_new_handler() and std::__throw_bad_alloc()
extern new_handler _ZSt15get_new_handlerv(void) __attribute__((weak));
extern void _ZSt17__throw_bad_allocv(void) __attribute__((weak, noreturn));

static void *allocate(size_t size, size_t alignment) {
    return alignment <= 16 ? lido__malloc(size) : lido_aligned_alloc(alignment, size);
}

// C++ [new.delete.single]: call the handler until it has found memory, throws, or is taken away.
static LIDO__COLD void *allocate_or_throw(size_t size, size_t alignment) {
    for (;;) {
        new_handler handler = _ZSt15get_new_handlerv != NULL ? _ZSt15get_new_handlerv() : NULL;
        if (handler == NULL) break;
        handler();
        void *p = allocate(size, alignment);
        if (p != NULL) return p;
    }
    if (_ZSt17__throw_bad_allocv != NULL) _ZSt17__throw_bad_allocv();
    abort();
}

LIDO_INLINE void *throwing(size_t size) {
    void *p = lido__malloc(size);
    return LIDO_LIKELY(p != NULL) ? p : allocate_or_throw(size, 1);
}
LIDO_INLINE void *throwing_aligned(size_t size, size_t alignment) {
    void *p = allocate(size, alignment);
    return LIDO_LIKELY(p != NULL) ? p : allocate_or_throw(size, alignment);
}
// new, new[]; with alignment
EXPORT void *SIZED(_Znw, )(size_t size) { return throwing(size); }
EXPORT void *SIZED(_Zna, )(size_t size) { return throwing(size); }
EXPORT void *SIZED(_Znw, St11align_val_t)(size_t size, size_t alignment) { return throwing_aligned(size, alignment); }
EXPORT void *SIZED(_Zna, St11align_val_t)(size_t size, size_t alignment) { return throwing_aligned(size, alignment); }

// delete, delete[]; with alignment; with size; with both
EXPORT void _ZdlPv(void *p) { lido__free(p); }
EXPORT void _ZdaPv(void *p) { lido__free(p); }
EXPORT void _ZdlPvSt11align_val_t(void *p, size_t alignment) { (void)alignment, lido__free(p); }
EXPORT void _ZdaPvSt11align_val_t(void *p, size_t alignment) { (void)alignment, lido__free(p); }
EXPORT void SIZED(_ZdlPv, )(void *p, size_t size) { (void)size, lido__free(p); }
EXPORT void SIZED(_ZdaPv, )(void *p, size_t size) { (void)size, lido__free(p); }
EXPORT void SIZED(_ZdlPv, St11align_val_t)(void *p, size_t size, size_t alignment) {
    (void)size, (void)alignment, lido__free(p);
}
EXPORT void SIZED(_ZdaPv, St11align_val_t)(void *p, size_t size, size_t alignment) {
    (void)size, (void)alignment, lido__free(p);
}
