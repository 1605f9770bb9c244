"""The kernel: against its oracle, and what it promises about bits, threads and signals."""

import concurrent.futures
import multiprocessing
import os
import sys
import tomllib
import tracemalloc
from pathlib import Path
from unittest import mock

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import random_counts, random_factors, sparse_counts
from processes import LIMIT, run_python
from scipy import sparse

from isotopic import NMF, CountMatrix, expected_counts, kernels
from isotopic._core import in_numpy, native
from isotopic.concentration import (
    Occurs,
    concentration_rises,
    concentration_slopes,
    count_histogram,
)
from isotopic.elementwise import distance, extrapolated, normalized, row_sums
from isotopic.kernels import descended_topics, one_pass, row_pass
from isotopic.threads import current_threads, thread_count, use_threads

COMPONENTS = (1, 2, 3, 7, 8, 9, 16, 17, 24, 33, 100, 128, 129, 300)


def assert_counts_equal(counts, expected, rtol):
    scale = max(1.0, expected.weights.max())
    np.testing.assert_allclose(counts.weights, expected.weights, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(counts.topics, expected.topics, rtol=rtol, atol=rtol * scale)
    assert counts.log_likelihood == pytest.approx(expected.log_likelihood, rel=rtol)


@pytest.mark.parametrize("components", COMPONENTS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_agrees_with_oracle(rng, components, form, dtype, rtol):
    X = sparse_counts(rng, 70, 90, 0.3).toarray()
    weights, topics = random_factors(rng, 70, components, 90)
    counts = expected_counts(form(X), weights.astype(dtype), topics.astype(dtype))
    assert counts.weights.dtype == counts.topics.dtype == dtype
    assert_counts_equal(counts, oracle.expected_counts(X, weights, topics), rtol)


@given(
    n_samples=st.integers(1, 40),
    n_features=st.integers(1, 60),
    components=st.integers(1, 20),
    density=st.floats(0, 1.5),
    seed=st.integers(0, 2**32 - 1),
    dense=st.booleans(),
)
def test_agrees_with_oracle_on_any_shape(n_samples, n_features, components, density, seed, dense):
    rng = np.random.default_rng(seed)
    X = sparse_counts(rng, n_samples, n_features, density)
    weights, topics = random_factors(rng, n_samples, components, n_features)
    counts = expected_counts(X.toarray() if dense else X, weights, topics)
    assert_counts_equal(counts, oracle.expected_counts(X.toarray(), weights, topics), 1e-11)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1.0, 1e100, 1e300])
def test_counts_of_any_scale(rng, scale):
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    counts = expected_counts(sparse.csr_array(X * scale), weights * scale, topics)
    expected = oracle.expected_counts(X, weights, topics)
    np.testing.assert_allclose(counts.weights / scale, expected.weights, rtol=1e-12)
    np.testing.assert_allclose(counts.topics / scale, expected.topics, rtol=1e-12)


