"""BetaFoldIn: the weights of samples under a beta divergence when the topics are known."""

from dataclasses import dataclass, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem
from isotopic.divergences import Sweeper
from isotopic.priors import Posterior

# Products are made of blocks of as many rows, filled up if need be: then a row's bits do not depend
# on the others.
_ROWS_A_BLOCK = 16


@dataclass(frozen=True)
class BetaFoldInState:
    """Every sample's weights, and the samples that still move.

    Attributes
    ----------
    weights : ndarray of shape (samples, components)
        The next step takes this array over, and the next one.
    values : ndarray of shape (samples,)
        The divergence of each sample when it was last looked at.
    topics : ndarray of shape (components, features)
    rows : ndarray of int
        The samples that are still looked at.
    sweep : Sweeper
        Of these.
    residual : float
        The largest of the residuals of the samples on their own.
    passes : int
    """

    weights: Array
    values: Array
    topics: Array
    rows: Array
    sweep: Sweeper
    residual: float
    passes: int

    @property
    def objective(self) -> float:
        """The sum of the divergences."""
        return float(self.values.sum())


@dataclass(frozen=True)
class BetaFoldIn:
    """The sequential update of each sample on its own, the topics being fixed.

    A sample settles when its optimality residual is at most ``tol``; from then on it is left as it
    is. So what comes out for a sample does not depend on which others are there.
    """

    tol: float

    def init(self, problem: BetaProblem, weights: Posterior, topics: Posterior) -> BetaFoldInState:
        """Begin with all samples."""
        sweep = Sweeper(problem.divergence, problem.X, _ROWS_A_BLOCK)
        n = problem.X.shape[0]
        factor, known = weights.mean.copy(), np.ascontiguousarray(topics.mean)
        return BetaFoldInState(factor, np.zeros(n), known, np.arange(n), sweep, np.inf, 0)

    def step(self, problem: BetaProblem, state: BetaFoldInState) -> BetaFoldInState:
        """Update the samples that still move."""
        rows, weights = state.rows, state.weights[state.rows]
        sums = state.sweep(weights, state.topics, weights_only=True)
        state.values[rows] = sums.values
        residuals = _residuals(problem, weights, sums.weights)
        moving = residuals > self.tol
        new = weights * problem.weight_ratios(weights, sums.weights)
        state.weights[rows[moving]] = new[moving]
        state = replace(state, residual=float(residuals.max(initial=0.0)), passes=state.passes + 1)
        if moving.all():
            return state
        left = rows[moving]
        sweep = Sweeper(problem.divergence, problem.X.rows(left), _ROWS_A_BLOCK)
        return replace(state, rows=left, sweep=sweep)


def _residuals(problem: BetaProblem, weights: Array, sums: Array) -> Array:
    """Compute the optimality residual of each sample."""
    asked, given = sums[0] * weights, (sums[1] + problem.weights.slope(weights)) * weights
    gaps = np.abs(asked - given).sum(axis=1, dtype=np.float64)
    whole = asked.sum(axis=1, dtype=np.float64)
    residuals = np.where(gaps > 0, np.inf, 0.0)  # without anything that asks for weights
    return np.asarray(np.divide(gaps, whole, out=residuals, where=whole > 0))
