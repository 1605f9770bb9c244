"""From every start to the best solution."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.estimators.callbacks import Watcher
from isotopic.estimators.checkpoint import CheckpointWriter
from isotopic.init import Start, start_from_arrays, start_from_model, strategy_start
from isotopic.problem import Problem, State
from isotopic.random import generator
from isotopic.solvers import OnlineEM, Solution, choose_solver, solve
from isotopic.solvers.batches import number_of_batches


class Searching:
    """An estimator that solves its problem from where its parameters say."""

    solver: Any
    init: Any
    max_iter: int
    tol: float
    min_gain: float
    n_init: int
    warm_start: bool
    random_state: Any

    def _search(
        self,
        problem: Problem,
        seen: Array | None,
        watching: list[Watcher],
        keeper: CheckpointWriter | None,
    ) -> Solution[State]:
        """Solve from every start, and keep the lowest objective; an interruption ends it."""
        solver = choose_solver(self.solver, problem)
        seeds = generator(self.random_state).integers(2**63, size=(self.n_init, 2))
        best: Solution[State] | None = None
        resumed: Solution[State] | None = None
        first = 0
        if keeper is not None:
            seeds, first, best, resumed = keeper.resume(seeds)
            watching = [*watching, keeper]
        starts = self._starts(problem, seen, seeds)
        for number, start in enumerate(starts[first:], first):
            if keeper is not None:
                keeper.begin(number, best, resumed)
            solution = solve(
                problem,
                solver,
                start() if resumed is None else resumed,  # and nobody holds on to it
                max_iter=self.max_iter,
                tol=self.tol,
                min_gain=self.min_gain,
                callbacks=watching,
            )
            if keeper is not None:
                keeper.end(solution)
            resumed = None
            if best is None or _badness(solution) < _badness(best):
                best = solution
            if solution.interrupted:
                best = replace(best, interrupted=True)
                break
        assert best is not None
        return replace(best, state=solver.finish(problem, best.state))

    def _starts(
        self, problem: Problem, seen: Array | None, seeds: Array
    ) -> list[Callable[[], Start]]:
        """Give the starts as functions, so that nobody holds on to their arrays."""
        if self.warm_start and hasattr(self, "components_"):
            return [partial(start_from_model, problem, self, seen)]
        model = self.init
        if isinstance(model, str):
            if model == "auto" and _learns_online(self.solver, problem.X):
                model = "random"  # its first iteration finds as much as a decomposition, sooner
            streams = [np.random.default_rng(seed) for seed in seeds]
            return [
                partial(strategy_start, problem, model, stream, number=number)
                for number, stream in enumerate(streams)
            ]
        if self.n_init > 1:
            raise ValueError(
                f"n_init={self.n_init} fits need different starts, but this one is given; "
                "use n_init=1, or init='random'"
            )
        if isinstance(model, BaseEstimator):
            return [partial(start_from_model, problem, model, seen)]
        if len(model) != 2:
            raise ValueError(f"init must be a pair (weights, topics), not {len(model)} things")
        return [partial(start_from_arrays, problem, *model)]


def _learns_online(solver: Any, X: Any) -> bool:
    """Tell whether a solver, by name or as an object, goes through several mini-batches."""
    online = OnlineEM() if isinstance(solver, str) and solver == "online" else solver
    if not (isinstance(online, OnlineEM) and isinstance(X, CountMatrix)):
        return False
    return number_of_batches(X, online.batch_size) > 1


def _badness(solution: Solution[State]) -> float:
    """Give the objective; NaN is worse than anything."""
    objective = solution.state.objective
    return np.inf if np.isnan(objective) else objective
