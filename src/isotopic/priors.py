r"""What each side of a factorization may be, and what it makes of its expected counts.

A model is a pair of these: one for the weights (samples x components), one for the topics
(components x features). A prior that normalises does so along the rows it is given: the weights of
a sample, the topics of a component.

================== ========================================================= ====================
prior              what it makes of ``counts``                               effective factor
================== ========================================================= ====================
:class:`Free`      ``counts / totals``                                       itself
:class:`Lasso`     ``counts / (totals + strength)``                          itself
:class:`Simplex`   ``counts``, normalised                                    itself
:class:`Dirichlet` parameters ``concentration + counts``                     ``exp(E[log])``
:class:`Gamma`     parameters ``shape + counts``, rates ``rate + totals``    ``exp(E[log])``
================== ========================================================= ====================

``totals`` are the other side's sums for each component. When the topics are normalised, the
weights see totals of one whatever the topics are, and the topics do not ask for theirs: so both
sides can take their step from the same expected counts. That is the paper's joint update.
"""

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from isotopic.counts import Array
from isotopic.kernels import (
    distance,
    effective_factor,
    gamma_functions,
    normalized,
    row_sums,
)

__all__ = ["Dirichlet", "Fixed", "Free", "Gamma", "Lasso", "Posterior", "Prior", "Simplex"]

# The other side's sums: a number, or one for each component, shaped to broadcast over this side.
Totals: TypeAlias = Array | float


@dataclass(frozen=True)
class Posterior:
    """What is known of one side.

    Attributes
    ----------
    mean : ndarray
        The factor itself, or its posterior mean.
    effective : ndarray
        What the next pass multiplies: the factor itself, or ``exp(E[log])``.
    term : float
        What this side adds to the objective.
    parameters, rates : ndarray or None
        Of a Bayesian side: Dirichlet parameters, or Gamma shapes and rates.
    explained : ndarray or None
        Of a Bayesian side: ``parameters`` minus the prior's, the counts it stands for.
    """

    mean: Array
    effective: Array
    term: float = 0.0
    parameters: Array | None = None
    rates: Array | None = None
    explained: Array | None = None


class Prior(Protocol):
    """What solvers and problems ask of a prior."""

    @property
    def normalized(self) -> bool:
        """Whether rows sum to one, so that the other side's totals are one."""

    @property
    def bayesian(self) -> bool:
        """Whether this side is a distribution rather than a point."""

    @property
    def learned(self) -> bool:
        """Whether this side moves at all."""

    @property
    def scale(self) -> str:
        """What this side thinks of its own scale: ``"free"``, ``"pulled"`` to zero, ``"held"``."""

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take ``values`` as the factor, or as the posterior's parameters."""

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Make the optimal use of expected counts (the M step).

        The counts are handed over: their memory may become the factor's.
        """

    def gap(self, posterior: Posterior, counts: Array, totals: Totals) -> float:
        """Measure in counts how far the posterior is from what it would make of these counts."""

    def rows(self, which: Array) -> "Prior":
        """Give the prior of some rows only."""

    def check(self, shape: tuple[int, int]) -> None:
        """Raise if the settings do not fit a side of that shape."""


class _Point:
    """A side that is a point: its own effective factor."""

    normalized: ClassVar[bool] = False
    bayesian: ClassVar[bool] = False
    learned: ClassVar[bool] = True
    scale: ClassVar[str] = "held"

    def rows(self, which: Array) -> Self:
        """Every row has the same."""
        return self

    def check(self, shape: tuple[int, int]) -> None:
        """Nothing to check."""


@dataclass(frozen=True)
class Free(_Point):
    r"""Non-negative, no more: :math:`\text{counts} / \text{totals}` (Algorithm 1)."""

    scale: ClassVar[str] = "free"

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the factor itself."""
        return Posterior(values, values)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Divide by the other side's totals."""
        return self.at(_divided(counts, totals), totals)

    def gap(self, posterior: Posterior, counts: Array, totals: Totals) -> float:
        r"""Sum of :math:`|\text{counts} - \text{factor} \cdot \text{totals}|`."""
        return _scaled_distance(counts, posterior.mean, totals)


