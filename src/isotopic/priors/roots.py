"""The scalar equation to which norms and power penalties lead."""

import numpy as np

from isotopic.arrays import Array
from isotopic.priors.base import Totals

# An upper limit that is never reached: Newton's method doubles the correct digits in each step.
_MOST_STEPS = 100


def positive_root(counts: Array, linear: Totals, other: Totals, power: float) -> Array:
    r"""Return the solution :math:`x \ge 0` of :math:`a x + b x^p = c`.

    It minimises :math:`-c \log x + a x + b x^p / p`. The left side grows from zero, so there is one
    root. For :math:`p = 2` it is

    .. math:: x = \frac{2c}{a + \sqrt{a^2 + 4bc}}

    and for :math:`p = 1/2` the square of that root with :math:`a` and :math:`b` exchanged.

    Parameters
    ----------
    counts : ndarray
        The :math:`c \ge 0`.
    linear, other : float or ndarray
        The :math:`a, b \ge 0`, which broadcast to the counts. Where both are zero the root is the
        count itself.
    power : float
        The :math:`p > 0`.

    Returns
    -------
    root : ndarray
        In the layout and precision of the counts.
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
