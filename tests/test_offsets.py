"""Size factors and given weights: what is known of each sample of a Poisson model."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_counts
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import isotopic
from isotopic import (
    LDA,
    NMF,
    PLSA,
    Checkpoint,
    Dirichlet,
    Free,
    Gamma,
    GammaPoisson,
    Lasso,
    PoissonFactorization,
    Simplex,
    TopicModel,
    convert,
)
from isotopic.counts import CountMatrix
from isotopic.init import random_start
from isotopic.priors import SampleWeighted, WithFixedWeights, WithSizeFactors
from isotopic.problem import Problem
from isotopic.solvers import Accelerated, Alternating, JointEM, solve

PAIRS = [
    (Free(), Simplex()),
    (Free(), Free()),
    (Free(), Dirichlet(0.4)),
    (Lasso(0.7), Simplex()),
    (Lasso(0.7), Lasso(0.3)),
    (Gamma([0.4, 0.9, 1.3], [0.2, 1.0, 0.5]), Simplex()),
    (Gamma(0.4, 0.2), Dirichlet(0.4)),
    (Gamma(0.4, 0.2), Gamma(0.5, 0.3)),
]
SOLVERS = [JointEM(), Alternating(), Accelerated()]


@pytest.fixture(params=PAIRS, ids=str)
def model(request):
    weights, topics = request.param
    return TopicModel(3, weights=weights, topics=topics, max_iter=60, tol=0, random_state=0)


@pytest.fixture
def data(rng):
    """Counts of three topics that hardly overlap, sizes, and the weights of the first."""
    sizes, weights = rng.gamma(2.0, size=20) + 0.1, rng.gamma(1.0, 20.0, (20, 3))
    topics = np.repeat(np.eye(3), 3, axis=1) + 0.05
    X = rng.poisson(sizes[:, np.newaxis] * (weights @ topics)).astype(float)
    return X, sizes, 3 * weights[:, :1]


def never_rises(model):
    objective = model.history_["objective"]
    return np.all(np.diff(objective) <= 1e-9 * np.abs(objective[:-1]))


# The objective


def sides(problem, rng):
    """A random point of a problem, in the middle of nowhere."""
    n_samples, n_features = problem.X.shape
    weights = problem.weights.at(rng.gamma(2.0, size=(n_samples, 3)) + 0.2, 1.0)
    values = np.asfortranarray(rng.gamma(2.0, size=(3, n_features)) + 0.2)
    return weights, problem.topics.at(values, problem.weights_totals(weights))


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_objective_is_that_of_the_scaled_means(rng, data, pair):
    """Poisson means s (h t), and the terms of the prior of h: from the oracle's sums."""
    X, sizes, fixed = data
    prior = WithSizeFactors(WithFixedWeights(pair[0], fixed), sizes)
    problem = Problem(prior, pair[1], CountMatrix(X), 3)
    weights, topics = sides(problem, rng)
    own = prior.unsized(weights)
    np.testing.assert_allclose(own.mean[:, :1], fixed)
    counts = oracle.expected_counts(X, sizes[:, np.newaxis] * own.effective, topics.effective)
    mass = (sizes[:, np.newaxis] * own.mean).sum(axis=0) @ topics.mean.sum(axis=1)
    constant = problem.X.saturated_divergence if problem.is_divergence else 0.0
    expected = -counts.log_likelihood + mass + own.term + topics.term + constant
    assert problem.evaluate(weights, topics, 0).objective == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("prior", [Free(), Lasso(0.7), Gamma(0.4, 0.2)], ids=str)
