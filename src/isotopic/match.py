"""Match the topics of two models, and measure how similar topics are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from isotopic.arrays import Array, as_numbers, first_not_finite
from isotopic.evaluate.topics import named_topics


@dataclass(frozen=True, eq=False)
class Match:
    """The topics of ``a``, each with its partner among the topics of ``b``.

    Attributes
    ----------
    order : ndarray of int of shape (topics of a,)
        ``order[i]`` is the partner of topic ``i`` of ``a``; -1 if it has none.
    similarity : ndarray of shape (topics of a,)
        The similarity of both: 1 if they are the same, 0 if they have no feature in common; NaN
        without a partner.
    unmatched : ndarray of int
        The topics of ``b`` without a partner.
    metric : {"cosine", "hellinger"}
    names : ndarray of objects or None
        The name of each partner, ``None`` for a topic without one, if ``b`` is a data frame (or
        AnnData) whose rows have names.
    feature_names : ndarray of str or None
        The names of the features, in the order of ``a``, if a side has some.
    """

    order: Array
    similarity: Array
    unmatched: Array
    metric: str
    names: Array | None = None
    feature_names: Array | None = None

    @property
    def mean(self) -> float:
        """The mean similarity of the topics that have a partner."""
        return float(np.nanmean(self.similarity))

    def __repr__(self) -> str:
        found = self.order >= 0
        alone = (np.count_nonzero(~found), len(self.unmatched))
        rest = f"; unmatched: {alone[0]} of a, {alone[1]} of b" if any(alone) else ""
        return (
            f"<Match of {np.count_nonzero(found)} topics: mean {self.metric} similarity "
            f"{self.mean:.3f}, lowest {np.nanmin(self.similarity):.3f}{rest}>"
        )


def match(a: Any, b: Any, metric: str = "cosine") -> Match:
    r"""Match the topics of two models, and measure how well they agree.

    Topics are paired one to one so that the sum of similarities is largest (the Hungarian method).
    With different numbers of topics, some of the larger model have no partner.

    Parameters
    ----------
    a, b : fitted model, or array-like or data frame of shape (n_topics, n_features)
        Over the same features. If both name them, they are aligned by name.
    metric : {"cosine", "hellinger"}, default="cosine"
        The similarity of two topics :math:`p, q`: :math:`p \cdot q / (\|p\| \|q\|)`, which depends
        on the strongest features; or :math:`1 - \|\sqrt p - \sqrt q\| / \sqrt 2` of the topics as
        distributions, to which rare features contribute, too. Neither depends on the scale of the
        topics. A topic of zeros has no similarity to any other.

    Returns
    -------
    match : Match
        ``b.components_[match.order]`` has the order of ``a.components_``.

    Examples
    --------
    >>> from isotopic import match
    >>> found = match([[3, 1, 0], [0, 1, 1]], [[0, 2, 2], [1, 1, 0], [6, 2, 0]])
    >>> found
    <Match of 2 topics: mean cosine similarity 1.000, lowest 1.000; unmatched: 0 of a, 1 of b>
    >>> found.order, found.unmatched
    (array([2, 0]), array([1]))
    """
    if not (isinstance(metric, str) and metric in SIMILARITIES):
        raise ValueError(f"metric must be 'cosine' or 'hellinger', not {metric!r}.")
    given_a, given_b = named_topics(a, "a"), named_topics(b, "b")
    given_b = given_b.with_features(given_a.feature_names, what="b", than="a")
    ours, theirs = _topics("a", given_a.matrix), _topics("b", given_b.matrix)
    if ours.shape[1] != theirs.shape[1]:
        raise ValueError(
            f"a has {ours.shape[1]} features and b has {theirs.shape[1]}; both must have the same "
            "features."
        )
    table = SIMILARITIES[metric](ours, theirs)
    rows, columns = linear_sum_assignment(table, maximize=True)
    order = np.full(len(ours), -1)
    similarity = np.full(len(ours), np.nan)
    order[rows], similarity[rows] = columns, table[rows, columns]
    partners = None if given_b.sample_names is None else given_b.sample_names[order]
    if partners is not None:
        partners[order < 0] = None
    names = given_b.feature_names if given_a.feature_names is None else given_a.feature_names
    unmatched = np.setdiff1d(np.arange(len(theirs)), columns)
    return Match(order, similarity, unmatched, metric, partners, names)


def cosine_similarity(a: Array, b: Array) -> Array:
    """Return the cosine of every row of ``a`` with every row of ``b``."""
    ours, theirs = (_scaled(rows, np.linalg.norm(rows, axis=1)) for rows in (a, b))
    return np.asarray(np.minimum(ours @ theirs.T, 1.0))  # rounding can exceed one


def hellinger_similarity(a: Array, b: Array) -> Array:
    """Return one minus the Hellinger distance of the rows as distributions."""
    sums = a.sum(axis=1), b.sum(axis=1)
    distance = cdist(np.sqrt(_scaled(a, sums[0])), np.sqrt(_scaled(b, sums[1]))) / np.sqrt(2)
    similarity = np.where(np.outer(*sums) > 0, 1 - distance, 0.0)
    return np.asarray(np.maximum(similarity, 0.0))  # rounding can go below zero


SIMILARITIES: dict[str, Callable[[Array, Array], Array]] = {
    "cosine": cosine_similarity,
    "hellinger": hellinger_similarity,
}


def principal_coordinates(distances: Array) -> tuple[Array, Array]:
    """Place points in two dimensions by their distances (classical scaling).

    Return the places (points x 2), and the share of the squared distances from the centre that
    each coordinate explains: zero if all points are in one place. The sign of each coordinate is
    such that its largest entry is positive.
    """
    n = len(distances)
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centred @ distances**2 @ centred)
    values = np.maximum(values[::-1], 0)  # negative: the distances are not Euclidean
    vectors = vectors[:, ::-1]
    places = np.zeros((n, 2))
    width = min(2, n)
    places[:, :width] = vectors[:, :width] * np.sqrt(values[:width])
    largest = np.abs(places).argmax(axis=0)
    places *= np.where(places[largest, [0, 1]] < 0, -1, 1)
    kept = np.zeros(2)
    kept[:width] = values[:width] / max(values.sum(), np.finfo(float).tiny)
    return places, kept


def _scaled(rows: Array, by: Array) -> Array:
    """Divide the rows; those of zeros stay zero."""
    return np.asarray(rows / np.where(by > 0, by, 1)[:, np.newaxis])


def _topics(name: str, given: Any) -> Array:
    """Return topics, scaled so that squares neither overflow nor underflow."""
    topics = as_numbers(name, given)
    if topics.ndim != 2 or 0 in topics.shape:
        raise ValueError(
            f"{name} must be a fitted model or an array of topics x features, not of shape "
            f"{topics.shape}."
        )
    bad = first_not_finite(topics)
    if bad is not None:
        raise ValueError(
            f"{name} must be finite and non-negative; topic {bad[0]}, feature {bad[1]} is "
            f"{topics[bad]}."
        )
    return _scaled(topics, topics.max(axis=1))
