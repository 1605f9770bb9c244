"""Fits of every model to small matrices of every kind, and inputs that must be refused."""

import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from fuzz.loop import Property
from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    BetaNMF,
    CountMatrix,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    Lasso,
    PoissonFactorization,
    Simplex,
    SparseNMF,
    TopicModel,
    expected_counts,
)
from isotopic.arrays import Array
from isotopic.divergences import Beta, GradientPass
from isotopic.priors import Posterior
from isotopic.solvers import Iteration

CONTAINERS: dict[str, Any] = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "list": lambda X: X.tolist(),
    "csr": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "lil": sparse.lil_array,
    "dok": sparse.dok_array,
    "bsr": sparse.bsr_array,
    "dia": sparse.dia_array,
}
REFUSED = re.compile("has zeros|is too large")  # by a beta divergence
TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}


@dataclass(frozen=True)
class Data:
    """A count matrix; everything but its kind follows from the seed."""

    samples: int
    features: int
    density: float
    power: int
    dtype: str
    container: str
    seed: int

    def make(self, samples: int | None = None) -> Any:
        """Draw it."""
        rng = np.random.default_rng(self.seed)
        shape = (self.samples if samples is None else samples, self.features)
        X = rng.exponential(10.0**self.power, shape) * (rng.random(shape) < self.density)
        if np.dtype(self.dtype).kind in "biu":
            X = np.minimum(np.ceil(X), 100)
        return CONTAINERS[self.container](X.astype(self.dtype))


@dataclass(frozen=True)
class Fit:
    """A model and its data."""

    model: Any
    data: Data


numbers = st.sampled_from([1e-3, 0.1, 1.0, 50.0]) | st.floats(1e-5, 1e5)
# exp(digamma(x)) is zero in float32 below 0.0115, and then nothing explains a tiny count.
shapes = st.floats(0.02, 1e5)
seeds = st.integers(0, 2**32 - 1)
priors = (
    st.builds(Free)
    | st.builds(Simplex)
    | st.builds(Lasso, numbers)
    | st.builds(Dirichlet, shapes)
    | st.builds(Gamma, shapes, numbers)
)
common = {
    "max_iter": st.integers(0, 12),
    "tol": st.just(0),
    "solver": st.sampled_from(["auto", "joint", "alternating"]),
    "n_jobs": st.sampled_from([None, 1, 2, 3]),
    "n_init": st.sampled_from([1, 1, 2]),
    "random_state": seeds,
}
components = st.integers(1, 9) | st.sampled_from([17, 33, 130])
models = (
    st.builds(NMF, components, normalize=st.booleans(), **common)
    | st.builds(PLSA, components, **common)
    | st.builds(LDA, components, alpha=st.none() | shapes, eta=st.none() | shapes, **common)
    | st.builds(GammaPoisson, components, shape=shapes, rate=numbers, **common)
    | st.builds(
        SparseNMF,
        components,
        st.floats(1e-3, 1e2),
        norm=st.sampled_from(["l2", 1.5, 3.0, 10.0]),
        # Not "power": the weight of a tiny count is a power of it, for which there is no float32.
        penalty=st.sampled_from(["l1", "log"]),
        **common,
    )
    | st.builds(TopicModel, components, weights=priors, topics=priors, **common)
    | st.builds(ARDNMF, components, shape=st.floats(1.001, 1e3), scale=numbers, **common)
    | st.builds(
        PoissonFactorization,
        components,
        shape=shapes,
        rate=numbers,
        topic_shape=shapes,
        topic_rate=numbers,
        **common,
    )
)
with_sizes = (
    st.builds(NMF, components, normalize=st.booleans(), **common)
    | st.builds(GammaPoisson, components, shape=shapes, rate=numbers, **common)
    | st.builds(TopicModel, components, weights=st.builds(Lasso, numbers), **common)
)
# Long enough for lessons, after which objectives do not compare.
long = {"max_iter": st.integers(20, 45), "tol": st.just(0), "random_state": seeds}
learners = (
    st.builds(
        LDA,
        components,
        estimate=st.sampled_from(["cvb0", "smoothed", "variational"]),
        alpha=st.sampled_from(["auto", "symmetric"]),
        eta=st.sampled_from(["auto", "asymmetric"]),
        **long,
    )
    | st.builds(ARDNMF, components, shape=st.floats(1.001, 1e3), scale=numbers, **long)
    | st.builds(
        GammaPoisson, components, learn=st.sampled_from(["symmetric", "asymmetric"]), **long
    )
)
betas = st.sampled_from([-1, 0, 0.5, 1.5, 2, 2, 2, 3]) | st.floats(-2.0, 4.0)
of_betas = st.builds(
    BetaNMF, components, beta=betas, normalize=st.booleans(), **common
) | st.builds(
    BetaNMF,
    components,
    beta=betas,
    penalty=st.sampled_from(["lasso", "log"]),
    strength=numbers,
    **common,
)
data = st.builds(
    Data,
    samples=st.integers(1, 30),
    features=st.integers(1, 30),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    power=st.sampled_from([0, 0, 1, 5, -5]),
    dtype=st.sampled_from(["float64", "float32", "int64", "uint8", "bool"]),
    container=st.sampled_from(sorted(CONTAINERS)),
    seed=seeds,
)


