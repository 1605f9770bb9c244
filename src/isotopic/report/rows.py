"""All counts of the samples, and what the page needs to say which topic explains each of them."""

from itertools import pairwise
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.report.chunks import Archive, compress_tree, split_evenly

# Entries of a chunk: about 0.2 MB before compression.
_ENTRIES = 60_000

# Topics that are kept for a term, the strongest ones; the others share their mean.
_TOPICS_OF_TERM = 16

# Values relative to the largest one of their term are stored as logarithms in steps of 1 / 2048 of
# a factor of two, as uint16: an error of 0.02 %, and a range of 32 factors of two.
_STEPS, _LEAST = 2048, 65535


def row_archive(X: CountMatrix, terms: Array, weights: list[Array]) -> Archive:
    """Return the counts of samples as chunks.

    ``terms`` has the number of each feature in the page. ``weights`` has for each sample the
    effective weights of its listed topics, relative to the largest.

    Low and high bytes of the features are apart, since they compress better so.
    """
    lengths = np.diff(X.row_starts)
    bounds = split_evenly(lengths + 1, _ENTRIES)
    chunks = []
    for start, stop in pairwise(bounds):
        entries = slice(X.row_starts[start], X.row_starts[stop])
        numbers = terms[X.features[entries]].astype(np.int64)
        # Features ascend within a row: differences are small numbers, which compress better.
        first = X.row_starts[start:stop][lengths[start:stop] > 0] - X.row_starts[start]
        steps = np.diff(numbers, prepend=0)
        steps[first] = numbers[first]
        tree = {
            "lengths": lengths[start:stop],
            "low": steps % 256,
            "high": steps // 256,
            "counts": X.values[entries],
            "weights": as_steps(np.concatenate([*weights[start:stop], np.empty(0)])),
        }
        chunks.append(compress_tree(tree))
    return Archive(bounds, chunks)


def topic_values(topics: Array) -> dict[str, Array]:
    """Return the strongest topics of each feature, as a table that the page computes with.

    ``topics`` are the effective ones (topics x features). Together with the effective weights of a
    sample they give the probability of each topic for each count.
    """
    n = min(_TOPICS_OF_TERM, len(topics))
    largest = np.maximum(topics.max(axis=0), np.finfo(float).tiny)
    order = np.argsort(-topics, axis=0, kind="stable")[:n]
    values = np.take_along_axis(topics, order, axis=0)
    rest = (topics.sum(axis=0) - values.sum(axis=0)) / max(1, len(topics) - n)
    kept = (values > 1.05 * rest) & (values > 0)
    return {
        "starts": np.append(0, np.cumsum(kept.sum(axis=0))),
        "topics": order.T[kept.T],
        "values": as_steps((values / largest).T[kept.T]),
        "rest": as_steps(np.maximum(rest, 0) / largest),
    }


def as_steps(values: Array) -> Array:
    """Return values of at most one as logarithms in steps; the last step stands for zero.

    The page has the inverse, ``fromSteps``.
    """
    with np.errstate(divide="ignore"):
        steps = -_STEPS * np.log2(values)
    return np.asarray(np.minimum(np.rint(steps), _LEAST).astype(np.uint16))


def listed_weights(weights: Array, mixtures: dict[str, Any]) -> list[Array]:
    """Return the effective weights of each sample's listed topics, relative to the largest."""
    starts, topics = mixtures["starts"], mixtures["topics"]
    listed = []
    for row, (start, stop) in enumerate(pairwise(starts)):
        values = weights[row, topics[start:stop]]
        largest = values.max(initial=0)
        listed.append(values / largest if largest > 0 else values)
    return listed
