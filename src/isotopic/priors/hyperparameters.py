"""LearnsHyperparameters, the ability of a prior to learn its settings, and how they are updated."""

from collections.abc import Callable
from dataclasses import replace
from operator import methodcaller
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from isotopic.arrays import Array
from isotopic.concentration import (
    Occurs,
    concentration_rises,
    concentration_slopes,
    count_histogram,
)
from isotopic.elementwise import row_sums
from isotopic.priors.base import Prior, Totals

# The relative change that ends updates from the same expected counts.
_SMALL_CHANGE = 1e-3

# The largest number of columns with histograms of their own: each takes 20 kB.
MOST_HISTOGRAMS = 2048

# The smallest concentration that is learned: below it, hardly any counts are left to learn from.
LEAST = 1e-3

# The rate of the exponential hyperprior of each learned concentration. Where all rows are alike,
# the likelihood alone would let it grow without limit.
RATE = 1.0

AnyPrior = TypeVar("AnyPrior", bound=Any)


class Evidence(NamedTuple):
    """What a prior learns its hyperparameters from.

    Attributes
    ----------
    counts : ndarray
        The expected counts of its factor.
    squares : ndarray or None
        The sums of squared responsibilities, if the prior needs them.
    totals : Totals
        The sums of the other factor.
    copies : ndarray or None
        The sample weight of each row.
    """

    counts: Array
    squares: Array | None
    totals: Totals
    copies: Array | None = None

    def rows(self, rows: slice) -> "Evidence":
        """Return the evidence of some rows."""
        counts, squares, totals, copies = self
        by_row = isinstance(totals, np.ndarray) and totals.ndim == 2 and len(totals) > 1
        return Evidence(
            counts[rows],
            None if squares is None else squares[rows],
            totals[rows] if by_row else totals,  # type: ignore[index]
            None if copies is None else copies[rows],
        )


