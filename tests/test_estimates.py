"""What LDA makes of its counts, and what its priors learn from them."""

import warnings
from operator import methodcaller

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_counts, random_factors, sparse_counts
from scipy import optimize, sparse
from scipy.special import digamma, gammaln, kl_div
from sklearn.base import clone

from isotopic import (
    LDA,
    PLSA,
    BetaNMF,
    CountMatrix,
    GammaPoisson,
    TopicModel,
    convert,
    datasets,
    load,
    match,
)
from isotopic._core.in_numpy import probability_of
from isotopic.concentration import Occurs
from isotopic.elementwise import mean_posterior
from isotopic.evaluate import completion_perplexity
from isotopic.kernels import squared_counts
from isotopic.priors import (
    ESTIMATES,
    CollapsedDirichlet,
    Dirichlet,
    DirichletMean,
    DirichletMode,
    Evidence,
    Gamma,
    Relevance,
    SampleWeighted,
    Simplex,
)
from isotopic.priors.hyperparameters import (
    LEAST,
    RATE,
    concentration_statistics,
    update_repeatedly,
)
from isotopic.problem import Problem
from isotopic.solvers import (
    Accelerated,
    Alternating,
    HyperparameterUpdates,
    IncrementalEM,
    JointEM,
    MixedPrecision,
    solve,
)
from isotopic.threads import use_threads

SOLVERS = ["joint", "alternating", "accelerated"]
each_solver = pytest.mark.parametrize("solver", SOLVERS)


def learned_concentration(concentration, counts, copies=None, **known):
    """Update a concentration until it no longer changes much, from counts that were observed."""
    evidence = Evidence(counts, None, 1.0, copies)

    now = np.atleast_2d(concentration)
    for _ in range(20):
        statistics = concentration_statistics(now, evidence, Occurs.ALWAYS, **known)
        before = Dirichlet(now)
        after = before.with_statistics(statistics)
        now = after.concentration
        if not after.changed_since(before):
            break
    return now


def planted(rng, alpha, n_samples=400, n_features=60, total=120, eta=0.2):
    """Counts drawn from LDA, with the topics that they were drawn from."""
    topics = rng.dirichlet(np.full(n_features, eta), len(alpha))
    weights = rng.dirichlet(alpha, n_samples)
    return np.array([rng.multinomial(total, p) for p in weights @ topics]).astype(float), topics


@pytest.fixture(scope="module")
def corpus():
    return planted(np.random.default_rng(0), [0.2, 0.5, 0.9], n_samples=80, total=60)[0]


def assert_never_rises(objective, slack=1e-10):
    steps = np.diff(objective)
    assert len(steps) > 5
    assert steps.max() <= slack * np.abs(objective).max()


# The kernels.


def responsibilities(weights, topics):
    products = weights[:, :, np.newaxis] * topics
    return products / products.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("components", [1, 3, 8, 17, 100])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_squared_counts_are_the_squares_of_the_responsibilities(rng, components, form, dtype, rtol):
    X = sparse_counts(rng, 40, 50, 0.3).toarray()
    X[::3] *= 0.3  # counts below one are one draw each, not a part of one
    weights, topics = random_factors(rng, 40, components, 50)
    given = CountMatrix(form(X), dtype)
    by_sample, by_topic = squared_counts(given, weights.astype(dtype), topics.astype(dtype))
    assert by_sample.dtype == by_topic.dtype == dtype
    squares = (X * np.minimum(X, 1))[:, np.newaxis] * responsibilities(weights, topics) ** 2
    np.testing.assert_allclose(by_sample, squares.sum(axis=2), rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(by_topic, squares.sum(axis=0), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_squared_counts_have_the_same_bits_for_any_number_of_threads(rng, dtype):
    X = CountMatrix(sparse_counts(rng, 1500, 400, 0.02), dtype)
    factors = [f.astype(dtype) for f in random_factors(rng, 1500, 9, 400)]
    with use_threads(1):
        alone = squared_counts(X, *factors)
    for threads in (2, 5):
        with use_threads(threads):
            for part, expected in zip(squared_counts(X, *factors), alone, strict=True):
                np.testing.assert_array_equal(part, expected)


def test_squared_counts_of_factors_of_any_scale(rng):
    X, (weights, topics) = CountMatrix(random_counts(rng)), random_factors(rng, 12, 3, 9)
    expected = squared_counts(X, weights, topics)
    for part, other in zip(squared_counts(X, weights * 1e-150, topics), expected, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("prior_shape", [(1, 1), (1, 33), (40, 1), (40, 33)])
@pytest.mark.parametrize("has_own", [False, True])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-13), (np.float32, 1e-6)])
def test_mean_posterior(rng, order, prior_shape, has_own, dtype, rtol):
    counts, own = (np.asarray(rng.random((40, 33)), dtype, order=order) for _ in range(2))
    prior = rng.random(prior_shape)
    prior[0, 0] = 0  # a forbidden entry
    counts[:, 0] = 0
    parameters = np.asarray(counts + prior, dtype, order=order)
    kept = parameters.copy(), counts.copy(), own.copy(), prior.copy()
    given = (parameters, counts, prior, own) if has_own else (parameters, counts, prior)
    mean, effective, sums = mean_posterior(*given)
    others, wide = 1 - own.astype(float) if has_own else 1.0, counts.astype(float)
    factor, row_sums = others * wide + prior, parameters.sum(axis=1, dtype=float, keepdims=True)
    np.testing.assert_allclose(mean, parameters / row_sums, rtol=rtol)
    expected = factor if has_own else parameters
    np.testing.assert_allclose(effective, expected / row_sums, rtol=rtol)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(prior > 0, prior / others * np.log(factor / prior), 0)
    np.testing.assert_allclose(sums, terms.sum(axis=1 if order == "C" else 0), rtol=1e-12)
    assert mean.dtype == effective.dtype == dtype
    for array, before in zip((parameters, counts, own, prior), kept, strict=True):
        np.testing.assert_array_equal(array, before)


# What each estimate makes of its counts.


