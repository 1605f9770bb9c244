"""What users know beforehand: sample weights, missing entries, fixed topics, seeds, forbidden."""

import numpy as np
import pytest
from problems import paper_lda, random_counts, sparse_counts
from scipy import sparse
from sklearn.base import clone

from isotopic import (
    LDA,
    NMF,
    PLSA,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    Lasso,
    SparseNMF,
    TopicModel,
    convert,
)
from isotopic.counts import CountMatrix
from isotopic.init import random_start
from isotopic.priors import SampleWeighted, Simplex, WithFixedTopics, forbidding, row_norms, seeded
from isotopic.problem import Problem
from isotopic.solvers import Alternating, JointEM, solve

MODELS = [
    NMF(3),
    NMF(3, normalize=False),
    PLSA(3),
    paper_lda(3, alpha=0.3),
    paper_lda(3, alpha=0.3, eta=0.2),
    LDA(3, estimate="smoothed", alpha=0.3, eta=0.2),
    LDA(3, estimate="map", alpha=1.3, eta=1.2),
    GammaPoisson(3, shape=0.4, rate=0.1),
    TopicModel(3, weights=Lasso(0.5)),
    SparseNMF(3, 0.5),
    SparseNMF(3, 0.5, norm="l1", penalty="log"),
    SparseNMF(3, 0.5, norm=1.5, penalty="power"),
    TopicModel(3, weights=Gamma(0.5, 0.5), topics=Gamma(0.5, 0.5)),
]
PROPORTIONS = (PLSA, LDA)


@pytest.fixture(params=MODELS, ids=lambda m: str(m)[:50])
def model(request):
    return clone(request.param).set_params(max_iter=40, tol=0, random_state=0)


def never_rises(model):
    objective = model.history_["objective"]
    return np.all(np.diff(objective) <= 1e-9 * np.abs(objective[:-1]))


# Sample weights


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_weight_is_a_number_of_copies(rng, model, form):
    X = random_counts(rng, 15, 9)
    copies = rng.integers(0, 4, 15)
    weighted = clone(model).fit(form(X), sample_weight=copies)
    repeated = clone(model).fit(form(np.repeat(X, copies, axis=0)))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-8, atol=1e-12)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    np.testing.assert_allclose(
        np.repeat(weighted.weights_, copies, axis=0), repeated.weights_, rtol=1e-7, atol=1e-10
    )
    np.testing.assert_allclose(
        weighted.history_["residual"], repeated.history_["residual"], rtol=1e-6, atol=1e-12
    )
    assert weighted.score(X, sample_weight=copies) == pytest.approx(
        repeated.score(np.repeat(X, copies, axis=0)), rel=1e-9
    )


def test_a_sample_that_counts_zero_times_is_explained_all_the_same(rng, model):
    X = random_counts(rng, 15, 9)
    copies = np.ones(15)
    copies[4] = 0
    fitted = model.fit(X, sample_weight=copies)
    np.testing.assert_array_equal(fitted.weights_[4], fitted.transform(X)[4])


def test_fractional_weights_scale_out(rng, model):
    """Weighting all samples alike changes the objective's size and a prior on the topics only."""
    if model._priors()[1].is_bayesian:
        pytest.skip("a prior on the topics is not weighted")
    X = random_counts(rng, 15, 9)
    whole, part = clone(model).fit(X), clone(model).fit(X, sample_weight=np.full(15, 0.37))
    np.testing.assert_allclose(part.weights_, whole.weights_, rtol=1e-8, atol=1e-12)
    assert part.objective_ == pytest.approx(0.37 * whole.objective_, rel=1e-9)


# Missing entries


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_missing_entries_never_raise_the_objective_and_are_not_looked_at(rng, model, form):
    X = random_counts(rng, 20, 9)
    mask = rng.random(X.shape) < 0.3
    fitted = clone(model).fit(form(X), missing_mask=form(mask))
    assert never_rises(fitted)
    other = X.copy()
    other[mask] = 1e6
    again = clone(model).fit(form(other), missing_mask=form(mask))
    np.testing.assert_array_equal(again.components_, fitted.components_)
    np.testing.assert_array_equal(
        again.transform(form(other), missing_mask=mask),
        fitted.transform(form(X), missing_mask=mask),
    )