def test_given_weights_add_nothing_to_the_priors_term(rng, prior):
    counts, fixed = rng.gamma(1.0, size=(6, 3)), rng.random((6, 2))
    with_given = WithFixedWeights(prior, fixed).absorb(counts.copy(), 0.8)
    alone = prior.absorb(np.ascontiguousarray(counts[:, 2:]), 0.8)
    assert with_given.term == pytest.approx(alone.term, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(with_given.mean[:, 2:], alone.mean)
    np.testing.assert_allclose(with_given.effective[:, :2], fixed)


@pytest.mark.every(2)
@pytest.mark.parametrize("known", ["sizes", "given", "both"])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_the_objective_never_rises_and_the_residual_vanishes(rng, data, pair, solver, known):
    X, sizes, fixed = data
    weights, topics = pair
    if isinstance(solver, JointEM) and not topics.is_normalized:
        pytest.skip("the joint update needs normalised topics")
    if known != "sizes":
        weights = WithFixedWeights(weights, fixed)
    if known != "given":
        weights = WithSizeFactors(weights, sizes)
    copies = rng.random(20) + 0.5
    problem = Problem(SampleWeighted(weights, copies), topics, CountMatrix(X).repeated(copies), 3)
    history = solve(problem, solver, random_start(problem, rng), max_iter=6000, tol=1e-5).history
    objective = history["objective"]
    assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))
    assert history["residual"][-1] <= 1e-5


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_solvers_agree(rng, data, pair):
    """From the same good start, all end at the same optimum."""
    X, sizes, fixed = data
    problem = Problem(
        WithSizeFactors(WithFixedWeights(pair[0], fixed), sizes), pair[1], CountMatrix(X), 3
    )
    near = solve(problem, Accelerated(), random_start(problem, rng), max_iter=400, tol=1e-3).state
    ends = []
    for solver in SOLVERS:
        if not isinstance(solver, JointEM) or pair[1].is_normalized:
            start = near.weights, near.topics
            ends.append(solve(problem, solver, start, max_iter=8000, tol=1e-5).state.objective)
    np.testing.assert_allclose(ends, ends[0], rtol=1e-3)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_finite_differences_vanish_at_the_optimum(rng, data, pair):
    """No direction on the weights' side lowers the objective, of points and of posteriors."""
    X, sizes, _ = data
    prior, topics_prior = pair
    problem = Problem(WithSizeFactors(prior, sizes), topics_prior, CountMatrix(X), 3)
    start = random_start(problem, rng)
    state = solve(problem, Accelerated(), start, max_iter=20000, tol=1e-10).state
    totals = problem.topics_totals(state.topics)
    at = state.weights.mean if state.weights.parameters is None else state.weights.parameters
    direction = rng.standard_normal(at.shape) * at

    def objective(step):
        weights = problem.weights.at(at + step * direction, totals)
        return problem.evaluate(weights, state.topics, 0).objective

    slope = (objective(1e-5) - objective(-1e-5)) / 2e-5
    assert abs(slope) < 1e-5 * abs(state.objective)


# What sizes mean


