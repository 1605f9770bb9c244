"""Dirichlet priors: rows are distributions, of which there are several estimates."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from isotopic.arrays import Array, as_numbers, check_numbers
from isotopic.concentration import Occurs, concentration_slopes
from isotopic.elementwise import (
    effective_factor,
    gamma_functions,
    mean_posterior,
    normalized,
    row_sums,
)
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
from isotopic.priors.hyperparameters import (
    LEAST,
    MOST_HISTOGRAMS,
    RATE,
    CountHistogram,
    Evidence,
    LearnsHyperparameters,
    concentration_statistics,
)
from isotopic.registry import register
from isotopic.row_inference import RowRule


@register
@dataclass(frozen=True, eq=False)
class Dirichlet(Bayesian, LearnsHyperparameters):
    r"""Rows are distributions with a Dirichlet prior, inferred variationally (Algorithms 3 and 5).

    The posterior of a row is Dirichlet with parameters
    :math:`\beta = \alpha + \text{counts}`, and

    .. math:: \exp(E[\log h_k]) = \exp\Big(\psi(\beta_k) - \psi\big(\sum_j \beta_j\big)\Big).

    Parameters
    ----------
    concentration : float or array-like, default=1.0
        The prior's parameters :math:`\alpha > 0`: one number, one for each entry of a row, or one
        for each entry of the factor.
    learn : {"symmetric", "asymmetric"} or None, default=None
        Whether to learn the concentration: one number for all entries, or one for each column.
        Learning starts from the given concentration.
    forbidden : array-like of bool or None, default=None
        Entries that are always zero: a row is a distribution over the others.
    seeds : array-like or None, default=None
        Counts of each entry that were seen before the data; they add to the concentration.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Dirichlet, TopicModel
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, weights=Dirichlet(0.1), tol=1e-2, random_state=0).fit(X)
    >>> model.weights_.shape
    (20, 2)
    """

    concentration: ArrayLike = 1.0
    learn: str | None = None
    forbidden: ArrayLike | None = field(default=None, repr=False)
    seeds: ArrayLike | None = field(default=None, repr=False)
    is_normalized: ClassVar[bool] = True
    is_variational: ClassVar[bool] = True
    learned_setting: ClassVar[str] = "concentration"

    def __post_init__(self) -> None:
        check_settings(self.learn, self.forbidden, concentration=self.concentration)
        if self.seeds is not None:
            check_numbers("seeds", as_numbers("seeds", self.seeds, copy=False))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the posterior: the counts are added to the concentration."""
        prior = np.asarray(self.prior_counts, counts.dtype)
        return self._posterior(counts + prior, counts)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the posterior with these parameters."""
        prior = np.asarray(self.prior_counts, values.dtype)
        return self._posterior(values.copy("K"), values - prior)

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        set_zero(self.forbidden, parameters, counts)
        sums = row_sums(parameters)
        prior_sums, prior_constants = self._prior_constants(parameters.shape)
        digamma, log_gamma = gamma_functions(sums)
        allowed = with_ones(parameters, self.forbidden)
        effective, entries = effective_factor(allowed, counts, digamma)
        set_zero(self.forbidden, effective)
        rows = digamma * (sums - prior_sums) - log_gamma + prior_constants
        terms = -as_terms(entries, rows)
        return Posterior(normalized(parameters), effective, terms, parameters, explained=counts)

    def _prior_constants(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Return row sums of the concentration, and log_gamma(sum) - sum(log_gamma) of each row."""
        prior = self._whole_prior(shape)
        same = prior.strides[0] == 0
        prior = np.ascontiguousarray(prior[:1] if same else prior)
        sums = prior.sum(axis=1)
        log_gammas = gamma_functions(with_ones(prior, self.forbidden))[1]
        constants = gamma_functions(sums)[1] - log_gammas.sum(axis=1)
        return np.broadcast_to(sums, shape[0]), np.broadcast_to(constants, shape[0])

    @property
    def prior_counts(self) -> Any:
        """The concentration, with seeds if there are any."""
        if self.seeds is None:
            return self.concentration
        return np.asarray(self.concentration, np.float64) + np.asarray(self.seeds, np.float64)

    def _whole_prior(self, shape: tuple[int, ...]) -> Array:
        """Return the prior's parameter of each entry; zero where it is forbidden."""
        prior = np.broadcast_to(np.asarray(self.prior_counts, np.float64), shape)
        return prior if self.forbidden is None else np.where(self.forbidden, 0.0, prior)

    def row_rule(self, n_components: int, totals: Totals) -> RowRule | None:
        """Return how the core makes weights from counts."""
        if self.forbidden is not None:
            return None
        prior = np.atleast_2d(np.asarray(self.prior_counts, np.float64))
        whole = np.broadcast_to(prior, (len(prior), n_components))
        return RowRule(whole, is_variational=self.is_variational)

    def draw(self, like: Array, rng: np.random.Generator) -> Array:
        """Draw rows from the prior."""
        return normalized(rng.standard_gamma(self._whole_prior(like.shape)))

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Return the quantile of each entry, which is Beta-distributed."""
        assert posterior.parameters is not None
        own = posterior.parameters.astype(np.float64)
        others = own.sum(axis=1, keepdims=True) - own
        alone = others <= 0  # the only entry of its row is one
        values = special.betaincinv(
            with_ones(own, self.forbidden), np.where(alone, 1.0, others), probability
        )
        values[alone] = 1.0
        values = np.where(np.isnan(values), posterior.mean, values)  # SciPy fails for huge counts
        set_zero(self.forbidden, values)
        return np.asarray(values)

    def seeded(self, pseudo_counts: Array) -> Self:
        """Return the prior that has seen these counts before the data."""
        seeds = pseudo_counts if self.seeds is None else np.add(self.seeds, pseudo_counts)
        return replace(self, seeds=seeds)

    def merged(self, groups: Array) -> Self:
        """Return the prior of merged components: their concentrations are added."""
        return replace(self, concentration=summed_by_group(self.concentration, groups), learn=None)

    def split(self, parents: Array, n_components: int) -> Prior:
        """Return the prior of split components: each part has its share of the concentration."""
        concentration = shared_by_parts(self.concentration, parents, n_components)
        return replace(self, concentration=concentration, learn=None)

    def with_posterior_means(self) -> Prior:
        """Return the prior whose effective factor is the posterior mean."""
        return DirichletMean(self.concentration, forbidden=self.forbidden, seeds=self.seeds)

    def uses_histogram(self, columns: int) -> bool:
        """Return whether the concentration can be learned from a histogram of the counts.

        It can without seeds and forbidden entries, and with one concentration for all entries or
        for each column.
        """
        *rows, numbers = (1, 1, *np.shape(self.concentration))[-2:]
        by_column = self.learn == "asymmetric"
        is_shared = rows == [1] and (numbers == 1 or (by_column and numbers == columns))
        is_plain = self.seeds is None and self.forbidden is None
        return is_plain and is_shared and (columns <= MOST_HISTOGRAMS or not by_column)

    def histogram(self, evidence: Evidence) -> CountHistogram:
        """Return the histogram of expected counts; those of row blocks can be added."""
        occurs = self._occurs(evidence)
        return CountHistogram.of(evidence, occurs, by_column=self.learn == "asymmetric")

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Return the sums over rows that an update of the concentration needs."""
        return concentration_statistics(
            np.asarray(self.concentration, np.float64),
            evidence,
            self._occurs(evidence),
            symmetric=self.learn == "symmetric",
            seeds=None if self.seeds is None else np.asarray(self.seeds, np.float64),
            forbidden=None if self.forbidden is None else np.asarray(self.forbidden),
        )

    def _occurs(self, evidence: Evidence) -> Occurs:
        """Return how the concentration is learned from expected counts."""
        if self.is_variational:  # the bound takes expected counts as if they were observed
            return Occurs.ALWAYS
        return Occurs.INDEPENDENTLY if evidence.squares is None else Occurs.DEPENDENTLY

    n_slope_sums: ClassVar[int] = 0

    def likelihood_slopes(self, evidence: Evidence) -> tuple[Array, Array, Array]:
        """Return gains and losses of the log-likelihood of each row; see WithCovariates."""
        counts, squares, occurs = evidence.counts, evidence.squares, self._occurs(evidence)
        prior = np.atleast_2d(self._whole_prior(np.shape(self.prior_counts)))
        gains, losses = concentration_slopes(counts, squares, prior, occurs)
        return gains, losses[:, np.newaxis], np.empty((0, counts.shape[1]))

    def with_slope_sums(self, sums: Array) -> Self:
        """Return the prior itself: nothing but the concentration is learned."""
        return self

    def with_statistics(self, statistics: Array) -> Self:
        """Return the prior with an updated concentration."""
        numerator, denominator = statistics
        return replace(self, concentration=np.maximum(numerator / (denominator + RATE), LEAST))

    def with_learned(self, learned: Any) -> Self:
        """Return the prior with the learned concentration, fixed from now on."""
        if self.learn is None:
            return self
        return replace(self, concentration=learned.concentration, learn=None)

    def hyperprior_term(self, columns: int) -> float:
        """Return minus the log-density of a learned concentration, which is exponential."""
        if self.learn is None:
            return 0.0
        numbers = 1 if self.learn == "symmetric" else columns
        return RATE * numbers * float(np.asarray(self.concentration, np.float64).mean())


