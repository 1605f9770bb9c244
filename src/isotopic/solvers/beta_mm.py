"""Majorization-minimization for the beta divergence, one side at a time or both."""

from dataclasses import dataclass, replace

import numpy as np

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem
from isotopic.kernels import row_sums
from isotopic.priors import Posterior
from isotopic.problem import State
from isotopic.solvers.further import further
from isotopic.solvers.momentum import FIRST_MOMENTUM, FLOOR, Schedule

_SCHEDULE = Schedule(most_momentum=0.95, floor_to_residual=5.0)


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
            passes += 1
        if problem.penalty_on_both:
            scale = row_sums(topics).astype(weights.dtype)
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
        return _evaluated(problem, *_updated(problem, state), state.passes + 1)


@dataclass(frozen=True)
class FurtherMMState(JointMMState):
    """The best point so far, and the way that led to it.

    Attributes
    ----------
    previous : tuple of ndarray, or None
        The weights and topics that the last update made, before they were taken further. ``None``:
        the next step is a plain one.
    momentum : float
        The power to which the next step takes the change since then.
    floor : float
        The present floor as a part of the first one.
    """

    previous: tuple[Array, Array] | None
    momentum: float
    floor: float


@dataclass(frozen=True)
class FurtherMM:
    r"""Take the joint update further along its way: one sweep an iteration.

    With the factors :math:`u_n` that the joint update makes, both sides become

    .. math:: u_n \cdot (u_n / u_{n-1})^{\text{momentum}}

    and stay above a floor that shrinks as the fit settles. If the objective is higher there, the
    step is forgotten and the next one is that of :class:`JointMM`, which never raises it.
    """

    def init(self, problem: BetaProblem, weights: Posterior, topics: Posterior) -> FurtherMMState:
        """Evaluate the starting point."""
        start = _evaluated(problem, weights, topics, passes=0)
        return FurtherMMState(**vars(start), previous=None, momentum=FIRST_MOMENTUM, floor=1.0)

    def step(self, problem: BetaProblem, state: FurtherMMState) -> FurtherMMState:
        """Both sides, taken further, then one sweep."""
        updated = trial = _updated(problem, state)
        plain = state.previous is None
        if state.previous is not None:
            trial = _further(problem, updated, state)
        new = _evaluated(problem, *trial, state.passes + 1)
        worse = not plain and new.objective > state.objective
        if worse:
            way = _SCHEDULE.after_failure(state.momentum, state.floor)
            momentum, floor = map(float, way)
            return replace(state, passes=new.passes, previous=None, momentum=momentum, floor=floor)
        way = _SCHEDULE.after_success(state.momentum, state.floor, new.residual)
        momentum, floor = map(float, way)
        previous = updated[0].mean, updated[1].mean
        return FurtherMMState(**vars(new), previous=previous, momentum=momentum, floor=floor)


def _further(
    problem: BetaProblem, updated: tuple[Posterior, Posterior], state: FurtherMMState
) -> tuple[Posterior, Posterior]:
    """Take both sides further; topics that are held stay."""
    assert state.previous is not None
    floor = state.floor * FLOOR / problem.n_components
    weights = further(updated[0].mean, state.previous[0], state.momentum, floor)
    topics = updated[1].mean
    if problem.topics.learned:
        topics = further(topics.T, state.previous[1].T, state.momentum, floor).T
        topics[: problem.topics.held_rows] = updated[1].mean[: problem.topics.held_rows]
    return problem.settled(weights, topics)


def _updated(problem: BetaProblem, state: JointMMState) -> tuple[Posterior, Posterior]:
    """Minimise the joint majorizer over the weights, then over the topics."""
    old, topics = state.weights.mean, state.topics.mean
    if problem.topics.learned:
        power = old.dtype.type(problem.divergence.joint_powers[1])
        counted = old * np.power(state.ratios, power)
        topics = problem.new_topics(topics, state.joint, old, counted)
    return problem.settled(old * state.ratios, topics)


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
