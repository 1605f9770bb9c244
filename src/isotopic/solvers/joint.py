"""Updates of both sides from one pass."""

from dataclasses import dataclass

from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver


@register
@dataclass(frozen=True)
class JointEM(Solver[State]):
    """Update both sides from the same expected counts: one pass an iteration.

    By the pair of priors this is Algorithm 2 (PLSA), 3 and 5 (LDA), 4 (NMF with normalised topics),
    6 (both normalised), 7 (Gamma-Poisson) and the Lasso's joint update. It needs normalised topics,
    because only then do the weights' optimal values not depend on the topics' (Section 4). Topics
    of another unit norm are updated after the weights, with the same majorizer; then the weights
    are multiplied by their scale.
    Under other divergences it is joint majorization-minimization (Marmin, Goulart & Févotte 2023).

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import JointEM, PLSA
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> PLSA(2, solver=JointEM(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    def check(self, problem: Problem) -> None:
        """Raise ValueError if one pass is not enough for both sides."""
        if not problem.can_update_jointly:
            raise ValueError(
                "The joint update needs normalised topics (Simplex, Dirichlet or UnitNorm) under a "
                "divergence with a joint majorizer; this problem has "
                f"{type(problem.topics).__name__} topics under {problem.divergence!r}. Use "
                "solver='alternating' or solver='auto'."
            )

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after both M steps and one pass."""
        weights = problem.absorb_weights(state.counts.weights, state.topics)
        topics = problem.absorb_topics(state.counts.topics, state.topics, weights)
        weights, topics = problem.hand_over_scale(weights, topics)
        return problem.evaluate(weights, topics, state.passes + 1)

    plain_step = step


@register
@dataclass(frozen=True)
class BlockUpdate(Solver[State]):
    """Update the topics, then the weights, from the same expected counts, for any pair of priors.

    The topics absorb their counts with the totals of the old weights, the weights with those of
    the new topics. Both lower the same majorizer one after the other, so one pass is enough for
    topics with a scale as well. With normalised topics it is the joint update.
    """

    def check(self, problem: Problem) -> None:
        """Raise ValueError if the divergence has no joint majorizer."""
        if not problem.divergence.is_joint:
            raise ValueError(
                f"One pass cannot update both sides under {problem.divergence!r}, which has no "
                "joint majorizer. Use solver='auto' or solver='alternating'."
            )

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after both M steps, the topics' first, and one pass."""
        return self.plain_step(problem, state)
