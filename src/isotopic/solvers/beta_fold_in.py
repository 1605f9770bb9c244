"""BetaFoldIn: the weights of samples under a beta divergence when the topics are known."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem
from isotopic.divergences import Sweeper
from isotopic.priors import Posterior
from isotopic.solvers.further import further
from isotopic.solvers.momentum import FIRST_MOMENTUM, FLOOR, Schedule

_SCHEDULE = Schedule(most_momentum=0.9, floor_to_residual=5.0)

# Products are made of blocks of as many rows, filled up if need be: then a row's bits do not depend
# on the others.
_ROWS_A_BLOCK = 16


# What rounding may add to an objective, in units of the precision: it must not decide on the way.
_ROUNDING = 1e3


@dataclass(frozen=True)
class BetaFoldInState:
    """Every sample's weights, and where those that still move are on their way.

    Attributes
    ----------
    weights : ndarray of shape (samples, components)
        The best so far. The next step takes this array over.
    rows : ndarray of int
        The samples that still move; the following are theirs.
    sweep : Sweeper
    trial : ndarray of shape (rows, components)
        The weights to look at next.
    updated : ndarray of shape (rows, components)
        What the last update made of the best weights.
    objective_of : ndarray of shape (rows,)
        At the best weights.
    momentum : ndarray of shape (rows,)
        The power to which the change from one update to the next is taken.
    floor : ndarray of shape (rows,)
        The present floor as a part of the first one.
    plain : ndarray of bool of shape (rows,)
        Whose weights to look at next are those of an update as it is.
    topics : ndarray of shape (components, features)
    residual : float
        The largest of the residuals of the samples on their own.
    passes : int
    """

    weights: Array
    rows: Array
    sweep: Sweeper
    trial: Array
    updated: Array
    objective_of: Array
    momentum: Array
    floor: Array
    plain: Array
    topics: Array
    residual: float
    passes: int

    @property
    def objective(self) -> float:
        """The sum over the samples that still move."""
        return float(self.objective_of.sum())


@dataclass(frozen=True)
class BetaFoldIn:
    r"""The sequential update of each sample on its own, the topics being fixed.

    Updates are small steps, so each is taken further along the way from the update before,

    .. math:: u_n \cdot (u_n / u_{n-1})^{\text{momentum}}

    above a floor that shrinks. If that raises a sample's objective, the next update is made as it
    is. A sample settles when its optimality residual is at most ``tol``; from then on it is left as
    it is. So what comes out for a sample does not depend on which others are there.
    """

    tol: float

    def init(self, problem: BetaProblem, weights: Posterior, topics: Posterior) -> BetaFoldInState:
        """Begin with all samples."""
        n, factor = problem.X.shape[0], weights.mean
        return BetaFoldInState(
            factor.copy(),
            np.arange(n),
            Sweeper(problem.divergence, problem.X, _ROWS_A_BLOCK),
            trial=factor,
            updated=factor,
            objective_of=np.full(n, np.inf),
            momentum=np.full(n, FIRST_MOMENTUM),
            floor=np.ones(n),
            plain=np.ones(n, bool),
            topics=np.ascontiguousarray(topics.mean),
            residual=np.inf,
            passes=0,
        )

    def step(self, problem: BetaProblem, state: BetaFoldInState) -> BetaFoldInState:
        """Look at the samples that still move, and update them."""
        rows, trial = state.rows, state.trial
        sums = state.sweep(trial, state.topics, weights_only=True)
        terms = problem.weights.rows(rows).at(trial, 1.0).terms
        objective = sums.values if terms is None else sums.values + terms
        noise = _ROUNDING * np.finfo(trial.dtype).eps * _asked(trial, sums.weights)
        worse = (objective > state.objective_of + noise) & ~state.plain
        state.weights[rows[~worse]] = trial[~worse]
        residuals = np.where(worse, np.inf, _residuals(problem, trial, sums.weights))
        updated = trial * problem.weight_ratios(trial, sums.weights)
        updated[worse] = state.updated[worse]
        grown = _SCHEDULE.after_success(state.momentum, state.floor, residuals)
        slower = _SCHEDULE.after_failure(state.momentum, state.floor)
        momentum, floor = np.where(worse, slower, grown)
        power, least = np.where(worse, 0, (momentum, floor * FLOOR / trial.shape[1]))
        moving = residuals > self.tol
        return replace(
            state,
            **_only(problem, rows, moving, state.sweep),
            trial=further(updated, state.updated, power, least)[moving],
            updated=updated[moving],
            objective_of=np.where(worse, state.objective_of, objective)[moving],
            momentum=momentum[moving],
            floor=floor[moving],
            plain=worse[moving],
            residual=float(residuals.max(initial=0.0)),
            passes=state.passes + 1,
        )


def _only(problem: BetaProblem, rows: Array, moving: Array, sweep: Sweeper) -> dict[str, Any]:
    """Give the samples that move, and their sweeper."""
    if moving.all():
        return {"rows": rows, "sweep": sweep}
    left = rows[moving]
    return {
        "rows": left,
        "sweep": Sweeper(problem.divergence, problem.X.rows(left), _ROWS_A_BLOCK),
    }


def _residuals(problem: BetaProblem, weights: Array, sums: Array) -> Array:
    """Compute the optimality residual of each sample."""
    asked, given = sums[0] * weights, (sums[1] + problem.weights.slope(weights)) * weights
    gaps = np.abs(asked - given).sum(axis=1, dtype=np.float64)
    whole = _asked(weights, sums)
    residuals = np.where(gaps > 0, np.inf, 0.0)  # without anything that asks for weights
    return np.asarray(np.divide(gaps, whole, out=residuals, where=whole > 0))


def _asked(weights: Array, sums: Array) -> Array:
    """Sum up what the data of each sample ask for."""
    return np.asarray((sums[0] * weights).sum(axis=1, dtype=np.float64))
