"""LeastSquares: coordinate descent for squared distances, one component of a side at a time."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem
from isotopic.divergences import Sweep
from isotopic.priors import Posterior
from isotopic.problem import State
from isotopic.solvers.momentum import FIRST_MOMENTUM, Schedule
from isotopic.threads import one_blas_thread

_SCHEDULE = Schedule(most_momentum=0.95, floor_to_residual=0.0)

# How often each component of a side is improved for one product with the data, which costs more.
_ROUNDS = 2


@dataclass(frozen=True)
class LeastSquaresState(State):
    """The best point so far, and the way that led to it.

    Attributes
    ----------
    previous : tuple of ndarray, or None
        The weights and topics that the last descent made, before they were taken further. ``None``:
        the next step is a plain one.
    momentum : float
        How often the next step adds the change since then.
    """

    previous: tuple[Array, Array] | None
    momentum: float


class _Trial(NamedTuple):
    """Topics, with what is known next to them before the weights are.

    Attributes
    ----------
    weights : ndarray of shape (samples, components)
        Those of before, in the units of the topics.
    topics : Posterior
    descended : ndarray of shape (components, features)
        The topics as the descent made them, before they were taken further.
    asked : ndarray of shape (samples, components)
        What the data ask for.
    gram : ndarray of shape (components, components)
        Of the topics.
    """

    weights: Array
    topics: Posterior
    descended: Array
    asked: Array
    gram: Array


class _Found(NamedTuple):
    """Weights next to the topics of a trial, their sums, and the divergence of each sample."""

    weights: Posterior
    sums: Array
    values: Array
    objective: float


@dataclass(frozen=True)
class LeastSquares:
    r"""Improve all entries of one component at a time: two products with the data an iteration.

    Next to the other side with its Gram matrix :math:`G`, and with what the data ask for, the best
    entries of component :math:`k` are

    .. math:: \max\Big(0, f_k + \frac{\text{asked}_k - \text{slope}_k - \sum_j G_{kj} f_j}
        {G_{kk}}\Big)

    (hierarchical alternating least squares: Cichocki & Phan 2009). Each side is gone through twice
    for one product with the data (Gillis & Glineur 2012), and is then taken further by a part of
    its change since the last time (Ang & Gillis 2019). If the objective is higher there, the
    weights stay where the descent ended; if it still is, the step is forgotten and the next one is
    plain, which never raises it. A penalty is taken at its tangent.

    For ``beta=2`` and data without missing entries.
    """

    def init(
        self, problem: BetaProblem, weights: Posterior, topics: Posterior
    ) -> LeastSquaresState:
        """Evaluate the starting point."""
        if not problem.quadratic:
            raise ValueError(
                "LeastSquares is for beta=2 and data without missing entries; use solver='auto'"
            )
        start = problem.evaluate(weights, topics, passes=0)
        return LeastSquaresState(**vars(start), previous=None, momentum=FIRST_MOMENTUM)

    def step(self, problem: BetaProblem, state: LeastSquaresState) -> LeastSquaresState:
        """Find the topics, then the weights."""
        with one_blas_thread:
            trial = _with_topics(problem, state)
            slope = problem.slope_of_weights(trial.weights)
            descended = _descended(trial.weights.T, (trial.asked - slope).T, trial.gram).T
            found, momentum = _with_weights(problem, state, trial, descended)
            passes = state.passes + 1
            if state.previous is not None and found.objective > state.objective:
                return replace(state, passes=passes, previous=None, momentum=momentum)
            new = _evaluated(problem, trial, found, passes)
        previous = descended, trial.descended
        return LeastSquaresState(**vars(new), previous=previous, momentum=momentum)


def _with_topics(problem: BetaProblem, state: LeastSquaresState) -> _Trial:
    """Improve the topics and take them further; those that are given stay."""
    weights, topics = state.weights, state.topics
    made = topics.mean
    if problem.topics.learned:
        slope = problem.slope_of_topics(weights.mean, weights.mean)
        asked, held = state.counts.topics[0] - slope, problem.topics.held_rows
        gram = _gram(problem, weights.mean)
        made = _descended(topics.mean, asked, gram, held, problem.movable)
        weights, topics = problem.settled(weights.mean, made)
        made = topics.mean
        if state.previous is not None:
            beyond = _beyond(made, state.previous[1], state.momentum)
            weights, topics = problem.settled(weights.mean, beyond)
    factor = np.ascontiguousarray(topics.mean)
    asked = problem.sweep.asked_by_samples(factor)
    return _Trial(weights.mean, topics, made, asked, factor @ factor.T)


def _with_weights(
    problem: BetaProblem, state: LeastSquaresState, trial: _Trial, descended: Array
) -> tuple[_Found, float]:
    """Take the weights further unless that raises the objective; give the next momentum too."""
    momentum = state.momentum
    if state.previous is not None:
        beyond = _beyond(descended, state.previous[0], momentum)
        found = _found(problem, trial, beyond)
        if found.objective > state.objective:
            return _found(problem, trial, descended), float(
                _SCHEDULE.after_failure(momentum, 0.0)[0]
            )
    else:
        found = _found(problem, trial, descended)
    return found, float(_SCHEDULE.after_success(momentum, 0.0, 0.0)[0])


def _found(problem: BetaProblem, trial: _Trial, factor: Array) -> _Found:
    weights = problem.weights.at(np.ascontiguousarray(factor), 1.0)
    sums = np.stack([trial.asked, weights.mean @ trial.gram])
    values = problem.divergence.values(problem.sweep.saturated, weights.mean, *sums)
    return _Found(weights, sums, values, problem.value(weights, values))


def _evaluated(problem: BetaProblem, trial: _Trial, found: _Found, passes: int) -> State:
    """Multiply the weights with the data, which the topics' sums are made of."""
    factor, of_topics = found.weights.mean, np.zeros((0, *trial.topics.mean.shape))
    if problem.topics.learned:
        given = _gram(problem, factor) @ trial.topics.mean
        of_topics = np.stack([problem.sweep.asked_by_features(factor), given])
    sums = Sweep(found.sums, of_topics, found.values, of_topics[:0])
    return problem.state(found.weights, trial.topics, sums, passes)


