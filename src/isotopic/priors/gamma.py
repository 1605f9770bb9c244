"""Gamma priors: independent positive entries with a variational posterior."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from isotopic.arrays import Array
from isotopic.concentration import Occurs, concentration_slopes
from isotopic.elementwise import effective_factor, gamma_functions
from isotopic.priors.base import Posterior, Prior, Totals
from isotopic.priors.bayesian import (
    Bayesian,
    as_terms,
    check_settings,
    set_zero,
    shared_by_parts,
    summed_by_group,
    with_ones,
)
from isotopic.priors.dirichlet import DirichletMean
from isotopic.priors.hyperparameters import LEAST, Evidence, LearnsHyperparameters
from isotopic.registry import register
from isotopic.row_inference import RowRule


@register
@dataclass(frozen=True, eq=False)
class Gamma(Bayesian, LearnsHyperparameters):
    r"""Entries with independent Gamma priors, inferred variationally (Algorithm 7).

    The posterior of an entry is Gamma with shape :math:`\beta = \alpha + \text{counts}` and rate
    :math:`b = a + \text{totals}`, and

    .. math:: \exp(E[\log h]) = \exp(\psi(\beta)) / b.

    Parameters
    ----------
    shape, rate : float or array-like, default=1.0
        The prior's shape :math:`\alpha > 0` and rate :math:`a > 0`: one number, or an array that
        broadcasts to the factor. For the weights, one for each component is the paper's model.
    learn : {"symmetric", "asymmetric"} or None, default=None
        Whether to learn shape and rate: one of each for all entries, or for each column (of the
        weights: each component). Learning starts from the given values.
    forbidden : array-like of bool or None, default=None
        Entries that are always zero.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Gamma, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, weights=Gamma(0.5, 0.1), tol=1e-2, random_state=0).fit(X)
    >>> model.weights_.shape
    (20, 2)
    """

    shape: ArrayLike = 1.0
    rate: ArrayLike = 1.0
    learn: str | None = None
    forbidden: ArrayLike | None = field(default=None, repr=False)
    is_variational: ClassVar[bool] = True
    learned_setting: ClassVar[str] = "shape"

    def __post_init__(self) -> None:
        check_settings(self.learn, self.forbidden, shape=self.shape, rate=self.rate)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the posterior: counts are added to the shape, totals to the rate."""
        return self._posterior(counts + np.asarray(self.shape, counts.dtype), counts, totals)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the posterior with these shapes; its rates follow from the totals."""
        counts = values - np.asarray(self.shape, values.dtype)
        return self._posterior(values.copy("K"), counts, totals)

    def _posterior(self, parameters: Array, counts: Array, totals: Totals) -> Posterior:
        shape, rate = np.asarray(self.shape, np.float64), np.asarray(self.rate, np.float64)
        rates = rate + np.asarray(totals, np.float64)
        by_rate = (1 / rates).astype(parameters.dtype)
        set_zero(self.forbidden, parameters, counts)
        effective, entries = effective_factor(with_ones(parameters, self.forbidden), counts)
        set_zero(self.forbidden, effective)
        mean = parameters * by_rate
        # Over the entries: shape * log(rate / rates) - log_gamma(shape) + (rates - rate) * mean
        constant = shape * np.log(rate / rates) - gamma_functions(shape)[1]
        if self.forbidden is not None:
            constant = np.where(self.forbidden, 0.0, constant)
        constant = np.broadcast_to(constant, parameters.shape)
        same = constant.strides[0] == 0  # every row is the same
        rows = np.broadcast_to((constant[:1] if same else constant).sum(axis=1), len(parameters))
        rows = rows + (mean * np.asarray(totals, mean.dtype)).sum(axis=1, dtype=np.float64)
        rates = np.broadcast_to(rates, parameters.shape)
        terms = -as_terms(entries, rows)
        return Posterior(mean, effective * by_rate, terms, parameters, rates, counts)

    @property
    def prior_counts(self) -> Any:
        """The shape."""
        return self.shape

    @property
    def prior_rate(self) -> Any:
        """The rate."""
        return self.rate

    def row_rule(self, n_components: int, totals: Totals) -> RowRule | None:
        """Return how the core makes weights from counts."""
        rates = np.atleast_2d(np.asarray(self.rate, np.float64) + totals)
        if self.forbidden is not None or len(rates) > 1:
            return None
        prior = np.atleast_2d(np.asarray(self.shape, np.float64))
        whole = np.broadcast_to(prior, (len(prior), n_components))
        scale = np.ascontiguousarray(np.broadcast_to(1 / rates[0], n_components))
        return RowRule(whole, scale=scale, is_variational=True)

    def draw(self, like: Array, rng: np.random.Generator) -> Array:
        """Draw entries from the prior."""
        drawn = rng.gamma(np.broadcast_to(self.shape, like.shape), 1 / np.asarray(self.rate))
        set_zero(self.forbidden, drawn)
        return drawn

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Return the quantile of each entry, which is Gamma-distributed."""
        assert posterior.parameters is not None
        assert posterior.rates is not None
        shapes = with_ones(posterior.parameters.astype(np.float64), self.forbidden)
        values = special.gammaincinv(shapes, probability) / posterior.rates
        values = np.where(np.isnan(values), posterior.mean, values)  # SciPy fails for huge counts
        set_zero(self.forbidden, values)
        return np.asarray(values)

    def seeded(self, pseudo_counts: Array) -> Self:
        """Return the prior that has seen these counts before the data."""
        return replace(self, shape=np.add(self.shape, pseudo_counts))

    def merged(self, groups: Array) -> "Gamma":
        """Return the prior of merged components: their shapes are added, if the rates agree."""
        rate: Any = np.asarray(self.rate, np.float64)
        if rate.ndim:
            rate = np.broadcast_to(rate, (*rate.shape[:-1], len(groups)))
            first = np.unique(groups, return_index=True)[1]
            if not np.array_equal(rate, rate[..., first][..., groups]):
                raise ValueError(
                    "Cannot merge components with Gamma weights of different rates: their sum is "
                    "not Gamma-distributed."
                )
            rate = rate[..., first]
        return Gamma(summed_by_group(self.shape, groups), rate if rate.ndim else self.rate)

    def split(self, parents: Array, n_components: int) -> Prior:
        """Return the prior of split components: each part has its share of the shape."""
        rate: Any = np.asarray(self.rate, np.float64)
        if rate.ndim:
            rate = np.broadcast_to(rate, (*rate.shape[:-1], n_components))[..., parents]
        shape = shared_by_parts(self.shape, parents, n_components)
        return Gamma(shape, rate if rate.ndim else self.rate)

    def with_posterior_means(self) -> Prior:
        """Return the prior of proportions whose effective factor is the posterior mean."""
        return DirichletMean(self.shape, forbidden=self.forbidden)

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Return the prior with the shape and rate that make the counts most likely."""
        if self.learn is None:
            return self
        self._check_learnable()
        axis = None if self.learn == "symmetric" else 0
        shape, rate = (
            np.broadcast_to(setting, evidence.counts.shape).mean(axis=axis, keepdims=True)
            for setting in (np.asarray(self.shape, np.float64), np.asarray(self.rate, np.float64))
        )
        shared = replace(self, shape=shape, rate=rate)
        return super(Gamma, shared).with_updated_hyperparameters(evidence)

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        r"""Return the six sums over rows that an update of shape and rate needs.

        The update raises the likelihood of the counts, which are negative binomial:

        .. math:: \alpha \leftarrow \frac{\sum \alpha (\psi(\alpha + n) - \psi(\alpha))}
                                    {\sum \log((a + T) / a)}, \qquad
            a \leftarrow \frac{\sum \alpha}{\sum (\alpha + n) / (a + T)}

        with the other factor's totals :math:`T`. The first maximises a bound that touches the
        likelihood (as Minka's does), the second is an EM step: neither lowers it.
        """
        self._check_learnable()
        counts = evidence.counts.astype(np.float64, copy=False)
        weight = np.ones((1, 1)) if evidence.copies is None else evidence.copies[:, np.newaxis]
        if self.forbidden is not None:
            weight = weight * ~np.asarray(self.forbidden)
        weight = np.broadcast_to(weight, counts.shape)
        totals = np.asarray(evidence.totals, np.float64)
        shape, rate = np.atleast_2d(np.asarray(self.shape, np.float64)), np.asarray(self.rate)
        rises = concentration_slopes(counts, None, shape, Occurs.ALWAYS)[0]
        inverse = 1 / (rate + totals)
        sums = (shape * rises, np.log1p(totals / rate), counts * inverse, inverse, 1.0, totals)
        axis = None if self.learn == "symmetric" else 0
        return np.stack(
            [
                (np.broadcast_to(values, counts.shape) * weight).sum(axis=axis, keepdims=True)
                for values in sums
            ]
        )

    def with_statistics(self, statistics: Array) -> Self:
        """Return the prior with updated shape and rate; a column without data keeps its own."""
        rises, falls, means, inverse, entries, totals = statistics
        has_data = totals > 0
        learned = np.divide(rises, falls, out=np.ones_like(falls), where=has_data)
        shape = np.where(has_data, np.maximum(learned, LEAST), _shared(self.shape, falls))
        expected = shape * inverse + means
        rate = np.divide(shape * entries, expected, out=_shared(self.rate, falls), where=has_data)
        return replace(self, shape=shape, rate=rate)

    n_slope_sums: ClassVar[int] = 3

    def likelihood_slopes(self, evidence: Evidence) -> tuple[Array, Array, Array]:
        """Return gains and losses of the log-likelihood of each row; see WithCovariates.

        The counts are negative binomial. With them come three sums over rows for the rate: of
        shapes, of expected weights, and of totals.
        """
        counts, _, totals, copies = evidence
        shape, rate = np.atleast_2d(np.asarray(self.shape, np.float64)), np.asarray(self.rate)
        allowed = np.ones((1, 1)) if self.forbidden is None else ~np.asarray(self.forbidden)
        gains = allowed * concentration_slopes(counts, None, shape, Occurs.ALWAYS)[0]
        losses = allowed * np.log1p(np.asarray(totals, np.float64) / rate)
        weight = allowed if copies is None else allowed * copies[:, np.newaxis]
        sums = (shape, (shape + counts) / (rate + totals), totals)
        others = [(np.broadcast_to(each, counts.shape) * weight).sum(axis=0) for each in sums]
        return gains, losses, np.stack(others)

    def with_slope_sums(self, sums: Array) -> Self:
        """Return the prior with an updated rate (an EM step); without data it keeps its own."""
        shapes, expected, totals = sums
        before = np.broadcast_to(np.asarray(self.rate, np.float64), shapes.shape[-1:])
        return replace(self, rate=np.divide(shapes, expected, out=before.copy(), where=totals > 0))

    def with_learned(self, learned: Any) -> Self:
        """Return the prior with the learned shape and rate, fixed from now on."""
        if self.learn is None:
            return self
        return replace(self, shape=learned.shape, rate=learned.rate, learn=None)

    def _check_learnable(self) -> None:
        if np.ndim(self.shape) == 2 and min(np.shape(self.shape)) > 1:
            raise ValueError(
                "Cannot learn a Gamma prior that has a shape for each entry (or seeds). Set "
                "learn=None, or pass one shape for all or for each column."
            )


def _shared(setting: ArrayLike, like: Array) -> Array:
    """Return the mean of settings that are shared from now on, by all entries or by columns."""
    axis = None if like.shape == (1, 1) else 0
    mean = np.atleast_2d(np.asarray(setting, np.float64)).mean(axis=axis, keepdims=True)
    return np.broadcast_to(mean, like.shape).copy()
