"""What the claims are checked on: data, a common start, and how models are run from it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import xlogy
from sklearn.base import clone

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.estimators import LDA, NMF, PLSA, GammaPoisson, TopicModel
from isotopic.estimators.base import BaseTopicModel
from isotopic.priors import Lasso, Simplex
from isotopic.random import Seed, generator
from isotopic.solvers import Iteration
from isotopic.verify.table import Claim

Point: TypeAlias = tuple[Array, Array]
Measure: TypeAlias = "Callable[[Evidence], float]"

# Of larger data this many samples, evenly spaced, are used.
_MOST_SAMPLES = 2000

# The part on which the responsibilities are written out, and fits are run until an update moves no
# more than this share of the counts, or so often.
_SMALL_SAMPLES, _SMALL_FEATURES, _SMALL_COMPONENTS = 12, 15, 3
_SETTLED, _MOST_ITERATIONS = 1e-10, 2000

# A fixed point is found by iterating, so its own algorithm still moves it a little. Another one may
# move it by so many times as much.
_LEEWAY = 10

# How many random points are tried.
TRIES = 5

# The tiny models: the largest total of their counts, and the concentrations of their two weights.
TOTAL, ALPHA = 3, np.array([0.7, 1.6])

# The common rate of the Gamma prior, and the penalties of the Lasso.
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
        """Measure."""
        return Claim(self.where, self.claim, self.measure(evidence), self.tolerance)


class Checks(list[Check]):
    """A list of checks to which :meth:`claim` adds."""

    def claim(
        self, where: str, claim: str, *, tolerance: float = 1e-10
    ) -> Callable[[Measure], Measure]:
        """Add the decorated function as the check of a claim."""

        def add(measure: Measure) -> Measure:
            self.append(Check(where, claim, tolerance, measure))
            return measure

        return add


class Step(NamedTuple):
    """One iteration: the iterate as the paper writes it, and what else is compared.

    ``point`` is the weights and the topics: factors, or the parameters of a Bayesian side, whose
    Gamma ``rates`` stand beside.
    """

    point: Point
    objective: float
    rates: Array | None

    @classmethod
    def of(cls, at: Iteration[Any]) -> "Step":
        """Take what is needed of an iteration."""
        weights, topics = at.state.weights, at.state.topics
        parameters = weights.mean if weights.parameters is None else weights.parameters
        return cls((parameters, topics.mean), at.objective, weights.rates)


@dataclass(frozen=True)
class Setting:
    """Data, and the point from which every model starts.

    Attributes
    ----------
    X : ndarray or sparse array of shape (samples, features), float64
    weights, topics : ndarray
        All positive; the topics sum to one. A Bayesian side takes them as its parameters.
    n_iter : int
        How many iterations are compared.
    """

    X: Any
    weights: Array
    topics: Array
    n_iter: int

    @property
    def start(self) -> Point:
        """The start of every model."""
        return self.weights, self.topics

    @property
    def n_components(self) -> int:
        """How many components."""
        return len(self.topics)

    @property
    def alpha(self) -> Array:
        """Concentrations that differ, so that no two components can be mistaken."""
        return np.linspace(0.2, 1.0, self.n_components)

    @property
    def rates(self) -> Array:
        """Rates that differ."""
        return np.linspace(0.5, 2.0, self.n_components)

    @cached_property
    def sample_totals(self) -> Array:
        """The sum of each row."""
        return np.asarray(self.X.sum(axis=1)).ravel()

    @cached_property
    def total(self) -> float:
        """The sum of all counts: what objectives are measured by."""
        return float(self.sample_totals.sum())

    @cached_property
    def saturated(self) -> float:
        """The sum of ``x log x - x``: the part of the divergence that only the data have."""
        X = self.X  # as Any: what issparse finds out is less than what is known
        values = X.data if sparse.issparse(self.X) else X
        return float((xlogy(values, values) - values).sum())

    # The models of the paper

    def free_nmf(self) -> NMF:
        """Make NMF without constraints, solved in turns (Algorithm 1)."""
        return NMF(self.n_components, normalize=False, solver="alternating")

    def nmf(self) -> NMF:
        """Make NMF with normalised topics, solved jointly (Algorithm 4)."""
        return NMF(self.n_components, solver="joint")

    def plsa(self) -> PLSA:
        """Make PLSA (Algorithms 2 and 6)."""
        return PLSA(self.n_components, solver="joint")

    def lda(self) -> LDA:
        """Make LDA (Algorithms 3 and 5)."""
        return LDA(
            self.n_components,
            alpha=self.alpha,
            eta=None,
            estimate="variational",
            solver="joint",
        )

    def gamma_poisson(self, rate: float | Array = RATE) -> GammaPoisson:
        """Make the Gamma-Poisson model (Algorithm 7)."""
        return GammaPoisson(self.n_components, shape=self.alpha, rate=rate, solver="joint")

    def lasso(self, strength: float = 1.0) -> TopicModel:
        """Make Lasso-penalised NMF with normalised topics (Section 6)."""
        return TopicModel(
            self.n_components, weights=Lasso(strength), topics=Simplex(), solver="joint"
        )

    def run(
        self, model: BaseTopicModel, start: Point | None = None, n_iter: int | None = None
    ) -> list[Step]:
        """Fit the model for a number of iterations, and give all of them."""
        steps: list[Step] = []
        model.set_params(
            init=start or self.start,
            max_iter=n_iter or self.n_iter,
            tol=0,
            callbacks=lambda at: steps.append(Step.of(at)),
        )
        model.fit(self.X)
        return steps

    def settle(self, model: BaseTopicModel) -> BaseTopicModel:
        """Fit the model until it stands still."""
        model.set_params(
            init=self.start,
            max_iter=_MOST_ITERATIONS,
            tol=0,
            callbacks=lambda at: at.residual <= _SETTLED,
        )
        return model.fit(self.X)

    def movement(self, model: BaseTopicModel, point: Point) -> float:
        """Measure how far one iteration of the model moves a point."""
        (moved,) = self.run(model, point, n_iter=1)
        return deviation(moved.point, point)

    def departure(
        self, settled: BaseTopicModel, other: BaseTopicModel, point: Point | None = None
    ) -> float:
        """Measure how much more another model moves a settled one's point than that does itself.

        The point is as the other model has it, if that is different.
        """
        own = held(settled)
        leeway = _LEEWAY * self.movement(clone(settled), own)
        return max(0.0, self.movement(other, point or own) - leeway)


@dataclass(frozen=True)
class Evidence:
    """All that the claims are checked on.

    Attributes
    ----------
    large, small : Setting
        The data, and a dense part of it without empty rows and columns.
    seed : int
    """

    large: Setting
    small: Setting
    seed: int

    @classmethod
    def of(cls, X: Any, n_components: int, n_iter: int, random_state: Seed) -> "Evidence":
        """Prepare data."""
        for name, value, least in (("n_components", n_components, 1), ("n_iter", n_iter, 2)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value}")
        rng = generator(random_state)
        X = read_counts(X)
        return cls(
            _setting(X, n_components, n_iter, rng),
            _setting(_dense_part(X), min(n_components, _SMALL_COMPONENTS), n_iter, rng),
            int(rng.integers(2**32)),
        )

    def rng(self) -> np.random.Generator:
        """Make the generator with which every check begins."""
        return np.random.default_rng(self.seed)

    def tiny(self) -> Iterator[Point]:
        """Draw weights of two components that sum to one, and topics of three features."""
        rng = self.rng()
        for _ in range(TRIES):
            yield rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(3), size=2)

    @cached_property
    def settled(self) -> dict[str, Any]:
        """Every model, fitted to the small data until it stands still."""
        models = ("free_nmf", "nmf", "plsa", "lda", "gamma_poisson", "lasso")
        return {name: self.small.settle(getattr(self.small, name)()) for name in models}


def held(model: Any) -> Point:
    """Give the iterate that a fitted model holds."""
    posterior = model.weights_posterior_
    return (model.weights_ if posterior is None else posterior), model.components_


def random_point(at: Setting, rng: np.random.Generator) -> Point:
    """Draw positive factors without constraints."""
    return rng.gamma(2.0, size=at.weights.shape), rng.gamma(2.0, size=at.topics.shape)


def deviation(found: Any, expected: Any, *, scale: float = 0.0) -> float:
    """Give the largest difference, relative to the largest expected entry or to a larger scale.

    Of tuples, the largest over their members. Infinite where there is no number to compare.
    """
    if isinstance(expected, tuple):
        return max(deviation(f, e, scale=scale) for f, e in zip(found, expected, strict=True))
    with np.errstate(invalid="ignore"):
        difference = np.abs(np.asarray(found) - expected).max()
        return _infinite_if_nan(difference / (max(scale, np.abs(expected).max()) or 1.0))


def excess(values: Any, bounds: Any, *, scale: float) -> float:
    """Give by how much any value is above its bound, relative to the bounds or a larger scale."""
    with np.errstate(invalid="ignore"):
        above = (np.asarray(values) - bounds).max() / max(scale, np.abs(bounds).max())
        return max(0.0, _infinite_if_nan(above))


def _infinite_if_nan(value: Any) -> float:
    """Make the largest of several numbers notice one that is none."""
    return float("inf") if np.isnan(value) else float(value)


def read_counts(X: Any) -> Any:
    """Make what the checks work on: float64, not too many samples. Raise if it is not counts."""
    is_sparse = sparse.issparse(X)
    X = X.tocsr().astype(np.float64) if is_sparse else np.asarray(X, np.float64)
    if CountMatrix(X).total == 0:
        raise ValueError("X has no counts: there is nothing to verify on")
    rows = X.shape[0]
    if rows <= _MOST_SAMPLES:
        return X
    return X[np.linspace(0, rows - 1, _MOST_SAMPLES).astype(int)]


def _dense_part(X: Any) -> Array:
    """Take the most frequent features, and the samples that have most of them."""
    frequent = _largest(np.asarray(X.sum(axis=0)).ravel(), _SMALL_FEATURES)
    part: Any = X[:, frequent]
    dense: Array = part.toarray() if sparse.issparse(X) else part
    dense = dense[_largest(dense.sum(axis=1), _SMALL_SAMPLES)]
    return dense[:, dense.sum(axis=0) > 0]


def _largest(totals: Array, most: int) -> Array:
    """Give the places of the largest totals, in their order, empty ones left out."""
    places = np.argsort(-totals, kind="stable")[:most]
    return np.sort(places[totals[places] > 0])


def _setting(X: Any, n_components: int, n_iter: int, rng: np.random.Generator) -> Setting:
    weights = rng.gamma(2.0, size=(X.shape[0], n_components)) + 0.1
    topics = rng.uniform(0.5, 1.5, size=(n_components, X.shape[1]))
    return Setting(X, weights, topics / topics.sum(axis=1, keepdims=True), n_iter)
