"""NMF under beta divergences."""

import re
import tracemalloc
import warnings

import beta_published as published
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_counts, random_factors, sparse_counts
from scipy import sparse
from scipy.optimize import check_grad
from sklearn.decomposition._nmf import _beta_divergence

from isotopic import (
    NMF,
    Accelerated,
    Alternating,
    BetaNMF,
    JointEM,
    Lasso,
    LeastSquares,
    LogPenalty,
    TopicModel,
    beta_divergence,
    convert,
    generalized_kl,
)
from isotopic.counts import CountMatrix
from isotopic.divergences import Beta, GradientPass
from isotopic.priors import Fixed, Free, Posterior, PowerPenalty, Relevance, Simplex, UnitNorm
from isotopic.problem import Problem
from isotopic.solvers import CoordinateDescent

BETAS = [-1.5, -0.5, 0, 0.5, 1, 1.5, 2, 2.4, 3.7]
OTHERS = [beta for beta in BETAS if beta != 1]
SOLVERS = {"alternating": Alternating, "joint": JointEM, "accelerated": Accelerated}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def positive_data(rng, n_samples=14, n_features=9):
    return rng.gamma(1.5, size=(n_samples, n_features)) + 0.01


def problem_of(X, beta, weights=None, topics=None, n_components=3):
    weights, topics = weights or Free(), topics or Free()
    return Problem(weights, topics, CountMatrix(X), n_components, Beta(beta))


def run(problem, solver, weights, topics, n_iter):
    """Return the state after some iterations, and all objectives."""
    state = solver.init(problem, problem.weights.at(weights, 1.0), problem.topics.at(topics, 1.0))
    objectives = [state.objective]
    for _ in range(n_iter):
        state = solver.step(problem, state)
        objectives.append(state.objective)
    return state, np.array(objectives)


# --------------------------------------------------------------------------------------------------
# The divergence
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
def test_values_are_those_of_the_articles_and_of_scikit_learn(rng, beta):
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    ours = beta_divergence(X, weights, topics, beta)
    assert ours == pytest.approx(published.divergence(X, weights @ topics, beta), rel=1e-12)
    assert ours == pytest.approx(_beta_divergence(X, weights, topics, beta), rel=1e-12)
    found = GradientPass(Beta(beta), CountMatrix(X)).gradients(Free(), weights, topics)
    assert found.values.sum() == pytest.approx(ours, rel=1e-12)


@pytest.mark.parametrize("beta", [0.5, 1, 1.5, 2, 3.7])
def test_zeros_have_a_divergence_if_beta_is_positive(rng, beta):
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    ours = beta_divergence(sparse.csr_array(X), weights, topics, beta)
    # scikit-learn puts a small number in the place of zeros.
    assert ours == pytest.approx(_beta_divergence(X, weights, topics, beta), rel=1e-5)
    assert beta_divergence(X, weights, topics, -beta) == np.inf


def test_names_are_betas(rng):
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    for name, beta in {"itakura-saito": 0, "kullback-leibler": 1, "frobenius": 2}.items():
        assert beta_divergence(X, weights, topics, name) == beta_divergence(
            X, weights, topics, beta
        )
    assert beta_divergence(X, weights, topics, 1) == pytest.approx(
        generalized_kl(X, weights, topics)
    )


@given(st.sampled_from([0.0, 1.0]), st.floats(-9, -2), st.sampled_from([-1, 1]))
@settings(max_examples=30)
def test_divergences_have_no_jump_at_their_limits(limit, exponent, sign):
    rng = np.random.default_rng(1)
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    step = sign * 10**exponent
    near_pass = GradientPass(Beta(limit + step), CountMatrix(X))
    near = near_pass.gradients(Free(), weights, topics).values.sum()
    assert near == pytest.approx(
        beta_divergence(X, weights, topics, limit), rel=20 * abs(step) + 1e-12
    )


