"""Strategies for the start: what they promise for any counts, and that they find what is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_counts, sparse_counts
from scipy import optimize, sparse
from threadpoolctl import threadpool_limits

from isotopic import LDA, NMF, PLSA, CountMatrix
from isotopic.init import STRATEGIES, random_start, strategy_start
from isotopic.init.singular_vectors import singular_vectors
from isotopic.priors import Dirichlet, Free, Gamma, Lasso, Simplex
from isotopic.problem import Problem
from isotopic.solvers import Alternating, JointEM, solve
from isotopic.threads import use_threads

INFORMED = [name for name in STRATEGIES if name != "random"]
FORMS = [np.asarray, sparse.csr_array]


def shared_out(name, X, n_components, seed=0):
    return STRATEGIES[name](CountMatrix(X), n_components, np.random.default_rng(seed))


def assert_shares_out(X, n_components, weight_counts, topic_counts):
    """All counts go to components, and none is left with nothing."""
    X = CountMatrix(X)
    assert weight_counts.shape == (X.shape[0], n_components)
    assert topic_counts.shape == (n_components, X.shape[1])
    np.testing.assert_allclose(weight_counts.sum(axis=1), X.sample_totals, rtol=1e-12)
    np.testing.assert_allclose(topic_counts.sum(axis=0), X.feature_totals, rtol=1e-12)
    assert np.all(weight_counts[X.sample_totals > 0] > 0)
    assert np.all(topic_counts[:, X.feature_totals > 0] > 0)


def block_counts(rng, sizes=(30, 25, 20), width=12, total=200):
    """Samples of a few kinds, each with features of its own and some that all share."""
    topics = np.kron(np.eye(len(sizes)), np.ones(width))
    topics = np.hstack([topics, np.full((len(sizes), width), 0.3)])
    kinds = np.repeat(np.arange(len(sizes)), sizes)
    chances = topics[kinds] / topics[kinds].sum(axis=1, keepdims=True)
    return np.array([rng.multinomial(total, p) for p in chances], float), kinds


ODD = {
    "all zero": np.zeros((4, 5)),
    "no rows": np.zeros((0, 5)),
    "one entry": np.eye(4, 5)[:1] * 3,
    "one row": np.array([[3.0, 0, 1, 2]]),
    "one column": np.array([[3.0], [0], [1], [2]]),
    "one by one": np.array([[7.0]]),
    "constant": np.full((6, 4), 2.0),
    "constant, not whole": np.full((6, 4), 0.1),
    "identity": np.eye(6),
    "copies of two rows": np.tile([[1.0, 2, 0, 0], [0, 0, 5, 1]], (5, 1)),
    "empty rows and columns": np.pad(np.arange(12.0).reshape(3, 4), ((2, 1), (1, 2))),
    "one count a row": np.eye(3)[[0, 1, 2, 0, 1]],
    "tiny": np.array([[1e-300, 0, 2e-300], [3e-300, 1e-300, 0]]),
    "huge": np.array([[1e300, 0, 2e300], [3e300, 1e300, 0]]),
    "tiny and large": np.array([[1e-300, 0, 0], [2e-300, 1e15, 3], [1, 1e15, 1e-300]]),
    "tiny row": np.array([[1e-300, 2e-300], [1e15, 3e15]]),
    "tiny column": np.array([[1e-200, 1e15], [2e-200, 3e15]]),
}


@pytest.mark.every(5)
@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])
@pytest.mark.parametrize("n_components", [1, 2, 3, 9])
@pytest.mark.parametrize("name", INFORMED)
@pytest.mark.parametrize("case", ODD)
def test_odd_counts_are_shared_out(case, name, n_components, form):
    X = form(ODD[case])
    weight_counts, topic_counts = shared_out(name, X, n_components)
    assert_shares_out(X, n_components, weight_counts, topic_counts)


@given(
    n_samples=st.integers(1, 30),
    n_features=st.integers(1, 40),
    n_components=st.integers(1, 12),
    density=st.floats(0, 2),
    seed=st.integers(0, 2**32 - 1),
    dense=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    name=st.sampled_from(INFORMED),
)
def test_any_counts_are_shared_out(
    n_samples, n_features, n_components, density, seed, dense, dtype, name
):
    X = sparse_counts(np.random.default_rng(seed), n_samples, n_features, density, dtype)
    X = X.toarray() if dense else X
    assert_shares_out(X, n_components, *shared_out(name, X, n_components, seed))


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_scale_of_the_counts_changes_nothing_else(rng, name, form):
    X = block_counts(rng)[0]
    counts = shared_out(name, form(X), 5)
    for scale, rtol in [(2.0**-900, 0), (2.0, 0), (3e-290, 1e-6), (1e-5, 1e-6), (7e13, 1e-6)]:
        scaled = shared_out(name, form(X * scale), 5)
        for one, other in zip(counts, scaled, strict=True):
            np.testing.assert_allclose(other / scale, one, rtol=rtol)


@pytest.mark.parametrize("name", STRATEGIES)
def test_dense_and_sparse_counts_start_alike(rng, name):
    X = block_counts(rng)[0]
    for one, other in zip(
        shared_out(name, X, 4), shared_out(name, sparse.csr_array(X), 4), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_same_generator_gives_the_same_bits_with_any_threads(rng, name, form):
    X = form(sparse_counts(rng, 900, 400, 0.05).toarray())

    def with_threads(n_jobs):
        with use_threads(n_jobs), threadpool_limits(n_jobs):
            return shared_out(name, X, 7)

    first = with_threads(1)
    for n_jobs in (1, 2, 5):
        for one, other in zip(first, with_threads(n_jobs), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", INFORMED)
def test_generators_give_different_starts(rng, name):
    """Beyond what can be found, components are random: several starts are worth their while."""
    X = random_counts(rng)
    one, other = (shared_out(name, X, 20, seed)[1] for seed in (0, 1))
    assert not np.allclose(one, other)


@pytest.mark.parametrize("name", STRATEGIES)
def test_global_generator_and_data_are_left_alone(rng, name):
    X = random_counts(rng)
    before, state = X.copy(), np.random.get_state()  # noqa: NPY002
    shared_out(name, X, 4)
    np.testing.assert_array_equal(X, before)
    after = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(state, after, strict=True))


@pytest.mark.parametrize("name", INFORMED)
@pytest.mark.parametrize("case", ["constant", "identity", "copies of two rows", "one count a row"])
def test_no_two_components_start_alike(case, name):
    """Updates move equal components equally, for ever."""
    topics = shared_out(name, ODD[case], 9)[1]
    topics /= topics.sum(axis=1, keepdims=True)
    assert len(np.unique(topics.round(12), axis=0)) == 9


@pytest.mark.parametrize("form", FORMS, ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["spectral", "kmeans"])
def test_finds_clear_topics(rng, name, form):
    X, kinds = block_counts(rng)
    weight_counts, topic_counts = shared_out(name, form(X), 3)
    component_of = [
        np.bincount(weight_counts[kinds == k].argmax(axis=1)).argmax() for k in range(3)
    ]
    assert sorted(component_of) == [0, 1, 2]
    assert np.mean(weight_counts.argmax(axis=1) == np.take(component_of, kinds)) > 0.95
    own = topic_counts[component_of].reshape(3, 4, 12).sum(axis=2)
    assert np.all(np.diag(own[:, :3]) > 0.8 * own[:, :3].sum(axis=0))


def test_spectral_finds_anchors_of_mixed_samples(rng):
    """Every sample has all topics; only what occurs together tells them apart."""
    topics = np.hstack([0.2 * np.eye(3), 0.8 * rng.dirichlet(np.full(40, 0.3), 3)])
    weights = rng.dirichlet(np.full(3, 0.5), 2000)
    X = np.array([rng.multinomial(300, p / p.sum()) for p in weights @ topics], float)
    found = shared_out("spectral", sparse.csr_array(X), 3)[1]
    found /= found.sum(axis=1, keepdims=True)
    distances = np.abs(found[:, np.newaxis] - topics).sum(axis=2)
    assert sorted(distances.argmin(axis=0)) == [0, 1, 2]
    assert distances.min(axis=0).max() < 0.3  # of at most 2; random topics are at about 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["random", "nndsvd", "spectral", "pooled"])
def test_a_sample_of_weight_two_counts_as_two_samples(rng, name, form):
    X = rng.poisson(rng.gamma(0.5, 2.0, (30, 12)) + 0.05).astype(float)
    copies = rng.integers(1, 4, len(X))
    weighted = CountMatrix(form(X)).repeated(copies.astype(float))
    repeated = CountMatrix(form(np.repeat(X, copies, axis=0)))
    (weights, topics), (by_copy, topics_again) = (
        STRATEGIES[name](data, 4, np.random.default_rng(0)) for data in (weighted, repeated)
    )
    np.testing.assert_allclose(topics, topics_again, rtol=1e-6)
    summed = np.add.reduceat(by_copy, np.cumsum(copies) - copies)
    np.testing.assert_allclose(weights, summed, rtol=1e-6)


@pytest.mark.parametrize(("n_features", "total", "eta"), [(1000, 100, 0.05), (600, 60, 0.1)])
def test_pooled_starts_find_rare_topics(n_features, total, eta):
    """Topics in 1 % to 30 % of the counts, of 400 samples: in five of six data sets at least."""
    found, alpha = 0, np.geomspace(0.03, 0.6, 8)
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        topics = rng.dirichlet(np.full(n_features, eta), len(alpha))
        chances = rng.dirichlet(alpha, 400) @ topics
        X = sparse.csr_array([rng.multinomial(total, row) for row in chances])
        fitted = LDA(len(alpha), init="pooled", random_state=seed).fit(X).components_
        one, other = (rows / np.linalg.norm(rows, axis=1)[:, None] for rows in (topics, fitted))
        cosines = one @ other.T
        found += cosines[optimize.linear_sum_assignment(cosines, maximize=True)].min() > 0.8
    assert found >= 5


@pytest.mark.parametrize("kind", [NMF, PLSA])
def test_default_starts_of_point_estimates_find_parts_that_random_starts_miss(kind):
    """Ten parts, which 3 to 60 % of the samples have."""
    found = dict.fromkeys(["auto", "random"], 0)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        topics = rng.dirichlet(np.full(60, 0.2), 10)
        present = rng.random((300, 10)) < np.geomspace(0.03, 0.6, 10)
        X = rng.poisson((present * rng.gamma(1, 600, (300, 10))) @ topics)
        for init in found:
            fitted = kind(10, init=init, random_state=seed).fit(X[X.any(axis=1)]).components_
            one, other = (rows / np.linalg.norm(rows, axis=1)[:, None] for rows in (topics, fitted))
            cosines = one @ other.T
            found[init] += cosines[optimize.linear_sum_assignment(-cosines)].min() > 0.9
    assert found["auto"] >= max(4, found["random"] + 2)


def test_nndsvd_starts_close_to_counts_of_low_rank(rng):
    X, _ = block_counts(rng)
    problem = Problem(Free(), Simplex(), CountMatrix(X), 3)
    informed, random = (
        problem.evaluate(*strategy_start(problem, name, np.random.default_rng(0)), passes=0)
        for name in ("nndsvd", "random")
    )
    best = solve(problem, JointEM(), strategy_start(problem, "kmeans", rng), max_iter=200, tol=0)
    lowest = best.state.objective
    assert informed.objective - lowest < 0.5 * (random.objective - lowest)


@pytest.mark.parametrize(
    ("weights", "topics"),
    [
        (Free(), Free()),
        (Free(), Simplex()),
        (Lasso(0.5), Simplex()),
        (Simplex(), Simplex()),
        (Dirichlet(0.1), Simplex()),
        (Dirichlet(0.1), Dirichlet(0.1)),
        (Gamma(1.0, 1.0), Simplex()),
    ],
    ids=lambda prior: type(prior).__name__,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_model_can_start_anywhere(rng, name, dtype, weights, topics):
    problem = Problem(weights, topics, CountMatrix(random_counts(rng), dtype), 4)
    start = strategy_start(problem, name, rng)
    assert all(side.effective.dtype == dtype for side in start)
    solver = JointEM() if problem.can_update_jointly else Alternating()
    history = solve(problem, solver, start, max_iter=5, tol=0).history["objective"]
    assert np.all(np.diff(history) <= 1e-5 * np.abs(history[:-1]))


def test_random_strategy_is_the_random_start(rng):
    problem = Problem(Free(), Simplex(), CountMatrix(random_counts(rng)), 4)
    one = random_start(problem, np.random.default_rng(3))
    other = strategy_start(problem, "random", np.random.default_rng(3))
    for side, same in zip(one, other, strict=True):
        np.testing.assert_array_equal(side.mean, same.mean)


def test_unknown_strategy_is_named(rng):
    problem = Problem(Free(), Simplex(), CountMatrix(random_counts(rng)), 4)
    with pytest.raises(ValueError, match=r"init must be one of .*nndsvd.*kmeans.*, not 'svd'"):
        strategy_start(problem, "svd", rng)


def test_singular_vectors_of_low_rank_are_exact(rng):
    dense = rng.random((60, 5)) @ rng.random((5, 40))
    left, values, right = singular_vectors(sparse.csr_array(dense), 8, rng)
    assert len(values) == 5
    np.testing.assert_allclose(values, np.linalg.svd(dense, compute_uv=False)[:5])
    np.testing.assert_allclose(left * values @ right.T, dense)


def test_singular_vectors_do_not_depend_on_threads_or_on_how_rows_are_split(rng):
    matrix = sparse.random_array((2500, 300), density=0.02, rng=rng, format="csr")
    found = []
    for threads in (1, 3):
        with use_threads(threads):
            found.append(singular_vectors(matrix, 10, np.random.default_rng(0)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    order = rng.permutation(2500)
    split = sparse.vstack([0.6 * matrix, 0.8 * matrix[order]], format="csr")
    _, values, right = singular_vectors(split, 10, np.random.default_rng(0))
    np.testing.assert_allclose(values, found[0][1])
    np.testing.assert_allclose(right * right[0], found[0][2] * found[0][2][0], atol=1e-9)
