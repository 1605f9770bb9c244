"""Sparse NMF: what its steps promise, and what comes of each pair of norm and penalty."""

import csv
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_counts, random_factors
from sklearn.base import clone

from benchmarks import data, sparsity
from isotopic import (
    NMF,
    Free,
    Lasso,
    LogPenalty,
    PowerPenalty,
    Simplex,
    SparseNMF,
    SparsityWarning,
    UnitNorm,
    convert,
    generalized_kl,
)
from isotopic.counts import CountMatrix
from isotopic.init import start_from_arrays
from isotopic.priors import SampleWeighted, row_norms, seeded
from isotopic.priors.penalties import positive_root
from isotopic.problem import Problem
from isotopic.solvers import Accelerated, Alternating, JointEM, solve
from isotopic.verify.reformulation import ERRORS, PENALTIES, Sparse, steepness

WORKING = [(norm, penalty) for norm, penalty in product(("l1", "l2", 3.0), ("l1", "log", "power"))]
WORKING.remove(("l1", "l1"))
CONCAVE = [LogPenalty(0.8, 0.3), LogPenalty(3.0, 2.0), PowerPenalty(0.8, 0.5), PowerPenalty(2, 0.2)]
sizes = st.floats(1e-6, 1e6)


def planted(rng, n_samples=60, n_components=4, n_features=24):
    """Counts of samples that have one or two of topics with little in common."""
    weights = rng.dirichlet(np.full(n_components, 0.2), n_samples) * 400
    topics = rng.dirichlet(np.full(n_features, 0.2), n_components)
    X = rng.poisson(weights @ topics).astype(float)
    X[:, 0] += 1
    return X, weights, topics


def used(model):
    """How many topics explain more than a thousandth of a sample, on average."""
    explained = model.weights_ * model.components_.sum(axis=1)
    return (explained > 1e-3 * explained.sum(axis=1, keepdims=True)).sum(axis=1).mean()


# The steps


@given(c=sizes, a=sizes, b=sizes, p=st.floats(0.2, 40) | st.sampled_from([0.5, 1.0, 2.0]))
def test_roots_solve_their_equation(c, a, b, p):
    (root,) = positive_root(np.array([c]), a, b, p)
    assert a * root + b * root**p == pytest.approx(c, rel=1e-10)


@pytest.mark.parametrize("p", [0.3, 0.5, 2.0, 2.5])
def test_roots_of_what_is_not_there(p):
    counts = np.array([[0.0, 3.0], [0.0, 3.0]], order="F")
    np.testing.assert_allclose(positive_root(counts, 0.0, 0.0, p), counts)
    np.testing.assert_allclose(positive_root(counts, 2.0, 0.0, p), counts / 2)
    np.testing.assert_allclose(positive_root(counts, 0.0, 2.0, p), (counts / 2) ** (1 / p))
    assert positive_root(counts, 1.0, 1.0, p).flags.f_contiguous
    assert positive_root(counts.astype(np.float32), 1.0, 1.0, p).dtype == np.float32


@pytest.mark.parametrize("prior", CONCAVE, ids=str)
@given(count=st.floats(1e-6, 1e6), total=st.floats(1e-3, 1e3), here=st.floats(1e-6, 1e6))
def test_a_concave_step_goes_at_least_as_far_down_as_the_tangent(prior, count, total, here):
    def left(h):
        at = np.array([[h]])
        return -count * np.log(h) + total * h + float(prior.penalty(at).sum())

    step = prior.absorb(np.array([[count]]), total).mean[0, 0]
    slope = float(prior.slope(np.array([[here]])).sum())
    tangent = count / (total + slope)
    least = left(step)
    assert least <= left(tangent) + 1e-10 * (1 + abs(least))
    for other in (0.99, 1.01):
        assert least <= left(step * other) + 1e-10 * (1 + abs(least))


@given(
    seed=st.integers(0, 2**32 - 1),
    p=st.floats(1.01, 20),
    pull=st.floats(1e-3, 1e3),
    scale=st.floats(1e-3, 1e3),
)
def test_a_step_of_unit_norm_never_raises_what_the_counts_leave(seed, p, pull, scale):
    rng = np.random.default_rng(seed)
    counts, totals = rng.gamma(0.5, size=(3, 7)), scale * rng.gamma(1.0, size=(3, 1))
    prior = UnitNorm(p, np.full(3, pull))
    before = prior.at(rng.gamma(0.5, size=(3, 7)) + 1e-3, 1.0).mean

    def left(topics, row):
        norm = row_norms(topics[row : row + 1], p)[0]
        return -counts[row] @ np.log(topics[row]) + totals[row, 0] * topics[row].sum() + pull * norm

    found = prior.absorb(counts.copy(), totals)
    after = found.mean * found.scale[:, np.newaxis]
    np.testing.assert_allclose(row_norms(found.mean, p), 1, rtol=1e-12)
    for row in range(3):
        value = left(before, row)
        assert left(after, row) <= value + 1e-10 * abs(value)


