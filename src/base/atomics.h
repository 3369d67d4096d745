// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Atomic steps by name. One place, so that the exhaustive-interleaving test can put a scheduling point in front of each
// step of the real code: compiled with LIDO_EXPLORE, every macro first calls lido__explore_point().
#ifndef LIDO_BASE_ATOMICS_H
#define LIDO_BASE_ATOMICS_H

#include <stdatomic.h>

#if defined(LIDO_EXPLORE)
void lido__explore_point(void);
#define LIDO__POINT() lido__explore_point()
#else
#define LIDO__POINT() ((void)0)
#endif

#define LIDO__ATOMIC_LOAD(object, order) (LIDO__POINT(), atomic_load_explicit((object), memory_order_##order))
#define LIDO__ATOMIC_STORE(object, value, order) \
    (LIDO__POINT(), atomic_store_explicit((object), (value), memory_order_##order))
#define LIDO__ATOMIC_EXCHANGE(object, value, order) \
    (LIDO__POINT(), atomic_exchange_explicit((object), (value), memory_order_##order))
#define LIDO__ATOMIC_ADD(object, value, order) \
    (LIDO__POINT(), atomic_fetch_add_explicit((object), (value), memory_order_##order))
#define LIDO__ATOMIC_SUB(object, value, order) \
    (LIDO__POINT(), atomic_fetch_sub_explicit((object), (value), memory_order_##order))
// Compare and swap; on failure the current value lands in *expected, read with relaxed order.
#define LIDO__ATOMIC_CAS(object, expected, desired, order)                                                         \
    (LIDO__POINT(), atomic_compare_exchange_strong_explicit((object), (expected), (desired), memory_order_##order, \
                                                            memory_order_relaxed))

#endif
