"""Problems without a finite objective, and settings that no arithmetic survives: both are said."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    BetaNMF,
    Dirichlet,
    GammaPoisson,
    Lasso,
    NegativeBinomialNMF,
    PoissonFactorization,
    SparseNMF,
    TopicModel,
)
from isotopic.priors import CollapsedDirichlet, Relevance
from isotopic.solvers import (
    CoordinateDescent,
    ExtrapolatedDescent,
    HyperparameterUpdates,
    IncrementalEM,
    JointEM,
    MixedPrecision,
    OnlineEM,
)


@pytest.fixture(name="X")
def counts():
    rng = np.random.default_rng(0)
    rates = rng.gamma(0.3, 10.0, (20, 3)) @ rng.dirichlet(np.full(8, 0.3), 3)
    return rng.poisson(rates + 0.1).astype(float)


def fit_with_warning(model, X, match):
    with pytest.warns(ConvergenceWarning, match=match) as caught:
        model.fit(X)
    assert len(caught) == 1
    assert not np.isfinite(model.objective_)
    assert not model.converged_
    return model


@pytest.mark.parametrize("solver", ["auto", "joint", "alternating"])
def test_a_start_that_excludes_counts_never_converges(X, solver):
    topics = np.ones((3, 8))
    topics[:, 5] = 0
    for kind in (NMF, PLSA):
        model = kind(3, init=(np.ones((20, 3)), topics), solver=solver)
        fit_with_warning(model, X, r"1 features \(the first is feature 5\) that are zero in every")
        if solver != "auto":  # extrapolated steps do not settle without an objective
            assert model.n_iter_ < model.max_iter  # which would change nothing


def test_samples_whose_topics_exclude_their_counts_are_told_apart_from_features(X):
    X = X + 1
    weights, topics = np.ones((20, 2)), np.ones((2, 8))
    weights[4, 0], topics[1, 3] = 0, 0
    fit_with_warning(NMF(2, init=(weights, topics)), X, "some samples have counts of features")


def test_fixed_topics_that_exclude_counts_never_converge(X):
    fixed = np.ones((2, 8))
    fixed[:, 2] = 0
    fit_with_warning(NMF(2, fixed_topics=fixed), X, "feature 2")


def test_min_gain_does_not_call_an_infinite_objective_converged(X):
    topics = np.ones((3, 8))
    topics[:, 5] = 0
    start = (np.ones((20, 3)), topics)
    fit_with_warning(NMF(3, init=start, tol=0, min_gain=1e-3, max_iter=30), X, "feature 5")


def test_modes_that_exclude_counts_are_said(X):
    X[:, 7] = np.arange(20) == 0  # a count less than one in each topic has no part of the mode
    given = {"alpha": 0.1, "eta": 0.1, "init": "nndsvd"}
    model = LDA(3, estimate="map", **given, random_state=0, max_iter=30)
    fit_with_warning(model, X, "estimate='map'|zero in every topic")


def test_too_few_iterations_to_learn_are_not_an_infinite_residual(X):
    with pytest.warns(ConvergenceWarning, match="hyperparameters have not been updated") as caught:
        LDA(3, max_iter=3).fit(X)
    assert "inf" not in str(caught[0].message)


EXTREMES = [1e-300, 1e-100, 1e-15, 1.0, 1e15, 1e100, 1e300]
EXTREME_MODELS = {
    "weights": lambda a, b: PoissonFactorization(3, shape=a, rate=b),
    "topics": lambda a, b: PoissonFactorization(3, topic_shape=a, topic_rate=b),
    "gamma": lambda a, b: GammaPoisson(3, shape=a, rate=b),
    "learned": lambda a, b: GammaPoisson(3, shape=a, rate=b, learn="asymmetric"),
    "log": lambda a, b: SparseNMF(3, a, norm="l1", penalty="log", offset=b),
    "power": lambda a, b: SparseNMF(3, a, penalty="power"),
    "lasso": lambda a, b: TopicModel(3, weights=Lasso(a), topics=Lasso(b)),
    "relevance": lambda a, b: ARDNMF(3, shape=1.5 + a / 10, scale=b),
    "beta": lambda a, b: BetaNMF(3, penalty="lasso", strength=a),
    "dispersion": lambda a, b: NegativeBinomialNMF(3, dispersion=a),
    "seeds": lambda a, b: NMF(3, seeds={0: {0: a}, 1: {1: b}}),
    **{
        estimate: lambda a, b, e=estimate: LDA(3, alpha=a, eta=b, estimate=e)
        for estimate in ("cvb0", "smoothed", "variational")
    },
}


def is_refused(model, X):
    try:
        model.fit(X)
    except ValueError as error:
        return any(word in str(error) for word in ("too extreme", "too large", "in the range"))
    return False


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EXTREME_MODELS)
def test_extreme_hyperparameters_are_refused_or_give_finite_factors(X, name, dtype, pytestconfig):
    """Half of the pairs, in which each meets half of the others; with ``--thorough`` all."""
    X, step = X.astype(dtype), 1 if pytestconfig.getoption("thorough") else 2
    for a, b in list(itertools.product(EXTREMES, EXTREMES))[::step]:
        model = EXTREME_MODELS[name](a, b).set_params(max_iter=4, tol=0, random_state=0)
        if {a, b} - {1e-15, 1.0, 1e15} and is_refused(model, X):
            continue
        model.fit(X)
        assert np.isfinite(model.components_).all()
        assert np.isfinite(model.weights_).all()
        assert np.isfinite(model.objective_)


BAD = [np.nan, np.inf, -np.inf]
PARAMETERS = {
    NMF: ["n_components", "max_iter", "tol", "min_gain", "n_init", "n_jobs", "verbose"],
    LDA: ["alpha", "eta"],
    GammaPoisson: ["shape", "rate"],
    PoissonFactorization: ["shape", "rate", "topic_shape", "topic_rate"],
    SparseNMF: ["strength", "norm", "power", "offset"],
    ARDNMF: ["shape", "scale"],
    BetaNMF: ["beta", "strength"],
    NegativeBinomialNMF: ["dispersion"],
}


@pytest.mark.parametrize("bad", BAD, ids=str)
@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in PARAMETERS.items() for name in names]
)
def test_parameters_that_are_no_number_are_refused_by_name(X, kind, name, bad):
    expected = {"alpha": "concentration", "eta": "concentration"}.get(name, name)
    with pytest.raises((TypeError, ValueError), match=expected):
        kind(**({"n_components": 3} | {name: bad})).fit(X)


def test_a_number_that_is_too_large_to_compute_with_is_refused_by_name(X):
    for name in ("tol", "min_gain", "n_jobs"):
        with pytest.raises(ValueError, match=f"{name} is too large"):
            NMF(3, **{name: 10**400}).fit(X)


@pytest.mark.parametrize("bad", [*BAD, "x"], ids=str)
def test_settings_of_solvers_and_priors_that_are_no_number_are_refused(X, bad):
    solvers = [
        lambda: OnlineEM(seed=bad),
        lambda: IncrementalEM(seed=bad),
        lambda: HyperparameterUpdates(JointEM(), first=bad),
        lambda: HyperparameterUpdates(JointEM(), interval=bad),
        lambda: HyperparameterUpdates(bad),
        lambda: MixedPrecision(below=bad),
        lambda: CoordinateDescent(sweeps=bad),
        lambda: ExtrapolatedDescent(sweeps=bad),
    ]
    for solver in solvers:
        with pytest.raises(ValueError, match="must be"):
            NMF(3, solver=solver()).fit(X)
    for prior in (
        lambda: Dirichlet(seeds=[bad, 1.0]),
        lambda: CollapsedDirichlet(seeds=[[bad]]),
        lambda: Relevance(strength=[bad]),
    ):
        with pytest.raises((TypeError, ValueError), match="must"):
            prior()


def test_partial_fit_after_another_number_of_components_says_so(X):
    for first in (lambda model: model.fit(X), lambda model: model.partial_fit(X)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = first(LDA(3, random_state=0))
        topics = model.components_
        with pytest.raises(ValueError, match=r"n_components=4, but partial_fit continues .* 3"):
            model.set_params(n_components=4).partial_fit(X)
        np.testing.assert_array_equal(model.components_, topics)
        model.set_params(n_components=np.int8(3)).partial_fit(X)
