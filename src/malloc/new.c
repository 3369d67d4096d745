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
#include "heap/checked.h"
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

static void *allocate(size_t size, size_t alignment, lido__check_call call) {
    if (alignment <= 16) return lido__new(size, call);
    bool zero;
    if (lido__heap_has_checks()) return lido__malloc_checked(size, alignment, call, &zero);
    return lido_aligned_alloc(alignment, size);
}

// C++ [new.delete.single]: call the handler until it has found memory, throws, or is taken away.
static LIDO__COLD void *allocate_or_throw(size_t size, size_t alignment, lido__check_call call) {
    for (;;) {
        new_handler handler = _ZSt15get_new_handlerv != NULL ? _ZSt15get_new_handlerv() : NULL;
        if (handler == NULL) break;
        handler();
        void *p = allocate(size, alignment, call);
        if (p != NULL) return p;
    }
    if (_ZSt17__throw_bad_allocv != NULL) _ZSt17__throw_bad_allocv();
    abort();
}

LIDO_INLINE void *throwing(size_t size, lido__check_call call) {
    void *p = lido__new(size, call);
    return LIDO_LIKELY(p != NULL) ? p : allocate_or_throw(size, 1, call);
}
LIDO_INLINE void *throwing_aligned(size_t size, size_t alignment, lido__check_call call) {
    void *p = allocate(size, alignment, call);
    return LIDO_LIKELY(p != NULL) ? p : allocate_or_throw(size, alignment, call);
}
static const lido__check_call ONE = LIDO__CALL_NEW, ARRAY = LIDO__CALL_NEW_ARRAY;

// new, new[]; with alignment
EXPORT void *SIZED(_Znw, )(size_t size) { return throwing(size, ONE); }
EXPORT void *SIZED(_Zna, )(size_t size) { return throwing(size, ARRAY); }
EXPORT void *SIZED(_Znw, St11align_val_t)(size_t size, size_t alignment) {
    return throwing_aligned(size, alignment, ONE);
}
EXPORT void *SIZED(_Zna, St11align_val_t)(size_t size, size_t alignment) {
    return throwing_aligned(size, alignment, ARRAY);
}

// delete, delete[]; with alignment; with size; with both
EXPORT void _ZdlPv(void *p) { lido__free_sized(p, ONE, SIZE_MAX); }
EXPORT void _ZdaPv(void *p) { lido__free_sized(p, ARRAY, SIZE_MAX); }
EXPORT void _ZdlPvSt11align_val_t(void *p, size_t alignment) { (void)alignment, lido__free_sized(p, ONE, SIZE_MAX); }
EXPORT void _ZdaPvSt11align_val_t(void *p, size_t alignment) { (void)alignment, lido__free_sized(p, ARRAY, SIZE_MAX); }
EXPORT void SIZED(_ZdlPv, )(void *p, size_t size) { lido__free_sized(p, ONE, size); }
EXPORT void SIZED(_ZdaPv, )(void *p, size_t size) { lido__free_sized(p, ARRAY, size); }
EXPORT void SIZED(_ZdlPv, St11align_val_t)(void *p, size_t size, size_t alignment) {
    (void)alignment, lido__free_sized(p, ONE, size);
}
EXPORT void SIZED(_ZdaPv, St11align_val_t)(void *p, size_t size, size_t alignment) {
    (void)alignment, lido__free_sized(p, ARRAY, size);
}
