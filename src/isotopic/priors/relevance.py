"""Automatic relevance determination: components that explain little are pruned."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from isotopic.arrays import Array
from isotopic.kernels import row_sums
from isotopic.priors.base import Evidence, Posterior, Side, Totals
from isotopic.priors.points import divided, scaled_distance


@dataclass(frozen=True, eq=False)
class Relevance(Side):
    r"""Weights whose components share a scale each, which is learned (Tan & Févotte, 2013).

    The weights of component :math:`k` are exponential with mean :math:`\lambda_k`, and
    :math:`\lambda_k` is inverse-Gamma with shape :math:`a` and scale :math:`b`. At its best,

    .. math:: \lambda_k = \frac{\sum_d h_{dk} + b}{n + a + 1}, \qquad
        \text{term} = (n + a + 1) \sum_k \log\Big(\sum_d h_{dk} + b\Big)

    over :math:`n` samples: a concave penalty on what a component explains in all, which drives
    components to zero that explain less than about a count in a sample. It is replaced by its
    tangent, a Lasso with strength :math:`1 / \lambda_k`, which is learned anew from time to time;
    the tangent lies above the penalty, so that this never raises the objective.

    The topics must be normalised: otherwise the scale would run into them.

    Parameters
    ----------
    shape : float, default=2.0
        :math:`a > 1`.
    scale_share : float, default=1.0
        :math:`b` as a multiple of :math:`(a - 1)` times the mean total of a sample and component,
        which is where the prior expects it.
    strength, constant : array-like
        The tangent. At first there is none: components are told apart before they are judged.
    """

    shape: float = 2.0
    scale_share: float = 1.0
    strength: ArrayLike = field(default=0.0, repr=False)
    constant: float = field(default=0.0, repr=False)
    learns: ClassVar[bool] = True
    scale: ClassVar[str] = "pulled"

    def __post_init__(self) -> None:
        if not 1 < self.shape < np.inf:
            raise ValueError(f"shape must be finite and larger than 1, not {self.shape!r}")
        if not 0 < self.scale_share < np.inf:
            raise ValueError(f"scale_share must be positive and finite, not {self.scale_share!r}")

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Take the tangent at the weights as they are."""
        return self.with_statistics(self.sufficient_statistics(evidence))

    learns_from_statistics: ClassVar[bool] = True

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Add up the weights of each component, the samples and their counts."""
        copies = np.ones(len(evidence.counts)) if evidence.copies is None else evidence.copies
        weights = divided(evidence.counts, evidence.totals + np.asarray(self.strength))
        mass = copies @ weights.astype(np.float64)
        return np.append(mass, [copies.sum(), copies @ row_sums(evidence.counts)])

    def with_statistics(self, tally: Array) -> Self:
        """Take the tangent at the sums of the weights; without any counts, leave it."""
        *by_component, samples, total = tally.tolist()
        if total == 0:
            return self
        mass = np.array(by_component)
        prior_scale = (self.shape - 1) * self.scale_share * total / samples / len(mass)
        force = samples + self.shape + 1
        reached = mass + prior_scale
        constant = force * float((np.log(reached) - mass / reached).sum()) / samples
        return replace(self, strength=force / reached, constant=constant)

    def kept(self, learned: Any) -> Self:
        """Take the relevance that was learned."""
        return replace(self, strength=learned.strength, constant=learned.constant)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the weights themselves, with their penalty."""
        penalty = values @ np.broadcast_to(self.strength, values.shape[1]) + self.constant
        return Posterior(values, values, np.asarray(penalty, np.float64))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Divide by the other side's totals plus the strength."""
        return self.at(divided(counts, totals + np.asarray(self.strength)), totals)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure as the Lasso does."""
        return scaled_distance(counts, posterior.mean, totals + np.asarray(self.strength), copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r""":math:`\text{factor} \cdot (\text{totals} + \text{strength})`."""
        return np.asarray(posterior.mean * (totals + np.asarray(self.strength)))
