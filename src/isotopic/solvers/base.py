"""What a solver is."""

from typing import Protocol, TypeVar

from isotopic.priors import Posterior
from isotopic.problem import Problem


class Progress(Protocol):
    """What the loop asks of a solver's state."""

    @property
    def passes(self) -> int:
        """Passes over the data that were made to reach this point."""

    @property
    def objective(self) -> float:
        """What is minimised, at this point."""

    @property
    def residual(self) -> float:
        """How far from optimal this point is."""


S = TypeVar("S", bound=Progress)


class Solver(Protocol[S]):
    """A frozen dataclass of settings with two functions.

    The state holds the expected counts at its point, so a step begins with an M step and ends with
    the pass that evaluates the new point: the objective costs nothing extra.
    """

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> S:
        """Evaluate the starting point; raise if this solver cannot solve the problem."""

    def step(self, problem: Problem, state: S) -> S:
        """Make one iteration."""
