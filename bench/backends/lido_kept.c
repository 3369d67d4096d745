// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// lido's pool of objects that stay constructed while they wait: lido_object_acquire and lido_object_release.
#include "backends/lido_object.h"

static inline void *slot_alloc(bench_slot slot) { return lido_object_acquire(slot->pool); }

static inline void slot_free(bench_slot slot, void *object) { lido_object_release(slot->pool, object); }

#include "workloads_all.h"

BENCH_BACKEND(lido_kept_backend, "lido-kept", BENCH_OBJECTS, "lido_object_acquire: objects that stay constructed");
