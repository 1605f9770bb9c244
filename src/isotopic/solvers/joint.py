"""JointEM: the paper's joint update."""

from dataclasses import dataclass

from isotopic.priors import Posterior
from isotopic.problem import Problem, State


@dataclass(frozen=True)
class JointEM:
    """Update both sides from the same expected counts: one pass an iteration.

    By the pair of priors this is Algorithm 2 (PLSA), 3 and 5 (LDA), 4 (NMF with normalised topics),
    6 (both normalised), 7 (Gamma-Poisson) and the Lasso's joint update. It needs normalised topics,
    because only then do the weights' optimal values not depend on the topics' (Section 4).
    """

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point."""
        if not problem.joint:
            raise ValueError(
                "the joint update needs normalised topics (Simplex or Dirichlet), not "
                f"{type(problem.topics).__name__}; use solver='alternating', or normalise the "
                "topics, which loses nothing (Lemma 4.1)"
            )
        return problem.evaluate(weights, topics, passes=0)

    def step(self, problem: Problem, state: State) -> State:
        """Both M steps, then one pass."""
        weights = problem.absorb_weights(state.counts.weights, state.topics)
        topics = problem.absorb_topics(state.counts.topics, state.topics, weights)
        return problem.evaluate(weights, topics, state.passes + 1)

    plain_step = step
