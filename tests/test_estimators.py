"""The estimators: what fitting, transforming and starting mean."""

import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from problems import paper_lda, random_counts, random_factors, sparse_counts
from processes import run_python
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info

from isotopic import (
    ARDNMF,
    LDA,
    NMF,
    PLSA,
    Alternating,
    BetaNMF,
    Dirichlet,
    GammaPoisson,
    JointEM,
    Lasso,
    LogPenalty,
    NegativeBinomialNMF,
    PoissonFactorization,
    SparseNMF,
    TopicModel,
    datasets,
)

MODELS = [
    NMF(3),
    NMF(3, normalize=False),
    PLSA(3),
    paper_lda(3),
    paper_lda(3, eta=0.1),
    LDA(3, alpha=0.3, eta=0.2),
    LDA(3, estimate="variational"),
    LDA(3, estimate="smoothed", alpha=0.2, eta="asymmetric"),
    LDA(3, estimate="map", alpha=1.5, eta=1.2),
    GammaPoisson(3),
    GammaPoisson(3, learn="asymmetric"),
    TopicModel(3, weights=Lasso(0.5)),
    SparseNMF(3, 0.5),
    SparseNMF(3, 0.5, norm="l1", penalty="log"),
    SparseNMF(3, 0.5, norm=1.5, penalty="power"),
    PoissonFactorization(3),
    ARDNMF(3),
    BetaNMF(3),
    BetaNMF(3, beta=0.5, normalize=False),
    BetaNMF(3, beta=1.5, penalty="log", strength=0.1),
    NegativeBinomialNMF(3),
    NegativeBinomialNMF(3, dispersion=0.2, normalize=False),
]

# One of each class. What scikit-learn checks depends on priors and estimates very little.
OTHERS = (PLSA, SparseNMF, TopicModel, PoissonFactorization, ARDNMF, NegativeBinomialNMF)
CHECKED = [
    kind(3, tol=1e-3, max_iter=100, n_jobs=1) for kind in (NMF, LDA, GammaPoisson, BetaNMF, *OTHERS)
]


@pytest.fixture(params=MODELS, ids=lambda m: str(m)[:50])
def model(request):
    return clone(request.param).set_params(max_iter=30, tol=0, random_state=0)


@pytest.mark.every(3)  # 56 checks a model: every check meets some models
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# Those that scikit-learn runs on its own estimators only.
@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_global_output_transform_pandas,
        estimator_checks.check_global_set_output_transform_polars,
        estimator_checks.check_inplace_ensure_writeable,
        estimator_checks.check_param_validation,
        estimator_checks.check_readonly_memmap_input,
        estimator_checks.check_set_output_transform,
        estimator_checks.check_set_output_transform_pandas,
        estimator_checks.check_set_output_transform_polars,
        estimator_checks.check_transformer_get_feature_names_out,
        estimator_checks.check_transformer_get_feature_names_out_pandas,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("model", CHECKED[:4], ids=lambda model: str(model)[:50])
def test_checks_of_scikit_learns_own_estimators(model, check):
    model = clone(model).set_params(n_components=3, max_iter=30, tol=0, random_state=0)
    check(type(model).__name__, model)


@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_same_bits_for_any_n_jobs(rng, model, form):
    X = sparse_counts(rng, 1200, 403, 0.1)
    X = X if form == "sparse" else X[:400].toarray()
    model.set_params(max_iter=4)
    first = clone(model).set_params(n_jobs=1).fit(X)
    other = clone(model).set_params(n_jobs=3 if form == "sparse" else 2).fit(X)
    np.testing.assert_array_equal(other.weights_, first.weights_)
    np.testing.assert_array_equal(other.components_, first.components_)
    assert other.objective_ == first.objective_