def test_free_weights_come_out_for_size_one(rng, data):
    """Without a prior a size is a change of units: the same products, the same objective."""
    X, sizes, _ = data
    settings = {"max_iter": 30, "tol": 0, "random_state": 0}
    for normalize in (True, False):
        plain = NMF(3, normalize=normalize, **settings).fit(X)
        sized = NMF(3, normalize=normalize, **settings).fit(X, size_factors=sizes)
        assert sized.objective_ == pytest.approx(plain.objective_, rel=1e-10)
        np.testing.assert_allclose(sized.components_, plain.components_, rtol=1e-7, atol=1e-12)
        expected = plain.weights_ / sizes[:, np.newaxis]
        np.testing.assert_allclose(sized.weights_, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("topics", [Simplex(), Dirichlet(0.3), Gamma(0.4, 0.2)], ids=str)
def test_a_gamma_weight_of_a_size_is_one_of_another_rate(data, topics):
    r"""If h ~ Gamma(a, b), then s h ~ Gamma(a, b / s): a prior that we have already."""
    X, sizes, _ = data
    settings = {"topics": topics, "max_iter": 30, "tol": 0, "random_state": 0}
    sized = TopicModel(3, weights=Gamma(0.5, 0.3), **settings).fit(X, size_factors=sizes)
    other = TopicModel(3, weights=Gamma(0.5, 0.3 / sizes[:, np.newaxis]), **settings).fit(X)
    assert sized.objective_ == pytest.approx(other.objective_, rel=1e-12)
    np.testing.assert_allclose(sized.weights_ * sizes[:, np.newaxis], other.weights_, rtol=1e-9)
    np.testing.assert_allclose(sized.weights_posterior_, other.weights_posterior_, rtol=1e-9)
    scaled = sized.weights_posterior_rate_ / sizes[:, np.newaxis]
    np.testing.assert_allclose(scaled, other.weights_posterior_rate_, rtol=1e-9)


@settings(max_examples=20)
@given(st.floats(1e-3, 1e3))
def test_a_common_size_scales_the_penalty(size):
    X = random_counts(np.random.default_rng(0), 10, 6)
    fit = {"max_iter": 15, "tol": 0, "random_state": 0}
    sized = TopicModel(2, weights=Lasso(0.5), **fit).fit(X, size_factors=size)
    other = TopicModel(2, weights=Lasso(0.5 / size), **fit).fit(X)
    assert sized.objective_ == pytest.approx(other.objective_, rel=1e-9)
    np.testing.assert_allclose(sized.weights_ * size, other.weights_, rtol=1e-7, atol=1e-12)


def test_counts_and_sizes_that_grow_together_leave_free_weights_alone(data):
    X, sizes, fixed = data
    model = NMF(3, fixed_topics=np.ones((1, 9)), max_iter=30, tol=0, random_state=0)
    first = clone(model).fit(X, size_factors=sizes, fixed_weights=fixed)
    second = clone(model).fit(7 * X, size_factors=7 * sizes, fixed_weights=fixed)
    np.testing.assert_allclose(second.weights_, first.weights_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(second.components_, first.components_, rtol=1e-8, atol=1e-12)
    assert second.objective_ == pytest.approx(7 * first.objective_, rel=1e-9)


def test_sizes_of_one_change_nothing(model, data):
    X = data[0]
    plain = clone(model).fit(X)
    sized = clone(model).fit(X, size_factors=np.ones(20))
    np.testing.assert_allclose(sized.components_, plain.components_, rtol=1e-11)
    np.testing.assert_allclose(sized.weights_, plain.weights_, rtol=1e-11)


def test_planted_factors_are_found_behind_sizes_and_a_background(rng):
    topics = rng.dirichlet(np.full(60, 0.1), 4)
    profile = rng.dirichlet(np.ones(60), 1)
    sizes, weights = rng.gamma(1.0, size=300) + 0.05, rng.gamma(0.5, 200.0, (300, 4))
    amounts = rng.gamma(2.0, 100.0, (300, 1))
    X = rng.poisson(sizes[:, np.newaxis] * (weights @ topics + amounts @ profile))
    known = {"size_factors": sizes, "fixed_weights": amounts}
    for kind in (NMF(5), GammaPoisson(5, shape=0.5, rate=1 / 200)):
        found = kind.set_params(fixed_topics=profile, random_state=0, max_iter=5000).fit(X, **known)
        np.testing.assert_allclose(found.weights_[:, :1], amounts)
        np.testing.assert_allclose(found.components_[:1], profile)
        cosine = cosine_similarity(topics, found.components_[1:])
        assert cosine.max(axis=1).mean() > 0.99
        order = cosine.argmax(axis=1)
        error = np.abs(found.weights_[:, 1:][:, order] - weights).mean()
        assert error < 0.15 * weights.mean()


def test_size_factors_are_needed_where_a_prior_knows_the_scale(rng):
    """With them the prior is about rates, and the held-out rates are better predicted."""
    topics = rng.dirichlet(np.full(40, 0.2), 3)
    sizes, weights = rng.gamma(1.0, size=200) + 0.02, rng.gamma(2.0, 20.0, (200, 3))
    X = rng.poisson(sizes[:, np.newaxis] * (weights @ topics))
    model = GammaPoisson(3, shape=2.0, rate=1 / 20, fixed_topics=topics, tol=1e-6)
    sized = clone(model).fit(X, size_factors=sizes)
    plain = clone(model).fit(X)
    lower, upper = sized.credible_interval(level=0.9)
    assert (
        np.abs(sized.weights_ - weights).mean()
        < 0.9 * np.abs(plain.weights_ / sizes[:, np.newaxis] - weights).mean()
    )
    assert 0.8 < np.mean((lower <= weights) & (weights <= upper)) < 0.95


# With everything else


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_transform_finds_the_weights_of_the_fit(model, data, form):
    X, sizes, fixed = data
    known = {"size_factors": sizes, "fixed_weights": fixed}
    model.set_params(tol=1e-5, max_iter=20000, fixed_topics=np.ones((1, 9)) / 9)
    fitted = model.fit(form(X), **known)
    found = fitted.transform(form(X), **known)
    np.testing.assert_allclose(found[:, :1], fixed)
    exact = clone(model).fit_transform(form(X), **known)
    np.testing.assert_array_equal(exact, found)
    # Each on its own, as always.
    some = {name: values[3:7] for name, values in known.items()}
    np.testing.assert_array_equal(fitted.transform(form(X)[3:7], **some), found[3:7])
    product = sizes[:, np.newaxis] * fitted.inverse_transform(fitted.weights_)
    if isinstance(fitted.fitted_.weights_prior, Free):
        np.testing.assert_allclose(product.sum(axis=1), X.sum(axis=1), rtol=0.5)
    assert np.isfinite(fitted.score(X, **known))
    assert fitted.perplexity(X, **known) == pytest.approx(np.exp(-fitted.score(X, **known)))
    assert len(fitted.posterior(X, **known)) == 20


def test_samples_that_count_more_and_entries_that_are_missing(rng, model, data):
    X, sizes, fixed = data
    copies, mask = rng.integers(0, 4, 20), rng.random(X.shape) < 0.2
    weighted = clone(model).fit(
        X, sample_weight=copies, missing_mask=mask, size_factors=sizes, fixed_weights=fixed
    )
    repeated = clone(model).fit(
        np.repeat(X, copies, axis=0),
        missing_mask=np.repeat(mask, copies, axis=0),
        size_factors=np.repeat(sizes, copies),
        fixed_weights=np.repeat(fixed, copies, axis=0),
    )
    assert never_rises(weighted)
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-7, atol=1e-12)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    known = {"missing_mask": mask, "size_factors": sizes, "fixed_weights": fixed}
    unseen = copies == 0
    np.testing.assert_array_equal(weighted.weights_[unseen], weighted.transform(X, **known)[unseen])


def test_a_model_goes_on_from_where_it_was(model, data):
    if not (model.topics.is_normalized or isinstance(model.weights, Free)):
        pytest.skip("where both sides have a prior, a start has a scale of its own")
    X, sizes, fixed = data
    known = {"size_factors": sizes, "fixed_weights": fixed}
    before = model.fit(X, **known).objective_
    again = clone(model).set_params(init=model, max_iter=1).fit(X, **known)
    assert again.objective_ <= before + 1e-9 * abs(before)


def test_arrays_to_start_from_are_for_size_one(data):
    X, sizes, _ = data
    fitted = NMF(3, max_iter=20, tol=0, random_state=0).fit(X, size_factors=sizes)
    start = fitted.weights_, fitted.components_
    again = NMF(3, init=start, max_iter=0, tol=0).fit(X, size_factors=sizes)
    assert again.objective_ == pytest.approx(fitted.objective_, rel=1e-12)
    np.testing.assert_allclose(again.weights_, fitted.weights_, rtol=1e-12)


def test_files_keep_what_was_known(model, data, tmp_path):
    X, sizes, fixed = data
    known = {"size_factors": sizes, "fixed_weights": fixed}
    model.fit(X, **known).save(tmp_path / "model")
    loaded = isotopic.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(X, **known), model.transform(X, **known))
    with pytest.raises(ValueError, match=r"was fitted with size_factors\. Pass"):
        loaded.transform(X)
    drawn = loaded.sample(50, random_state=0)
    assert (drawn != model.sample(50, random_state=0)).nnz == 0