@pytest.fixture(params=["C", "F"])
def counts(request, rng):
    return np.asarray(rng.gamma(0.5, 3.0, (6, 5)), order=request.param)


CONCENTRATION = np.array([0.3, 1.7, 0.9, 2.5, 1.0])


def test_the_mean(counts):
    found = DirichletMean(CONCENTRATION).absorb(counts.copy("K"), 1.0)
    parameters = counts + CONCENTRATION
    mean = parameters / parameters.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-14)
    np.testing.assert_array_equal(found.effective, found.mean)
    prior_mean = CONCENTRATION / CONCENTRATION.sum()
    expected = (CONCENTRATION * np.log(prior_mean / mean)).sum()
    assert found.term == pytest.approx(expected, rel=1e-12)
    assert found.term >= 0
    assert DirichletMean(CONCENTRATION).absorb(np.zeros((2, 5)), 1.0).term == pytest.approx(0)


def test_the_mode(counts):
    found = DirichletMode(CONCENTRATION).absorb(counts.copy("K"), 1.0)
    above = np.maximum(counts + CONCENTRATION - 1, 0)
    mode = above / above.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.mean, mode, rtol=1e-14)
    tiny = np.finfo(float).tiny
    expected = -((CONCENTRATION - 1) * np.log(np.maximum(mode, tiny))).sum()
    assert found.term == pytest.approx(expected, rel=1e-12)


def test_the_mode_maximises_the_density(rng):
    counts, pull = rng.gamma(1.0, 2.0, 3), CONCENTRATION[[1, 3, 4]] - 1
    found = DirichletMode(pull + 1).absorb(counts[np.newaxis].copy(), 1.0)

    def negative_log_posterior(logits):
        row = np.exp(logits - np.logaddexp.reduce(logits))
        return -((counts + pull) * np.log(row)).sum()

    best = optimize.minimize(negative_log_posterior, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(found.mean[0], np.exp(best - np.logaddexp.reduce(best)), atol=1e-5)


def test_a_mode_of_which_nothing_is_left_is_where_most_is():
    forbidden = np.array([[False, False, True]] * 3)
    prior = DirichletMode(0.2, forbidden=forbidden)
    found = prior.absorb(np.array([[0.1, 0.5, 0.7], [0.0, 0.0, 0.9], [3.0, 0.5, 9.0]]), 1.0)
    np.testing.assert_allclose(found.mean, [[0, 1, 0], [0.5, 0.5, 0], [1, 0, 0]])


def test_the_collapsed_row(counts, rng):
    own = rng.random((6, 5)) * 0.9
    found = CollapsedDirichlet(CONCENTRATION, self_contribution=own).absorb(counts.copy("K"), 1.0)
    sums = (counts + CONCENTRATION).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.mean, (counts + CONCENTRATION) / sums, rtol=1e-14)
    others = counts * (1 - own) + CONCENTRATION
    np.testing.assert_allclose(found.effective, others / sums, rtol=1e-14)
    whole = CONCENTRATION.sum()
    expected = (whole * np.log(sums / whole)).sum() - (
        CONCENTRATION / (1 - own) * np.log(others / CONCENTRATION)
    ).sum()
    assert found.term == pytest.approx(expected, rel=1e-12)


def test_the_collapsed_term_is_what_makes_its_factors_optimal(rng):
    """Counts * log(effective) - term is the potential of which log(effective) is the gradient."""
    counts, own = rng.gamma(2.0, 1.0, (1, 4)), rng.random((1, 4)) * 0.8
    prior = CollapsedDirichlet(0.7, self_contribution=own)

    def potential(given):
        found = prior.absorb(given.reshape(1, 4).copy(), 1.0)
        return (given * np.log(found.effective[0])).sum() - found.term

    gradient = optimize.approx_fprime(counts[0], potential, 1e-7)
    effective = prior.absorb(counts.copy(), 1.0).effective[0]
    np.testing.assert_allclose(gradient, np.log(effective), atol=1e-5)


def test_own_is_learned_from_the_squares(rng):
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    problem = Problem(CollapsedDirichlet(0.5), CollapsedDirichlet(0.1), CountMatrix(X), 3)
    start = problem.weights.at(weights, 1.0), problem.topics.at(topics + 0.1, 1.0)
    state = problem.evaluate(*start, passes=0)
    learned = problem.with_updated_hyperparameters(state)
    phi = responsibilities(start[0].effective, start[1].effective)
    shared = X[:, np.newaxis] * phi
    for prior, axis in ((learned.weights, 2), (learned.topics, 0)):
        own = (shared * phi).sum(axis) / shared.sum(axis) ** 2
        np.testing.assert_allclose(prior.self_contribution, np.minimum(own, 0.999), rtol=1e-10)
    assert learned.weights.with_learned(learned.weights).self_contribution is None


# The fits.


@pytest.mark.parametrize(
    ("estimate", "alpha", "eta"),
    [
        ("variational", 0.3, 0.2),
        ("variational", 0.3, None),
        ("map", 1.5, 1.2),
        ("map", 0.6, 1.1),
        ("smoothed", 0.3, 0.2),
        ("smoothed", [0.1, 0.4, 0.8], None),
    ],
)
@each_solver
def test_no_step_raises_the_objective(corpus, estimate, alpha, eta, solver):
    model = LDA(3, alpha=alpha, eta=eta, estimate=estimate, solver=solver, max_iter=60, tol=0)
    assert_never_rises(model.fit(corpus).history_["objective"])
    if estimate == "map" and alpha == 0.6:
        assert np.any(model.weights_ == 0)
        np.testing.assert_allclose(model.weights_.sum(axis=1), 1)


@each_solver
def test_between_lessons_no_step_of_cvb0_raises_the_objective(corpus, solver):
    due = []  # each update sets when the next one is due

    def watch(at):
        due.append(at.state.next_update)

    history = LDA(3, solver=solver, max_iter=90, tol=0, callbacks=watch).fit(corpus).history_
    plain = np.diff(due) == 0
    steps = np.diff(history["objective"])[plain]
    assert 0 < len(steps) < len(history) - 1
    assert steps.max() <= 1e-10 * np.abs(history["objective"]).max()


