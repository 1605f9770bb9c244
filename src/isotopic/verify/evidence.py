"""What the claims are checked on: data, a common start, and fits from it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import clone

from isotopic.arrays import Array
from isotopic.containers import read_container
from isotopic.counts import CountMatrix
from isotopic.estimators import LDA, NMF, PLSA, GammaPoisson, TopicModel
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Lasso, Simplex
from isotopic.random import Seed, generator
from isotopic.solvers import Iteration
from isotopic.verify.table import Claim

Point: TypeAlias = tuple[Array, Array]
Measure: TypeAlias = "Callable[[Evidence], float]"

# If there are more samples, this many evenly spaced ones are used.
_MOST_SAMPLES = 2000

# The size of the small part of the data. Fits of it are run until an update moves at most this
# fraction of the counts, or for this many iterations.
_SMALL_SAMPLES, _SMALL_FEATURES, _SMALL_COMPONENTS = 12, 15, 3
_CONVERGED, _MOST_ITERATIONS = 1e-10, 2000

# A fixed point is found by iterating, so its own algorithm still moves it a little. Another
# algorithm may move it this many times as far.
_LEEWAY = 10

# Number of random points that are tried.
TRIES = 5

# The tiny models: the largest sum of their counts, and the concentrations of their two weights.
TOTAL, ALPHA = 3, np.array([0.7, 1.6])

# The common rate of the Gamma prior, and the strengths of the Lasso.
RATE = 0.5
STRENGTHS = (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Check:
    """A claim and the function that measures the deviation from it."""

    where: str
    claim: str
    tolerance: float
    measure: Measure

    def __call__(self, evidence: "Evidence") -> Claim:
        """Return the claim with its measured deviation."""
        return Claim(self.where, self.claim, self.measure(evidence), self.tolerance)


class Checks(list[Check]):
    """A list of checks; :meth:`claim` is the decorator that adds to it."""

    def claim(
        self, where: str, claim: str, *, tolerance: float = 1e-10
    ) -> Callable[[Measure], Measure]:
        """Add the decorated function as the check of a claim."""

        def add(measure: Measure) -> Measure:
            self.append(Check(where, claim, tolerance, measure))
            return measure

        return add


class Step(NamedTuple):
    """One iteration as the paper writes it.

    ``point`` holds the weights and the topics: factors, or the posterior parameters of a Bayesian
    side. ``rates`` holds the posterior rates of Gamma weights.
    """

    point: Point
    objective: float
    rates: Array | None


@dataclass(frozen=True)
class Setting:
    """Data and the common start of all models.

    The factors are positive, and the topics sum to one. A Bayesian side uses them as parameters.
    """

    X: Any  # a dense or sparse array in float64
    weights: Array
    topics: Array
    n_iter: int  # the number of iterations that are compared

    @property
    def start(self) -> Point:
        """The start of every model."""
        return self.weights, self.topics

    @property
    def n_components(self) -> int:
        """The number of components."""
        return len(self.topics)

    @property
    def alpha(self) -> Array:
        """Concentrations, different for each component, so that components cannot be confused."""
        return np.linspace(0.2, 1.0, self.n_components)

    @property
    def rates(self) -> Array:
        """Rates, different for each component."""
        return np.linspace(0.5, 2.0, self.n_components)

    @cached_property
    def sample_totals(self) -> Array:
        """The sum of each row."""
        return np.asarray(self.X.sum(axis=1)).ravel()

    @cached_property
    def total(self) -> float:
        """The sum of all counts, the scale of objectives."""
        return float(self.sample_totals.sum())

    @cached_property
    def saturated(self) -> float:
        """The sum of ``x log x - x``: the part of the divergence that depends only on the data."""
        X = self.X  # as Any, because issparse narrows the type too much
        values = X.data if sparse.issparse(self.X) else X
        return float((xlogy(values, values) - values).sum())

    # The models of the paper

    def free_nmf(self) -> NMF:
        """Return NMF without constraints, with alternating updates (Algorithm 1)."""
        return NMF(self.n_components, normalize=False, solver="alternating")

    def nmf(self) -> NMF:
        """Return NMF with normalised topics and joint updates (Algorithm 4)."""
        return NMF(self.n_components, solver="joint")

    def plsa(self) -> PLSA:
        """Return PLSA (Algorithms 2 and 6)."""
        return PLSA(self.n_components, solver="joint")

    def lda(self) -> LDA:
        """Return LDA (Algorithms 3 and 5)."""
        return LDA(
            self.n_components, alpha=self.alpha, eta=None, estimate="variational", solver="joint"
        )

    def gamma_poisson(self, rate: float | Array = RATE) -> GammaPoisson:
        """Return the Gamma-Poisson model (Algorithm 7)."""
        return GammaPoisson(self.n_components, shape=self.alpha, rate=rate, solver="joint")

    def lasso(self, strength: float = 1.0) -> TopicModel:
        """Return Lasso-penalised NMF with normalised topics (Section 6)."""
        return TopicModel(
            self.n_components, weights=Lasso(strength), topics=Simplex(), solver="joint"
        )

    def run(
        self, model: BaseTopicModel, start: Point | None = None, n_iter: int | None = None
    ) -> list[Step]:
        """Fit the model for a number of iterations and return all of them."""
        steps: list[Step] = []

        def keep(at: Iteration[Any]) -> None:
            weights, topics = at.state.weights, at.state.topics
            parameters = weights.mean if weights.parameters is None else weights.parameters
            steps.append(Step((parameters, topics.mean), at.objective, weights.rates))

        model.set_params(init=start or self.start, max_iter=n_iter or self.n_iter, tol=0)
        model.set_params(callbacks=keep).fit(self.X)
        return steps

    def compare(
        self, model: BaseTopicModel, algorithm: Callable[..., Point], **given: Array
    ) -> float:
        """Return the deviation of the model's iterates from those of a literal transcription."""
        point, worst = self.start, 0.0
        for step in self.run(model):
            point = algorithm(self.X, *point, **given)
            worst = max(worst, deviation(step.point, point))
        return worst

    def movement(self, model: BaseTopicModel, point: Point) -> float:
        """Return how far one iteration of the model moves a point."""
        (moved,) = self.run(model, point, n_iter=1)
        return deviation(moved.point, point)

    def departure(
        self, fixed: BaseTopicModel, other: BaseTopicModel, point: Point | None = None
    ) -> float:
        """Return how far another model moves a fixed point, beyond what convergence explains.

        ``point`` is the fixed point as the other model represents it, if that is different.
        """
        own = iterate_of(fixed)
        leeway = _LEEWAY * self.movement(clone(fixed), own)
        return max(0.0, self.movement(other, point or own) - leeway)


