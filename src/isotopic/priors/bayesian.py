"""Sides that are distributions: the effective factor is ``exp(E[log])``."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from isotopic.arrays import Array, as_numbers
from isotopic.kernels import distance, effective_factor, gamma_functions, normalized, row_sums
from isotopic.priors.base import Evidence, Posterior, Side, Totals
from isotopic.priors.hyperparameters import (
    RATE,
    Occurrence,
    certain,
    concentration_of,
    concentration_tally,
    gamma_of,
    gamma_tally,
    learned_gamma,
    moved,
    settled,
)


@dataclass(frozen=True, eq=False)
class Bayesian(Side):
    """A side that is a distribution; its counts are parameters minus the prior's."""

    is_bayesian: ClassVar[bool] = True

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Sum of :math:`|\text{counts} - (\text{parameters} - \text{prior})|`."""
        assert posterior.explained is not None
        return distance(counts, posterior.explained, row_scale=copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        r""":math:`\text{parameters} - \text{prior}`."""
        assert posterior.explained is not None
        return posterior.explained

    def seeded(self, pseudo_counts: Array) -> Self:
        """Give the prior that has seen these counts already."""
        raise NotImplementedError

    def forbidding(self, entries: Array) -> Self:
        """Give the prior that keeps these entries at zero too."""
        raise NotImplementedError

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Give the quantile of every entry's posterior."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Dirichlet(Bayesian):
    r"""Rows are distributions with a Dirichlet prior, inferred variationally (Algorithms 3 and 5).

    The posterior of a row is Dirichlet with parameters
    :math:`\beta = \alpha + \text{counts}`, and

    .. math:: \exp(E[\log h_k]) = \exp\Big(\psi(\beta_k) - \psi\big(\sum_j \beta_j\big)\Big).

    Parameters
    ----------
    concentration : float or array-like, default=1.0
        The prior's parameters :math:`\alpha > 0`: one number, one for each entry of a row, or one
        for each entry of the side.
    learn : {"symmetric", "asymmetric"} or None, default=None
        Whether the concentration is learned: one number for all entries, or one for each of a row.
        The one that is given is where it starts.
    forbidden : array-like of bool or None, default=None
        Entries that are zero for certain: a row is a distribution over the others.
    seeds : array-like or None, default=None
        Counts of each entry that were seen beforehand; they add to the concentration.
    """

    concentration: ArrayLike = 1.0
    learn: str | None = None
    forbidden: ArrayLike | None = field(default=None, repr=False)
    seeds: ArrayLike | None = field(default=None, repr=False)
    is_normalized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _positive("concentration", self.concentration)
        _boolean("forbidden", self.forbidden)
        _check_learn(self.learn)

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether the concentration is learned."""
        return self.learn is not None

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Learn the concentration that makes the counts most likely."""
        if self.learn is None:
            return self
        return settled(
            lambda now: now.with_statistics(now.sufficient_statistics(evidence)),
            self,
            lambda now, before: now.changed_since(before),
        )

    @property
    def learns_from_statistics(self) -> bool:  # type: ignore[override]
        """Whether the concentration is learned."""
        return self.learn is not None

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Add up what an update of the concentration needs."""
        return self._from_evidence(concentration_tally, evidence)

    def with_statistics(self, tally: Array) -> Self:
        """Update the concentration."""
        return replace(self, concentration=concentration_of(tally))

    def changed_since(self, before: Self) -> bool:
        """Tell whether the concentration changed."""
        return moved(self.concentration, before.concentration)

    def _from_evidence(self, what: Callable[..., Array], evidence: Evidence) -> Array:
        return what(
            np.asarray(self.concentration, np.float64),
            self._occurrence(evidence),
            row_sums(evidence.counts),
            symmetric=self.learn == "symmetric",
            seeds=None if self.seeds is None else np.asarray(self.seeds, np.float64),
            forbidden=None if self.forbidden is None else np.asarray(self.forbidden),
            copies=evidence.copies,
        )

    def hyperprior_term(self, columns: int) -> float:
        """Give minus the log-density of a concentration that is learned: it is exponential."""
        if self.learn is None:
            return 0.0
        numbers = 1 if self.learn == "symmetric" else columns
        return RATE * numbers * float(np.asarray(self.concentration, np.float64).mean())

    def _occurrence(self, evidence: Evidence) -> Occurrence:
        return certain(evidence.counts.astype(np.float64, copy=False))

    def kept(self, learned: Any) -> Self:
        """Take the concentration that was learned, for good."""
        if self.learn is None:
            return self
        return replace(self, concentration=learned.concentration, learn=None)

    def rows(self, which: Array) -> Self:
        """Give the prior of some rows only."""
        names = ("concentration", "forbidden", "seeds")
        return replace(self, **{name: _some_rows(getattr(self, name), which) for name in names})

    def check(self, shape: tuple[int, int]) -> None:
        """Check that the concentration broadcasts to the side."""
        _broadcasts("concentration", self.concentration, shape)
        _has_shape("forbidden", self.forbidden, shape)

    def seeded(self, pseudo_counts: Array) -> Self:
        """Add the counts to the concentration."""
        seeds = pseudo_counts if self.seeds is None else np.add(self.seeds, pseudo_counts)
        return replace(self, seeds=seeds)

    def forbidding(self, entries: Array) -> Self:
        """Give the prior that keeps these entries at zero too."""
        return replace(self, forbidden=_either(entries, self.forbidden))

    def _prior_counts(self) -> Array:
        """Give the parameters of the prior, as they broadcast to the side."""
        prior = np.asarray(self.concentration, np.float64)
        return prior if self.seeds is None else prior + np.asarray(self.seeds, np.float64)

    def _whole_prior(self, shape: tuple[int, ...]) -> Array:
        """Give the parameters of the prior for each entry; zero where it is forbidden."""
        prior = np.broadcast_to(self._prior_counts(), shape)
        return prior if self.forbidden is None else np.where(self.forbidden, 0.0, prior)

    def draw(self, like: Array, rng: np.random.Generator) -> Array:
        """Draw rows from the prior."""
        return normalized(rng.standard_gamma(self._whole_prior(like.shape)))

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Give the quantile of each entry, which is Beta-distributed."""
        assert posterior.parameters is not None
        own = posterior.parameters.astype(np.float64)
        others = own.sum(axis=1, keepdims=True) - own
        alone = others <= 0  # the only entry of its row: one for certain
        values = special.betaincinv(
            _with_ones(own, self.forbidden), np.where(alone, 1.0, others), probability
        )
        values[alone] = 1.0
        values = _certain(values, posterior.mean)
        _clear(self.forbidden, values)
        return np.asarray(values)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the parameters of the posterior."""
        return self._posterior(values.copy("K"), values - _like(values, self._prior_counts()))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Add the counts to the concentration."""
        return self._posterior(counts + _like(counts, self._prior_counts()), counts)

    def _clear(self, *arrays: Array) -> None:
        _clear(self.forbidden, *arrays)

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        absent = self.forbidden
        self._clear(parameters, counts)
        sums = row_sums(parameters)
        prior_sums, prior_constants = self._prior_constants(parameters.shape)
        digamma, log_gamma = gamma_functions(sums)
        effective, entries = effective_factor(_with_ones(parameters, absent), counts, digamma)
        _clear(absent, effective)
        rows = digamma * (sums - prior_sums) - log_gamma + prior_constants
        terms = -_in_parts(entries, rows)
        return Posterior(normalized(parameters), effective, terms, parameters, explained=counts)

    def _prior_constants(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Row sums of the concentration, and log_gamma(sum) - sum(log_gamma) of each row."""
        prior = self._whole_prior(shape)
        same = prior.strides[0] == 0
        prior = np.ascontiguousarray(prior[:1] if same else prior)
        sums = prior.sum(axis=1)
        log_gammas = gamma_functions(_with_ones(prior, self.forbidden))[1]
        constants = gamma_functions(sums)[1] - log_gammas.sum(axis=1)
        return np.broadcast_to(sums, shape[0]), np.broadcast_to(constants, shape[0])


