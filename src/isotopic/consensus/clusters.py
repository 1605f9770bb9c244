"""Cluster the components of many runs, with one component of each run in a cluster."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from isotopic.arrays import Array

_MOST_ROUNDS = 50

# Runs from which the clustering starts; the best result is kept.
_STARTS = 5

# Consensus topics are medians over this share of the runs, those with the lowest objectives, but
# over as many as this at least. The other runs ended in poorer local optima.
_BEST_SHARE, _FEWEST_BEST = 1 / 4, 10

# A run has found a component if the cosine similarity of both is at least this.
_FOUND = 0.8

# An outlier is on average farther than this (cosine distance) from its nearest neighbours, which
# are this part of the runs.
_FARTHEST, _NEIGHBOURS = 0.3, 0.3


@dataclass(frozen=True, eq=False)
class Clusters:
    """Components of several runs in clusters.

    Attributes
    ----------
    topics : ndarray of shape (n_components, n_features)
        The consensus topics: the median of each cluster over the best runs, without its outliers,
        with a sum of one.
    order : ndarray of int of shape (n_runs, n_components)
        ``order[r, k]`` is the component of run ``r`` in cluster ``k``.
    similarity : ndarray of shape (n_runs, n_components)
        The cosine similarity of each component and its consensus topic.
    silhouettes : ndarray of shape (n_runs, n_components)
        The silhouette of each component: near 1 if its cluster is tight and far from the others.
    is_outlier : ndarray of bool of shape (n_runs, n_components)
        Whether a component was left out of the median because it has no near neighbours.
    components : ndarray of shape (n_runs, n_components, n_features)
        The components of each run, in the order of the clusters.
    """

    topics: Array
    order: Array
    similarity: Array
    silhouettes: Array
    is_outlier: Array
    components: Array

    @property
    def stability(self) -> Array:
        """The mean silhouette of each cluster, between -1 and 1."""
        return np.asarray(self.silhouettes.mean(axis=0))

    @property
    def found(self) -> Array:
        """The number of runs that found each component (a cosine of at least 0.8)."""
        return np.asarray((self.similarity >= _FOUND).sum(axis=0))

    @property
    def spread(self) -> Array:
        """The mean cosine distance of the components of a cluster from its consensus topic."""
        return np.asarray(1 - self.similarity.mean(axis=0))


def cluster_components(runs: Array, objectives: Array | None = None) -> Clusters:
    """Cluster components so that every cluster has one component of each run.

    Parameters
    ----------
    runs : ndarray of shape (n_runs, n_components, n_features)
        The topics of each run, each with a sum of one.
    objectives : ndarray of shape (n_runs,) or None, default=None
        The objective of each run. The clustering starts from the best run, among others, and the
        medians are over the best quarter of the runs, but at least ten. ``None``: over all runs.
    """
    n_runs, n_components, n_features = runs.shape
    units = runs / np.maximum(np.linalg.norm(runs, axis=2, keepdims=True), 1e-300)
    first = 0 if objectives is None else int(np.argmin(objectives))
    starts = list(dict.fromkeys([first, *np.linspace(0, n_runs - 1, _STARTS).astype(int).tolist()]))
    tried = [_matched(units, units[start]) for start in starts]
    order = max(tried, key=lambda found: found[1])[0]
    rows = np.arange(n_runs)[:, np.newaxis]
    units, components = units[rows, order], runs[rows, order]
    cosines = _cosines(units.reshape(-1, n_features))
    cosines = cosines.reshape(n_runs, n_components, n_runs, n_components)
    silhouettes = _silhouettes(cosines)
    is_outlier = _outliers(cosines)
    topics = _medians(components, ~is_outlier, _best_runs(n_runs, objectives))
    norms = np.linalg.norm(topics, axis=1)
    similarity = np.minimum(np.einsum("rkv,kv->rk", units, topics) / norms, 1.0)
    return Clusters(topics, order, similarity, silhouettes, is_outlier, components)


def _matched(units: Array, centres: Array) -> tuple[Array, float]:
    """Match every run to the centres, update these, and repeat; return order and similarity."""
    n_runs, n_components, _ = units.shape
    order = np.full((n_runs, n_components), -1)
    total = 0.0
    for _ in range(_MOST_ROUNDS):
        before, total = order.copy(), 0.0
        for run, components in enumerate(units):
            table = centres @ components.T
            order[run] = linear_sum_assignment(table, maximize=True)[1]
            total += float(table[np.arange(n_components), order[run]].sum())
        if np.array_equal(order, before):
            break
        centres = units[np.arange(n_runs)[:, np.newaxis], order].mean(axis=0)
        centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-300)
    return order, total


def _cosines(units: Array) -> Array:
    return np.asarray(np.clip(units @ units.T, 0.0, 1.0))


def _silhouettes(cosines: Array) -> Array:
    """Return the silhouettes of all components (runs x clusters) by cosine distance."""
    n_runs, n_components = cosines.shape[:2]
    # Mean similarity of each component to each cluster; its own is not compared with itself.
    means = cosines.mean(axis=2)
    own = np.einsum("rkk->rk", means).copy()
    within = 1 - (own * n_runs - 1) / max(n_runs - 1, 1)
    if n_components == 1:  # nothing to be far from: how near the runs are
        return np.asarray(1 - within)
    distances = 1 - means
    np.einsum("rkk->rk", distances)[:] = np.inf
    nearest = distances.min(axis=2)
    largest = np.maximum(within, nearest)
    silhouettes = np.ones_like(within)
    np.divide(nearest - within, largest, out=silhouettes, where=largest > 1e-12)
    return np.asarray(silhouettes)


def _outliers(cosines: Array) -> Array:
    """Return which components have no near neighbours among those of the other runs."""
    n_runs, n_components = cosines.shape[:2]
    if n_runs < 4:
        return np.zeros((n_runs, n_components), dtype=bool)
    n_neighbours = max(1, int(_NEIGHBOURS * n_runs))
    flat = cosines.reshape(n_runs * n_components, -1)
    nearest = -np.partition(-flat, n_neighbours, axis=1)[:, : n_neighbours + 1]
    density = 1 - (nearest.sum(axis=1) - 1) / n_neighbours  # one of them is the component itself
    is_outlier = (density > _FARTHEST).reshape(n_runs, n_components)
    is_outlier[:, is_outlier.all(axis=0)] = False  # a cluster of outliers alone keeps them
    return np.asarray(is_outlier)


def _best_runs(n_runs: int, objectives: Array | None) -> Array:
    """Return which runs the medians are over."""
    n_best = max(_FEWEST_BEST, int(np.ceil(_BEST_SHARE * n_runs)))
    if objectives is None or n_best >= n_runs:
        return np.ones(n_runs, dtype=bool)
    is_best = np.zeros(n_runs, dtype=bool)
    is_best[np.argsort(objectives, kind="stable")[:n_best]] = True
    return is_best


def _medians(topics: Array, is_inlier: Array, is_best: Array) -> Array:
    """Return the median of each cluster over the best runs, with a sum of one.

    Where the best runs have outliers alone, the median is over all others.
    """
    medians = np.empty(topics.shape[1:])
    for k in range(len(medians)):
        is_kept = is_inlier[:, k] & is_best
        kept = topics[is_kept if is_kept.any() else is_inlier[:, k], k]
        medians[k] = np.median(kept, axis=0)
        if not medians[k].sum() > 0:
            medians[k] = kept.mean(axis=0)
    sums = medians.sum(axis=1, keepdims=True)
    return np.where(sums > 0, medians / np.where(sums > 0, sums, 1), 1 / topics.shape[2])
