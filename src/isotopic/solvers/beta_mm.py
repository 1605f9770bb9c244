"""Majorization-minimization for the beta divergence, one side at a time or both."""

from dataclasses import dataclass

import numpy as np

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem
from isotopic.kernels import row_sums
from isotopic.priors import Posterior
from isotopic.problem import State


@dataclass(frozen=True)
class SequentialMM:
    r"""Update the topics, sweep, update the weights: two sweeps an iteration.

    .. math:: \text{factor} \leftarrow \text{factor} \cdot
        (\text{asked} / \text{given})^{\gamma(\beta)}

    for one side and then for the other (Févotte & Idier, Algorithm MM). The objective never rises.
    """

    def init(self, problem: BetaProblem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point."""
        return problem.evaluate(weights, topics, passes=0)

    def step(self, problem: BetaProblem, state: State) -> State:
        """One side, a sweep, the other side, a sweep."""
        weights, topics = state.weights.mean, state.topics.mean
        sums, passes = state.counts.weights, state.passes + 1
        scale: Array | float = 1.0
        if problem.topics.learned:
            topics = problem.new_topics(topics, state.counts.topics, weights, weights)
            sums = problem.sweep(weights, topics, weights_only=True).weights
            scale, passes = row_sums(topics).astype(weights.dtype), passes + 1
        weights = weights * problem.weight_ratios(weights, sums, scale)
        return problem.evaluate(*problem.settled(weights, topics), passes)


@dataclass(frozen=True)
class JointMMState(State):
    """A point, and what the joint majorizer there says of both sides.

    Attributes
    ----------
    ratios : ndarray of shape (samples, components)
        Of the next weights to those here.
    joint : ndarray of shape (2, components, features)
        The topics' sums next to the next weights.
    """

    ratios: Array
    joint: Array


@dataclass(frozen=True)
class JointMM:
    r"""Update both sides from one sweep: the joint majorizer, minimised over one after the other.

    The majorizer of Marmin, Goulart & Févotte touches the objective in both sides at a time, so
    the powers of the product, on which most of the time is spent, serve for both. The weights' sums
    are those of the sequential update. The topics', next to new weights, have
    :math:`\text{weights} \cdot r^p` in the place of the weights, with the ratio :math:`r` of the
    new ones to the old and the powers :math:`p` of
    :attr:`~isotopic.divergences.Beta.joint_powers`. The row blocks of a sweep make them as soon as
    the ratios of their rows are known, and nothing as large as the data is kept. The objective
    never rises.

    With ``beta=1`` this is the joint update of the paper (Algorithm 4).
    """

    def init(self, problem: BetaProblem, weights: Posterior, topics: Posterior) -> JointMMState:
        """Evaluate the starting point."""
        return _evaluated(problem, weights, topics, passes=0)

    def step(self, problem: BetaProblem, state: JointMMState) -> JointMMState:
        """Both sides, then one sweep."""
        old, topics = state.weights.mean, state.topics.mean
        if problem.topics.learned:
            power = old.dtype.type(problem.divergence.joint_powers[1])
            counted = old * np.power(state.ratios, power)
            topics = problem.new_topics(topics, state.joint, old, counted)
        settled = problem.settled(old * state.ratios, topics)
        return _evaluated(problem, *settled, state.passes + 1)


def _evaluated(
    problem: BetaProblem, weights: Posterior, topics: Posterior, passes: int
) -> JointMMState:
    """Sweep over the data; each block finds its new weights on the way."""
    ratios = np.zeros_like(weights.mean)

    def found(rows: slice, sums: Array) -> Array:
        ratios[rows] = problem.weight_ratios(weights.mean[rows], sums)
        return ratios[rows]

    learned = problem.topics.learned
    sums = problem.sweep(weights.mean, topics.mean, ratios=found, weights_only=not learned)
    if not learned:
        found(slice(None), sums.weights)
    point = problem.state(weights, topics, sums, passes)
    return JointMMState(**vars(point), ratios=ratios, joint=sums.joint)
