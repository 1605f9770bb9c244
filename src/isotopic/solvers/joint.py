"""Updates of both sides from one pass."""

from dataclasses import dataclass

from isotopic.priors import Posterior
from isotopic.problem import Problem, State


@dataclass(frozen=True)
class JointEM:
    """Update both sides from the same expected counts: one pass an iteration.

    By the pair of priors this is Algorithm 2 (PLSA), 3 and 5 (LDA), 4 (NMF with normalised topics),
    6 (both normalised), 7 (Gamma-Poisson) and the Lasso's joint update. It needs normalised topics,
    because only then do the weights' optimal values not depend on the topics' (Section 4). Topics
    of another unit norm lower the same majorizer after the weights, and hand their scale over.
    """

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point."""
        if not problem.joint:
            raise ValueError(
                "the joint update needs normalised topics (Simplex, Dirichlet or UnitNorm), not "
                f"{type(problem.topics).__name__}; use solver='alternating', or normalise the "
                "topics, which loses nothing (Lemma 4.1)"
            )
        return problem.evaluate(weights, topics, passes=0)

    def step(self, problem: Problem, state: State) -> State:
        """Both M steps, then one pass."""
        weights = problem.absorb_weights(state.counts.weights, state.topics)
        topics = problem.absorb_topics(state.counts.topics, state.topics, weights)
        weights = problem.with_scale_of(topics, weights)
        return problem.evaluate(weights, topics, state.passes + 1)

    plain_step = step


@dataclass(frozen=True)
class BlockUpdate:
    """Update the topics, then the weights, from the same expected counts, for any pair of priors.

    The topics absorb their counts with the totals of the weights as they were, the weights with
    those of the new topics. Both lower the same majorizer one after the other, so one pass is
    enough for topics that are not normalised as well. With normalised topics it is the joint
    update.
    """

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point."""
        return problem.evaluate(weights, topics, passes=0)

    def step(self, problem: Problem, state: State) -> State:
        """Both M steps, then one pass."""
        topics = problem.absorb_topics(state.counts.topics, state.topics, state.weights)
        weights = problem.absorb_weights(state.counts.weights, topics)
        return problem.evaluate(weights, topics, state.passes + 1)

    plain_step = step