@dataclass(frozen=True)
class Lasso(_Point):
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
        return Posterior(values, values, self.strength * float(values.sum(dtype=np.float64)))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Divide by the other side's totals plus the strength."""
        return self.at(_divided(counts, totals + self.strength), totals)

    def gap(self, posterior: Posterior, counts: Array, totals: Totals) -> float:
        r"""Sum of :math:`|\text{counts} - \text{factor} (\text{totals} + \lambda)|`."""
        return _scaled_distance(counts, posterior.mean, totals + self.strength)


@dataclass(frozen=True)
class Simplex(_Point):
    r"""Non-negative rows that sum to one: :math:`\propto \text{counts}` (Algorithms 2 and 4)."""

    normalized: ClassVar[bool] = True

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Normalise; a row of zeros says nothing and becomes uniform."""
        factor = normalized(values)
        return Posterior(factor, factor)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Normalise the counts."""
        factor = normalized(counts, in_place=True)
        return Posterior(factor, factor)

    def gap(self, posterior: Posterior, counts: Array, totals: Totals) -> float:
        r"""Sum of :math:`|\text{counts} - \text{factor} \cdot \text{row sum of counts}|`."""
        return distance(counts, posterior.mean, row_scale=row_sums(counts))


class _Bayesian:
    """A side that is a distribution; its counts are parameters minus the prior's."""

    bayesian: ClassVar[bool] = True
    learned: ClassVar[bool] = True
    scale: ClassVar[str] = "held"

    def gap(self, posterior: Posterior, counts: Array, totals: Totals) -> float:
        r"""Sum of :math:`|\text{counts} - (\text{parameters} - \text{prior})|`."""
        assert posterior.explained is not None
        return distance(counts, posterior.explained)


@dataclass(frozen=True)
class Dirichlet(_Bayesian):
    r"""Rows are distributions with a Dirichlet prior, inferred variationally (Algorithms 3 and 5).

    The posterior of a row is Dirichlet with parameters
    :math:`\beta = \alpha + \text{counts}`, and

    .. math:: \exp(E[\log h_k]) = \exp\Big(\psi(\beta_k) - \psi\big(\sum_j \beta_j\big)\Big).

    Parameters
    ----------
    concentration : float or array-like, default=1.0
        The prior's parameters :math:`\alpha > 0`: one number, one for each entry of a row, or one
        for each entry of the side.
    """

    concentration: ArrayLike = 1.0
    normalized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _positive("concentration", self.concentration)

    def rows(self, which: Array) -> "Dirichlet":
        """Give the prior of some rows only."""
        return Dirichlet(_some_rows(self.concentration, which))

    def check(self, shape: tuple[int, int]) -> None:
        """Check that the concentration broadcasts to the side."""
        _broadcasts("concentration", self.concentration, shape)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the parameters of the posterior."""
        return self._posterior(values, values - _like(values, self.concentration))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Add the counts to the concentration."""
        return self._posterior(counts + _like(counts, self.concentration), counts)

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        sums = row_sums(parameters)
        prior = np.broadcast_to(np.asarray(self.concentration, np.float64), parameters.shape)
        prior_sums, prior_constant = _dirichlet_constant(prior)
        digamma, log_gamma = gamma_functions(sums)
        effective, entries = effective_factor(parameters, counts, digamma)
        bound = entries + float((digamma * (sums - prior_sums) - log_gamma).sum()) + prior_constant
        return Posterior(normalized(parameters), effective, -bound, parameters, explained=counts)


