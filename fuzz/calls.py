"""Calls of the compiled functions with arguments that they must refuse, or have a use for."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.row_inference import Steps
from isotopic.solvers.stack import WIDTH, Stack, StackedData, StackedRun

# One for all cases, so that it is reused with other components and another precision.
WORKSPACE = native.Workspace()

# What has no arguments.
WITHOUT_ARGUMENTS = {"level", "levels", "release_memory"}


@dataclass(frozen=True)
class Call:
    """A call of the core of which one argument was replaced or changed."""

    function: str
    argument: int
    change: str
    seed: int


def _good_calls(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Return good arguments for each function."""
    X = CountMatrix(sparse.random_array((6, 7), density=0.5, format="csr", random_state=rng))
    X.block_rows = np.array([0, 2, 6])
    weights, topics = rng.random((6, 3)), rng.random((7, 3))
    padded = native.pad_topics(topics, 1)
    rows, table, many = np.ones(6), rng.random((6, 7)), rng.random((6, 3))
    index: list[Any] = [X.shape[1], X.block_rows, X.row_starts, X.features]
    entries = [X.row_starts, X.features, X.values]
    some = [X.row_starts[:-1], X.row_starts[1:], X.features, X.values]
    histogram = rng.random((2, native.HISTOGRAM_SIZE))
    found = [many.copy(), many.copy(), rows.copy(), rows.copy(), np.ones(6, np.int64)]
    by_feature = native.column_index(*index, 2)
    selected = [*(many.copy() for _ in range(5)), rows.copy()]
    stack = Stack(StackedData.of(X, 3), 3, has_own_values=True)
    for lane in range(WIDTH):
        stack.load(lane, StackedRun(topics.T, X.values))
    lanes = np.full(WIDTH, 0.5, np.float32)
    return {
        "expected_counts": [
            *[*entries, X.block_rows, by_feature, weights, topics],
            *[np.empty_like(weights), np.empty_like(topics), rows.copy(), WORKSPACE, 2],
        ],
        "pad_topics": [topics, 2],
        "row_pass": [*some, weights, padded, np.empty_like(weights), rows.copy(), 2],
        "infer": [
            *[*some, padded, np.ones((1, 3)), many, np.ones(3), True, 1e-3, 5],
            *[np.array(Steps()), *found, 2],
        ],
        "fit_rates": [  # of transposed counts: the features of the samples are samples of features
            *[*entries, topics, topics.sum(axis=0), rows, 0.5],
            *[np.full((6, 3), 0.1), np.empty((6, 9)), 2],
        ],
        "select_topics": [*entries, topics, rows.copy(), 0.1, 2.0, 1.0, True, *selected, 2],
        "count_histogram": [table, table, rows, True, np.ones((7, native.HISTOGRAM_SIZE)), 2],
        "concentration_slopes": [table, 0.5 * table, table, 2, table.copy(), rows.copy(), 2],
        "concentration_rises": [histogram, np.ones(2), 2, np.ones(2), 2],
        "draw_topics": [
            *[*entries[:2], np.full(len(X.values), 2, np.int32), weights.astype(np.float32)],
            *[native.pad_topics(topics.astype(np.float32), 2), 7],
            *[np.zeros(2 * len(X.values), np.int32), 2],
        ],
        "sample_sweeps": [
            *[*entries[:2], np.full(len(X.values), 2, np.int32)],
            np.ones(len(X.values), np.float32),
            *[np.ones(6, np.float32), np.full(3, 0.1), 0.05, 3, 2, 7],
            *[np.zeros(2 * len(X.values), np.int32), np.ones((6, 3), np.float32)],
            *[np.ones((7, 3), np.float32), 2],
        ],
        "column_index": [*index, 2],
        "divide": [table, table.copy(), rows, 2],
        "effective_factor": [table, table, rows, np.ones(7), table.copy(), rows.copy(), 2],
        "mean_posterior": [
            *[table, table, 0.5 * table, np.ones((1, 7)), rows, None],
            *[table.copy(), table.copy(), rows.copy(), 2],
        ],
        "distance": [table, table, rows, np.ones(7), 2],
        "row_distances": [table, table, rows, 2],
        "extrapolate": [table, table, rows, 0.9 * rows, 1e-6 * rows, table.copy(), 2],
        "descend": [*entries, padded, np.ones(3), rows, 2, weights, np.empty_like(weights), 2],
        "descend_features": [
            *[*entries, X.block_rows, by_feature, None, X.values],
            *[native.pad_topics(weights, 2), np.ones(3), 2, topics, np.empty_like(topics), 2],
        ],
        "order_values": [by_feature, X.values, X.values.copy()],
        "squared_shares": [*entries, weights, topics, np.empty_like(X.values), 2],
        "sums": [table, False, rows, 2],
        "normalize": [table, True, np.ones(7), table.copy(), 2],
        "gamma_functions": [rows, rows.copy(), rows.copy()],
        "stacked_pass": [
            *[stack.data.features, stack.data.starts, stack.data.samples, stack.values],
            *[*stack.latest, np.ones((3, WIDTH)), *stack.new, np.zeros((3, WIDTH))],
        ],
        "extrapolate_stack": [
            *[stack.latest[0], stack.previous[0], stack.totals[0], lanes, lanes, stack.factors[0]]
        ],
    }


