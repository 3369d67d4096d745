// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Memory for the length of a function: each function takes scratch of its own and puts its result where its caller says,
// which may be the caller's scratch.
//
// Prints:
//     21 characters
#include <lido/arena.h>
#include <stdio.h>
#include <string.h>

// "a/b", in `result`.
static char *join(lido_arena *result, const char *a, const char *b) {
    lido_arena_point scratch = lido_arena_scratch_begin(result);
    if (scratch.arena == NULL) return NULL;
    char *raw = lido_arena_printf(scratch.arena, "%s/%s", a, b);
    char *path = raw == NULL ? NULL : lido_arena_strdup(result, raw[0] == '/' && raw[1] == '/' ? raw + 1 : raw);
    lido_arena_scratch_end(scratch);
    return path;
}

// How many characters "a/b/b/.../b" has; leaves nothing behind.
static size_t length_of(const char *a, const char *b, int times) {
    lido_arena_point scratch = lido_arena_scratch_begin(NULL);
    const char *path = a;
    for (int i = 0; i < times && path != NULL; i++) path = join(scratch.arena, path, b);
    size_t length = path != NULL ? strlen(path) : 0;
    lido_arena_scratch_end(scratch);
    return length;
}

int main(void) {
    size_t length = length_of("/", "folder", 3);
    printf("%zu characters\n", length);
    return length == strlen("/folder/folder/folder") ? 0 : 1;
}
