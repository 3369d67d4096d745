// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Any size: the malloc family under lido's name, and a heap of its own whose blocks all go in one call.
//
// Prints:
//     hello, world: grown in place or moved, contents kept
//     aligned to 256: yes
//     a heap with 1000 blocks of 1 to 5000 bytes, gone in one call
#include <lido/heap.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char *text = (char *)lido_malloc(6);
    if (text == NULL) return perror("malloc"), 1;
    memcpy(text, "hello", 6);
    char *grown = (char *)lido_realloc(text, 100);
    if (grown == NULL) return perror("realloc"), 1;
    strcat(grown, ", world");
    printf("%s: grown in place or moved, contents kept\n", grown);
    lido_free(grown);

    void *aligned = lido_aligned_alloc(256, 1000);
    if (aligned == NULL) return perror("aligned_alloc"), 1;
    printf("aligned to 256: %s\n", (uintptr_t)aligned % 256 == 0 ? "yes" : "no");
    lido_free(aligned);

    // Of one thread, blocks side by side as in an arena; single ones may be freed and are used again.
    lido_heap *heap = lido_heap_new(&(lido_heap_options){.name = "parse", .bump = true});
    if (heap == NULL) return perror("parse"), 1;
    int count = 0;
    for (; count < 1000; count++) {
        void *block = lido_heap_alloc(heap, 1 + (size_t)count * 5);
        if (block == NULL) return perror("parse"), 1;
        if (count % 7 == 0) lido_heap_free(heap, block);
    }
    lido_heap_destroy(heap);
    printf("a heap with %d blocks of 1 to 5000 bytes, gone in one call\n", count);
    return 0;
}