def test_hyperparameters_are_updated_as_soon_as_passes_change_little(corpus):
    """Exact topics are at their optimum after a few passes, long before the twentieth."""
    found = []
    topics = LDA(3, random_state=0, tol=1e-4).fit(corpus).components_
    model = LDA(3, fixed_topics=topics, solver="joint", callbacks=found.append)
    model.fit(corpus)
    learner = HyperparameterUpdates(None)
    assert found[0].state.next_update <= learner.first + learner.interval
    first = next(i for i, each in enumerate(found) if np.isfinite(each.residual))
    assert 0 < first < learner.first - 1
    before = found[first - 1].state.inner.residual
    assert before <= 1e-3 < found[0].state.inner.residual


@each_solver
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("learn", ["symmetric", "asymmetric"])
def test_the_bound_never_falls_while_concentrations_are_learned(corpus, solver, weighted, learn):
    model = LDA(
        3, alpha=learn, eta=learn, estimate="variational", solver=solver, max_iter=70, tol=0
    )
    sample_weight = np.arange(len(corpus)) % 4 + 0.5 if weighted else None
    model.fit(corpus, sample_weight=sample_weight)
    assert_never_rises(model.history_["objective"])
    assert not np.allclose(model.alpha_, 2 / 3)


def test_the_bound_never_falls_with_seeds_forbidden_and_fixed_topics(corpus):
    forbidden = np.zeros((3, 60), bool)
    forbidden[2, 20:40] = True
    seeds = np.zeros((3, 60))
    seeds[1, :5] = 40.0
    fixed = np.random.default_rng(1).dirichlet(np.ones(60), 1)
    model = LDA(
        3,
        estimate="variational",
        seeds=seeds,
        forbidden=forbidden,
        fixed_topics=fixed,
        solver="joint",
        max_iter=70,
        tol=0,
    ).fit(corpus)
    assert_never_rises(model.history_["objective"])
    assert np.all(model.components_[forbidden] == 0)
    np.testing.assert_allclose(model.components_[0], fixed[0])


def literal_bound(X, model):
    """The bound of LDA with both priors, and the exponential priors of what was learned."""

    def side(posterior, prior):
        prior = np.broadcast_to(prior, posterior.shape)
        log_mean = digamma(posterior) - digamma(posterior.sum(axis=1, keepdims=True))
        return log_mean, (gammaln(prior.sum(axis=1)) - gammaln(posterior.sum(axis=1))).sum() + (
            gammaln(posterior) - gammaln(prior) + (prior - posterior) * log_mean
        ).sum()

    log_weights, first = side(model.weights_posterior_, model.alpha_)
    log_topics, second = side(model.components_posterior_, model.eta_)
    log_likelihood = (X * np.log(np.exp(log_weights) @ np.exp(log_topics))).sum()
    return log_likelihood + first + second - RATE * (model.alpha_.sum() + model.eta_)


def test_the_objective_is_minus_the_bound_and_the_cost_of_what_was_learned(corpus):
    model = LDA(3, estimate="variational", max_iter=45, tol=0).fit(corpus)
    assert model.objective_ == pytest.approx(-literal_bound(corpus, model), rel=1e-12)
    # Two samples are sampled in another way than one that counts twice: no Gibbs sampling here.
    settings = {
        "estimate": "variational",
        "init": "pooled",
        "max_iter": 90,
        "tol": 0,
        "random_state": 0,
    }
    twice = LDA(3, **settings).fit(corpus, sample_weight=np.full(len(corpus), 2.0))
    stacked = LDA(3, **settings).fit(np.vstack([corpus] * 2))
    assert twice.objective_ == pytest.approx(stacked.objective_, rel=1e-6)
    np.testing.assert_allclose(twice.alpha_, stacked.alpha_, rtol=1e-3)


def test_smoothed_is_map_with_one_more(corpus):
    settings = {"max_iter": 30, "tol": 0, "init": "random", "random_state": 0}
    smoothed = LDA(3, alpha=0.4, eta=0.2, estimate="smoothed", **settings).fit(corpus)
    mode = LDA(3, alpha=1.4, eta=1.2, estimate="map", **settings).fit(corpus)
    np.testing.assert_allclose(smoothed.weights_, mode.weights_, rtol=1e-8)
    np.testing.assert_allclose(smoothed.components_, mode.components_, rtol=1e-7)
    differences = smoothed.history_["objective"] - mode.history_["objective"]
    np.testing.assert_allclose(differences, differences[0], rtol=1e-8)


@pytest.mark.parametrize(("estimate", "extra"), [("smoothed", 0.0), ("map", 1.0)])
def test_the_solution_is_stationary(corpus, estimate, extra):
    alpha, eta = 0.4 + extra, 0.2 + extra
    model = LDA(3, alpha=alpha, eta=eta, estimate=estimate, tol=1e-9, max_iter=5000).fit(corpus)
    weights, topics = model.weights_, model.components_

    def negative_log_posterior(parameters):
        logits = parameters.reshape(3, -1)
        free = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
        return -(corpus * np.log(weights @ free)).sum() - 0.2 * np.log(free).sum()

    gradient = optimize.approx_fprime(np.log(topics).ravel(), negative_log_posterior, 1e-6)
    assert np.abs(gradient).max() < 1e-2  # of 4800 counts
    away = optimize.approx_fprime(np.log(topics).ravel() * 0.9, negative_log_posterior, 1e-6)
    assert np.abs(away).max() > 1


# Zero-order collapsed variational Bayes, word by word.


def product_form_cvb0(X, weights, topics, alpha, eta, iterations):
    """Share each count by the counts of others, where a count's own part is averaged."""
    for _ in range(iterations):
        phi = responsibilities(weights, topics)
        shared = X[:, np.newaxis] * phi
        sides = []
        for axis, prior in ((2, alpha), (0, eta)):
            counts = shared.sum(axis)
            own = np.minimum((shared * phi).sum(axis) / counts**2, 0.999)
            sides.append((counts, own, prior))
        (by_sample, own_sample, _), (by_topic, own_topic, _) = sides
        weights = by_sample * (1 - own_sample) + alpha
        topics = by_topic * (1 - own_topic) + eta
        topics /= (by_topic + eta).sum(axis=1, keepdims=True)
    return by_sample, by_topic