@pytest.mark.parametrize("solver", [JointEM(), Alternating()], ids=["joint", "alternating"])
def test_the_l2_step_is_the_root_of_a_quadratic(rng, solver):
    """Against a literal transcription, responsibilities and all."""
    X, strength = random_counts(rng), 0.7
    weights, topics = random_factors(rng, 12, 3, 9)
    problem = Problem(Lasso(strength), UnitNorm(2.0), CountMatrix(X), 3)
    state = solver.init(problem, *start_from_arrays(problem, weights, topics))

    def shared(w, t):
        phi = w[:, :, None] * t[None]
        return X[:, None, :] * phi / phi.sum(axis=1, keepdims=True)

    norms = np.sqrt((topics**2).sum(axis=1))
    w, t = weights * norms, topics / norms[:, None]
    for _ in range(5):
        counts = shared(w, t)
        if isinstance(solver, JointEM):
            w = counts.sum(axis=2) / (t.sum(axis=1) + strength)
        s, c = w.sum(axis=0)[:, None], counts.sum(axis=0)
        a = strength * s
        t = (-s + np.sqrt(s**2 + 4 * a * c)) / (2 * a)
        norms = np.sqrt((t**2).sum(axis=1))
        w, t = w * norms, t / norms[:, None]
        if isinstance(solver, Alternating):
            w = shared(w, t).sum(axis=2) / (t.sum(axis=1) + strength)
        state = solver.step(problem, state)
        np.testing.assert_allclose(state.weights.mean, w, rtol=1e-9)
        np.testing.assert_allclose(state.topics.mean, t, rtol=1e-9)
        expected = generalized_kl(X, w, t) + strength * w.sum()
        assert state.objective == pytest.approx(expected, rel=1e-12)


# Objective and residual


def differentiated(function, sides):
    """Sum of |entry times derivative| of each side, by central differences of the logarithms."""
    sums = []
    for which, side in enumerate(sides):
        total = 0.0
        for place in np.ndindex(side.shape):
            values = []
            for step in (1e-5, -1e-5):
                changed = [s.copy() for s in sides]
                changed[which][place] *= np.exp(step)
                values.append(function(*changed))
            total += abs(values[0] - values[1]) / 2e-5
        sums.append(total)
    return sums


@pytest.mark.parametrize("known", ["nothing", "copies", "missing", "seeds"])
@pytest.mark.parametrize("weights_prior", [Lasso(0.7), LogPenalty(0.7, 0.5), PowerPenalty(0.7)])
@pytest.mark.parametrize("topics_prior", [Simplex(), UnitNorm(2.0), UnitNorm(1.4)], ids=str)
def test_the_residual_is_the_gradient_of_the_reformulated_objective(
    rng, weights_prior, topics_prior, known
):
    X, (weights, topics) = random_counts(rng, 6, 5, mean=4.0), random_factors(rng, 6, 2, 5)
    copies, pseudo, mask = np.ones(6), np.zeros((2, 5)), np.zeros((6, 5), bool)
    if known == "copies":
        copies = np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1.0])
    if known == "seeds":
        pseudo[1, 2] = 4.0
        topics_prior = seeded(topics_prior, pseudo)
    if known == "missing" and topics_prior.is_normalized:
        pytest.skip("filled in by EM: its residual is not a gradient")
    if known == "missing":
        mask[2, 3] = mask[4, :2] = True
    p = topics_prior.norm

    def objective(w, t):
        norms = (t**p).sum(axis=1) ** (1 / p)
        product, unit = w @ t, t / norms[:, np.newaxis]
        errors = np.where(mask, 0, X * np.log(X / product, where=X > 0, out=np.zeros_like(X)))
        errors += np.where(mask, 0, product - X)
        penalty = weights_prior.at(w * norms, 1.0).terms
        return copies @ (errors.sum(axis=1) + penalty) - (pseudo * np.log(unit)).sum()

    counted = CountMatrix(X, missing=mask if mask.any() else None)
    counted = counted.repeated(copies) if known == "copies" else counted
    prior = SampleWeighted(weights_prior, copies) if known == "copies" else weights_prior
    problem = Problem(prior, topics_prior, counted, 2)
    state = problem.evaluate(*start_from_arrays(problem, weights, topics), passes=0)
    at = state.weights.mean, state.topics.mean
    assert state.objective == pytest.approx(objective(*at), rel=1e-10)
    gradients = differentiated(objective, at)
    if p == 1:  # where the topics are normalised, their residual leaves the scale to the weights
        gradients = gradients[:1]
        assert state.residual >= gradients[0] / counted.total * (1 - 1e-5)
        return
    assert state.residual == pytest.approx(max(gradients) / counted.total, rel=1e-4)