@dataclass(frozen=True)
class Evidence:
    """Everything that the claims are checked on."""

    large: Setting  # the data
    small: Setting  # a dense part of it without empty rows and columns
    seed: int

    @classmethod
    def of(cls, X: Any, n_components: int, n_iter: int, random_state: Seed) -> "Evidence":
        """Return the evidence for given data."""
        for name, value, least in (("n_components", n_components, 1), ("n_iter", n_iter, 2)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value}.")
        rng = generator(random_state)
        X = prepare_counts(X)
        return cls(
            _setting(X, n_components, n_iter, rng),
            _setting(_dense_part(X), min(n_components, _SMALL_COMPONENTS), n_iter, rng),
            int(rng.integers(2**32)),
        )

    def rng(self) -> np.random.Generator:
        """Return a new generator; every check starts with the same one."""
        return np.random.default_rng(self.seed)

    def tiny(self) -> Iterator[Point]:
        """Yield random weights of two components that sum to one, and topics of three features."""
        rng = self.rng()
        for _ in range(TRIES):
            yield rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3), size=2)

    @cached_property
    def fixed_points(self) -> "FixedPoints":
        """Models that are fitted to the small data until an update moves almost nothing."""
        return FixedPoints(self.small)


class FixedPoints(dict[str, Any]):
    """Fitted models by the names of their methods of ``Setting``; each is fitted when needed."""

    def __init__(self, at: Setting) -> None:
        self._at = at

    def __missing__(self, name: str) -> Any:
        model = getattr(self._at, name)().set_params(init=self._at.start, tol=0)
        model.set_params(max_iter=_MOST_ITERATIONS, callbacks=lambda at: at.residual <= _CONVERGED)
        self[name] = model.fit(self._at.X)
        return self[name]


