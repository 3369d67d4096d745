// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// The doubly linked lists of slabs: a head pointer, `previous` of the first is NULL. Caller holds the set's lock.
#ifndef LIDO_SLAB_SLAB_LIST_H
#define LIDO_SLAB_SLAB_LIST_H

#include "slab/segment.h"

LIDO_INLINE void lido__slab_push(lido__slab **list, lido__slab *slab) {
    slab->previous = NULL;
    slab->next = *list;
    if (*list != NULL) (*list)->previous = slab;
    *list = slab;
}

// Cost: the length of the list.
LIDO_INLINE void lido__slab_push_last(lido__slab **list, lido__slab *slab) {
    lido__slab *last = NULL;
    for (lido__slab *next = *list; next != NULL; next = next->next) last = next;
    slab->previous = last;
    slab->next = NULL;
    if (last != NULL) {
        last->next = slab;
    } else {
        *list = slab;
    }
}

LIDO_INLINE void lido__slab_unlink(lido__slab **list, lido__slab *slab) {
    if (slab->previous != NULL) {
        slab->previous->next = slab->next;
    } else {
        *list = slab->next;
    }
    if (slab->next != NULL) slab->next->previous = slab->previous;
}

#endif
