"""Means and intervals."""

import math
import random


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def interval(groups, draws=1000, seed=1):
    """Geometric mean over groups (tasks) of the geometric mean within each (seeds), and its 90% bootstrap interval: seeds
    are drawn anew within each task, the tasks are those that there are."""
    rng = random.Random(seed)
    center = geomean([geomean(group) for group in groups])
    means = sorted(geomean([geomean(rng.choices(group, k=len(group))) for group in groups]) for _ in range(draws))
    return center, means[int(0.05 * draws)], means[int(0.95 * draws) - 1]
