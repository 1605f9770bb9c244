"""Fits that begin where another one ended: nothing that was found is lost."""

import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import isotopic
from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    BetaNMF,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    IncrementalEM,
    Lasso,
    LogPenalty,
    NegativeBinomialNMF,
    OnlineEM,
    PoissonFactorization,
    PowerPenalty,
    Simplex,
    SparseNMF,
    TopicModel,
    UnitNorm,
)
from isotopic.priors import ESTIMATES, Relevance

NAMED = [
    NMF(3),
    NMF(3, normalize=False),
    PLSA(3),
    LDA(3),
    LDA(3, alpha=0.3, eta=0.1),
    LDA(3, estimate="smoothed"),
    LDA(3, estimate="variational"),
    LDA(3, estimate="variational", alpha="symmetric", eta=None),
    LDA(3, estimate="map", alpha=1.3, eta=1.1),
    GammaPoisson(3, shape=0.3, rate=0.1),
    GammaPoisson(3, learn="symmetric"),
    GammaPoisson(3, learn="asymmetric"),
    PoissonFactorization(3),
    PoissonFactorization(3, solver="alternating"),
    SparseNMF(3, 2.0),
    SparseNMF(3, norm="l1", penalty="log"),
    SparseNMF(3, norm=1.5, penalty="power"),
    ARDNMF(3),
    BetaNMF(3),
    BetaNMF(3, beta=0.5),
    BetaNMF(3, beta=1.5, penalty="log"),
    BetaNMF(3, penalty="lasso"),
    NegativeBinomialNMF(3),
    NegativeBinomialNMF(3, dispersion=0.5),
]
WEIGHTS = [Free(), Lasso(0.5), Gamma(0.5, 0.5), LogPenalty(1.0), PowerPenalty(1.0), Relevance()]
TOPICS = [Free(), Lasso(0.5), Gamma(0.5, 0.5), LogPenalty(1.0), UnitNorm(2.0)]
PAIRS = [
    TopicModel(3, weights=weights, topics=topics)
    for weights, topics in [
        *product(WEIGHTS, [*TOPICS, Simplex(), Dirichlet(0.2)]),
        *product([Simplex(), *(kind(1.3) for kind in ESTIMATES.values())], [Simplex()]),
    ]
    # Free next to a penalty has no minimum; Gamma weights need topics without another norm.
    if not (isinstance(topics, Free) and not isinstance(weights, (Free, Gamma)))
    and not (isinstance(weights, Free) and isinstance(topics, (Lasso, LogPenalty)))
    and not (isinstance(weights, Gamma) and isinstance(topics, UnitNorm))
]
MODELS = [*NAMED, *PAIRS]


def counts(seed=0, n_samples=40):
    rng = np.random.default_rng(seed)
    topics = np.random.default_rng(0).dirichlet(np.full(25, 0.1), 3)
    return rng.poisson(rng.gamma(0.3, 20.0, (n_samples, 3)) @ topics + 0.02).astype(float)


def is_collapsed(model):
    """Tell whether the objective contains the self-contribution of counts, which is estimated."""
    return any(prior.needs_squares for prior in model._priors())


def converged(model, X, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = clone(model).set_params(tol=1e-4, max_iter=500, random_state=0).fit(X, **given)
    assert np.isfinite(fitted.objective_)
    return fitted


def begins_at(model, init, X, **given):
    """Return the fit without iterations: the point where one begins."""
    return clone(model).set_params(init=init, max_iter=0, tol=0).fit(X, **given)


def assert_same_point(start, fitted, tolerance=1e-9):
    scale = abs(fitted.objective_)
    assert start.objective_ == pytest.approx(fitted.objective_, abs=tolerance * scale)
    for name in ("components_", "weights_", "components_posterior_", "weights_posterior_"):
        before, after = getattr(fitted, name), getattr(start, name)
        if before is not None:
            np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-9, err_msg=name)