def test_a_checkpoint_is_of_the_same_sizes(data, tmp_path):
    X, sizes, fixed = data
    known = {"size_factors": sizes, "fixed_weights": fixed}
    model = GammaPoisson(3, max_iter=20, tol=0, random_state=0)
    whole = clone(model).fit(X, **known)
    path = Checkpoint(tmp_path / "fit", seconds=0)
    clone(model).set_params(max_iter=7).fit(X, checkpoint=path, **known)
    resumed = clone(model).fit(X, checkpoint=path, **known)
    np.testing.assert_array_equal(resumed.weights_, whole.weights_)
    for other in ({**known, "size_factors": 2 * sizes}, {**known, "fixed_weights": 2 * fixed}, {}):
        with pytest.raises(ValueError, match="size factors, fixed weights"):
            clone(model).fit(X, checkpoint=path, **other)


def test_samples_are_drawn_with_their_sizes(rng):
    X = rng.poisson(20.0, (30, 8))
    X[15:] *= 10
    sizes = np.repeat([1.0, 10.0], 15)
    model = GammaPoisson(2, shape=50.0, rate=1 / 1.6, max_iter=50, tol=0, random_state=0)
    totals = model.fit(X, size_factors=sizes).sample(400, random_state=0).sum(axis=1)
    large = totals > 600
    assert 0.4 < large.mean() < 0.6
    assert totals[large].mean() == pytest.approx(10 * totals[~large].mean(), rel=0.1)


