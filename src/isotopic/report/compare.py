"""Compare two fits of the same samples: matched topics, what moved, samples that changed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.containers import sample_names_of
from isotopic.divergences import KullbackLeibler
from isotopic.elementwise import normalized
from isotopic.fitted import fitted_of
from isotopic.match import cosine_similarity, match
from isotopic.report.payload import ReportData

# Entries whose probabilities are in memory at once.
_ENTRIES = 2**16

# Products of the pass that compares the topics of counts; with more, some samples are left out.
_MOST_PRODUCTS = 2e10


@dataclass(frozen=True, eq=False)
class ComparedFit:
    """A fitted model and its data, as one side of a comparison.

    Attributes
    ----------
    model : fitted estimator
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
    name : str
        What the page calls it.
    feature_names, sample_names, documents : sequence of str or None
        As for :func:`isotopic.report.write_report`.
    """

    model: Any
    X: Any
    name: str
    feature_names: Any = None
    sample_names: Any = None
    documents: Any = None

    @property
    def has_sample_names(self) -> bool:
        """Whether the samples have names, given or in ``X``."""
        return self.sample_names is not None or sample_names_of(self.X) is not None

    @property
    def has_feature_names(self) -> bool:
        """Whether the features have names, given or known to the model."""
        return self.feature_names is not None or fitted_of(self.model).feature_names is not None

    def read(self) -> ReportData:
        """Return the model with its validated data."""
        return ReportData(self.model, self.X, self.feature_names, self.sample_names, self.documents)


class Comparison:
    """Two fits, on the samples and features that both have.

    Parameters
    ----------
    a, b : ComparedFit

    Attributes
    ----------
    samples, features : pair of ndarray of int
        The rows and columns of each side that both have, in the order of the first.
    """

    def __init__(self, a: ComparedFit, b: ComparedFit) -> None:
        self.fits = a, b
        self.sides = a.read(), b.read()
        ours, theirs = self.sides
        self.samples = find_common(
            "samples",
            ours.sample_names,
            theirs.sample_names,
            are_named=a.has_sample_names and b.has_sample_names,
        )
        self.features = find_common(
            "features",
            ours.feature_names,
            theirs.feature_names,
            are_named=a.has_feature_names and b.has_feature_names,
        )

    @cached_property
    def topics(self) -> tuple[Array, Array]:
        """The topics of each side over the common features; rows sum to at most one."""
        ours, theirs = (normalized(side.model.components_) for side in self.sides)
        return ours[:, self.features[0]], theirs[:, self.features[1]]

    @cached_property
    def similarity(self) -> Array:
        """The cosine of every topic of the first with every topic of the second."""
        return cosine_similarity(*self.topics)

    @cached_property
    def partners(self) -> Array:
        """The topic of the second that each topic of the first is matched with; -1: none."""
        return match(*self.topics).order

    @cached_property
    def moves(self) -> tuple[Array, float]:
        r"""The counts that are in a topic of the first and in one of the second fit.

        A count has a distribution over the topics of each fit, its responsibilities. As much of it
        as possible stays in the partner of its topic, and the rest moves at random: for topics
        :math:`k` with partners :math:`\pi_k` the table (topics of the first x topics of the second)
        sums

        .. math:: x \Big( [j = \pi_k] \min(\phi^a_k, \phi^b_j) + r^a_k r^b_j / \sum_i r^a_i \Big)

        over the counts, where :math:`r` is what the minima leave of each distribution. So equal
        fits have a diagonal table. The second value is the share of the samples looked at.
        """
        X, rows = self.sides[0].X, self.samples
        factors = [
            (side.effective_weights, np.ascontiguousarray(side.fitted.topics.effective.T))
            for side in self.sides
        ]
        table = np.zeros(tuple(len(topics) for topics in self.topics))
        column = np.full(X.shape[1], -1)
        column[self.features[0]] = self.features[1]
        step = max(1, int(np.ceil(len(X.values) * table.size / _MOST_PRODUCTS)))
        ours = np.flatnonzero(self.partners >= 0)
        theirs = self.partners[ours]
        for at, features, counts in _entries(X, rows[0][::step], column):
            where = (rows[0][::step][at], features), (rows[1][::step][at], column[features])
            first, second = (
                _responsibilities(*sides, *places)
                for sides, places in zip(factors, where, strict=True)
            )
            both = np.minimum(first[:, ours], second[:, theirs])
            first[:, ours] -= both
            second[:, theirs] -= both
            table[ours, theirs] += counts @ both
            left = first.sum(axis=1)
            table += (first * (counts / np.where(left > 0, left, 1))[:, np.newaxis]).T @ second
        return table, 1 / step

    @cached_property
    def changes(self) -> Array:
        """The part of each common sample that has another topic in the second fit, 0 to 1.

        Each topic of the fit with more topics is taken for its partner in the other one or, if it
        has none, for the one with which it shares most counts. The change is half the sum of the
        differences of the proportions.
        """
        ours, theirs = (
            side.proportions[rows] for side, rows in zip(self.sides, self.samples, strict=True)
        )
        table, order = self.moves[0], self.partners
        if ours.shape[1] > theirs.shape[1]:
            ours = _sum_columns(ours, np.where(order >= 0, order, table.argmax(axis=1)), theirs)
        else:
            homes = table.argmax(axis=0)
            matched = np.flatnonzero(order >= 0)
            homes[order[matched]] = matched
            theirs = _sum_columns(theirs, homes, ours)
        totals = self.sides[0].X.sample_totals[self.samples[0]]
        return np.where(totals > 0, np.abs(ours - theirs).sum(axis=1) / 2, 0.0)

    @property
    def stays(self) -> float:
        """The share of the counts whose topic in the second is the partner of that in the first."""
        table, order = self.moves[0], self.partners
        matched = np.flatnonzero(order >= 0)
        return float(table[matched, order[matched]].sum() / max(table.sum(), 1e-300))

    def perplexities(self) -> list[float]:
        """Return how well each side explains its data: lower is better."""
        found = []
        for side in self.sides:
            topics = normalized(side.model.components_)
            scores = KullbackLeibler().row_scores(side.X, side.proportions, topics)
            scores = scores[side.X.sample_totals > 0]
            found.append(float(np.exp(-scores.sum() / side.X.total)))
        return found


def find_common(
    what: str, ours: Array, theirs: Array, *, are_named: bool = True
) -> tuple[Array, Array]:
    """Return the places of the names that both have, in each of them, in the order of ours.

    Names that only count (``are_named=False``) say nothing if there are other numbers of them.
    """
    if not are_named and len(ours) != len(theirs):
        raise ValueError(
            f"The fits have {len(ours):,} and {len(theirs):,} {what}, without names by which they "
            "could be matched. Pass names, or data frames."
        )
    if np.array_equal(ours, theirs):
        return np.arange(len(ours)), np.arange(len(ours))
    places = {name: i for i, name in enumerate(theirs)}
    if len(places) < len(theirs) or len(set(ours)) < len(ours):
        raise ValueError(
            f"The {what} of the two fits differ, and some share a name, so that they cannot be "
            "matched by name. Give them different names, or fit both models to the same data."
        )
    found = [(i, places[name]) for i, name in enumerate(ours) if name in places]
    if not found:
        raise ValueError(f"The two fits have no {what} in common, so they cannot be compared.")
    first, second = np.array(found).T
    return first, second


def _sum_columns(proportions: Array, homes: Array, like: Array) -> Array:
    """Return proportions added up by the topic that each topic is taken for."""
    sums = np.zeros_like(like)
    np.add.at(sums.T, homes, proportions.T)
    return sums


def _responsibilities(weights: Array, by_feature: Array, rows: Array, features: Array) -> Array:
    """Return the probability of each topic for each entry; rows sum to one."""
    joint = weights[rows] * by_feature[features]
    sums = joint.sum(axis=1, keepdims=True)
    even = 1 / joint.shape[1]  # a count that no topic explains
    return np.asarray(np.where(sums > 0, joint / np.where(sums > 0, sums, 1), even))


def _entries(X: Any, rows: Array, column: Array) -> Any:
    """Yield entries of some rows, many at once: places among the rows, features, counts."""
    part = X.rows(rows)
    at = np.repeat(np.arange(len(rows)), np.diff(part.row_starts))
    kept = np.flatnonzero(column[part.features] >= 0)
    for start in range(0, len(kept), _ENTRIES):
        some = kept[start : start + _ENTRIES]
        yield at[some], part.features[some], part.values[some].astype(np.float64)
