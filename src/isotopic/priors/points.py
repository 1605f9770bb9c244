"""Sides that are points: each is its own effective factor."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import distance, normalized, row_sums
from isotopic.priors.base import Posterior, Side, Totals, as_column


@dataclass(frozen=True, eq=False)
class Free(Side):
    r"""Non-negative, no more: :math:`\text{counts} / \text{totals}` (Algorithm 1)."""

    scale: ClassVar[str] = "free"
    linear_penalty: ClassVar[float] = 0.0

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the factor itself."""
        return Posterior(values, values)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Divide by the other side's totals."""
        return self.at(divided(counts, totals), totals)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Sum of :math:`|\text{counts} - \text{factor} \cdot \text{totals}|`."""
        return scaled_distance(counts, posterior.mean, totals, copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r""":math:`\text{factor} \cdot \text{totals}`."""
        return np.asarray(posterior.mean * totals)


@dataclass(frozen=True, eq=False)
class Lasso(Side):
    r"""Non-negative with the penalty :math:`\lambda \sum |\cdot|`.

    The update is :math:`\text{counts} / (\text{totals} + \lambda)`. With normalised topics on the
    other side that is :math:`1 / (1 + \lambda)` of the unpenalised update in every iteration, so
    no sparsity comes of it (Lemma 6.1).

    Parameters
    ----------
    strength : float, default=1.0
        The factor :math:`\lambda \ge 0` of the penalty.
    """

    strength: float = 1.0
    scale: ClassVar[str] = "pulled"

    def __post_init__(self) -> None:
        if not (isinstance(self.strength, Real) and 0 <= self.strength < np.inf):
            raise ValueError(f"strength must be a finite number >= 0, not {self.strength!r}")

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the factor itself, with its penalty."""
        return Posterior(values, values, self.strength * row_sums(values))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Divide by the other side's totals plus the strength."""
        return self.at(divided(counts, totals + self.strength), totals)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Sum of :math:`|\text{counts} - \text{factor} (\text{totals} + \lambda)|`."""
        return scaled_distance(counts, posterior.mean, totals + self.strength, copies)

    def slope(self, factor: Array) -> Totals:
        """Give the strength."""
        return self.strength

    @property
    def linear_penalty(self) -> float:  # type: ignore[override]
        """The strength."""
        return self.strength

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r""":math:`\text{factor} \cdot (\text{totals} + \lambda)`."""
        return np.asarray(posterior.mean * (totals + self.strength))

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        r"""Sum :math:`\lambda \cdot \text{factor}` over the rows, each as often as it counts."""
        wide = posterior.mean.astype(np.float64, copy=False)
        return self.strength * (wide.sum(axis=0) if copies is None else copies @ wide)


@dataclass(frozen=True, eq=False)
class Simplex(Side):
    r"""Non-negative rows that sum to one: :math:`\propto \text{counts}` (Algorithms 2 and 4)."""

    is_normalized: ClassVar[bool] = True
    linear_penalty: ClassVar[float] = 0.0

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Normalise; a row of zeros says nothing and becomes uniform."""
        factor = normalized(values)
        return Posterior(factor, factor)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Normalise the counts."""
        factor = normalized(counts, in_place=True)
        return Posterior(factor, factor)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Sum of :math:`|\text{counts} - \text{factor} \cdot \text{row sum of counts}|`."""
        return distance(counts, posterior.mean, row_scale=row_sums(counts))

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r""":math:`\text{factor} \cdot \text{mass}`."""
        return np.asarray(posterior.mean * as_column(mass))


def divided(counts: Array, totals: Totals) -> Array:
    """Divide by the totals; a component without totals has no counts and stays at zero."""
    if np.isscalar(totals):
        return counts if totals == 1 else counts / counts.dtype.type(totals)
    totals = np.asarray(totals, counts.dtype)
    return counts / np.where(totals > 0, totals, 1)


def scaled_distance(counts: Array, factor: Array, totals: Totals, copies: Array | None) -> float:
    r"""Sum of :math:`|\text{counts} - \text{factor} \cdot \text{totals}|` over all copies."""
    scale = np.asarray(totals, np.float64)
    if scale.shape == counts.shape and scale.ndim == 2:  # one for each entry
        factor, scale = (factor * scale).astype(counts.dtype), np.ones(())
    if scale.ndim == 2:  # one for each row, as a column
        return distance(counts, factor, row_scale=scale[:, 0] * (1.0 if copies is None else copies))
    column_scale = np.broadcast_to(scale, counts.shape[1])
    return distance(counts, factor, row_scale=copies, column_scale=column_scale)
