"""Fit one model from many starts together: a pass over the data serves sixteen runs at once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences import KullbackLeibler
from isotopic.problem import Problem
from isotopic.solvers.accelerated import FIRST_MOMENTUM, FLOOR, Schedule
from isotopic.solvers.coordinate_descent import why_no_descent

WIDTH: int = native.STACK_WIDTH

# Weights of a block of samples, and their counts, that stay in the cache together.
_CACHED_BYTES = 2**19

# From this many components on, one run fills the vectors of the core alone.
_MOST_COMPONENTS = 40

# The entries of a feature in a block of samples that make up for reading its topics.
_ENTRIES_OF_SEGMENT = 4

_MOST_BYTES = 2**30
_FLOAT = np.dtype(np.float32).itemsize

_SCHEDULE = Schedule(KullbackLeibler.max_momentum, KullbackLeibler.floor_to_residual)


def can_stack(problem: Problem, *, has_own_values: bool) -> bool:
    """Return whether runs of a problem can be fitted together, and are faster so.

    Both sides must be point estimates without a penalty, under the Kullback-Leibler divergence:
    then normalised topics are no restriction (Lemma 4.1), and all such models have the same topics.
    """
    if why_no_descent(problem) or problem.weights.linear_penalty or problem.topics.linear_penalty:
        return False
    X, K = problem.X, problem.n_components
    if X.copies is not None or K > _MOST_COMPONENTS or problem.movable_topics is not None:
        return False
    entries = len(X.values) if X.is_sparse else X.dense.size
    n_blocks = -(-X.shape[0] // _samples_of_block(K))
    if entries < _ENTRIES_OF_SEGMENT * X.shape[1] * n_blocks:
        return False
    tables = 4 * K * sum(X.shape) + (entries if has_own_values else 0)
    return X.fits_single_precision and tables * WIDTH * _FLOAT <= _MOST_BYTES


def _samples_of_block(n_components: int) -> int:
    return max(16, _CACHED_BYTES // (2 * n_components * WIDTH * _FLOAT))


@dataclass(frozen=True, eq=False)
class StackedData:
    """Counts in the order in which a stack reads them: by block of samples, then by feature.

    Attributes
    ----------
    shape : tuple of int
    features : ndarray of int32 of shape (n_segments,)
        The feature of each segment: the entries of one feature in one block of samples.
    starts : ndarray of int64 of shape (n_segments + 1,)
    samples : ndarray of int32 of shape (n_entries,)
    order : ndarray of int64 of shape (n_entries,)
        The position of each entry in the matrix by rows.
    values : ndarray of float32 of shape (n_entries, 1)
    sample_totals, feature_totals : ndarray
    """

    shape: tuple[int, int]
    features: Array
    starts: Array
    samples: Array
    order: Array
    values: Array
    sample_totals: Array
    feature_totals: Array

    @classmethod
    def of(cls, X: CountMatrix, n_components: int) -> "StackedData":
        """Order the counts for stacks with this number of components."""
        rows = X.as_sparse()
        n_samples, n_features = X.shape
        step = _samples_of_block(n_components)
        features, lengths, samples, order = [], [], [], []
        for begin in range(0, n_samples, step):
            end = min(begin + step, n_samples)
            first, last = rows.row_starts[begin], rows.row_starts[end]
            parts = np.arange(first, last), rows.features[first:last]
            starts = rows.row_starts[begin : end + 1] - first
            block = sparse.csr_array((*parts, starts), shape=(end - begin, n_features)).tocsc()
            counts = np.diff(block.indptr)
            present = np.flatnonzero(counts)
            features.append(present)
            lengths.append(counts[present])
            samples.append(block.indices + begin)
            order.append(block.data)
        kept = np.concatenate(order)
        return cls(
            X.shape,
            np.concatenate(features).astype(np.int32),
            np.append(0, np.cumsum(np.concatenate(lengths), dtype=np.int64)),
            np.concatenate(samples).astype(np.int32),
            kept,
            rows.values[kept].astype(np.float32)[:, np.newaxis],
            X.sample_totals,
            X.feature_totals,
        )


@dataclass(frozen=True, eq=False)
class StackedRun:
    """Where a run starts, and where it ended.

    Attributes
    ----------
    topics : ndarray of shape (n_components, n_features)
        At the start expected counts or any multiple of topics; at the end distributions.
    values : ndarray of shape (n_entries,) or None
        The counts of this run at the entries of the data, by rows; ``None``: those of the data.
    objective : float
        The generalised Kullback-Leibler divergence at the end, without the terms of the data alone.
    n_iter : int
    """

    topics: Array
    values: Array | None = None
    objective: float = np.inf
    n_iter: int = 0


class Stack:
    r"""Sixteen runs of accelerated EM in the lanes of one pass.

    Each run takes the steps of ``Accelerated(BlockUpdate())`` in single precision, with its own
    momentum and floor. When a run has converged, the next one takes its place. No number of a run
    depends on the other runs, so neither does its result.
    """

    def __init__(self, data: StackedData, n_components: int, *, has_own_values: bool) -> None:
        self.data, self.n_components = data, n_components
        n_samples, n_features = data.shape

        def tables() -> list[Array]:
            return [_aligned((rows, n_components, WIDTH)) for rows in (n_samples, n_features)]

        self.factors, self.latest, self.previous, self.new = tables(), tables(), tables(), tables()
        self.totals = [np.zeros((rows, WIDTH), np.float32) for rows in data.shape]
        self.values = _aligned((len(data.order), WIDTH)) if has_own_values else data.values
        self.total = np.ones(WIDTH)
        self.objective, self.residual = np.zeros(WIDTH), np.zeros(WIDTH)
        self.momentum, self.floor = np.zeros(WIDTH), np.zeros(WIDTH)
        self.is_plain = np.ones(WIDTH, bool)
        self.iterations = np.zeros(WIDTH, np.int64)

    def load(self, lane: int, run: StackedRun) -> None:
        """Let a run begin in a lane."""
        data = self.data
        samples, features = data.sample_totals, data.feature_totals
        if run.values is not None:
            values = run.values[data.order]
            self.values[:, lane] = values
            samples = np.bincount(data.samples, values, data.shape[0])
            by_segment = np.add.reduceat(values, data.starts[:-1], dtype=np.float64)
            features = np.bincount(data.features, by_segment, data.shape[1])
        equal = samples[:, np.newaxis] / self.n_components
        for side, (totals, counts) in enumerate(
            [(samples, equal), (features, _shares(run.topics.T, features))]
        ):
            self.totals[side][:, lane] = totals
            self.latest[side][:, :, lane] = counts
            self.previous[side][:, :, lane] = counts
        self.total[lane] = samples.sum()
        self.objective[lane], self.residual[lane] = np.inf, np.inf
        self.momentum[lane], self.floor[lane] = FIRST_MOMENTUM, 0.0
        self.is_plain[lane], self.iterations[lane] = True, -1

    def step(self) -> None:
        """Take a step of each run."""
        momentum = np.where(self.is_plain, 0, self.momentum).astype(np.float32)
        floor = np.where(self.is_plain, 0, FLOOR * self.floor / self.n_components)
        floor = floor.astype(np.float32)
        for side in (0, 1):
            native.extrapolate_stack(
                self.latest[side], self.previous[side], self.totals[side], momentum, floor,
                self.factors[side],
            )  # fmt: skip
            self.new[side].fill(0)
        weights, topics = self.factors
        sums = topics.sum(axis=0, dtype=np.float64)
        topics /= np.where(sums > 0, sums, 1).astype(np.float32)
        explained = weights.sum(axis=0, dtype=np.float64)
        found = np.zeros((3, WIDTH))
        data = self.data
        native.stacked_pass(
            data.features, data.starts, data.samples, self.values, weights, topics, explained,
            self.new[0], self.new[1], found,
        )  # fmt: skip
        self._judge(explained.sum(axis=0) - found[0], found[1:].max(axis=0) / self.total)

    def _judge(self, objective: Array, residual: Array) -> None:
        """Keep the steps that succeeded, and set momentum and floor for the next ones."""
        has_failed = ~self.is_plain & ~(objective <= self.objective)
        for side in (0, 1):
            for lane in np.flatnonzero(has_failed):
                self.new[side][:, :, lane] = self.latest[side][:, :, lane]
        self.previous, self.latest, self.new = self.latest, self.new, self.previous
        is_fresh = self.iterations < 0
        momentum, floor = _SCHEDULE.next(self.momentum, self.floor, residual, has_failed)
        first_floor = np.minimum(1.0, KullbackLeibler.floor_to_residual * residual)
        self.momentum = np.where(is_fresh, self.momentum, momentum)
        self.floor = np.where(is_fresh, first_floor, floor)
        for side in (0, 1):  # the first step has nothing to extrapolate from
            for lane in np.flatnonzero(is_fresh):
                self.previous[side][:, :, lane] = self.latest[side][:, :, lane]
        self.objective = np.where(has_failed, self.objective, objective)
        self.residual = np.where(has_failed, self.residual, residual)
        self.is_plain = has_failed
        self.iterations += 1

    def result(self, lane: int) -> StackedRun:
        """Return what the run in a lane has found: its topics after one more plain update."""
        topics = self.latest[1][:, :, lane].T.astype(np.float64)
        sums = topics.sum(axis=1, keepdims=True)
        topics = np.where(sums > 0, topics / np.where(sums > 0, sums, 1), 1 / topics.shape[1])
        return StackedRun(topics, None, float(self.objective[lane]), int(self.iterations[lane]))


def run_stack(
    data: StackedData,
    n_components: int,
    take: Callable[[], tuple[Any, StackedRun] | None],
    *,
    has_own_values: bool,
    tol: float,
    max_iter: int,
) -> Iterator[tuple[Any, StackedRun]]:
    """Yield the name and the result of each run as it ends.

    Parameters
    ----------
    data : StackedData
    n_components : int
    take : callable
        Returns the name and the start of the next run, or ``None`` if there are no more.
    has_own_values : bool
        Whether the runs have counts of their own.
    tol : float
        A run ends when its residual is at most this.
    max_iter : int
        The largest number of iterations of a run.
    """
    stack = Stack(data, n_components, has_own_values=has_own_values)
    names: dict[int, Any] = {}

    def fill(lane: int) -> None:
        names.pop(lane, None)
        taken = take()
        if taken is not None:
            names[lane] = taken[0]
            stack.load(lane, taken[1])

    for lane in range(WIDTH):
        fill(lane)
    while names:
        stack.step()
        is_done = (stack.residual <= tol) | (stack.iterations >= max_iter)
        for lane in [lane for lane in names if is_done[lane]]:
            yield names[lane], stack.result(lane)
            fill(lane)


def _aligned(shape: tuple[int, ...]) -> Array:
    """Return zeros in single precision, aligned to whole vectors of the core."""
    size = int(np.prod(shape))
    room = np.zeros(size + WIDTH, np.float32)
    first = (-room.ctypes.data // _FLOAT) % WIDTH
    return room[first : first + size].reshape(shape)


def _shares(counts: Array, totals: Array) -> Array:
    """Return each feature's total, shared out in proportion to its counts."""
    sums = counts.sum(axis=1)
    scale = np.divide(totals, sums, out=np.zeros_like(sums), where=sums > 0)
    return np.asarray(counts * scale[:, np.newaxis])