def test_nan_is_a_missing_entry_when_asked_for(rng, model):
    X = random_counts(rng, 20, 9).astype(float)
    mask = rng.random(X.shape) < 0.3
    holes = np.where(mask, np.nan, X)
    fitted = clone(model).fit(X, missing_mask=mask)
    nan = clone(model).set_params(missing="nan").fit(holes)
    np.testing.assert_array_equal(nan.components_, fitted.components_)
    some, rest = mask.copy(), mask.copy()
    some[:10], rest[10:] = False, False
    both = clone(nan).fit(np.where(some, np.nan, X), missing_mask=rest)
    np.testing.assert_array_equal(both.components_, fitted.components_)
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(holes)


def kl_of_observed(X, mask, weights, topics):
    product = weights @ topics
    with np.errstate(divide="ignore", invalid="ignore"):
        entries = np.where(X > 0, X * np.log(X / product), 0) - X + product
    return entries[~mask].sum()


def test_the_objective_is_that_of_the_observed_entries(rng):
    X = random_counts(rng, 20, 9)
    mask = rng.random(X.shape) < 0.3
    model = NMF(3, max_iter=3000, tol=1e-8, init="random", random_state=0)
    model.fit(X, missing_mask=mask)
    assert model.objective_ == pytest.approx(
        kl_of_observed(X, mask, model.weights_, model.components_), rel=1e-10
    )
    # Observed rows and columns are reproduced: the gradient for the scale of each sample vanishes.
    product = model.weights_ @ model.components_
    seen = ~mask
    np.testing.assert_allclose((product * seen).sum(1), (X * seen).sum(1), rtol=1e-5)


def test_proportions_are_those_of_the_observed_entries(rng):
    X = random_counts(rng, 20, 9)
    mask = rng.random(X.shape) < 0.3
    model = PLSA(3, max_iter=5, tol=0, random_state=0).fit(X, missing_mask=mask)
    p = (model.weights_ @ model.components_) * ~mask
    p /= p.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = -np.where(~mask & (X > 0), X * np.log(p), 0).sum()
    assert model.objective_ == pytest.approx(expected, rel=1e-10)


def test_nmf_and_plsa_agree_on_missing_entries(rng):
    """With the scale profiled out, the Poisson fit is the multinomial one."""
    X = random_counts(rng, 20, 9, mean=8.0)
    mask = rng.random(X.shape) < 0.2
    nmf = NMF(2, max_iter=20000, tol=1e-10, random_state=0).fit(X, missing_mask=mask)
    plsa = PLSA(2, init=(nmf.weights_ / nmf.weights_.sum(1, keepdims=True), nmf.components_))
    plsa.set_params(max_iter=2000, tol=1e-9).fit(X, missing_mask=mask)
    np.testing.assert_allclose(plsa.components_, nmf.components_, atol=1e-6)


def test_missing_entries_are_predicted(rng):
    topics = rng.dirichlet(np.full(30, 0.1), 3)
    weights = rng.dirichlet(np.ones(3), 200) * 500
    X = rng.poisson(weights @ topics)
    mask = rng.random(X.shape) < 0.2
    for model in (NMF(3), GammaPoisson(3, shape=0.5, rate=0.01)):
        model.set_params(max_iter=500, random_state=0).fit(X, missing_mask=mask)
        predicted = model.inverse_transform(model.transform(X, missing_mask=mask))
        error = np.abs(predicted - weights @ topics)[mask].mean()
        assert error < 0.15 * (weights @ topics)[mask].mean()


def test_missing_entries_and_sample_weights_go_together(rng, model):
    X = random_counts(rng, 15, 9)
    mask = rng.random(X.shape) < 0.2
    copies = rng.integers(1, 4, 15)
    weighted = clone(model).fit(X, sample_weight=copies, missing_mask=mask)
    repeated = clone(model).fit(
        np.repeat(X, copies, axis=0), missing_mask=np.repeat(mask, copies, axis=0)
    )
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-7, atol=1e-12)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sample_of_which_nothing_is_known_has_the_prior(rng, model, dtype):
    """One such sample made the whole fit NaN."""
    X = random_counts(rng, 20, 9).astype(dtype)
    mask = np.zeros(X.shape, dtype=bool)
    mask[3], mask[4, 1:] = True, True
    fitted = model.fit(X, missing_mask=mask)
    assert np.isfinite(fitted.objective_)
    assert np.all(np.isfinite(fitted.weights_))
    assert np.all(np.isfinite(fitted.components_))
    inferred = fitted.transform(X, missing_mask=mask)
    assert np.all(np.isfinite(inferred))
    np.testing.assert_allclose(inferred[3], fitted.weights_[3], rtol=1e-4)


