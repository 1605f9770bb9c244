"""Accelerated: steps from extrapolated counts, and the schedule of their momentum."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isotopic.kernels import Counts
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.row_inference import Steps
from isotopic.solvers.base import Solver
from isotopic.solvers.joint import BlockUpdate

FIRST_MOMENTUM = 0.5
_MIN_MOMENTUM = 0.1
_GROWTH = 1.1
_SHRINKAGE = 0.95

# The share of a sample's, or a feature's, counts that the first floor holds, over all components.
FLOOR = 0.02

# Bayesian weights give components up for good when their counts get small, so they are kept away
# from zero for longer.
_BAYESIAN_WEIGHTS_FLOOR = 10 * FLOOR


@dataclass(frozen=True)
class Schedule:
    """The rule for extrapolated steps, of one fit or of many samples at once.

    A step that raises the objective has failed: it is taken back, and the next one is plain. The
    momentum grows by a tenth until a step fails, then it is halved. The floor, a share of the first
    one, shrinks with every step and stays in proportion to the residual: otherwise it would soon be
    all that is left to improve.

    Parameters
    ----------
    max_momentum : float
    floor_to_residual : float
        The largest floor for a residual of one.
    """

    max_momentum: float
    floor_to_residual: float

    def steps(self, first_momentum: float, first_floor: float) -> Steps:
        """Return the same rule in the form that the core reads."""
        return Steps(
            first_momentum,
            _MIN_MOMENTUM,
            self.max_momentum,
            _GROWTH,
            first_floor,
            _SHRINKAGE,
            self.floor_to_residual,
        )

    def next(self, momentum: Any, floor: Any, residual: Any, failed: Any) -> tuple[Any, Any]:
        """Return momentum and floor for the next step, numbers or arrays with one for each row."""
        grown = np.minimum(_GROWTH * momentum, self.max_momentum)
        lowered = np.minimum(_SHRINKAGE * floor, self.floor_to_residual * residual)
        return (
            np.where(failed, np.maximum(momentum / 2, _MIN_MOMENTUM), grown),
            np.where(failed, floor / 2, lowered),
        )


@register
@dataclass(frozen=True)
class AcceleratedState(State):
    """The best point so far, the counts before it, and how far to extrapolate.

    Attributes
    ----------
    previous : Counts or None
        The expected counts at the point before. ``None``: the next step is a plain one.
    momentum : float
        The power to which the next step takes the last change of the counts.
    floor : float
        The present floor as a share of the first one.
    passes_per_step : int
        The passes that the last step took.
    """

    previous: Counts | None
    momentum: float
    floor: float
    passes_per_step: int


@register
@dataclass(frozen=True)
class Accelerated(Solver[AcceleratedState]):
    r"""Take the inner solver's steps from extrapolated counts.

    A step begins with the expected counts :math:`c_n` of the present point. Here it begins with

    .. math:: c_n \cdot (c_n / c_{n-1})^{\text{momentum}}

    instead, scaled to the totals of each sample and each feature, which all expected counts share.
    Entries are kept above a floor that shrinks as the fit converges: momentum alone would drive
    them to zero, from where no update brings them back.

    The pass at the new point gives its objective too. If that is higher than before, the step is
    taken back and the next one is plain, without momentum and floor. A plain step never raises the
    objective, so neither does the fit. When the inner solver switches to steps of more
    passes, which make more progress on their own, the momentum is reset.

    Parameters
    ----------
    inner : Solver, default=BlockUpdate()
        A solver whose steps begin with the counts of its state. The default serves any pair of
        priors at one pass an iteration.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Accelerated, NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> NMF(2, solver=Accelerated(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    inner: Solver[Any] = field(default_factory=BlockUpdate)

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> AcceleratedState:
        """Return the state at the starting point."""
        start = self.inner.init(problem, weights, topics)
        floor = min(1.0, problem.divergence.floor_to_residual * start.residual)
        return AcceleratedState(
            **vars(start),
            previous=start.counts,
            momentum=FIRST_MOMENTUM,
            floor=float(floor),
            passes_per_step=1,
        )

    def step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Return the state after a step of the inner solver from extrapolated counts."""
        counts = state.counts
        if state.previous is None:  # a plain step; it takes the arrays over
            counts = counts._replace(
                weights=counts.weights.copy(order="K"), topics=counts.topics.copy(order="K")
            )
        else:
            by_component = state.floor / problem.n_components
            weights_floor = _BAYESIAN_WEIGHTS_FLOOR if problem.weights.is_bayesian else FLOOR
            counts = problem.extrapolate(
                counts,
                state.previous,
                momentum=state.momentum,
                weights_floor=weights_floor * by_component,
                topics_floor=FLOOR * by_component,
            )
        new = self.inner.step(problem, replace(state, counts=counts))
        passes = new.passes - state.passes
        has_failed = state.previous is not None and not new.objective <= state.objective
        divergence = problem.divergence
        schedule = Schedule(divergence.max_momentum, divergence.floor_to_residual)
        momentum, floor = schedule.next(state.momentum, state.floor, new.residual, has_failed)
        if has_failed:
            point, previous = {**vars(state), "passes": new.passes}, None
        else:
            point, previous = {**vars(state), **vars(new)}, state.counts
            if passes > state.passes_per_step:
                momentum = min(momentum, FIRST_MOMENTUM)
        settings = {"momentum": float(momentum), "floor": float(floor), "passes_per_step": passes}
        return AcceleratedState(**{**point, "previous": previous, **settings})

    def plain_step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Return the state after a step that is not extrapolated."""
        return self.step(problem, replace(state, previous=None))

    def is_done(self, state: AcceleratedState) -> bool:
        """Return whether the inner solver has nothing left to do."""
        return self.inner.is_done(state)

    def finish(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        """Return the state with the point at which the inner solver finishes."""
        return replace(state, **vars(self.inner.finish(problem, state)))
