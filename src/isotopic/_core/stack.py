"""Passes of several runs at once in NumPy: the twin of ``stack.hpp``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

STACK_WIDTH = 16


def stacked_pass(
    segment_features: Array,
    segment_starts: Array,
    entry_rows: Array,
    values: Array,
    weights: Array,
    topics: Array,
    totals: Array,
    weight_counts: Array,
    topic_counts: Array,
    sums: Array,
) -> None:
    """Add the expected counts of all runs, their log-likelihoods and gaps to zeros."""
    features = np.repeat(segment_features, np.diff(segment_starts))
    smallest = np.finfo(np.float32).tiny
    for begin in range(0, len(features), 2**12):
        some = slice(begin, begin + 2**12)
        rows, columns, x = entry_rows[some], features[some], values[some]
        products = np.einsum("ekr,ekr->er", weights[rows], topics[columns])
        is_empty = products < smallest * np.maximum(4 * x, 1)
        products = np.where(is_empty, smallest, products)
        sums[0] += (x * np.log(products)).sum(axis=0, dtype=np.float64)
        ratios = np.where(is_empty, 0, x / products)[:, np.newaxis]
        np.add.at(weight_counts, rows, ratios * topics[columns])
        np.add.at(topic_counts, columns, ratios * weights[rows])
    weight_counts *= weights
    topic_counts *= topics
    sums[1] += np.abs(weights - weight_counts).sum(axis=(0, 1), dtype=np.float64)
    sums[2] += np.abs(topics * totals - topic_counts).sum(axis=(0, 1), dtype=np.float64)


def extrapolate_stack(
    latest: Array, previous: Array, totals: Array, momentum: Array, floor: Array, to: Array
) -> None:
    """Extrapolate counts along their last change and scale each row of a run to its total."""
    smallest = np.finfo(np.float32).tiny
    is_positive = latest >= smallest
    has_moved = is_positive & (previous >= smallest)
    change = np.divide(latest, previous, out=np.ones_like(latest), where=has_moved)
    with np.errstate(over="ignore", under="ignore"):
        further = latest * change**momentum
    most, least = totals[:, np.newaxis], (totals * floor)[:, np.newaxis]
    further = np.where(is_positive, np.maximum(np.minimum(further, most), least), 0)
    by_row = further.sum(axis=1)
    scale = np.divide(totals, by_row, out=np.ones_like(by_row), where=by_row > 0)
    to[:] = further * scale[:, np.newaxis]
