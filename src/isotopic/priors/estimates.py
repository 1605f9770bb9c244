"""Other estimates with a Dirichlet prior: the posterior mode, and CVB0."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from isotopic.arrays import Array
from isotopic.kernels import normalized, row_sums
from isotopic.priors.base import Posterior
from isotopic.priors.bayesian import Bayesian, set_zero
from isotopic.priors.dirichlet import Dirichlet, DirichletMean
from isotopic.priors.hyperparameters import Evidence
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class DirichletMode(Dirichlet):
    r"""Rows are the mode of their posterior (maximum a posteriori).

    .. math:: \max(\text{counts} + \alpha - 1, 0), \text{ normalised}

    With a concentration below one, entries become exactly zero. The density is infinite there, so
    in the objective the smallest positive number stands for zero. For the same reason the
    concentration cannot be learned. If nothing of a row is left, its largest parameter gets all.
    """

    is_variational: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learn is not None:
            raise ValueError(
                "the mode of a posterior tells nothing of the concentration, so that it cannot be "
                "learned: give a number (above 1, or entries become zero)"
            )

    def with_posterior_means(self) -> Self:
        """Return the prior itself: its effective factor is a point already."""
        return self

    def merged(self, groups: Array) -> Any:
        """Raise: modes of several components do not add up to a mode."""
        return Bayesian.merged(self, groups)

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        set_zero(self.forbidden, parameters, counts)
        above = np.maximum(parameters - 1, 0)
        lost = ~np.any(above, axis=1)
        above[lost] = parameters[lost] == parameters[lost].max(axis=1, keepdims=True)
        mode = normalized(above)
        prior = self._whole_prior(parameters.shape)
        powers = prior - 1 if self.forbidden is None else np.where(self.forbidden, 0.0, prior - 1)
        positive = np.maximum(mode, np.finfo(mode.dtype).tiny)
        terms = -(powers * np.log(positive, dtype=np.float64)).sum(axis=1)
        return Posterior(mode, mode, terms, parameters, explained=counts)


# The largest share of a count that is its self-contribution: beyond it only rounding changes.
_LARGEST_CONTRIBUTION = 0.999


@register
@dataclass(frozen=True, eq=False)
class CollapsedDirichlet(DirichletMean):
    r"""Rows are integrated out, to order zero (CVB0; Asuncion et al., 2009).

    The responsibilities of a count are inferred from the *other* counts:

    .. math:: \text{counts} \cdot (1 - \text{self}) + \alpha, \qquad
        \text{self}_k = \sum x u \phi_k^2 \Big/ \Big(\sum x \phi_k\Big)^2, \quad u = \min(x, 1)

    The self-contribution is the average share that a count has in the counts of its own
    component. It is updated from squared responsibilities from time to time. Between updates, the
    stationary points of the objective are the fixed points of these updates.

    Parameters
    ----------
    self_contribution : array-like or None, default=None
        Of the shape of the factor; ``None`` is zero.
    """

    self_contribution: ArrayLike | None = field(default=None, repr=False)
    learns: ClassVar[bool] = True
    needs_squares: ClassVar[bool] = True

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Return the prior with an updated concentration and self-contribution."""
        prior = super().with_updated_hyperparameters(evidence)
        return replace(prior, self_contribution=self.self_contribution_of(evidence))

    def self_contribution_of(self, evidence: Evidence) -> Array:
        """Return the self-contribution of each entry."""
        assert evidence.squares is not None
        squares, counts = evidence.squares, evidence.counts
        positive = counts > 0
        share = np.divide(squares, counts, out=np.zeros_like(counts), where=positive)
        share = np.minimum(share, _LARGEST_CONTRIBUTION * counts)  # before a quotient overflows
        return np.divide(share, counts, out=share, where=positive)

    def with_self_contribution(self, entries: Any) -> Self:
        """Return the prior with this self-contribution: an array, or what returns its rows."""
        return replace(self, self_contribution=entries)

    def with_learned(self, learned: Any) -> Self:
        """Return the prior with the learned concentration; new samples have no contribution."""
        return replace(super().with_learned(learned), self_contribution=None)

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Return the mean: new samples contributed nothing to it."""
        return posterior.mean

    def rows(self, which: Array) -> Self:
        """Return the prior of some rows."""
        own: Any = self.self_contribution
        if own is None or isinstance(own, np.ndarray):
            return super().rows(which)
        return replace(super().rows(which), self_contribution=own[which])  # rows from a store

    def _effective(
        self, parameters: Array, counts: Array, mean: Array, prior: Array
    ) -> tuple[Array, Array]:
        if self.self_contribution is None:
            return super()._effective(parameters, counts, mean, prior)
        others = 1 - np.asarray(self.self_contribution)
        factor = counts * others
        factor += prior
        terms = self._terms(parameters, factor, prior, prior / others)
        factor /= row_sums(parameters)[:, np.newaxis]
        return factor, terms


# The estimates by the names that estimators give them.
ESTIMATES: dict[str, type[Dirichlet]] = {
    "variational": Dirichlet,
    "map": DirichletMode,
    "smoothed": DirichletMean,
    "cvb0": CollapsedDirichlet,
}
