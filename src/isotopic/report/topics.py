"""The topics of a report: how much they explain, their terms, and how far apart they are."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.match import hellinger_similarity, principal_coordinates

# The values of the relevance slider: whatever it is set to, the best terms are in the report.
SLIDER = np.linspace(0, 1, 101)

# Terms that only one topic has are all equally distinctive: a touch of frequency orders them.
_LEAST_LAMBDA = 1e-6

# Topics that are named as the closest ones of a topic.
_NEAREST = 4

# Of a term that is pointed at, the map shows the topics that have at least this share of it.
_LEAST_SHARE = 0.005


def relevance(shares: Array, frequencies: Array, weight: float) -> Array:
    r"""Compute the relevance of terms for a topic (Sievert & Shirley, 2014).

    .. math:: \lambda \log p(v | k) + (1 - \lambda) \log \frac{p(v | k)}{p(v)}

    Parameters
    ----------
    shares, frequencies : ndarray of shape (terms,)
        The terms' shares of the topic and of all counts; positive.
    weight : float
        The weight :math:`\lambda`: 1 ranks by frequency within the topic, 0 by lift.
    """
    return np.asarray(np.log(shares) - (1 - max(weight, _LEAST_LAMBDA)) * np.log(frequencies))


def relevant_terms(topics: Array, frequencies: Array, n: int) -> list[Array]:
    """Find for each topic the terms that are among the ``n`` most relevant for some lambda.

    Parameters
    ----------
    topics : ndarray of shape (components, features)
        Rows sum to one.
    frequencies : ndarray of shape (features,)
        Shares of all counts.
    n : int

    Returns
    -------
    terms : list of ndarray of int
        Features in ascending order.
    """
    return [_relevant(shares, frequencies, n) for shares in topics]


def _relevant(shares: Array, frequencies: Array, n: int) -> Array:
    possible = np.flatnonzero((shares > 0) & (frequencies > 0))
    if len(possible) <= n:
        return possible
    chosen = np.zeros(len(possible), dtype=bool)
    for weight in SLIDER:
        values = relevance(shares[possible], frequencies[possible], float(weight))
        chosen[np.argpartition(-values, n - 1)[:n]] = True
    return possible[chosen]


def nearest(distances: Array, n: int) -> tuple[Array, Array]:
    """Find the ``n`` nearest other points of each, and their distances (points x n)."""
    others = distances + np.diag(np.full(len(distances), np.inf))
    order = np.argsort(others, axis=1, kind="stable")[:, : min(n, len(distances) - 1)]
    return order, np.take_along_axis(distances, order, axis=1)


def whereabouts(expected: Array, least: float) -> dict[str, Array]:
    """List for each term the topics that explain at least this share of it.

    Parameters
    ----------
    expected : ndarray of shape (components, terms)
        The counts of each term that each topic explains.
    least : float
    """
    shares = (expected / expected.sum(axis=0)).T
    large = shares >= least
    return {
        "starts": np.append(0, np.cumsum(large.sum(axis=1))),
        "topics": np.nonzero(large)[1],
        "shares": shares[large],
    }


def described(topics: Array, explained: Array, frequencies: Array, n: int) -> dict[str, Any]:
    """Describe the topics; the terms are still numbered as features.

    Parameters
    ----------
    topics : ndarray of shape (components, features)
        Rows sum to one.
    explained : ndarray of shape (components,)
        The counts that each topic explains.
    frequencies : ndarray of shape (features,)
    n : int
        Terms shown of a topic.
    """
    terms = relevant_terms(topics, frequencies, n)
    distances = 1 - hellinger_similarity(topics, topics)
    points, kept = principal_coordinates(distances)
    near, far = nearest(distances, _NEAREST)
    distinct = np.unique(np.concatenate(terms))
    return {
        "counts": explained,
        "x": points[:, 0],
        "y": points[:, 1],
        "shown": float(kept.sum()) if kept.any() else 1.0,  # all in one place: nothing is lost
        "near": near.tolist(),
        "near_distances": far.tolist(),
        "starts": np.append(0, np.cumsum([len(some) for some in terms])),
        "terms": np.concatenate(terms),
        "shares": np.concatenate([row[some] for row, some in zip(topics, terms, strict=True)]),
        "distinct": distinct,
        "where": whereabouts(explained[:, np.newaxis] * topics[:, distinct], _LEAST_SHARE),
    }
