// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Files, by system calls alone: where reports go and what options name.
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void lido__os_write_to(int file, const char *text, size_t length) {
    int saved = errno;
    while (length > 0) {
        ssize_t n = write(file >= 0 ? file : STDERR_FILENO, text, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text += n;
        length -= (size_t)n;
    }
    errno = saved;
}

void lido__os_write_error(const char *text, size_t length) { lido__os_write_to(-1, text, length); }

int lido__os_append_to(const char *path) {
    int saved = errno, file;
    do file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    while (file < 0 && errno == EINTR);
    errno = saved;
    return file;
}

void lido__os_close(int file) {
    int saved = errno;
    close(file);
    errno = saved;
}

ptrdiff_t lido__os_read_file(const char *path, char *buffer, size_t bytes) {
    int saved = errno, file = open(path, O_RDONLY | O_CLOEXEC);
    ptrdiff_t have = file < 0 ? -1 : 0;
    while (file >= 0 && (size_t)have < bytes) {
        ssize_t n = read(file, buffer + have, bytes - (size_t)have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += n;
    }
    if (file >= 0) close(file);
    errno = saved;
    return have;
}
