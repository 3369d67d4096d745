# SPDX-License-Identifier: MIT
# Copyright (c) 2026 the lido authors
"""How often an interval claims a difference between two equal allocators: the tables of ../003-bench.md."""

import math
import random
import statistics

TRIALS, RESAMPLES = 400, 400
TRIALS_UNEQUAL = 1000
MEDIAN_RANK = {5: 0, 7: 0, 9: 1, 15: 3}  # order statistics that hold the median with 95 %
PRECISION, ROUNDS_MAX = 0.03, 15


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


def rounds_of(row, base, rounds, repeats, wide=1):
    """Adds what a number of rounds measures: all samples of a round have its drift."""
    for _ in range(rounds):
        drift = math.exp(random.gauss(0, 0.03))
        row += [sample(drift) for _ in range(wide)]
        base += [sample(drift) for _ in range(repeats * wide)]


def until_narrow(repeats, wide):
    """What the tool does: five rounds, then more, with more samples each, until the interval is narrow."""
    row, base = [], []
    rounds_of(row, base, 5, repeats)
    for done in range(5, ROUNDS_MAX + 1):
        low, high = each_for_itself(row, base)
        if (high - low) / 2 <= PRECISION * statistics.median(row) / statistics.median(base) or done == ROUNDS_MAX:
            return low, high, done
        rounds_of(row, base, 1, repeats, wide)


def equal_counts():
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


def unequal_counts():
    random.seed(4)
    for rounds in MEDIAN_RANK:
        for repeats in (1, 3):
            wrong = width = 0
            for _ in range(TRIALS_UNEQUAL):
                row, base = [], []
                rounds_of(row, base, rounds, repeats)
                low, high = each_for_itself(row, base)
                wrong += not low <= 1 <= high
                width += high - low
            print(f"{rounds:2} rounds, baseline {repeats} times: false difference {100 * wrong / TRIALS_UNEQUAL:4.1f} %, "
                  f"width {width / TRIALS_UNEQUAL:.3f}")


def stopping():
    random.seed(5)
    for repeats, wide in ((1, 1), (3, 1), (3, 2)):
        wrong = width = rounds = 0
        for _ in range(TRIALS_UNEQUAL):
            low, high, done = until_narrow(repeats, wide)
            wrong += not low <= 1 <= high
            width += high - low
            rounds += done
        print(f"until narrow, baseline {repeats} times, wide rows {wide} times: false difference {100 * wrong / TRIALS_UNEQUAL:4.1f} %, "
              f"width {width / TRIALS_UNEQUAL:.3f}, {rounds / TRIALS_UNEQUAL:.1f} rounds")


if __name__ == "__main__":
    equal_counts()
    unequal_counts()
    stopping()
