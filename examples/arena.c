// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A batch that dies together: a server reads a request into an arena, tries to make sense of it, answers, and takes
// everything back by one reset. Shows blocks, text, marks, cleanups, a child arena, a limit, and an arena over a buffer.
//
// Prints:
//     1000 requests in 8192 bytes
//     81 lines in a buffer of 1024 bytes
#include <lido/arena.h>
#include <stdio.h>
#include <string.h>

struct header {
    const char *name, *value;
    struct header *next;
};

static void close_file(void *file) { fclose((FILE *)file); }

// A list of what looks like "name: value"; what it took for a line that turns out to be none goes back at once.
static struct header *parse(lido_arena *arena, const char *text) {
    struct header *first = NULL;
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        lido_arena_point before = lido_arena_mark(arena);
        char *line = lido_arena_strndup(arena, text, length);
        struct header *header = LIDO_ARENA_NEW(arena, struct header);
        if (line == NULL || header == NULL) return NULL;    // the limit of the arena
        char *colon = strstr(line, ": ");
        if (colon != NULL) {
            *colon = '\0';
            *header = (struct header){line, colon + 2, first};
            first = header;
        } else {
            lido_arena_rewind(arena, before);
        }
        text += length + (text[length] == '\n');
    }
    return first;
}

// The answer lives as long as the request, the file until the request is over.
static const char *answer(lido_arena *request, const struct header *headers) {
    FILE *log = tmpfile();
    if (log == NULL) return NULL;
    if (lido_arena_defer(request, close_file, log) != 0) {
        fclose(log);
        return NULL;
    }
    size_t size = 1;
    char *text = lido_arena_strdup(request, "");
    for (; text != NULL && headers != NULL; headers = headers->next) {    // grows in place, as nothing comes between
        size_t more = strlen(headers->name) + 1;
        text = (char *)lido_arena_realloc(request, text, size, size + more);
        if (text == NULL) return NULL;
        memcpy(text + size - 1, headers->name, more - 1);
        memcpy(text + size + more - 2, ";", 2);
        size += more;
    }
    if (text != NULL) fprintf(log, "%s\n", text);
    return text;
}

int main(void) {
    // 64 KiB for all that a connection may take, and a child for each request
    lido_arena *connection = lido_arena_new(&(lido_arena_options){.name = "connection", .limit_bytes = 64 << 10});
    lido_arena *request = lido_arena_new(&(lido_arena_options){.name = "request", .parent = connection});
    if (connection == NULL || request == NULL) return 1;
    for (int i = 0; i < 1000; i++) {
        const struct header *headers = parse(request, "Host: here\nnonsense\nAccept: all\n");
        const char *text = answer(request, headers);
        if (text == NULL || strcmp(text, "Accept;Host;") != 0) return 2;
        lido_arena_reset(request);    // closes the file, keeps the chunks
    }
    lido_arena_statistics statistics = lido_arena_stats(connection);
    printf("1000 requests in %zu bytes\n", statistics.held_bytes);
    lido_arena_free(connection);    // and the child

    // no memory but this buffer
    static char buffer[1024];
    lido_arena *small =
        lido_arena_new(&(lido_arena_options){.buffer = buffer, .buffer_bytes = sizeof buffer, .fixed = true});
    int count = 0;
    while (lido_arena_printf(small, "line %d", count) != NULL) count++;
    printf("%d lines in a buffer of %zu bytes\n", count, sizeof buffer);
    lido_arena_free(small);
    return count > 0 && statistics.held_bytes <= 64 << 10 ? 0 : 3;
}
