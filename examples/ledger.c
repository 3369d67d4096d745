// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// What a pool saves and what it does not: a million objects of 56 bytes made and destroyed one after the other, with every request
// to the heap counted. The allocations go; the constructions and the contents are the same.
//
// Prints:
//                       heap allocations         bytes  constructed    destroyed
//     malloc                     1000000      56000000      1000000      1000000
//     pool of 4096                     1        229376      1000000      1000000
//     contents equal: yes
#include <lido/fixed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
    uint64_t untouched[3];
    char text[28];
    uint32_t tag;
};

enum { OBJECTS = 1000000, CAPACITY = 4096 };

static struct ledger {
    size_t allocations, bytes, constructed, destroyed;
    uint64_t contents;
} ledger;

static void *counted_malloc(size_t bytes) {
    ledger.allocations++;
    ledger.bytes += bytes;
    return malloc(bytes);
}

static void construct(struct message *message, unsigned serial) {
    memset(message->text, (int)(serial & 0x7f), sizeof message->text);
    message->tag = 0x80000000u | serial;
    ledger.constructed++;
}

static void destroy(struct message *message) {
    ledger.contents += message->tag + (uint64_t)message->text[27];
    message->tag = 0;
    ledger.destroyed++;
}

static struct ledger with_malloc(void) {
    ledger = (struct ledger){0};
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct message *message = (struct message *)counted_malloc(sizeof *message);
        if (message == NULL) exit(1);
        construct(message, i);
        destroy(message);
        free(message);
    }
    return ledger;
}

static struct ledger with_pool(void) {
    ledger = (struct ledger){0};
    size_t bytes = LIDO_FIXED_BYTES(CAPACITY, sizeof(struct message), 0);
    void *buffer = counted_malloc(bytes);
    lido_fixed pool;
    if (!lido_fixed_init(&pool, buffer, bytes, sizeof(struct message), 0)) exit(1);
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct message *message = (struct message *)lido_fixed_alloc(&pool);
        if (message == NULL) exit(1);
        construct(message, i);
        destroy(message);
        lido_fixed_free(&pool, message);
    }
    free(buffer);
    return ledger;
}

static void print(const char *name, const struct ledger *l) {
    printf("%-16s%18zu%14zu%13zu%13zu\n", name, l->allocations, l->bytes, l->constructed, l->destroyed);
}

int main(void) {
    struct ledger heap = with_malloc(), pool = with_pool();
    printf("%-16s%18s%14s%13s%13s\n", "", "heap allocations", "bytes", "constructed", "destroyed");
    print("malloc", &heap);
    print("pool of 4096", &pool);
    printf("contents equal: %s\n", heap.contents == pool.contents ? "yes" : "no");
    return 0;
}
