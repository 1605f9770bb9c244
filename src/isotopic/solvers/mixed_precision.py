"""MixedPrecision: single precision until the residual is small, then double."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isotopic.kernels import Counts
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.accelerated import Accelerated
from isotopic.solvers.base import Solver
from isotopic.solvers.extrapolated_descent import ExtrapolatedDescent


@register
@dataclass(frozen=True)
class MixedPrecision(Solver[State]):
    """Begin in single precision, and end in double.

    A pass in single precision takes about two thirds of the time, and with many components half of
    it, and follows the same path: at a residual of 1e-4 both objectives agree to eight digits. The
    arrays of a state tell which precision it is in. A fit ends in the precision of the data.

    Parameters
    ----------
    inner : Accelerated or ExtrapolatedDescent, default=Accelerated()
    below : float, default=1e-4
        The residual below which steps are in double precision. Single precision reaches 1e-6.
    """

    inner: Solver[Any] = field(default_factory=Accelerated)
    below: float = 1e-4

    def __post_init__(self) -> None:
        if not isinstance(self.inner, (Accelerated, ExtrapolatedDescent)):
            raise TypeError(
                f"inner must be an Accelerated or ExtrapolatedDescent solver, not {self.inner!r}."
            )

    def check(self, problem: Problem) -> None:
        """Raise ValueError if a side is Bayesian, or the inner solver cannot solve the problem."""
        for prior in (problem.weights, problem.topics):
            if prior.is_bayesian:
                raise ValueError(
                    "MixedPrecision needs point estimates, but this problem has a "
                    f"{type(prior).__name__} prior, whose posterior cannot be converted between "
                    "precisions. Use solver='auto'."
                )
        self.inner.check(problem)

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Return the state at the starting point, in single precision."""
        rough = replace(problem, X=problem.X.in_single_precision)
        start: State = self.inner.init(rough, *_convert(rough, weights.mean, topics.mean))
        return start

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after a step of the inner solver in the precision of the state."""
        new: State = self.inner.step(problem.in_precision_of(state.topics), state)
        return new if new.residual > self.below else _in_double(problem, new)

    def plain_step(self, problem: Problem, state: State) -> State:
        """Return the state after a step that is not extrapolated."""
        new: State = self.inner.plain_step(problem.in_precision_of(state.topics), state)
        return new

    def is_done(self, state: State) -> bool:
        """Return whether the inner solver has nothing left to do."""
        return self.inner.is_done(state)

    def finish(self, problem: Problem, state: State) -> State:
        """Return the state as the inner solver finishes it, in the precision of the data."""
        end: State = self.inner.finish(problem, _in_double(problem, state))
        return end


def _in_double(problem: Problem, state: State) -> State:
    """Return the same point in the precision of the data, evaluated there."""
    if state.topics.mean.dtype == problem.X.dtype:
        return state
    start = _convert(problem, state.weights.mean, state.topics.mean)
    point = vars(problem.evaluate(*start, state.passes + 1))
    others = {name: value for name, value in vars(state).items() if name not in point}
    dtype = problem.X.dtype
    return replace(state, **point, **{name: _cast(others[name], dtype) for name in others})


def _cast(value: Any, dtype: Any) -> Any:
    """Return arrays, or the arrays of counts, in another precision, and all else as it is."""
    if isinstance(value, Counts):
        return Counts(*(_cast(part, dtype) for part in value))
    return value.astype(dtype, order="K") if isinstance(value, np.ndarray) else value


def _convert(problem: Problem, weights: Any, topics: Any) -> tuple[Posterior, Posterior]:
    """Return the point of given factors in the precision of the problem."""
    dtype = problem.X.dtype
    new_topics = problem.topics.at(np.asfortranarray(topics, dtype), 1.0)
    totals = problem.topics_totals(new_topics)
    return problem.weights.at(np.array(weights, dtype), totals), new_topics
