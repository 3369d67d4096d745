// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido's pool of objects, constructed each time: lido_object_new and lido_object_delete.
#include "backends/lido_object.h"

static inline void *slot_alloc(bench_slot slot) { return lido_object_new(slot->pool, NULL); }

static inline void slot_free(bench_slot slot, void *object) { lido_object_delete(slot->pool, object); }

#include "workloads_all.h"

BENCH_BACKEND(lido_object_backend, "lido-object", BENCH_OBJECTS, "lido_object_new: constructed each time");