def test_missing_entries_leave_a_gamma_sample_its_prior(rng):
    X, mask = random_counts(rng, 20, 9), np.zeros((20, 9), dtype=bool)
    mask[3] = True
    model = GammaPoisson(3, shape=0.7, rate=0.2, max_iter=50, tol=0, random_state=0)
    model.fit(X, missing_mask=mask)
    np.testing.assert_allclose(model.weights_[3], 0.7 / 0.2)
    np.testing.assert_allclose(model.weights_posterior_rate_[3], 0.2)


def test_intervals_keep_their_coverage_when_entries_are_missing(rng):
    topics = np.repeat(np.eye(3), 5, axis=1) / 5
    weights = rng.gamma(2.0, 20.0, (800, 3))
    X = rng.poisson(weights @ topics)
    model = GammaPoisson(3, shape=2.0, rate=1 / 20, fixed_topics=topics, max_iter=50, tol=0).fit(X)
    for share in (0.0, 0.5, 0.9):
        mask = rng.random(X.shape) < share
        lower, upper = model.credible_interval(X=X, level=0.9, missing_mask=mask)
        covered = np.mean((lower <= weights) & (weights <= upper))
        assert 0.87 < covered < 0.93


def test_a_sample_without_counts_is_the_limit_of_one_with_few(rng):
    topics = rng.dirichlet(np.ones(20), 3)
    model = GammaPoisson(3, fixed_topics=topics, max_iter=5, tol=0).fit(random_counts(rng, 9, 20))
    X, mask = np.zeros((2, 20)), np.ones((2, 20), dtype=bool)
    mask[:, 0], X[1, 0] = False, 1e-9
    none, few = model.transform(X, missing_mask=mask)
    np.testing.assert_allclose(none, few, rtol=1e-6)


# Going on from a model


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("known", ["nothing", "fixed", "forbidden", "weights", "missing"])
def test_a_model_goes_on_from_where_it_was(rng, normalize, known):
    X = random_counts(rng, 20, 9)
    model = NMF(3, normalize=normalize, max_iter=60, tol=0, random_state=0, warm_start=True)
    options = {}
    if known == "fixed":
        model.set_params(fixed_topics=X[:2] + 1)
    elif known == "forbidden":
        model.set_params(forbidden={1: [0, 3]})
    elif known == "weights":
        options["sample_weight"] = np.arange(20) % 3
    elif known == "missing":
        options["missing_mask"] = rng.random(X.shape) < 0.2
    before = model.fit(X, **options).objective_
    after = model.set_params(max_iter=1).fit(X, **options).objective_
    assert after <= before * (1 + 1e-9)
    if known != "missing":
        again = convert(model, to=clone(model))
        assert again.objective_ == pytest.approx(after, rel=1e-9)
        np.testing.assert_allclose(
            again.weights_ @ again.components_, model.weights_ @ model.components_, rtol=1e-9
        )


# Fixed topics


@pytest.mark.parametrize("held", [1, 2, 3])
def test_fixed_topics_stay_and_the_others_are_learned(rng, model, held):
    X = random_counts(rng, 20, 9)
    given = rng.dirichlet(np.ones(9), held) * 7
    fitted = model.set_params(fixed_topics=given).fit(X)
    norm = model._priors()[1].norm
    expected = given if norm is None else given / row_norms(given, norm)[:, np.newaxis]
    np.testing.assert_allclose(fitted.components_[:held], expected, rtol=1e-12)
    assert never_rises(fitted)
    assert np.isfinite(fitted.objective_)
    assert fitted.transform(X).shape == (20, 3)