def _gram(problem: BetaProblem, weights: Array) -> Array:
    """Multiply the weights with themselves, each sample as often as it counts."""
    copies = problem.weights.copies
    counted = weights if copies is None else weights * copies[:, np.newaxis].astype(weights.dtype)
    return np.asarray(counted.T @ weights)


def _descended(
    factor: Array, asked: Array, gram: Array, held: int = 0, movable: Array | None = None
) -> Array:
    """Minimise over one component after the other.

    Parameters
    ----------
    factor, asked : ndarray of shape (components, entries)
    gram : ndarray of shape (components, components)
        Of the other side. A component that is nothing there, or too little for its square to be
        a number of full precision, stays as it is.
    held : int
        How many of the first components stay.
    movable : ndarray of bool of shape (components, entries) or None
        The entries that may be more than zero.
    """
    new, info = np.array(factor, order="C"), np.finfo(factor.dtype)
    enough = np.diagonal(gram) > info.tiny / info.eps
    enough[:held] = False
    for k in np.flatnonzero(enough).tolist() * _ROUNDS:
        best = (asked[k] - gram[k] @ new) / gram[k, k] + new[k]
        np.maximum(best, 0, out=new[k])
        if movable is not None:
            new[k] *= movable[k]
    return new


def _beyond(latest: Array, previous: Array, momentum: float) -> Array:
    """Add the change since the last time once more, in part."""
    change = latest - previous
    change *= latest.dtype.type(momentum)
    change += latest
    return np.asarray(np.maximum(change, 0, out=change))
