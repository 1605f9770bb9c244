"""TwoPhase: cheap steps first, more exact ones near the optimum."""

from dataclasses import dataclass, field
from typing import Any

from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver
from isotopic.solvers.coordinate_descent import CoordinateDescent
from isotopic.solvers.joint import BlockUpdate


@register
@dataclass(frozen=True)
class TwoPhase(Solver[State]):
    """Take one solver's steps far from the optimum and another's near it.

    Both must begin a step with nothing but a point and its counts, so that one can take over from
    the other at any time.

    Parameters
    ----------
    first : Solver, default=BlockUpdate()
    then : Solver, default=CoordinateDescent()
    below : float, default=0.03
        The residual below which ``then`` takes the steps.
    after : int, default=4
        Passes that ``first`` makes in any case: random components are all alike, so the residual
        is small at the start too.
    """

    first: Solver[Any] = field(default_factory=BlockUpdate)
    then: Solver[Any] = field(default_factory=CoordinateDescent)
    below: float = 0.03
    after: int = 4

    def check(self, problem: Problem) -> None:
        """Raise ValueError if one of the two cannot solve the problem."""
        self.first.check(problem)
        self.then.check(problem)

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Return the state at the starting point."""
        start: State = self.then.init(problem, weights, topics)
        return start

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after a step of the solver whose turn it is."""
        is_near = state.residual <= self.below and state.passes >= self.after
        new: State = (self.then if is_near else self.first).step(problem, state)
        return new