class Watch:
    """A callback that keeps the objectives with their rounding, and checks the counts' mass."""

    def __init__(self, X: CountMatrix) -> None:
        self.X = X
        self.objectives: list[float] = []
        self.roundings: list[float] = []

    def __call__(self, at: Iteration[Any]) -> None:
        """Look at an iteration."""
        state, tolerance = at.state, TOLERANCE[self.X.dtype]
        sums = state.counts.weights.sum(axis=1, dtype=float)
        np.testing.assert_allclose(sums, self.X.sample_totals, tolerance)
        sums = state.counts.topics.sum(axis=0, dtype=float)
        np.testing.assert_allclose(sums, self.X.feature_totals, tolerance)
        size = abs(state.counts.log_likelihood) + self.X.total
        size += sum(_size(side) for side in (state.weights, state.topics))
        self.objectives.append(at.objective)
        self.roundings.append(tolerance * size)


def _size(side: Posterior) -> float:
    """Give the size of what a side's term is the difference of: log-gamma is about x log(x)."""
    if side.parameters is None:
        return abs(side.term)
    x = side.parameters.astype(np.float64)
    return abs(side.term) + float(
        np.nansum(x * (1 + np.abs(np.log(x))))
    )  # NaN: given, not inferred


def refuses(model: Any, shape: tuple[int, int]) -> bool:
    """Whether the components, the pair of priors, or their solver must be refused."""
    if model.n_components > max(shape):
        return True
    weights, topics = model._priors()
    scaled = topics.norm is None
    return scaled and (
        weights.is_normalized
        or model.solver == "joint"
        or {weights.scale_tendency, topics.scale_tendency} == {"free", "shrinks"}
    )


def a_fit_is_sound(case: Fit) -> None:
    """Check that numbers are finite, the objective never rises, and counts keep their mass."""
    _check_fit(case)


def a_fit_with_known_sizes_is_sound(case: Fit) -> None:
    """Check the same of samples that were seen more or less well, and of weights that are given."""
    rng = np.random.default_rng(case.data.seed)
    sizes = 10 ** rng.uniform(-3, 3, case.data.samples)
    given = rng.exponential(size=(case.data.samples, 1))
    known = {"size_factors": sizes}
    if case.model.n_components > 1 and case.data.seed % 2:
        known["fixed_weights"] = given
    _check_fit(case, known, {name: rows[np.zeros(5, int)] for name, rows in known.items()})


def _check_fit(case: Fit, known: Any = (), known_anew: Any = ()) -> None:
    X, model = case.data.make(), case.model
    watch = Watch(CountMatrix(X))
    model.set_params(callbacks=watch)
    if refuses(model, watch.X.shape):
        must_refuse(model.fit, X)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = model.fit_transform(X, **dict(known))
    if model.n_init == 1:
        rises = np.diff(watch.objectives)
        assert np.all(rises <= np.array(watch.roundings)[1:]), watch.objectives
    assert np.isfinite(model.objective_)
    posterior = model.weights_posterior_
    if posterior is not None:  # what is given has none: NaN
        given = dict(known).get("fixed_weights")
        posterior = posterior[:, 0 if given is None else given.shape[1] :]
    _is_good(weights, model.components_, posterior, model.components_posterior_)
    _check_transform(model, case.data, known_anew)


def _check_transform(model: Any, data: Data, known: Any = ()) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        _is_good(model.transform(data.make(samples=5), **dict(known)))


