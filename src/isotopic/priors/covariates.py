"""WithCovariates: the concentration of weights depends on what is known of their sample."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import methodcaller
from typing import Any, ClassVar, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import in_waves
from isotopic.priors.base import Prior, Totals
from isotopic.priors.hyperparameters import LEAST, RATE, Evidence, update_repeatedly
from isotopic.priors.wrapper import Delegated, Wrapper
from isotopic.registry import register
from isotopic.row_inference import RowRule
from isotopic.threads import one_blas_thread

# The precision of the normal prior of each coefficient: a change of one standard deviation of a
# number, or another group, multiplies a concentration by a number between 1/5 and 5, most likely.
PRECISION = 1.0

# Concentrations stay in this range, however far a covariate is from those that were fitted.
_RANGE = np.log([LEAST, 1 / LEAST])

# The largest change of a coefficient by one Newton step, and the coefficients that have settled.
_LARGEST_STEP = 1.0
_SMALL_CHANGE = 5e-3

# Rows that are worked on at a time, by one thread: their tables stay in the cache.
_ROWS = 4096


@register
@dataclass(frozen=True, eq=False)
class WithCovariates(Wrapper):
    r"""Weights whose concentration is log-linear in covariates of their sample.

    .. math:: \alpha_{dk} = \exp\Big(\sum_j z_{dj} \beta_{jk}\Big)

    For Dirichlet weights this is Dirichlet-multinomial regression (Mimno & McCallum, 2008); for
    Gamma weights :math:`\alpha` is the shape, and the rate is learned too. With the coefficients
    :math:`\beta` given, a sample has an ordinary prior with a concentration of its own, which does
    all the rest. An update of the coefficients raises the likelihood of the expected counts: by
    Minka's bound, it is a Newton step of a Poisson regression for each component,

    .. math:: \sum_d c_{dk} \log\alpha_{dk} - b_d \alpha_{dk}, \qquad
        c_{dk} = \alpha_{dk} (\psi(\alpha_{dk} + n_{dk}) - \psi(\alpha_{dk})), \quad
        b_d = \psi(A_d + N_d) - \psi(A_d)

    with :math:`A` and :math:`N` the sums of a sample, and for Gamma weights of rate :math:`a`
    under totals :math:`T` with :math:`b_k = \log(1 + T_k / a_k)`. Its gradient and curvature are
    sums over samples, so those of row blocks can be added.

    Parameters
    ----------
    kind : Dirichlet or Gamma
        Everything but the concentration, which is where learning starts.
    covariates : ndarray of shape (samples, covariates)
        The first column is one. The others have mean 0 over the fitted samples, and numbers
        standard deviation 1.
    coefficients : ndarray of shape (covariates, components) or None, default=None
        ``None``: the start, at which all samples have the concentration of ``kind``.
    """

    kind: Any
    covariates: Array = field(repr=False)
    coefficients: Array | None = field(default=None, repr=False)

    # Coefficients are results, not only settings: they are learned more exactly than the fit needs.
    update_accuracy: ClassVar[float] = 0.3

    # Newton steps from the same counts: later ones are soon undone by other counts.
    most_updates: ClassVar[int] = 4

    # What does not depend on the rows is asked of the kind: it needs no concentrations.
    is_normalized: ClassVar[Any] = Delegated("is_normalized", "kind")
    is_bayesian: ClassVar[Any] = Delegated("is_bayesian", "kind")
    is_variational: ClassVar[Any] = Delegated("is_variational", "kind")
    learn: ClassVar[Any] = Delegated("learn", "kind")
    learns: ClassVar[Any] = Delegated("learns", "kind")
    learns_from_batches: ClassVar[bool] = True
    needs_squares: ClassVar[Any] = Delegated("needs_squares", "kind")
    needs_calibration: ClassVar[Any] = Delegated("needs_calibration", "kind")
    norm: ClassVar[Any] = Delegated("norm", "kind")
    scale_tendency: ClassVar[Any] = Delegated("scale_tendency", "kind")
    self_contribution_of: ClassVar[Any] = Delegated("self_contribution_of", "kind")

    def __post_init__(self) -> None:
        if not hasattr(self.kind, "likelihood_slopes"):
            raise ValueError(
                "covariates need weights with a Dirichlet or Gamma prior (LDA, GammaPoisson, "
                f"PoissonFactorization); those of this model are {type(self.kind).__name__}."
            )

    @cached_property
    def prior(self) -> Prior:
        """The prior of these rows, each with a concentration of its own."""
        logarithms = self.covariates @ self._known_coefficients
        table = np.exp(np.clip(logarithms, *_RANGE))
        fixed: Prior = replace(self.kind, learn=None, **{self.kind.learned_setting: table})
        return fixed

    @property
    def _known_coefficients(self) -> Array:
        """The coefficients, or with one component for each setting of the kind where they start."""
        if self.coefficients is not None:
            return self.coefficients
        start = np.ravel(np.asarray(getattr(self.kind, self.kind.learned_setting), np.float64))
        return np.vstack([np.log(start), np.zeros((self.covariates.shape[1] - 1, len(start)))])

    def row_rule(self, n_components: int, totals: Totals) -> RowRule | None:
        """Return how the core makes weights from counts: it knows a concentration for each row."""
        return self.prior.row_rule(n_components, totals)

    # --- Rows and components ------------------------------------------------------------------

    def for_samples(self, covariates: Array) -> Self:
        """Return the prior of samples with these covariates."""
        return replace(self, covariates=covariates)

    def rows(self, which: Any) -> Self:
        """Return the prior of some rows."""
        return replace(self, kind=self.kind.rows(which), covariates=self.covariates[which])

    def around(self, prior: Any) -> Self:
        """Return these covariates with another kind of prior."""
        return replace(self, kind=prior)

    def check_shape(self, shape: tuple[int, int]) -> None:
        """Raise ValueError unless there is a row of covariates for each row."""
        if len(self.covariates) != shape[0]:
            raise ValueError(
                f"This model was fitted with covariates, of {len(self.covariates)} samples, but "
                f"there are {shape[0]} samples. Pass the covariates of these samples."
            )
        self.kind.check_shape(shape)

    def check_range(self, dtype: Any) -> None:
        """Raise ValueError if a setting of the kind is too extreme for the precision."""
        self.kind.check_range(dtype)

    def select_components(self, which: Array, n_components: int) -> Self:
        """Return the prior of some components."""
        kind = self.kind.select_components(which, n_components)
        return replace(self, kind=kind, coefficients=self._for_components(n_components)[:, which])

    def split(self, parents: Array, n_components: int) -> Prior:
        """Raise: the parts of a log-linear concentration are not log-linear."""
        return self.merged(parents)

    def merged(self, groups: Array) -> Prior:
        """Raise: the sum of log-linear concentrations is not log-linear."""
        raise ValueError(
            "Cannot merge or split topics of a model with covariates: the sum of two log-linear "
            "concentrations is not log-linear. Fit the model with another number of components."
        )

    def with_self_contribution(self, entries: Any) -> Self:
        """Return the prior with this self-contribution; see CollapsedDirichlet."""
        return self.around(self.kind.with_self_contribution(entries))

    def with_posterior_means(self) -> Prior:
        """Return a prior that uses posterior means."""
        return self.around(replace(self.kind, learn=None).with_posterior_means())

    # --- Learning -----------------------------------------------------------------------------

    def uses_histogram(self, columns: int) -> bool:
        """Return False: each row has a concentration of its own."""
        return False

    def with_updated_hyperparameters(self, evidence: Evidence) -> Self:
        """Return the prior with coefficients that fit the expected counts better."""
        kind = replace(self.kind, learn=None).with_updated_hyperparameters(evidence)
        updated = self.around(replace(kind, learn=self.learn))
        if self.learn is None:
            return updated
        return update_repeatedly(updated, methodcaller("sufficient_statistics", evidence))

    def sufficient_statistics(self, evidence: Evidence) -> Array:
        """Return gradient and curvature of all coefficients, and the kind's own sums, flat."""
        n_rows, n_components = evidence.counts.shape
        rows = [slice(at, at + _ROWS) for at in range(0, n_rows, _ROWS)]
        total = np.zeros(self._size(n_components))
        with one_blas_thread:
            for part in in_waves(lambda block: self._statistics(evidence, block), rows):
                total += part
        return total

    def statistics_of_fit(self, evidence: Evidence) -> Array:
        """Return the statistics of samples that were fitted: no step would raise the posterior."""
        statistics, coefficients = self.sufficient_statistics(evidence), self._known_coefficients
        statistics[: coefficients.size] = _penalty_slopes(coefficients).ravel()
        return statistics

    def _statistics(self, evidence: Evidence, rows: slice) -> Array:
        """Return the sufficient statistics of some rows."""
        part = evidence.rows(rows)
        prior: Any = self.rows(rows).prior
        gains, losses, others = prior.likelihood_slopes(part)
        concentration = np.broadcast_to(getattr(prior, prior.learned_setting), gains.shape)
        expected = concentration * losses
        z = self.covariates[rows]
        weighted = z if part.copies is None else z * part.copies[:, np.newaxis]
        gradient = weighted.T @ (concentration * gains - expected)
        products = (weighted[:, :, np.newaxis] * z[:, np.newaxis]).reshape(len(z), -1)
        return np.concatenate([gradient.ravel(), (products.T @ expected).ravel(), others.ravel()])

    def with_statistics(self, statistics: Array) -> Self:
        """Return the prior with coefficients after a Newton step."""
        n_covariates = self.covariates.shape[1]
        n_own = self.kind.n_slope_sums
        n_components = len(statistics) // (n_covariates + n_covariates**2 + n_own)
        now = self._for_components(n_components)
        parts = np.split(statistics, np.cumsum([n_covariates, n_covariates**2]) * n_components)
        gradient = parts[0].reshape(n_covariates, n_components) - _penalty_slopes(now)
        curvature = parts[1].reshape(n_covariates, n_covariates, n_components).copy()
        curvature[np.arange(1, n_covariates), np.arange(1, n_covariates)] += PRECISION
        curvature[0, 0] += RATE * np.exp(now[0])
        steps = np.linalg.solve(curvature.transpose(2, 0, 1), gradient.T[:, :, np.newaxis])
        coefficients = now + np.clip(steps[:, :, 0].T, -_LARGEST_STEP, _LARGEST_STEP)
        coefficients[0] = np.clip(coefficients[0], *_RANGE)
        kind = self.kind.with_slope_sums(parts[2].reshape(n_own, n_components))
        return replace(self, kind=kind, coefficients=coefficients)

    def with_statistics_of_batches(self, statistics: Array) -> Self:
        """Return the prior with coefficients after a Newton step, and its kind as it was.

        A rate that follows single batches would let a component vanish that has few counts in some.
        """
        return replace(self, coefficients=self.with_statistics(statistics).coefficients)

    def statistics_at(self, statistics: Array, before: Any) -> Array:
        """Return the statistics of the prior ``before``, to first order at these coefficients."""
        moved, (n_covariates, n_components) = statistics.copy(), self._known_coefficients.shape
        n_gradients, n_all = n_covariates * n_components, n_covariates * (n_covariates + 1)
        curvature = statistics[n_gradients : n_all * n_components]
        step = self._known_coefficients - before._for_components(n_components)
        change = np.einsum("ijk,jk->ik", curvature.reshape(n_covariates, -1, n_components), step)
        moved[:n_gradients] -= change.ravel()
        return moved

    def changed_since(self, before: Any) -> bool:
        """Return whether another update from the same counts would still change something."""
        now, then = self._known_coefficients, before._known_coefficients
        return bool(np.any(np.abs(now - then) > _SMALL_CHANGE))

    def with_learned(self, learned: Any) -> Self:
        """Return the prior with the learned coefficients, fixed from now on."""
        if self.learn is None:
            return self
        kind = self.kind.with_learned(learned.kind)
        return replace(self, kind=kind, coefficients=learned.coefficients)

    def continuing(self, learned: Any) -> Self:
        """Return the prior, which goes on learning, with the coefficients of ``learned``."""
        if self.learn is None or not isinstance(learned, WithCovariates):
            return self
        if learned.covariates.shape[1] != self.covariates.shape[1] or (
            type(learned.kind) is not type(self.kind)
        ):
            return self
        kind = replace(self.kind.with_learned(learned.kind), learn=self.learn)
        before = replace(self, kind=kind, coefficients=learned.coefficients)
        factor = getattr(kind, "calibration", 1.0)
        return before if factor == 1 else before.calibrated(1 / factor)

    def calibrated(self, factor: float) -> Self:
        """Return the prior with all concentrations times a factor, for new samples."""
        assert self.coefficients is not None
        coefficients = self.coefficients.copy()
        coefficients[0] += np.log(factor)
        return replace(self, kind=self.kind.calibrated(factor), coefficients=coefficients)

    def hyperprior_term(self, columns: int) -> float:
        """Return minus the log-density of the learned coefficients."""
        if self.learn is None:
            return 0.0
        now = self._for_components(columns)
        return RATE * float(np.exp(now[0]).sum()) + PRECISION / 2 * float((now[1:] ** 2).sum())

    def _for_components(self, n_components: int) -> Array:
        known = self._known_coefficients
        return np.broadcast_to(known, (len(known), n_components))

    def _size(self, n_components: int) -> int:
        n_covariates = int(self.covariates.shape[1])
        return n_components * (n_covariates + n_covariates**2 + int(self.kind.n_slope_sums))

    # --- Equality and files: without what was computed ----------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same kind, covariates and coefficients."""
        return isinstance(other, WithCovariates) and (
            bool(self.kind == other.kind)
            and np.array_equal(self.covariates, other.covariates)
            and np.array_equal(self._known_coefficients, other._known_coefficients)
        )

    def __hash__(self) -> int:
        return hash(type(self))


def with_covariates(prior: Prior, covariates: Array) -> Prior:
    """Return the prior of samples with these covariates, which learns or has its coefficients."""
    if isinstance(prior, WithCovariates):
        return prior.for_samples(covariates)
    made = WithCovariates(prior, covariates)
    kind: Any = made.kind.learning()
    start = np.atleast_2d(np.asarray(getattr(kind, kind.learned_setting)))
    if len(start) > 1:
        raise ValueError(
            f"{kind.learned_setting} has a row for each sample, but with covariates it is learned "
            "from them. Pass a number, or one for each component, where learning starts."
        )
    return made.around(kind)


def _penalty_slopes(coefficients: Array) -> Array:
    """Return the derivatives of minus the log-density of the coefficients.

    That of the intercept is the exponential hyperprior of the concentration of an average sample.
    """
    slopes = PRECISION * coefficients
    slopes[0] = RATE * np.exp(coefficients[0])
    return slopes