def test_a_start_and_its_continuation_are_one_fit(rng, model):
    X = sparse_counts(rng, 60, 40, 0.3)
    normalized = model._priors()[1].is_normalized
    model.set_params(solver="joint" if normalized else "alternating")  # whose steps know no past
    whole = clone(model).set_params(max_iter=12).fit(X)
    half = clone(model).set_params(max_iter=6).fit(X)
    rest = clone(model).set_params(max_iter=6, init=half).fit(X)
    assert rest.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    np.testing.assert_allclose(rest.components_, whole.components_, rtol=1e-6)


def test_transform_agrees_with_the_fit_at_its_end(rng, model):
    X = random_counts(rng, 40, 12, mean=3.0)
    several = model._priors()[0].is_bayesian or isinstance(model._priors()[0], LogPenalty)
    model.set_params(max_iter=20000, tol=1e-3 if several else 1e-7)
    weights = model.fit_transform(X)
    np.testing.assert_array_equal(model.transform(X), weights)
    if several:
        return  # a sample's bound can have several maxima, and weights_ be at another one
    scale = model.weights_.max(axis=1, keepdims=True)
    if getattr(model, "penalty", "l1") != "l1":  # concave: some samples have another optimum
        same = np.abs(model.transform(X) - model.weights_).max(axis=1) <= 2e-3 * scale[:, 0]
        assert same.mean() > 0.8
        return
    np.testing.assert_allclose(model.transform(X) / scale, model.weights_ / scale, atol=2e-3)


def test_transform_of_a_row_does_not_depend_on_the_others(rng, model):
    X = sparse_counts(rng, 80, 40, 0.3)
    model.fit(X)
    together = model.transform(X)
    for row in (0, 17, 79):
        np.testing.assert_array_equal(model.transform(X[[row]])[0], together[row])
    np.testing.assert_array_equal(model.transform(X[::-1])[::-1], together)
    np.testing.assert_array_equal(model.transform(X.toarray()), together)


def test_samples_of_another_precision_are_inferred_too(rng, model):
    X = random_counts(rng, 30, 12)
    model.fit(X.astype(np.float32))
    single, double = model.transform(X.astype(np.float32)), model.transform(X)
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, rtol=0.02, atol=0.02 * double.max())


def test_settings_changed_after_a_fit_do_not_change_what_was_fitted(rng):
    X = random_counts(rng)
    model = paper_lda(3, alpha=0.1, max_iter=10, tol=0, random_state=0).fit(X)
    expected = model.transform(X)
    model.set_params(alpha=50.0, n_components=7)
    np.testing.assert_array_equal(model.transform(X), expected)


def test_a_model_survives_pickling(rng, model):
    X = random_counts(rng)
    copy = pickle.loads(pickle.dumps(model.fit(X)))
    np.testing.assert_array_equal(copy.transform(X), model.transform(X))


def test_empty_samples_get_the_prior_or_nothing(rng, model):
    X = random_counts(rng)
    X[3] = 0
    for weights in (model.fit_transform(X), model.transform(X)):
        assert np.all(np.isfinite(weights))
        prior = model.fitted_.weights_prior
        expected = {"Simplex": 1 / 3, "Free": 0.0, "Lasso": 0.0}
        if isinstance(prior, Dirichlet):  # as it was learned; a symmetric mode is in the middle
            concentration = np.broadcast_to(prior.concentration, (1, 3))[0]
            np.testing.assert_allclose(weights[3], concentration / concentration.sum(), rtol=1e-10)
        elif type(prior).__name__ in expected:
            np.testing.assert_allclose(weights[3], expected[type(prior).__name__], rtol=1e-12)


def test_a_product_is_what_was_given_whatever_the_scale_of_topics(rng):
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    scale = np.array([[0.1], [1.0], [7.0]])
    settings = {"max_iter": 5, "tol": 0}
    given = NMF(3, init=(weights, topics), **settings).fit(X)
    scaled = NMF(3, init=(weights / scale.T, topics * scale), **settings).fit(X)
    np.testing.assert_allclose(scaled.weights_, given.weights_, rtol=1e-10)


