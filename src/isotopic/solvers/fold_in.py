"""FoldIn: the weights of samples when the topics are known."""

from dataclasses import dataclass

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import row_pass
from isotopic.priors import Posterior
from isotopic.problem import Problem


@dataclass(frozen=True)
class FoldInState:
    """Every sample's expected counts, and which samples still move.

    Attributes
    ----------
    counts : ndarray of shape (samples, components)
        The expected counts, as each sample had them when it settled or was last looked at.
    log_likelihoods : ndarray of shape (samples,)
    X, rows : CountMatrix, ndarray of int
        The samples that are still swept over, and their row numbers.
    moving : ndarray of bool
        Which of ``rows`` have not settled.
    residual : float
        The largest share of its own total that any sample's counts moved by.
    """

    topics: Posterior
    counts: Array
    log_likelihoods: Array
    X: CountMatrix
    rows: Array
    moving: Array
    residual: float
    passes: int

    @property
    def objective(self) -> float:
        """Minus the log-likelihood at the (effective) weights."""
        return -float(self.log_likelihoods.sum())


@dataclass(frozen=True)
class FoldIn:
    """EM for each sample on its own, the topics being fixed.

    A sample settles when an update moves at most ``tol`` of its own total; from then on it is left
    as it is. So what comes out for a sample does not depend on which others are there.
    """

    tol: float

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> FoldInState:
        """Sweep over all samples once."""
        proportions = problem.weights.normalized
        counts, log_likelihoods = row_pass(
            problem.X, weights.effective, topics.effective, proportions=proportions
        )
        rows = np.arange(problem.X.shape[0])
        moving = problem.X.sample_totals > 0
        return FoldInState(
            topics, counts, log_likelihoods, problem.X, rows, moving, residual=np.inf, passes=0
        )

    def step(self, problem: Problem, state: FoldInState) -> FoldInState:
        """Update the samples that still move."""
        X, rows, moving = state.X, state.rows, state.moving
        if 2 * np.count_nonzero(moving) < len(rows):  # worth making a smaller matrix
            X, rows, moving = X.rows(np.flatnonzero(moving)), rows[moving], moving[moving]
        totals = problem.topics_totals(state.topics, X.missing)
        old = state.counts[rows]
        effective = problem.weights.rows(rows).absorb(old.copy(), totals).effective
        new, log_likelihoods = row_pass(
            X, effective, state.topics.effective, proportions=problem.weights.normalized
        )
        moved = np.abs(new - old).sum(axis=1) / np.maximum(X.sample_totals, np.finfo(float).tiny)
        counts, all_log_likelihoods = state.counts.copy(), state.log_likelihoods.copy()
        counts[rows[moving]] = new[moving]
        all_log_likelihoods[rows[moving]] = log_likelihoods[moving]
        return FoldInState(
            state.topics,
            counts,
            all_log_likelihoods,
            X,
            rows,
            moving & (moved > self.tol),
            float(moved[moving].max(initial=0.0)),
            state.passes + 1,
        )
