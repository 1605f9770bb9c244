"""HyperparameterUpdates: a solver that also updates the hyperparameters."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from isotopic.divergences import Divergence, KullbackLeibler
from isotopic.kernels import Counts
from isotopic.priors import Posterior, Prior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver

# Up to so many components are few.
FEW_COMPONENTS = 32

# Passes before the first update by default, with few components and with many.
FIRST_WITH_FEW, FIRST_WITH_MANY = 20, 5

# An update comes sooner once a pass moves less than this share of what the last update moved, and
# of the counts before the first.
_SMALL_SHARE, _SMALL_MOVE = 0.2, 1e-3


@register
@dataclass(frozen=True)
class HyperparameterState:
    """The state of the inner solver, and the priors and the divergence as they are now.

    Attributes
    ----------
    inner : State
    weights_prior, topics_prior : Prior
    next_update : int
        The number of passes after which the priors learn again.
    residual_after_update : float
        How far the last update of the hyperparameters moved the optimum.
    divergence : Divergence
    """

    inner: State
    weights_prior: Prior
    topics_prior: Prior
    next_update: int
    residual_after_update: float
    divergence: Divergence = field(default_factory=KullbackLeibler)

    # Copies of the inner state's fields; the residual is the larger of its residual and that of the
    # last hyperparameter update.
    weights: Posterior = field(init=False)
    topics: Posterior = field(init=False)
    counts: Counts = field(init=False)
    objective: float = field(init=False)
    passes: int = field(init=False)
    residual: float = field(init=False)

    def __post_init__(self) -> None:
        for name in ("weights", "topics", "counts", "objective", "passes"):
            object.__setattr__(self, name, getattr(self.inner, name))
        accuracy = min(self.weights_prior.update_accuracy, self.topics_prior.update_accuracy)
        residual = max(self.inner.residual, self.residual_after_update / accuracy)
        object.__setattr__(self, "residual", residual)


@register
@dataclass(frozen=True)
class HyperparameterUpdates(Solver[HyperparameterState]):
    r"""Update the priors' hyperparameters from the expected counts from time to time.

    An update is followed by a plain step: the new priors absorb the expected counts.
    Hyperparameters and posteriors of a variational side maximise the same bound in turn, so the
    bound never falls.

    Parameters
    ----------
    inner : Solver
    first : int, default=20
        The most passes before the first update: early counts say little about the priors.
    interval : int, default=10
        The most passes from one update to the next.
    """

    inner: Solver[Any]
    first: int = FIRST_WITH_FEW
    interval: int = 10

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> HyperparameterState:
        """Return the state at the starting point."""
        start = self.inner.init(problem, weights, topics)
        parts = problem.weights, problem.topics, self.first, np.inf, problem.divergence
        return HyperparameterState(start, *parts)

    def step(self, problem: Problem, state: HyperparameterState) -> HyperparameterState:
        """Return the state after a step of the inner solver, or after an update if it is due."""
        problem, before = _with_learned(problem, state), state.inner
        small = min(_SMALL_SHARE * state.residual_after_update, _SMALL_MOVE)
        if before.passes < state.next_update and before.residual > small:
            return replace(state, inner=self.inner.step(problem, before))
        updated = problem.in_precision_of(before.topics).with_updated_hyperparameters(before)
        is_same = updated.divergence == problem.divergence
        problem = replace(
            problem,
            weights=updated.weights,
            topics=updated.topics,
            divergence=updated.divergence,
        )
        if not is_same:  # what both sides absorb next depends on it
            before = self._evaluated(problem, before)
        after = self.inner.plain_step(problem, before)
        next_update = after.passes + self.interval
        return HyperparameterState(
            after,
            problem.weights,
            problem.topics,
            next_update,
            after.residual,
            problem.divergence,
        )

    def _evaluated(self, problem: Problem, state: Any) -> Any:
        """Return the state with the pass at its point made again, under another divergence."""
        found: Any = self.inner.init(problem, state.weights, state.topics)
        return replace(
            state,
            counts=found.counts,
            objective=found.objective,
            residual=found.residual,
            passes=state.passes + 1,
        )

    def continued(self, passes: int) -> "HyperparameterUpdates":
        """Return the solver with its first update ``passes`` passes earlier."""
        inner = self.inner.continued(passes)
        return replace(self, inner=inner, first=max(0, self.first - passes))

    def is_done(self, state: HyperparameterState) -> bool:
        """Return whether the inner solver has nothing left to do."""
        return self.inner.is_done(state.inner)

    def finish(self, problem: Problem, state: HyperparameterState) -> HyperparameterState:
        """Return the state after the inner solver's ``finish``."""
        problem = _with_learned(problem, state)
        return replace(state, inner=self.inner.finish(problem, state.inner))


def _with_learned(problem: Problem, state: HyperparameterState) -> Problem:
    """Return the problem with the hyperparameters that were learned so far."""
    return replace(
        problem,
        weights=state.weights_prior,
        topics=state.topics_prior,
        divergence=state.divergence,
    )
