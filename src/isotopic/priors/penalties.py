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
from isotopic.registry import register

# An upper limit that is never reached: Newton's method doubles the correct digits in each step.
_MOST_STEPS = 100


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

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import LogPenalty, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, weights=LogPenalty(0.1), tol=1e-2, random_state=0).fit(X)
    >>> model.weights_.shape
    (20, 2)
    """

    strength: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if not (isinstance(self.offset, Real) and 0 < self.offset < np.inf):
            raise ValueError(f"offset must be a positive finite number, not {self.offset!r}.")

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the positive root of the quadratic, by the formula that does not cancel."""
        wide, total = counts.astype(np.float64, copy=False), np.asarray(totals, np.float64)
        middle = total * self.offset + self.strength - wide
        root = np.hypot(middle, 2 * np.sqrt(total * self.offset) * np.sqrt(wide))
        small = _quotient(2 * self.offset * wide, middle + root)
        large = _quotient(root - middle, 2 * total)
        return self.at(np.where(middle > 0, small, large).astype(counts.dtype), totals)

    def penalty(self, factor: Array) -> Array:
        r"""Return :math:`\lambda \sum \log(1 + h / \delta)` of each row."""
        return np.asarray((self.strength * np.log1p(factor / self.offset)).sum(axis=1))

    def slope(self, factor: Array) -> Totals:
        r"""Return :math:`\lambda / (\delta + h)`."""
        return np.asarray(self.strength / (self.offset + factor))

    def _factor_times_slope(self, factor: Array) -> Array:
        return np.asarray(self.strength * factor / (factor + self.offset))


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

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import PowerPenalty, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, weights=PowerPenalty(0.1), tol=1e-2, random_state=0).fit(X)
    >>> model.weights_.shape
    (20, 2)
    """

    strength: float = 1.0
    power: float = 0.5

    def __post_init__(self) -> None:
        check_strength(self.strength)
        if not (isinstance(self.power, Real) and 0 < self.power < 1):
            raise ValueError(f"power must be between 0 and 1 (exclusive), not {self.power!r}.")

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the root."""
        slope = self.strength * self.power
        return self.at(positive_root(counts, totals, slope, self.power), totals)

    def penalty(self, factor: Array) -> Array:
        r"""Return :math:`\lambda \sum h^q` of each row."""
        return np.asarray((self.strength * factor**self.power).sum(axis=1))

    def slope(self, factor: Array) -> Totals:
        r"""Return :math:`\lambda q h^{q-1}`, which is infinite at zero."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.strength * self.power * factor ** (self.power - 1))

    def _factor_times_slope(self, factor: Array) -> Array:
        return np.asarray(self.strength * self.power * factor**self.power)


def _quotient(above: Array, below: Array) -> Array:
    """Return the quotient; zero where the denominator is zero and the other formula holds."""
    below = np.broadcast_to(below, above.shape)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def positive_root(counts: Array, linear: Totals, other: Totals, power: float) -> Array:
    r"""Return the solution :math:`x \ge 0` of :math:`a x + b x^p = c`.

    It minimises :math:`-c \log x + a x + b x^p / p`. The left side grows from zero, so there is one
    root. For :math:`p = 2` it is

    .. math:: x = \frac{2c}{a + \sqrt{a^2 + 4bc}}

    and for :math:`p = 1/2` the square of that root with :math:`a` and :math:`b` exchanged. Where
    both are zero, the root is the count itself. It has the layout and precision of the counts.
    """
    a, b = np.asarray(linear, counts.dtype), np.asarray(other, counts.dtype)
    a = np.where((a == 0) & (b == 0), counts.dtype.type(1), a)
    if power == 2:
        return _quadratic_root(counts, a, b)
    if power == 0.5:
        return np.asarray(_quadratic_root(counts, b, a) ** 2)
    root = np.zeros_like(counts)
    some = counts > 0
    a, b = (np.broadcast_to(part, counts.shape)[some].astype(np.float64) for part in (a, b))
    root[some] = np.exp(_log_root(np.log(counts[some], dtype=np.float64), a, b, power))
    return root


def _quadratic_root(counts: Array, a: Array, b: Array) -> Array:
    # hypot: a squared, or b times c, can overflow where the root does not.
    below = a + np.hypot(a, 2 * np.sqrt(b) * np.sqrt(counts))
    root: Array = np.divide(2 * counts, below, out=np.zeros_like(counts), where=below > 0)
    return root


def _log_root(log_counts: Array, a: Array, b: Array, power: float) -> Array:
    r"""Return the logarithm of the root, by Newton's method.

    With :math:`u = \log x` the equation is :math:`\log(a e^u + b e^{pu}) = \log c`, whose left side
    is convex with a slope between 1 and :math:`p`. The smaller of the two roots without one of the
    terms lies above the solution. From there Newton's method descends to it and never below.
    """
    with np.errstate(divide="ignore"):  # an absent term
        log_a, log_b = np.log(a), np.log(b)
    u = np.minimum(log_counts - log_a, (log_counts - log_b) / power)
    precision = 4 * np.finfo(np.float64).eps * (1 + np.abs(log_counts))
    for _ in range(_MOST_STEPS):
        first, second = log_a + u, log_b + power * u
        # np.logaddexp, written in functions that NumPy vectorises.
        both = np.maximum(first, second) + np.log(1 + np.exp(-np.abs(first - second)))
        excess = both - log_counts
        u -= excess / (1 + (power - 1) * np.exp(second - both))
        if np.all(np.abs(excess) <= precision):
            break
    return np.asarray(u)
