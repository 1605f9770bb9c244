"""Check what a checkpoint holds: a file can be damaged, and solvers trust their own state."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from isotopic.arrays import check_numbers
from isotopic.blocks.problem import BlockedProblem, BlockedWeights
from isotopic.priors import Posterior, Prior
from isotopic.problem import Problem, State
from isotopic.solvers import HyperparameterState, Solution
from isotopic.solvers.solve import check_history

_FIT = {"model": str, "settings": dict, "start": str, "data": str, "priors": str}

# Numbers that are never negative, by the end of their place.
_NONNEGATIVE = (".passes", ".residual", ".next_update", ".momentum", ".floor", ".steps")

# Expected counts of both sides, at the present point and at the one before.
_COUNTS = ("counts.weights", "counts.topics", "previous.weights", "previous.topics")

# Arrays that can hold negative numbers: parts of an objective, and differences.
_SIGNED = ("terms", "explained", "numerator")


def check_saved_fit(saved: Any) -> None:
    """Raise ValueError unless the file says which fit it belongs to."""
    if not isinstance(saved, dict) or set(saved) != {"fit", "seeds", "number", "best", "here"}:
        raise ValueError("This is not the checkpoint of a fit.")
    fit = saved["fit"]
    is_right = isinstance(fit, dict) and {name: type(fit[name]) for name in fit} == _FIT
    if not is_right or not all(type(value) is str for value in fit["settings"].values()):
        raise ValueError("fit must hold the name of the model and the digests of what it used.")


def check_saved_state(saved: dict[str, Any], problem: Problem, n_init: int) -> None:
    """Raise ValueError unless the state in a checkpoint can be one of this problem."""
    seeds, number, best, here = (saved[name] for name in ("seeds", "number", "best", "here"))
    if not isinstance(seeds, np.ndarray) or seeds.shape != (n_init, 2) or seeds.dtype != np.int64:
        raise ValueError(f"seeds must be {n_init} pairs of integers.")
    check_numbers("seeds", seeds)
    if type(number) is not int or not 0 <= number < n_init:
        raise ValueError(f"number must be an integer from 0 to {n_init - 1}.")
    if (best is None) != (number == 0):
        raise ValueError("best must hold the solution of an earlier start, if there is one.")
    for name, solution in (("best", best), ("here", here)):
        if isinstance(solution, Solution):
            _check_solution(name, solution, problem)
        elif solution is not None:
            raise ValueError(f"{name} must be a Solution, not a {type(solution).__name__}.")


def _check_solution(name: str, solution: Any, problem: Problem) -> None:
    state, history = solution.state, solution.history
    if not isinstance(state, (State, HyperparameterState)):
        raise ValueError(f"{name}.state must be a State, not a {type(state).__name__}.")
    check_history(history)
    n_samples, n_features = problem.X.shape
    shapes = {(n_samples, problem.n_components), (problem.n_components, n_features)}
    for place, value in _walk(f"{name}.state", state):
        if isinstance(value, np.ndarray):
            _check_array(place, value, shapes)
            _check_counts(place, value, state.topics.mean.dtype, shapes)
        elif ".sums." in place:  # of a pass over row blocks, which leaves out what is not needed
            continue
        elif np.isnan(value) or (value < 0 and place.endswith(_NONNEGATIVE)):
            raise ValueError(f"{place} is {value}.")
    _check_sides(name, state, problem)
    if len(history) and (state.objective, state.passes) != (
        history["objective"][-1],
        history["passes"][-1],
    ):
        raise ValueError(f"{name}.history does not end with the objective of the state.")


def _check_sides(name: str, state: Any, problem: Problem) -> None:
    """Raise unless both sides, and the counts that they absorb next, have the right shapes."""
    n_samples, n_features = problem.X.shape
    of_weights, of_topics = (n_samples, problem.n_components), (problem.n_components, n_features)
    if isinstance(state.weights, BlockedWeights) != isinstance(problem, BlockedProblem):
        raise ValueError(f"{name}.state.weights must be a {Posterior.__name__} for data in memory.")
    sides: dict[str, tuple[Any, tuple[int, ...]]] = {
        "topics": (state.topics.mean, of_topics),
        "counts.topics": (state.counts.topics, of_topics),
    }
    if isinstance(state.weights, Posterior):
        sides["weights"] = state.weights.mean, of_weights
        sides["counts.weights"] = state.counts.weights, of_weights
        if state.weights.terms is not None:
            sides["weights.terms"] = state.weights.terms, (n_samples,)
    if isinstance(state, HyperparameterState):
        state.weights_prior.check_shape(of_weights)
        state.topics_prior.check_shape(of_topics)
    for place, (array, shape) in sides.items():
        if np.shape(array) != shape:
            raise ValueError(f"{name}.state.{place} has shape {np.shape(array)}, not {shape}.")


def _check_array(place: str, array: Any, shapes: set[tuple[int, int]]) -> None:
    if not place.endswith((".parameters", ".rates")):  # NaN if fixed; a Posterior checks them
        check_numbers(place, array, -np.inf if place.rpartition(".")[2] in _SIGNED else 0.0)
    lengths = {1, *(length for shape in shapes for length in shape)}
    is_right = array.shape in shapes if array.ndim == 2 else set(array.shape) <= lengths
    is_empty_sum = array.size == 0 and ".sums." in place
    if not (is_right or is_empty_sum or place.endswith(".terms")):  # which are only summed
        raise ValueError(f"{place} has shape {array.shape}, which does not match the data.")


def _check_counts(place: str, array: Any, dtype: Any, shapes: set[tuple[int, int]]) -> None:
    """Raise unless expected counts are matrices in the precision of the state."""
    if not place.endswith(_COUNTS) or array.size == 0:
        return
    if array.shape not in shapes or array.dtype != dtype:
        raise ValueError(
            f"{place} is an array of {array.dtype} of shape {array.shape}, which does not match "
            "the data."
        )


def _walk(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield all arrays and numbers of a state, with their places."""
    if isinstance(value, (np.ndarray, float, int)) and not isinstance(value, bool):
        yield place, value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name in value._fields:
            yield from _walk(f"{place}.{name}", getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _walk(f"{place}[{i}]", item)
    elif hasattr(value, "__dict__") and not isinstance(value, Prior):  # which checks itself
        for name, item in vars(value).items():
            yield from _walk(f"{place}.{name}", item)
