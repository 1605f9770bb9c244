"""Topics next to each other."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.fitted import Fitted, fitted_of
from isotopic.kernels import normalized


def diversity(topics: Any, n: int = 25) -> float:
    """Share of different terms among the strongest ``n`` of all topics.

    Parameters
    ----------
    topics : fitted model, or array-like of shape (n_components, n_features)
    n : int, default=25
        How many terms of each topic.

    Returns
    -------
    diversity : float
        One if no two topics share a term, ``1 / n_components`` if all have the same (Dieng et al.,
        *Topic modeling in embedding spaces*, 2020).
    """
    strongest = top_features(topics_of(topics), n)
    return len(np.unique(strongest)) / strongest.size


def exclusivity(topics: Any, n: int = 10) -> Array:
    r"""How much the strongest terms of each topic are its own.

    .. math:: \frac1n \sum_{v \in \text{top } n \text{ of } k} \frac{t_{kv}}{\sum_j t_{jv}}

    Parameters
    ----------
    topics : fitted model, or array-like of shape (n_components, n_features)
    n : int, default=10
        How many terms of each topic.

    Returns
    -------
    exclusivity : ndarray of shape (n_components,)
        Between ``1 / n_components`` and one.
    """
    shares = topics_of(topics)
    strongest = top_features(shares, n)
    own = np.take_along_axis(shares, strongest, axis=1)
    everyone = shares.sum(axis=0)[strongest]
    return np.asarray(np.divide(own, everyone, out=np.zeros_like(own), where=own > 0).mean(axis=1))


def prevalence(model: Any) -> Array:
    """Share of all counts that each topic explains.

    Parameters
    ----------
    model : fitted model

    Returns
    -------
    prevalence : ndarray of shape (n_components,)
        Sums to one.
    """
    fitted = fitted_of(model)
    shares = proportions(fitted.weights.mean, fitted.topics.mean)
    counts = (fitted.sample_weight * fitted.sample_totals) @ shares
    return np.asarray(counts / counts.sum()) if counts.sum() > 0 else counts


def proportions(weights: Any, topics: Any) -> Array:
    """Share of each sample that each topic explains, in float64.

    Parameters
    ----------
    weights : array-like of shape (n_samples, n_components)
        Of any scale: free weights, expected weights or proportions.
    topics : array-like of shape (n_components, n_features)
        What topics sum to is a part of the weights.

    Returns
    -------
    proportions : ndarray of shape (n_samples, n_components)
        Rows sum to one; a sample without weights has equal shares.
    """
    weights, sums = np.asarray(weights, np.float64), np.asarray(topics, np.float64).sum(axis=1)
    return normalized(np.ascontiguousarray(weights * sums))


def topics_of(given: Any) -> Array:
    """Read topics, as distributions over the features."""
    if isinstance(given, Fitted):
        given = given.topics.mean
    elif hasattr(given, "get_params"):  # any estimator with components_
        check_is_fitted(given, "components_")
        given = given.components_
    topics = as_numbers("topics", given)
    if topics.ndim != 2 or 0 in topics.shape:
        raise ValueError(
            "topics must be a fitted model or an array of components x features, not of shape "
            f"{topics.shape}"
        )
    bad = first_not_finite(topics)
    if bad is not None:
        raise ValueError(
            f"topics must be finite and non-negative; topic {bad[0]}, feature {bad[1]} is "
            f"{topics[bad]}"
        )
    return normalized(np.ascontiguousarray(topics / max(topics.max(), 1.0)))  # sums stay finite


def top_features(topics: Array, n: int) -> Array:
    """Give the strongest features of each topic, strongest first; equals in their order."""
    return np.argsort(-topics, axis=1, kind="stable")[:, : at_least_one(n)]


def at_least_one(n: Any) -> int:
    """Read how many are asked for."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, not {n!r}")
    return int(n)
