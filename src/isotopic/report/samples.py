"""The samples of a report: which are kept, their mixtures and their terms."""

from typing import Any

import numpy as np
from scipy import special

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.report.limits import Limits

# Samples that are named as those with most of a topic.
_BEST = 6


def kept_samples(proportions: Array, limits: Limits) -> tuple[Array, Array]:
    """Choose the samples that are kept if there are too many.

    Some have most of a topic; the others stand at equal steps, so that they show the whole.

    Parameters
    ----------
    proportions : ndarray of shape (samples, components)
    limits : Limits

    Returns
    -------
    which : ndarray of int
        In ascending order.
    spread : ndarray of bool
        Which of them stand at equal steps.
    """
    n_samples, n_topics = proportions.shape
    if n_samples <= limits.samples:
        return np.arange(n_samples), np.ones(n_samples, dtype=bool)
    n_best = min(limits.best_samples, limits.samples // (2 * n_topics))
    best = np.argpartition(-proportions, n_best, axis=0)[:n_best].ravel()
    steps = np.linspace(0, n_samples - 1, max(1, limits.samples - best.size)).astype(np.int64)
    which = np.union1d(best, steps)
    return which, np.isin(which, steps)


def mixtures(explained: Array, share: float, most: int) -> dict[str, Array]:
    """List the topics of each sample that have at least this share of it, largest first."""
    order = np.argsort(-explained, axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(explained, order, axis=1)
    large = (values > 0) & (values >= share * explained.sum(axis=1, keepdims=True))
    return {
        "starts": np.append(0, np.cumsum(large.sum(axis=1))),
        "topics": order[large],
        "counts": values[large],
    }


def own_terms(
    X: CountMatrix, weights: Array, topics: Array, frequencies: Array, n: int
) -> dict[str, Array]:
    r"""List the terms that tell each sample from the others, and the topic that explains each.

    They are those that add most to the divergence of the sample from all samples together,
    :math:`x_{dv} \log (x_{dv} / (x_{d \cdot} p_v))`.

    Parameters
    ----------
    X : CountMatrix of shape (samples, features)
    weights : ndarray of shape (samples, components)
        Effective ones, as ``topics``: their products share a count out.
    topics : ndarray of shape (components, features)
    frequencies : ndarray of shape (features,)
        Shares of all counts.
    n : int
        How many terms of each sample.
    """
    by_feature = np.ascontiguousarray(topics.T)
    some: list[Array] = []
    owners: list[Array] = []
    for row, total in enumerate(X.sample_totals):
        entries = np.arange(X.row_starts[row], X.row_starts[row + 1])
        expected = total * frequencies[X.features[entries]]
        own = special.rel_entr(X.values[entries].astype(np.float64), expected)
        entries = entries[np.argsort(-own, kind="stable")[:n]]
        some.append(entries)
        owners.append((weights[row] * by_feature[X.features[entries]]).argmax(axis=1))
    entries = np.concatenate(some)
    return {
        "starts": np.append(0, np.cumsum([len(part) for part in some])),
        "terms": X.features[entries],
        "counts": X.values[entries],
        "topics": np.concatenate(owners),
    }


def shortened(text: Any, most: int) -> str:
    """Cut a text that is too long, and show that it was cut."""
    whole = str(text)
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def described(
    X: CountMatrix,
    proportions: Array,
    explained: Array,
    effective: tuple[Array, Array],
    frequencies: Array,
    names: Any,
    documents: Any,
    limits: Limits,
) -> dict[str, Any]:
    """Describe the samples that are kept; the terms are still numbered as features."""
    which, spread = kept_samples(proportions, limits)
    rows = X.rows(which)
    best = np.argsort(-proportions[which], axis=0, kind="stable")[:_BEST].T
    text = min(limits.text, max(1, limits.all_text // len(which)))
    return {
        "rows": which,
        "spread": spread,
        "names": [shortened(names[row], limits.name) for row in which],
        "totals": rows.sample_totals,
        "explained": explained[which].sum(axis=1),
        "best": best.tolist(),
        "best_proportions": [proportions[which[some], k].tolist() for k, some in enumerate(best)],
        "mixtures": mixtures(explained[which], limits.share, limits.mixture),
        "own": own_terms(rows, effective[0][which], effective[1], frequencies, limits.sample_terms),
        "documents": None
        if documents is None
        else [shortened(documents[row], text) for row in which],
    }