def test_a_product_of_zero_is_infinitely_far_from_data_below_two_limits():
    X, weights, topics = np.ones((1, 2)), np.ones((1, 1)), np.array([[1.0, 0.0]])
    for beta in (-1, 0, 0.5, 1):
        assert beta_divergence(X, weights, topics, beta) == np.inf
    assert beta_divergence(X, weights, topics, 1.5) == pytest.approx(1 / (1.5 * 0.5))
    assert (
        problem_of(X, 0.5, n_components=1)
        .evaluate(Posterior(weights, weights), Posterior(topics, topics), 0)
        .objective
        == np.inf
    )


# --------------------------------------------------------------------------------------------------
# The updates
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", BETAS)
def test_sequential_updates_are_those_published(rng, beta):
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    state, _ = run(problem_of(X, beta), Alternating(), weights, topics, 5)
    W, H = topics.T, weights.T
    for _ in range(5):
        W, H = published.sequential_mm(X.T, W, H, beta)
    np.testing.assert_allclose(state.weights.mean, H.T, rtol=1e-10)
    np.testing.assert_allclose(state.topics.mean, W.T, rtol=1e-10)


@pytest.mark.parametrize("beta", BETAS)
def test_joint_updates_are_those_published(rng, beta):
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    state, _ = run(problem_of(X, beta), JointEM(), weights, topics, 5)
    W, H = topics.T, weights.T
    for _ in range(5):
        W, H = published.joint_mm(X.T, W, H, beta)
    np.testing.assert_allclose(state.weights.mean, H.T, rtol=1e-10)
    np.testing.assert_allclose(state.topics.mean, W.T, rtol=1e-10)


