"""Learning: a solver whose priors learn their own settings on the way."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.kernels import Counts
from isotopic.priors import Posterior, Prior
from isotopic.problem import Problem, State


@dataclass(frozen=True)
class HyperparameterState:
    """Where the inner solver is, and what the priors have learned.

    Attributes
    ----------
    inner : State
        Of the inner solver, at the priors of now.
    weights_prior, topics_prior : Prior
    lesson : int
        The number of passes from which on the priors learn again.
    surprise : float
        The residual that was left when they last learned: how far that moved the goal.
    """

    inner: State
    weights_prior: Prior
    topics_prior: Prior
    lesson: int
    surprise: float

    @property
    def weights(self) -> Posterior:
        """The weights."""
        return self.inner.weights

    @property
    def topics(self) -> Posterior:
        """The topics."""
        return self.inner.topics

    @property
    def counts(self) -> Counts:
        """The expected counts."""
        return self.inner.counts

    @property
    def objective(self) -> float:
        """What is minimised, with the priors of now."""
        return self.inner.objective

    @property
    def passes(self) -> int:
        """Passes over the data."""
        return self.inner.passes

    @property
    def residual(self) -> float:
        """The larger of the residual now, and of that after the last lesson."""
        return max(self.inner.residual, self.surprise)


@dataclass(frozen=True)
class HyperparameterUpdates:
    r"""Let the priors learn from the expected counts now and then; in between, solve.

    A lesson is followed by a plain step: the priors, as they are now, absorb the expected counts.
    For a variational side its settings and its posterior so maximise the same bound one after the
    other, which therefore never falls.

    Parameters
    ----------
    inner : Solver
    first : int, default=20
        Passes before the first lesson: before, the counts say little of the priors.
    interval : int, default=10
        Passes from one lesson to the next.
    """

    inner: Any
    first: int = 20
    interval: int = 10

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> HyperparameterState:
        """Evaluate the starting point."""
        start = self.inner.init(problem, weights, topics)
        return HyperparameterState(start, problem.weights, problem.topics, self.first, np.inf)

    def step(self, problem: Problem, state: HyperparameterState) -> HyperparameterState:
        """Make a step of the inner solver, after a lesson if it is time for one."""
        problem = replace(problem, weights=state.weights_prior, topics=state.topics_prior)
        before = state.inner
        if before.passes < state.lesson:
            return replace(state, inner=self.inner.step(problem, before))
        problem = problem.with_updated_hyperparameters(before)
        after = self.inner.plain_step(problem, before)
        lesson = after.passes + self.interval
        return HyperparameterState(after, problem.weights, problem.topics, lesson, after.residual)
