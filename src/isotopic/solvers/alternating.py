"""Alternating: one side after the other."""

from dataclasses import dataclass

from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver


@register
@dataclass(frozen=True)
class Alternating(Solver[State]):
    """Update the topics, make a pass, update the weights: two passes an iteration.

    Algorithm 1 (Lee & Seung, Theorem 2) when both sides are free, and its counterpart for every
    other pair of priors. Under other divergences it is majorization-minimization of one side at a
    time (Févotte & Idier 2011).

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import Alternating, NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> NMF(2, solver=Alternating(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Return the state at the starting point."""
        return problem.evaluate(weights, topics, passes=0, jointly=False)

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after the topics' M step, a pass, the weights' M step, and a pass."""
        weights, topics, passes = state.weights, state.topics, state.passes + 1
        counts = state.counts
        if problem.topics.is_learned:
            topics = problem.absorb_topics(counts.topics, topics, weights)
            weights, topics = problem.hand_over_scale(weights, topics)
        counts = problem.expected_counts(weights, topics, weights_only=True)
        passes += 1
        weights = problem.absorb_weights(counts.weights, topics)
        return problem.evaluate(weights, topics, passes, jointly=False)
