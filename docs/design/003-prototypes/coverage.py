# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""How often an interval claims a difference between two equal allocators: the table of ../003-bench.md."""

import math
import random
import statistics

TRIALS, RESAMPLES = 400, 400
MEDIAN_RANK = {5: 0, 7: 0, 9: 1, 15: 3}  # order statistics that hold the median with 95 %


def sample(drift):
    noise = random.gauss(0, 0.02)
    if random.random() < 0.15:
        noise += abs(random.gauss(0, 0.2))
    return drift * math.exp(noise)


def middle(ratios):
    ratios.sort()
    return ratios[int(0.025 * len(ratios))], ratios[int(0.975 * len(ratios)) - 1]


def by_round(a, b):
    ratios = []
    for _ in range(RESAMPLES):
        drawn = [random.randrange(len(a)) for _ in a]
        ratios.append(statistics.median(a[i] for i in drawn) / statistics.median(b[i] for i in drawn))
    return middle(ratios)


def each_for_itself(a, b):
    return middle([statistics.median(random.choices(a, k=len(a))) / statistics.median(random.choices(b, k=len(b)))
                   for _ in range(RESAMPLES)])


def distribution_free(a, b):
    ratios, rank = sorted(x / y for x, y in zip(a, b)), MEDIAN_RANK[len(a)]
    return ratios[rank], ratios[len(ratios) - 1 - rank]


random.seed(3)
for rounds in MEDIAN_RANK:
    for method in (by_round, each_for_itself, distribution_free):
        wrong = width = 0
        for _ in range(TRIALS):
            drifts = [math.exp(random.gauss(0, 0.03)) for _ in range(rounds)]
            low, high = method([sample(d) for d in drifts], [sample(d) for d in drifts])
            wrong += not low <= 1 <= high
            width += high - low
        print(f"{rounds:2} rounds, {method.__name__:18} false difference {100 * wrong / TRIALS:4.1f} %, width {width / TRIALS:.3f}")