def token_cvb0(X, phi, alpha, eta, iterations):
    """Asuncion et al. (2009): each distinct word of a document without one of its own counts."""
    for _ in range(iterations):
        shared = X[:, np.newaxis] * phi
        by_sample = shared.sum(axis=2, keepdims=True) - phi
        by_topic = shared.sum(axis=0) - phi
        totals = shared.sum(axis=(0, 2))[:, np.newaxis] - phi
        phi = (by_sample + alpha) * (by_topic + eta) / (totals + X.shape[1] * eta)
        phi /= phi.sum(axis=1, keepdims=True)
    return phi


def cvb0_fit(X, alpha, eta, iterations=400):
    return LDA(
        3, alpha=alpha, eta=eta, solver=HyperparameterUpdates(JointEM(), first=0, interval=0),
        tol=0, max_iter=iterations, random_state=0,
    ).fit(X)  # fmt: skip


def test_cvb0_is_that_of_the_product_form():
    X = planted(np.random.default_rng(3), [0.3] * 3, n_samples=30, n_features=20, total=40)[0]
    X = X[:, X.sum(axis=0) > 0]
    model = cvb0_fit(X, 0.3, 0.1)
    starts = model.weights_, model.components_
    by_sample, by_topic = product_form_cvb0(X, *starts, 0.3, 0.1, 400)
    np.testing.assert_allclose(model.fitted_.weights.explained, by_sample, atol=1e-4)
    np.testing.assert_allclose(model.fitted_.topics.explained, by_topic, atol=1e-4)


def test_cvb0_is_near_that_of_tokens():
    X = planted(np.random.default_rng(3), [0.3] * 3, n_samples=60, n_features=20, total=40)[0]
    X = X[:, X.sum(axis=0) > 0]
    model = cvb0_fit(X, 0.3, 0.1)
    smoothed = LDA(3, alpha=0.3, eta=0.1, estimate="smoothed", init=model, tol=1e-6).fit(X)
    phi = token_cvb0(X, responsibilities(model.weights_, model.components_), 0.3, 0.1, 400)
    tokens = (X[:, np.newaxis] * phi).sum(axis=2)

    def distance(other):
        return np.abs(other.fitted_.weights.explained - tokens).sum() / X.sum()

    assert distance(model) < 0.02
    assert distance(model) < distance(smoothed)


# What is learned.


def log_posterior(alpha, counts):
    """Of a vector of concentrations, given counts of Dirichlet-multinomial rows."""
    prior = np.broadcast_to(alpha, counts.shape)
    sums = prior.sum(axis=1)
    rows = gammaln(sums) - gammaln(sums + counts.sum(axis=1))
    entries = gammaln(prior + counts) - gammaln(prior)
    return rows.sum() + entries.sum() - RATE * np.sum(alpha)


@given(
    rows=st.integers(1, 12),
    columns=st.integers(1, 6),
    start=st.floats(LEAST, 30),
    size=st.sampled_from([1e-3, 1.0, 30.0, 1e6]),
    symmetric=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_an_update_never_lowers_the_posterior(rows, columns, start, size, symmetric, seed):
    counts = np.random.default_rng(seed).gamma(0.3, size, (rows, columns))
    now = np.full((1, 1 if symmetric else columns), start)
    learned = learned_concentration(now, counts, symmetric=symmetric)
    assert learned.shape == now.shape
    before, after = log_posterior(now, counts), log_posterior(learned, counts)
    assert after >= before - 1e-9 * (1 + abs(before))
    assert np.all(learned >= LEAST)


@given(seed=st.integers(0, 2**32 - 1), symmetric=st.booleans())
def test_an_update_with_seeds_and_forbidden_entries_never_lowers_it(seed, symmetric):
    rng = np.random.default_rng(seed)
    counts, seeds = rng.gamma(0.5, 5.0, (4, 5)), rng.integers(0, 2, (4, 5)) * rng.gamma(1.0, 9.0)
    forbidden = rng.random((4, 5)) < 0.3
    forbidden[:, 0] = False
    counts[forbidden] = seeds[forbidden] = 0
    now = np.full((1, 1 if symmetric else 5), 0.5)
    learned = learned_concentration(
        now, counts, symmetric=symmetric, seeds=seeds,
        forbidden=forbidden,
    )  # fmt: skip

    def value(alpha):
        prior = np.where(forbidden, 0, alpha + seeds)
        there = ~forbidden
        rows = gammaln(prior.sum(axis=1)) - gammaln((prior + counts).sum(axis=1))
        entries = gammaln((prior + counts)[there]) - gammaln(prior[there])
        return rows.sum() + entries.sum() - RATE * alpha.sum()

    assert value(learned) >= value(now) - 1e-9


def test_rows_that_count_twice_speak_twice(rng):
    counts, now = rng.gamma(0.5, 5.0, (6, 4)), np.full((1, 4), 0.5)
    copies = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 2.0])
    repeated = np.repeat(counts, copies.astype(int), axis=0)
    expected = learned_concentration(now, repeated, symmetric=False)
    found = learned_concentration(now, counts, copies, symmetric=False)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_certain_counts_occur_and_small_ones_may_not():
    counts = np.array([[0.0, 1.0, 5.0]])
    whole = probability_of(counts, np.ones((1, 3)), 0.1, Occurs.DEPENDENTLY)
    np.testing.assert_allclose(whole, [[0, 1, 1]], atol=1e-6)  # each count is one draw of its own
    many = probability_of(counts, np.zeros((1, 3)), 0.1, Occurs.INDEPENDENTLY)
    np.testing.assert_allclose(many, 1 - np.exp(-counts))
    # Under a large concentration draws know nothing of each other: two, each with one half.
    half = probability_of(np.ones(1), np.full(1, 0.5), 1e12, Occurs.DEPENDENTLY)
    assert half[0] == pytest.approx(0.75)


