# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""python under test: the malloc family as the dynamic linker resolves it, blocks that cross libraries, dlopen and dlclose."""

import _ctypes
import ctypes
import os
import threading

C = ctypes.CDLL(None, use_errno=True)
SIZE, POINTER = ctypes.c_size_t, ctypes.c_void_p
for name, arguments in {
    "malloc": [SIZE],
    "calloc": [SIZE, SIZE],
    "realloc": [POINTER, SIZE],
    "aligned_alloc": [SIZE, SIZE],
    "memalign": [SIZE, SIZE],
    "valloc": [SIZE],
    "reallocarray": [POINTER, SIZE, SIZE],
    "strdup": [ctypes.c_char_p],
    "realpath": [ctypes.c_char_p, POINTER],
}.items():
    getattr(C, name).restype, getattr(C, name).argtypes = POINTER, arguments
C.free.restype, C.free.argtypes = None, [POINTER]
C.malloc_usable_size.restype, C.malloc_usable_size.argtypes = SIZE, [POINTER]
C.posix_memalign.argtypes = [ctypes.POINTER(POINTER), SIZE, SIZE]
LIBRARIES = ["libz.so.1", "liblzma.so.5", "libbz2.so.1.0", "libexpat.so.1", "libstdc++.so.6", "libcrypto.so.3"]


def blocks():
    """Every entry point: usable, aligned, zero where promised, contents kept by realloc."""
    good = 0
    for size in list(range(1, 300, 7)) + [1000, 4096, 5000, 70000, 1 << 20, 5 << 20]:
        p = C.malloc(size)
        ctypes.memset(p, size & 255, size)
        good += C.malloc_usable_size(p) >= size and p % 8 == 0
        p = C.realloc(p, size * 3)
        good += ctypes.string_at(p, size) == bytes([size & 255]) * size
        p = C.reallocarray(p, size, 1)
        good += ctypes.string_at(p, size) == bytes([size & 255]) * size
        C.free(p)
        p = C.calloc(size, 3)
        good += ctypes.string_at(p, size * 3) == bytes(size * 3)
        C.free(p)
        for align in (16, 64, 4096, 65536):
            for q in (C.aligned_alloc(align, (size + align - 1) // align * align), C.memalign(align, size)):
                good += q % align == 0 and C.malloc_usable_size(q) >= size
                ctypes.memset(q, 1, size)
                C.free(q)
    p = POINTER()
    good += C.posix_memalign(ctypes.byref(p), 256, 100) == 0 and p.value % 256 == 0
    C.free(p)
    good += C.posix_memalign(ctypes.byref(p), 24, 100) == 22  # EINVAL
    return good


def refusals():
    """Sizes that cannot be: NULL and ENOMEM. free and success leave errno alone."""
    seen = []
    for call in (
        lambda: C.malloc((1 << 63) + 1),
        lambda: C.calloc(1 << 40, 1 << 40),
        lambda: C.reallocarray(None, 1 << 33, 1 << 33),
    ):
        ctypes.set_errno(0)
        seen.append((call(), ctypes.get_errno()))
    ctypes.set_errno(77)
    C.free(C.malloc(100))
    seen.append(ctypes.get_errno())
    C.free(None)
    return seen


def crossing():
    """Blocks that libc allocated inside itself and we free, and getline's buffer that it reallocs for us."""
    p = C.strdup(b"given out by libc")
    text = ctypes.string_at(p)
    C.free(p)
    p = C.realpath(b"/usr/../usr/lib", None)
    path = ctypes.string_at(p)
    C.free(p)
    return text, path


def loading():
    """Libraries come and go while threads run; each run of their constructors and destructors allocates."""
    for _ in range(5):
        handles = [_ctypes.dlopen(name, os.RTLD_NOW) for name in LIBRARIES]
        thread = threading.Thread(target=blocks)
        thread.start()
        for handle in reversed(handles):
            _ctypes.dlclose(handle)
        thread.join()
    return len(LIBRARIES)


def sorting():
    """qsort of libc takes its scratch from malloc and calls back into python, which allocates."""
    items = (ctypes.c_int * 4000)(*[(k * 7919) % 4001 for k in range(4000)])
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    C.qsort(items, len(items), 4, compare(lambda a, b: len([a[0]] * 3) * (a[0] - b[0])))
    return list(items) == sorted(items), items[0], items[-1]


def handed_over():
    """A thread allocates and ends; another one, whose first call it is, frees or reallocs the blocks."""
    given = []
    for work in (
        lambda: given.extend(C.malloc(size) for size in range(1, 3000, 3)),
        lambda: [C.free(p) for p in given[::2]],
        lambda: [C.free(C.realloc(p, 5000)) for p in given[1::2]],
    ):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    return len(given)


print("blocks", blocks())
print("refusals", refusals())
print("crossing", crossing())
print("loading", loading())
print("sorting", sorting())
print("handed over", handed_over())