@register
@dataclass(frozen=True, eq=False)
class DirichletMean(Dirichlet):
    r"""Rows are the mean of their posterior ("smoothed" maximum a posteriori).

    .. math:: \text{counts} + \alpha, \text{ normalised}

    which is the mode under the concentration :math:`\alpha + 1`. Its term of the objective is that
    prior's divergence from the row,

    .. math:: \sum_k \alpha_k \log\frac{\alpha_k / \sum_j \alpha_j}{\text{row}_k} \ge 0.

    The variational ``exp(E[log])`` of :class:`Dirichlet` is far smaller than the mean wherever
    there is less than about one count. This choice decides how well a model predicts new data
    (Asuncion, Welling, Smyth & Teh, 2009, *On Smoothing and Inference for Topic Models*).

    Parameters
    ----------
    calibration : float or array-like, default=1.0
        The factor by which a learned concentration was multiplied after the fit.
    """

    is_variational: ClassVar[bool] = False

    calibration: ArrayLike = field(default=1.0, repr=False)

    @property
    def needs_calibration(self) -> bool:  # type: ignore[override]
        """Whether the concentration is learned, and is not part of a bound."""
        return self.learn is not None

    def calibrated(self, factor: Any) -> Self:
        """Return the prior with a learned concentration times a factor, for new samples."""
        concentration = np.maximum(factor * np.asarray(self.concentration, np.float64), LEAST)
        return replace(
            self, concentration=concentration, calibration=np.multiply(factor, self.calibration)
        )

    def with_learned(self, learned: Any) -> Self:
        """Return the prior with the learned concentration, as it was calibrated."""
        prior = super().with_learned(learned)
        return prior if prior is self else replace(prior, calibration=learned.calibration)

    def continuing(self, learned: Any) -> Self:
        """Return the prior with the learned concentration, as it was before its calibration."""
        prior = super().continuing(learned)
        if np.all(np.equal(prior.calibration, 1)):
            return prior
        return replace(prior.calibrated(np.divide(1, prior.calibration)), calibration=1.0)

    def merged(self, groups: Array) -> Self:
        """Return the prior of merged components: their concentrations are added."""
        return replace(super().merged(groups), calibration=1.0)

    def split(self, parents: Array, n_components: int) -> Prior:
        """Return the prior of split components: each part has its share of the concentration."""
        parts: Any = super().split(parents, n_components)
        prior: Prior = replace(parts, calibration=1.0)
        return prior

    @property
    def self_contribution(self) -> Any:
        """The share of a count in the counts of its own component; see CollapsedDirichlet."""
        return None

    def with_posterior_means(self) -> Self:
        """Return the prior itself: it uses means already."""
        return self

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        set_zero(self.forbidden, parameters, counts)
        whole = self._whole_prior(parameters.shape)
        same = [slice(0, 1) if stride == 0 else slice(None) for stride in whole.strides]
        prior = whole[tuple(same)]  # as few numbers as broadcast to the factor
        own = None if self.self_contribution is None else np.asarray(self.self_contribution)
        mean, effective, sums = mean_posterior(parameters, counts, prior, own)
        prior_sums = whole[same[0]].sum(axis=1)
        rows = prior_sums * np.log(row_sums(parameters) / prior_sums)
        return Posterior(mean, effective, as_terms(-sums, rows), parameters, explained=counts)


