"""Inference of single samples in the core, against EM in NumPy and against its twin."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import sparse_counts
from scipy import sparse

from isotopic import LDA, GammaPoisson, PoissonFactorization, row_inference
from isotopic._core import in_numpy
from isotopic.counts import CountMatrix
from isotopic.init import uniform_start
from isotopic.priors import (
    CollapsedDirichlet,
    Dirichlet,
    DirichletMean,
    DirichletMode,
    Evidence,
    Fixed,
    Gamma,
    Posterior,
    WithSizeFactors,
)
from isotopic.problem import Problem
from isotopic.row_inference import Steps, infer_rows
from isotopic.solvers import CoreFoldIn, FoldIn, choose_fold_in, row_rule, solve
from isotopic.threads import use_threads

N, V, K = 40, 30, 5


def priors(rng):
    """Priors that the core knows: one concentration, one by component, one by entry."""
    own = rng.random((N, K)) / 2
    return {
        "variational": Dirichlet(0.3),
        "by component": Dirichlet(rng.gamma(1.0, size=K) + 0.05),
        "by sample": DirichletMean(rng.gamma(1.0, size=(N, K)) + 0.05),
        "mean": DirichletMean(0.2),
        "collapsed": CollapsedDirichlet(0.2, self_contribution=own),
        "gamma": Gamma(0.4, 0.7),
        "gamma by component": Gamma(rng.gamma(1.0, size=K), rng.gamma(1.0, size=K) + 0.1),
    }


NAMES = list(priors(np.random.default_rng(0)))


def known(rng, name, dtype=np.float64, normalized=True):
    """Return a problem with known topics; one sample has no counts, one count no topic."""
    X = sparse_counts(rng, N, V, 0.3, dtype).tolil()
    X[3] = 0
    topics = rng.gamma(0.5, size=(K, V)) + 1e-3
    topics[:, 7] = 0
    if normalized:
        topics /= topics.sum(axis=1, keepdims=True)
    point = Posterior(*2 * (np.asfortranarray(topics, dtype),))
    X = CountMatrix(sparse.csr_matrix(X, dtype=dtype))
    return Problem(priors(rng)[name], Fixed(point, normalized), X, K), point


def solved(problem, topics, solver):
    start = uniform_start(problem, topics)
    return solve(problem, solver, start, max_iter=10**5, tol=solver.tol)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("normalized", [True, False])
def test_the_core_finds_the_weights_that_em_in_numpy_finds(rng, name, normalized):
    problem, topics = known(rng, name, normalized=normalized or not name.startswith("gamma"))
    assert choose_fold_in(problem, 1e-6) == CoreFoldIn(1e-6)
    em, core = (solved(problem, topics, solver(1e-6)) for solver in (FoldIn, CoreFoldIn))
    assert em.converged
    assert core.converged
    # Rounding can decide whether a step is taken back, so both stop at slightly different points.
    np.testing.assert_allclose(core.state.counts, em.state.counts, atol=1e-4)
    np.testing.assert_array_equal(core.state.counts[3], 0)
    assert core.state.objective == pytest.approx(em.state.objective, rel=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
def test_the_core_agrees_with_its_twin_in_numpy(rng, monkeypatch, name, dtype):
    problem, topics = known(rng, name, dtype)
    X, rule = problem.X.only_features(topics.explains).view(), row_rule(problem)
    steps = Steps(0.9, 0.1, 0.9, 1.1, 0.0004, 0.95, 1.0)
    for settings in ({"max_updates": 5}, {"max_updates": 4, "steps": steps}):
        ours = infer_rows(X, topics.prepared, rule, with_squares=True, **settings)
        with monkeypatch.context() as patched:
            patched.setattr(row_inference, "native", in_numpy)
            padded = topics.prepared._replace(padded=topics.prepared.topics.T)
            theirs = infer_rows(X, padded, rule, with_squares=True, **settings)
        tolerance = 1e-8 if dtype == np.float64 else 3e-4
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_plain_update_is_what_the_prior_absorbs(rng, name):
    problem, topics = known(rng, name)
    X = problem.X.only_features(topics.explains)
    weights = uniform_start(replace(problem, X=X), topics)[0]
    for updates in range(3):
        rows = infer_rows(X.view(), topics.prepared, row_rule(problem), max_updates=updates)
        expected = problem.data_pass(
            problem.weights, weights, topics, weights_only=True, jointly=True, rescales=False
        ).weights
        np.testing.assert_allclose(rows.counts, expected, rtol=1e-10, atol=1e-12)
        weights = problem.absorb_weights(expected, topics)


def test_squares_are_the_sums_of_squared_responsibilities(rng):
    problem, topics = known(rng, "mean")
    X = problem.X.only_features(topics.explains)
    rows = infer_rows(
        X.view(), topics.prepared, row_rule(problem), max_updates=1, with_squares=True
    )
    first = infer_rows(X.view(), topics.prepared, row_rule(problem), max_updates=0).counts
    weights = problem.absorb_weights(first, topics).effective
    dense, expected = sparse.csr_matrix((X.values, X.features, X.row_starts), X.shape), []
    for x, weight in zip(dense.toarray(), weights, strict=True):
        shares = weight[:, np.newaxis] * topics.effective[:, x > 0]
        shares /= shares.sum(axis=0)
        expected.append((shares**2) @ (x[x > 0] * np.minimum(x[x > 0], 1)))
    np.testing.assert_allclose(rows.squares, expected, rtol=1e-10)


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(NAMES), threads=st.integers(1, 3))
def test_a_sample_does_not_see_its_batch_or_the_threads(seed, name, threads):
    rng = np.random.default_rng(seed)
    problem, topics = known(rng, name)
    whole = solved(problem, topics, CoreFoldIn(1e-6)).state.counts
    which = rng.permutation(N)[: rng.integers(1, N)]
    part = replace(problem, weights=problem.weights.rows(which), X=problem.X.rows(which))
    with use_threads(threads):
        found = solved(part, topics, CoreFoldIn(1e-6)).state.counts
    np.testing.assert_array_equal(found, whole[which])


def test_groups_of_samples_change_no_bit(rng, monkeypatch):
    from isotopic.solvers import core_fold_in

    problem, topics = known(rng, "collapsed")
    whole = solved(problem, topics, CoreFoldIn(1e-6))
    monkeypatch.setattr(core_fold_in, "_GROUP", 7)
    found = solved(problem, topics, CoreFoldIn(1e-6))
    np.testing.assert_array_equal(found.state.counts, whole.state.counts)
    assert found.state.objective == pytest.approx(whole.state.objective)


def test_a_sample_that_does_not_converge_in_the_core_is_given_up(rng):
    problem, topics = known(rng, "mean")
    found = solved(problem, topics, CoreFoldIn(1e-300, max_updates=3))
    assert not found.converged
    assert found.state.passes == 3
    assert np.isfinite(found.state.residual)


def test_priors_that_the_core_does_not_know_are_refused(rng):
    problem, topics = known(rng, "mean")
    size = WithSizeFactors(Gamma(0.4, 0.7), np.full(N, 2.0))
    forbidden = np.zeros((N, K), bool)
    forbidden[0, 0] = True
    for prior in (DirichletMode(1.5), size, DirichletMean(0.2, forbidden=forbidden)):
        other = replace(problem, weights=prior)
        assert choose_fold_in(other, 1e-6) == FoldIn(1e-6)
        with pytest.raises(ValueError, match="Use FoldIn"):
            solved(other, topics, CoreFoldIn(1e-6))


def test_self_contributions_of_new_samples_are_those_of_five_updates(rng):
    from isotopic.init import with_self_contribution_estimate

    problem, topics = known(rng, "mean")
    problem = replace(problem, weights=CollapsedDirichlet(0.2))
    found = with_self_contribution_estimate(problem, uniform_start(problem, topics))
    X = problem.X.only_features(topics.explains)
    rows = infer_rows(
        X.view(), topics.prepared, row_rule(problem), max_updates=5, with_squares=True
    )
    expected = problem.weights.self_contribution_of(Evidence(rows.counts, rows.squares, 1.0))
    np.testing.assert_array_equal(found.weights.self_contribution, expected)


@pytest.mark.parametrize("model", [LDA, GammaPoisson, PoissonFactorization])
def test_prepared_topics_are_made_once_and_never_saved(rng, model):
    X = sparse_counts(rng, N, V, 0.3)
    fitted = model(3, max_iter=5, tol=0, random_state=0).fit(X)
    size = len(pickle.dumps(fitted))
    weights = fitted.transform(X)
    topics = fitted.fitted_.known_topics(np.dtype(np.float64))
    assert topics is fitted.fitted_.known_topics(np.dtype(np.float64))
    assert topics.prepared is topics.prepared
    assert len(pickle.dumps(fitted)) == size
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), weights)
