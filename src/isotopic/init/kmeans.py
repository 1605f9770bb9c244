"""k-means: a topic for each cluster of samples."""

from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.init.allocation import counts_from_topics, profiles
from isotopic.threads import one_blas_thread

_ROUNDS = 10

# Squared distances of unit vectors are rounded to about the precision of 1.
_SAME_POINT = 1e-12


def kmeans(X: CountMatrix, n_components: int, rng: np.random.Generator) -> tuple[Array, Array]:
    r"""Share the counts out by clusters of samples.

    The samples are clustered by their Hellinger distance: each is the point
    :math:`\sqrt{x_{dv} / n_d}` with :math:`n_d = \sum_v x_{dv}`, of length one. A cluster's topic
    is the sum of its samples.
    """
    samples = profiles(X)
    with one_blas_thread:
        points = samples**0.5
        members = _clusters(points, X.sample_totals > 0, n_components, rng)
        shares = X.sample_totals / (X.total or 1.0)
        topics = (samples.T @ (members * shares[:, np.newaxis])).T
    return counts_from_topics(X, topics, n_components, rng)


def _clusters(points: Any, present: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Return which sample (row) is in which cluster, as 0 or 1, by Lloyd's algorithm."""
    members = _seeds(points, present, n_clusters, rng)
    for _ in range(_ROUNDS):
        centers = points.T @ (members / np.maximum(1, members.sum(axis=0)))
        nearest = (points @ centers - 0.5 * np.square(centers).sum(axis=0)).argmax(axis=1)
        members = np.zeros_like(members)
        members[present, nearest[present]] = 1
    return members


def _seeds(points: Any, present: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Draw a sample for each cluster by its squared distance from those before (k-means++).

    Several samples are drawn each time, and the one that lowers the distances most is kept. There
    are fewer seeds if there are fewer distinct samples.
    """
    n_draws = 2 + int(np.log(n_clusters))
    distances = np.where(present, 2.0, 0.0)
    seeds: list[Array] = []
    while len(seeds) < n_clusters and distances.max(initial=0) > _SAME_POINT:
        drawn = rng.choice(len(distances), size=n_draws, p=distances / distances.sum())
        draws = np.zeros((len(distances), n_draws))
        draws[drawn, np.arange(n_draws)] = 1
        to_draws = np.maximum(0, 2 - 2 * (points @ (points.T @ draws)))
        after = np.minimum(distances[:, np.newaxis], to_draws)
        best = after.sum(axis=0).argmin()
        distances = after[:, best]
        seeds.append(draws[:, best])
    return np.column_stack(seeds) if seeds else np.zeros((len(distances), 1))
