"""Spectral start: topics from anchor words (Arora et al., 2013)."""

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.elementwise import normalized
from isotopic.init.allocation import counts_from_topics, profiles, smallest_count
from isotopic.threads import one_blas_thread

# An anchor must occur in this share of the samples: what goes with a rare feature is noise.
_FREQUENT = 0.02

# Distances are measured in this many random directions for each component, and some more.
_DIRECTIONS, _MORE_DIRECTIONS = 4, 50
_DIRECTIONS_AT_ONCE = 64

# Features nearer than this (squared, relative to the farthest) to the anchors' span are in it.
_IN_SPAN = 1e-10

_RECOVERY_ROUNDS = 50


def spectral(X: CountMatrix, n_components: int, rng: np.random.Generator) -> tuple[Array, Array]:
    r"""Share the counts out by topics that are recovered from anchor features.

    An anchor is a feature that only one topic has. Then what occurs together with it,
    :math:`p(v' \mid v)` over pairs of counts of one sample, is a vertex of the polytope that holds
    the same for all other features. The anchors are found one after the other, each the farthest
    from the span of those before. Every feature is then a mixture :math:`c_{vk}` of them (the
    paper's RecoverL2), and the topics are proportional to :math:`c_{vk} \sum_d x_{dv}`.
    """
    return counts_from_topics(X, anchored_topics(X, n_components, rng), n_components, rng)


def anchored_topics(X: CountMatrix, n_components: int, rng: np.random.Generator) -> Array:
    """Return the topics of anchor features, at most ``n_components``."""
    with one_blas_thread:
        together = _Cooccurrence(X)
        anchors = _anchors(together, n_components, rng)
        topics: Array = _mixtures(together, anchors).T * X.feature_totals / (X.total or 1.0)
    return topics


class _Cooccurrence:
    r"""How often features occur together in a sample, as a matrix that is never formed.

    With the profiles :math:`p_{dv} = x_{dv} / n_d` it is

    .. math:: Q = \sum_d \frac{p_d p_d^T - u_d \operatorname{diag}(p_d)}{1 - u_d}, \qquad
        u_d = \min_{x > 0} x / n_d.

    A count makes no pair with itself, which is what the diagonal takes out; so :math:`Q` is
    unbiased. A single count is taken to be the smallest there is, which is 1 in true counts and
    makes :math:`Q` free of scale. Samples without pairs are left out. A sample of weight two counts
    as two samples.
    """

    def __init__(self, X: CountMatrix) -> None:
        copies = np.ones(X.shape[0]) if X.copies is None else X.copies
        single = np.full(X.shape[0], 1.0)
        np.divide(
            smallest_count(X) * copies, X.sample_totals, out=single, where=X.sample_totals > 0
        )
        pairs = 1 - single > 1e-8  # beyond rounding
        self._profiles = profiles(X)
        self._rows = np.zeros(X.shape[0])
        np.divide(copies, 1 - single, out=self._rows, where=pairs)
        self._diagonal = self._profiles.T @ (self._rows * single)
        self.totals: Array = self._profiles.T @ np.where(pairs, copies, 0.0)
        seen = (self._profiles > 0).astype(np.float64).T @ copies
        frequent = (seen >= _FREQUENT * copies.sum()) & (self.totals > 0)
        self.frequent: Array = np.flatnonzero(frequent)

    def __matmul__(self, columns: Array) -> Array:
        by_sample = self._rows[:, np.newaxis] * (self._profiles @ columns)
        product: Array = self._profiles.T @ by_sample - self._diagonal[:, np.newaxis] * columns
        return product

    def given(self, product: Array) -> Array:
        """Divide rows by their total in this matrix: conditional probabilities."""
        conditional = np.zeros_like(product)
        present = (self.totals > 0)[:, np.newaxis]
        return np.divide(product, self.totals[:, np.newaxis], out=conditional, where=present)


def _anchors(together: _Cooccurrence, n_anchors: int, rng: np.random.Generator) -> Array:
    """Choose features, each the farthest from the span of those before; the first from the mean.

    There are fewer when the span has everything.
    """
    points = _projected(together, _DIRECTIONS * n_anchors + _MORE_DIRECTIONS, rng)
    totals = together.totals[together.frequent]
    points -= totals @ points / max(totals.sum(), np.finfo(np.float64).tiny)
    distances = np.einsum("vm,vm->v", points, points)
    in_span = _IN_SPAN * distances.max(initial=0)
    anchors: list[int] = []
    while len(anchors) < n_anchors and distances.max(initial=0) > in_span:
        farthest = int(distances.argmax())
        direction = points[farthest] / np.sqrt(distances[farthest])
        points -= np.outer(points @ direction, direction)
        distances = np.einsum("vm,vm->v", points, points)
        anchors.append(farthest)
    chosen: Array = together.frequent[anchors]
    return chosen


def _projected(together: _Cooccurrence, n_directions: int, rng: np.random.Generator) -> Array:
    """Project the conditional probabilities of frequent features; a few columns at a time."""
    n_features = len(together.totals)
    if n_features <= n_directions:
        return together.given(together @ np.eye(n_features))[together.frequent]
    points = np.empty((len(together.frequent), n_directions))
    for begin in range(0, n_directions, _DIRECTIONS_AT_ONCE):
        part = points[:, begin : begin + _DIRECTIONS_AT_ONCE]
        directions = rng.standard_normal((n_features, part.shape[1]))
        part[:] = together.given(together @ directions)[together.frequent]
    return points


def _mixtures(together: _Cooccurrence, anchors: Array) -> Array:
    r"""Write each feature as a mixture of anchors: non-negative least squares.

    With :math:`\bar Q` the conditional probabilities and :math:`A` the rows of the anchors, the
    updates :math:`C \leftarrow C \cdot (\bar Q A^T) / (C A A^T)` bring
    :math:`\|\bar Q - C A\|` down for all features at once.

    Returns
    -------
    ndarray of shape (features, anchors)
        Rows sum to one.
    """
    indicator = np.zeros((len(together.totals), len(anchors)))
    indicator[anchors, np.arange(len(anchors))] = 1
    with_anchors = (together @ indicator) / together.totals[anchors]
    squares = with_anchors.T @ with_anchors
    target = np.maximum(together.given(together @ with_anchors), 0)  # but for rounding
    mixtures = np.full_like(target, 1 / max(1, len(anchors)))
    for _ in range(_RECOVERY_ROUNDS):
        now = mixtures @ squares
        mixtures *= np.divide(target, now, out=np.zeros_like(now), where=now > 0)
    return normalized(mixtures) if len(anchors) else mixtures
