"""MixedPrecision: single precision until the residual is small, then double."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isotopic.kernels import Counts
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.registry import register
from isotopic.solvers.accelerated import Accelerated, AcceleratedState
from isotopic.solvers.base import Solver


@register
@dataclass(frozen=True)
class MixedPrecision(Solver[AcceleratedState]):
    """Begin in single precision, and end in double.

    A pass in single precision takes about two thirds of the time, and with many components half of
    it, and follows the same path: at a residual of 1e-4 both objectives agree to eight digits. The
    arrays of a state tell which precision it is in. A fit ends in the precision of the data.

    Parameters
    ----------
    inner : Accelerated
    below : float, default=1e-4
        The residual below which steps are in double precision. Single precision reaches 1e-6.
    """

    inner: Accelerated = field(default_factory=Accelerated)
    below: float = 1e-4

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Accelerated):
            raise TypeError(f"inner must be an Accelerated solver, not {self.inner!r}.")

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

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> AcceleratedState:
        """Return the state at the starting point, in single precision."""
        rough = replace(problem, X=problem.X.in_single_precision)
        return self.inner.init(rough, *_convert(rough, weights.mean, topics.mean))

    def step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Return the state after a step of the inner solver in the precision of the state."""
        if state.topics.mean.dtype == problem.X.dtype:
            return self.inner.step(problem, state)
        new = self.inner.step(problem.in_precision_of(state.topics), state)
        return new if new.residual > self.below else _in_double(problem, new)

    def plain_step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Return the state after a step that is not extrapolated."""
        return self.inner.plain_step(problem.in_precision_of(state.topics), state)

    def is_done(self, state: AcceleratedState) -> bool:
        """Return whether the inner solver has nothing left to do."""
        return self.inner.is_done(state)

    def finish(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Return the state as the inner solver finishes it, in the precision of the data."""
        return self.inner.finish(problem, _in_double(problem, state))


def _in_double(problem: Problem, state: AcceleratedState) -> AcceleratedState:
    """Return the same point in the precision of the data, evaluated there."""
    if state.topics.mean.dtype == problem.X.dtype:
        return state
    start = _convert(problem, state.weights.mean, state.topics.mean)
    point = problem.evaluate(*start, state.passes + 1)
    previous, dtype = state.previous, problem.X.dtype
    if previous is not None:
        previous = Counts(
            previous.weights.astype(dtype),
            previous.topics.astype(dtype, order="K"),
            previous.log_likelihood,
        )
    return replace(state, **vars(point), previous=previous)


def _convert(problem: Problem, weights: Any, topics: Any) -> tuple[Posterior, Posterior]:
    """Return the point of given factors in the precision of the problem."""
    dtype = problem.X.dtype
    new_topics = problem.topics.at(np.asfortranarray(topics, dtype), 1.0)
    totals = problem.topics_totals(new_topics)
    return problem.weights.at(np.array(weights, dtype), totals), new_topics