@pytest.mark.parametrize(("norm", "penalty"), WORKING)
def test_every_solver_ends_at_the_same_solution(rng, norm, penalty):
    X, weights, topics = planted(rng)
    model = SparseNMF(4, 2.0, norm=norm, penalty=penalty, max_iter=5000, tol=1e-7)
    near = model.set_params(init=(weights + 0.5, topics + 1e-3)).fit(X)
    near = [side * rng.uniform(0.9, 1.1, side.shape) for side in (near.weights_, near.components_)]
    ends = []
    for solver in (Accelerated(), JointEM(), Alternating()):
        model = clone(model).set_params(solver=solver, init=near, tol=1e-6).fit(X)
        assert model.converged_
        objective = model.history_["objective"]
        assert np.all(np.diff(objective) <= 1e-12 * np.abs(objective[:-1]))
        ends.append(model)
    for other in ends[1:]:
        assert other.objective_ == pytest.approx(ends[0].objective_, rel=1e-6)
        np.testing.assert_allclose(other.components_, ends[0].components_, atol=2e-3)


# Theorem F.1


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("p", [0.7, 1.0, 1.5, 2.0, 4.0])
def test_solutions_with_and_without_the_constraint_map_to_each_other(rng, p, penalty, error):
    X = rng.gamma(2.0, size=(5, 6)) + 0.2
    problem = Sparse(X, p, PENALTIES[penalty], ERRORS[error], strength=0.1)
    start = rng.gamma(2.0, size=(5, 2)) + 0.1, rng.gamma(2.0, size=(2, 6)) + 0.1
    weights, topics = problem.solve(*start, constrained=True)
    scales = np.array([0.2, 7.0])
    value, gradient = problem.reformulated(weights / scales, topics * scales[:, np.newaxis])
    assert value == pytest.approx(problem.constrained(weights, topics)[0], rel=1e-12)
    assert steepness(gradient) < 1e-5 * X.sum()
    free = problem.solve(*start, constrained=False)
    unit = problem.normalized(*free)
    np.testing.assert_allclose(row_norms(unit[1], p), 1, rtol=1e-12)
    assert steepness(problem.constrained(*unit)[1]) < 1e-5 * X.sum()


def test_the_gradients_of_both_problems_are_right(rng):
    X, at = rng.gamma(2.0, size=(3, 4)), (rng.gamma(2.0, size=(3, 2)), rng.gamma(2.0, size=(2, 4)))
    for p, penalty, error in product((1.0, 2.0, 3.0), PENALTIES.values(), ERRORS.values()):
        problem = Sparse(X, p, penalty, error, strength=0.3)
        unit = problem.normalized(*at)

        def constrained(w, t, problem=problem):
            return problem.constrained(w, problem.normalized(w, t)[1])[0]

        def free(w, t, problem=problem):
            return problem.reformulated(w, t)[0]

        for function, point, gradient in (
            (constrained, unit, problem.constrained(*unit)[1]),
            (free, at, problem.reformulated(*at)[1]),
        ):
            expected = [float(np.abs(side).sum()) for side in gradient]
            np.testing.assert_allclose(differentiated(function, point), expected, rtol=1e-4)


# What comes of it


