"""Majorization-minimization for the beta divergence, one side at a time or both."""

from dataclasses import dataclass, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem, taken_further
from isotopic.kernels import row_sums
from isotopic.priors import Posterior
from isotopic.problem import State

_GROWTH, _MOST_REACH = 1.1, 20.0


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
        return _moved(problem, state, reach=1.0)


@dataclass(frozen=True)
class FurtherMMState(JointMMState):
    """A point, and how far to go from it.

    Attributes
    ----------
    reach : float
        The power to which the next step takes the ratios of new factors to old ones.
    """

    reach: float


@dataclass(frozen=True)
class FurtherMM:
    r"""Take the joint update further, as long as that lowers the objective: one sweep an iteration.

    The updates are small steps in a good direction. Here the ratios of new factors to old ones are
    taken to a power that grows with every step (Salakhutdinov & Roweis call such updates
    overrelaxed). If the objective is higher then, the step is forgotten and the next one is that of
    :class:`JointMM`, which never raises it.
    """

    def init(self, problem: BetaProblem, weights: Posterior, topics: Posterior) -> FurtherMMState:
        """Evaluate the starting point."""
        start = _evaluated(problem, weights, topics, passes=0)
        return FurtherMMState(**vars(start), reach=1.0)

    def step(self, problem: BetaProblem, state: FurtherMMState) -> FurtherMMState:
        """Both sides, further than the majorizer says, then one sweep."""
        new = _moved(problem, state, state.reach)
        if state.reach == 1 or new.objective <= state.objective:
            return FurtherMMState(**vars(new), reach=min(_GROWTH * state.reach, _MOST_REACH))
        return replace(state, passes=new.passes, reach=1.0)


def _moved(problem: BetaProblem, state: JointMMState, reach: float) -> JointMMState:
    """Minimise the joint majorizer, or go further than that, and sweep over the data."""
    old, topics = state.weights.mean, state.topics.mean
    if problem.topics.learned:
        power = old.dtype.type(problem.divergence.joint_powers[1])
        counted = old * np.power(state.ratios, power)
        topics = problem.new_topics(topics, state.joint, old, counted, reach)
    settled = problem.settled(old * taken_further(state.ratios, reach), topics)
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
