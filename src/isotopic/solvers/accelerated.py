"""Accelerated: updates from counts that are taken further along their way."""

from dataclasses import dataclass, field, replace
from typing import Any

from isotopic.kernels import Counts, extrapolated, row_sums
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.solvers.base import Solver
from isotopic.solvers.joint import BlockUpdate
from isotopic.solvers.momentum import FIRST_MOMENTUM, FLOOR, Schedule

_SCHEDULE = Schedule(most_momentum=0.98, floor_to_residual=25.0)

# Bayesian weights give components up for good when they are left to it, so they are held near the
# middle for longer.
_BAYESIAN_WEIGHTS_FLOOR = 10 * FLOOR


@dataclass(frozen=True)
class AcceleratedState(State):
    """The best point so far, the way that led to it, and how far to follow it.

    Attributes
    ----------
    previous : Counts or None
        The expected counts at the point before. ``None``: the next step is a plain one.
    momentum : float
        The power to which the next step takes the last change of the counts.
    floor : float
        The present floor as a part of the first one.
    passes_a_step : int
        What the last step took.
    """

    previous: Counts | None
    momentum: float
    floor: float
    passes_a_step: int


@dataclass(frozen=True)
class Accelerated:
    r"""Follow the way of the expected counts: the inner solver's steps, from counts further on.

    A step begins with the expected counts :math:`c_n` of the present point. Here it begins with

    .. math:: c_n \cdot (c_n / c_{n-1})^{\text{momentum}}

    instead, scaled to the totals of each sample and each feature, which all expected counts share.
    Entries are kept above a floor that shrinks as the fit settles: momentum alone would drive them
    to zero, from where no update brings them back.

    The pass at the new point gives its objective too. If that is higher than before, the step is
    forgotten and the next one is plain, without momentum and floor. A plain step never makes the
    objective worse, so neither does the fit. When the inner solver begins with steps of more
    passes, which go further by themselves, momentum begins anew.

    Parameters
    ----------
    inner : Solver, default=BlockUpdate()
        Whose steps are taken: one that begins with the counts of its state. The default serves
        any pair of priors at one pass an iteration.
    """

    inner: Solver[Any] = field(default_factory=BlockUpdate)

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> AcceleratedState:
        """Evaluate the starting point."""
        start = self.inner.init(problem, weights, topics)
        floor = min(1.0, _SCHEDULE.floor_to_residual * start.residual)
        return _accepted(start, start.counts, FIRST_MOMENTUM, floor, passes_a_step=1)

    def step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Make a step of the inner solver with counts taken further."""
        plain = state.previous is None
        new = self.inner.step(problem, replace(state, counts=_taken_further(problem, state)))
        passes = new.passes - state.passes
        if plain or new.objective <= state.objective:
            momentum, floor = _SCHEDULE.after_success(state.momentum, state.floor, new.residual)
            if passes > state.passes_a_step:
                momentum = min(momentum, FIRST_MOMENTUM)
            return _accepted(new, state.counts, momentum, floor, passes)
        momentum, floor = _SCHEDULE.after_failure(state.momentum, state.floor)
        return replace(
            state,
            passes=new.passes,
            previous=None,
            momentum=float(momentum),
            floor=float(floor),
            passes_a_step=passes,
        )

    def plain_step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Make a step that goes no further than the counts say."""
        return self.step(problem, replace(state, previous=None))


def _accepted(
    point: State, previous: Counts, momentum: float, floor: float, passes_a_step: int
) -> AcceleratedState:
    return AcceleratedState(
        **vars(point),
        previous=previous,
        momentum=float(momentum),
        floor=float(floor),
        passes_a_step=passes_a_step,
    )


def _taken_further(problem: Problem, state: AcceleratedState) -> Counts:
    """Extrapolate the counts of both sides, or copy them for a plain step."""
    counts, X = state.counts, problem.X
    if state.previous is None:
        return counts._replace(
            weights=counts.weights.copy(order="K"), topics=counts.topics.copy(order="K")
        )
    weights_floor = _BAYESIAN_WEIGHTS_FLOOR if problem.weights.is_bayesian else FLOOR
    by_component = state.floor / problem.n_components
    weights = problem.extrapolated_weights(
        counts.weights,
        state.previous.weights,
        momentum=state.momentum,
        floor=weights_floor * by_component,
    )
    if not problem.topics.learned:
        return counts._replace(weights=weights)
    complete = X.missing is None  # else proportions have counts that were filled in as well
    feature_totals = X.feature_totals if complete else row_sums(counts.topics.T)
    topics = extrapolated(
        counts.topics.T,
        state.previous.topics.T,
        feature_totals,
        momentum=state.momentum,
        floor=FLOOR * by_component,
    )
    return counts._replace(weights=weights, topics=topics.T)