def test_the_lasso_with_l1_topics_warns_and_is_nmf(rng):
    X = random_counts(rng, 30, 12)
    settings = {"max_iter": 50, "tol": 0, "random_state": 0, "solver": "joint"}
    sparse = SparseNMF(3, 3.0, norm="l1", **settings)
    with pytest.warns(SparsityWarning, match=r"Lemma 6\.1.*NMF\(3\).*= 0\.25.*norm='l2'") as seen:
        sparse.fit(X)
    assert seen[0].filename == __file__
    plain = NMF(3, **settings).fit(X)
    np.testing.assert_allclose(sparse.components_, plain.components_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(4 * sparse.weights_, plain.weights_, rtol=1e-9, atol=1e-9)
    assert sparse.objective_ == pytest.approx(plain.objective_ + np.log(4) * X.sum())
    assert convert(sparse, to=NMF).objective_ == pytest.approx(plain.objective_)


@pytest.mark.filterwarnings("error")
def test_what_works_does_not_warn(rng):
    X = random_counts(rng)
    for norm, penalty in WORKING:
        SparseNMF(3, norm=norm, penalty=penalty, max_iter=2, tol=0).fit(X)
    SparseNMF(3, 0.0, norm="l1", max_iter=2, tol=0).fit(X)  # no penalty, no promise
    X[0, 0] = np.nan  # and here the lemma does not hold
    SparseNMF(3, norm="l1", missing="nan", max_iter=2, tol=0).fit(X)


@pytest.mark.parametrize(("norm", "penalty"), WORKING)
def test_a_stronger_penalty_leaves_fewer_topics_to_a_sample(rng, norm, penalty):
    X, *_ = planted(rng, n_components=6)
    settings = {"max_iter": 2000, "tol": 1e-5, "random_state": 0}
    none, some, much = (
        used(SparseNMF(8, strength, norm=norm, penalty=penalty, **settings).fit(X))
        for strength in (0.0, 1.0, 8.0)
    )
    assert some < 0.95 * none
    assert much < 0.95 * some


@pytest.mark.parametrize(("norm", "penalty"), [*WORKING, (1, "log"), (2, "l1")])
def test_no_strength_is_nmf(rng, norm, penalty):
    X, weights, topics = planted(rng)
    settings = {"init": (weights + 1, topics + 1e-2), "max_iter": 5000, "tol": 1e-7}
    plain = NMF(4, **settings).fit(X)
    sparse = SparseNMF(4, 0.0, norm=norm, penalty=penalty, **settings).fit(X)
    assert sparse.objective_ == pytest.approx(plain.objective_, rel=1e-5)


def test_conversions_of_sparse_models_are_refused(rng):
    X = random_counts(rng)
    concave = SparseNMF(3, norm="l1", penalty="log", max_iter=3, tol=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match="changes more than the scale of the weights"):
        convert(concave, to=NMF)
    unit = SparseNMF(3, max_iter=3, tol=0, random_state=0).fit(X)
    with pytest.raises(ValueError, match="Cannot convert"):
        convert(unit, to=NMF)
    with pytest.raises(ValueError, match="Cannot convert"):
        convert(NMF(3, max_iter=3, tol=0).fit(X), to=SparseNMF(3))
    assert NMF(3, init=unit, max_iter=3, tol=0).fit(X).components_.shape == (3, 9)


def test_a_settled_model_is_a_start_near_its_end(rng):
    X, weights, topics = planted(rng)
    model = SparseNMF(4, 2.0, init=(weights + 1, topics + 1e-2), max_iter=5000, tol=1e-7).fit(X)
    again = SparseNMF(4, 2.0, init=model, max_iter=20, tol=0).fit(X)
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-3)


def test_free_weights_do_not_mind_the_norm(rng):
    X, weights, topics = planted(rng)
    ends = []
    for prior in (Free(), UnitNorm(2.0), UnitNorm(5.0)):
        problem = Problem(Free(), prior, CountMatrix(X), 4)
        start = start_from_arrays(problem, weights + 1, topics + 1e-2)
        ends.append(solve(problem, Alternating(), start, max_iter=30, tol=0).state.objective)
    assert ends[1:] == pytest.approx([ends[0]] * 2, rel=1e-9)


# The figures


def test_the_heuristic_and_the_majorizer_minimise_the_same(rng):
    X, weights, topics = planted(rng)
    values = sparsity.heuristic(X, weights + 1, topics + 1e-2, strength=1.0, n_iter=300)
    model = SparseNMF(4, 1.0, solver="alternating", init=(weights + 1, topics + 1e-2))
    model.set_params(max_iter=3000, tol=1e-7).fit(X)
    assert values[-1] == pytest.approx(model.objective_, rel=1e-2)


def test_a_tiny_path_leaves_numbers_and_a_figure(tmp_path):
    plan = sparsity.Plan(("kjv_small", "no_such_data"), 3, (0.5, 5.0), 20)
    rows = {row.what: row for row in sparsity.paths(plan, tmp_path)}
    assert "not found" in rows["no_such_data"].detail
    with (tmp_path / "sparsity.csv").open() as file:
        kept = list(csv.DictReader(file))
    assert len(kept) == 1 + len(sparsity.COMBINATIONS) * 2
    assert all(0 <= float(row["zeros"]) <= 1 for row in kept)


def test_known_signatures_are_used_sparingly():
    catalogue, signatures = sparsity.mutations()
    if catalogue is None:
        pytest.skip("pcawg_sbs96 is not here; ISOTOPIC_DATA names the folder of it")
    X = catalogue[::20]
    known = {"fixed_topics": signatures, "max_iter": 3000, "tol": 1e-5}
    plain = NMF(len(signatures), **known).fit(X)
    settings = {"norm": "l1", "penalty": "log"}
    sparse = SparseNMF(len(signatures), 0.08, **settings, **known).fit(X)
    paid = generalized_kl(X, sparse.weights_, sparse.components_) / plain.objective_ - 1
    assert 0 < paid < 0.02
    assert used(sparse) < 0.8 * used(plain)
    assert data.REAL_DATA.is_dir()
