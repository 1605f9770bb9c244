"""The topics of a report: their shares, their terms and the distances between them."""

from typing import Any

import numpy as np
from scipy import special

from isotopic.arrays import Array
from isotopic.match import principal_coordinates

# The positions of the relevance slider. The report contains the best terms for each of them.
SLIDER = np.linspace(0, 1, 101)

# With lambda = 0, all terms that occur in one topic only are tied; this orders them by frequency.
_LEAST_LAMBDA = 1e-6

# Topics that are listed as the nearest ones of a topic.
_NEAREST = 4

# The map shows for a term the topics that have at least this share of its counts.
_LEAST_SHARE = 0.005


def relevance(shares: Array, frequencies: Array, weight: float) -> Array:
    r"""Return the relevance of terms for a topic (Sievert & Shirley, 2014).

    .. math:: \lambda \log p(v | k) + (1 - \lambda) \log \frac{p(v | k)}{p(v)}

    ``shares`` and ``frequencies`` are the terms' shares of the topic and of all counts, positive.
    The weight :math:`\lambda` of 1 ranks by frequency within the topic, 0 by lift.
    """
    return np.asarray(np.log(shares) - (1 - max(weight, _LEAST_LAMBDA)) * np.log(frequencies))


def relevant_terms(topics: Array, frequencies: Array, n: int) -> list[Array]:
    """Return for each topic the terms that are among the ``n`` most relevant for some lambda."""
    terms = []
    for shares in topics:
        possible = np.flatnonzero((shares > 0) & (frequencies > 0))
        if len(possible) > n:
            chosen = np.zeros(len(possible), dtype=bool)
            for weight in SLIDER:
                values = relevance(shares[possible], frequencies[possible], float(weight))
                chosen[np.argpartition(-values, n - 1)[:n]] = True
            possible = possible[chosen]
        terms.append(possible)
    return terms


def nearest_topics(distances: Array, n: int) -> tuple[Array, Array]:
    """Return the ``n`` nearest other topics of each topic, and their distances (topics x n)."""
    others = distances + np.diag(np.full(len(distances), np.inf))
    order = np.argsort(others, axis=1, kind="stable")[:, : min(n, len(distances) - 1)]
    return order, np.take_along_axis(distances, order, axis=1)


def salient_terms(shares: Array, frequencies: Array, prevalence: Array, n: int) -> Array:
    r"""Return the ``n`` most salient terms: frequent ones that tell the topics apart.

    The saliency (Chuang, Manning & Heer, 2012) is a term's frequency times the divergence of its
    topics from those of all counts,
    :math:`p(v) \sum_k p(k | v) \log (p(k | v) / p(k))`. ``shares`` are :math:`p(k | v)`.
    """
    told = special.rel_entr(shares, prevalence).sum(axis=1)
    return np.argsort(-frequencies * told, kind="stable")[:n]


def describe_topics(
    topics: Array, explained: Array, frequencies: Array, distances: Array, n: int
) -> dict[str, Any]:
    """Return what the page shows of the topics: ``n`` terms of each, as indices of features.

    The topics sum to one; ``explained`` has the counts that each of them explains.
    """
    terms = relevant_terms(topics, frequencies, n)
    points, kept = principal_coordinates(distances)
    near, far = nearest_topics(distances, _NEAREST)
    distinct = np.unique(np.concatenate(terms))
    expected = explained[:, np.newaxis] * topics[:, distinct]
    shares = (expected / expected.sum(axis=0)).T  # of each term's counts
    large = shares >= _LEAST_SHARE
    prevalence = explained / explained.sum()
    return {
        "counts": explained,
        "x": points[:, 0],
        "y": points[:, 1],
        # If all topics coincide, nothing is lost.
        "shown": float(kept.sum()) if kept.any() else 1.0,
        "near": near.tolist(),
        "near_distances": far.tolist(),
        "starts": np.append(0, np.cumsum(list(map(len, terms)))),
        "terms": np.concatenate(terms),
        "shares": np.concatenate(list(map(np.take, topics, terms))),
        "distinct": distinct,
        "salient": distinct[salient_terms(shares, frequencies[distinct], prevalence, n)],
        "where": {
            "starts": np.append(0, np.cumsum(large.sum(axis=1))),
            "topics": np.nonzero(large)[1],
            "shares": shares[large],
        },
    }
