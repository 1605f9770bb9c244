"""CollapsedDirichlet (CVB0), and the estimates of a Dirichlet side by name."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.priors.base import Posterior, Totals
from isotopic.priors.dirichlet import Dirichlet, DirichletMean, DirichletMode
from isotopic.priors.hyperparameters import Evidence
from isotopic.registry import register
from isotopic.row_inference import RowRule

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
    self_contribution : ndarray or None, default=None
        Of the shape of the factor; ``None`` is zero.
    """

    self_contribution: Array | None = field(default=None, repr=False)
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

    def row_rule(self, n_components: int, totals: Totals) -> RowRule | None:
        """Return how the core makes weights from counts."""
        rule = super().row_rule(n_components, totals)
        own = self.self_contribution
        if rule is None or own is None:
            return rule
        return replace(rule, self_contribution=own) if isinstance(own, np.ndarray) else None

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


# The estimates by the names that estimators give them.
ESTIMATES: dict[str, type[Dirichlet]] = {
    "variational": Dirichlet,
    "map": DirichletMode,
    "smoothed": DirichletMean,
    "cvb0": CollapsedDirichlet,
}