@given(draws=st.integers(3, 60), concentration=st.floats(0.02, 3.0), log_odds=st.floats(-6.0, 3.0))
def test_draws_that_go_together_leave_more_samples_without(draws, concentration, log_odds):
    counts = np.arange(draws + 1)
    log_mass = gammaln(draws + 1) - gammaln(counts + 1) - gammaln(draws - counts + 1)
    log_mass += log_odds * counts + gammaln(concentration + counts)
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    mean = float(mass @ counts)
    share = mean / draws
    found = probability_of(np.array([mean]), np.array([share]), concentration, Occurs.DEPENDENTLY)
    alone = 1 - (1 - share) ** draws
    exact = 1 - mass[0]
    probability = found[0]
    assert probability <= alone + 1e-9
    assert abs(probability - exact) <= abs(alone - exact) + 1e-9


@given(seed=st.integers(0, 2**32 - 1), symmetric=st.booleans(), size=st.sampled_from([0.1, 40.0]))
def test_learning_a_gamma_never_lowers_the_likelihood(seed, symmetric, size):
    rng = np.random.default_rng(seed)
    counts, totals = rng.gamma(0.5, size, (8, 3)), rng.gamma(2.0, 1.0, (8, 1))

    def value(shape, rate):
        return (
            gammaln(counts + shape)
            - gammaln(shape)
            + shape * np.log(rate / (rate + totals))
            - counts * np.log(rate + totals)
        ).sum()

    start = np.full((1, 1 if symmetric else 3), 0.7), np.full((1, 1 if symmetric else 3), 0.3)
    prior = Gamma(*start, learn="symmetric" if symmetric else "asymmetric")
    learned = prior.with_updated_hyperparameters(Evidence(counts, None, totals))
    assert value(learned.shape, learned.rate) >= value(*start) - 1e-9


TRUE_ALPHA = np.array([0.1, 0.3, 0.6, 1.0])


@pytest.fixture(scope="module")
def drawn():
    return planted(
        np.random.default_rng(1), TRUE_ALPHA, n_samples=1500, n_features=400, total=300, eta=0.02
    )


@pytest.mark.parametrize("estimate", ["cvb0", "variational"])
def test_the_truth_is_recovered(drawn, estimate):
    X, topics = drawn
    model = LDA(4, estimate=estimate, tol=1e-4, random_state=0).fit(X)
    found = match(topics, model)
    assert found.mean >= 0.99
    np.testing.assert_allclose(model.alpha_[found.order], TRUE_ALPHA, rtol=0.15)
    assert model.eta_.shape == ()


@pytest.mark.parametrize(
    ("alpha", "total", "estimate"),
    [
        (TRUE_ALPHA, 50, "cvb0"),
        (TRUE_ALPHA, 200, "cvb0"),
        (TRUE_ALPHA, 1000, "cvb0"),
        (np.full(5, 0.1), 200, "cvb0"),
        (TRUE_ALPHA, 200, "variational"),
        (np.full(5, 0.1), 200, "variational"),
    ],
)
def test_alpha_is_recovered_from_short_and_long_samples(alpha, total, estimate):
    X, topics = planted(
        np.random.default_rng(1), alpha, n_samples=2000, n_features=300, total=total, eta=0.1
    )
    model = LDA(len(alpha), estimate=estimate, tol=1e-4, random_state=0).fit(X)
    found = match(topics, model)
    assert found.mean >= 0.99
    np.testing.assert_allclose(model.alpha_[found.order], alpha, rtol=0.15)


def test_shapes_and_rates_are_recovered():
    rng = np.random.default_rng(2)
    shape, rate = np.array([0.5, 1.5, 4.0]), np.array([0.01, 0.03, 0.1])
    topics = rng.dirichlet(np.full(60, 0.1), 3)
    X = rng.poisson(rng.gamma(shape, 1 / rate, (1500, 3)) @ topics)
    model = GammaPoisson(3, learn="asymmetric", tol=1e-5, random_state=0).fit(X)
    found = match(topics, model)
    assert found.mean >= 0.99
    prior = model.fitted_.weights_prior
    np.testing.assert_allclose(np.ravel(prior.shape)[found.order], shape, rtol=0.15)
    np.testing.assert_allclose(np.ravel(prior.rate)[found.order], rate, rtol=0.15)
    assert_never_rises(model.history_["objective"])


def test_a_component_that_says_nothing_keeps_its_gamma(rng):
    X = rng.poisson(3.0, (30, 8)).astype(float)
    model = GammaPoisson(3, shape=0.5, rate=0.2, learn="asymmetric", max_iter=45, tol=0)
    model.fit(X, fixed_weights=np.ones((30, 1)))
    prior = model.fitted_.weights_prior
    assert (prior.shape[0, 0], prior.rate[0, 0]) == pytest.approx((0.5, 0.2))
    assert np.all(prior.shape[0, 1:] != 0.5)
    forbidden = np.zeros((3, 8), bool)
    forbidden[:, 4] = forbidden[1, 5] = True
    X[:, 4] = 0
    topics = Gamma(0.1, 1.0, learn="asymmetric")
    model = TopicModel(3, weights=Gamma(), topics=topics, forbidden=forbidden, max_iter=45, tol=0)
    assert_never_rises(model.fit(X).history_["objective"])
    assert np.all(model.components_[:, 4] == 0)


def test_what_is_given_is_not_learned(corpus):
    model = LDA(3, alpha=[0.1, 0.2, 0.3], eta=0.05, max_iter=60, tol=0).fit(corpus)
    np.testing.assert_array_equal(model.alpha_, [0.1, 0.2, 0.3])
    assert model.eta_ == 0.05
    assert LDA(3, eta=None, max_iter=5, tol=0).fit(corpus).eta_ is None
    symmetric = LDA(3, alpha="symmetric", eta="asymmetric", max_iter=60, tol=0).fit(corpus)
    assert len(set(symmetric.alpha_)) == 1
    assert symmetric.alpha_[0] != 2 / 3
    assert symmetric.eta_.shape == (60,)
    assert len(set(symmetric.eta_)) > 10