def test_nothing_given_is_changed(rng, model):
    X = random_counts(rng)
    weights, topics = random_factors(rng, 12, 3, 9)
    kept = X.copy(), weights.copy(), topics.copy()
    model.set_params(init=(weights, topics)).fit(X)
    for array, before in zip((X, weights, topics), kept, strict=True):
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("solver", ["alternating", Alternating(), "joint", JointEM()])
def test_solvers_by_name_or_object(rng, solver):
    model = NMF(3, solver=solver, max_iter=4, tol=0, random_state=0).fit(random_counts(rng))
    each = 2 if "lternating" in str(solver) else 1
    assert model.history_["passes"].tolist() == [each * i for i in (1, 2, 3, 4)]


def test_callbacks_see_every_iterate_and_can_stop(rng):
    seen = []

    def look(at):
        seen.append((at.iteration, at.objective, at.state.topics.mean.copy()))
        return at.iteration == 4

    model = NMF(3, callbacks=[look, lambda at: None], random_state=0, tol=0).fit(random_counts(rng))
    assert [s[0] for s in seen] == [1, 2, 3, 4]
    assert model.n_iter_ == 4
    assert not model.converged_
    np.testing.assert_array_equal(model.components_, seen[-1][2])
    assert model.objective_ == seen[-1][1]


def test_restarts_keep_the_best(rng):
    X = random_counts(rng, 40, 12)
    settings = {"max_iter": 20, "tol": 0, "random_state": 3}
    one = PLSA(4, n_init=1, **settings).fit(X)
    five = PLSA(4, n_init=5, **settings).fit(X)
    assert five.objective_ <= one.objective_


def test_no_iterations_give_the_start(rng):
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    model = NMF(3, init=(weights, topics), max_iter=0).fit(X)
    np.testing.assert_allclose(model.weights_, weights)
    assert model.n_iter_ == len(model.history_) == 0


def test_random_states(rng):
    X = random_counts(rng)

    def fit(state):
        return NMF(3, max_iter=2, tol=0, random_state=state).fit(X).components_

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.testing.assert_array_equal(fit(7), fit(7))
    np.testing.assert_array_equal(fit(np.random.default_rng(7)), fit(np.random.default_rng(7)))
    np.testing.assert_array_equal(fit(np.random.RandomState(7)), fit(np.random.RandomState(7)))
    assert not np.array_equal(fit(None), fit(None))
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_stopping_early_warns_and_says_how_far(rng):
    X = random_counts(rng)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3 .* of the counts.*Raise max_iter"):
        model = NMF(3, max_iter=3, tol=1e-12, random_state=0).fit(X)
    assert not model.converged_


def test_a_numpy_bool_stops_too(rng):
    model = NMF(3, callbacks=lambda at: np.float64(at.residual) < np.inf, random_state=0)
    assert model.fit(random_counts(rng)).n_iter_ == 1


