// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// A log-linear histogram of ticks, after the scheme of HdrHistogram: each power of two is cut into 128 equal buckets, so
// that a value is known to 1/128 of itself (0.8 %); values below 256 are exact.
//
//   ticks            0 1 2 ... 255 | 256,257  258,259 ... 510,511 | 512..515  516..519 ...
//   bucket           0 1 2 ... 255 | 256      257     ... 383     | 384       385 ...
//   shift            0               1                              2
//
//   bucket = (shift + 1) * 128 + (ticks >> shift) - 128,   128 <= ticks >> shift < 256 where shift > 0
//   highest(bucket) - ticks <= (1 << shift) - 1 < ticks / 128
//
// A histogram belongs to one thread; merging and reading is for when its owner is done.
#ifndef LIDO_BENCH_HISTOGRAM_H
#define LIDO_BENCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    HISTOGRAM_PART_BITS = 7,
    HISTOGRAM_PARTS = 1 << HISTOGRAM_PART_BITS,
    HISTOGRAM_TICK_BITS = 39,    // 100 s at 5 GHz is 2^38.9 ticks; longer ones are counted as the longest
    HISTOGRAM_BUCKETS = (HISTOGRAM_TICK_BITS - HISTOGRAM_PART_BITS + 1) * HISTOGRAM_PARTS,
};

typedef struct histogram {
    uint64_t total;
    uint64_t counts[HISTOGRAM_BUCKETS];
} histogram;

static inline size_t histogram_bucket(uint64_t ticks) {
    if (ticks >> HISTOGRAM_TICK_BITS != 0) return HISTOGRAM_BUCKETS - 1;
    unsigned shift = 63u - (unsigned)__builtin_clzll(ticks | HISTOGRAM_PARTS) - HISTOGRAM_PART_BITS;
    return (size_t)shift * HISTOGRAM_PARTS + (size_t)(ticks >> shift);
}

// The highest value that falls in the bucket.
static inline uint64_t histogram_highest(size_t bucket) {
    if (bucket < 2 * HISTOGRAM_PARTS) return bucket;
    unsigned shift = (unsigned)(bucket / HISTOGRAM_PARTS) - 1;
    return (((uint64_t)(bucket % HISTOGRAM_PARTS) + HISTOGRAM_PARTS + 1) << shift) - 1;
}

static inline void histogram_add(histogram *h, uint64_t ticks) {
    h->counts[histogram_bucket(ticks)]++;
    h->total++;
}

static inline void histogram_merge(histogram *into, const histogram *from) {
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) into->counts[i] += from->counts[i];
    into->total += from->total;
}

// The least value that `share` (0 to 1) of all values do not exceed, to the precision of a bucket. Requires: a value.
static inline uint64_t histogram_at(const histogram *h, double share) {
    double wanted =
        share * (double)h->total - 0.001;    // a product that rounding put above a whole number is that number
    uint64_t seen = 0;
    size_t last = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (h->counts[i] == 0) continue;
        last = i;
        seen += h->counts[i];
        if ((double)seen >= wanted) break;
    }
    return histogram_highest(last);
}

#endif