def assert_goes_on(model, fitted, init, X, **given):
    """A fit from ``init`` begins at the same point, and changes nothing that matters."""
    tolerance = 1e-3 if is_collapsed(model) else 1e-9
    assert_same_point(begins_at(model, init, X, **given), fitted, tolerance)
    again = clone(model).set_params(init=init, tol=1e-4, max_iter=500).fit(X, **given)
    # What is minimised changes with a learned concentration that is not part of a bound, and the
    # samples at the end of a fit of few counts are others.
    changes = any(prior.needs_calibration for prior in model._priors())
    is_sampled = is_collapsed(model) and changes
    tolerance = max(tolerance, 5e-3 if is_sampled else 1e-5 if changes else 0)
    assert again.objective_ <= fitted.objective_ + tolerance * abs(fitted.objective_)
    if fitted.converged_:
        assert again.converged_
        # An extrapolated step can leave a stationary point that is not a minimum.
        is_lower = again.objective_ < fitted.objective_ - 1e-3 * abs(fitted.objective_)
        learns = any(prior.learns for prior in model._priors())  # and waits for the next update
        assert again.n_iter_ <= (12 if learns else 3) or is_lower


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:70])
def test_one_more_fit_of_a_converged_model_changes_nothing_that_matters(model, tmp_path):
    X = counts()
    fitted = converged(model, X)
    fitted.save(tmp_path / "model")
    # How a model, a result and a file are read does not depend on the priors.
    others = (fitted.fitted_, isotopic.load(tmp_path / "model")) if model in NAMED else ()
    for init in (fitted, *others):
        assert_goes_on(model, fitted, init, X)
    objective, n_iter = fitted.objective_, fitted.n_iter_
    fitted.set_params(warm_start=True).fit(X)
    tolerance = 1e-3 if is_collapsed(model) else 1e-9
    assert fitted.objective_ <= objective + tolerance * abs(objective)
    assert fitted.n_iter_ <= max(3, n_iter // 2)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: str(model)[:70])
def test_a_warm_start_never_ends_worse_than_it_begins(model):
    """With the same samples, other ones, and more of them, and when the fit ends early."""
    fitted = clone(model).set_params(tol=0, max_iter=3, random_state=0).fit(counts())
    others = (counts(), counts(2, 60), counts(3, 15)) if model in NAMED else ()
    for X in (counts(1), *others):
        start = begins_at(model, fitted, X)
        assert np.isfinite(start.objective_)
        for max_iter in (1, 4):
            again = clone(model).set_params(init=fitted, tol=0, max_iter=max_iter).fit(X)
            tolerance = 1e-2 if is_collapsed(model) else 1e-9
            assert again.objective_ <= start.objective_ + tolerance * abs(start.objective_)


@pytest.mark.every(11)
@pytest.mark.parametrize("model", NAMED, ids=lambda model: str(model)[:70])
@pytest.mark.parametrize("source", NAMED[:-4], ids=lambda model: str(model)[:70])
def test_a_model_of_another_class_is_a_finite_start(model, source):
    X = counts()
    first = clone(source).set_params(tol=0, max_iter=20, random_state=0).fit(X)
    start = begins_at(model, first, X)
    again = clone(model).set_params(init=first, tol=0, max_iter=15).fit(X)
    assert np.isfinite(start.objective_)
    learns = any(prior.learns for prior in model._priors())
    assert learns or again.objective_ <= start.objective_ + 1e-9 * abs(start.objective_)


def test_the_split_of_scale_between_weights_and_topics_is_kept():
    X = counts()
    fitted = converged(PoissonFactorization(3), X)
    start = begins_at(PoissonFactorization(3), fitted, X)
    np.testing.assert_allclose(start.weights_posterior_rate_, fitted.weights_posterior_rate_)
    np.testing.assert_allclose(start.components_posterior_rate_, fitted.components_posterior_rate_)


def as_fitted(prior):
    """Return the prior with the concentration of the fit, before its calibration."""
    factor = getattr(prior, "calibration", None)
    if factor is None:
        return prior
    return replace(prior.calibrated(np.divide(1, factor)), calibration=1.0)


def test_learned_hyperparameters_are_kept_and_learning_goes_on():
    X = counts()
    for model in (LDA(3), LDA(3, estimate="variational"), GammaPoisson(3, learn="asymmetric")):
        fitted = converged(model, X)
        start = begins_at(model, fitted, X)
        assert start.fitted_.weights_prior == as_fitted(fitted.fitted_.weights_prior)
        assert start.fitted_.topics_prior == fitted.fitted_.topics_prior
        other = clone(model).set_params(init=fitted, tol=1e-4).fit(counts(4))
        assert other.fitted_.weights_prior != fitted.fitted_.weights_prior


OFFSETS = {
    "sample_weight": np.tile([1.0, 2.0, 0.5, 0.0], 10),
    "size_factors": np.linspace(0.2, 5, 40),
    "missing_mask": np.random.default_rng(3).random((40, 25)) < 0.1,
    "fixed_weights": np.ones((40, 1)),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("given", OFFSETS)
@pytest.mark.parametrize("model", [*NAMED[:14], ARDNMF(3)], ids=lambda model: str(model)[:70])
def test_offsets_weights_and_missing_entries_are_kept(model, given):
    if given in ("size_factors", "fixed_weights") and model._priors()[0].is_normalized:
        pytest.skip("proportions have no size")
    X, arguments = counts(), {given: OFFSETS[given]}
    fitted = converged(model, X, **arguments)
    assert_goes_on(model, fitted, fitted, X, **arguments)


CONSTRAINTS = {
    "fixed": {"fixed_topics": np.full((1, 25), 0.04)},
    "seeds": {"seeds": {0: {3: 5.0}, 2: {4: 2.0}}},
    "forbidden": {"forbidden": {1: [0, 1, 2]}},
}


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@pytest.mark.parametrize(
    "model",
    [NMF(3), PLSA(3), LDA(3, alpha=0.3, eta=0.2, estimate="variational"), PoissonFactorization(3)],
    ids=lambda model: str(model)[:70],
)
def test_constraints_of_topics_are_kept(model, constraint):
    model, X = clone(model).set_params(**CONSTRAINTS[constraint]), counts()
    fitted = converged(model, X)
    assert_goes_on(model, fitted, fitted, X)


def test_fixed_topics_and_weights_may_come_and_go():
    X, fixed = counts(), {"fixed_topics": np.full((1, 25), 0.04)}
    for first, second in (({}, fixed), (fixed, {})):
        source = converged(PoissonFactorization(3, **first), X)
        again = converged(PoissonFactorization(3, init=source.fitted_, **second), X)
        assert np.isfinite(again.components_).all()
    source = converged(PoissonFactorization(3), X, fixed_weights=np.ones((40, 1)))
    again = PoissonFactorization(3, init=source).fit(X)
    assert np.isfinite(again.weights_).all()


@pytest.mark.parametrize("model", NAMED[:13], ids=lambda model: str(model)[:70])
def test_row_blocks_go_on_as_a_matrix_does(model):
    X = sparse.csr_array(counts())
    fitted = converged(model, X)
    for part in (X, X[:30]):  # the weights are those of the model, or begin anew
        start = begins_at(model, fitted, part)
        blocked = begins_at(model, fitted, isotopic.open_blocks([part[:20], part[20:]]))
        scale = abs(start.objective_)
        assert blocked.objective_ == pytest.approx(start.objective_, abs=1e-9 * scale)


@pytest.mark.parametrize("model", NAMED[:13], ids=lambda model: str(model)[:70])
def test_single_precision_goes_on(model):
    X = counts().astype(np.float32)
    fitted = clone(model).set_params(tol=1e-3, random_state=0).fit(X)
    start = begins_at(model, fitted, X)
    assert start.components_.dtype == np.float32
    tolerance = 1e-3 if is_collapsed(model) else 1e-5
    assert start.objective_ == pytest.approx(fitted.objective_, rel=tolerance)


def test_counts_that_the_earlier_model_excludes_become_possible():
    """Zeros of either factor stay zero, so that a start must not have them where X has counts."""
    X, other = counts(), counts(5)
    X[:, 7] = X[3] = 0
    other[:, 7], other[3] = 2, 1
    for model in (NMF(3), PLSA(3), NMF(3, normalize=False), LDA(3, eta=None), SparseNMF(3)):
        fitted = converged(model, X)
        again = clone(model).set_params(init=fitted).fit(other)
        assert np.isfinite(again.objective_)
        assert again.converged_
        fewer = clone(model).set_params(init=fitted).fit(other[:20])
        assert np.isfinite(fewer.objective_)


@pytest.mark.parametrize("solver", [OnlineEM(batch_size=10), IncrementalEM(batch_size=10)])
@pytest.mark.parametrize("model", [NMF(3), LDA(3), GammaPoisson(3)], ids=str)
def test_mini_batches_go_on_with_small_steps(model, solver):
    X = counts(n_samples=120)
    model = clone(model).set_params(solver=solver, tol=1e-2, max_iter=500, random_state=0)
    fitted = clone(model).fit(X)
    again = clone(model).set_params(init=fitted, tol=0, max_iter=1).fit(X)
    assert again.objective_ <= fitted.objective_ + 2e-3 * abs(fitted.objective_)