@register
@dataclass(frozen=True, eq=False)
class DirichletMode(Dirichlet):
    r"""Rows are the mode of their posterior (maximum a posteriori).

    .. math:: \max(\text{counts} + \alpha - 1, 0), \text{ normalised}

    With a concentration below one, entries become exactly zero. The density is infinite there, so
    in the objective the smallest positive number stands for zero. For the same reason the
    concentration cannot be learned. If nothing of a row is left, its largest parameter gets all.
    """

    is_variational: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learn is not None:
            raise ValueError(
                "The concentration cannot be learned with estimate='map' (DirichletMode). Pass a "
                "number for alpha and eta (at 1 or below, entries become exactly zero), or use "
                "estimate='smoothed', the mode under concentrations + 1."
            )

    def learning(self) -> Prior:
        """Return the prior of the same modes that learns: that of the concentration minus one.

        Modes under a learned concentration below one would have zeros, which never come back.
        """
        extra = np.asarray(self.prior_counts, np.float64) - 1
        if not np.all(extra > 0):
            raise ValueError(
                "With estimate='map' and covariates alpha is 1 + exp(covariates @ coefficients), "
                f"so alpha must start above 1; it is {np.min(extra) + 1:g}."
            )
        return DirichletMean(extra, learn="asymmetric", forbidden=self.forbidden)

    def with_posterior_means(self) -> Self:
        """Return the prior itself: it is a point estimate already."""
        return self

    def row_rule(self, n_components: int, totals: Totals) -> None:
        """Return ``None``: the core does not know modes."""

    def merged(self, groups: Array) -> Any:
        """Raise: modes of several components do not add up to a mode."""
        return Bayesian.merged(self, groups)

    def split(self, parents: Array, n_components: int) -> Prior:
        """Return the prior of split components: each part has the concentration of the whole.

        With less of it, modes would be zero.
        """
        return Bayesian.split(self, parents, n_components)

    def _posterior(self, parameters: Array, counts: Array) -> Posterior:
        set_zero(self.forbidden, parameters, counts)
        above = np.maximum(parameters - 1, 0)
        lost = ~np.any(above, axis=1)
        above[lost] = parameters[lost] == parameters[lost].max(axis=1, keepdims=True)
        mode = normalized(above)
        prior = self._whole_prior(parameters.shape)
        powers = prior - 1 if self.forbidden is None else np.where(self.forbidden, 0.0, prior - 1)
        positive = np.maximum(mode, np.finfo(mode.dtype).tiny)
        terms = -(powers * np.log(positive, dtype=np.float64)).sum(axis=1)
        return Posterior(mode, mode, terms, parameters, explained=counts)