class LearnsHyperparameters(Prior):
    """A prior that learns hyperparameters from expected counts.

    A subclass defines :meth:`sufficient_statistics`, :meth:`with_statistics` and
    :meth:`with_learned`. Statistics are sums over rows, so those of row blocks can be added.
    """

    learn: str | None = "always"  # None: the hyperparameters are fixed
    learned_setting: ClassVar[str] = ""  # updates are repeated until it changes little
    most_updates: ClassVar[int] = 20  # from the same expected counts

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether hyperparameters are learned during the fit."""
        return self.learn is not None

    def learning(self) -> Prior:
        """Return the prior that learns what it has in common for all rows of a column."""
        own: Any = self
        learning: Prior = own if self.learn is not None else replace(own, learn="asymmetric")
        return learning

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Return the sums over rows that an update of the hyperparameters needs."""
        raise NotImplementedError

    def with_statistics(self, statistics: Array) -> Self:
        """Return the prior with hyperparameters updated from the statistics of all rows."""
        raise NotImplementedError

    def uses_histogram(self, columns: int) -> bool:
        """Return whether all updates can use one histogram of the counts, by number of columns."""
        return False

    def histogram(self, evidence: Evidence) -> "CountHistogram":
        """Return the histogram of expected counts; those of row blocks can be added."""
        raise NotImplementedError

    def with_histogram(self, histogram: "CountHistogram") -> Self:
        """Return the prior with hyperparameters that fit the counts of a histogram better."""
        return update_repeatedly(self, histogram.sufficient_statistics)

    def changed_since(self, before: Any) -> bool:
        """Return whether another update from the same counts would still change something."""
        if not self.learned_setting:
            return False
        now = np.asarray(getattr(self, self.learned_setting))
        change = np.abs(now - np.asarray(getattr(before, self.learned_setting)))
        return bool(np.any(change > _SMALL_CHANGE * now))

    def continuing(self, learned: Any) -> Self:
        """Return this prior, which goes on learning, with the hyperparameters of ``learned``.

        A prior of another kind, or with settings for each row, has none to start from.
        """
        if self.learn is None or type(learned) is not type(self):
            return self
        known: Any = self.with_learned(learned)
        mine = self._array_settings()
        taken = [a for name, a in known._array_settings().items() if a is not mine.get(name)]
        if any(array.ndim == 2 and len(array) > 1 for array in taken):
            return self
        same: Self = known if known.learn == self.learn else replace(known, learn=self.learn)
        return same

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Return the prior with hyperparameters that fit the expected counts better."""
        if self.learn is None:
            return self
        if self.uses_histogram(evidence.counts.shape[1]):
            return self.with_histogram(self.histogram(evidence))
        return update_repeatedly(self, methodcaller("sufficient_statistics", evidence))


def update_repeatedly(
    prior: AnyPrior, sufficient_statistics: Callable[[AnyPrior], Array]
) -> AnyPrior:
    """Return the prior after updates of its hyperparameters, until these change little."""
    for _ in range(prior.most_updates):
        before, prior = prior, prior.with_statistics(sufficient_statistics(prior))
        if not prior.changed_since(before):
            break
    return prior


class CountHistogram(NamedTuple):
    """Histograms of expected counts and row totals: all that a concentration is learned from.

    They are made once, however many updates follow. Counts between two bins are divided among
    them, which changes a learned concentration by less than 1 %.
    """

    entries: Array  # one histogram for each concentration
    totals: Array  # of the rows
    columns: int  # that share a concentration
    occurs: Occurs

    @classmethod
    def of(cls, evidence: Evidence, occurs: Occurs, *, by_column: bool) -> Self:
        """Return the histogram of the evidence, by column or of all columns together."""
        counts, squares, _, copies = evidence
        squares = squares if occurs == Occurs.DEPENDENTLY else None
        totals = row_sums(counts)[:, np.newaxis]
        return cls(
            count_histogram(counts, squares, copies, by_column=by_column),
            count_histogram(totals, copies=copies, by_column=False),
            1 if by_column else counts.shape[1],
            occurs,
        )

    def plus(self, later: "CountHistogram") -> "CountHistogram":
        """Return the histogram of more rows."""
        return self._replace(
            entries=self.entries + later.entries, totals=self.totals + later.totals
        )

    def sufficient_statistics(self, prior: Any) -> Array:
        """Return what :func:`concentration_statistics` returns for the counts themselves."""
        groups = len(self.entries)
        now = np.broadcast_to(np.ravel(np.asarray(prior.concentration, np.float64)), groups)
        whole = np.array([now.sum() * self.columns])
        numerator = now * concentration_rises(self.entries, now, self.occurs)
        by_row = self.columns * concentration_rises(self.totals, whole, Occurs.ALWAYS)
        return np.stack([numerator, np.broadcast_to(by_row, groups)])[:, np.newaxis]


def concentration_statistics(
    concentration: Array,
    evidence: Evidence,
    occurs: Occurs,
    *,
    symmetric: bool,
    seeds: Array | None = None,
    forbidden: Array | None = None,
) -> Array:
    r"""Return the two sums over rows of an update of the concentration (Minka's fixed point).

    .. math:: \alpha_j \leftarrow
        \frac{\sum_i \alpha_j p_{ij} (\psi(\alpha_j + s_{ij} + n_{ij}) - \psi(\alpha_j + s_{ij}))}
             {r + \sum_i \psi(A_i + N_i) - \psi(A_i)}, \qquad
        A_i = \sum_j \alpha_j + s_{ij}

    with the rate :math:`r` of its exponential hyperprior and seeds :math:`s`, counts that were seen
    before the data. Each update maximises a lower bound that touches the posterior, so the
    posterior never falls.

    With ``symmetric`` all columns share one number. The result has the shape (2, 1, 1) or
    (2, 1, columns), and those of parts of the rows can be added.
    """
    shape, axis = evidence.counts.shape, None if symmetric else 0
    allowed = np.ones((1, 1)) if forbidden is None else ~forbidden
    copies = evidence.copies
    by_row = allowed if copies is None else allowed * copies[:, np.newaxis]
    now = np.atleast_2d(np.asarray(concentration, np.float64))
    prior = allowed * (now if seeds is None else now + seeds)
    gains, losses = concentration_slopes(evidence.counts, evidence.squares, prior, occurs)
    numerator = (by_row * now * gains).sum(axis=axis, keepdims=True)
    denominator = np.broadcast_to(by_row * losses[:, np.newaxis], shape)
    return np.stack([numerator, denominator.sum(axis=axis, keepdims=True)])
