// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What lies at an address, for reports and for blocks that are not ours: reads /proc/self/maps with read(2) through a
// buffer on the stack, line by line. Slow (a system call per 4 KiB of map), and only on the way to a message.
#include "base/format.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef struct map_line {
    uintptr_t start, end;
    char path[160];    // cut if longer; empty for anonymous memory
} map_line;

typedef struct map_reader {
    int fd;
    size_t next, have;
    char bytes[4096];
} map_reader;

static int next_char(map_reader *reader) {
    if (reader->next == reader->have) {
        ssize_t n;
        do n = read(reader->fd, reader->bytes, sizeof reader->bytes);
        while (n < 0 && errno == EINTR);
        if (n <= 0) return -1;
        reader->have = (size_t)n;
        reader->next = 0;
    }
    return (unsigned char)reader->bytes[reader->next++];
}

static uintptr_t read_hex(map_reader *reader, int until) {
    uintptr_t value = 0;
    for (int c = next_char(reader); c >= 0 && c != until; c = next_char(reader)) {
        value = value * 16 + (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return value;
}

// A line is "start-end perms offset device inode   path".
static bool read_line(map_reader *reader, map_line *line) {
    line->start = read_hex(reader, '-');
    line->end = read_hex(reader, ' ');
    if (line->end == 0) return false;
    size_t length = 0;
    unsigned blanks = 0;
    bool in_path = false;
    for (int c = next_char(reader); c >= 0 && c != '\n'; c = next_char(reader)) {
        if (!in_path && c == ' ') blanks++;
        if (blanks >= 4 && (c == '/' || c == '[')) in_path = true;
        if (in_path && length + 1 < sizeof line->path) line->path[length++] = (char)c;
    }
    line->path[length] = '\0';
    return true;
}

static bool is_loader(const char *path) {
    const char *name = strrchr(path, '/');
    return name != NULL && (strncmp(name, "/ld-", 4) == 0 || strncmp(name, "/ld.so", 6) == 0);
}

static lido__os_place classify(const map_line *line, bool follows_loader) {
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);    // of a local variable it may be AddressSanitizer's
    if (strcmp(line->path, "[stack]") == 0 || (stack >= line->start && stack < line->end)) return LIDO__PLACE_STACK;
    if (strcmp(line->path, "[heap]") == 0) return LIDO__PLACE_BREAK_HEAP;
    if (is_loader(line->path) || (follows_loader && line->path[0] == '\0')) return LIDO__PLACE_LOADER;
    return line->path[0] == '/' ? LIDO__PLACE_FILE : LIDO__PLACE_ANONYMOUS;
}

lido__os_place lido__os_describe(const void *p, char *name, size_t name_bytes) {
    int saved = errno;
    lido__text text = lido__text_over(name, name_bytes);
    lido__os_place place = LIDO__PLACE_UNKNOWN;
    map_reader reader = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    if (reader.fd >= 0) {
        place = LIDO__PLACE_UNMAPPED;
        map_line line;
        bool after_loader = false;
        uintptr_t previous_end = 0;
        char last_file[sizeof line.path] = "";
        while (read_line(&reader, &line)) {
            bool adjacent = line.start == previous_end;
            if ((uintptr_t)p >= line.start && (uintptr_t)p < line.end) {
                place = classify(&line, after_loader && adjacent);
                // memory right behind a file's mapping is its zero-initialized data
                if (place == LIDO__PLACE_ANONYMOUS && adjacent && last_file[0] == '/') {
                    place = LIDO__PLACE_FILE;
                    memcpy(line.path, last_file, sizeof last_file);
                }
                lido__text_string(&text, line.path);
                break;
            }
            if (!adjacent || line.path[0] != '\0') memcpy(last_file, line.path, sizeof last_file);
            after_loader = is_loader(line.path);
            previous_end = line.end;
        }
        close(reader.fd);
    }
    errno = saved;
    return place;
}