@dataclass(frozen=True)
class Gamma(_Bayesian):
    r"""Entries with independent Gamma priors, inferred variationally (Algorithm 7).

    The posterior of an entry is Gamma with shape :math:`\beta = \alpha + \text{counts}` and rate
    :math:`b = a + \text{totals}`, and

    .. math:: \exp(E[\log h]) = \exp(\psi(\beta)) / b.

    Parameters
    ----------
    shape, rate : float or array-like, default=1.0
        The prior's shape :math:`\alpha > 0` and rate :math:`a > 0`: one number, or an array that
        broadcasts to the side. For the weights, one for each component is the paper's model.
    """

    shape: ArrayLike = 1.0
    rate: ArrayLike = 1.0
    normalized: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _positive("shape", self.shape)
        _positive("rate", self.rate)

    def rows(self, which: Array) -> "Gamma":
        """Give the prior of some rows only."""
        return Gamma(_some_rows(self.shape, which), _some_rows(self.rate, which))

    def check(self, shape: tuple[int, int]) -> None:
        """Check that shape and rate broadcast to the side."""
        _broadcasts("shape", self.shape, shape)
        _broadcasts("rate", self.rate, shape)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the shapes of the posterior; its rates follow from the totals."""
        return self._posterior(values, values - _like(values, self.shape), totals)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Add the counts to the shape and the totals to the rate."""
        return self._posterior(counts + _like(counts, self.shape), counts, totals)

    def _posterior(self, parameters: Array, counts: Array, totals: Totals) -> Posterior:
        shape, rate = np.asarray(self.shape, np.float64), np.asarray(self.rate, np.float64)
        rates = rate + np.asarray(totals, np.float64)
        by_rate = (1 / rates).astype(parameters.dtype)
        effective, entries = effective_factor(parameters, counts)
        mean = parameters * by_rate
        # Over the entries: shape * log(rate / rates) - log_gamma(shape) + (rates - rate) * mean
        constant = shape * np.log(rate / rates) - gamma_functions(shape)[1]
        bound = (
            entries
            + _sum_broadcast(constant, parameters.shape)
            + float((mean * np.asarray(totals)).sum(dtype=np.float64))
        )
        rates = np.broadcast_to(rates, parameters.shape)
        return Posterior(mean, effective * by_rate, -bound, parameters, rates, counts)


@dataclass(frozen=True)
class Fixed:
    """A side that is known: it absorbs nothing. Used to infer the weights of new samples."""

    posterior: Posterior = field(repr=False)
    normalized: bool
    bayesian: ClassVar[bool] = False
    learned: ClassVar[bool] = False
    scale: ClassVar[str] = "held"

    def rows(self, which: Array) -> Self:
        """Topics are never asked for some rows."""
        return self

    def check(self, shape: tuple[int, int]) -> None:
        """Check that it is of that shape."""
        if self.posterior.mean.shape != shape:
            raise ValueError(f"a fixed side of shape {self.posterior.mean.shape} is not {shape}")

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Give what is known."""
        return self.posterior

    absorb = at

    def gap(self, posterior: Posterior, counts: Array, totals: Totals) -> float:
        """Nothing is left to do."""
        return 0.0


def _divided(counts: Array, totals: Totals) -> Array:
    """Divide by the totals; a component without totals has no counts and stays at zero."""
    if np.isscalar(totals):
        return counts if totals == 1 else counts / counts.dtype.type(totals)
    totals = np.asarray(totals, counts.dtype)
    return counts / np.where(totals > 0, totals, 1)


def _scaled_distance(counts: Array, factor: Array, totals: Totals) -> float:
    scale = np.asarray(totals, np.float64)
    if scale.ndim == 2:  # one for each row, as a column
        return distance(counts, factor, row_scale=scale[:, 0])
    return distance(counts, factor, column_scale=np.broadcast_to(scale, counts.shape[1]))


def _some_rows(setting: ArrayLike, which: Array) -> ArrayLike:
    array = np.asarray(setting)
    return array[which] if array.ndim == 2 and len(array) > 1 else setting


def _like(array: Array, setting: ArrayLike) -> Array:
    return np.asarray(setting, array.dtype)


def _dirichlet_constant(prior: Array) -> tuple[Array, float]:
    """Row sums, and the sum over rows of log_gamma(sum) - sum(log_gamma)."""
    if prior.strides[0] == 0:  # every row has the same prior
        row = np.ascontiguousarray(prior[:1])
        sums, constant = _row_constants(row)
        return np.broadcast_to(sums, len(prior)), constant * len(prior)
    return _row_constants(np.ascontiguousarray(prior))


def _row_constants(prior: Array) -> tuple[Array, float]:
    sums = prior.sum(axis=1)
    return sums, float(gamma_functions(sums)[1].sum() - gamma_functions(prior)[1].sum())


def _sum_broadcast(values: Array, shape: tuple[int, ...]) -> float:
    """Sum of an array as if it were broadcast to the shape."""
    return float(values.sum()) * (np.prod(shape) / values.size)


def _positive(name: str, value: ArrayLike) -> None:
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of numbers, not {value!r}") from None
    if array.size == 0 or not np.all((array > 0) & (array < np.inf)):
        raise ValueError(f"{name} must be positive and finite, not {value!r}")


def _broadcasts(name: str, value: ArrayLike, shape: tuple[int, int]) -> None:
    given: Any = np.shape(value)
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} of shape {given} does not fit a side of shape {shape}")
