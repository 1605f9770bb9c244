"""The compiled core against the same functions in NumPy.

Each property runs a function of ``isotopic.kernels`` twice, the second time on ``in_numpy``. The
sanitizers watch the first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from unittest import mock

import numpy as np
from hypothesis import strategies as st
from scipy import special

from fuzz.loop import Property
from isotopic import elementwise, kernels
from isotopic._core import in_numpy, native
from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.threads import use_threads

# One for all cases, so that it is reused with other components and another precision.
WORKSPACE = native.Workspace()

TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-11}

# Factors and counts are powers of ten up to this. Beyond it x / (weights @ topics) * topics, in
# which the four magnitudes add up, overflows.
LARGEST_POWER = {"float32": 9, "float64": 75}


def twice(function: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[Any, Any]:
    """Call with the compiled core, then with NumPy."""
    compiled = function(*arguments, **named)
    with mock.patch.object(kernels, "native", in_numpy), np.errstate(all="ignore"):
        return compiled, function(*arguments, **named)


@dataclass(frozen=True)
class Counts:
    """A matrix and its factors; everything but the sizes follows from the seed."""

    samples: int
    features: int
    components: int
    entries_a_row: float
    power: float
    zeros: float
    dtype: str
    dense: bool
    threads: int
    blocks: int
    seed: int

    def make(self) -> tuple[CountMatrix, Array, Array]:
        """Draw it."""
        rng = np.random.default_rng(self.seed)
        wanted = rng.poisson(self.entries_a_row, self.samples)
        columns = [np.unique(rng.integers(0, self.features, n, np.int32)) for n in wanted]
        lengths = [len(some) for some in columns]
        X = CountMatrix.__new__(CountMatrix)
        X.shape, X.dtype = (self.samples, self.features), np.dtype(self.dtype)
        X.is_sparse = not self.dense
        features = np.concatenate([np.empty(0, np.int32), *columns])
        values = self._numbers(rng, len(features))
        starts = np.append(0, np.cumsum(lengths)).astype(np.int64)
        if self.dense:
            X.dense = np.zeros(X.shape, X.dtype)
            X.dense[np.repeat(np.arange(self.samples), lengths), features] = values
        else:
            X._set_entries(starts, features, values)
            cuts = np.sort(rng.integers(0, self.samples + 1, self.blocks))
            X.block_rows = np.concatenate([[0], cuts, [self.samples]]).astype(np.int64)
            X.workspace = WORKSPACE
        weights = self._numbers(rng, (self.samples, self.components), self.zeros)
        topics = self._numbers(rng, (self.components, self.features), self.zeros)
        return X, weights, topics

    def _numbers(self, rng: np.random.Generator, shape: Any, zeros: float = 0.0) -> Array:
        power = self.power * LARGEST_POWER[self.dtype]
        numbers = 10 ** rng.uniform(-power, power, shape)
        return np.where(rng.random(shape) < zeros, 0, numbers).astype(self.dtype)


seeds = st.integers(0, 2**32 - 1)
threads = st.integers(1, 4)
dtypes = st.sampled_from(["float64", "float32"])
counts = st.builds(
    Counts,
    samples=st.integers(0, 5) | st.integers(0, 100),
    features=st.integers(1, 5) | st.integers(1, 100) | st.sampled_from([5000, 100_000]),
    components=st.integers(1, 9) | st.integers(1, 130) | st.sampled_from([256, 257, 300]),
    entries_a_row=st.sampled_from([0.0, 0.5, 3.0, 40.0, 400.0]),
    power=st.sampled_from([0.0, 0.1, 0.5, 0.95]),
    zeros=st.sampled_from([0.0, 0.1, 0.9]),
    dtype=dtypes,
    dense=st.booleans(),
    threads=threads,
    blocks=st.integers(0, 4),
    seed=seeds,
).filter(lambda case: case.features * case.components * (case.samples if case.dense else 1) < 7e5)


def a_pass_agrees(case: Counts) -> None:
    """Compare expected counts with those of NumPy, their mass, and their bits in one thread."""
    X, weights, topics = case.make()
    with use_threads(case.threads):
        ours, theirs = twice(kernels.one_pass, X, weights, topics)
        half = kernels.one_pass(X, weights, topics, weights_only=True)
    with use_threads(1):
        alone = kernels.one_pass(X, weights, topics)
    np.testing.assert_array_equal(alone.weights, ours.weights)
    np.testing.assert_array_equal(alone.topics, ours.topics)
    assert alone.log_likelihood == ours.log_likelihood

    tolerance = TOLERANCE[X.dtype]
    floor = float(np.finfo(X.dtype).tiny) / tolerance
    # A pass cuts large topics into ranges of features, which it does not for the weights alone.
    np.testing.assert_allclose(half.weights, ours.weights, tolerance, floor)
    np.testing.assert_allclose(ours.weights, theirs.weights, tolerance, floor)
    np.testing.assert_allclose(ours.topics, theirs.topics, tolerance, floor)
    if np.isfinite(theirs.log_likelihood):
        slack = tolerance * X.total * (1 + 2 * np.log(10) * LARGEST_POWER[case.dtype])
        for found in (ours, half):
            np.testing.assert_allclose(
                found.log_likelihood, theirs.log_likelihood, tolerance, slack
            )
        np.testing.assert_allclose(ours.weights.sum(axis=1), X.sample_totals, tolerance)
        np.testing.assert_allclose(ours.topics.sum(axis=0), X.feature_totals, tolerance)
    else:
        assert half.log_likelihood == ours.log_likelihood == theirs.log_likelihood


@dataclass(frozen=True)
class Table:
    """Two tables of positive numbers of any magnitude, and a number for each row and column."""

    rows: int
    columns: int
    power: float
    zeros: float
    dtype: str
    order: Literal["C", "F"]
    threads: int
    seed: int

    def make(self) -> tuple[Array, Array, Array, Array]:
        """Draw them."""
        rng = np.random.default_rng(self.seed)
        shape = self.rows, self.columns
        first, second = (np.asarray(self._numbers(rng, shape), order=self.order) for _ in range(2))
        scales = 10 ** rng.uniform(-3, 3, self.rows), 10 ** rng.uniform(-3, 3, self.columns)
        return first, second, *scales

    def _numbers(self, rng: np.random.Generator, shape: Any) -> Array:
        numbers: Array = (10 ** rng.uniform(-self.power, self.power, shape)).astype(self.dtype)
        numbers[rng.random(shape) < self.zeros] = 0
        return numbers


@st.composite
def tables(draw: st.DrawFn, zeros: bool = True) -> Table:
    """Draw a table."""
    dtype = draw(dtypes)
    powers = [0.0, 3.0, 30.0] if dtype == "float32" else [0.0, 3.0, 30.0, 290.0]
    return Table(
        rows=draw(st.integers(0, 5) | st.integers(0, 70)),
        columns=draw(st.integers(1, 5) | st.integers(1, 70) | st.sampled_from([20_000])),
        power=draw(st.sampled_from(powers)),
        zeros=draw(st.sampled_from([0.0, 0.3, 1.0])) if zeros else 0.0,
        dtype=dtype,
        order=draw(st.sampled_from("CF")),
        threads=draw(threads),
        seed=draw(seeds),
    )


def a_division_agrees(case: Table) -> None:
    """Compare ratios with those of NumPy, for counts and products of any size, subnormal too."""
    product, x, *_ = (np.ascontiguousarray(each) for each in case.make())
    tiny = float(np.finfo(case.dtype).tiny)
    rng = np.random.default_rng(case.seed)
    product[rng.random(product.shape) < 0.1] = tiny / 3
    least = tiny * np.maximum(4 * x.astype(np.float64), 1)  # that can explain a count
    clear = np.abs(product - least) > 1e-3 * least
    x[~clear] = 0  # whether these explain anything is up to the last bit
    results = []
    for core in (native, in_numpy):
        ratios, log_likelihoods = product.copy(), np.empty(case.rows)
        with np.errstate(all="ignore"):
            core.divide(x, ratios, log_likelihoods, case.threads)
        results.append((ratios, log_likelihoods))
    (ours, ours_log), (theirs, theirs_log) = results
    np.testing.assert_allclose(ours, theirs, 1e-6 if case.dtype == "float32" else 1e-14, tiny)
    possible = np.isfinite(theirs_log)
    np.testing.assert_array_equal(np.isfinite(ours_log), possible)
    size = (x * np.abs(np.log(np.where(product > 0, product, 1).astype(float)))).sum(axis=1)
    wrong = np.abs(ours_log[possible] - theirs_log[possible])
    assert np.all(wrong <= 1e-6 * (size + x.sum(axis=1, dtype=float))[possible]), wrong


def a_distance_agrees(case: Table) -> None:
    """Compare distances with those of NumPy."""
    a, b, row_scale, column_scale = case.make()
    for scales in ({}, {"row_scale": row_scale}, {"column_scale": column_scale}):
        with use_threads(case.threads):
            ours, theirs = twice(elementwise.distance, a, b, **scales)
        np.testing.assert_allclose(ours, theirs, 1e-6 if case.dtype == "float32" else 1e-12)


def normalized_rows_agree(case: Table) -> None:
    """Compare sums and normalised rows with those of NumPy, in place too."""
    a = case.make()[0]
    with use_threads(case.threads):
        sums, sums_in_numpy = twice(elementwise.row_sums, a)
        ours, theirs = twice(elementwise.normalized, a)
        in_place = elementwise.normalized(a.copy(order="K"), in_place=True)
    np.testing.assert_allclose(sums, sums_in_numpy, 1e-12)
    np.testing.assert_array_equal(in_place, ours)
    np.testing.assert_allclose(ours, theirs, 1e-6, float(np.finfo(case.dtype).tiny))
    np.testing.assert_allclose(ours.sum(axis=1, dtype=np.float64), 1, 1e-6)


def an_extrapolation_agrees(case: Table) -> None:
    """Compare extrapolated counts with those of NumPy; rows that have any keep their total."""
    latest, previous, *_ = case.make()
    totals = elementwise.row_sums(latest)
    with use_threads(case.threads):
        ours, theirs = twice(
            elementwise.extrapolated, latest, previous, totals, momentum=0.9, floor=1e-6
        )
    # Powers are good to 1e-8 or so, in single precision to 1e-6; sums of many columns to less.
    close = 1e-5 + 1e-9 * case.columns if case.dtype == "float32" else 1e-7
    np.testing.assert_allclose(ours, theirs, close, float(np.finfo(case.dtype).tiny))
    np.testing.assert_allclose(ours.sum(axis=1, dtype=np.float64), totals, close + 1e-5)


def a_descent_agrees(case: Counts) -> None:
    """Compare the rows' objectives after a descent with NumPy's; none is above where it began."""
    X, weights, topics = case.make()
    X = X.as_sparse()
    slopes = np.maximum(elementwise.row_sums(topics), np.finfo(case.dtype).tiny)

    def objectives(factors: Array) -> Array:
        log_likelihoods = kernels.row_pass(X, factors, topics)[1]
        return np.asarray(factors.astype(np.float64) @ slopes - log_likelihoods)

    with use_threads(case.threads):
        ours, theirs = twice(kernels.descended, X, weights, topics.T, slopes, sweeps=2)
    with use_threads(1):
        alone = kernels.descended(X, weights, topics.T, slopes, sweeps=2)
    np.testing.assert_array_equal(alone, ours)
    assert np.all(np.isfinite(ours) & (ours >= 0))
    if case.power > 0.2:  # objectives that are differences of numbers too large for the precision
        return
    before, after, expected = (objectives(factors) for factors in (weights, ours, theirs))
    slack = (1e-3 if case.dtype == "float32" else 1e-9) * (1 + X.sample_totals + np.abs(expected))
    assert np.all((after <= before + slack) | np.isinf(before)), (before, after)
    assert np.all(np.isinf(after) == np.isinf(expected)), (after, expected)


def squared_counts_agree(case: Counts) -> None:
    """Compare the squares with NumPy's; none is above its count, which are those of a pass."""
    X, weights, topics = case.make()
    with use_threads(case.threads):
        ours, theirs = twice(kernels.squared_counts, X, weights, topics)
    with use_threads(1):
        alone = kernels.squared_counts(X, weights, topics)
    passed = kernels.one_pass(X, weights, topics)
    close = 1e-4 if case.dtype == "float32" else 1e-10
    smallest = float(np.finfo(case.dtype).tiny) / np.finfo(case.dtype).eps
    for part, expected, same, counts in zip(ours, theirs, alone, passed[:2], strict=True):
        np.testing.assert_array_equal(part, same)
        scale = float(counts.max(initial=0.0))
        np.testing.assert_allclose(part, expected, close, close * scale + smallest)
        assert np.all(part <= counts * (1 + close) + close * scale + smallest)


