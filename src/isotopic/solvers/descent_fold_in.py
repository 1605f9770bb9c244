"""DescentFoldIn: coordinate descent for each sample, with the topics fixed."""

from dataclasses import dataclass, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.elementwise import row_distances
from isotopic.kernels import ReadyTopics, descended, rows_pass
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers.base import Solver
from isotopic.solvers.coordinate_descent import rescale, why_no_descent

# Sweeps between two checks for convergence: most samples converge within one or two checks.
_SWEEPS = 10

# Samples that are swept over as a group: their arrays are small beside the data.
_GROUP = 2**14


@dataclass(frozen=True)
class DescentFoldInState:
    """Every sample's expected counts, and which samples still move."""

    X: CountMatrix  # the counts that some topic can explain
    table: ReadyTopics
    slopes: Array  # the cost of a unit of each weight
    weights: Array  # with a scale; the next step writes to it, and to the next two
    counts: Array
    log_likelihoods: Array
    moving: Array  # the row numbers of the samples that have not converged
    residual: float  # the largest fraction of a sample's total that an update moves
    objective: float  # minus the log-likelihood at the weights
    passes: int  # sweeps over the samples that still move


@dataclass(frozen=True)
class DescentFoldIn(Solver[DescentFoldInState]):
    r"""Move each weight of a sample to its optimum, the others being fixed.

    The weights of a sample solve a convex problem when the topics are known, and coordinate descent
    gets near its optimum in a few sweeps; see :class:`~isotopic.solvers.CoordinateDescent`. Between
    sweeps a sample is compared with what an EM update would make of it. It has converged when that
    moves at most ``tol`` of its total; from then on it does not change. So the result for a sample
    does not depend on which others are there.

    Parameters
    ----------
    tol : float
    max_updates : int, default=5000
        The number of sweeps after which a sample that has not converged is left as it is.
    """

    tol: float
    max_updates: int = 5000

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless the weights are point estimates with at most an l1 penalty."""
        reason = why_no_descent(problem, sides=("weights",))
        if reason:
            raise ValueError(f"DescentFoldIn cannot infer these weights: {reason}. Use FoldIn.")

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> DescentFoldInState:
        """Return the state at the start; counts that no topic can explain are left out."""
        X = problem.X.as_sparse().only_features(topics.explains)
        slopes = np.ones(problem.n_components)
        if not problem.weights.is_normalized:  # else all cost the same: their sum is given
            slopes *= problem.topics_totals(topics) + (problem.weights.linear_penalty or 0.0)
        begin = np.array(weights.mean)
        nothing = X.sample_totals == 0
        begin[nothing] = 0
        return DescentFoldInState(
            X,
            topics.prepared,
            slopes,
            weights=rescale(begin, slopes, X.sample_totals),
            counts=np.zeros_like(begin),
            log_likelihoods=np.zeros(len(begin)),
            moving=np.flatnonzero(~nothing),
            residual=np.inf,
            objective=np.inf,
            passes=0,
        )

    def is_done(self, state: DescentFoldInState) -> bool:
        """Return whether no sample moves."""
        return len(state.moving) == 0

    def step(self, problem: Problem, state: DescentFoldInState) -> DescentFoldInState:
        """Return the state after sweeps over the samples that still move."""
        others, shares = state.table.topics.T, [np.zeros(0)]
        for begin in range(0, len(state.moving), _GROUP):
            which = state.moving[begin : begin + _GROUP]
            X = _select_rows(state.X, which)
            weights = descended(
                X,
                state.weights[which],
                others,
                state.slopes,
                sweeps=_SWEEPS,
                padded=state.table.padded,
            )
            weights = rescale(weights, state.slopes, X.sample_totals)
            scale = X.sample_totals[:, np.newaxis] if problem.weights.is_normalized else 1.0
            counts, state.log_likelihoods[which] = rows_pass(X.view(), weights / scale, state.table)
            state.weights[which], state.counts[which] = weights, counts
            shares.append(row_distances(counts, weights * state.slopes) / X.sample_totals)
        moved = np.concatenate(shares)  # the share of its total that an update would move
        passes = state.passes + _SWEEPS
        still = moved > self.tol
        if passes >= self.max_updates:
            still = np.zeros_like(still)
        return replace(
            state,
            moving=state.moving[still],
            residual=float(moved.max(initial=0.0)),
            objective=-float(state.log_likelihoods.sum()),
            passes=passes,
        )


def _select_rows(X: CountMatrix, which: Array) -> CountMatrix:
    """Return some rows, without a copy of their entries if they are neighbours."""
    first, last = int(which[0]), int(which[-1])
    if last - first + 1 > len(which):
        return X.rows(which)
    starts = X.row_starts[first : last + 2]
    entries = slice(starts[0], starts[-1])
    shape = (len(which), X.shape[1])
    return CountMatrix.of_checked(shape, starts - starts[0], X.features[entries], X.values[entries])
