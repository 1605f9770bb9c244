r"""The beta divergence: its value, two powers of the product, and the exponents of its updates.

With the product :math:`v` of weights and topics, every derivative is a difference of two sums,

.. math:: -\underbrace{\sum x v^{\beta-2} (\cdot)}_{\text{asked}} +
    \underbrace{\sum v^{\beta-1} (\cdot)}_{\text{given}}

of what the data ask for and of what the model gives.
"""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from isotopic.arrays import Array

NAMED = {"itakura-saito": 0.0, "kullback-leibler": 1.0, "frobenius": 2.0}

# The sum of three terms divides by beta and by beta - 1; below this it loses too many digits.
_NEAR = 1e-3

# How far products may be from the data they stand for, when it is asked whether powers are finite.
_MARGIN = 1e4


@dataclass(frozen=True)
class Beta:
    r"""The beta divergence (Basu et al.; Eguchi and Kano).

    .. math::

        d_\beta(x, v) = \frac{x^\beta + (\beta - 1) v^\beta - \beta x v^{\beta-1}}
            {\beta (\beta - 1)}

    with the limits :math:`x / v - \log(x / v) - 1` (Itakura-Saito, 0) and
    :math:`x \log(x / v) - x + v` (Kullback-Leibler, 1). With 2 it is half the squared distance.

    Parameters
    ----------
    beta : float
        Any real number.
    """

    beta: float

    def __post_init__(self) -> None:
        if isinstance(self.beta, bool) or not isinstance(self.beta, Real):
            raise TypeError(f"beta must be a number or a name, not {self.beta!r}")
        if not np.isfinite(self.beta):
            raise ValueError(f"beta must be finite, not {self.beta!r}")

    @classmethod
    def of(cls, given: str | float) -> "Beta":
        """Read a number, or one of the names."""
        if isinstance(given, str):
            if given not in NAMED:
                names = ", ".join(repr(name) for name in NAMED)
                raise ValueError(f"beta must be a number or one of {names}, not {given!r}")
            return cls(NAMED[given])
        return cls(given)

    @property
    def exponent(self) -> float:
        r""":math:`\gamma(\beta)`, to which an update takes ``asked / given``.

        :math:`1 / (2 - \beta)` below 1, :math:`1 / (\beta - 1)` above 2, and 1 between (Févotte &
        Idier, Table 2).
        """
        if self.beta < 1:
            return 1 / (2 - self.beta)
        return 1 / (self.beta - 1) if self.beta > 2 else 1.0

    @property
    def joint_powers(self) -> tuple[float, float]:
        """To which the ratio of new to old weights is taken in the sums asked and given.

        They make the sums of the joint majorizer (Marmin, Goulart & Févotte) from those of the
        sequential one: the convex part of the divergence is split by Jensen's inequality, so that
        products keep their power; the concave part is replaced by its tangent, where they have
        power one.
        """
        return min(self.beta - 1, 1.0), self.beta if self.beta >= 1 else 1.0

    def powers(self, x: Array, product: Array) -> tuple[Array, Array]:
        r"""Give :math:`x v^{\beta-2}` and :math:`v^{\beta-1}`; products must be positive."""
        given = _power(product, self.beta - 1)
        asked = np.divide(given, product)
        asked *= x
        return asked, given

    def floor(self, dtype: np.dtype[np.floating]) -> float:
        """Give the least product whose powers, and sums of them, are finite."""
        info, steepest = np.finfo(dtype), max(2 - self.beta, 0.0)
        tiny = float(info.tiny)
        return max(float(info.max) ** (-0.9 / steepest), tiny) if steepest > 0 else tiny

    @property
    def by_entry(self) -> bool:
        """Whether values must be computed entry by entry: 0, and next to 0 and 1."""
        return min(abs(self.beta), abs(self.beta - 1)) < _NEAR

    def saturated(self, x: Array, missing: tuple[Array, Array] | None = None) -> Array:
        """Sum over rows what values have of the data alone, unless they are computed by entry."""
        if self.by_entry:
            return np.zeros(len(x))
        powers = x.astype(np.float64, copy=False) ** self.beta
        if missing is not None:
            powers[missing] = 0
        return np.asarray(powers.sum(axis=1) / (self.beta * (self.beta - 1)))

    def values(self, saturated: Array, weights: Array, asked: Array, given: Array) -> Array:
        r"""Sum the divergence over rows, from the sums of the weights.

        .. math:: \text{saturated} + \sum_k w_{dk} \left(\frac{\text{given}_{dk}}{\beta} -
            \frac{\text{asked}_{dk}}{\beta - 1}\right)
        """
        sums = given / self.beta - asked / (self.beta - 1)
        return np.asarray(saturated + np.einsum("dk,dk->d", weights, sums, dtype=np.float64))

    def values_by_entry(self, x: Array, product: Array) -> Array:
        """Sum the divergence over rows, entry by entry."""
        if self.beta == 0:
            ratio = x / product
            entries = ratio - np.log(ratio) - 1
        else:
            entries = exact_values(self.beta, x, product)
        return np.asarray(entries.sum(axis=1, dtype=np.float64))

    def check_data(self, x: Array, has_zeros: bool) -> None:
        """Raise if the divergence of such data is infinite, or beyond their precision.

        Parameters
        ----------
        x : ndarray
            The positive entries.
        has_zeros : bool
            Whether there are others.
        """
        if self.beta < np.finfo(np.float64).tiny and has_zeros:  # above, 1 / beta is a number
            raise ValueError(
                f"X has zeros, of which the divergence with beta={self.beta:g} is infinite. Leave "
                "them out as missing entries (missing_mask=X == 0), add a small number to X, or "
                "choose beta > 0"
            )
        if x.size == 0:
            return
        least, largest, info = float(x.min()), float(x.max()), np.finfo(x.dtype)
        powers = np.array([self.beta, self.beta - 1, self.beta - 2])
        high = (powers * np.log10(largest * _MARGIN)).max() + np.log10(x.size)
        low = (powers * np.log10(largest)).min()
        too_small = least / _MARGIN < self.floor(x.dtype)
        if too_small or high > np.log10(info.max) or low < np.log10(info.tiny):
            raise ValueError(
                f"X, with entries from {least:.3g} to {largest:.3g}, is too large, too small or "
                f"too various for its powers with beta={self.beta:g} in {x.dtype}: multiply it by "
                "a number, or use float64"
            )


