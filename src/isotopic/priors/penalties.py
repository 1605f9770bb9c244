r"""Concave penalties: small entries are worth getting rid of.

Next to topics that sum to one a Lasso only scales the weights (Lemma 6.1), because every count
costs the same wherever it goes. Under a concave penalty the second count of a component costs less
than the first, so a sample does with fewer of them.

A concave function lies below its tangents, and replacing it by one turns it into a Lasso with a
strength for each entry: a majorizer. It is not needed here. The expected counts leave

.. math:: -\text{counts} \log h + \text{totals} \cdot h + \lambda \rho(h)

for each entry, which has a single stationary point for the penalties below, in closed form or
close to it. So the step goes straight to the minimum, at least as far down as the tangent does.
"""

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import distance
from isotopic.priors.base import Posterior, Side, Totals
from isotopic.priors.roots import positive_root


class Penalty(Side):
    """A side with a penalty on each entry, beyond the Lasso."""

    scale: ClassVar[str] = "pulled"

    def cost(self, factor: Array) -> Array:
        """Give the penalty of each entry."""
        raise NotImplementedError

    def drive(self, factor: Array) -> Array:
        """Give each entry times the derivative of its penalty: the counts that it costs."""
        raise NotImplementedError

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the factor itself, with its penalty."""
        return Posterior(values, values, self.cost(_wide(values)).sum(axis=1))

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Sum of :math:`|\text{counts} - h (\text{totals} + \lambda \rho'(h))|`."""
        explained = self.implied_counts(posterior, counts, totals).astype(counts.dtype)
        return distance(counts, explained, row_scale=copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r""":math:`h (\text{totals} + \lambda \rho'(h))`."""
        factor = _wide(posterior.mean)
        return np.asarray(factor * totals + self.drive(factor))

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        r"""Sum :math:`h \lambda \rho'(h)` over the rows, each as often as it counts."""
        driven = self.drive(_wide(posterior.mean))
        return driven.sum(axis=0) if copies is None else np.asarray(copies @ driven)


@dataclass(frozen=True, eq=False)
class LogPenalty(Penalty):
    r"""Non-negative with the penalty :math:`\lambda \sum \log(1 + h / \delta)`.

    The step is the positive root of

    .. math:: T h^2 + (T \delta + \lambda - c)\, h - c\, \delta = 0

    with the counts :math:`c` and the totals :math:`T`.

    Parameters
    ----------
    strength : float, default=1.0
        The factor :math:`\lambda \ge 0` of the penalty.
    offset : float, default=1.0
        The size :math:`\delta > 0` of an entry from which on it costs little to grow. Entries far
        below it feel a Lasso of strength :math:`\lambda / \delta`.
    """

    strength: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        _check_strength(self.strength)
        if not (isinstance(self.offset, Real) and 0 < self.offset < np.inf):
            raise ValueError(f"offset must be a finite number > 0, not {self.offset!r}")

    def slope(self, factor: Array) -> Totals:
        r""":math:`\lambda / (\delta + h)`."""
        return np.asarray(self.strength / (self.offset + factor))

    def cost(self, factor: Array) -> Array:
        """Give the penalty of each entry."""
        return np.asarray(self.strength * np.log1p(factor / self.offset))

    def drive(self, factor: Array) -> Array:
        """Give each entry times the derivative of its penalty."""
        return np.asarray(self.strength * factor / (factor + self.offset))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Take the positive root of the quadratic, by the formula that does not cancel."""
        wide, total = _wide(counts), np.asarray(totals, np.float64)
        middle = total * self.offset + self.strength - wide
        root = np.hypot(middle, 2 * np.sqrt(total * self.offset) * np.sqrt(wide))
        small = _quotient(2 * self.offset * wide, middle + root)
        large = _quotient(root - middle, 2 * total)
        return self.at(np.where(middle > 0, small, large).astype(counts.dtype), totals)


@dataclass(frozen=True, eq=False)
class PowerPenalty(Penalty):
    r"""Non-negative with the penalty :math:`\lambda \sum h^q`, :math:`0 < q < 1`.

    The step is the root of :math:`T h + \lambda q h^q = c` with the counts :math:`c` and the
    totals :math:`T`. Near zero an update takes :math:`h` to about :math:`h^{1/q}`, so entries that
    are not worth their penalty become exactly zero within few updates. They stay there: under
    this penalty zero is a local minimum of every entry, and the start says of which.

    Parameters
    ----------
    strength : float, default=1.0
        The factor :math:`\lambda \ge 0` of the penalty.
    power : float, default=0.5
        The :math:`q`.
    """

    strength: float = 1.0
    power: float = 0.5

    def __post_init__(self) -> None:
        _check_strength(self.strength)
        if not (isinstance(self.power, Real) and 0 < self.power < 1):
            raise ValueError(f"power must lie between 0 and 1, not {self.power!r}")

    def cost(self, factor: Array) -> Array:
        """Give the penalty of each entry."""
        return np.asarray(self.strength * factor**self.power)

    def drive(self, factor: Array) -> Array:
        """Give each entry times the derivative of its penalty."""
        return np.asarray(self.strength * self.power * factor**self.power)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Solve for the root."""
        pull = self.strength * self.power
        return self.at(positive_root(counts, totals, pull, self.power), totals)


def _wide(values: Array) -> Array:
    return values.astype(np.float64, copy=False)


def _quotient(above: Array, below: Array) -> Array:
    """Divide; where there is nothing below, the other formula holds, or the entry is zero."""
    below = np.broadcast_to(below, above.shape)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _check_strength(strength: float) -> None:
    if not (isinstance(strength, Real) and 0 <= strength < np.inf):
        raise ValueError(f"strength must be a finite number >= 0, not {strength!r}")
