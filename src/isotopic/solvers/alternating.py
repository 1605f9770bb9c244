"""Alternating: the multiplicative updates of Lee and Seung."""

from dataclasses import dataclass

from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.solvers.joint import BlockUpdate


@dataclass(frozen=True)
class Alternating:
    """Update the topics, look again, update the weights: two passes an iteration.

    Algorithm 1 (Lee & Seung, Theorem 2) when both sides are free, and its counterpart for every
    other pair of priors.
    """

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point."""
        return problem.evaluate(weights, topics, passes=0)

    def step(self, problem: Problem, state: State) -> State:
        """One side's M step, a pass, the other side's M step, a pass."""
        topics = problem.absorb_topics(state.counts.topics, state.topics, state.weights)
        weights = problem.with_scale_of(topics, state.weights)
        counts = problem.expected_counts(weights, topics, weights_only=True)
        weights = problem.absorb_weights(counts.weights, topics)
        return problem.evaluate(weights, topics, state.passes + 2)

    def plain_step(self, problem: Problem, state: State) -> State:
        """Let both sides absorb the counts of this point."""
        return BlockUpdate().step(problem, state)
