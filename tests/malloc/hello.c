// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A small C program, as far as memory goes: a few allocations, a line of output. It prints its resident memory in KiB.
#include "case.h"

#include <fcntl.h>
#include <unistd.h>

int main(void) {
    char *greeting = malloc(100);
    if (greeting == NULL) return 1;
    strcpy(greeting, "hello world");
    FILE *null = fopen("/dev/null", "w");
    if (null == NULL) return 1;
    fprintf(null, "%s\n", greeting);
    fclose(null);
    free(greeting);

    char text[4096], line[32];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (length <= 0) return 1;
    text[length] = '\0';
    const char *rss = strstr(text, "\nRss:");
    if (rss == NULL) return 1;
    length = snprintf(line, sizeof line, "%ld\n", strtol(rss + 5, NULL, 10));
    return write(STDOUT_FILENO, line, (size_t)length) == length ? 0 : 1;
}