def test_ctrl_c_is_not_swallowed_by_restarts(rng):
    calls = []

    def interrupt(at):
        calls.append(at)
        if len(calls) == 15:
            raise KeyboardInterrupt

    model = NMF(3, n_init=3, max_iter=10, tol=0, callbacks=interrupt, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(random_counts(rng))
    assert model.components_.shape == (3, 9)


def interrupted_at(call, fit):
    """Run a fit that is interrupted at a call of the package; return how many calls it made."""
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        if event == "call" and frame.f_globals.get("__name__", "").startswith("isotopic"):
            calls += 1
            if calls == call:
                raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("init", ["nndsvd", "spectral", "kmeans", "pooled", "gibbs", "random"])
def test_ctrl_c_at_any_call_of_a_fit_is_heard(rng, init):
    X = random_counts(rng, 60, 9)
    settings = {"init": init, "n_init": 2, "max_iter": 6, "tol": 0, "random_state": 0}
    for model in (NMF(3, **settings), LDA(3, **settings)):
        calls = interrupted_at(None, lambda: clone(model).fit(X))  # noqa: B023
        for call in np.linspace(1, calls - 1, 7).astype(int):
            with pytest.raises(KeyboardInterrupt):
                interrupted_at(call, lambda: clone(model).fit(X))  # noqa: B023


def test_ctrl_c_between_starts_keeps_the_best_of_the_complete_ones(rng):
    X = random_counts(rng)
    first = NMF(3, max_iter=10, tol=0, init="random", random_state=0)
    begun, ended = [], clone(first).fit(X)

    class Late(JointEM):
        def init(self, *point):
            begun.append(point)
            if len(begun) == 2:
                raise KeyboardInterrupt
            return super().init(*point)

    model = clone(first).set_params(n_init=3, solver=Late())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.n_iter_ == ended.n_iter_ == 10


def test_priors_of_single_samples(rng):
    X = random_counts(rng, 30, 12)
    X[3:20] *= 20  # these settle at other times than the rest
    alpha = rng.gamma(1.0, size=(30, 3)) + 0.1
    model = paper_lda(3, alpha=alpha, max_iter=5, tol=0, random_state=0).fit(X)
    weights = model.transform(X)
    for row in (0, 7):
        one = paper_lda(3, alpha=alpha[row], max_iter=0, init=(np.ones((1, 3)), model.components_))
        np.testing.assert_allclose(
            one.fit(X[[row]]).transform(X[[row]])[0], weights[row], rtol=1e-5
        )


def test_a_sample_unknown_to_the_start_is_still_explained(rng):
    X = random_counts(rng)
    partial = X.copy()
    partial[3] = 0
    start = paper_lda(3, max_iter=5, tol=0, random_state=0).fit(partial)
    assert np.isfinite(NMF(3, init=start, max_iter=5, tol=0).fit(X).objective_)


def test_an_objective_that_is_not_finite_is_said(rng):
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    weights[2] = 0
    with pytest.warns(ConvergenceWarning, match="cannot be explained"):
        NMF(3, init=(weights, topics), max_iter=2, tol=0).fit(X)


def test_float32_counts_with_a_tiny_product_do_not_become_nan():
    """The ratio of a large count and a small product overflowed."""
    X = np.zeros((4, 6), np.float32)
    X[:2, :3] = X[2:, 3:] = 50
    topics = np.zeros((2, 6))
    topics[0, :3] = topics[1, 3:] = 1 / 3
    for alpha in np.linspace(0.011, 0.014, 13):
        posterior = np.full((4, 2), alpha)
        posterior[:, 0] += 150
        model = paper_lda(2, alpha=alpha, init=(posterior, topics), max_iter=3, tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(sparse.csr_array(X))
        assert not np.isnan(model.objective_)


def test_dense_fits_at_once_leave_the_blas_threads_alone(rng):
    X = random_counts(rng, 200, 100)
    before = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    with ThreadPoolExecutor(2) as executor:
        fits = [NMF(3, max_iter=n, tol=0, n_jobs=1, random_state=0) for n in (5, 60)]
        list(executor.map(lambda model: model.fit(X), fits))
    after = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    assert after == before


@pytest.mark.parametrize("solver", [3, None, JointEM])
def test_what_is_not_a_solver_is_refused(rng, solver):
    with pytest.raises(TypeError, match="solver must be"):
        NMF(3, solver=solver).fit(random_counts(rng))


@pytest.mark.parametrize("prior", ["Dirichlet", Lasso])
def test_what_is_not_a_prior_is_refused(rng, prior):
    with pytest.raises(TypeError, match="A prior must be an object"):
        TopicModel(3, weights=prior).fit(random_counts(rng))


def test_a_failed_refit_leaves_the_earlier_model(rng):
    X = random_counts(rng)
    model = paper_lda(3, max_iter=5, tol=0, random_state=0).fit(X)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    for bad in (-X, np.full((3, 4), np.nan)):
        with pytest.raises(ValueError, match="X"):
            model.fit(bad)
    model.set_params(alpha=-1.0)
    with pytest.raises(ValueError, match="concentration"):
        model.fit(X[:, :5])
    after = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before if name != "n_features_in_")
    assert model.n_features_in_ == 9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"max_iter": -1}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"solver": "newton"}, "solver must be one of 'auto', 'accelerated', 'joint'"),
        ({"init": "clever"}, "init"),
        ({"init": (np.ones((12, 3)),)}, "pair"),
        (
            {"init": (np.ones((12, 2)), np.ones((3, 9)))},
            r"init: weights must have the shape \(12, 3\), not \(12, 2\)",
        ),
        ({"init": (np.ones((12, 3)), -np.ones((3, 9)))}, "init: topics must be finite and non-neg"),
        ({"init": NMF(3)}, "not fitted"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
    ],
)
def test_bad_parameters_are_named(rng, parameters, message):
    with pytest.raises(ValueError, match=message):
        NMF(3, random_state=0).set_params(**parameters).fit(random_counts(rng))


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, [0.1, 0.1], [[0.1, 0.1, -0.1]], []])
def test_bad_concentrations_are_named(rng, alpha):
    with pytest.raises(ValueError, match="concentration"):
        paper_lda(3, alpha=alpha).fit(random_counts(rng))
    with pytest.raises(ValueError, match="shape"):
        GammaPoisson(3, shape=alpha).fit(random_counts(rng))


