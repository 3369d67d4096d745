// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Copies and formatted text in an arena.
#include "arena/arena.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

char *lido_arena_strndup(lido_arena *arena, const char *s, size_t length) {
    length = strnlen(s, length);
    char *text = (char *)lido_arena_alloc_aligned(arena, 1, length + 1);
    if (text == NULL) return NULL;
    memcpy(text, s, length);
    text[length] = '\0';
    return text;
}

void *lido_arena_memdup(lido_arena *arena, const void *p, size_t size) {
    void *block = lido_arena_alloc(arena, size);
    return block != NULL && size > 0 ? memcpy(block, p, size) : block;
}

// Prints into the rest of the chunk; most texts fit, and are then done.
char *lido_arena_vprintf(lido_arena *arena, const char *format, va_list arguments) {
    int saved = errno;
    size_t room = lido__min((size_t)(arena->face.limit - arena->face.next), INT_MAX);
    va_list again;
    va_copy(again, arguments);
    char *text = arena->face.next;
    int length = vsnprintf(text, room, format, arguments);
    if (length >= 0 && (size_t)length < room) {
        arena->face.next += (size_t)length + 1;
        errno = saved;
    } else {
        text = length >= 0 ? (char *)lido_arena_alloc_aligned(arena, 1, (size_t)length + 1) : NULL;
        if (text != NULL) {
            errno = saved;
            vsnprintf(text, (size_t)length + 1, format, again);
        }
    }
    va_end(again);
    return text;
}

char *lido_arena_printf(lido_arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = lido_arena_vprintf(arena, format, arguments);
    va_end(arguments);
    return text;
}
