"""Runs that are fitted together: the same as alone, whatever the others are."""

import numpy as np
import pytest
from scipy import sparse

from isotopic import LDA, NMF, PLSA, SparseNMF, consensus
from isotopic._core import in_numpy, native
from isotopic.consensus.plan import Plan
from isotopic.consensus.stacked import stack_of_runs
from isotopic.counts import CountMatrix
from isotopic.solvers.stack import WIDTH, Stack, StackedData, StackedRun, run_stack


@pytest.fixture
def counts():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(40, 0.2), size=4)
    return sparse.csr_array(rng.poisson(rng.gamma(0.5, 100, size=(150, 4)) @ topics)).astype(float)


def count_matrix(X):
    starts, features = X.indptr.astype(np.int64), X.indices.astype(np.int32)
    return CountMatrix.of_checked(X.shape, starts, features, X.data)


def random_start(seed, n_components=3, n_features=40):
    return np.random.default_rng(seed).dirichlet(np.ones(n_components), size=n_features).T


def run_all(X, runs, n_components=3, tol=1e-3, **settings):
    data, left = StackedData.of(count_matrix(X), n_components), list(runs)
    has_own_values = runs[0][1].values is not None
    settings = {"tol": tol, "max_iter": 500, "has_own_values": has_own_values, **settings}
    return dict(run_stack(data, n_components, lambda: left.pop(0) if left else None, **settings))


@pytest.mark.parametrize("has_own_values", [False, True])
@pytest.mark.parametrize("n_components", [1, 5, 11])
def test_the_core_agrees_with_its_twin_in_numpy(n_components, has_own_values, counts):
    data = StackedData.of(count_matrix(counts), n_components)
    stack = Stack(data, n_components, has_own_values=has_own_values)
    for lane in range(WIDTH):
        values = counts.data + lane if has_own_values else None
        stack.load(lane, StackedRun(random_start(lane, n_components), values))
    momentum = np.linspace(0, 0.9, WIDTH, dtype=np.float32)
    floor = np.full(WIDTH, 1e-3, np.float32)
    stack.step()
    stack.step()
    given = stack.latest[0], stack.previous[0], stack.totals[0], momentum, floor
    found = []
    for core in (native, in_numpy):
        core.extrapolate_stack(*given, stack.factors[0])
        new, sums = stack.new, np.zeros((3, WIDTH))
        for table in new:
            table.fill(0)
        totals = stack.factors[0].sum(axis=0, dtype=np.float64)
        core.stacked_pass(
            data.features, data.starts, data.samples, stack.values, *stack.factors, totals, *new,
            sums,
        )  # fmt: skip
        found.append([stack.factors[0].copy(), *(table.copy() for table in new), sums])
    for ours, twin in zip(*found, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=2e-4, atol=1e-4 * np.abs(twin).max())


@pytest.mark.parametrize("seed", range(3))
def test_a_run_in_a_stack_is_the_run_alone(counts, seed):
    start = random_start(seed)
    found = run_all(counts, [(0, StackedRun(start))])[0]
    matrix = count_matrix(counts)
    topics = start * matrix.feature_totals
    topics /= topics.sum(axis=1, keepdims=True)
    weights = np.repeat(matrix.sample_totals[:, np.newaxis] / 3, 3, axis=1)
    alone = NMF(3, init=(weights, topics), solver="accelerated", tol=1e-3).fit(counts)
    assert abs(found.n_iter - alone.n_iter_) <= 2
    objective = found.objective + matrix.saturated_divergence
    assert objective == pytest.approx(alone.objective_, rel=1e-3)
    np.testing.assert_allclose(found.topics, alone.components_, atol=2e-3)


def test_a_run_has_the_same_bits_whatever_the_other_runs_are(counts):
    rng = np.random.default_rng(0)
    runs = [
        (seed, StackedRun(random_start(seed), rng.poisson(counts.data).astype(float)))
        for seed in range(WIDTH + 9)
    ]
    together, backwards = run_all(counts, runs), run_all(counts, runs[::-1])
    assert together.keys() == backwards.keys() == set(range(WIDTH + 9))
    for name, run in runs[::6]:
        alone = run_all(counts, [(name, run)])[name]
        for other in (together[name], backwards[name]):
            np.testing.assert_array_equal(alone.topics, other.topics)
            assert (alone.objective, alone.n_iter) == (other.objective, other.n_iter)


def test_samples_and_features_without_counts_change_nothing(counts):
    start = random_start(1)
    found = run_all(counts, [(0, StackedRun(start))])[0].topics
    wide = sparse.csr_array(sparse.block_diag([counts, sparse.csr_array((2, 3))]))
    padded = np.hstack([start, np.ones((3, 3))])
    topics = run_all(wide, [(0, StackedRun(padded))])[0].topics
    np.testing.assert_allclose(topics[:, :40], found, atol=1e-5)
    assert not topics[:, 40:].any()


