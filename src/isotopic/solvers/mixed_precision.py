"""MixedPrecision: single precision as long as it is enough."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.kernels import Counts
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers.accelerated import Accelerated, AcceleratedState


@dataclass(frozen=True)
class MixedPrecision:
    """Begin in single precision, and end in double.

    A pass in single precision takes about two thirds of the time, and with many components half of
    it, and leads along the same way: at a residual of 1e-4 both objectives agree to eight digits.
    The arrays of a state tell which precision it is in. Where a fit ends, it ends in that of
    the data.

    Parameters
    ----------
    inner : Accelerated
    below : float, default=1e-4
        The residual from which on steps are in double precision. Single precision reaches 1e-6.
    """

    inner: Accelerated
    below: float = 1e-4

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> AcceleratedState:
        """Evaluate the starting point, in single precision."""
        rough = replace(problem, X=problem.X.in_single_precision)
        return self.inner.init(rough, *_at(rough, weights.mean, topics.mean))

    def step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Make a step of the inner solver in the precision of the state."""
        if state.topics.mean.dtype == problem.X.dtype:
            return self.inner.step(problem, state)
        new = self.inner.step(problem.as_precise_as(state.topics), state)
        return new if new.residual > self.below else self.finished(problem, new)

    def finished(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Give the same point in the precision of the data, evaluated there."""
        if state.topics.mean.dtype == problem.X.dtype:
            return state
        point = problem.evaluate(
            *_at(problem, state.weights.mean, state.topics.mean), state.passes + 1
        )
        previous = state.previous
        if previous is not None:
            previous = _counts_as(previous, problem.X.dtype)
        return replace(state, **vars(point), previous=previous)


def _at(problem: Problem, weights: Any, topics: Any) -> tuple[Posterior, Posterior]:
    """Take factors of any precision for the problem's."""
    dtype = problem.X.dtype
    new_topics = problem.topics.at(np.asfortranarray(topics, dtype), 1.0)
    totals = problem.topics_totals(new_topics)
    return problem.weights.at(np.array(weights, dtype), totals), new_topics


def _counts_as(counts: Counts, dtype: Any) -> Counts:
    return counts._replace(
        weights=counts.weights.astype(dtype), topics=counts.topics.astype(dtype, order="K")
    )