def test_conserves_mass(rng):
    X = sparse_counts(rng, 300, 200, 0.1)
    counts = expected_counts(X, *random_factors(rng, 300, 10, 200))
    np.testing.assert_allclose(counts.weights.sum(axis=1), X.sum(axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(counts.topics.sum(axis=0), X.sum(axis=0), rtol=1e-12, atol=1e-12)


def test_adds_up_over_row_blocks(rng):
    X = sparse_counts(rng, 700, 150, 0.1)
    weights, topics = random_factors(rng, 700, 6, 150)
    parts = [
        expected_counts(X[rows], weights[rows], topics)
        for rows in (slice(0, 100), slice(100, 650), slice(650, 700))
    ]
    whole = expected_counts(X, weights, topics)
    np.testing.assert_array_equal(np.vstack([part.weights for part in parts]), whole.weights)
    np.testing.assert_allclose(sum(part.topics for part in parts), whole.topics, rtol=1e-12)
    total = sum(part.log_likelihood for part in parts)
    assert total == pytest.approx(whole.log_likelihood, rel=1e-13)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_count_that_nothing_explains_makes_the_likelihood_zero(rng, form):
    X, (weights, topics) = random_counts(rng), random_factors(rng, 12, 3, 9)
    topics[:, 0] = 0
    counts = expected_counts(form(X), weights, topics)
    assert counts.log_likelihood == -np.inf
    explained = X.copy()
    explained[:, 0] = 0
    assert_counts_equal(
        counts._replace(log_likelihood=0.0),
        oracle.expected_counts(explained, weights, topics)._replace(log_likelihood=0.0),
        1e-12,
    )


def test_weights_only_gives_the_same_weights(rng):
    X = CountMatrix(sparse_counts(rng, 500, 100, 0.1))
    weights, topics = random_factors(rng, 500, 5, 100)
    full, half = one_pass(X, weights, topics), one_pass(X, weights, topics, weights_only=True)
    np.testing.assert_array_equal(half.weights, full.weights)
    assert half.log_likelihood == full.log_likelihood
    assert half.topics.size == 0
    np.testing.assert_array_equal(row_pass(X, weights, topics)[0], full.weights)


# With 100 components, the topics of the larger one are taken in ranges of features.
@pytest.mark.parametrize("shape", [(1500, 400), (300, 42_000)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("components", [5, 100])
def test_same_bits_for_any_number_of_threads(rng, shape, dtype, components):
    X = CountMatrix(sparse_counts(rng, *shape, density=0.03), dtype)
    factors = [f.astype(dtype) for f in random_factors(rng, shape[0], components, shape[1])]
    results = []
    for threads in (1, 2, 3, 8):
        with use_threads(threads):
            results.append(one_pass(X, *factors))
    for result in results[1:]:
        np.testing.assert_array_equal(result.weights, results[0].weights)
        np.testing.assert_array_equal(result.topics, results[0].topics)
        assert result.log_likelihood == results[0].log_likelihood


def test_same_bits_in_several_python_threads_at_once(rng):
    X = CountMatrix(sparse_counts(rng, 3000, 300, 0.05))
    weights, topics = random_factors(rng, 3000, 20, 300)
    expected = one_pass(X, weights, topics)
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        results = list(executor.map(lambda _: one_pass(X, weights, topics), range(40)))
    for result in results:
        np.testing.assert_array_equal(result.topics, expected.topics)
        assert result.log_likelihood == expected.log_likelihood


def test_threads_setting_is_per_python_thread():
    with use_threads(3):
        assert current_threads() == 3
        with use_threads(1):
            assert current_threads() == 1
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            assert executor.submit(current_threads).result() == thread_count(None)
    with pytest.raises(ValueError, match="n_jobs must not be 0"):
        thread_count(0)
    assert thread_count(-1) == thread_count(None)


def _fit_in_child(seed):
    rng = np.random.default_rng(seed)
    X = sparse_counts(rng, 2000, 200, 0.1)
    return NMF(4, max_iter=3, tol=0, random_state=0, n_jobs=2).fit(X).components_


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_works_in_a_forked_child_after_a_fit_in_the_parent():
    expected = _fit_in_child(0)  # starts the pool
    with multiprocessing.get_context("fork").Pool(2) as processes:
        results = processes.map_async(_fit_in_child, [0, 0, 0]).get(timeout=LIMIT)
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_works_under_joblib():
    joblib = pytest.importorskip("joblib")
    expected = _fit_in_child(0)
    for backend in ("loky", "threading"):
        for result in joblib.Parallel(2, backend)(
            joblib.delayed(_fit_in_child)(0) for _ in range(2)
        ):
            np.testing.assert_array_equal(result, expected)


LONG_PASS = """
import os, signal, threading, time, numpy as np
from scipy import sparse
from isotopic.counts import CountMatrix
from isotopic.kernels import one_pass
from isotopic.threads import use_threads
X = sparse.random_array((3000, 1000), density=0.1, format="csr", random_state=0)
X = CountMatrix(X)
weights, topics = np.ones((3000, 3000)), np.ones((3000, 1000))
X.by_feature
sent = None

def press(when):
    global sent
    while time.process_time() < when:
        time.sleep(0.01)
    sent = time.process_time()
    os.kill(os.getpid(), signal.SIGINT)

with use_threads({threads}):
    began = time.process_time()
    one_pass(X, weights, topics)
    whole = time.process_time() - began
    threading.Thread(target=press, args=(time.process_time() + whole / 10,)).start()
    try:
        while True:
            one_pass(X, weights, topics)
    except KeyboardInterrupt:
        print((time.process_time() - sent) / whole)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_heard_inside_a_pass(threads):
    """In processor time, which other work on the machine does not change.

    The core asks for signals ten times a second, and the pass takes more than one.
    """
    run = run_python("-c", LONG_PASS.format(threads=threads))
    assert float(run.stdout) < 0.5


OUT_OF_MEMORY = """
import resource, numpy as np
from scipy import sparse
from isotopic.counts import CountMatrix
from isotopic.kernels import descended
from isotopic.threads import use_threads

def descend(X, components):
    factors = [np.ones((size, components)) for size in X.shape]
    return descended(CountMatrix(X), *factors, np.ones(components), sweeps=1)

small = sparse.csr_array(np.ones((600, 8)))
large = sparse.block_diag([small, np.ones((1, 20_000))], format="csr")
with use_threads(2):
    descend(small, 3)  # starts the pool
    X, components = CountMatrix(large), 400
    factors = [np.ones((size, components)) for size in large.shape]
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    # Enough for the padded topics, too little for a copy of them in each thread.
    resource.setrlimit(resource.RLIMIT_AS, (now + factors[1].nbytes * 6 // 5, -1))
    try:
        descended(X, *factors, np.ones(components), sweeps=1)
    except MemoryError:
        print("refused")
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    descend(small, 3)
    print("goes on")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory, and /proc")
def test_a_thread_without_memory_raises_in_the_caller():
    """In a helper this ended the process; in the caller it left helpers waiting for its chunk."""
    assert run_python("-c", OUT_OF_MEMORY).stdout == "refused\ngoes on\n"


LEVEL = """
import numpy as np
from scipy import sparse
from isotopic._core import native
from isotopic.counts import CountMatrix
from isotopic.init import random_start
from isotopic.kernels import descended, expected_counts, squared_counts
from isotopic.priors import Dirichlet
from isotopic.problem import Problem
from isotopic.solvers import JointEM, solve
assert native.level() == {level!r}, native.level()
rng = np.random.default_rng(1)
X = sparse.csr_array(rng.poisson(2.0, (400, 300)) * (rng.random((400, 300)) < 0.1))
problem = Problem(Dirichlet(0.1), Dirichlet(0.05), CountMatrix(X), 37)
lda = solve(problem, JointEM(), random_start(problem, rng), max_iter=3, tol=0).state
weights, topics = rng.gamma(1.0, size=(400, 37)), rng.dirichlet(np.ones(300), 37)
counts = expected_counts(X, weights, topics)
descent = descended(CountMatrix(X), weights, topics.T, np.ones(37), sweeps=2)
squares = squared_counts(CountMatrix(X), weights, topics)
np.savez({out!r}, lda.weights.mean, lda.topics.mean, lda.objective, *counts, descent, *squares)
"""


def test_every_instruction_set_level_agrees(tmp_path):
    results = {}
    for level in (*native.levels(), "numpy"):
        out = str(tmp_path / f"{level}.npz")
        code = LEVEL.format(level=level, out=out)
        chosen = {"ISOTOPIC_PURE_PYTHON": "1"} if level == "numpy" else {"ISOTOPIC_SIMD": level}
        run_python("-c", code, env={**os.environ, **chosen})
        results[level] = [value for _, value in sorted(np.load(out).items())]
    assert len(results) > 1
    for level, values in results.items():
        for value, expected in zip(values, results["numpy"], strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12, err_msg=level)


def calls_with(features, n_features):
    """Return calls of all functions that read topics by feature, for three samples."""
    starts, values = np.array([0, 2, 4, 6]), np.ones(6)
    weights, topics = np.ones((3, 2)), np.ones((n_features, 2))
    padded, rows = native.pad_topics(topics, 1), (starts[:-1], starts[1:])
    results = np.empty((3, 2)), np.empty(3)
    entries, steps = (features, values), np.array([0, 0, 0, 1, 0, 1, 0.0])
    whole = (starts, *entries, np.array([0, 3]), None, weights, topics)
    found = np.empty((3, 2)), None, np.empty(3), np.empty(3), np.empty(3, np.int64)
    prior = np.ones((1, 2)), None, None, True, 0.0, 3, steps
    tables = (np.empty((3, 2)) for _ in range(5))
    return {
        "expected_counts": (*whole, results[0], None, results[1], native.Workspace(), 1),
        "row_pass": (*rows, *entries, weights, padded, *results, 1),
        "infer": (*rows, *entries, padded, *prior, *found, 1),
        "descend": (starts, *entries, padded, np.ones(2), None, 2, weights, results[0], 1),
        "squared_shares": (starts, *entries, weights, topics, np.empty(6), 1),
        "select_topics": (
            starts,
            *entries,
            topics,
            np.ones(3),
            0.1,
            2,
            0,
            True,
            *tables,
            np.empty(3),
            1,
        ),
    }


@pytest.mark.parametrize("name", calls_with(np.zeros(6, np.int32), 7))
@pytest.mark.parametrize("feature", [7, 2**31 - 1, -1, -(2**31)])
@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_feature_that_no_topic_has_is_refused(name, feature, place):
    """The topics of that feature would be read outside of their memory."""
    features = np.array([0, 6, 1, 2, 3, 6], np.int32)
    getattr(native, name)(*calls_with(features, 7)[name])
    features[place] = feature
    with pytest.raises(ValueError, match="a feature is not among those of the topics"):
        getattr(native, name)(*calls_with(features, 7)[name])
    with pytest.raises(ValueError, match="a feature is not among those of the topics"):
        getattr(native, name)(*calls_with(np.zeros(6, np.int32), 0)[name])


def test_an_index_of_another_matrix_is_refused(rng):
    X = CountMatrix(sparse_counts(rng, 30, 20, 0.3))
    weights, topics = random_factors(rng, 30, 3, 20)
    expected = one_pass(X, weights, topics)
    others = [sparse_counts(rng, 30, 20, 0.2), sparse_counts(rng, 31, 20, 0.3)]
    for other in [*others, sparse.csr_array((30, 20)), sparse_counts(rng, 30, 21, 0.3)]:
        X.by_feature = CountMatrix(other).by_feature
        with pytest.raises(ValueError, match="the index by feature is of another matrix"):
            one_pass(X, weights, topics)
        with pytest.raises(ValueError, match="the index by feature is of another matrix"):
            descended_topics(X, topics, weights, np.ones(3), sweeps=1)
    del X.by_feature
    np.testing.assert_array_equal(one_pass(X, weights, topics).topics, expected.topics)


def test_histograms_of_no_column_and_of_no_number_are_empty():
    assert count_histogram(np.ones((3, 0)), by_column=True).shape == (0, native.HISTOGRAM_SIZE)
    counts = np.array([[np.inf, 1.0, np.nan]])
    found = count_histogram(counts, np.array([[np.inf, np.nan, 1.0]]), by_column=True)
    np.testing.assert_array_equal(found.sum(axis=1), [1, 1, 0])


@pytest.mark.parametrize("momentum", [0.3, 0.9])
def test_changes_beyond_the_precision_are_extrapolated_alike(rng, momentum):
    """Ratios of such counts overflow; NumPy once clipped them where the core did not."""
    latest, previous = 10 ** rng.uniform(-290, 290, (2, 5, 4000))
    settings = {"momentum": momentum, "floor": 1e-6}
    ours = extrapolated(latest, previous, row_sums(latest), **settings)
    with mock.patch.object(kernels, "native", in_numpy):
        theirs = extrapolated(latest, previous, row_sums(latest), **settings)
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)


def test_an_unknown_level_is_named():
    code = "from isotopic.kernels import expected_counts as e; e([[1.0]], [[1.0]], [[1.0]])"
    environment = {**os.environ, "ISOTOPIC_SIMD": "v9"}
    run = run_python("-c", code, check=False, env=environment)
    assert run.returncode != 0
    assert "ISOTOPIC_SIMD=v9 is not an instruction-set level" in run.stderr


def test_the_compiled_core_is_what_runs():
    assert native.level() != "numpy" or os.environ.get("ISOTOPIC_PURE_PYTHON") == "1"


BROKEN = """
import sys
class Finder:
    def find_spec(self, name, *_):
        if name.endswith("_native"):
            raise ImportError("undefined symbol")
sys.meta_path.insert(0, Finder())
import isotopic.kernels
"""


def test_a_core_that_is_missing_is_named_and_one_that_does_not_load_is_an_error():
    code = "import sys; sys.modules['isotopic._core._native'] = None; import isotopic.kernels"
    run = run_python("-c", code)
    assert "installed without its compiled core" in run.stderr
    run = run_python("-c", BROKEN, check=False)
    assert "ImportError: undefined symbol" in run.stderr


def test_what_is_alive_at_the_end_is_not_reported_to_the_user():
    code = "import ctypes; from isotopic._core import native; kept = native.Workspace(); "
    code += "ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))"
    assert run_python("-c", code).stderr == ""


def test_a_core_that_cannot_be_built_ends_the_installation():
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    overrides = settings["tool"]["scikit-build"]["overrides"]
    without_core = {"cmake": False, "py-api": "py3"}
    assert overrides == [{"if": {"env": {"ISOTOPIC_PURE_PYTHON": True}}, "wheel": without_core}]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_read_only_arrays_are_good_and_nothing_given_is_changed(rng, form):
    X, (weights, topics) = form(random_counts(rng)), random_factors(rng, 12, 3, 9)
    arrays = [
        weights,
        topics,
        *([X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]),
    ]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    expected_counts(X, weights, topics)
    for array, kept in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_dense_temporaries_are_bounded(rng):
    X = CountMatrix(rng.poisson(1.0, (4000, 3000)).astype(float))  # 96 MB
    weights, topics = random_factors(rng, 4000, 4, 3000)
    tracemalloc.start()
    try:
        one_pass(X, weights, topics)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * 2**20


@pytest.mark.parametrize(
    ("weights", "topics", "message"),
    [
        (np.ones((12, 3)), np.ones((2, 9)), "do not match"),
        (np.ones((11, 3)), np.ones((3, 9)), "do not match"),
        (-np.ones((12, 3)), np.ones((3, 9)), "weights must be finite and non-negative"),
        (np.ones((12, 3)), np.full((3, 9), np.nan), "topics must be finite and non-negative"),
    ],
)
def test_bad_factors_are_named(rng, weights, topics, message):
    with pytest.raises(ValueError, match=message):
        expected_counts(random_counts(rng), weights, topics)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distance_is_the_sum_of_absolute_differences(rng, order, dtype):
    a, b = (np.asarray(rng.random((23, 11)), dtype, order=order) for _ in range(2))
    rows, columns = rng.random(23), rng.random(11)
    expected = np.abs(a - rows[:, np.newaxis] * b.astype(float) * columns).sum()
    assert distance(a, b, row_scale=rows, column_scale=columns) == pytest.approx(expected, rel=1e-6)
    assert distance(a, b) == pytest.approx(np.abs(a.astype(float) - b).sum(), rel=1e-6)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("columns", [1, 3, 7, 8, 9, 15, 16, 17, 20, 100])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_normalized_rows_sum_to_one(rng, order, in_place, columns, dtype, rtol):
    array = np.asarray(rng.random((21, columns)), dtype, order=order)
    array[4] = 0
    given = array.copy()
    expected = np.full(array.shape, 1 / columns)
    some = np.arange(21) != 4
    expected[some] = given[some] / given[some].sum(axis=1, keepdims=True, dtype=float)
    result = normalized(array, in_place=in_place)
    np.testing.assert_allclose(result, expected, rtol=rtol)
    assert np.shares_memory(result, array) == in_place
    if not in_place:
        np.testing.assert_array_equal(array, given)
    np.testing.assert_allclose(row_sums(given), given.sum(axis=1, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(row_sums(given.T), given.sum(axis=0, dtype=float), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("by_column", [False, True])
def test_histograms_have_the_same_bits_for_any_number_of_threads(rng, dtype, by_column):
    counts = (rng.gamma(0.2, 20.0, (30_000, 7)) * rng.integers(0, 2, (30_000, 7))).astype(dtype)
    squares = (counts * rng.uniform(0, 1, counts.shape)).astype(dtype)
    found = []
    for threads in (1, 3):
        with use_threads(threads):
            found.append(count_histogram(counts, squares, by_column=by_column))
    np.testing.assert_array_equal(found[0], found[1])
    twin = np.empty_like(found[0])
    in_numpy.count_histogram(counts, squares, None, by_column, twin, 1)
    np.testing.assert_allclose(found[0], twin, rtol=1e-9)


@pytest.mark.parametrize("occurs", list(Occurs))
def test_rises_agree_with_the_numpy_twin(rng, occurs):
    counts = rng.gamma(0.2, 20.0, (500, 5))
    histogram = count_histogram(counts, counts * rng.uniform(0, 1, counts.shape), by_column=True)
    concentration, twin = np.geomspace(1e-3, 50, 5), np.empty(5)
    in_numpy.concentration_rises(histogram, concentration, int(occurs), twin, 1)
    found = concentration_rises(histogram, concentration, occurs)
    np.testing.assert_allclose(found, twin, rtol=1e-7)


@pytest.mark.parametrize("occurs", list(Occurs))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 5, 40])
def test_concentration_slopes_agree_with_the_numpy_twin(rng, occurs, dtype, columns):
    counts = (rng.gamma(0.2, 20.0, (300, columns)) * rng.integers(0, 2, (300, columns))).astype(
        dtype
    )
    squares = (counts * rng.uniform(0, 1, counts.shape)).astype(dtype)
    squares[0] = counts[0]
    for rows in (1, 300):
        concentration = rng.gamma(0.3, 3.0, (rows, columns)) + 1e-3
        concentration[0, columns // 2 :] *= columns < 5 or rng.integers(0, 2)  # forbidden entries
        known = squares if occurs == Occurs.DEPENDENTLY else None
        gains, losses = np.empty(counts.shape), np.empty(300)
        in_numpy.concentration_slopes(counts, known, concentration, int(occurs), gains, losses, 1)
        found = concentration_slopes(counts, known, concentration, occurs)
        np.testing.assert_allclose(found[0], gains, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(found[1], losses, rtol=1e-9, atol=1e-12)


def test_where_nothing_is_counted_or_allowed_a_concentration_gains_nothing():
    counts = np.array([[0.0, 1.0, 1e-310, 2.0], [0.0, 0.0, 0.0, 0.0]])
    concentration = np.array([[0.5, 0.0, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0]])
    gains, losses = concentration_slopes(counts, counts, concentration, Occurs.DEPENDENTLY)
    np.testing.assert_array_equal(gains[:, :3], 0)
    assert gains[0, 3] > 0
    assert gains[1, 3] == losses[1] == 0