def iterate_of(model: Any) -> Point:
    """Return the iterate that a fitted model holds: factors or posterior parameters."""
    posterior = model.weights_posterior_
    return (model.weights_ if posterior is None else posterior), model.components_


def random_point(at: Setting, rng: np.random.Generator) -> Point:
    """Return random positive factors without constraints."""
    return rng.gamma(2.0, size=at.weights.shape), rng.gamma(2.0, size=at.topics.shape)


def deviation(found: Any, expected: Any, *, scale: float = 0.0) -> float:
    """Return the largest difference, relative to the largest expected entry or a larger scale.

    For tuples, it is the largest over their members. NaN counts as infinite.
    """
    if isinstance(expected, tuple):
        return max(deviation(f, e, scale=scale) for f, e in zip(found, expected, strict=True))
    with np.errstate(invalid="ignore"):
        difference = np.abs(np.asarray(found) - expected).max()
        return _infinite_if_nan(difference / (max(scale, np.abs(expected).max()) or 1.0))


def excess(values: Any, bounds: Any, *, scale: float) -> float:
    """Return by how much a value exceeds its bound, relative to the bounds or a larger scale."""
    with np.errstate(invalid="ignore"):
        above = (np.asarray(values) - bounds).max() / max(scale, np.abs(bounds).max())
        return max(0.0, _infinite_if_nan(above))


def _infinite_if_nan(value: Any) -> float:
    """Return the value, or infinity for NaN, which ``max`` could ignore."""
    return float("inf") if np.isnan(value) else float(value)


def prepare_counts(X: Any) -> Any:
    """Return the counts in float64, with a limited number of samples; raise if there are none."""
    X = read_container(X).matrix
    is_sparse = sparse.issparse(X)
    X = X.tocsr().astype(np.float64) if is_sparse else np.asarray(X, np.float64)
    if CountMatrix(X).total == 0:
        raise ValueError("X has no counts: all entries are zero. Use data with at least one count.")
    rows = X.shape[0]
    if rows <= _MOST_SAMPLES:
        return X
    return X[np.linspace(0, rows - 1, _MOST_SAMPLES).astype(int)]


def _dense_part(X: Any) -> Array:
    """Return the most frequent features of the samples with the most counts of them."""
    frequent = _largest(np.asarray(X.sum(axis=0)).ravel(), _SMALL_FEATURES)
    part: Any = X[:, frequent]
    dense: Array = part.toarray() if sparse.issparse(X) else part
    dense = dense[_largest(dense.sum(axis=1), _SMALL_SAMPLES)]
    return dense[:, dense.sum(axis=0) > 0]


def _largest(totals: Array, most: int) -> Array:
    """Return the indices of the largest totals in ascending order, without empty ones."""
    places = np.argsort(-totals, kind="stable")[:most]
    return np.sort(places[totals[places] > 0])


def _setting(X: Any, n_components: int, n_iter: int, rng: np.random.Generator) -> Setting:
    weights = rng.gamma(2.0, size=(X.shape[0], n_components)) + 0.1
    topics = rng.uniform(0.5, 1.5, size=(n_components, X.shape[1]))
    return Setting(X, weights, topics / topics.sum(axis=1, keepdims=True), n_iter)