def test_known_signatures_explain_what_they_made(rng):
    topics = rng.dirichlet(np.full(40, 0.2), 4)
    weights = rng.dirichlet(np.full(4, 0.5), 200) * 2000
    X = rng.poisson(weights @ topics)
    model = NMF(4, fixed_topics=topics[:3], max_iter=3000, tol=1e-6, random_state=0).fit(X)
    cosine = model.components_[3] @ topics[3]
    assert cosine > 0.99 * np.linalg.norm(model.components_[3]) * np.linalg.norm(topics[3])
    everything = NMF(4, fixed_topics=topics, max_iter=3000, tol=1e-8, random_state=0).fit(X)
    np.testing.assert_allclose(everything.transform(X), everything.weights_, rtol=1e-2, atol=0.5)
    np.testing.assert_array_equal(everything.components_, topics / topics.sum(1, keepdims=True))


# Seeds and forbidden features


def refuses_seeds(model):
    """Topics without a norm grow without limit under seeds, if nothing limits the weights."""
    weights, topics = model._priors()
    return topics.norm is None and not (topics.is_bayesian or weights.is_bayesian)


def test_seeds_never_raise_the_objective_and_pull(rng, model):
    X = random_counts(rng, 20, 9)
    seeds = {1: {4: 500.0}, 2: [0, 1]}
    if refuses_seeds(model):
        with pytest.raises(ValueError, match="unbounded: seeds reward larger topics"):
            model.set_params(seeds=seeds).fit(X)
        return
    fitted = clone(model).set_params(seeds=seeds).fit(X)
    assert never_rises(fitted)
    shares = fitted.components_ / fitted.components_.sum(axis=1, keepdims=True)
    assert np.argmax(shares[:, 4]) == 1
    assert shares[1, 4] > 0.5


def test_seeds_are_counts_that_a_topic_has_beforehand(rng):
    """As if further samples were known to be of one topic."""
    X = random_counts(rng, 20, 9)
    pseudo = np.zeros((3, 9))
    pseudo[0, :3] = [5.0, 2.0, 1.0]
    problem = Problem(Free(), seeded(Simplex(), pseudo), CountMatrix(X), 3)
    state = JointEM().init(problem, *random_start(problem, rng))
    counts = state.counts.topics.copy()
    after = JointEM().step(problem, state)
    expected = (counts + pseudo) / (counts + pseudo).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(after.topics.mean, expected)


def test_forbidden_features_stay_out(rng, model):
    X = random_counts(rng, 20, 9)
    mask = rng.random((3, 9)) < 0.3
    mask[0] = False
    fitted = model.set_params(forbidden=mask).fit(X)
    assert np.all(fitted.components_[mask] == 0)
    assert np.all(np.isfinite(fitted.components_))
    assert never_rises(fitted)
    assert np.isfinite(fitted.objective_)


