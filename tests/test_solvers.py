"""The accelerated solver and the inference for new samples: promises, then speed in passes."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_counts, random_factors, sparse_counts
from scipy import sparse
from test_algorithms import PAIRS

from isotopic import LDA, NMF, Dirichlet, Free, Gamma, GammaPoisson, Lasso, Simplex, datasets
from isotopic._core import in_numpy, native
from isotopic.counts import CountMatrix
from isotopic.elementwise import extrapolated
from isotopic.init import random_start, start_from_arrays, uniform_start
from isotopic.kernels import descended, descended_topics, row_pass
from isotopic.priors import (
    DirichletMean,
    DirichletMode,
    Fixed,
    LogPenalty,
    Posterior,
    SampleWeighted,
    WithSizeFactors,
)
from isotopic.problem import Problem, State
from isotopic.solvers import (
    Accelerated,
    Alternating,
    BlockUpdate,
    CoordinateDescent,
    DescentFoldIn,
    ExtrapolatedDescent,
    FoldIn,
    HyperparameterUpdates,
    JointEM,
    MixedPrecision,
    Solver,
    TwoPhase,
    choose_fold_in,
    choose_solver,
    descent_fold_in,
    fold_in,
    solve,
)
from isotopic.threads import use_threads

COMPONENTS = 4
WEIGHTS = [Free(), Lasso(0.7), Simplex(), Dirichlet(0.3), Gamma(0.4, 0.7)]


def a_problem(pair, seed, *, n_samples=12, n_features=9, dtype=np.float64):
    X = random_counts(np.random.default_rng(seed), n_samples, n_features, mean=3.0)
    return Problem(*pair, CountMatrix(X, dtype), COMPONENTS)


def a_start(problem, seed=0):
    return random_start(problem, np.random.default_rng(seed))


def with_topics(rng, X, weights_prior, *, normalized=True):
    """Make a problem of which the topics are known, some features being in none of them."""
    topics = random_factors(rng, 1, COMPONENTS, X.shape[1])[1]
    topics[:, ::7] = 0
    topics = np.asfortranarray(topics * (1 if normalized else [[2.0], [0.5], [3.0], [1.0]]))
    topics = topics.astype(X.dtype, copy=False)
    known = Posterior(topics, topics)
    return Problem(weights_prior, Fixed(known, normalized), CountMatrix(X), COMPONENTS), known


def folded_in(problem, topics, *, tol=1e-6):
    start = uniform_start(problem, topics)
    return solve(problem, FoldIn(tol), start, max_iter=5000, tol=tol)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 15))
def test_a_fit_never_ends_worse_than_it_began(pair, seed, steps):
    problem = a_problem(pair, seed)
    solver = Accelerated()
    state = solver.init(problem, *a_start(problem, seed))
    before = state.objective
    for _ in range(steps):
        state = solver.step(problem, state)
        assert state.objective <= before + 1e-12 * abs(before)
        before = state.objective


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_what_a_state_holds_belongs_together(pair):
    problem, solver = a_problem(pair, 1), Accelerated()
    state = solver.init(problem, *a_start(problem))
    for _ in range(30):
        state = solver.step(problem, state)
        here = problem.evaluate(state.weights, state.topics, passes=0)
        assert (here.objective, here.residual) == (state.objective, state.residual)
        np.testing.assert_array_equal(here.counts.weights, state.counts.weights)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_every_pair_converges_in_one_pass_an_iteration(pair):
    problem = a_problem(pair, 2)
    solution = solve(problem, Accelerated(), a_start(problem), max_iter=5000, tol=1e-8)
    assert solution.converged
    assert solution.history["residual"][-1] <= 1e-8
    assert np.all(np.diff(solution.history["passes"]) == 1)


@pytest.mark.parametrize(
    "pair",
    [
        (Free(), Simplex()),
        (Free(), Free()),
        (Dirichlet(0.1), Simplex()),
        (Dirichlet(0.1), Dirichlet(0.05)),
        (Gamma(1.0, 1.0), Simplex()),
        (Gamma(0.3, 1.0), Gamma(0.3, 1.0)),
    ],
    ids=str,
)
def test_few_passes_end_no_worse_than_many_plain_ones(rng, pair):
    weights, topics = random_factors(rng, 150, 6, 80)
    X = CountMatrix(rng.poisson(4 * weights @ topics**3 / (topics**3).mean()))
    problem = Problem(*pair, X, 6)
    plain = JointEM() if problem.can_update_jointly else Alternating()
    n_plain = 600 if problem.can_update_jointly else 300  # of one or two passes
    fell, fell_plainly = [], []
    for seed in range(2):
        began = problem.evaluate(*a_start(problem, seed), passes=0).objective
        for solver, n_iter, falls in ((Accelerated(), 150, fell), (plain, n_plain, fell_plainly)):
            state = solve(problem, solver, a_start(problem, seed), max_iter=n_iter, tol=0).state
            falls.append(began - state.objective)
    assert np.mean(fell) >= 0.99 * np.mean(fell_plainly)


def test_a_settled_fit_is_left_in_peace():
    problem = a_problem((Dirichlet(0.1), Simplex()), 3)
    settled = solve(problem, JointEM(), a_start(problem), max_iter=20000, tol=1e-10).state
    again = solve(problem, Accelerated(), (settled.weights, settled.topics), max_iter=5, tol=0)
    assert again.state.objective <= settled.objective + 1e-12 * abs(settled.objective)
    assert again.state.residual < 1e-9


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_same_bits_for_any_number_of_threads(rng, pair):
    X = CountMatrix(sparse_counts(rng, 700, 203, 0.1))
    problem = Problem(*pair, X, COMPONENTS)
    results = []
    for threads in (1, 2, 3):
        with use_threads(threads):
            state = solve(problem, Accelerated(), a_start(problem), max_iter=8, tol=0).state
        results.append(state)
    for other in results[1:]:
        np.testing.assert_array_equal(other.weights.mean, results[0].weights.mean)
        np.testing.assert_array_equal(other.topics.mean, results[0].topics.mean)
        assert other.objective == results[0].objective


def test_a_stored_state_goes_on_with_the_same_bits():
    problem, solver = a_problem((Dirichlet(0.1), Simplex()), 4), Accelerated()
    state = solver.init(problem, *a_start(problem))
    for _ in range(6):
        state = solver.step(problem, state)
    stored = pickle.loads(pickle.dumps(state))
    for _ in range(20):
        state, stored = solver.step(problem, state), solver.step(problem, stored)
    np.testing.assert_array_equal(stored.weights.parameters, state.weights.parameters)
    np.testing.assert_array_equal(stored.topics.mean, state.topics.mean)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros_stay_zero(rng, dtype):
    problem = a_problem((Free(), Simplex()), 5, dtype=dtype)
    weights, topics = random_factors(rng, 12, COMPONENTS, 9)
    weights[1, 2] = weights[5, 0] = topics[0, 3] = topics[2, 8] = 0
    start = start_from_arrays(problem, weights, topics)
    state = solve(problem, Accelerated(), start, max_iter=40, tol=0).state
    assert np.flatnonzero(state.weights.mean == 0).tolist() == [6, 20]
    assert np.flatnonzero(state.topics.mean == 0).tolist() == [3, 26]


@pytest.mark.parametrize("weights_prior", WEIGHTS, ids=str)
def test_known_topics_are_left_as_they_are(rng, weights_prior):
    X = random_counts(rng, 20, 15, mean=2.0)
    X[:, ::7] = 0
    problem, topics = with_topics(rng, X, weights_prior)
    start = uniform_start(problem, topics)
    solution = solve(problem, Accelerated(), start, max_iter=2000, tol=1e-9)
    assert solution.converged
    assert solution.state.topics is topics


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_float32_is_fitted_as_well(pair):
    double, single = (a_problem(pair, 6, dtype=dtype) for dtype in (np.float64, np.float32))
    ends = [solve(p, Accelerated(), a_start(p), max_iter=1000, tol=1e-5) for p in (double, single)]
    assert ends[1].state.weights.mean.dtype == ends[1].state.topics.mean.dtype == np.float32
    assert ends[1].converged
    assert ends[1].state.objective == pytest.approx(ends[0].state.objective, rel=2e-2)


def test_a_default_fit_in_float32_converges_where_float64_does():
    X = datasets.load_kjv().data[:300]
    fits = [NMF(10, random_state=0).fit(X.astype(dtype)) for dtype in (np.float64, np.float32)]
    assert fits[1].components_.dtype == np.float32
    assert all(fit.converged_ and fit.history_["residual"][-1] <= 1e-4 for fit in fits)
    assert fits[1].objective_ == pytest.approx(fits[0].objective_, rel=1e-4)


def of_size(products, pair=None, values=lambda X: X):
    """Make a problem that is large by its components; its data is small."""
    pair = (Free(), Simplex()) if pair is None else pair
    X = values(datasets.load_kjv().data[:100].astype(np.float64))
    return Problem(*pair, CountMatrix(X), products // X.nnz + 1)


def test_auto_descends_where_it_can_and_where_that_matters():
    for pair in ((Free(), Simplex()), (Free(), Free()), (Simplex(), Simplex())):
        assert choose_solver("auto", of_size(2**20, pair)) == MixedPrecision(ExtrapolatedDescent())
        assert choose_solver("auto", of_size(2**19, pair)) == Accelerated()
    for pair in ((Dirichlet(0.3), Simplex()), (Gamma(0.4, 0.7), Free())):
        assert choose_solver("auto", of_size(2**20, pair)) == Accelerated()
    assert choose_solver("accelerated", of_size(2**20)) == Accelerated()


def test_auto_descends_in_double_precision_where_single_has_no_room():
    for values in (lambda X: X * 1e-20, lambda X: X * 1e20, lambda X: X.astype(np.float32)):
        assert choose_solver("auto", of_size(2**20, values=values)) == ExtrapolatedDescent()
    problem, copies = of_size(2**20), np.full(100, 2.0)
    weighted = replace(
        problem, weights=SampleWeighted(Free(), copies), X=problem.X.repeated(copies)
    )
    assert choose_solver("auto", weighted) == ExtrapolatedDescent()


@pytest.mark.parametrize(
    "pair", [(Free(), Simplex()), (Lasso(0.7), Simplex()), (Simplex(), Simplex()), (Free(), Free())]
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("inner", [Accelerated(TwoPhase()), ExtrapolatedDescent()])
def test_mixed_precision_ends_where_double_precision_does(rng, pair, container, inner):
    X = container(random_counts(rng, 40, 30, mean=3.0))
    problem = Problem(*pair, CountMatrix(X, np.float64), COMPONENTS)
    ways = inner, MixedPrecision(inner)
    double, mixed = (
        solve(problem, way, a_start(problem), max_iter=20_000, tol=1e-8) for way in ways
    )
    assert mixed.converged
    assert {side.mean.dtype for side in (mixed.state.weights, mixed.state.topics)} == {
        np.dtype(np.float64)
    }
    assert mixed.state.objective == pytest.approx(double.state.objective, rel=1e-5)
    here = problem.evaluate(mixed.state.weights, mixed.state.topics, passes=0)
    assert here.objective == pytest.approx(mixed.state.objective, rel=1e-12)


@pytest.mark.parametrize("inner", [Accelerated(TwoPhase()), ExtrapolatedDescent()])
def test_mixed_precision_ends_in_double_wherever_it_is_stopped(inner):
    problem = a_problem((Free(), Simplex()), 0)
    for max_iter, tol in ((0, 0.0), (3, 0.0), (1000, 0.1)):
        way = MixedPrecision(inner, below=1e-6)
        found = solve(problem, way, a_start(problem), max_iter=max_iter, tol=tol)
        assert found.state.topics.mean.dtype == np.float32  # from where it may go on
        end = way.finish(problem, found.state)
        assert end.topics.mean.dtype == end.weights.mean.dtype == end.counts.topics.dtype
        assert end.topics.mean.dtype == np.float64
        np.testing.assert_allclose(end.topics.mean.sum(axis=1), 1, rtol=1e-12)


def test_a_fit_in_mixed_precision_goes_on_from_its_checkpoint_with_the_same_bits(rng, tmp_path):
    X, path = random_counts(rng, 30, 20), tmp_path / "fit"

    def interrupts(at):
        if at.iteration == 7:
            raise KeyboardInterrupt

    settings = {"max_iter": 20, "tol": 0, "random_state": 0}
    settings["solver"] = MixedPrecision(ExtrapolatedDescent())
    whole = NMF(3, **settings).fit(X)
    stopped = NMF(3, callbacks=interrupts, **settings)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(X, checkpoint=path)
    assert stopped.n_iter_ == 7
    assert stopped.components_.dtype == np.float64
    resumed = NMF(3, **settings).fit(X, checkpoint=path)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    np.testing.assert_array_equal(resumed.history_["objective"], whole.history_["objective"])


@pytest.mark.parametrize(("components", "largest"), [(4, 0.9), (50, 0.96), (400, 0.99)])
def test_the_momentum_of_descent_grows_to_a_limit_and_halves_when_a_step_fails(components, largest):
    X = random_counts(np.random.default_rng(0), 40, 30, mean=3.0)
    problem = Problem(Free(), Simplex(), CountMatrix(X), components)
    solver, seen, failures = ExtrapolatedDescent(), [], 0
    state = solver.step(problem, solver.init(problem, *a_start(problem)))
    for _ in range(40):
        before, state = state, solver.step(problem, state)
        if state.objective == before.objective and state.descended_topics is None:
            failures += 1
            assert state.momentum == before.momentum / 2
            assert state.max_momentum == before.momentum
        seen.append(state.momentum)
    assert failures
    assert 0.8 < max(seen) <= largest


@given(seed=st.integers(0, 2**32 - 1), below=st.sampled_from([1e-1, 1e-2, 1e-3]))
@pytest.mark.parametrize("inner", [Accelerated(TwoPhase()), ExtrapolatedDescent()])
def test_mixed_precision_never_rises(inner, seed, below):
    problem = a_problem((Free(), Simplex()), seed)
    solver = MixedPrecision(inner, below)
    state = solver.init(problem, *a_start(problem, seed))
    for _ in range(40):
        before = state.objective
        state = solver.step(problem, state)
        assert state.objective <= before + 1e-5 * (abs(before) + 1)


def test_phases_follow_the_residual():
    problem = a_problem((Free(), Simplex()), 0, n_samples=60, n_features=40)
    solver = TwoPhase(below=0.01)
    state = solver.init(problem, *a_start(problem))
    seen = set()
    while state.residual > 1e-4:
        new = solver.step(problem, state)
        assert new.passes - state.passes == (3 if state.residual <= 0.01 else 1)
        assert new.objective <= state.objective * (1 + 1e-12)
        seen.add(new.passes - state.passes)
        state = new
    assert seen == {1, 3}


def test_momentum_begins_anew_when_steps_of_more_passes_do(rng):
    problem = Problem(
        Free(), Simplex(), CountMatrix(random_counts(rng, 60, 40, mean=3.0)), COMPONENTS
    )
    solver, steps = Accelerated(TwoPhase(below=0.02, after=12)), []
    solve(
        problem,
        solver,
        a_start(problem),
        max_iter=40,
        tol=0,
        callbacks=[lambda at: steps.append(at.state)],
    )
    sharp = [state.passes_per_step > 1 for state in steps]
    first = sharp.index(True)
    assert steps[first - 1].passes >= 12  # and not before, however little moves
    assert steps[first - 1].momentum > 0.5 >= steps[first].momentum


def test_an_interruption_at_any_line_leaves_a_state_and_its_own_history():
    problem = a_problem((Free(), Simplex()), 0)
    start, heard = a_start(problem), 0
    for line in range(150):
        lines = 0

        def interrupt(frame, event, _, last=line):
            nonlocal lines
            if frame.f_code is not solve.__code__:
                return None
            if event == "line":
                lines += 1
                if lines == last:
                    raise KeyboardInterrupt
            return interrupt

        tracing = sys.gettrace()
        sys.settrace(interrupt)
        try:
            solution = solve(problem, JointEM(), start, max_iter=4, keep_interrupted=True)
        except KeyboardInterrupt:  # before the first iteration, or after the last
            continue
        finally:
            sys.settrace(tracing)
        heard += solution.interrupted
        assert solution.state.passes == len(solution.history)
    assert heard > 30


def test_a_fit_does_as_many_iterations_as_it_is_told(rng):
    X = random_counts(rng)
    for solver in ("auto", "accelerated"):
        model = NMF(3, max_iter=17, tol=0, solver=solver, random_state=0).fit(X)
        assert model.n_iter_ == len(model.history_) == 17
    assert model.history_["passes"][-1] == 17


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("components", [1, 3, 8, 21])
def test_extrapolation_is_what_it_says(rng, dtype, components):
    shape = 40, components
    latest = rng.gamma(0.3, size=shape).astype(dtype)
    previous = (latest * np.exp(2 * rng.normal(size=shape))).astype(dtype)
    latest[rng.random(shape) < 0.2] = 0
    previous[rng.random(shape) < 0.1] = 0
    totals, momentum, floor = (rng.random(40) for _ in range(3))
    floor /= 100
    further = extrapolated(latest, previous, totals, momentum=momentum, floor=floor)
    twin = np.empty_like(latest)
    in_numpy.extrapolate(latest, previous, totals, momentum, floor, twin, 1)
    np.testing.assert_allclose(further, twin, rtol=1e-6 if dtype == np.float32 else 3e-8)
    some = latest.any(axis=1)
    np.testing.assert_allclose(further.sum(axis=1)[some], totals[some], rtol=1e-6)
    np.testing.assert_array_equal(further == 0, latest == 0)
    for threads in (2, 3):
        again = np.empty_like(latest)
        native.extrapolate(latest, previous, totals, momentum, floor, again, threads)
        np.testing.assert_array_equal(again, further)


def test_without_momentum_and_floor_counts_stay(rng):
    counts = rng.gamma(1.0, size=(30, 7))
    stayed = extrapolated(counts, rng.random((30, 7)), counts.sum(axis=1), momentum=0, floor=0)
    np.testing.assert_allclose(stayed, counts, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weights_prior", WEIGHTS, ids=str)
def test_a_sample_does_not_see_its_batch(rng, weights_prior, dtype):
    X = sparse_counts(rng, 60, 45, 0.3, dtype)
    rows = rng.integers(60, size=400)
    problem, topics = with_topics(rng, X[rows], weights_prior)
    with use_threads(2):
        together = folded_in(problem, topics).state.counts
    with use_threads(1):
        np.testing.assert_array_equal(folded_in(problem, topics).state.counts, together)
        for i in (0, 17, 399):
            alone = Problem(weights_prior, problem.topics, problem.X.rows(np.array([i])), 4)
            np.testing.assert_array_equal(folded_in(alone, topics).state.counts[0], together[i])


@pytest.mark.parametrize(
    "weights_prior",
    [*WEIGHTS, DirichletMean(0.3), WithSizeFactors(Gamma(0.4, 0.7), np.linspace(0.5, 2, 60))],
    ids=str,
)
@given(seed=st.integers(0, 2**32 - 1), together=st.integers(5, 70), threads=st.integers(1, 3))
@settings(max_examples=4)
def test_how_many_samples_are_swept_together_changes_no_bit(weights_prior, seed, together, threads):
    rng = np.random.default_rng(seed)
    problem, topics = with_topics(rng, sparse_counts(rng, 60, 45, 0.3), weights_prior)
    found = folded_in(problem, topics)
    with pytest.MonkeyPatch.context() as patched, use_threads(threads):
        patched.setattr(fold_in, "_MIN_ACTIVE", together)
        patched.setattr(fold_in, "_MAX_ACTIVE", together)
        again = solve(
            problem,
            FoldIn(1e-6),
            uniform_start(problem, topics),
            max_iter=500_000,
            tol=1e-6,
        )
    assert found.converged
    assert again.converged
    np.testing.assert_array_equal(again.state.counts, found.state.counts)
    assert again.state.objective == pytest.approx(found.state.objective, rel=1e-12)


def test_missing_entries_are_the_same_however_many_samples_are_swept_together(rng, monkeypatch):
    X = random_counts(rng, 50, 30, mean=2.0)
    missing = rng.random(X.shape) < 0.2
    for weights_prior in WEIGHTS:
        problem, topics = with_topics(rng, X, weights_prior)
        problem = replace(problem, X=CountMatrix(X, missing=missing).as_sparse())
        whole = folded_in(problem, topics).state.counts
        with monkeypatch.context() as patched:
            patched.setattr(fold_in, "_MIN_ACTIVE", 5)
            patched.setattr(fold_in, "_MAX_ACTIVE", 5)
            found = folded_in(problem, topics)
        assert found.converged
        np.testing.assert_array_equal(found.state.counts, whole)


POINTS = [Free(), Lasso(0.7), Simplex()]


def descended_in(problem, topics, **settings):
    solver = DescentFoldIn(**{"tol": 1e-6, **settings})
    start = uniform_start(problem, topics)
    return solve(problem, solver, start, tol=solver.tol)


@pytest.mark.parametrize("weights_prior", POINTS, ids=str)
@pytest.mark.parametrize("normalized", [True, False])
def test_descent_finds_the_weights_that_em_finds(rng, weights_prior, normalized):
    X = sparse_counts(rng, 60, 45, 0.3)
    X = sparse.vstack([X, X[:1] * 0], format="csr")  # and a sample without counts
    problem, topics = with_topics(rng, X, weights_prior, normalized=normalized)
    assert choose_fold_in(problem, 1e-6) == DescentFoldIn(1e-8)
    em = solve(problem, FoldIn(1e-9), uniform_start(problem, topics), max_iter=10**6, tol=1e-9)
    found = descended_in(problem, topics, tol=1e-9)
    assert em.converged
    assert found.converged
    assert found.state.objective == pytest.approx(em.state.objective, rel=1e-10)
    np.testing.assert_allclose(found.state.counts, em.state.counts, atol=1e-4)
    np.testing.assert_array_equal(found.state.counts[-1], 0)


@pytest.mark.parametrize("weights_prior", POINTS, ids=str)
@pytest.mark.parametrize("together", [7, 2**14])
def test_descent_of_a_sample_does_not_see_its_batch(rng, monkeypatch, weights_prior, together):
    monkeypatch.setattr(descent_fold_in, "_GROUP", together)
    X = sparse_counts(rng, 60, 45, 0.3)
    rows = rng.integers(60, size=400)
    problem, topics = with_topics(rng, X[rows], weights_prior)
    with use_threads(2):
        found = descended_in(problem, topics).state.counts
    with use_threads(1):
        np.testing.assert_array_equal(descended_in(problem, topics).state.counts, found)
        for i in (0, 17, 399):
            alone = Problem(weights_prior, problem.topics, problem.X.rows(np.array([i])), 4)
            np.testing.assert_array_equal(descended_in(alone, topics).state.counts[0], found[i])


def test_descent_gives_a_sample_up_that_does_not_settle(rng):
    problem, topics = with_topics(rng, sparse_counts(rng, 60, 45, 0.3), Free())
    found = descended_in(problem, topics, tol=1e-300, max_updates=20)
    assert DescentFoldIn(1e-300).is_done(found.state)
    assert found.state.passes == 20
    assert not found.converged
    assert found.state.residual > 0


def test_weights_that_descent_does_not_know_are_found_by_em(rng):
    X = sparse_counts(rng, 20, 15, 0.3)
    for prior in (LogPenalty(0.3), DirichletMode(1.5), WithSizeFactors(Free(), np.full(20, 2.0))):
        assert choose_fold_in(with_topics(rng, X, prior)[0], 1e-6) == FoldIn(1e-6)
    single = with_topics(rng, X.astype(np.float32), Free())[0]
    assert choose_fold_in(single, 1e-6) == FoldIn(1e-6)
    missing = replace(single, X=CountMatrix(X, missing=rng.random(X.shape) < 0.2).as_sparse())
    assert choose_fold_in(missing, 1e-6) == FoldIn(1e-6)


def test_a_sample_that_does_not_settle_is_given_up(rng):
    problem, topics = with_topics(rng, sparse_counts(rng, 60, 45, 0.3), Free())
    start = uniform_start(problem, topics)
    found = solve(problem, FoldIn(1e-12, max_updates=3), start, max_iter=50, tol=1e-12)
    assert FoldIn(1e-12).is_done(found.state)
    assert found.state.passes <= 3
    assert not found.converged
    assert found.state.residual > 1e-12
    np.testing.assert_allclose(found.state.counts.sum(axis=1), explained_totals(problem, topics))


def explained_totals(problem, topics):
    return problem.X.only_features(np.any(topics.effective, axis=0)).sample_totals


def test_a_sample_does_not_see_its_batch_when_the_topics_exceed_the_caches(rng):
    X = sparse_counts(rng, 30, 60_000, 0.001)
    topics = np.asfortranarray(rng.dirichlet(np.full(60_000, 0.3), 17))
    weights = rng.random((30, 17))
    together = row_pass(CountMatrix(X), weights, topics)
    for i in (0, 13, 29):
        alone = row_pass(CountMatrix(X[[i]]), weights[[i]], topics)
        for part, whole in zip(alone, together, strict=True):
            np.testing.assert_array_equal(part[0], whole[i])


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(
    "weights_prior", [*WEIGHTS[:3], Dirichlet(2.0), Gamma([1.0, 1.5, 2.0, 3.0], 0.7)], ids=str
)
def test_new_samples_get_what_long_plain_em_gives(rng, weights_prior, normalized):
    """With priors under which a sample has one optimum. EM comes near it, from above."""
    X = random_counts(rng, 40, 30, mean=2.0)
    X[:, ::7] = 0
    problem, topics = with_topics(rng, X, weights_prior, normalized=normalized)
    found = folded_in(problem, topics, tol=1e-10)
    assert found.converged
    totals = problem.topics_totals(topics)
    weights = uniform_start(problem, topics)[0]
    for _ in range(3000):
        counts, _ = row_pass(problem.X, weights.effective, topics.effective)
        weights = weights_prior.absorb(counts, totals)
    ours = weights_prior.absorb(found.state.counts, totals)
    here, there = (problem.evaluate(end, topics, passes=0) for end in (ours, weights))
    assert here.residual <= 1e-10
    assert here.objective <= there.objective + 1e-10 * abs(there.objective)
    assert here.objective == pytest.approx(there.objective, rel=1e-6)
    np.testing.assert_allclose(ours.mean @ topics.mean, weights.mean @ topics.mean, atol=1e-2)


def test_new_samples_settle_in_few_passes(rng):
    X = sparse_counts(rng, 200, 300, 0.2)
    problem, topics = with_topics(rng, X, Free())
    found = folded_in(problem, topics)
    assert found.converged
    assert found.state.passes < 300


def test_samples_without_counts_or_with_unknown_features_only(rng):
    X = sparse_counts(rng, 12, 28, 0.4).toarray()
    X[3] = 0
    X[5], X[5, 7] = 0, 4.0  # a feature that no topic has
    for weights_prior in WEIGHTS:
        problem, topics = with_topics(rng, X, weights_prior)
        sparse_problem = Problem(weights_prior, problem.topics, problem.X.as_sparse(), COMPONENTS)
        found = folded_in(sparse_problem, topics)
        assert found.converged
        np.testing.assert_array_equal(found.state.counts[[3, 5]], 0)
        assert np.all(np.isfinite(found.state.counts))


POINTS = [
    (Free(), Free()),
    (Free(), Simplex()),
    (Lasso(0.7), Simplex()),
    (Lasso(0.7), Lasso(0.3)),
    (Simplex(), Simplex()),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("pair", POINTS, ids=str)
@pytest.mark.parametrize("kind", [CoordinateDescent, ExtrapolatedDescent])
@given(seed=st.integers(0, 2**32 - 1), sweeps=st.integers(1, 3))
def test_coordinate_descent_never_rises(kind, pair, weighted, dtype, seed, sweeps):
    problem = a_problem(pair, seed, dtype=dtype)
    if weighted:
        copies = np.random.default_rng(seed).uniform(0.2, 3, 12)
        problem = Problem(
            SampleWeighted(pair[0], copies), pair[1], problem.X.repeated(copies), COMPONENTS
        )
    solver = kind(sweeps)
    state = solver.init(problem, *a_start(problem, seed))
    slack = 1e-12 if dtype == np.float64 else 3e-6
    for _ in range(6):
        new = solver.step(problem, state)
        assert new.weights.mean.dtype == new.topics.mean.dtype == dtype
        assert new.passes == state.passes + 2 * sweeps + 1
        assert new.objective <= state.objective + slack * (abs(state.objective) + problem.X.total)
        state = new


@pytest.mark.parametrize(
    "solver",
    [CoordinateDescent(), Accelerated(CoordinateDescent(2)), ExtrapolatedDescent()],
    ids=str,
)
@pytest.mark.parametrize("pair", POINTS, ids=str)
def test_coordinate_descent_ends_where_nothing_is_left_to_gain(pair, solver):
    problem = a_problem(pair, 8)
    end = solve(problem, solver, a_start(problem), max_iter=20000, tol=1e-9)
    assert end.converged
    onwards = (end.state.weights, end.state.topics)
    plain = solve(problem, Alternating(), onwards, max_iter=50, tol=0).state
    assert plain.objective == pytest.approx(end.state.objective, rel=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("components", [1, 3, 8, 21])
def test_each_row_descends_to_its_optimum(rng, dtype, components):
    """Karush-Kuhn-Tucker: no positive entry has a gradient, and no zero one a negative gradient."""
    X = CountMatrix(sparse_counts(rng, 40, 60, 0.5, dtype))
    others = rng.gamma(0.5, size=(60, components)).astype(dtype)
    slopes, repeats = rng.uniform(0.5, 2, components), rng.uniform(0.5, 2, 40)
    found = descended(
        X, np.zeros((40, components), dtype), others, slopes, sweeps=3000, repeats=repeats
    )
    product = found @ others.T
    dense = sparse.csr_array((X.values, X.features, X.row_starts), shape=X.shape).toarray()
    ratios = np.divide(dense, product, out=np.zeros_like(product), where=dense > 0)
    gradient = np.outer(repeats, slopes) - ratios @ others
    close = 1e-6 if dtype == np.float64 else 1e-3
    assert np.all(gradient > -close)
    assert np.all(found * gradient < close * (1 + X.sample_totals[:, np.newaxis]))
    assert np.all(found >= 0)
    assert components < 8 or np.any(found[X.sample_totals > 0] == 0)


@pytest.mark.parametrize("solver", [CoordinateDescent(), ExtrapolatedDescent()], ids=str)
def test_coordinate_descent_leaves_zero_where_other_updates_cannot(rng, solver):
    problem = a_problem((Free(), Simplex()), 5)
    weights, topics = random_factors(rng, 12, COMPONENTS, 9)
    weights[3] = 0
    weights[1, 2] = topics[0, 3] = 0
    topics[:, 5] = 0  # so that no count of it is explained
    start = start_from_arrays(problem, weights, topics)
    assert solve(problem, JointEM(), start, max_iter=5, tol=0).state.objective == np.inf
    state = solve(problem, solver, start, max_iter=50, tol=0).state
    assert np.isfinite(state.objective)
    assert state.weights.mean[3].any()


def test_extrapolated_descent_ends_lower_than_momentum_on_counts():
    X = datasets.load_kjv().data[:300]
    ends = [
        [NMF(60, solver=solver, random_state=seed).fit(X).objective_ for seed in range(2)]
        for solver in (ExtrapolatedDescent(), Accelerated(TwoPhase()))
    ]
    assert max(ends[0]) < min(ends[1])


def test_a_failed_extrapolation_is_taken_back_and_the_next_step_is_plain():
    problem, solver, failed = a_problem((Free(), Simplex()), 3), ExtrapolatedDescent(), 0
    state = solver.init(problem, *a_start(problem))
    for _ in range(200):
        new = solver.step(problem, state)
        if new.topics is state.topics:
            failed += 1
            assert new.descended_topics is None
            assert new.momentum < state.momentum
            assert new.objective == state.objective
        state = new
    assert failed > 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sweeps", [2, 7])
def test_descent_agrees_with_its_twin_in_numpy(rng, dtype, sweeps):
    X = CountMatrix(sparse_counts(rng, 50, 40, 0.4, dtype))
    others = (rng.gamma(2.0, size=(40, 6)) + 0.2).astype(dtype)
    factors = (rng.gamma(2.0, size=(50, 6)) + 0.2).astype(dtype)
    slopes = others.sum(axis=0, dtype=np.float64)
    ours = descended(X, factors, others, slopes, sweeps=sweeps)
    theirs = np.empty_like(factors)
    in_numpy.descend(
        X.row_starts, X.features, X.values, others, slopes, None, sweeps, factors, theirs, 1
    )
    tolerance = 1e-9 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    for threads in (2, 3):
        with use_threads(threads):
            again = descended(X, factors, others, slopes, sweeps=sweeps)
        np.testing.assert_array_equal(again, ours)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(3000, 40), (40, 3000), (700, 700), (5, 1), (0, 4)])
@pytest.mark.parametrize("is_whole", [False, True])
def test_descent_over_topics_is_descent_over_the_transposed_counts(rng, shape, dtype, is_whole):
    X = sparse.random_array(shape, density=0.1, random_state=rng, format="csr").astype(dtype)
    X.data = np.ceil(9 * X.data) if is_whole else X.data
    assert (CountMatrix(X).values_by_feature.dtype == np.uint16) == (is_whole or not X.nnz)
    weights, topics = random_factors(rng, shape[0], 3, shape[1])
    weights, topics = weights.astype(dtype), topics.astype(dtype)
    slopes = weights.sum(axis=0, dtype=np.float64) + 1
    expected = descended(CountMatrix(X.T.tocsr()), topics.T, weights, slopes, sweeps=2).T
    for threads in (1, 3):
        with use_threads(threads):
            found = descended_topics(CountMatrix(X), topics, weights, slopes, sweeps=2)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_descent_knows_no_scale(rng, scale):
    X = sparse_counts(rng, 30, 40, 0.4)
    others, factors = rng.gamma(2.0, size=(40, 5)), rng.gamma(2.0, size=(30, 5))
    slopes = others.sum(axis=0)
    plain = descended(CountMatrix(X), factors, others, slopes, sweeps=3)
    scaled = descended(CountMatrix(X * scale), factors * scale, others, slopes, sweeps=3)
    np.testing.assert_allclose(scaled / scale, plain, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", [LDA, GammaPoisson])
def test_coordinate_descent_says_who_can_do_what_it_cannot(rng, model):
    with pytest.raises(ValueError, match="solver='auto', 'accelerated' and 'alternating'"):
        model(2, solver="coordinate").fit(random_counts(rng))
    X = random_counts(rng)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"missing entries. solver='auto'"):
        NMF(2, solver="coordinate", missing="nan").fit(X)


def test_weights_of_coordinate_descent_add_up_to_the_samples_totals(rng):
    X = random_counts(rng, 30, 20)
    weights = NMF(3, solver="coordinate", max_iter=5, tol=0, random_state=0).fit(X).weights_
    np.testing.assert_allclose(weights.sum(axis=1), X.sum(axis=1), rtol=1e-12)


def test_dense_and_sparse_data_descend_alike(rng):
    X = random_counts(rng, 30, 20)
    ends = [
        NMF(3, solver="coordinate", max_iter=5, tol=0, random_state=0).fit(form(X)).components_
        for form in (np.asarray, sparse.csr_array, sparse.csc_array)
    ]
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-9)
    np.testing.assert_array_equal(ends[2], ends[1])


@pytest.mark.parametrize("inner", [JointEM(), Alternating(), CoordinateDescent()], ids=str)
def test_any_inner_solver_is_accelerated(rng, inner):
    problem = a_problem((Free(), Simplex()), 9, n_samples=60, n_features=40)
    plain = solve(problem, inner, a_start(problem), max_iter=5000, tol=1e-4)
    faster = solve(problem, Accelerated(inner), a_start(problem), max_iter=5000, tol=1e-4)
    assert plain.converged
    assert faster.converged
    assert faster.state.passes < plain.state.passes
    assert np.all(np.diff(faster.history["objective"]) <= 0)


def test_the_default_inner_solver_is_the_joint_update_where_there_is_one():
    problem = a_problem((Dirichlet(0.1), Simplex()), 4)
    ends = [
        solve(problem, Accelerated(inner), a_start(problem), max_iter=20, tol=0).state.objective
        for inner in (BlockUpdate(), JointEM())
    ]
    assert ends[0] == ends[1]
    free = a_problem((Free(), Free()), 4)
    with pytest.raises(ValueError, match="normalised topics"):
        Accelerated(JointEM()).check(free)


@pytest.mark.parametrize("solver", ["accelerated", "joint", "coordinate"])
def test_a_fit_stops_when_passes_gain_little(rng, solver):
    X = random_counts(rng, 40, 30)
    model = NMF(4, solver=solver, tol=0, min_gain=1e-5, max_iter=5000, random_state=0).fit(X)
    assert model.converged_
    assert 10 < model.n_iter_ < 5000
    last, before = model.history_[-1], model.history_[-11]
    gain = (before["objective"] - last["objective"]) / (last["passes"] - before["passes"])
    assert gain < 1e-5 * X.sum()
    longer = NMF(4, solver=solver, tol=0, max_iter=model.n_iter_ - 1, random_state=0).fit(X)
    last, before = longer.history_[-1], longer.history_[-11]
    gain = (before["objective"] - last["objective"]) / (last["passes"] - before["passes"])
    assert gain >= 1e-5 * X.sum()


def test_a_small_gain_knows_no_scale(rng):
    X = random_counts(rng, 40, 30)
    fits = [
        NMF(4, solver="joint", tol=0, min_gain=1e-4, random_state=0).fit(X * scale)
        for scale in (1.0, 1024.0)
    ]
    assert fits[0].n_iter_ == fits[1].n_iter_


class Stubborn(Solver):
    """A solver that takes nine steps of ten back."""

    def step(self, problem, state):
        if (state.passes + 1) % 10:
            return replace(state, passes=state.passes + 1)
        return BlockUpdate().step(problem, state)


def test_steps_that_are_taken_back_do_not_end_a_fit():
    problem = a_problem((Free(), Simplex()), 9, n_samples=60, n_features=40)
    end = solve(problem, Stubborn(), a_start(problem), max_iter=10_000, tol=0, min_gain=1e-5)
    assert end.converged
    gains = -np.diff(end.history["objective"])
    assert np.count_nonzero(gains == 0) > 100
    assert (end.history["objective"][-11] - end.state.objective) / 10 < 1e-5 * problem.X.total


class EndsEvenly(BlockUpdate):
    """A solver that is done after three passes, and keeps topics that are all alike."""

    def is_done(self, state):
        return state.passes >= 3

    def finish(self, problem, state):
        even = problem.topics.at(np.ones_like(state.topics.mean), 1.0)
        return State(**vars(problem.evaluate(state.weights, even, state.passes + 1)))


@pytest.mark.parametrize(
    ("around", "pair"),
    [
        (Accelerated, (Free(), Simplex())),
        (lambda inner: MixedPrecision(Accelerated(inner)), (Free(), Simplex())),
        (HyperparameterUpdates, (Dirichlet(0.3, learn="symmetric"), Simplex())),
    ],
)
def test_a_solver_around_another_lets_it_end_and_finish_the_fit(around, pair):
    problem = a_problem(pair, 5, n_samples=20, n_features=12)
    solver = around(EndsEvenly())
    found = solve(problem, solver, a_start(problem), max_iter=50)
    assert len(found.history) == 3
    end = solver.finish(problem, found.state)
    assert type(end) is type(found.state)
    np.testing.assert_allclose(end.topics.mean, 1 / 12)
    assert end.passes == found.state.passes + (2 if isinstance(solver, MixedPrecision) else 1)
