"""BetaFoldIn: the weights of samples under a beta divergence when the topics are known."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem, taken_further
from isotopic.divergences import Sweeper
from isotopic.priors import Posterior

# Products are made of blocks of as many rows, filled up if need be: then a row's bits do not depend
# on the others.
_ROWS_A_BLOCK = 16


# An update is taken this much further each time, until it goes too far.
_GROWTH = 1.1

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
    plain : ndarray of shape (rows, components)
        Those that the update itself leads to.
    objective_of : ndarray of shape (rows,)
        At the best weights.
    reach : ndarray of shape (rows,)
        To which power the next update is taken.
    topics : ndarray of shape (components, features)
    residual : float
        The largest of the residuals of the samples on their own.
    passes : int
    """

    weights: Array
    rows: Array
    sweep: Sweeper
    trial: Array
    plain: Array
    objective_of: Array
    reach: Array
    topics: Array
    residual: float
    passes: int

    @property
    def objective(self) -> float:
        """The sum over the samples that still move."""
        return float(self.objective_of.sum())


@dataclass(frozen=True)
class BetaFoldIn:
    """The sequential update of each sample on its own, the topics being fixed.

    Updates are small steps, so each is taken further: the ratios of new weights to old ones go to a
    power that grows until a sample's objective rises. Then the update is made as it is, and never
    raises it. A sample settles when its optimality residual is at most ``tol``; from then on it is
    left as it is. So what comes out for a sample does not depend on which others are there.
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
            plain=factor,
            objective_of=np.full(n, np.inf),
            reach=np.ones(n),
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
        too_far = (objective > state.objective_of + noise) & (state.reach > 1)
        good = ~too_far
        state.weights[rows[good]] = trial[good]
        residuals = np.where(too_far, np.inf, _residuals(problem, trial, sums.weights))
        ratios = problem.weight_ratios(trial, sums.weights)
        reach = np.where(too_far, 1.0, state.reach * _GROWTH)
        plain = np.where(too_far[:, np.newaxis], state.plain, trial * ratios)
        further = trial * taken_further(ratios, reach[:, np.newaxis])
        moving = residuals > self.tol
        return replace(
            state,
            **_only(problem, rows, moving, state.sweep),
            trial=np.where(too_far[:, np.newaxis], state.plain, further)[moving],
            plain=plain[moving],
            objective_of=np.where(too_far, state.objective_of, objective)[moving],
            reach=reach[moving],
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