def test_default_seeds_count_samples_as_often_as_they_count(rng):
    X = random_counts(rng, 15, 9)
    model = NMF(3, seeds={0: [1, 2]}, max_iter=30, tol=0, random_state=0)
    copies = rng.integers(0, 4, 15)
    weighted = clone(model).fit(X, sample_weight=copies)
    repeated = clone(model).fit(np.repeat(X, copies, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-8, atol=1e-12)


def test_priors_with_a_mask_of_their_own_keep_it(rng):
    X = random_counts(rng, 20, 9)
    own = np.zeros((3, 9), dtype=bool)
    own[1, 2] = True
    model = TopicModel(3, topics=Dirichlet(0.1, forbidden=own), forbidden={2: [5]})
    topics = model.set_params(max_iter=5, tol=0, random_state=0).fit(X).components_
    assert topics[1, 2] == topics[2, 5] == 0
    with pytest.raises(TypeError, match="forbidden must be a boolean"):
        Dirichlet(0.1, forbidden=own.astype(int))
    with pytest.raises(ValueError, match="forbidden has the shape"):
        TopicModel(3, topics=Dirichlet(0.1, forbidden=own[0])).fit(X)


@pytest.mark.parametrize("size", [1e-46, 1e36])
def test_weights_beyond_the_precision_are_refused(rng, size):
    X = random_counts(rng).astype(np.float32)
    with pytest.raises(ValueError, match="sample_weight times X"):
        NMF(2).fit(X, sample_weight=np.full(12, size))


def test_a_fitted_model_does_not_share_its_settings(rng):
    X, alpha = random_counts(rng), np.array([0.5, 0.5])
    model = paper_lda(2, alpha=alpha, max_iter=5, tol=0, random_state=0).fit(X)
    before = model.transform(X)
    alpha[0] = 50
    np.testing.assert_array_equal(model.transform(X), before)


def test_everything_at_once(rng, model):
    X = random_counts(rng, 20, 9)
    model.set_params(fixed_topics=rng.dirichlet(np.ones(9), 1), forbidden={2: [0, 3]})
    if not refuses_seeds(model):
        model.set_params(seeds={1: [0]})
    missing = rng.random(X.shape) < 0.1
    fitted = model.fit(X, sample_weight=rng.random(20) + 0.5, missing_mask=missing)
    assert never_rises(fitted)
    assert np.all(fitted.components_[2, [0, 3]] == 0)
    assert np.all(np.isfinite(fitted.transform(X)))


def test_features_may_be_called_by_name(rng):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(random_counts(rng, 20, 4), columns=["sea", "ship", "sky", "star"])
    by_name = NMF(2, seeds={0: ["sea", "ship"]}, forbidden={1: ["sea"]}, max_iter=5, tol=0)
    by_number = NMF(2, seeds={0: [0, 1]}, forbidden={1: [0]}, max_iter=5, tol=0)
    first, second = (m.set_params(random_state=0).fit(X) for m in (by_name, by_number))
    np.testing.assert_array_equal(first.components_, second.components_)
    with pytest.raises(ValueError, match="no feature is called 'moon'"):
        NMF(2, seeds={0: ["moon"]}).fit(X)


# The priors themselves


def finite_difference(problem, start, side, direction, step=1e-6):
    """Slope of the objective along a change of one side's values."""

    def objective(t):
        values = [start[0].copy("K"), start[1].copy("K")]
        values[side] = values[side] + t * direction
        weights = problem.weights.at(values[0], 1.0)
        topics = problem.topics.at(np.asfortranarray(values[1]), problem.weights_totals(weights))
        return problem.evaluate(weights, topics, 0).objective

    return (objective(step) - objective(-step)) / (2 * step)


@pytest.mark.parametrize("weights", [Free(), Dirichlet(0.7), Gamma(0.5, 0.3), Lasso(0.4)], ids=str)
def test_weighted_fixed_points_are_stationary(rng, weights):
    """At convergence no direction on the weights' side changes the weighted objective."""
    X, copies = random_counts(rng, 8, 6), rng.random(8) * 3 + 0.2
    problem = Problem(
        SampleWeighted(weights, copies), Simplex(), CountMatrix(X.astype(float)).repeated(copies), 2
    )
    start = random_start(problem, rng)
    state = solve(problem, JointEM(), start, max_iter=20000, tol=1e-12).state
    at = state.weights.mean if state.weights.parameters is None else state.weights.parameters
    direction = rng.standard_normal(at.shape) * at
    slope = finite_difference(problem, (at, state.topics.mean), 0, direction, 1e-5)
    assert abs(slope) < 1e-4 * abs(state.objective)


@pytest.mark.parametrize("solver", [JointEM(), Alternating()], ids=["joint", "alternating"])
def test_priors_around_priors_never_raise_the_objective(rng, solver):
    X = sparse_counts(rng, 40, 30, 0.3)
    forbidden = rng.random((4, 30)) < 0.2
    forbidden[0] = False
    pseudo = rng.random((4, 30)) * ~forbidden
    held = rng.dirichlet(np.ones(30), 1)
    for prior in (Simplex(), Dirichlet(0.2)):
        topics = seeded(forbidding(prior, forbidden), pseudo)
        topics = WithFixedTopics(topics.rows(np.arange(1, 4)), held)
        problem = Problem(Dirichlet(0.3), topics, CountMatrix(X), 4)
        start = random_start(problem, rng)
        history = solve(problem, solver, start, max_iter=60, tol=0).history
        assert np.all(np.diff(history["objective"]) <= 1e-9 * abs(history["objective"][0]))
        assert history["residual"][-1] < history["residual"][0]


def test_priors_compare_by_their_settings():
    assert Dirichlet([0.1, 0.2]) == Dirichlet(np.array([0.1, 0.2]))
    assert Dirichlet([0.1, 0.2]) != Dirichlet([0.1, 0.3])
    assert Lasso(1.0) != Free()
    assert hash(Dirichlet([0.1])) == hash(Dirichlet(np.array([0.1])))
    assert SampleWeighted(Free(), np.ones(2)) == SampleWeighted(Free(), np.ones(2))