def a_fit_that_learns_is_sound(case: Fit) -> None:
    """Check that numbers stay finite when priors learn."""
    X, model = case.data.make(), case.model
    if refuses(model, CountMatrix(X).shape):
        must_refuse(model.fit, X)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model.fit(X)
        except ConvergenceWarning as warning:
            # If all counts sum to less than one, learned concentrations can become so small that
            # exp(digamma), or a product of two of them, is zero. The fit says so.
            if CountMatrix(X).total < 1 and re.search("float64|cannot be explained", str(warning)):
                return
            raise
    assert np.isfinite(model.objective_)
    _is_good(model.weights_, model.components_, model.weights_posterior_)
    _check_transform(model, case.data)


def a_beta_fit_is_sound(case: Fit) -> None:
    """Check that a divergence never rises, or that the data is refused for its sake."""
    X, model = CountMatrix(case.data.make()), case.model
    objectives: list[float] = []
    model.set_params(callbacks=lambda at: objectives.append(at.objective))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            model.fit(case.data.make())
        except ValueError as error:
            if model.n_components > max(X.shape) or REFUSED.search(str(error)):
                return
            raise
    assert np.isfinite(model.objective_)
    _is_good(model.weights_, model.components_)
    if model.n_init == 1 and model.beta != 1:
        saturated = np.abs(GradientPass(Beta(model.beta), X).saturated).sum()
        size = TOLERANCE[X.dtype] * (saturated + abs(objectives[0] if objectives else 0.0))
        assert np.all(np.diff(objectives) <= size), objectives
    try:
        _check_transform(model, case.data)
    except ValueError as error:
        if not REFUSED.search(str(error)):
            raise


def _is_good(*arrays: Array | None) -> None:
    for array in arrays:
        assert array is None or np.all((array >= 0) & (array < np.inf)), array


def must_refuse(function: Any, *arguments: Any) -> None:
    """Call what must raise a ValueError or a TypeError."""
    try:
        function(*arguments)
    except (ValueError, TypeError):
        return
    raise AssertionError("nothing was raised")


def _with(X: Array, value: Any) -> Array:
    X = X.astype(np.result_type(X, type(value)))
    X.flat[-1] = value
    return X


BAD_DATA: dict[str, Any] = {
    "NaN": lambda X: _with(X, np.nan),
    "infinity": lambda X: _with(X, np.inf),
    "a negative number": lambda X: _with(X, -1.0),
    "a complex number": lambda X: _with(X, 1j),
    "too much": lambda X: _with(X, 1e308),
    "too much for float32": lambda X: _with(X, 1e38).astype(np.float32),
    "one dimension": lambda X: X[0],
    "three dimensions": lambda X: X[np.newaxis],
    "no samples": lambda X: X[:0],
    "no features": lambda X: X[:, :0],
    "text": lambda X: X.astype(str).astype(object) + "x",
    "nothing": lambda X: None,
    "None inside": lambda X: np.where(X > 0, X, None),
    "rows of different lengths": lambda X: [[1.0], [1.0, 2.0]],
}
GOOD_FOR_A_PASS = {"no samples", "no features", "too much for float32"}  # it is in float64
BAD_SETTINGS: list[dict[str, Any]] = [
    {"n_components": 0},
    {"n_components": 1.5},
    {"max_iter": -1},
    {"tol": -1.0},
    {"n_init": 0},
    {"n_jobs": 0},
    {"solver": "none such"},
    {"solver": None},
    {"init": "none such"},
    {"init": (np.ones((4, 2)),)},
    {"init": (np.ones((4, 2)), np.ones((2, 3)))},
    {"init": (np.full((4, 2), np.nan), np.ones((2, 5)))},
    {"init": (np.ones((4, 2)), -np.ones((2, 5)))},
    {"random_state": -1},
    {"random_state": "text"},
]
BAD_MODELS: list[Any] = [
    *[lambda v=v: LDA(2, alpha=v) for v in (0, -1.0, np.nan, np.inf, "x", [1.0] * 3, [])],
    *[lambda v=v: LDA(2, eta=v) for v in (0, np.nan, [1.0] * 4, [[1.0], [-1.0]])],
    *[lambda v=v: GammaPoisson(2, shape=v) for v in (0, -1.0, np.nan, [1.0] * 3)],
    *[lambda v=v: GammaPoisson(2, rate=v) for v in (0, -1.0, np.inf, [1.0] * 3)],
    *[lambda v=v: PoissonFactorization(2, topic_shape=v) for v in (0, -1.0, np.nan)],
    *[lambda v=v: BetaNMF(2, beta=v) for v in (np.nan, np.inf, "x", None, True)],
    *[lambda v=v: BetaNMF(2, penalty="lasso", strength=v) for v in (-1.0, np.nan)],
    lambda: BetaNMF(2, penalty="log", normalize=False),
    *[lambda v=v: SparseNMF(2, v) for v in (-1.0, np.nan, "x")],
    *[lambda v=v: ARDNMF(2, shape=v) for v in (1.0, 0, np.nan)],
    *[lambda v=v: TopicModel(2, weights=v) for v in (1, "Free", Free)],
    lambda: TopicModel(2, weights=Lasso(-1.0)),
    lambda: TopicModel(2, topics=Lasso(np.nan)),
]


