"""Gibbs sampling in NumPy: the twin of ``sampling.cpp``.

Here each sample is a part of its own: the counts of the topics change after each sweep, and the
first tokens of all samples are drawn together, then their second ones, and so on. The draws are
others than those of the core, from about the same distribution.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


# Entries whose topics are drawn at once, times components: 0.8 MB in single precision, which stays
# in the cache.
_CHUNK = 200_000


def draw_topics(
    row_starts: Array,
    features: Array,
    repeats: Array,
    weights: Array,
    topics: Array,
    seed: int,
    assignments: Array,
    threads: int,
) -> None:
    """Draw a topic for each token from the responsibilities of its entry."""
    rng, n_components = np.random.default_rng(seed), weights.shape[1]
    samples = np.repeat(np.arange(len(weights)), np.diff(row_starts))
    step, first_token = max(1, _CHUNK // n_components), 0
    for first in range(0, len(samples), step):
        entries = slice(first, first + step)
        bounds = weights[samples[entries]] * topics[features[entries], :n_components]
        np.cumsum(bounds, axis=1, out=bounds)
        entry = np.repeat(np.arange(len(bounds)), repeats[entries])
        at = rng.random(len(entry), np.float32) * bounds[entry, -1]
        drawn = (bounds[entry, :-1] <= at[:, np.newaxis]).sum(axis=1)
        assignments[first_token : first_token + len(entry)] = drawn
        first_token += len(entry)


def sample_sweeps(
    row_starts: Array,
    features: Array,
    repeats: Array,
    sizes: Array,
    copies: Array,
    alpha: Array,
    eta: float,
    sweeps: int,
    averaged: int,
    seed: int,
    assignments: Array,
    weight_counts: Array,
    topic_counts: Array,
    threads: int,
) -> None:
    """Sample the topic of each token, and average the expected counts of the last sweeps.

    Without averaged sweeps, the counts are those that were drawn last.
    """
    n_samples, n_components = weight_counts.shape
    rows = np.repeat(np.repeat(np.arange(n_samples), np.diff(row_starts)), repeats)
    columns = np.repeat(features, repeats).astype(np.int64)
    of_sample = np.repeat(sizes, repeats)
    of_topics = of_sample * copies[rows]
    lengths = np.bincount(rows, minlength=n_samples)
    first = np.cumsum(lengths) - lengths
    weight_counts[:], topic_counts[:] = 0, 0

    def summed(index: Array, values: Array, n_rows: int) -> Array:
        flat = np.bincount(index * n_components + assignments, values, n_rows * n_components)
        return flat.reshape(n_rows, n_components)

    for sweep in range(sweeps):
        rng = np.random.default_rng([seed, sweep])
        weights = summed(rows, of_sample, n_samples)
        topics = summed(columns, of_topics, len(topic_counts))
        totals = topics.sum(axis=0)
        terms = (topics + eta) / (totals + eta * len(topics))
        is_averaged = sweep >= sweeps - averaged
        for position in range(lengths.max(initial=0)):
            samples = np.flatnonzero(lengths > position)
            here, each = first[samples] + position, np.arange(len(samples))
            old, size = assignments[here], of_topics[here]
            weights[samples, old] -= of_sample[here]
            chances = terms[columns[here]]
            rest = topics[columns[here], old] - size + eta
            chances[each, old] = rest / (totals[old] - size + eta * len(topics))
            chances = np.cumsum(chances * (weights[samples] + alpha), axis=1)
            drawn = rng.random(len(samples)) * chances[:, -1]
            new = (chances <= drawn[:, np.newaxis]).sum(axis=1)
            assignments[here] = np.minimum(new, n_components - 1)
            weights[samples, assignments[here]] += of_sample[here]
            if is_averaged:
                shares = np.diff(chances, axis=1, prepend=0) / chances[:, -1:] / averaged
                weight_counts[samples] += of_sample[here, np.newaxis] * shares
                np.add.at(topic_counts, columns[here], size[:, np.newaxis] * shares)
    if not averaged:
        weight_counts[:] = summed(rows, of_sample, n_samples)
        topic_counts[:] = summed(columns, of_topics, len(topic_counts))