@dataclass(frozen=True, eq=False)
class Gamma(Bayesian):
    r"""Entries with independent Gamma priors, inferred variationally (Algorithm 7).

    The posterior of an entry is Gamma with shape :math:`\beta = \alpha + \text{counts}` and rate
    :math:`b = a + \text{totals}`, and

    .. math:: \exp(E[\log h]) = \exp(\psi(\beta)) / b.

    Parameters
    ----------
    shape, rate : float or array-like, default=1.0
        The prior's shape :math:`\alpha > 0` and rate :math:`a > 0`: one number, or an array that
        broadcasts to the side. For the weights, one for each component is the paper's model.
    learn : {"symmetric", "asymmetric"} or None, default=None
        Whether shape and rate are learned: one of each for all entries, or for each column (of the
        weights: each component). Those given are where they start.
    forbidden : array-like of bool or None, default=None
        Entries that are zero for certain.
    """

    shape: ArrayLike = 1.0
    rate: ArrayLike = 1.0
    learn: str | None = None
    forbidden: ArrayLike | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _positive("shape", self.shape)
        _positive("rate", self.rate)
        _boolean("forbidden", self.forbidden)
        _check_learn(self.learn)

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether shape and rate are learned."""
        return self.learn is not None

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Learn the shape and rate that make the counts most likely."""
        if self.learn is None:
            return self
        shape, rate = self._from_evidence(learned_gamma, evidence)
        return replace(self, shape=shape, rate=rate)

    @property
    def learns_from_statistics(self) -> bool:  # type: ignore[override]
        """Whether shape and rate are learned."""
        return self.learn is not None

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Add up what an update of shape and rate needs."""
        tally: Array = self._from_evidence(gamma_tally, evidence)
        return tally

    def with_statistics(self, tally: Array) -> Self:
        """Update shape and rate."""
        shape, rate = gamma_of(tally, np.asarray(self.shape), np.asarray(self.rate))
        return replace(self, shape=shape, rate=rate)

    def changed_since(self, before: Self) -> bool:
        """Tell whether the shape changed."""
        return moved(self.shape, before.shape)

    def _from_evidence(self, what: Callable[..., Any], evidence: Evidence) -> Any:
        if np.ndim(self.shape) == 2 and min(np.shape(self.shape)) > 1:
            raise ValueError("a shape for each entry (or seeds) cannot be learned")
        return what(
            np.asarray(self.shape, np.float64),
            np.asarray(self.rate, np.float64),
            evidence,
            symmetric=self.learn == "symmetric",
            votes=None if self.forbidden is None else ~np.asarray(self.forbidden),
        )

    def kept(self, learned: Any) -> Self:
        """Take the shape and rate that were learned, for good."""
        if self.learn is None:
            return self
        return replace(self, shape=learned.shape, rate=learned.rate, learn=None)

    def rows(self, which: Array) -> Self:
        """Give the prior of some rows only."""
        names = ("shape", "rate", "forbidden")
        return replace(self, **{name: _some_rows(getattr(self, name), which) for name in names})

    def check(self, shape: tuple[int, int]) -> None:
        """Check that shape and rate broadcast to the side."""
        _broadcasts("shape", self.shape, shape)
        _broadcasts("rate", self.rate, shape)
        _has_shape("forbidden", self.forbidden, shape)

    def seeded(self, pseudo_counts: Array) -> Self:
        """Add the counts to the shape."""
        return replace(self, shape=np.add(self.shape, pseudo_counts))

    def forbidding(self, entries: Array) -> Self:
        """Give the prior that keeps these entries at zero too."""
        return replace(self, forbidden=_either(entries, self.forbidden))

    def draw(self, like: Array, rng: np.random.Generator) -> Array:
        """Draw entries from the prior."""
        drawn = rng.gamma(np.broadcast_to(self.shape, like.shape), 1 / np.asarray(self.rate))
        _clear(self.forbidden, drawn)
        return drawn

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Give the quantile of each entry, which is Gamma-distributed."""
        assert posterior.parameters is not None
        assert posterior.rates is not None
        shapes = _with_ones(posterior.parameters.astype(np.float64), self.forbidden)
        values = _certain(
            special.gammaincinv(shapes, probability) / posterior.rates, posterior.mean
        )
        _clear(self.forbidden, values)
        return np.asarray(values)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the shapes of the posterior; its rates follow from the totals."""
        return self._posterior(values.copy("K"), values - _like(values, self.shape), totals)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Add the counts to the shape and the totals to the rate."""
        return self._posterior(counts + _like(counts, self.shape), counts, totals)

    def _posterior(self, parameters: Array, counts: Array, totals: Totals) -> Posterior:
        shape, rate = np.asarray(self.shape, np.float64), np.asarray(self.rate, np.float64)
        rates = rate + np.asarray(totals, np.float64)
        by_rate = (1 / rates).astype(parameters.dtype)
        absent = self.forbidden
        _clear(absent, parameters, counts)
        effective, entries = effective_factor(_with_ones(parameters, absent), counts)
        _clear(absent, effective)
        mean = parameters * by_rate
        # Over the entries: shape * log(rate / rates) - log_gamma(shape) + (rates - rate) * mean
        constant = shape * np.log(rate / rates) - gamma_functions(shape)[1]
        if absent is not None:
            constant = np.where(absent, 0.0, constant)
        rows = _row_sums_broadcast(constant, parameters.shape)
        rows = rows + (mean * np.asarray(totals, mean.dtype)).sum(axis=1, dtype=np.float64)
        rates = np.broadcast_to(rates, parameters.shape)
        terms = -_in_parts(entries, rows)
        return Posterior(mean, effective * by_rate, terms, parameters, rates, counts)


