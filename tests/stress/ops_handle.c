// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Operations on pools of handles. Some pools have slots of three generations only, so that slots are retired all the time.
#include "ops.h"

#include "object/handle.h"

#include <errno.h>
#include <string.h>

static ops_handles *choose(ops_machine *m) {
    unsigned start = ops_byte(m);
    for (unsigned i = 0; i < OPS_HANDLE_POOLS; i++) {
        ops_handles *h = &m->handles[(start + i) % OPS_HANDLE_POOLS];
        if (h->pool != NULL) return h;
    }
    return NULL;
}

static void op_pool_new(ops_machine *m) {
    ops_handles *h = &m->handles[ops_byte(m) % OPS_HANDLE_POOLS];
    unsigned mode = ops_byte(m);
    if (h->pool != NULL) return;
    memset(h, 0, sizeof *h);
    h->size = 1 + ops_size(m, 11) % 3000;
    h->capacity = mode % 3 == 0 ? 1 + mode / 3 : 0;
    lido_type type = {.name = "handles", .size = h->size, .align = mode % 5 == 0 ? ops_alignment(m, 12) : 0};
    lido_handle_options options = {.threads = mode % 2 == 0 ? LIDO_LOCAL : LIDO_SHARED, .capacity = h->capacity};
    h->pool = lido_handle_pool_new(&type, &options);
    if (h->pool == NULL) {
        OPS_CHECK(m, m->may_fail && errno == ENOMEM, "no pool, errno %d", errno);
        errno = 0;
        m->failures++;
        return;
    }
    if (mode % 4 == 0) lido__handle_pool_retire_after(h->pool, 5);
}

static void check_one(ops_machine *m, ops_handles *h, unsigned i) {
    const uint8_t *object = lido_handle_get(h->pool, h->known[i].handle);
    if (!h->known[i].live) {
        OPS_CHECK(m, object == NULL, "handle %llx is stale and finds %p", (unsigned long long)h->known[i].handle.bits,
                  (const void *)object);
        return;
    }
    OPS_CHECK(m, object != NULL, "handle %llx finds nothing", (unsigned long long)h->known[i].handle.bits);
    OPS_CHECK(m, object[0] == h->known[i].tag && object[h->size - 1] == h->known[i].tag, "an object changed");
    lido_handle of = lido_handle_of(h->pool, object + h->size - 1);
    OPS_CHECK(m, of.bits == h->known[i].handle.bits, "handle_of finds %llx", (unsigned long long)of.bits);
}

static void op_new(ops_machine *m) {
    ops_handles *h = choose(m);
    if (h == NULL) return;
    for (unsigned count = 1 + ops_byte(m) % 8; count > 0; count--) {
        unsigned i = ops_byte(m) % OPS_KNOWN_HANDLES;
        if (h->known[i].live) continue;
        lido_handle handle = lido_handle_new(h->pool, NULL);
        if (handle.bits == 0) {
            bool full = h->capacity != 0 && h->live == h->capacity;
            OPS_CHECK(m, errno == ENOMEM && (full || m->may_fail), "no object with %zu of %zu alive, errno %d", h->live,
                      h->capacity, errno);
            errno = 0;
            return;
        }
        for (unsigned k = 0; k < OPS_KNOWN_HANDLES; k++)
            OPS_CHECK(m, h->known[k].handle.bits != handle.bits, "a handle came twice");
        h->live++;
        OPS_CHECK(m, h->capacity == 0 || h->live <= h->capacity, "%zu objects of %zu", h->live, h->capacity);
        h->known[i].handle = handle;
        h->known[i].live = true;
        h->known[i].tag = (uint8_t)++m->serial;
        memset(lido_handle_get(h->pool, handle), h->known[i].tag, h->size);
        check_one(m, h, i);
    }
}

static void end_one(ops_machine *m, ops_handles *h, unsigned i) {
    check_one(m, h, i);
    bool ended = lido_handle_delete(h->pool, h->known[i].handle);
    OPS_CHECK(m, ended == h->known[i].live, "delete says %d", (int)ended);
    h->live -= ended;
    h->known[i].live = false;
    check_one(m, h, i);
}

static void op_delete(ops_machine *m) {
    ops_handles *h = choose(m);
    if (h == NULL) return;
    for (unsigned count = 1 + ops_byte(m) % 8; count > 0; count--) end_one(m, h, ops_byte(m) % OPS_KNOWN_HANDLES);
}

static void op_get(ops_machine *m) {
    ops_handles *h = choose(m);
    if (h == NULL) return;
    for (unsigned i = 0; i < OPS_KNOWN_HANDLES; i++) check_one(m, h, i);
    OPS_CHECK(m, lido_handle_pool_stats(h->pool).live == h->live, "%zu alive, but the model has %zu",
              lido_handle_pool_stats(h->pool).live, h->live);
}

typedef struct walk {
    ops_machine *m;
    ops_handles *h;
    const void *last;
    unsigned delete_every;
    size_t seen;
} walk;

static bool visit(void *object, lido_handle handle, void *context) {
    walk *w = context;
    unsigned i = 0;
    OPS_CHECK(w->m, object > w->last, "%p comes after %p", object, w->last);
    w->last = object;
    while (i < OPS_KNOWN_HANDLES && !(w->h->known[i].live && w->h->known[i].handle.bits == handle.bits)) i++;
    OPS_CHECK(w->m, i < OPS_KNOWN_HANDLES, "a visit shows handle %llx, which is not alive",
              (unsigned long long)handle.bits);
    w->seen++;
    if (w->delete_every != 0 && w->seen % w->delete_every == 0) end_one(w->m, w->h, i);
    return true;
}

static void op_visit(ops_machine *m) {
    ops_handles *h = choose(m);
    unsigned mode = ops_byte(m);
    if (h == NULL) return;
    walk w = {.m = m, .h = h, .delete_every = mode % 3 == 0 ? 1 + mode / 64 : 0};
    size_t live = h->live, visited = lido_handle_visit(h->pool, visit, &w);
    OPS_CHECK(m, visited == live && w.seen == live, "%zu visited, %zu shown of %zu", visited, w.seen, live);
}

static void op_pool_destroy(ops_machine *m) {
    ops_handles *h = choose(m);
    if (h == NULL) return;
    lido_handle_pool_destroy(h->pool);
    h->pool = NULL;
}

void ops_handles_finish(ops_machine *m) {
    for (int i = 0; i < OPS_HANDLE_POOLS; i++) {
        lido_handle_pool_destroy(m->handles[i].pool);
        m->handles[i].pool = NULL;
    }
}

const ops_entry ops_handle_table[] = {
    {"handles new pool", op_pool_new, 30},
    {"handle new", op_new, 90},
    {"handle delete", op_delete, 70},
    {"handle get", op_get, 30},
    {"handle visit", op_visit, 20},
    {"handles destroy", op_pool_destroy, 6},
    {NULL, NULL, 0},
};