def test_intervals_of_given_weights_are_points(data):
    X, sizes, fixed = data
    known = {"size_factors": sizes, "fixed_weights": fixed}
    for kind in (GammaPoisson(3), PoissonFactorization(3)):
        model = kind.set_params(max_iter=20, tol=0, random_state=0).fit(X, **known)
        for ends in (model.credible_interval(), model.credible_interval(X=X, **known)):
            for end in ends:
                np.testing.assert_allclose(end[:, :1], fixed)
            assert np.all(ends[0][:, 1:] < ends[1][:, 1:])


def test_metadata_is_routed(data):
    X, sizes, fixed = data
    with config_context(enable_metadata_routing=True):
        model = NMF(3, max_iter=5, tol=0, random_state=0)
        model.set_fit_request(size_factors=True, fixed_weights=True)
        model.set_transform_request(size_factors=True, fixed_weights=True)
        pipe = make_pipeline(FunctionTransformer(), model)
        pipe.fit(X, size_factors=sizes, fixed_weights=fixed)
        found = pipe.transform(X, size_factors=sizes, fixed_weights=fixed)
    expected = clone(model).fit(X, size_factors=sizes, fixed_weights=fixed)
    np.testing.assert_array_equal(pipe[-1].components_, expected.components_)
    np.testing.assert_allclose(found[:, :1], fixed)


def test_float32_stays_float32(data):
    X, sizes, fixed = data
    model = GammaPoisson(3, max_iter=20, tol=0, random_state=0)
    double = clone(model).fit(X, size_factors=sizes, fixed_weights=fixed)
    single = clone(model).fit(X.astype(np.float32), size_factors=sizes, fixed_weights=fixed)
    assert single.weights_.dtype == np.float32
    np.testing.assert_allclose(single.weights_, double.weights_, rtol=2e-3, atol=1e-4)


# What is refused


