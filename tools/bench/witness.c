// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido-bench-witness.so, preloaded before a malloc: at the start of every process it appends a line
//
//   path of the library that malloc comes from TAB name of the program
//
// to the file that LIDO_BENCH_WITNESS names. It defines nothing and calls nothing afterwards.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// A program that is not position-independent gives its own stub as the address of malloc: a symbol that it does not define.
// Then the next definition behind this library is the one that serves.
static const char *library_of_malloc(Dl_info *info) {
    ElfW(Sym) *symbol = NULL;
    void *served = dlsym(RTLD_DEFAULT, "malloc");
    if (served == NULL || dladdr1(served, info, (void **)&symbol, RTLD_DL_SYMENT) == 0) return NULL;
    if (symbol != NULL && symbol->st_shndx == SHN_UNDEF) {
        served = dlsym(RTLD_NEXT, "malloc");
        if (served == NULL || dladdr(served, info) == 0) return NULL;
    }
    return info->dli_fname;
}

__attribute__((constructor)) static void testify(void) {
    const char *path = getenv("LIDO_BENCH_WITNESS");
    Dl_info info;
    char real[PATH_MAX], line[PATH_MAX + 128];
    const char *library = path != NULL ? library_of_malloc(&info) : NULL;
    if (library == NULL) return;
    int length = snprintf(line, sizeof line, "%s\t%.100s\n", realpath(library, real) != NULL ? real : library,
                          program_invocation_short_name);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t written = write(fd, line, (size_t)length);
    (void)written;
    close(fd);
}