def test_the_mode_cannot_learn():
    with pytest.raises(ValueError, match="cannot be learned with estimate='map'"):
        LDA(3, estimate="map").fit(np.ones((4, 5)))
    with pytest.raises(ValueError, match="learn must be"):
        Dirichlet(0.1, learn="both")


@pytest.mark.parametrize("solver", [IncrementalEM(), JointEM()])
def test_priors_learn_under_any_solver_that_fits(corpus, solver):
    model = LDA(3, solver=solver, max_iter=60, tol=0, random_state=0).fit(corpus)
    assert len(set(model.alpha_)) == 3


def test_single_precision_is_refused_for_posteriors(corpus):
    with pytest.raises(ValueError, match="MixedPrecision needs point estimates"):
        LDA(3, solver=MixedPrecision(Accelerated())).fit(corpus)


def test_a_solver_is_a_subclass_of_solver():
    class Stranger:
        def step(self, problem, state):
            return state

    with pytest.raises(TypeError, match=r"subclass of isotopic\.Solver"):
        LDA(3, solver=Stranger()).fit(np.ones((4, 5)))


# Relevance, as a prior of the weights.


@pytest.mark.parametrize("solver", [JointEM(), Alternating(), Accelerated()])
def test_relevance_lowers_its_penalised_divergence(corpus, solver):
    prior = Relevance(shape=5.0)
    model = TopicModel(
        8, weights=prior, solver=HyperparameterUpdates(solver, first=0, interval=3), max_iter=60,
        tol=0,
        random_state=0,
    ).fit(corpus)  # fmt: skip
    n, mass = len(corpus), model.weights_.sum(axis=0)
    scale = 4.0 * corpus.sum() / n / 8
    product = model.weights_ @ model.components_
    divergence = kl_div(corpus, product).sum()
    expected = divergence + (n + 6.0) * np.log(mass + scale).sum()
    assert model.objective_ >= expected - 1e-6 * abs(expected)  # a tangent from above
    assert model.objective_ == pytest.approx(expected, rel=2e-3)  # at which it arrives in the end
    assert_never_rises(model.history_["objective"][1:])


def test_relevance_counts_samples_as_often_as_they_count(rng):
    counts = rng.gamma(1.0, 2.0, (5, 3))
    copies = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    weighted = SampleWeighted(Relevance(), copies).with_updated_hyperparameters(
        Evidence(counts * copies[:, np.newaxis], None, 1.0)
    )
    repeated = np.repeat(counts, copies.astype(int), axis=0)
    plain = Relevance().with_updated_hyperparameters(Evidence(repeated, None, 1.0))
    np.testing.assert_allclose(weighted.prior.strength, plain.strength, rtol=1e-12)
    assert weighted.prior.constant == pytest.approx(plain.constant)