@pytest.mark.parametrize("name", ["size_factors", "fixed_weights"])
@pytest.mark.parametrize("kind", [PLSA(2), LDA(2)], ids=str)
def test_proportions_have_no_size(rng, kind, name):
    X = random_counts(rng)
    with pytest.raises(ValueError, match=f"{name} are for Poisson models"):
        kind.fit(X, **{name: np.ones(12)})
    model = kind.set_params(max_iter=5, tol=0).fit(X)
    with pytest.raises(ValueError, match=f"{name} are for Poisson models"):
        model.transform(X, **{name: np.ones(12)})


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (np.zeros(12), "positive and finite; sample 0 has 0.0"),
        (np.r_[np.ones(11), -1.0], "sample 11 has -1.0"),
        (np.r_[np.ones(5), np.nan, np.ones(6)], "sample 5 has nan"),
        (np.full(12, np.inf), "sample 0 has inf"),
        (np.ones(11), r"the shape \(12,\), one value for each sample"),
        (np.ones((12, 1)), r"the shape \(12,\), one value for each sample"),
        (np.full(12, 1e-320), "outside the range of float64"),
        (np.full(12, 1e-308), "outside the range of float64"),
    ],
)
def test_bad_sizes_are_refused(rng, sizes, message):
    X = 50 * random_counts(rng)
    before = sizes.copy()
    model = NMF(2, max_iter=5, tol=0)
    with pytest.raises(ValueError, match=message):
        model.fit(X, size_factors=sizes)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X).transform(X, size_factors=sizes)
    np.testing.assert_array_equal(sizes, before)


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        (np.ones((11, 1)), "one row for each of the 12 samples"),
        (np.ones((12, 3)), "between 1 and n_components=2 columns"),
        (np.ones((12, 0)), "between 1 and n_components=2 columns"),
        (-np.ones(12), "sample 0 has -1.0"),
        (np.r_[np.ones(11), np.nan], "sample 11 has nan"),
        (np.ones((12, 1, 1)), "one row for each of the 12 samples"),
    ],
)
def test_bad_given_weights_are_refused(rng, fixed, message):
    with pytest.raises(ValueError, match=message):
        NMF(2).fit(random_counts(rng), fixed_weights=fixed)


@pytest.mark.parametrize("name", ["size_factors", "fixed_weights"])
def test_what_is_no_number_is_refused(rng, name):
    for bad in (["a"] * 12, np.ma.masked_array(np.ones(12), mask=np.eye(12)[0])):
        with pytest.raises(TypeError, match=name):
            NMF(2).fit(random_counts(rng), **{name: bad})


def test_new_samples_need_as_many_given_weights(rng):
    X = random_counts(rng)
    model = NMF(3, max_iter=5, tol=0).fit(X, fixed_weights=np.ones((12, 2)))
    with pytest.raises(ValueError, match=r"fitted with fixed_weights\. Pass"):
        model.transform(X)
    with pytest.raises(ValueError, match="has 1 columns; this model was fitted with 2"):
        model.transform(X, fixed_weights=np.ones(12))


def test_a_failed_fit_leaves_the_earlier_model(rng):
    X = random_counts(rng)
    model = NMF(2, max_iter=5, tol=0).fit(X, size_factors=2.0)
    before = model.transform(X, size_factors=2.0)
    with pytest.raises(ValueError, match="positive and finite"):
        model.fit(X, size_factors=0.0)
    np.testing.assert_array_equal(model.transform(X, size_factors=2.0), before)


def test_conversions_are_refused(rng):
    X = random_counts(rng)
    model = NMF(2, max_iter=5, tol=0).fit(X, size_factors=np.full(12, 2.0))
    with pytest.raises(ValueError, match="size_factors or fixed_weights"):
        convert(model, to=PLSA)


@settings(max_examples=40)
@given(
    pair=st.sampled_from(PAIRS),
    dtype=st.sampled_from([np.float64, np.float32]),
    power=st.integers(-12, 12),
    spread=st.integers(0, 6),
    seed=st.integers(0, 1000),
)
def test_extreme_sizes_and_empty_samples_are_survived(pair, dtype, power, spread, seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(2.0, (8, 5)).astype(dtype)
    X[0], X[:, 1] = 0, 0
    sizes = 10.0 ** (power + spread * rng.standard_normal(8))
    fixed = rng.random((8, 1)) / sizes[:, np.newaxis] * (rng.random((8, 1)) < 0.7)
    model = TopicModel(3, weights=pair[0], topics=pair[1], fixed_topics=np.ones((1, 5)))
    model.set_params(max_iter=8, tol=0, random_state=seed).fit(
        X, size_factors=sizes, fixed_weights=fixed
    )
    objective = model.history_["objective"]
    rounding = 1e-9 if dtype == np.float64 else 1e-3
    assert np.all(np.isfinite(objective))
    assert np.all(np.diff(objective) <= rounding * (np.abs(objective[:-1]) + X.sum()))
    for values in (model.weights_, model.components_):
        assert np.all((values >= 0) & (values < np.inf))