def test_unfitted_and_mismatched_use(rng, model):
    X = random_counts(rng)
    with pytest.raises(NotFittedError):
        model.transform(X)
    model.fit(X)
    with pytest.raises(ValueError, match="9 features"):
        model.transform(X[:, :5])


def test_verbose_prints_lines(rng, capsys):
    NMF(2, max_iter=4, tol=0, verbose=2, random_state=0).fit(random_counts(rng))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "objective" in lines[0]


INTERRUPTED = """
import os, signal, numpy as np
from scipy import sparse
from isotopic import NMF
X = sparse.random_array((4000, 2000), density=0.05, format="csr", random_state=0)
def look(at):
    if at.iteration == 3:
        os.kill(os.getpid(), signal.SIGINT)
model = NMF(20, max_iter=10**6, tol=0, callbacks=look)
try:
    model.fit(X)
except KeyboardInterrupt:
    assert not model.converged_ and 2 <= model.n_iter_ < 10
    assert model.transform(X[:3]).shape == (3, 20)
    print("usable")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_fit_leaves_a_usable_model():
    run = run_python("-c", INTERRUPTED)
    assert run.stdout == "usable\n"


def test_rare_features_are_not_lost_at_the_start(rng):
    """A random share near zero in every component underflowed, and the counts were lost."""
    X = np.eye(3000, dtype=np.float32)[:, :3000].reshape(300, 10, 3000).sum(axis=1)
    model = paper_lda(2, alpha=0.1, eta=1e-3, max_iter=3, tol=0, random_state=0).fit(X)
    assert np.isfinite(model.objective_)


def test_planted_topics_are_found(rng):
    topics = np.repeat(np.eye(4), 5, axis=1) / 5
    weights = rng.dirichlet(np.full(4, 0.1), 300) * 200
    X = rng.poisson(weights @ topics)
    for model in (NMF(4), PLSA(4), paper_lda(4, alpha=0.1), GammaPoisson(4, shape=0.1, rate=0.001)):
        found = model.set_params(n_init=3, random_state=0).fit(X).components_
        cosine = found @ topics.T / np.linalg.norm(found, axis=1)[:, None] * np.sqrt(5)
        assert np.all(cosine.max(axis=0) > 0.95)


def test_fits_the_bundled_corpus():
    X = datasets.load_kjv().data
    model = paper_lda(10, alpha=0.1, max_iter=50, tol=0, random_state=0).fit(X)
    assert np.all(np.diff(model.history_["objective"]) < 0)
    np.testing.assert_allclose(model.weights_posterior_.sum(axis=1), X.sum(axis=1) + 10 * 0.1)
