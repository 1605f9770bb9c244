"""A penalty that is steep near zero and hardly grows far from it."""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import distance
from isotopic.priors.base import Posterior, Side, Totals


@dataclass(frozen=True, eq=False)
class LogPenalty(Side):
    r"""Non-negative with the penalty :math:`\lambda \sum \log(1 + w / \varepsilon)`.

    Small weights pay nearly :math:`\lambda / \varepsilon` for each unit, large ones nearly nothing:
    unlike the Lasso it does induce sparsity next to topics that sum to one (Section 6).

    What a pass leaves to minimise for an entry with :math:`c` counts and the totals :math:`T`,
    :math:`-c \log w + T w + \lambda \log(1 + w / \varepsilon)`, has one minimum: the positive root
    of :math:`T w^2 + (T \varepsilon + \lambda - c) w - c\,\varepsilon`.

    Parameters
    ----------
    strength : float, default=1.0
        The factor :math:`\lambda \ge 0` of the penalty.
    offset : float, default=1.0
        The weight :math:`\varepsilon > 0` around which the penalty flattens.
    """

    strength: float = 1.0
    offset: float = 1.0
    scale: ClassVar[str] = "pulled"

    def __post_init__(self) -> None:
        if not (isinstance(self.strength, Real) and 0 <= self.strength < np.inf):
            raise ValueError(f"strength must be a finite number >= 0, not {self.strength!r}")
        if not (isinstance(self.offset, Real) and 0 < self.offset < np.inf):
            raise ValueError(f"offset must be a finite number > 0, not {self.offset!r}")

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the factor itself, with its penalty."""
        logs = np.log1p(values.astype(np.float64, copy=False) / self.offset)
        return Posterior(values, values, self.strength * logs.sum(axis=1))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Take the positive root, in the form that does not cancel."""
        wide = counts.astype(np.float64, copy=False)
        linear = np.asarray(totals) * self.offset + self.strength - wide
        four_products = 4 * np.asarray(totals) * wide * self.offset
        root = np.sqrt(np.square(linear) + four_products)
        with np.errstate(divide="ignore", invalid="ignore"):  # only one of the two is taken
            rising = 2 * wide * self.offset / (linear + root)
            falling = (root - linear) / (2 * np.asarray(totals))
        factor = np.where(linear > 0, rising, falling)
        factor[wide == 0] = 0
        return self.at(factor.astype(counts.dtype), totals)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Sum of :math:`|\text{counts} - \text{factor} (\text{totals} + \text{slope})|`."""
        pulled = self.implied(posterior, counts, totals).astype(counts.dtype, copy=False)
        return distance(counts, pulled, row_scale=copies)

    def slope(self, factor: Array) -> Totals:
        r""":math:`\lambda / (\varepsilon + w)`."""
        return np.asarray(self.strength / (self.offset + factor))

    def implied(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r""":math:`\text{factor} \cdot (\text{totals} + \text{slope})`."""
        return np.asarray(posterior.mean * (totals + self.slope(posterior.mean)))