def exact_values(beta: float, x: Array, product: Array) -> Array:
    r"""Compute the divergence of each entry, infinite or not, without loss near the limits 0 and 1.

    There, and with :math:`u = \log(v / x)`, it is computed as

    .. math::

        x^\beta \left(\frac{e^{\beta u} - 1}{\beta} - \frac{e^{(\beta-1) u} - 1}{\beta - 1}\right).
    """
    x, product = x.astype(np.float64, copy=False), product.astype(np.float64, copy=False)
    some = x > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # looked at below
        if Beta(beta).by_entry:
            u = np.log(product / np.where(some, x, 1.0))
            value = np.where(some, x, 1.0) ** beta * (_grown(beta, u) - _grown(beta - 1, u))
        else:
            given = product**beta / beta - x * product ** (beta - 1) / (beta - 1)
            value = x**beta / (beta * (beta - 1)) + given
        alone = product**beta / beta if beta > 0 else np.full_like(product, np.inf)
    if beta <= 1:
        value[some & (product == 0)] = np.inf
    return np.asarray(np.where(some, value, alone))


def _power(base: Array, exponent: float) -> Array:
    """Take a power; simple ones cost less."""
    simple: dict[float, Any] = {-1.0: np.reciprocal, 0.5: np.sqrt, 1.0: np.copy, 2.0: np.square}
    if exponent in simple:
        return np.asarray(simple[exponent](base))
    if exponent == -0.5:
        return np.asarray(np.reciprocal(np.sqrt(base)))
    return np.asarray(np.power(base, base.dtype.type(exponent)))


def _grown(rate: float, u: Array) -> Array:
    """Compute ``(exp(rate u) - 1) / rate``."""
    return u if rate == 0 else np.asarray(np.expm1(rate * u) / rate)