def _check_learn(learn: Any) -> None:
    if not (learn is None or (isinstance(learn, str) and learn in ("symmetric", "asymmetric"))):
        raise ValueError(f"learn must be 'symmetric', 'asymmetric' or None, not {learn!r}")


def _certain(quantiles: Array, mean: Array) -> Array:
    """Put the mean where SciPy gives up: so many counts leave no doubt."""
    return np.where(np.isnan(quantiles), mean, quantiles)


def _clear(entries: ArrayLike | None, *arrays: Array) -> None:
    """Set entries to zero, if there are any."""
    if entries is not None:
        for array in arrays:
            array[np.asarray(entries)] = 0


def _with_ones(parameters: Array, entries: ArrayLike | None) -> Array:
    """Put ones at entries that are not there: they add nothing to the bound."""
    if entries is None:
        return parameters
    parameters = parameters.copy("K")
    parameters[np.asarray(entries)] = 1
    return parameters


def _in_parts(entries: Array, rows: Array) -> Array:
    """Join what the entries and the rows add; row by row where the entries are summed so."""
    return entries + rows if entries.shape == rows.shape else np.append(entries, rows)


def _some_rows(setting: Any, which: Array) -> Any:
    array = np.asarray(setting)
    return array[which] if array.ndim == 2 and len(array) > 1 else setting


