"""DescentFoldIn: coordinate descent for each sample on its own, the topics being known."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import ReadyTopics, descended, ready, row_distances, rows_pass
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers.coordinate_descent import KNOWN, best_scaled, strength

# Sweeps between two looks at which samples have settled: most settle after one or two looks.
_SWEEPS = 10

# Samples that are looked at together: their arrays are small beside the data.
_TOGETHER = 2**14


@dataclass(frozen=True)
class DescentFoldInState:
    """Every sample's expected counts, and the samples on their way.

    Attributes
    ----------
    X : CountMatrix
        The counts that some topic can explain.
    table : ReadyTopics
    slopes : ndarray of shape (components,)
        What a unit of each weight costs.
    weights : ndarray of shape (samples, components)
        With a scale. The next step writes to this array, and to the next one.
    counts : ndarray of shape (samples, components)
    log_likelihoods : ndarray of shape (samples,)
    moving : ndarray of int
        The row numbers of the samples that have not settled.
    residual : float
        The largest share of its own total that an update moves of any sample's counts.
    sweeps : int
        That the samples on their way have had.
    """

    X: CountMatrix
    table: ReadyTopics
    slopes: Array
    weights: Array
    counts: Array
    log_likelihoods: Array
    moving: Array
    residual: float
    sweeps: int

    @property
    def objective(self) -> float:
        """Minus the log-likelihood at the weights."""
        return -float(self.log_likelihoods.sum())

    @property
    def passes(self) -> int:
        """How often the samples that moved longest were swept over."""
        return self.sweeps

    @property
    def ended(self) -> bool:
        """Whether no sample moves."""
        return len(self.moving) == 0


@dataclass(frozen=True)
class DescentFoldIn:
    r"""Let each weight of a sample go to its optimum, the others being held.

    The weights of a sample solve a convex problem when the topics are known, and coordinate descent
    gets near its optimum in a few sweeps; see :class:`~isotopic.solvers.CoordinateDescent`. Between
    sweeps a sample is compared with what an EM update would make of it. It settles when that
    moves at most ``tol`` of its total; from then on it is left as it is. So what comes out for a
    sample does not depend on which others are there.

    Parameters
    ----------
    tol : float
    most_updates : int, default=5000
        A sample that has not settled after so many sweeps is given up.
    """

    tol: float
    most_updates: int = 5000

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> DescentFoldInState:
        """Begin with all samples; counts that no topic can explain are left out."""
        X = problem.X.as_sparse().only_features(np.any(topics.effective, axis=0))
        slopes = np.ones(problem.n_components)
        if not problem.weights.is_normalized:  # else all cost the same: their sum is given
            slopes *= problem.topics_totals(topics) + strength(problem.weights)
        begin = np.array(weights.mean)
        nothing = X.sample_totals == 0
        begin[nothing] = 0
        return DescentFoldInState(
            X,
            ready(topics.effective),
            slopes,
            weights=best_scaled(begin, slopes, X.sample_totals),
            counts=np.zeros_like(begin),
            log_likelihoods=np.zeros(len(begin)),
            moving=np.flatnonzero(~nothing),
            residual=np.inf,
            sweeps=0,
        )

    def step(self, problem: Problem, state: DescentFoldInState) -> DescentFoldInState:
        """Sweep over the samples that are on their way."""
        looks = _looked_at(state, proportions=problem.weights.is_normalized)
        moved = np.concatenate([*looks, np.zeros(0)])
        sweeps = state.sweeps + _SWEEPS
        still = moved > self.tol
        if sweeps >= self.most_updates:
            still = np.zeros_like(still)
        return replace(
            state,
            moving=state.moving[still],
            residual=float(moved.max(initial=0.0)),
            sweeps=sweeps,
        )


def can_descend(problem: Problem) -> bool:
    """Tell whether the weights can be found so: points, in the precision that it needs."""
    X, points = problem.X, isinstance(problem.weights, KNOWN)
    return points and X.missing is None and X.dtype == np.float64 and not X.has_tiny_samples


def _looked_at(state: DescentFoldInState, *, proportions: bool) -> Iterator[Array]:
    """Sweep over some samples after the other; give the shares of their totals that move."""
    for begin in range(0, len(state.moving), _TOGETHER):
        which = state.moving[begin : begin + _TOGETHER]
        X = _rows(state.X, which)
        others = state.table.topics.T
        weights = descended(X, state.weights[which], others, state.slopes, sweeps=_SWEEPS)
        weights = best_scaled(weights, state.slopes, X.sample_totals)
        scale = X.sample_totals[:, np.newaxis] if proportions else 1.0
        counts, state.log_likelihoods[which] = rows_pass(X.view(), weights / scale, state.table)
        state.weights[which], state.counts[which] = weights, counts
        yield row_distances(counts, weights * state.slopes) / X.sample_totals


def _rows(X: CountMatrix, which: Array) -> CountMatrix:
    """Select rows, without a copy of their entries if they follow each other."""
    first, last = int(which[0]), int(which[-1])
    if last - first + 1 > len(which):
        return X.rows(which)
    starts = X.row_starts[first : last + 2]
    entries = slice(starts[0], starts[-1])
    shape = (len(which), X.shape[1])
    return CountMatrix.of_checked(shape, starts - starts[0], X.features[entries], X.values[entries])