def _with_other_numbers(rng: np.random.Generator, array: Array) -> Array:
    numbers = [0, 1, 5, 6, 7, 99, 2**15, -1, -99]
    if array.dtype.kind == "f":
        numbers += [np.nan, np.inf, -np.inf, 1e-310, 1e300]
    array = array.copy()
    some = rng.random(array.shape) < rng.choice([0.1, 0.5])
    with np.errstate(over="ignore"):
        array[some] = rng.choice(numbers, array.shape)[some].astype(array.dtype)
    return array


def _in_padded_memory(array: Array) -> Array:
    """Return a copy that is padded and aligned as the core wants topics."""
    made: Array = native.pad_topics(np.ascontiguousarray(array), 1)
    return made


CHANGES: dict[str, Callable[[np.random.Generator, Array], Any]] = {
    "longer": lambda _, a: np.concatenate([a, a[:1]]),
    "shorter": lambda _, a: a[:-1],
    "empty": lambda _, a: a[:0],
    "without columns": lambda _, a: a[..., :0],
    "wider": lambda _, a: np.hstack([a, a]),
    "strided": lambda _, a: np.repeat(a, 2, axis=-1)[..., ::2],
    "transposed": lambda _, a: np.asfortranarray(a),
    "padded": lambda _, a: _in_padded_memory(a),
    "flat": lambda _, a: a.ravel(),
    "deep": lambda _, a: a[np.newaxis],
    "float32": lambda _, a: a.astype(np.float32),
    "int64": lambda _, a: np.nan_to_num(a).astype(np.int64),
    "a list": lambda _, a: a.tolist(),
    "nothing": lambda _, a: None,
    "a number": lambda _, a: -3,
    "text": lambda _, a: "text",
    "read-only": lambda _, a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "other numbers": _with_other_numbers,
}


def _changed(rng: np.random.Generator, argument: Any, change: str) -> Any:
    if isinstance(argument, np.ndarray):
        return CHANGES[change](rng, argument)
    if change == "nothing":
        return None
    if isinstance(argument, native.ColumnIndex):  # of another matrix
        starts = np.array([0, 1, 3], np.int64)
        last = int(rng.choice([0, 6, 7, 99]))
        return native.column_index(
            last + 1, np.array([0, 2]), starts, np.array([0, 0, last], np.int32), 1
        )
    return int(rng.integers(-5, 5))


def a_wrong_call_raises(case: Call) -> None:
    """Give the core something that it must refuse, or have a use for."""
    rng = np.random.default_rng(case.seed)
    arguments = _good_calls(rng)[case.function]
    at = case.argument % len(arguments)
    with suppress(ValueError, TypeError):
        arguments[at] = _changed(rng, arguments[at], case.change)
        getattr(native, case.function)(*arguments)


def functions() -> list[str]:
    """Return the functions of which good calls are known."""
    return sorted(_good_calls(np.random.default_rng(0)))


def functions_without_calls() -> set[str]:
    """Return the functions of the core of which no good call is known."""
    public = {name for name in dir(native) if not name.startswith("_") and name.islower()}
    return public - WITHOUT_ARGUMENTS - set(functions())


def a_good_call_works(name: str) -> None:
    """Call a function as it should be."""
    getattr(native, name)(*_good_calls(np.random.default_rng(0))[name])


calls = st.builds(
    Call,
    function=st.sampled_from(functions()),
    argument=st.integers(0, 17),
    change=st.sampled_from(sorted(CHANGES)),
    seed=st.integers(0, 2**32 - 1),
)
