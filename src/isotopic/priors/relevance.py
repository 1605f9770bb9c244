"""Automatic relevance determination: components that explain little are pruned."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from isotopic.arrays import Array, as_numbers
from isotopic.elementwise import row_sums
from isotopic.priors.base import Totals
from isotopic.priors.hyperparameters import Evidence, LearnsHyperparameters
from isotopic.priors.points import LinearPenalty, divided
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class Relevance(LinearPenalty, LearnsHyperparameters):
    r"""Weights with a learned scale for each component (Tan & Févotte, 2013).

    The weights of component :math:`k` are exponential with mean :math:`\lambda_k`, and
    :math:`\lambda_k` is inverse-Gamma with shape :math:`a` and scale :math:`b`. At the optimum,

    .. math:: \lambda_k = \frac{\sum_d h_{dk} + b}{n + a + 1}, \qquad
        \text{term} = (n + a + 1) \sum_k \log\Big(\sum_d h_{dk} + b\Big)

    over :math:`n` samples: a concave penalty on what a component explains in total. It drives
    components to zero that explain less than about one count per sample. The penalty is replaced
    by its tangent, a Lasso with strength :math:`1 / \lambda_k`, which is updated from time to
    time. The tangent lies above the penalty, so an update never raises the objective.

    The topics must be normalised: otherwise they would take over the scale.

    Parameters
    ----------
    shape : float, default=2.0
        :math:`a > 1`.
    scale_share : float, default=1.0
        :math:`b` relative to :math:`(a - 1)` times the mean total of a sample and component, for
        which the prior mean matches the data.
    strength, constant : array-like
        The tangent. There is none at first, until the components differ from each other.
    """

    shape: float = 2.0
    scale_share: float = 1.0
    strength: ArrayLike = field(default=0.0, repr=False)
    constant: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        if not 1 < self.shape < np.inf:
            raise ValueError(f"shape must be a finite number above 1, not {self.shape!r}.")
        if not 0 < self.scale_share < np.inf:
            raise ValueError(f"scale_share must be positive and finite, not {self.scale_share!r}.")
        strength = as_numbers("strength", self.strength)
        if not (np.all((strength >= 0) & (strength < np.inf)) and np.isfinite(self.constant)):
            raise ValueError(
                f"strength and constant must be finite, and the strength at least 0, not "
                f"{self.strength!r} and {self.constant!r}"
            )

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Return the weights of each component, the samples and their counts, all summed."""
        copies = np.ones(len(evidence.counts)) if evidence.copies is None else evidence.copies
        weights = divided(evidence.counts, evidence.totals + np.asarray(self.strength))
        mass = copies @ weights.astype(np.float64)
        return np.append(mass, [copies.sum(), copies @ row_sums(evidence.counts)])

    def with_statistics(self, statistics: Array) -> Self:
        """Return the prior with the tangent at these weights; without counts it stays."""
        *by_component, samples, total = statistics.tolist()
        if total == 0:
            return self
        mass = np.array(by_component)
        prior_scale = (self.shape - 1) * self.scale_share * total / samples / len(mass)
        force = samples + self.shape + 1
        reached = mass + prior_scale
        constant = force * float((np.log(reached) - mass / reached).sum()) / samples
        return replace(self, strength=force / reached, constant=constant)

    def with_learned(self, learned: Any) -> Self:
        """Return the prior with the learned tangent."""
        return replace(self, strength=learned.strength, constant=learned.constant)

    def merged(self, groups: Array) -> "Relevance":
        """Return the prior without a tangent: merged components have another relevance."""
        return Relevance(self.shape, self.scale_share)

    def split(self, parents: Array, n_components: int) -> "Relevance":
        """Return the prior without a tangent: parts of components have another relevance."""
        return Relevance(self.shape, self.scale_share)

    def penalty(self, factor: Array) -> Array:
        """Return the tangent's penalty of each row."""
        penalty = factor @ np.broadcast_to(self.strength, factor.shape[1]) + self.constant
        return np.asarray(penalty, np.float64)

    def slope(self, factor: Array) -> Totals:
        """Return the strength of each component."""
        return np.asarray(self.strength)
