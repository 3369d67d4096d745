// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Objects that stay constructed between uses: the expensive part of a parser, its table, is built once and reset each time.
//
// Prints:
//     1000 requests, 1 parser built, 1 idle
#include <lido/object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
    unsigned char *table;
    size_t used;
};

static int built;

static int parser_construct(void *object, void *arguments, void *context) {
    struct parser *p = (struct parser *)object;
    (void)arguments;
    p->table = malloc(*(const size_t *)context);
    if (p->table == NULL) return 12;    // becomes errno
    memset(p->table, 1, *(const size_t *)context);
    p->used = 0;
    built++;
    return 0;
}
static void parser_reset(void *object, void *context) {
    (void)context;
    ((struct parser *)object)->used = 0;
}
static void parser_destroy(void *object, void *context) {
    (void)context;
    free(((struct parser *)object)->table);
    built--;
}

int main(void) {
    size_t table_bytes = 4096;
    lido_type type = {.name = "parser",
                      .size = sizeof(struct parser),
                      .construct = parser_construct,
                      .destroy = parser_destroy,
                      .reset = parser_reset,
                      .context = &table_bytes};
    lido_object_pool *parsers = lido_object_pool_new(&type, NULL);
    if (parsers == NULL) return 1;
    for (int request = 0; request < 1000; request++) {
        struct parser *p = lido_object_acquire(parsers);
        if (p == NULL || p->used != 0) return 1;
        p->used = p->table[request % 100];
        lido_object_release(parsers, p);
    }
    int most = built;
    printf("1000 requests, %d parser built, %zu idle\n", most, lido_object_pool_stats(parsers).idle);
    lido_object_pool_trim(parsers);    // or the end of the pool
    lido_object_pool_destroy(parsers);
    return most == 1 && built == 0 ? 0 : 1;
}
