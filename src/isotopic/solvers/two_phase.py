"""TwoPhase: cheap steps first, sharper ones at the end."""

from dataclasses import dataclass, field
from typing import Any

from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.solvers.base import Solver
from isotopic.solvers.coordinate_descent import CoordinateDescent
from isotopic.solvers.joint import BlockUpdate


@dataclass(frozen=True)
class TwoPhase:
    """Take one solver's steps far from the optimum and another's near it.

    Both must begin a step with nothing but a point and its counts, so that nothing is lost when
    one takes over from the other.

    Parameters
    ----------
    first : Solver, default=BlockUpdate()
    then : Solver, default=CoordinateDescent()
    below : float, default=0.03
        The residual from which on ``then`` takes the steps.
    after : int, default=4
        How many passes come first in any case: components that are drawn at random are all alike,
        and little moves at first.
    """

    first: Solver[Any] = field(default_factory=BlockUpdate)
    then: Solver[Any] = field(default_factory=CoordinateDescent)
    below: float = 0.03
    after: int = 4

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point, by the one that asks for more."""
        start: State = self.then.init(problem, weights, topics)
        return start

    def step(self, problem: Problem, state: State) -> State:
        """Make a step of the solver whose turn it is."""
        near = state.residual <= self.below and state.passes >= self.after
        solver = self.then if near else self.first
        new: State = solver.step(problem, state)
        return new