def an_effective_factor_agrees(case: Table) -> None:
    """Compare effective factors and terms with those of NumPy; proportions are at most one."""
    parameters, shares, *_ = case.make()
    shares = parameters * (shares / (1 + shares))
    offsets = elementwise.gamma_functions(elementwise.row_sums(parameters))[0]
    with use_threads(case.threads):
        (ours, term), (theirs, expected) = twice(
            elementwise.effective_factor, parameters, shares, offsets
        )
    wide = parameters.astype(np.float64)
    digamma = special.digamma(wide)
    size = np.abs(special.gammaln(wide)) + np.abs(shares * digamma)
    np.testing.assert_allclose(term, expected, 1e-12, 1e-12 * size.sum() + 1e-300)
    close = 1e-6 if case.dtype == "float32" else 1e-11
    assert np.all((ours >= 0) & (ours <= 1 + close)), ours
    # An exponential is as good as its argument, a difference of numbers that may be huge.
    slack = close + 1e-14 * (np.abs(digamma) + np.abs(offsets[:, np.newaxis]))
    known = slack < 0.1
    wrong, tiny = np.abs(ours.astype(float) - theirs), float(np.finfo(case.dtype).tiny)
    assert np.all((wrong <= slack * theirs + 2 * tiny)[known]), (ours, theirs)


def gamma_functions_agree(x: list[float]) -> None:
    """Compare digamma and log-gamma with those of SciPy."""
    (digamma, log_gamma), (expected_digamma, expected_log_gamma) = twice(
        elementwise.gamma_functions, np.array(x)
    )
    np.testing.assert_allclose(digamma, expected_digamma, 1e-11)
    np.testing.assert_allclose(log_gamma, expected_log_gamma, 1e-12, 1e-13)


positive = st.floats(1e-300, 1e300) | st.floats(1e-3, 100)

PROPERTIES = [
    Property(a_pass_agrees, counts),
    Property(a_division_agrees, tables()),
    Property(a_distance_agrees, tables()),
    Property(normalized_rows_agree, tables()),
    Property(an_extrapolation_agrees, tables()),
    Property(a_descent_agrees, counts),
    Property(squared_counts_agree, counts),
    Property(an_effective_factor_agrees, tables(zeros=False)),
    Property(gamma_functions_agree, st.lists(positive, max_size=40)),
]
if native.level() != "numpy":  # which checks nothing, and need not
    from fuzz.calls import a_wrong_call_raises, calls

    PROPERTIES.append(Property(a_wrong_call_raises, calls, batch=100))