@pytest.mark.parametrize("settings", [{"shape": 1.0}, {"scale_share": 0.0}, {"shape": np.inf}])
def test_relevance_names_bad_settings(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Relevance(**settings)


# The default LDA, with all that a fit can be asked for.


SETTINGS = {"max_iter": 45, "tol": 0, "random_state": 0}


def test_seeds_forbidden_fixed_topics_missing_and_weights(corpus):
    fixed = np.full((1, 60), 1 / 60)
    mask = np.random.default_rng(0).random(corpus.shape) < 0.1
    model = LDA(4, fixed_topics=fixed, seeds={1: {3: 50.0}}, forbidden={2: [0, 1]}, **SETTINGS)
    model.fit(corpus, sample_weight=np.arange(80) % 3, missing_mask=mask)
    np.testing.assert_allclose(model.components_[0], fixed[0])
    assert np.all(model.components_[2, :2] == 0)
    assert model.components_[1, 3] > np.delete(model.components_[:, 3], 1).max()
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    assert np.isfinite(model.objective_)
    assert np.all(model.transform(corpus, missing_mask=mask) > 0)


def test_float32_is_near(corpus):
    model, single = (LDA(3, **SETTINGS).fit(corpus.astype(t)) for t in ("float64", "float32"))
    assert single.components_.dtype == single.weights_.dtype == np.float32
    np.testing.assert_allclose(single.components_, model.components_, atol=2e-3)
    np.testing.assert_allclose(single.alpha_, model.alpha_, rtol=0.02)


def test_threads_and_repetition_change_no_bit(corpus):
    first = LDA(3, n_jobs=1, **SETTINGS).fit(corpus)
    for other in (LDA(3, n_jobs=3, **SETTINGS), LDA(3, **SETTINGS)):
        other.fit(corpus)
        np.testing.assert_array_equal(other.components_, first.components_)
        np.testing.assert_array_equal(other.alpha_, first.alpha_)
        assert other.objective_ == first.objective_


@pytest.mark.parametrize("estimate", ["cvb0", "variational"])
def test_a_stopped_fit_goes_on_with_the_same_bits(corpus, tmp_path, estimate):
    whole = LDA(3, estimate=estimate, **SETTINGS).fit(corpus)

    def stop(iteration):
        if iteration.iteration == 33:  # after the first lesson, before the third
            raise KeyboardInterrupt

    path = tmp_path / "fit"
    with pytest.raises(KeyboardInterrupt):
        LDA(3, estimate=estimate, callbacks=stop, **SETTINGS).fit(corpus, checkpoint=path)
    resumed = LDA(3, estimate=estimate, **SETTINGS).fit(corpus, checkpoint=path)
    for name in ("weights_", "components_", "alpha_", "eta_"):
        np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
    np.testing.assert_array_equal(resumed.history_["objective"], whole.history_["objective"])


def test_save_and_load(corpus, tmp_path):
    model = LDA(3, **SETTINGS).fit(corpus)
    model.save(tmp_path / "model")
    other = load(tmp_path / "model")
    np.testing.assert_array_equal(other.transform(corpus), model.transform(corpus))
    np.testing.assert_array_equal(other.alpha_, model.alpha_)
    np.testing.assert_array_equal(other.eta_, model.eta_)


def test_a_warm_start_goes_on(corpus):
    model = LDA(3, tol=1e-4, warm_start=True).fit(corpus)
    topics, objective = model.components_, model.objective_
    model.fit(corpus)
    np.testing.assert_allclose(model.components_, topics, atol=2e-3)
    assert model.objective_ == pytest.approx(objective, rel=1e-3)


def test_of_several_starts_all_but_the_first_are_random(corpus):
    seen = []

    def look(iteration):
        if iteration.iteration == 1:
            seen.append(iteration.objective)

    LDA(3, n_init=3, callbacks=look, max_iter=2, tol=0, random_state=0).fit(corpus)
    assert len(seen) == 3
    assert len(np.unique(np.round(seen))) == 3
    one = LDA(3, max_iter=1, tol=0, random_state=0).fit(corpus)
    assert one.objective_ == pytest.approx(seen[0])


def test_new_samples_see_the_mean_of_the_topics(corpus):
    model = LDA(3, **SETTINGS).fit(corpus)
    np.testing.assert_array_equal(model.fitted_.topics.effective, model.components_)
    variational = LDA(3, estimate="variational", **SETTINGS).fit(corpus)
    posterior = variational.components_posterior_
    expected = np.exp(digamma(posterior) - digamma(posterior.sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(variational.fitted_.topics.effective, expected, rtol=1e-10)


def test_counts_of_new_samples_leave_themselves_out(corpus):
    model = LDA(3, **SETTINGS).fit(corpus)
    alpha, own = model.alpha_, 0.0
    weights = np.full((len(corpus), 3), 1 / 3) * corpus.sum(axis=1, keepdims=True) + alpha
    for i in range(2000):
        shares = corpus[:, np.newaxis] * responsibilities(weights, model.components_)
        counts = shares.sum(axis=2)
        if i == 5:  # once the samples are told apart
            squares = shares * responsibilities(weights, model.components_)
            own = np.minimum(squares.sum(axis=2) / counts**2, 0.999)
        weights = counts * (1 - own) + alpha
    expected = (counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(corpus), expected, atol=1e-5)


def test_new_samples_are_predicted_better_without_themselves():
    X = datasets.load_kjv().data
    model = LDA(10, random_state=0).fit(X[::2])
    mean = LDA(10, alpha=model.alpha_, eta=None, estimate="smoothed", max_iter=0)
    start = np.ones((X[1::2].shape[0], 10)), model.components_
    mean.set_params(init=start).fit(X[1::2])
    assert completion_perplexity(model, X[1::2]) < completion_perplexity(mean, X[1::2])


@pytest.mark.parametrize("estimate", ["cvb0", "variational"])
def test_a_sample_is_inferred_alike_in_any_company(corpus, estimate):
    model = LDA(3, estimate=estimate, **SETTINGS).fit(corpus)
    assert model.fitted_.weights_prior.learn is None  # what was learned is kept for good
    whole = model.transform(corpus)
    np.testing.assert_array_equal(model.transform(corpus[7:8]), whole[7:8])


def test_convert_refuses_what_is_not_variational(corpus):
    model = LDA(3, eta=None, **SETTINGS).fit(corpus)
    with pytest.raises(ValueError, match="only variational estimates of the weights"):
        convert(model, to=GammaPoisson)
    with pytest.raises(ValueError, match="topics have different priors"):
        convert(LDA(3, **SETTINGS).fit(corpus), to=GammaPoisson)
    learned = LDA(3, eta=None, estimate="variational", **SETTINGS).fit(corpus)
    gamma = convert(learned, to=GammaPoisson)
    np.testing.assert_allclose(gamma.weights_posterior_, learned.weights_posterior_)


@pytest.mark.parametrize("estimate", ["cvb0", "smoothed", "variational"])
def test_topics_of_a_model_that_learned_are_merged(corpus, estimate):
    model = LDA(4, estimate=estimate, **SETTINGS).fit(corpus)
    merged = model.merge([[0, 2]], corpus)
    np.testing.assert_allclose(merged.weights_[:, 0], model.weights_[:, [0, 2]].sum(axis=1))
    assert merged.alpha_[0] == pytest.approx(model.alpha_[[0, 2]].sum())
    assert merged.eta_ == pytest.approx(model.eta_)
    np.testing.assert_allclose(model.reorder([3, 2, 1, 0]).alpha_, model.alpha_[::-1])


# Rehearsals.


def test_a_rehearsal_finds_a_better_bound():
    X = datasets.load_kjv().data[:400]
    settings = {
        "alpha": 0.1, "eta": 0.05, "estimate": "variational", "max_iter": 40, "tol": 0,
        "random_state": 0,
    }  # fmt: skip
    warm_up = LDA(10, init="auto", **settings).fit(X)
    assert warm_up.objective_ < LDA(10, init="random", **settings).fit(X).objective_
    again = LDA(10, init="auto", **settings).fit(X)
    np.testing.assert_array_equal(again.components_, warm_up.components_)


def test_factors_start_from_singular_vectors_unless_components_are_given(corpus):
    settings = {"max_iter": 3, "tol": 0, "random_state": 0}
    some = np.ones((1, corpus.shape[1]))
    for model, start in (
        (PLSA(3), "nndsvd"),
        (PLSA(3, fixed_topics=some), "random"),
        (PLSA(3, seeds={0: [1, 2]}), "random"),
        (BetaNMF(3, beta=2), "random"),
    ):
        auto = clone(model).set_params(**settings).fit(corpus)
        named = clone(model).set_params(init=start, **settings).fit(corpus)
        np.testing.assert_array_equal(auto.components_, named.components_)


# The edges.


EDGES = {
    "one component": (np.random.default_rng(0).poisson(1.0, (9, 7)), 1),
    "one sample": (np.array([[3.0, 0.0, 1.0, 2.0]]), 2),
    "one entry": (np.array([[3.0]]), 1),
    "empty rows": (np.vstack([np.zeros((2, 6)), np.eye(6) * 4, np.zeros((1, 6))]), 3),
    "empty columns": (np.hstack([np.zeros((6, 2)), np.eye(6) * 4]), 3),
    "nothing at all": (np.zeros((4, 5)), 2),
    "below one": (np.random.default_rng(0).random((20, 8)) * 0.1, 3),
    "huge": (np.random.default_rng(0).poisson(2.0, (20, 8)) * 1e12, 3),
    "vast": (np.random.default_rng(0).poisson(2.0, (20, 8)) * 1e170, 3),
    "more components than features": (np.random.default_rng(0).poisson(2.0, (20, 4)), 9),
    "constant": (np.full((10, 6), 7.0), 3),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("case", EDGES)
@pytest.mark.parametrize(
    "model",
    [
        LDA(),
        LDA(estimate="smoothed"),
        LDA(estimate="variational"),
        LDA(estimate="map", alpha=1.3, eta=1.1),
        LDA(estimate="map", alpha=0.5, eta=1.1),
        GammaPoisson(learn="asymmetric"),
        GammaPoisson(learn="symmetric"),
    ],
    ids=["cvb0", "smoothed", "variational", "map", "sparse map", "gamma", "one gamma"],
)
def test_the_edges(model, case):
    X, components = EDGES[case]
    model = model.__class__(**model.get_params()).set_params(
        n_components=components, max_iter=60, tol=0, random_state=0
    )
    model.fit(X)
    for array in (model.weights_, model.components_, model.transform(X)):
        assert np.all(np.isfinite(array) & (array >= 0))
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("estimate", ["cvb0", "smoothed"])
def test_next_to_nothing(estimate):
    X = np.random.default_rng(0).random((20, 8)) * 1e-200
    model = LDA(3, estimate=estimate, max_iter=60, tol=0).fit(X)
    np.testing.assert_allclose(model.weights_, 1 / 3)


@pytest.mark.filterwarnings("ignore::isotopic.CountsWarning")
def test_counts_below_one_are_no_worse_than_smoothed():
    X, topics = planted(np.random.default_rng(5), [0.3] * 4, n_samples=800, total=100, eta=0.1)
    X /= X.sum(axis=1, keepdims=True)
    for estimate in ("cvb0", "smoothed"):
        model = LDA(4, estimate=estimate, max_iter=300, random_state=0).fit(X)
        assert match(topics, model).mean > 0.98


def test_a_fit_that_ends_too_early_warns(corpus):
    with pytest.warns(Warning, match="stopped at max_iter=25"):
        LDA(3, max_iter=25, tol=1e-9).fit(corpus)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LDA(3).fit(corpus).converged_


def test_the_residual_includes_what_a_lesson_moved(corpus):
    problem = Problem(CollapsedDirichlet(0.3, "asymmetric"), Simplex(), CountMatrix(corpus), 3)
    start = random_factors(np.random.default_rng(0), *corpus.shape[:1], 3, 60)
    begin = problem.weights.at(start[0], 1.0), problem.topics.at(start[1], 1.0)
    solution = solve(problem, HyperparameterUpdates(JointEM()), begin, max_iter=500, tol=1e-3)
    assert solution.converged
    assert solution.history["passes"][-1] > 20
    assert np.all(np.isinf(solution.history["residual"][:20]))
    assert solution.state.residual_after_update <= 1e-3
    assert Gamma(learn="symmetric").learns


@pytest.mark.parametrize("learn", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("estimate", ["variational", "smoothed", "cvb0"])
def test_a_histogram_learns_what_the_counts_themselves_do(rng, estimate, learn):
    counts = rng.gamma(0.2, 8.0, (900, 6)) * rng.integers(0, 2, (900, 6))
    squares = counts * rng.uniform(0.05, 1.0, counts.shape) if estimate == "cvb0" else None
    evidence = Evidence(counts, squares, 1.0, rng.integers(1, 4, 900).astype(float))
    start = np.full((1, 6 if learn == "asymmetric" else 1), 0.3)
    prior = ESTIMATES[estimate](start, learn)
    assert prior.uses_histogram(6)
    found = prior.with_updated_hyperparameters(evidence).concentration
    exact = update_repeatedly(prior, methodcaller("sufficient_statistics", evidence)).concentration
    np.testing.assert_allclose(found, exact, rtol=1e-2)


def test_histograms_of_row_blocks_add_up(rng):
    counts = rng.gamma(0.3, 5.0, (400, 3))
    prior = CollapsedDirichlet(np.full((1, 3), 0.3), "asymmetric")
    evidence = Evidence(counts, 0.4 * counts, 1.0)
    parts = [
        prior.histogram(Evidence(counts[some], 0.4 * counts[some], 1.0))
        for some in (slice(150), slice(150, 400))
    ]
    whole, summed = prior.histogram(evidence), parts[0].plus(parts[1])
    np.testing.assert_allclose(summed.entries, whole.entries, rtol=1e-12)
    np.testing.assert_allclose(summed.totals, whole.totals, rtol=1e-12)


def test_a_concentration_learned_from_small_whole_counts_is_exact(rng):
    # Whole numbers below 16 have bins of their own.
    counts = rng.integers(0, 4, (300, 4)).astype(float)
    prior = Dirichlet(np.full((1, 4), 0.5), "asymmetric")
    evidence = Evidence(counts, None, 1.0)
    exact = update_repeatedly(prior, methodcaller("sufficient_statistics", evidence)).concentration
    found = prior.with_updated_hyperparameters(evidence).concentration
    np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_seeds_and_forbidden_entries_need_the_counts_themselves():
    forbidden = np.zeros((5, 3), bool)
    assert not Dirichlet(0.1, "symmetric", forbidden=forbidden).uses_histogram(3)
    assert not Dirichlet(0.1, "symmetric").seeded(np.ones((5, 3))).uses_histogram(3)
    assert not Dirichlet(np.ones((5, 3)), "asymmetric").uses_histogram(3)
    assert not Dirichlet(np.ones(3), "symmetric").uses_histogram(3)
