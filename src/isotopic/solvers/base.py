"""What a solver is."""

from typing import Protocol

from isotopic.priors import Posterior
from isotopic.problem import Problem, State


class Solver(Protocol):
    """A frozen dataclass of settings with two functions.

    The state holds the expected counts at its point, so a step begins with an M step and ends with
    the pass that evaluates the new point: the objective costs nothing extra.
    """

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point; raise if this solver cannot solve the problem."""

    def step(self, problem: Problem, state: State) -> State:
        """Make one iteration."""
