// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the lido authors
//
// Histograms of latencies as the workers print them. Buckets are the workers' (bench/worker/look.c, at most 1 % wide), so
// merging those of all rounds loses nothing.
#include "bench.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    double x = ((const bench_bucket *)a)->ns, y = ((const bench_bucket *)b)->ns;
    return (x > y) - (x < y);
}

static void append(bench_histogram *histogram, bench_bucket bucket) {
    if (histogram->count == histogram->room) {
        histogram->room = histogram->room == 0 ? 256 : histogram->room * 2;
        histogram->buckets = realloc(histogram->buckets, (size_t)histogram->room * sizeof *histogram->buckets);
        if (histogram->buckets == NULL) abort();
    }
    histogram->buckets[histogram->count++] = bucket;
}

// Sorts, and joins buckets of one value.
static void join(bench_histogram *histogram) {
    int kept = 0;
    if (histogram->count == 0) return;
    qsort(histogram->buckets, (size_t)histogram->count, sizeof *histogram->buckets, ascending);
    for (int i = 1; i < histogram->count; i++) {
        bench_bucket *last = &histogram->buckets[kept], *next = &histogram->buckets[i];
        if (next->ns > last->ns)
            histogram->buckets[++kept] = *next;
        else
            last->count += next->count;
    }
    histogram->count = kept + 1;
}

bool bench_histogram_add(bench_histogram *histogram, const char *text) {
    while (*text != '\0') {
        char *end;
        bench_bucket bucket = {strtod(text, &end), 0};
        if (end == text || *end != ':' || !(bucket.ns >= 0)) return false;
        text = end + 1;
        bucket.count = strtoull(text, &end, 10);
        if (end == text || (*end != ',' && *end != '\0')) return false;
        append(histogram, bucket);
        text = *end == ',' ? end + 1 : end;
    }
    join(histogram);
    return true;
}

void bench_histogram_merge(bench_histogram *histogram, const bench_histogram *other) {
    for (int i = 0; i < other->count; i++) append(histogram, other->buckets[i]);
    join(histogram);
}

uint64_t bench_histogram_total(const bench_histogram *histogram) {
    uint64_t total = 0;
    for (int i = 0; i < histogram->count; i++) total += histogram->buckets[i].count;
    return total;
}

double bench_histogram_at(const bench_histogram *histogram, double share) {
    uint64_t total = bench_histogram_total(histogram), seen = 0;
    if (total == 0) return NAN;
    double wanted = ceil(share * (double)total);
    for (int i = 0; i < histogram->count; i++) {
        seen += histogram->buckets[i].count;
        if ((double)seen >= wanted) return histogram->buckets[i].ns;
    }
    return histogram->buckets[histogram->count - 1].ns;
}
