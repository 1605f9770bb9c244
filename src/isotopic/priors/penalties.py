r"""Concave penalties, which make weights sparse.

If the topics sum to one, a Lasso only scales the weights (Lemma 6.1): every count costs the same
in every component. Under a concave penalty the second count of a component costs less than the
first, so a sample uses fewer components.

The expected counts leave

.. math:: -\text{counts} \log h + \text{totals} \cdot h + \lambda \rho(h)

for each entry. For the penalties below it has a single stationary point, in closed form or close
to it. So the step goes straight to the minimum and needs no tangent as a majorizer.
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from isotopic.arrays import Array
from isotopic.priors.base import Posterior, Prior, Totals
from isotopic.priors.points import check_strength
from isotopic.priors.roots import positive_root
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class LogPenalty(Prior):
    r"""Non-negative with the penalty :math:`\lambda \sum \log(1 + h / \delta)`.

    The step is the positive root of

    .. math:: T h^2 + (T \delta + \lambda - c)\, h - c\, \delta = 0

    with the counts :math:`c` and the totals :math:`T`.

    Parameters
    ----------
    strength : float, default=1.0
        The factor :math:`\lambda \ge 0` of the penalty.
    offset : float, default=1.0
        The size :math:`\delta > 0` of an entry above which it costs little to grow. Far below it,
        the penalty is a Lasso of strength :math:`\lambda / \delta`.
    """

    strength: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if not (isinstance(self.offset, Real) and 0 < self.offset < np.inf):
            raise ValueError(f"offset must be a finite number > 0, not {self.offset!r}")

    def penalty(self, factor: Array) -> Array:
        r"""Return :math:`\lambda \sum \log(1 + h / \delta)` of each row."""
        return np.asarray((self.strength * np.log1p(factor / self.offset)).sum(axis=1))

    def slope(self, factor: Array) -> Totals:
        r"""Return :math:`\lambda / (\delta + h)`."""
        return np.asarray(self.strength / (self.offset + factor))

    def _factor_times_slope(self, factor: Array) -> Array:
        return np.asarray(self.strength * factor / (factor + self.offset))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the positive root of the quadratic, by the formula that does not cancel."""
        wide, total = counts.astype(np.float64, copy=False), np.asarray(totals, np.float64)
        middle = total * self.offset + self.strength - wide
        root = np.hypot(middle, 2 * np.sqrt(total * self.offset) * np.sqrt(wide))
        small = _quotient(2 * self.offset * wide, middle + root)
        large = _quotient(root - middle, 2 * total)
        return self.at(np.where(middle > 0, small, large).astype(counts.dtype), totals)


@register
@dataclass(frozen=True, eq=False)
class PowerPenalty(Prior):
    r"""Non-negative with the penalty :math:`\lambda \sum h^q`, :math:`0 < q < 1`.

    The step is the root of :math:`T h + \lambda q h^q = c` with the counts :math:`c` and the
    totals :math:`T`. Near zero an update takes :math:`h` to about :math:`h^{1/q}`, so entries that
    are not worth their penalty become exactly zero within few updates. They stay there: zero is a
    local minimum of every entry, so the result depends on the start.

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
        check_strength(self.strength)
        if not (isinstance(self.power, Real) and 0 < self.power < 1):
            raise ValueError(f"power must lie between 0 and 1, not {self.power!r}")

    def penalty(self, factor: Array) -> Array:
        r"""Return :math:`\lambda \sum h^q` of each row."""
        return np.asarray((self.strength * factor**self.power).sum(axis=1))

    def slope(self, factor: Array) -> Totals:
        r"""Return :math:`\lambda q h^{q-1}`, which is infinite at zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.strength * self.power * factor ** (self.power - 1))

    def _factor_times_slope(self, factor: Array) -> Array:
        return np.asarray(self.strength * self.power * factor**self.power)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the root."""
        slope = self.strength * self.power
        return self.at(positive_root(counts, totals, slope, self.power), totals)


def _quotient(above: Array, below: Array) -> Array:
    """Return the quotient; zero where the denominator is zero and the other formula holds."""
    below = np.broadcast_to(below, above.shape)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
