"""Dirichlet priors that make another effective factor of the same counts.

The mean-field posterior of :class:`~isotopic.priors.Dirichlet` shares a count out by
``exp(E[log])``, which is far smaller than the mean wherever there is less than about one count. How
good a model is for new data hangs on this choice (Asuncion, Welling, Smyth & Teh, 2009, *On
Smoothing and Inference for Topic Models*).
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from isotopic.arrays import Array
from isotopic.kernels import log_sums, normalized, row_sums
from isotopic.priors.base import Evidence, Posterior, Prior
from isotopic.priors.bayesian import Dirichlet, Gamma
from isotopic.priors.hyperparameters import Occurrence, uncertain
from isotopic.priors.offsets import WithFixedWeights, WithSizeFactors
from isotopic.priors.wrappers import Wrapper


@dataclass(frozen=True, eq=False)
class DirichletMode(Dirichlet):
    r"""Rows are the mode of their posterior (maximum a posteriori).

    .. math:: \max(\text{counts} + \alpha - 1, 0), \text{ normalised}

    With a concentration below one, entries become exactly zero. Its density is infinite there, so
    in the objective the smallest number stands for zero. For the same reason the concentration
    cannot be learned. A row of which nothing is left has all on its largest parameter.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learn is not None:
            raise ValueError(
                "the mode of a posterior tells nothing of the concentration, so that it cannot be "
                "learned: give a number (above 1, or entries become zero)"
            )

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        self._clear(parameters, counts)
        above = np.maximum(parameters - 1, 0)
        lost = ~np.any(above, axis=1)
        above[lost] = parameters[lost] == parameters[lost].max(axis=1, keepdims=True)
        mode = normalized(above)
        prior = self._whole_prior(parameters.shape)
        pull = prior - 1 if self.forbidden is None else np.where(self.forbidden, 0.0, prior - 1)
        seen = np.maximum(mode, np.finfo(mode.dtype).tiny)
        terms = -(pull * np.log(seen, dtype=np.float64)).sum(axis=1)
        return Posterior(mode, mode, terms, parameters, explained=counts)


@dataclass(frozen=True, eq=False)
class DirichletMean(Dirichlet):
    r"""Rows are the mean of their posterior ("smoothed" maximum a posteriori).

    .. math:: \text{counts} + \alpha, \text{ normalised}

    which is the mode under the concentration :math:`\alpha + 1`. Its term of the objective is that
    prior's divergence from the row,

    .. math:: \sum_k \alpha_k \log\frac{\alpha_k / \sum_j \alpha_j}{\text{row}_k} \ge 0.
    """

    def _occurrence(self, evidence: Evidence) -> Occurrence:
        counts = evidence.counts.astype(np.float64, copy=False)
        squares = evidence.squares
        wide = None if squares is None else squares.astype(np.float64)
        return uncertain(counts, wide, self._whole_prior(counts.shape))

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        self._clear(parameters, counts)
        mean = normalized(parameters)
        effective, terms = self._effective(parameters, counts, mean)
        return Posterior(mean, effective, terms, parameters, explained=counts)

    def _effective(self, parameters: Array, counts: Array, mean: Array) -> tuple[Array, Array]:
        """Give the effective factor, and what it adds to the objective."""
        prior = self._compact_prior(parameters)
        return mean, self._terms(parameters / _positive(prior), prior, parameters)

    def _compact_prior(self, like: Array) -> Array:
        """Give the prior in as few numbers as broadcast to the side."""
        prior = self._prior_counts() if self.forbidden is None else self._whole_prior(like.shape)
        return prior.astype(like.dtype)

    def _terms(self, rise: Array, exponents: Array, parameters: Array) -> Array:
        r"""Give :math:`A \log(\sum \text{parameters}/A) - \sum \text{exponents} \log \text{rise}`.

        In parts: one for each row if those are contiguous, else by column and by row.
        """
        prior_sums = _row_sums(self._whole_prior(parameters.shape))
        rows = prior_sums * np.log(row_sums(parameters) / prior_sums)
        if self.forbidden is not None:
            rise = np.where(self.forbidden, 1, rise).astype(rise.dtype)
        entries = log_sums(rise, np.broadcast_to(exponents, rise.shape))
        return rows - entries if entries.shape == rows.shape else np.append(-entries, rows)


