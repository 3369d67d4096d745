// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Orders of an exchange: objects of five kinds and sizes, most of which are gone after a few messages, while a few rest in the
// book for long.
//
//   size, bytes       64 cancel   96 limit order   144 with an iceberg part   256 with legs   480 basket
//   of 256            102         90               38                         18              8
//   lives, in steps   128 of 256: 1 to life/1000    102: up to life/50    26: up to life
//
// At R orders a second the share of a CPU that goes into the allocator is at most ns_per_op * R / 10^9.
#include "workloads/parts/wheel.h"

enum { ORDERS_SIZES = 5 };
static const size_t orders_sizes[ORDERS_SIZES] = {64, 96, 144, 256, 480};

static inline wheel_fate orders_draw(uint64_t dice, uint64_t life) {
    uint32_t kind = 0, die = (uint32_t)(dice >> 56), length = (uint32_t)(dice >> 48) & 0xff;
    if (die >= 102) kind++;
    if (die >= 192) kind++;
    if (die >= 230) kind++;
    if (die >= 248) kind++;
    uint64_t most = length < 128 ? life / 1000 : length < 230 ? life / 50 : life;
    wheel_fate fate = {kind, 1 + ((dice & 0xffffffff) * most >> 32)};
    if (fate.steps > life) fate.steps = life;
    return fate;
}

static void orders_run(bench_run *run) {
    static const wheel_plan plan = {orders_sizes, ORDERS_SIZES, orders_draw};
    wheel_run(run, &plan);
}

BENCH_WORKLOAD(orders, BENCH_SIZES, "one order created and one destroyed",
               "400,000 orders of 64 to 480 bytes, most soon gone, some resting in the book for long",
               {"count", 400000, 1, 1000000000, "orders in a pass"},
               {"life", 100000, 1, WHEEL_LIFE_MAX, "steps that an order lives at most"});
