r"""The beta divergence.

With the product :math:`v` of weights and topics, its derivative is a difference of two parts,

.. math:: \underbrace{v^{\beta-1}}_{\text{denominator}} -
    \underbrace{x v^{\beta-2}}_{\text{numerator}}.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.divergences.gradient_pass import squared_distances
from isotopic.divergences.majorized import Majorized
from isotopic.registry import register

BETA_NAMES = {"itakura-saito": 0.0, "kullback-leibler": 1.0, "frobenius": 2.0}

# The sum of three terms divides by beta and by beta - 1; below this it loses too many digits.
_NEAR_LIMIT = 1e-3

# How far products may be from the data when the range of their powers is checked.
_MARGIN = 1e4


@register
@dataclass(frozen=True)
class Beta(Majorized):
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

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Beta, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> TopicModel(2, divergence=Beta(0.5), tol=1e-2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    beta: float

    def __post_init__(self) -> None:
        if isinstance(self.beta, bool) or not isinstance(self.beta, Real):
            raise TypeError(f"beta must be a number, not {self.beta!r}.")
        if not math.isfinite(self.beta):
            raise ValueError(f"beta must be finite, not {self.beta!r}.")

    @classmethod
    def parse(cls, given: str | float) -> "Beta":
        """Return the divergence for a value of beta or one of its names."""
        if isinstance(given, str):
            if given not in BETA_NAMES:
                names = ", ".join(repr(name) for name in BETA_NAMES)
                raise ValueError(f"beta must be a number or one of {names}, not {given!r}.")
            return cls(BETA_NAMES[given])
        return cls(given)

    @property
    def exponent(self) -> float:
        r""":math:`1 / (2 - \beta)` below 1, :math:`1 / (\beta - 1)` above 2, and 1 between.

        See Févotte & Idier (2011), Table 2.
        """
        if self.beta < 1:
            return 1 / (2 - self.beta)
        return 1 / (self.beta - 1) if self.beta > 2 else 1.0

    @property
    def joint_powers(self) -> tuple[float, float]:
        """The powers of the joint majorizer (Marmin, Goulart & Févotte 2023).

        The convex part of the divergence is split by Jensen's inequality, where products keep
        their power; the concave part is replaced by its tangent, where they have power one.
        """
        return min(self.beta - 1, 1.0), self.beta if self.beta >= 1 else 1.0

    @property
    def needs_positive_product(self) -> bool:
        """Whether a product of zero is infinitely far from positive data."""
        return self.beta < 1

    @property
    def is_squared_distance(self) -> bool:
        """Whether Gram matrices are enough."""
        return self.beta == 2

    def gradient(self, x: Array, product: Array) -> tuple[Array, Array]:
        r"""Return :math:`x v^{\beta-2}` and :math:`v^{\beta-1}`."""
        denominator = _power(product, self.beta - 1)
        numerator = np.divide(denominator, product)
        numerator *= x
        return numerator, denominator

    def values(self, x: Array, product: Array) -> Array:
        """Return the divergence of each entry."""
        if self.beta == 0:
            ratio = x / product
            return np.asarray(ratio - np.log(ratio) - 1)
        return exact_values(self.beta, x, product)

    def smallest_product(self, dtype: np.dtype[Any]) -> float:
        """Return the smallest product whose powers, and sums of them, are finite."""
        info, steepest = np.finfo(dtype), max(2 - self.beta, 0.0)
        tiny = float(info.tiny)
        return max(float(info.max) ** (-0.9 / steepest), tiny) if steepest > 0 else tiny

    @property
    def _is_near_limit(self) -> bool:
        """Whether values must be computed entry by entry: at 0, and close to 0 and 1."""
        return min(abs(self.beta), abs(self.beta - 1)) < _NEAR_LIMIT

    def saturated(self, x: Array, missing: tuple[Array, Array] | None) -> Array:
        r"""Return :math:`\sum_v x^\beta / (\beta (\beta - 1))` of each row, or zero."""
        if self._is_near_limit:
            return np.zeros(len(x))
        powers = x.astype(np.float64, copy=False) ** self.beta
        if missing is not None:
            powers[missing] = 0
        return np.asarray(powers.sum(axis=1) / (self.beta * (self.beta - 1)))

    def row_values(
        self,
        x: Array,
        product: Array,
        saturated: Array,
        weights: Array,
        sums: tuple[Array, Array],
        missing: tuple[Array, Array] | None,
    ) -> Array:
        r"""Return the divergence of each row, from its sums where that loses no digits.

        .. math:: \text{saturated} + \sum_k w_{dk} \left(\frac{\text{denominator}_{dk}}{\beta} -
            \frac{\text{numerator}_{dk}}{\beta - 1}\right)
        """
        if self._is_near_limit:
            return super().row_values(x, product, saturated, weights, sums, missing)
        if self.beta == 2:
            return squared_distances(saturated, weights, *sums)
        numerator, denominator = sums
        terms = denominator / self.beta - numerator / (self.beta - 1)
        return np.asarray(saturated + np.einsum("dk,dk->d", weights, terms, dtype=np.float64))

    def check_data(self, x: Array, has_zeros: bool) -> None:
        """Raise ValueError if the divergence is infinite, or powers are out of range."""
        if self.beta < np.finfo(np.float64).tiny and has_zeros:  # above, 1 / beta is a number
            raise ValueError(
                f"X has zeros, and their divergence with beta={self.beta:g} is infinite. Mark them "
                "as missing (missing_mask=X == 0), add a small number to X, or choose beta > 0."
            )
        if x.size == 0:
            return
        least, largest, info = float(x.min()), float(x.max()), np.finfo(x.dtype)
        powers = np.array([self.beta, self.beta - 1, self.beta - 2])
        high = (powers * np.log10(largest * _MARGIN)).max() + np.log10(x.size)
        low = (powers * np.log10(largest)).min()
        is_too_small = least / _MARGIN < self.smallest_product(x.dtype)
        if is_too_small or high > np.log10(info.max) or low < np.log10(info.tiny):
            raise ValueError(
                f"The range of X is too wide for {x.dtype} with beta={self.beta:g}: entries from "
                f"{least:.3g} to {largest:.3g}. Multiply X by a constant, or use float64."
            )


def exact_values(beta: float, x: Array, product: Array) -> Array:
    r"""Return the divergence of each entry, infinite or not, without loss near the limits 0 and 1.

    There, and with :math:`u = \log(v / x)`, it is computed as

    .. math::

        x^\beta \left(\frac{e^{\beta u} - 1}{\beta} - \frac{e^{(\beta-1) u} - 1}{\beta - 1}\right).
    """
    x, product = x.astype(np.float64, copy=False), product.astype(np.float64, copy=False)
    some = x > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # looked at below
        if Beta(beta)._is_near_limit:
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
    """Return a power; simple ones cost less."""
    simple: dict[float, Any] = {-1.0: np.reciprocal, 0.5: np.sqrt, 1.0: np.copy, 2.0: np.square}
    if exponent in simple:
        return np.asarray(simple[exponent](base))
    if exponent == -0.5:
        return np.asarray(np.reciprocal(np.sqrt(base)))
    return np.asarray(np.power(base, base.dtype.type(exponent)))


def _grown(rate: float, u: Array) -> Array:
    """Return ``(exp(rate u) - 1) / rate``."""
    return u if rate == 0 else np.asarray(np.expm1(rate * u) / rate)