@pytest.mark.parametrize("solver", ["joint", "alternating"])
@pytest.mark.parametrize("beta", OTHERS)
def test_normalising_changes_no_product(rng, beta, solver):
    """Of the joint update; the sequential one sees the scale, but only by rounding."""
    X, init = positive_data(rng), random_factors(rng, 14, 3, 9)
    settings = {"beta": beta, "solver": solver, "init": init, "max_iter": 10, "tol": 0}
    free = BetaNMF(3, normalize=False, **settings).fit(X)
    normal = BetaNMF(3, **settings).fit(X)
    np.testing.assert_allclose(normal.components_.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(
        normal.weights_ @ normal.components_, free.weights_ @ free.components_, rtol=1e-9
    )


PENALTIES = {"none": Free(), "lasso": Lasso(0.4), "log": LogPenalty(0.7, 0.3)}


@given(
    st.one_of(st.sampled_from(BETAS), st.floats(-3, 5)),
    st.sampled_from(list(SOLVERS.values())),
    st.sampled_from(list(PENALTIES)),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
@settings(max_examples=100)
def test_the_objective_never_rises(beta, solver, penalty, seed, with_zeros):
    rng = np.random.default_rng(seed)
    X = rng.gamma(rng.uniform(0.5, 3), size=(8, 6)) + 0.01
    if with_zeros and beta > 0.01:  # their divergence is as large as 1 / beta
        X[rng.random(X.shape) < 0.3] = 0
    weights, topics = random_factors(rng, 8, 3, 6)
    problem = problem_of(X, beta, PENALTIES[penalty], Simplex())
    _, objectives = run(problem, solver(), weights, topics, 15)
    scale = np.abs(problem.data_pass.saturated).sum() + abs(objectives[0])
    assert np.diff(objectives).max() <= 1e-13 * scale
    assert objectives[-1] < objectives[0]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("beta", BETAS)
def test_the_residual_is_that_of_numerical_gradients(rng, beta, penalty):
    """Of the objective with the scale-free penalty, at topics that sum to one."""
    X, (weights, topics) = positive_data(rng, 5, 4), random_factors(rng, 5, 2, 4)
    prior = PENALTIES[penalty]

    def objective(theta):
        W, T = theta[:10].reshape(5, 2), theta[10:].reshape(2, 4)
        return beta_divergence(X, W, T, beta) + prior.at(W, 1.0).term

    problem = problem_of(X, beta, prior, Simplex(), 2)
    state = problem.evaluate(prior.at(weights, 1.0), Posterior(topics, topics), 0)
    assert state.objective == pytest.approx(objective(np.append(weights, topics)), rel=1e-12)

    found = problem.data_pass.gradients(prior, weights, topics)

    def gradient(theta):
        return np.append(
            found.weights[1] - found.weights[0] + prior.slope(weights),
            found.topics[1] - found.topics[0],
        )

    theta = np.append(weights, topics)
    assert check_grad(objective, gradient, theta) < 1e-4 * np.linalg.norm(gradient(theta))
    of_weights = weights * gradient(theta)[:10].reshape(5, 2)
    of_topics = topics * gradient(theta)[10:].reshape(2, 4)
    of_topics -= topics * of_topics.sum(axis=1, keepdims=True)
    share = (X * (weights @ topics) ** (beta - 1)).sum()
    expected = max(np.abs(of_weights).sum(), np.abs(of_topics).sum()) / share
    assert state.residual == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("beta", [-0.5, 0, 0.5, 1, 1.5, 2, 3])
def test_fits_reach_a_stationary_point_at_any_scale(rng, beta, penalty):
    X = positive_data(rng, 20, 10)
    for scale in (1.0, 1e-3):
        strength = scale ** (beta - 1) if penalty == "lasso" else scale**beta
        prior = {
            "none": None,
            "lasso": Lasso(0.3 * strength),
            "log": LogPenalty(0.1 * strength, scale),
        }[penalty]
        model = BetaNMF(2, beta=beta, penalty=prior, tol=1e-6, max_iter=20000, random_state=0).fit(
            scale * X
        )
        assert model.converged_
        if scale == 1:
            whole = model.objective_
    assert model.objective_ == pytest.approx(scale**beta * whole, rel=1e-4)


def test_penalties_are_paid_with_divergence_and_buy_sparsity(rng):
    X = rng.gamma(1.0, size=(60, 8)) @ (rng.random((8, 30)) < 0.3) + 0.01
    shares = []
    for strength in (0.0, 1.0, 5.0):
        model = BetaNMF(
            8, beta=0.5, penalty=LogPenalty(strength, 0.1), tol=1e-5, max_iter=3000, random_state=0
        ).fit(X)
        shares.append(np.mean(model.weights_ < 1e-3 * model.weights_.max()))
    assert shares[0] < shares[1] < shares[2]


# --------------------------------------------------------------------------------------------------
# The corners: one and two
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "normalize"),
    [
        ("joint", True),
        ("alternating", True),
        ("alternating", False),
        ("auto", True),
        ("auto", False),
    ],
)
def test_beta_one_is_nmf(rng, solver, normalize):
    X, weight = sparse_counts(rng, 40, 30, 0.3), rng.random(40) + 0.5
    settings = {"solver": solver, "max_iter": 10, "tol": 0, "random_state": 0}
    beta = BetaNMF(3, beta=1, normalize=normalize, **settings).fit(X, sample_weight=weight)
    nmf = NMF(3, normalize=normalize, **settings).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(beta.components_, nmf.components_)
    np.testing.assert_array_equal(beta.transform(X), nmf.transform(X))
    assert beta.score(X) == nmf.score(X)
    assert beta.perplexity(X) == nmf.perplexity(X)
    assert len(beta.posterior(X)) == 40
    assert beta.sample(3, random_state=0).shape == (3, 30)
    np.testing.assert_array_equal(
        convert(beta, to=NMF(3)).components_, convert(nmf, to=NMF(3)).components_
    )


def test_the_general_updates_at_one_are_the_kernels(rng):
    """The joint one with normalised topics is Algorithm 4, the sequential one Algorithm 1."""
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    settings = {"init": (weights, topics), "max_iter": 6, "tol": 0}
    joint, _ = run(problem_of(X, 1, None, Simplex()), JointEM(), weights, topics, 6)
    nmf = NMF(3, solver="joint", **settings).fit(X)
    np.testing.assert_allclose(joint.weights.mean, nmf.weights_, rtol=1e-11)
    np.testing.assert_allclose(joint.topics.mean, nmf.components_, rtol=1e-11)
    assert joint.objective == pytest.approx(nmf.objective_, rel=1e-12)
    assert joint.residual == pytest.approx(nmf.history_["residual"][-1], rel=1e-9)
    sequential, _ = run(problem_of(X, 1), Alternating(), weights, topics, 6)
    nmf = NMF(3, normalize=False, solver="alternating", **settings).fit(X)
    np.testing.assert_allclose(sequential.weights.mean, nmf.weights_, rtol=1e-11)
    np.testing.assert_allclose(sequential.topics.mean, nmf.components_, rtol=1e-11)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [None, "log"])
