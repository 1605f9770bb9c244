"""The divergence of counts: expected counts (E step), and priors that absorb them (M step)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, xlogy

from isotopic.arrays import Array
from isotopic.counts import CountMatrix, RowView
from isotopic.divergences.base import Divergence, PassSums, RowsPass, RowSums
from isotopic.elementwise import extrapolated, normalized, row_distances, row_sums
from isotopic.kernels import Counts, ReadyTopics, one_pass, row_pass, rows_pass
from isotopic.priors import Posterior, Prior, Totals
from isotopic.registry import register


@register
@dataclass(frozen=True)
class KullbackLeibler(Divergence):
    r"""The generalized Kullback-Leibler divergence, minus the log-likelihood of Poisson counts.

    .. math:: \sum_{dv} x_{dv} \log\frac{x_{dv}}{\hat x_{dv}} - x_{dv} + \hat x_{dv}

    A pass distributes each count over the components (:func:`~isotopic.expected_counts`), and
    each side's prior absorbs the counts of its side. Normalised topics always have totals of one,
    so both sides can be updated from the same pass (the paper's theorem).

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import KullbackLeibler, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> TopicModel(2, divergence=KullbackLeibler(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    is_likelihood: ClassVar[bool] = True
    max_momentum: ClassVar[float] = 0.98
    floor_to_residual: ClassVar[float] = 25.0
    # A sample has one optimum, or few: it can go far at once, and needs little of a floor.
    row_momentum: ClassVar[float] = 0.9
    row_floor: ClassVar[float] = 0.002
    row_floor_to_residual: ClassVar[float] = 1.0

    def prepare(self, X: CountMatrix) -> Callable[..., PassSums]:
        """Return the pass that distributes the counts of some samples over the components."""
        return partial(_share_out, X)

    def counts(self, sums: PassSums, prior: Prior, topics: Posterior) -> Counts:
        """Return the expected counts: the sums themselves."""
        return Counts(sums.weights, sums.topics, sums.log_likelihood)

    extrapolate = staticmethod(extrapolated)  # scales each row to its total

    def prepare_rows(
        self, problem: Any, X: CountMatrix, topics: Posterior
    ) -> Callable[[Array], RowsPass]:
        """Return the function that selects samples for passes with the topics fixed."""
        table = topics.prepared
        topics = replace(topics, effective=table.topics)
        if X.missing is not None:  # computed once, for all passes over some rows
            has_scale = not (problem.weights.is_normalized or problem.topics.is_normalized)
            X.missing.reach(topics.mean if has_scale else topics.effective)

        def select(which: Array) -> CountsRows:
            rows = X.view(which)
            totals = problem.topics_totals(topics, rows.missing)
            return CountsRows(rows, problem.weights.rows(which), table, totals)

        return select

    def row_scores(self, X: CountMatrix, weights: Array, topics: Array) -> Array:
        """Return the log-likelihood of each sample's counts."""
        shares = normalized(np.ascontiguousarray(weights * topics.sum(axis=1)))
        return row_pass(X, shares, normalized(topics), proportions=True)[1]

    def log_likelihoods(self, x: Array, product: Array) -> Array:
        """Return the log-probability of each count under a Poisson distribution."""
        return np.asarray(xlogy(x, product) - product - gammaln(x + 1))

    def row_units(self, X: Any) -> Array:
        """Return the number of counts of each sample."""
        totals: Array = X.sample_totals
        return totals


def _share_out(
    X: CountMatrix,
    prior: Prior,
    weights: Posterior,
    topics: Posterior,
    *,
    weights_only: bool,
    jointly: bool,
    rescales: bool,
) -> PassSums:
    """Return the expected counts; the prior measures its gap from them."""
    counts = one_pass(
        X,
        weights.effective,
        topics.effective,
        weights_only=weights_only,
        proportions=prior.is_normalized,
    )
    return PassSums(*counts, np.nan, np.nan)


@dataclass(frozen=True)
class CountsRows:
    """A pass over some samples on their own."""

    X: RowView
    prior: Prior
    topics: ReadyTopics
    totals: Totals

    def absorb(self, counts: Array) -> Posterior:
        """Let the prior absorb expected counts."""
        return self.prior.absorb(counts, self.totals)

    def evaluate(self, weights: Posterior, absorbed: Array | None) -> RowSums:
        """Return expected counts, log-likelihood and objective of each sample."""
        is_normalized = self.prior.is_normalized
        counts, log_likelihoods = rows_pass(
            self.X, weights.effective, self.topics, proportions=is_normalized
        )
        objectives = -log_likelihoods
        if weights.terms is not None:
            objectives += weights.terms
        if not is_normalized and np.ndim(self.totals) == 0:
            objectives += row_sums(weights.mean) * self.totals
        elif not is_normalized:
            objectives += (weights.mean * self.totals).sum(axis=1, dtype=np.float64)
        if absorbed is None:
            residuals = np.full(len(counts), np.inf)
        else:
            residuals = row_distances(counts, absorbed)
            residuals /= self.X.sample_totals
        return RowSums(counts, log_likelihoods, objectives, residuals, 0.0)

    def extrapolate(self, latest: Array, previous: Array, momentum: Array, floor: Array) -> Array:
        """Return expected counts extrapolated along their last change."""
        totals = self.X.sample_totals if self.X.missing is None else row_sums(latest)
        return extrapolated(latest, previous, totals, momentum=momentum, floor=floor)