def test_no_more_iterations_than_allowed(counts):
    runs = [(seed, StackedRun(random_start(seed))) for seed in range(3)]
    assert {run.n_iter for run in run_all(counts, runs, tol=1e-12, max_iter=7).values()} == {7}


@pytest.mark.parametrize(
    ("model", "is_stacked"),
    [
        (NMF(), True),
        (NMF(normalize=False), True),
        (PLSA(), True),
        (NMF(solver="accelerated"), False),
        (NMF(n_init=2), False),
        (NMF(tol=0), False),
        (NMF(seeds={0: [1, 2]}), False),
        (SparseNMF(), False),
        (LDA(), False),
    ],
    ids=repr,
)
def test_models_without_a_prior_are_fitted_together(model, is_stacked, counts):
    plan = Plan(model, counts, None, "none", [], 0)
    assert (stack_of_runs(plan, 3) is not None) == is_stacked


@pytest.mark.parametrize("resampling", ["bootstrap", "subsample", "none"])
@pytest.mark.parametrize("model", [NMF, PLSA])
def test_the_consensus_is_that_of_runs_made_alone(model, resampling, counts):
    settings = {"n_components": 4, "n_runs": 6, "random_state": 0, "resampling": resampling}
    together = consensus(model(tol=1e-4), counts, **settings)
    alone = consensus(model(tol=1e-4, solver="accelerated"), counts, **settings)
    np.testing.assert_allclose(together.stability, alone.stability, atol=0.05)
    np.testing.assert_allclose(together.table["objective"], alone.table["objective"], rtol=1e-3)
    cosines = together.model.components_ @ alone.model.components_.T
    cosines /= np.linalg.norm(together.model.components_, axis=1)[:, np.newaxis]
    cosines /= np.linalg.norm(alone.model.components_, axis=1)
    assert cosines.max(axis=1).min() > 0.999


def test_a_checkpoint_is_the_same_for_any_number_of_runs(counts, tmp_path):
    settings = {"n_components": [3, 4], "choose": 3, "random_state": 0}
    settings["checkpoint"] = tmp_path / "runs"
    consensus(NMF(), counts, n_runs=3, n_jobs=2, **settings)
    more = consensus(NMF(), counts, n_runs=WIDTH + 4, n_jobs=1, **settings)
    settings.pop("checkpoint")
    whole = consensus(NMF(), counts, n_runs=WIDTH + 4, n_jobs=2, **settings)
    for number in (3, 4):
        np.testing.assert_array_equal(
            more.clusters[number].components, whole.clusters[number].components
        )


def test_tables_of_the_wrong_shape_are_refused(counts):
    stack = Stack(StackedData.of(count_matrix(counts), 3), 3, has_own_values=False)
    momentum = np.zeros(WIDTH, np.float32)
    data, latest, to = stack.data, stack.latest[0], stack.factors[0]
    room = np.zeros(latest.size + 2, np.float32)
    shifted = room[1:-1] if room[1:].ctypes.data % 64 else room[2:]
    with pytest.raises(ValueError, match="not aligned"):
        native.extrapolate_stack(
            shifted.reshape(latest.shape), latest, stack.totals[0], momentum, momentum, to
        )
    with pytest.raises(ValueError, match="not among those"):
        native.stacked_pass(
            data.features + np.int32(40), data.starts, data.samples, data.values, *stack.factors,
            np.ones((3, WIDTH)), *stack.new, np.zeros((3, WIDTH)),
        )  # fmt: skip


def test_short_fits_to_some_samples_do_not_depend_on_other_runs():
    """They are made for many samples only, and for a group of runs at a time."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(12, 0.3), size=2)
    X = rng.poisson(rng.gamma(0.5, 60, size=(1000, 2)) @ topics)
    plan = Plan(NMF(), sparse.csr_array(X).astype(float), None, "bootstrap", [], 5)
    stacked = stack_of_runs(plan, 2)
    assert stacked is not None
    starts = [stacked.start(run) for run in range(3)]
    together = stacked.improved(starts, 0)
    for start, run in zip(starts, together, strict=True):
        alone = stacked.improved([start], 0)[0]
        np.testing.assert_array_equal(run.topics, alone.topics)
        np.testing.assert_array_equal(run.values, start.values)
        assert run.topics.min() > 0
        # near the planted topics, where the random start is not
        assert np.abs(run.topics[:, np.newaxis] - topics).sum(axis=2).min(axis=1).max() < 0.3
    assert not np.array_equal(together[0].topics, stacked.improved(starts[:1], 1)[0].topics)