def test_squared_distances_of_sparse_data_need_no_product(rng, solver, weighted, penalty):
    X = sparse_counts(rng, 50, 40, 0.2)
    weight = rng.random(50) + 0.5 if weighted else None
    settings = {"solver": solver, "penalty": penalty, "max_iter": 12, "tol": 0, "random_state": 0}
    by_gram = BetaNMF(4, beta=2, **settings).fit(X, sample_weight=weight)
    dense = BetaNMF(4, beta=2, **settings).fit(X.toarray(), sample_weight=weight)
    np.testing.assert_allclose(by_gram.components_, dense.components_, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(by_gram.weights_, dense.weights_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(
        by_gram.history_["objective"], dense.history_["objective"], rtol=1e-11
    )
    np.testing.assert_allclose(by_gram.history_["residual"], dense.history_["residual"], rtol=1e-6)


def test_squared_distances_of_large_sparse_data_need_little_memory(rng):
    X = sparse.random_array((3000, 60000), density=2e-5, random_state=rng, format="csr")
    tracemalloc.start()
    BetaNMF(2, beta=2, max_iter=2, tol=0, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * X.shape[0] * X.shape[1] * 8


def descended_by_entry(factor, asked, gram):
    """Minimise over one entry after the other, twice, as it stands in the articles."""
    new = factor.copy()
    for _ in range(2):
        for k in range(len(gram)):
            for i in range(new.shape[1]):
                others = sum(gram[k, j] * new[j, i] for j in range(len(gram)) if j != k)
                new[k, i] = max(0.0, (asked[k, i] - others) / gram[k, k])
    return new


def test_the_first_step_of_least_squares_is_that_of_single_entries(rng):
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    state, _ = run(problem_of(X, 2), LeastSquares(), weights, topics, 1)
    new_topics = descended_by_entry(topics, weights.T @ X, weights.T @ weights)
    new_weights = descended_by_entry(weights.T, new_topics @ X.T, new_topics @ new_topics.T).T
    np.testing.assert_allclose(state.topics.mean, new_topics, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(state.weights.mean, new_weights, rtol=1e-10, atol=1e-14)
    there = beta_divergence(X, new_weights, new_topics, 2)
    assert state.objective == pytest.approx(there, rel=1e-10)


@given(
    st.sampled_from(list(PENALTIES)),
    st.integers(0, 2**32 - 1),
    st.sampled_from([np.float64, np.float32]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60)
def test_least_squares_never_raise_the_objective(penalty, seed, dtype, normalize, known):
    rng = np.random.default_rng(seed)
    X = (rng.gamma(0.5, size=(9, 7)) * (rng.random((9, 7)) < 0.7)).astype(dtype)
    X[0, 0] = 1
    forbidden = np.zeros((3, 7), bool)
    forbidden[2, :3] = known
    model = BetaNMF(
        3,
        normalize=normalize,
        penalty=None if penalty == "none" or not normalize else PENALTIES[penalty],
        fixed_topics=np.full((1, 7), 1 / 7) if known else None,
        forbidden=forbidden if known else None,
        max_iter=40,
        tol=0,
        random_state=0,
    )
    copies = rng.integers(1, 4, 9)
    model.fit(X, sample_weight=copies)
    rises, size = (
        np.diff(model.history_["objective"]),
        float(copies @ X.astype(float) ** 2 @ np.ones(7)),
    )
    assert rises.max() <= 30 * np.finfo(dtype).eps * size
    if known:
        np.testing.assert_allclose(model.components_[0], 1 / 7, rtol=1e-6)
        assert not model.components_[2, :3].any()


@pytest.mark.parametrize("penalty", PENALTIES)
def test_least_squares_end_where_the_other_solvers_do(rng, penalty):
    weights, topics = rng.gamma(0.5, size=(40, 3)), rng.gamma(0.3, size=(3, 12))
    X = weights @ topics + 0.05 * rng.random((40, 12))
    X /= X.mean()
    settings = {"penalty": None if penalty == "none" else PENALTIES[penalty], "random_state": 0}
    further = BetaNMF(3, solver="accelerated", tol=1e-6, max_iter=3000, **settings).fit(X)
    least = BetaNMF(3, tol=1e-7, max_iter=3000, **settings).fit(X)
    assert least.converged_
    assert least.n_iter_ < further.n_iter_
    assert least.objective_ <= further.objective_ * 1.005  # minima are local


@pytest.mark.parametrize("penalty", PENALTIES)
def test_least_squares_of_sparse_data_have_the_same_bits_for_any_threads(rng, penalty):
    X = sparse_counts(rng, 9000, 30, 0.1)
    settings = {
        "penalty": None if penalty == "none" else PENALTIES[penalty],
        "max_iter": 8,
        "tol": 0,
        "random_state": 0,
    }
    one, three = (BetaNMF(3, n_jobs=jobs, **settings).fit(X) for jobs in (1, 3))
    np.testing.assert_array_equal(one.weights_, three.weights_)
    np.testing.assert_array_equal(one.components_, three.components_)
    dense = BetaNMF(3, **settings).fit(X.toarray())
    assert dense.objective_ == pytest.approx(one.objective_, rel=1e-9)


def test_a_component_that_died_does_no_harm(rng):
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    weights[:, 1] = 0
    for normalize in (True, False):
        model = BetaNMF(3, normalize=normalize, init=(weights, topics), max_iter=30, tol=0).fit(X)
        assert np.isfinite(model.objective_)
        assert np.diff(model.history_["objective"]).max() <= 1e-12 * (X**2).sum()
        assert model.weights_[:, 1].any()  # no update that multiplies could do that


def test_the_log_penalty_of_the_main_kernel_is_minimised_exactly(rng):
    prior = LogPenalty(0.7, 0.3)
    counts, totals = rng.gamma(1.0, size=(5, 4)), rng.gamma(1.0, size=4) + 0.1
    found = prior.absorb(counts.copy(), totals).mean

    def value(w):
        return -counts * np.log(w) + totals * w + 0.7 * np.log1p(w / 0.3)

    for factor in (0.99, 1.01, 0.1, 10):
        assert np.all(value(found) < value(found * factor))
    np.testing.assert_allclose(prior.implied_counts(Posterior(found, found), None, totals), counts)
    X = random_counts(rng)
    model = TopicModel(3, weights=prior, solver=JointEM(), max_iter=100, tol=0, random_state=0)
    assert np.diff(model.fit(X).history_["objective"]).max() <= 1e-9
    log_one = BetaNMF(3, beta=1, penalty=prior, solver="joint", max_iter=100, tol=0, random_state=0)
    np.testing.assert_array_equal(log_one.fit(X).weights_, model.weights_)


# --------------------------------------------------------------------------------------------------
# The data
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [-0.5, 0, 0.7, 2])
def test_missing_entries_say_nothing(rng, beta):
    X = positive_data(rng, 20, 12)
    mask = rng.random(X.shape) < 0.3
    other = np.where(mask, 1e3 * rng.random(X.shape), X)
    settings = {"beta": beta, "max_iter": 15, "tol": 0, "random_state": 0}
    one = BetaNMF(3, **settings).fit(X, missing_mask=mask)
    two = BetaNMF(3, **settings).fit(other, missing_mask=mask)
    np.testing.assert_array_equal(one.components_, two.components_)
    product = one.weights_ @ one.components_
    assert one.objective_ == pytest.approx(published.divergence(X[~mask], product[~mask], beta))
    assert np.diff(one.history_["objective"]).max() <= 0
    of_sparse = BetaNMF(3, **settings).fit(sparse.csr_array(X), missing_mask=mask)
    np.testing.assert_allclose(of_sparse.components_, one.components_, rtol=1e-9)


def test_zeros_are_refused_by_a_beta_whose_inverse_is_no_number(rng):
    with pytest.raises(ValueError, match="X has zeros"):
        BetaNMF(1, beta=1e-311).fit(np.eye(3))
    assert np.isfinite(BetaNMF(1, beta=1e-300, max_iter=2, tol=0).fit(np.eye(3)).objective_)


def test_zeros_that_are_missing_are_no_zeros(rng):
    X = positive_data(rng)
    X[2, 3] = 0
    model = BetaNMF(2, beta=0, max_iter=5, tol=0, random_state=0)
    message = re.escape("beta=0 is infinite. Mark them as missing (missing_mask=X == 0)")
    for data in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match=message):
            model.fit(data)
    model.fit(X, missing_mask=X == 0)
    with pytest.raises(ValueError, match=message):
        model.transform(X)
    assert np.isfinite(model.transform(X, missing_mask=X == 0)).all()
    assert np.isfinite(model.score(X, missing_mask=X == 0))


@pytest.mark.parametrize(("beta", "scale"), [(0, 1e-170), (3, 1e110), (2, 1e-200), (-2, 1e100)])
def test_powers_beyond_the_precision_are_refused(rng, beta, scale):
    with pytest.raises(ValueError, match=r"range of X is too wide .* Multiply X by a constant"):
        BetaNMF(2, beta=beta).fit(scale * positive_data(rng))


@pytest.mark.parametrize("beta", [0, 0.5, 2])
@pytest.mark.parametrize("penalty", [None, "lasso", "log"])
def test_samples_that_count_twice_are_two(rng, beta, penalty):
    X, times = positive_data(rng), rng.integers(0, 4, 14)
    settings = {"beta": beta, "penalty": penalty, "strength": 0.2, "max_iter": 20, "tol": 0}
    weighted = BetaNMF(3, random_state=0, **settings).fit(X, sample_weight=times)
    repeated = BetaNMF(3, random_state=0, **settings).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, rtol=1e-9)
    assert weighted.objective_ == pytest.approx(repeated.objective_)
    assert weighted.weights_.shape == (14, 3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("beta", [0, 0.5, 2, 3])
def test_topics_that_are_held_stay_and_those_forbidden_are_zero(rng, beta, solver):
    X, held = positive_data(rng), rng.dirichlet(np.ones(9), 1)
    model = BetaNMF(
        3,
        beta=beta,
        solver=solver,
        fixed_topics=held,
        forbidden={1: [2, 5]},
        penalty="log",
        max_iter=60,
        tol=0,
        random_state=0,
    ).fit(X)
    np.testing.assert_allclose(model.components_[0], held[0], rtol=1e-14)
    assert np.all(model.components_[1, [2, 5]] == 0)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    assert np.diff(model.history_["objective"]).max() <= 1e-12 * abs(model.objective_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("beta", [0, 1.5, 2])
def test_known_topics_give_the_weights_that_transform_infers(rng, beta, solver):
    X, topics = positive_data(rng), rng.dirichlet(np.ones(9), 3)
    known = BetaNMF(
        3, beta=beta, solver=solver, fixed_topics=topics, tol=1e-7, max_iter=5000, random_state=0
    ).fit(X)
    np.testing.assert_allclose(known.weights_, known.transform(X), rtol=1e-2, atol=2e-2)
    assert known.score(X) == pytest.approx(-known.objective_ / X.size, rel=1e-5)


def test_a_fixed_side_has_no_residual(rng):
    X, (weights, topics) = positive_data(rng), random_factors(rng, 14, 3, 9)
    fixed = Fixed(Posterior(topics, topics), is_normalized=True)
    state = problem_of(X, 0.5, None, fixed).evaluate(
        Posterior(weights, weights), fixed.posterior, 0
    )
    found = GradientPass(Beta(0.5), CountMatrix(X)).gradients(Free(), weights, topics)
    asked, given = found.weights * weights
    assert state.residual == pytest.approx(np.abs(asked - given).sum() / asked.sum())


# --------------------------------------------------------------------------------------------------
# Recovery, and the face
# --------------------------------------------------------------------------------------------------


def _noisy(rng, beta, product):
    """Data whose likelihood is the divergence."""
    if beta == 0:
        return product * rng.gamma(5.0, 1 / 5.0, product.shape)
    if beta == 1:
        return rng.poisson(50 * product).astype(float)
    return np.maximum(product + 0.05 * product.mean() * rng.normal(size=product.shape), 0)


@pytest.mark.parametrize("beta", [0, 0.5, 1, 1.5, 2])
def test_planted_topics_are_found(rng, beta):
    weights = rng.gamma(0.5, size=(300, 4)) + 0.02
    topics = rng.dirichlet(0.2 * np.ones(30), 4) + 1e-3
    X = _noisy(rng, round(beta), weights @ topics)
    model = BetaNMF(4, beta=beta, n_init=3, max_iter=600, tol=1e-5, random_state=0).fit(X)
    unit = [
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (model.components_, topics)
    ]
    cosines = unit[0] @ unit[1].T
    assert sorted(cosines.argmax(axis=1)) == [0, 1, 2, 3]
    assert cosines.max(axis=1).mean() > 0.95


def test_the_right_divergence_finds_more(rng):
    """Multiplicative noise: squared distances see the large entries only."""
    weights = rng.gamma(0.5, size=(200, 4)) * 10 ** rng.uniform(-3, 3, size=(200, 1)) + 1e-6
    topics = rng.dirichlet(0.2 * np.ones(30), 4) + 1e-3
    X = weights @ topics * rng.gamma(5.0, 1 / 5.0, (200, 30))
    errors = {}
    for beta in (0, 2):
        model = BetaNMF(4, beta=beta, n_init=2, max_iter=300, tol=1e-4, random_state=0).fit(X)
        unit = [
            side / np.linalg.norm(side, axis=1, keepdims=True)
            for side in (model.components_, topics)
        ]
        errors[beta] = 1 - (unit[0] @ unit[1].T).max(axis=0).mean()
    assert errors[0] < 0.5 * errors[2]


@pytest.mark.parametrize("name", ["perplexity", "posterior", "sample"])
def test_what_belongs_to_counts_is_refused(rng, name):
    X = positive_data(rng)
    model = BetaNMF(2, beta=0.5, max_iter=2, tol=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match=rf"{name} needs the Kullback-Leibler divergence"):
        getattr(model, name)(3 if name == "sample" else X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": "euclidean"}, "beta"),
        ({"beta": np.nan}, "beta must be finite"),
        ({"beta": np.inf}, "beta must be finite"),
        ({"beta": True}, "beta"),
        ({"beta": None}, "beta"),
        ({"penalty": "ridge"}, "penalty"),
        ({"penalty": Simplex()}, "penalty"),
        ({"penalty": "lasso", "strength": -1.0}, "strength"),
        ({"penalty": "log", "strength": np.nan}, "strength"),
        ({"penalty": "lasso", "normalize": False}, "penalty"),
        ({"seeds": {0: [1]}}, "seeds"),
        ({"beta": 1.5, "solver": "coordinate"}, "Kullback-Leibler"),
        ({"beta": 1.5, "solver": "online"}, "Kullback-Leibler"),
        ({"beta": 1.5, "solver": LeastSquares()}, "LeastSquares needs squared distances"),
        ({"beta": 1, "solver": LeastSquares()}, "LeastSquares needs squared distances"),
        ({"beta": 2, "solver": CoordinateDescent()}, "Kullback-Leibler"),
    ],
)
def test_bad_settings_are_refused(rng, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BetaNMF(2, **settings).fit(positive_data(rng))


def test_other_divergences_have_no_exact_relations(rng):
    X = positive_data(rng)
    model = BetaNMF(2, max_iter=2, tol=0, random_state=0).fit(X)
    for source, target in ((model, NMF), (NMF(2, max_iter=2, tol=0).fit(X), BetaNMF(2))):
        with pytest.raises(ValueError, match=r"it minimises .* the other one"):
            convert(source, to=target)
    log = TopicModel(2, weights=LogPenalty(0.1), max_iter=2, tol=0).fit(X)
    with pytest.raises(ValueError, match="penalty"):
        convert(log, to=NMF)
    assert NMF(2, init=model, max_iter=2, tol=0).fit(X).components_.shape == (2, 9)


def test_what_was_fitted_does_not_change_with_the_settings(rng):
    X = positive_data(rng)
    model = BetaNMF(2, beta=0.5, max_iter=5, tol=0, random_state=0).fit(X)
    weights = model.transform(X)
    model.set_params(beta=1)
    np.testing.assert_array_equal(model.transform(X), weights)
    assert model.beta_ == 0.5


def test_a_refusal_is_no_warning(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BetaNMF(2, beta=0.5, tol=1e-3, random_state=0).fit(random_counts(rng))


def test_the_score_takes_row_blocks_as_others_do(rng):
    """It once took memory_limit and client and did nothing with them."""
    X = positive_data(rng)
    model = BetaNMF(2, beta=0.5, max_iter=20, tol=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match="memory_limit and client are for data in row blocks"):
        model.score(X, memory_limit="1 GB")
    blocks = [X[:5], X[5:]]
    assert model.score(blocks, memory_limit="1 GB") == pytest.approx(model.score(X), rel=1e-12)


@pytest.mark.parametrize("solver", ["auto", "joint", "alternating", "accelerated"])
@pytest.mark.parametrize("beta", [0.5, 2])
@pytest.mark.parametrize("penalty", [None, "log"])
def test_row_blocks_are_fitted_like_the_matrix(rng, beta, solver, penalty):
    if solver == "auto":  # least squares need the matrix
        solver = "accelerated" if beta == 2 else "auto"
    X = positive_data(rng, 40)
    settings = {"solver": solver, "penalty": penalty, "max_iter": 12, "tol": 0, "random_state": 0}
    times = rng.integers(1, 4, 40)
    whole = BetaNMF(3, beta=beta, **settings).fit(X, sample_weight=times)
    parts = BetaNMF(3, beta=beta, **settings).fit([X[:15], X[15:]], sample_weight=times)
    np.testing.assert_allclose(parts.components_, whole.components_, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(parts.weights_, whole.weights_, rtol=1e-7, atol=1e-12)
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-10)
    assert parts.score([X[:15], X[15:]]) == pytest.approx(whole.score(X), rel=1e-6)


def test_row_blocks_whose_divergence_is_infinite_are_refused(rng):
    X = positive_data(rng)
    X[12, 3] = 0
    with pytest.raises(ValueError, match="X has zeros"):
        BetaNMF(2, beta=0).fit([X[:5], X[5:]])


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ({"topics": Lasso(0.3)}, "without a penalty of their own"),
        ({"topics": UnitNorm()}, "without a penalty of their own"),
        ({"weights": PowerPenalty(0.1)}, "finite slope at zero"),
        ({"weights": Relevance()}, "needs a fixed penalty"),
        ({"weights": Simplex(), "topics": Simplex()}, "needs point estimates"),
    ],
)
def test_priors_that_would_not_be_minimised_are_refused(rng, priors, message):
    for solver in ("auto", "joint", "alternating"):
        with pytest.raises(ValueError, match=message):
            TopicModel(2, divergence=Beta(2), solver=solver, **priors).fit(positive_data(rng))


def test_the_general_model_with_beta_one_is_kullback_leibler(rng):
    X = rng.poisson(3.0, (14, 9)).astype(float)
    settings = {"max_iter": 5, "tol": 0, "random_state": 0}
    general = TopicModel(2, divergence=Beta(1), **settings).fit(X)
    np.testing.assert_array_equal(general.components_, NMF(2, **settings).fit(X).components_)
    assert general.perplexity(X) > 0