def bad_data_is_refused(case: tuple[str, str]) -> None:
    """Give fit, transform and the kernel data that is not counts."""
    what, container = case
    good = np.arange(20.0).reshape(4, 5)
    X = BAD_DATA[what](good)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object and container != "list":
        X = CONTAINERS[container](X)
    must_refuse(NMF(2).fit, X)
    must_refuse(NMF(2, max_iter=2, tol=0).fit(good).transform, X)
    if what not in GOOD_FOR_A_PASS:
        must_refuse(expected_counts, X, np.ones((4, 2)), np.ones((2, 5)))


def bad_settings_are_refused(which: int) -> None:
    """Fit with settings that make no sense."""
    X = np.arange(20.0).reshape(4, 5)
    if which < len(BAD_SETTINGS):
        must_refuse(lambda: NMF(2).set_params(**BAD_SETTINGS[which]).fit(X))
    else:
        must_refuse(lambda: BAD_MODELS[which - len(BAD_SETTINGS)]().fit(X))


@dataclass(frozen=True)
class Broken:
    """A compressed sparse matrix of which one index was changed behind SciPy's back."""

    part: str
    at: int
    value: int
    container: str
    function: str

    def make(self) -> Any:
        """Break it."""
        X = CONTAINERS[self.container](np.arange(20.0).reshape(4, 5) % 3)
        part = getattr(X, self.part)
        part[self.at % len(part)] = self.value
        return X


FUNCTIONS: dict[str, Any] = {
    "fit": lambda X: NMF(2, max_iter=2, tol=0).fit(X),
    "transform": lambda X: NMF(2, max_iter=2, tol=0).fit(np.ones((4, 5))).transform(X),
    "expected_counts": lambda X: expected_counts(X, np.ones((4, 2)), np.ones((2, 5))),
}


def a_broken_matrix_does_no_harm(case: Broken) -> None:
    """Give a matrix with other indices, which is refused if it is no matrix any more."""
    try:
        X = case.make()
    except (ValueError, IndexError):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            FUNCTIONS[case.function](X)
        except (ValueError, TypeError):
            return


broken = st.builds(
    Broken,
    part=st.sampled_from(["indices", "indptr"]),
    at=st.integers(0, 20),
    value=st.sampled_from([-1, 0, 3, 4, 5, 6, 100, -100, 2**31 - 1]),
    container=st.sampled_from(["csr", "csc", "csr_matrix", "bsr"]),
    function=st.sampled_from(sorted(FUNCTIONS)),
)

PROPERTIES = [
    Property(a_fit_is_sound, st.builds(Fit, models, data)),
    Property(a_fit_with_known_sizes_is_sound, st.builds(Fit, with_sizes, data)),
    Property(a_fit_that_learns_is_sound, st.builds(Fit, learners, data), batch=20),
    Property(a_beta_fit_is_sound, st.builds(Fit, of_betas, data)),
    Property(
        bad_data_is_refused,
        st.tuples(st.sampled_from(sorted(BAD_DATA)), st.sampled_from(sorted(CONTAINERS))),
    ),
    Property(
        bad_settings_are_refused, st.integers(0, len(BAD_SETTINGS) + len(BAD_MODELS) - 1), batch=20
    ),
    Property(a_broken_matrix_does_no_harm, broken),
]
