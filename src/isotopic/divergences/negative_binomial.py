r"""The negative binomial likelihood: counts that vary more than Poisson counts do.

The mean :math:`v` of an entry is multiplied by a random exposure of mean one and variance
:math:`\varphi`, the dispersion, before its count is drawn:

.. math:: \varepsilon \sim \Gamma(1/\varphi, 1/\varphi), \qquad
    x \mid \varepsilon \sim \operatorname{Poisson}(\varepsilon v), \qquad
    \operatorname{var}(x) = v + \varphi v^2.

The exposure integrates out in closed form. What is left is concave in :math:`v` but for
:math:`-x \log v`: Jensen's inequality splits the logarithm, a tangent replaces the rest, and the
update is multiplicative with exponent one (Gouvert, Oberlin & Févotte 2018).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import digamma, gammaln, polygamma, xlogy

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences.gradient_pass import GradientPass
from isotopic.divergences.majorized import Majorized
from isotopic.priors import Posterior
from isotopic.registry import register

# Learned dispersions: smaller ones cannot be told from zero, and larger ones occur in no data.
_LEAST, _MOST = 1e-8, 1e4

# The largest dispersion that can be given: with counts it stays in the range of float32.
_LARGEST = 1e20

# The most passes of an update, the largest change of the logarithm of the dispersion in one of
# them, and the change that is too small for another.
_MOST_TRIALS, _LARGEST_STEP, _SMALL_STEP = 8, 2.0, 1e-3

# From this shape on, differences of log-gamma functions would lose digits; Stirling's series,
# whose next term is below 1e-16 there, loses none.
_LARGE_SHAPE = 200.0


@register
@dataclass(frozen=True)
class NegativeBinomial(Majorized):
    r"""Minus the log-likelihood of negative binomial counts of variance :math:`v + \varphi v^2`.

    .. math:: d_\varphi(x, v) = \log\operatorname{Poisson}(x; x) - \log\operatorname{NB}(x;
        v, \varphi) \ge 0

    Its limit for :math:`\varphi \to 0` is the Kullback-Leibler divergence, which a dispersion of
    zero stands for. A pass needs the product of every entry, zero or not: its time is that of
    dense data.

    Parameters
    ----------
    dispersion : float, default=0.0
        :math:`\varphi \ge 0`; where it is learned, the starting value.
    learn : bool, default=False
        Whether the dispersion is learned, by maximum likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import NegativeBinomial, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> divergence = NegativeBinomial(0.1)
    >>> TopicModel(2, divergence=divergence, tol=1e-2, random_state=0).fit(X).components_.shape
    (2, 8)
    """

    dispersion: float = 0.0
    learn: bool = False

    has_entry_noise: ClassVar[bool] = True
    joint_powers: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        given = self.dispersion
        if isinstance(given, bool) or not isinstance(given, Real):
            raise TypeError(f"dispersion must be a number, not {given!r}.")
        if not 0 <= float(given) < np.inf:
            raise ValueError(f"dispersion must be at least 0 and finite, not {given!r}.")
        if float(given) > _LARGEST:
            raise ValueError(f"dispersion={given!r} is too large: the limit is {_LARGEST:g}.")
        object.__setattr__(self, "dispersion", float(given))

    @property
    def learns(self) -> bool:
        """Whether the dispersion is learned during the fit."""
        return self.learn

    def gradient(self, x: Array, product: Array) -> tuple[Array, Array]:
        r"""Return :math:`x / v` and :math:`(1 + \varphi x) / (1 + \varphi v)`."""
        dispersion = product.dtype.type(self.dispersion)
        return x / product, (1 + dispersion * x) / (1 + dispersion * product)

    def values(self, x: Array, product: Array) -> Array:
        """Return the divergence of each entry."""
        wide = x.astype(np.float64)
        return self._values(wide, product) - self._rising(wide)

    def _values(self, x: Array, product: Array) -> Array:
        """Return the divergence but for the term that depends on data and dispersion alone."""
        x, product = x.astype(np.float64, copy=False), product.astype(np.float64, copy=False)
        mass = product
        if self.dispersion > 0:
            grown = np.log1p(self.dispersion * product)
            mass = x * grown + grown / self.dispersion
        return np.asarray(xlogy(x, x / product) - x + mass)

    def draw_exposures(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array | None:
        """Return Gamma-distributed exposures whose variance is the dispersion."""
        if self.dispersion == 0:
            return None
        return rng.standard_gamma(1 / self.dispersion, shape) * self.dispersion

    def saturated(self, x: Array, missing: tuple[Array, Array] | None) -> Array:
        r"""Return :math:`\log\Gamma(x + r) - \log\Gamma(r) - x \log r` of each row, summed."""
        rising = self._rising(x.astype(np.float64))
        if missing is not None:
            rising[missing] = 0
        return np.asarray(rising.sum(axis=1))

    def row_values(
        self,
        x: Array,
        product: Array,
        saturated: Array,
        weights: Array,
        sums: tuple[Array, Array],
        missing: tuple[Array, Array] | None,
    ) -> Array:
        """Return the divergence of each row; missing entries count nothing."""
        entries = self._values(x, product)
        if missing is not None:
            entries[missing] = 0
        return np.asarray(entries.sum(axis=1) - saturated)

    def log_likelihoods(self, x: Array, product: Array) -> Array:
        """Return the log-probability of each count."""
        wide = x.astype(np.float64)
        return xlogy(wide, wide) - wide - gammaln(wide + 1) - self.values(wide, product)

    def _rising(self, x: Array) -> Array:
        r"""Return :math:`\log\Gamma(x + r) - \log\Gamma(r) - x \log r`, :math:`r = 1/\varphi`."""
        rising, some = np.zeros_like(x), x > 0
        if self.dispersion == 0:
            return rising
        shape, counts = 1 / self.dispersion, x[some]
        if shape < _LARGE_SHAPE:
            rising[some] = gammaln(counts + shape) - gammaln(shape) - counts * np.log(shape)
        else:
            later = counts + shape
            rising[some] = (later - 0.5) * np.log1p(counts / shape) - counts
            rising[some] += _stirling(later) - _stirling(shape)
        return rising

    # Learning the dispersion.

    def continuing(self, learned: Any) -> Self:
        """Return this divergence, which goes on learning, with the dispersion of ``learned``."""
        if not self.learn or not isinstance(learned, NegativeBinomial):
            return self
        return replace(self, dispersion=learned.dispersion)

    def sufficient_statistics(self, X: CountMatrix, weights: Posterior, topics: Posterior) -> Array:
        r"""Return five sums over the entries of some samples.

        The part of the divergence that depends on the dispersion; its first two derivatives with
        respect to the dispersion's logarithm; and :math:`(x - v)^2 - x` and :math:`v^2`.
        """
        return GradientPass(self, X).sum_entries(self._statistics, weights.mean, topics.mean)

    def _statistics(self, x: Array, product: Array) -> Array:
        x, v = x.astype(np.float64, copy=False), product.astype(np.float64, copy=False)
        moments = [(x - v) ** 2 - x, v**2]
        if self.dispersion == 0:
            return np.stack([v, np.zeros_like(v), np.zeros_like(v), *moments])
        shape = 1 / self.dispersion
        grown, around = np.log1p(v / shape), shape + v
        first, second = _digamma_differences(x, shape)
        slope = grown - first + (x - v) / around  # with respect to the shape
        bend = -v / (shape * around) - second - (x - v) / around**2
        value = (x + shape) * grown - self._rising(x)
        return np.stack([value, -shape * slope, shape * (shape * bend + slope), *moments])

    def with_updated_hyperparameters(self, statistics: Callable[[Any], Array]) -> Self:
        """Return the divergence with a dispersion of higher likelihood, by Newton's method.

        A trial that lowers the likelihood is taken back half-way. Counts that vary less around
        their means than Poisson counts have a dispersion of zero.
        """
        best = self
        if not self.learn:
            return best
        found = statistics(best)
        trial, step = best._proposal(found)
        for _ in range(_MOST_TRIALS):
            if abs(step) < _SMALL_STEP:
                break
            later = statistics(trial)
            if later[0] <= found[0]:
                best, found = trial, later
                trial, step = best._proposal(found)
            elif trial.dispersion == 0:
                break
            else:
                step /= 2
                trial = replace(trial, dispersion=trial.dispersion * float(np.exp(-step)))
        return best

    def _proposal(self, statistics: Array) -> tuple[Self, float]:
        """Return the next dispersion to try, and how far its logarithm is from that of now."""
        _, slope, bend, excess, squares = statistics.tolist()
        if excess <= 0 or squares <= 0:  # the likelihood falls from zero on
            return replace(self, dispersion=0.0), _LARGEST_STEP if self.dispersion > 0 else 0.0
        if self.dispersion == 0:  # begin with the moments
            first = float(np.clip(excess / squares, _LEAST, _MOST))
            return replace(self, dispersion=first), _LARGEST_STEP
        newton = -slope / bend if bend > 0 else -np.sign(slope) * _LARGEST_STEP
        step = float(np.clip(newton, -_LARGEST_STEP, _LARGEST_STEP))
        dispersion = float(np.clip(self.dispersion * np.exp(step), _LEAST, _MOST))
        return replace(self, dispersion=dispersion), float(np.log(dispersion / self.dispersion))


def _stirling(at: Any) -> Any:
    """Return the series that Stirling's formula for the log-gamma function leaves out."""
    inverse = 1 / at
    return inverse / 12 - inverse**3 / 360 + inverse**5 / 1260


def _digamma_differences(x: Array, shape: float) -> tuple[Array, Array]:
    """Return digamma(x + shape) - digamma(shape), and the same of its derivative."""
    first, second, some = np.zeros_like(x), np.zeros_like(x), x > 0
    counts = x[some]
    later = counts + shape
    if shape < _LARGE_SHAPE:
        first[some] = digamma(later) - digamma(shape)
        second[some] = polygamma(1, later) - polygamma(1, shape)
    else:
        change = counts / (later * shape)  # 1 / shape - 1 / later
        both = (later + shape) / (later * shape)  # 1 / shape + 1 / later
        first[some] = np.log1p(counts / shape) + change / 2 + change * both / 12
        second[some] = -change - change * both / 2
    return first, second
