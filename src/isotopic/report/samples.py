"""The samples of a report: which are kept, their topics and their distinctive terms."""

from typing import Any

import numpy as np
from scipy import special

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.report.limits import Limits


def choose_samples(proportions: Array, limits: Limits) -> tuple[Array, Array]:
    """Return the samples that the report keeps, in order, and which of them are at equal steps.

    If there are too many, it keeps those with the largest share of each topic, and others at equal
    steps, which represent the whole.
    """
    n_samples, n_topics = proportions.shape
    if n_samples <= limits.samples:
        return np.arange(n_samples), np.ones(n_samples, dtype=bool)
    n_best = min(limits.best_samples, limits.samples // (2 * n_topics))
    best = np.argpartition(-proportions, n_best, axis=0)[:n_best].ravel()
    steps = np.linspace(0, n_samples - 1, max(1, limits.samples - best.size)).astype(np.int64)
    which = np.union1d(best, steps)
    return which, np.isin(which, steps)


def distinctive_terms(
    X: CountMatrix, weights: Array, topics: Array, frequencies: Array, n: int
) -> dict[str, Array]:
    r"""Return ``n`` terms that distinguish each sample, and the topic that explains each term.

    These terms contribute most to the divergence of the sample from all samples together,
    :math:`x_{dv} \log (x_{dv} / (x_{d \cdot} p_v))` with the frequencies :math:`p`. A count is
    distributed in proportion to the products of the effective weights and topics.
    """
    by_feature = np.ascontiguousarray(topics.T)
    starts, chosen, owners = [0], [], []
    for row, total in enumerate(X.sample_totals):
        entries = np.arange(X.row_starts[row], X.row_starts[row + 1])
        expected = total * frequencies[X.features[entries]]
        own = special.rel_entr(X.values[entries].astype(np.float64), expected)
        entries = entries[np.argsort(-own, kind="stable")[:n]]
        starts.append(starts[-1] + len(entries))
        chosen.append(entries)
        owners.append((weights[row] * by_feature[X.features[entries]]).argmax(axis=1))
    entries = np.concatenate(chosen)
    return {
        "starts": np.array(starts),
        "terms": X.features[entries],
        "counts": X.values[entries],
        "topics": np.concatenate(owners),
    }


def shorten(values: Any, most: int) -> list[str]:
    """Return values as text, cut with an ellipsis after more than ``most`` characters."""
    texts = []
    for text in map(str, values):
        texts.append(text if len(text) <= most else text[: most - 1] + "…")
    return texts