# At most this share of a count is taken for its own: beyond it nothing changes but the rounding.
_MOST_OWN = 0.999


@dataclass(frozen=True, eq=False)
class CollapsedDirichlet(DirichletMean):
    r"""Rows are integrated out, to order zero (CVB0; Asuncion et al., 2009).

    A count is shared out by what the *other* counts say:

    .. math:: \text{counts} \cdot (1 - \text{own}) + \alpha, \qquad
        \text{own}_k = \sum x u \phi_k^2 \Big/ \Big(\sum x \phi_k\Big)^2, \quad u = \min(x, 1)

    where own is what a count on average finds of itself among the counts of its component. It is
    learned from the squares of the responsibilities from time to time. In between, the objective
    is the one whose stationary points are the fixed points of these updates.

    Parameters
    ----------
    self_contribution : array-like or None, default=None
        Of the shape of the side; ``None`` is zero.
    """

    self_contribution: ArrayLike | None = field(default=None, repr=False)
    learns: ClassVar[bool] = True
    needs_squares: ClassVar[bool] = True

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Learn how much of itself each count finds."""
        return (
            super()
            .with_updated_hyperparameters(evidence)
            .with_self_contribution(self.self_contribution_of(evidence))
        )

    def self_contribution_of(self, evidence: Evidence) -> Array:
        """Find how much of itself each count finds."""
        assert evidence.squares is not None
        squares, counts = evidence.squares, evidence.counts
        some = counts > 0
        share = np.divide(squares, counts, out=np.zeros_like(counts), where=some)
        share = np.minimum(share, _MOST_OWN * counts)  # first, since a quotient might overflow
        return np.divide(share, counts, out=share, where=some)

    def with_self_contribution(self, entries: Any) -> Self:
        """Take what counts find of themselves."""
        return replace(self, self_contribution=entries)

    def kept(self, learned: Any) -> Self:
        """Take the concentration; what counts find of themselves is theirs alone."""
        return replace(super().kept(learned), self_contribution=None)

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Show the mean: new samples find nothing of themselves."""
        return posterior.mean

    def rows(self, which: Array) -> Self:
        """Give the prior of some rows only."""
        own: Any = self.self_contribution  # an array, or something that gives rows of one
        some = None if own is None else own[which]
        return replace(super().rows(which), self_contribution=some)

    def _effective(self, parameters: Array, counts: Array, mean: Array) -> tuple[Array, Array]:
        if self.self_contribution is None:
            return super()._effective(parameters, counts, mean)
        others = 1 - np.asarray(self.self_contribution)
        prior = self._compact_prior(parameters)
        factor = counts * others
        factor += prior
        terms = self._terms(factor / _positive(prior), prior / others, parameters)
        factor /= row_sums(parameters)[:, np.newaxis]
        return factor, terms


def _positive(prior: Array) -> Array:
    """Put one where an entry is forbidden, to divide by."""
    return np.asarray(np.where(prior > 0, prior, 1), prior.dtype)


def _row_sums(values: Array) -> Array:
    """Row sums, at once where every row is the same."""
    if values.strides[0] == 0:
        return np.broadcast_to(values[:1].sum(axis=1), len(values))
    return np.asarray(values.sum(axis=1))


# What an estimator calls them.
ESTIMATES: dict[str, type[Dirichlet]] = {
    "variational": Dirichlet,
    "map": DirichletMode,
    "smoothed": DirichletMean,
    "cvb0": CollapsedDirichlet,
}


def smoothed(prior: Prior) -> Prior:
    """Give the prior that makes means of the counts where this one is variational."""
    if isinstance(prior, WithFixedWeights):  # proportions have no amounts to be given
        return prior
    if isinstance(prior, WithSizeFactors) and smoothed(prior.prior).is_normalized:  # and no size
        return smoothed(prior.prior)
    if isinstance(prior, Wrapper):
        return prior.around(smoothed(prior.prior))
    if type(prior) is Dirichlet:
        return DirichletMean(prior.concentration, forbidden=prior.forbidden, seeds=prior.seeds)
    if type(prior) is Gamma:
        return DirichletMean(prior.shape, forbidden=prior.forbidden)
    return prior