def _like(array: Array, setting: ArrayLike) -> Array:
    return np.asarray(setting, array.dtype)


def _row_sums_broadcast(values: Array, shape: tuple[int, ...]) -> Array:
    """Row sums of an array as if it were broadcast to the shape."""
    whole = np.broadcast_to(values, shape)
    if whole.strides[0] == 0:  # every row is the same
        return np.broadcast_to(whole[:1].sum(axis=1), shape[0])
    return np.asarray(whole.sum(axis=1))


def _positive(name: str, value: ArrayLike) -> None:
    array = as_numbers(name, value)
    none = array.size == 0 and array.ndim < 2  # there may be settings of no samples at all
    if none or not np.all((array > 0) & (array < np.inf)):
        raise ValueError(f"{name} must be positive and finite, not {value!r}")


def _either(entries: Array, others: ArrayLike | None) -> Array:
    return entries if others is None else entries | np.asarray(others)


def _boolean(name: str, mask: Any) -> None:
    if mask is not None and np.asarray(mask).dtype != np.bool_:
        raise TypeError(f"{name} must be a boolean array, true where an entry is zero for certain")


def _has_shape(name: str, mask: Any, shape: tuple[int, int]) -> None:
    if mask is not None and np.shape(mask) != shape:
        raise ValueError(f"{name} has shape {np.shape(mask)}; the side has {shape}")
    if mask is not None and np.any(np.all(mask, axis=1)):
        raise ValueError(f"{name} leaves nothing of row {int(np.argmax(np.all(mask, axis=1)))}")


def _broadcasts(name: str, value: ArrayLike, shape: tuple[int, int]) -> None:
    given: Any = np.shape(value)
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"{name} of shape {given} does not fit a side of shape {shape}")
