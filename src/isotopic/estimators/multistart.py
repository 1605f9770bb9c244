"""Solve a problem from each of several starts, and keep the best solution."""

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
from isotopic.fitted import Fitted
from isotopic.fitted.explained import start_from_fitted
from isotopic.init import Start, start_from_arrays, strategy_start
from isotopic.problem import Problem, State
from isotopic.random import generator
from isotopic.solvers import OnlineEM, Solution, choose_solver, solve
from isotopic.solvers.batches import number_of_batches


def draw_seeds(random_state: Any, n_starts: int) -> Array:
    """Return two integers for each start."""
    return generator(random_state).integers(2**63, size=(n_starts, 2))


def best_solution(
    model: Any,
    problem: Problem,
    rows: Array | None,
    callbacks: list[Watcher],
    checkpoint: CheckpointWriter | None,
) -> Solution[State]:
    """Solve from every start, and return the solution with the lowest objective.

    An interruption ends the search; the solution says so.

    Parameters
    ----------
    model : estimator
        Its parameters say how to solve, and from where.
    problem : Problem
    rows : ndarray of int or None
        The samples that the problem has; ``None``: all.
    callbacks : list of callables
    checkpoint : CheckpointWriter or None
    """
    solver = choose_solver(model.solver, problem)
    seeds, first = draw_seeds(model.random_state, model.n_init), 0
    best: Solution[State] | None = None
    resumed: Solution[State] | None = None
    if checkpoint is not None:
        seeds, first, best, resumed = checkpoint.resume(seeds)
        callbacks = [*callbacks, checkpoint]
    starts = make_starts(model, problem, rows, seeds)
    for number, start in enumerate(starts[first:], first):
        if checkpoint is not None:
            checkpoint.begin(number, best, resumed)
        solution = solve(
            problem,
            solver,
            start() if resumed is None else resumed,  # so that nothing else refers to its arrays
            max_iter=model.max_iter,
            tol=model.tol,
            min_gain=model.min_gain,
            callbacks=callbacks,
        )
        if checkpoint is not None:
            checkpoint.end(solution)
        resumed = None
        if best is None or _comparable(solution) < _comparable(best):
            best = solution
        if solution.interrupted:
            best = replace(best, interrupted=True)
            break
    assert best is not None
    return replace(best, state=solver.finish(problem, best.state))


def make_starts(
    model: Any, problem: Problem, rows: Array | None, seeds: Array
) -> list[Callable[[], Start]]:
    """Return a function for each start, so that its arrays exist only while they are used."""
    if model.warm_start and hasattr(model, "fitted_"):
        return [partial(start_from_fitted, problem, model.fitted_, rows)]
    init = read_init(model.init)
    if isinstance(init, str):
        if init == "auto" and _has_mini_batches(model.solver, problem.X):
            init = "random"  # its first iteration is as good as a decomposition, and sooner done
        return [
            partial(strategy_start, problem, init, np.random.default_rng(seed), number=number)
            for number, seed in enumerate(seeds)
        ]
    if model.n_init > 1:
        raise ValueError(
            f"n_init={model.n_init} needs different starts, but init gives only one. Use n_init=1, "
            "or init='random'."
        )
    if isinstance(init, Fitted):
        return [partial(start_from_fitted, problem, init, rows)]
    return [partial(start_from_arrays, problem, *init)]


def read_init(init: Any) -> Any:
    """Return the parameter ``init`` as a strategy's name, a pair of arrays, or a fitted value."""
    if isinstance(init, (str, Fitted)):
        return init
    if isinstance(init, BaseEstimator):
        if isinstance(getattr(init, "fitted_", None), Fitted):
            return init.fitted_
        if hasattr(init, "components_"):
            raise TypeError(
                f"init={init!r} is not a model of this package. Give its factors as "
                "init=(weights, topics)."
            )
        raise ValueError(f"init={init!r} is not fitted. Fit it first.")
    if len(init) != 2:
        raise ValueError(f"init must be a pair (weights, topics), not {len(init)} things.")
    return init


def _has_mini_batches(solver: Any, X: Any) -> bool:
    """Tell whether a solver, by name or as an object, goes through several mini-batches."""
    online = OnlineEM() if isinstance(solver, str) and solver == "online" else solver
    if not (isinstance(online, OnlineEM) and isinstance(X, CountMatrix)):
        return False
    return number_of_batches(X, online.batch_size) > 1


def _comparable(solution: Solution[State]) -> float:
    """Return the objective; infinity for NaN, so that any other solution is better."""
    objective = solution.state.objective
    return np.inf if np.isnan(objective) else objective
