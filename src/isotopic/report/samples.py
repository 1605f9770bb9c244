"""The samples of a report: which are kept, their topics and their distinctive terms."""

from typing import Any

import numpy as np
from scipy import special

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.report.limits import Limits

# Samples that are listed for each topic: those with its largest share.
_BEST = 6


def choose_samples(proportions: Array, limits: Limits) -> tuple[Array, Array]:
    """Return the samples that the report keeps.

    If there are too many, it keeps those with the largest share of each topic, and others at equal
    steps, which represent the whole.

    Parameters
    ----------
    proportions : ndarray of shape (samples, components)
    limits : Limits

    Returns
    -------
    which : ndarray of int
        In ascending order.
    spread : ndarray of bool
        Which of them are at equal steps.
    """
    n_samples, n_topics = proportions.shape
    if n_samples <= limits.samples:
        return np.arange(n_samples), np.ones(n_samples, dtype=bool)
    n_best = min(limits.best_samples, limits.samples // (2 * n_topics))
    best = np.argpartition(-proportions, n_best, axis=0)[:n_best].ravel()
    steps = np.linspace(0, n_samples - 1, max(1, limits.samples - best.size)).astype(np.int64)
    which = np.union1d(best, steps)
    return which, np.isin(which, steps)


def list_mixtures(explained: Array, share: float, most: int) -> dict[str, Array]:
    """Return the topics of each sample that have at least this share of it, largest first."""
    order = np.argsort(-explained, axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(explained, order, axis=1)
    large = (values > 0) & (values >= share * explained.sum(axis=1, keepdims=True))
    return {
        "starts": np.append(0, np.cumsum(large.sum(axis=1))),
        "topics": order[large],
        "counts": values[large],
    }


def distinctive_terms(
    X: CountMatrix, weights: Array, topics: Array, frequencies: Array, n: int
) -> dict[str, Array]:
    r"""Return the terms that distinguish each sample, and the topic that explains each term.

    These terms contribute most to the divergence of the sample from all samples together,
    :math:`x_{dv} \log (x_{dv} / (x_{d \cdot} p_v))`.

    Parameters
    ----------
    X : CountMatrix of shape (samples, features)
    weights : ndarray of shape (samples, components)
        Effective factors, like ``topics``: a count is distributed in proportion to their products.
    topics : ndarray of shape (components, features)
    frequencies : ndarray of shape (features,)
        Shares of all counts.
    n : int
        Number of terms of each sample.
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
    for value in values:
        text = str(value)
        texts.append(text if len(text) <= most else text[: most - 1] + "…")
    return texts


def describe_samples(
    X: CountMatrix,
    proportions: Array,
    explained: Array,
    effective: tuple[Array, Array],
    frequencies: Array,
    names: Array,
    documents: Array | None,
    limits: Limits,
) -> dict[str, Any]:
    """Return what the page shows of the samples; terms are indices of features."""
    which, spread = choose_samples(proportions, limits)
    rows = X.rows(which)
    shares = proportions[which]
    best = np.argsort(-shares, axis=0, kind="stable")[:_BEST]
    text = min(limits.text, max(1, limits.all_text // len(which)))
    return {
        "rows": which,
        "spread": spread,
        "names": shorten(names[which], limits.name),
        "totals": rows.sample_totals,
        "explained": explained[which].sum(axis=1),
        "best": best.T.tolist(),
        "best_proportions": np.take_along_axis(shares, best, axis=0).T.tolist(),
        "mixtures": list_mixtures(explained[which], limits.share, limits.mixture),
        "own": distinctive_terms(
            rows, effective[0][which], effective[1], frequencies, limits.sample_terms
        ),
        "documents": None if documents is None else shorten(documents[which], text),
    }
