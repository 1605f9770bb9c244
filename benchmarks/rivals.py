"""Other ways to accelerate a fixed-point iteration, for comparison: SQUAREM and DAAREM.

Both work on the logarithms of the factors, so that every point they make is positive, and both take
the joint update as their map. A pass at a point gives its objective and its counts, so neither
needs another one to evaluate.
"""

from dataclasses import dataclass, replace

import numpy as np

from isotopic.problem import Problem, State
from isotopic.solvers import JointEM

_TRUSTED = 25  # successes after which DAAREM damps its steps by half
_SMALLEST = 1e-100  # what a zero is taken for, because it has no logarithm


@dataclass(frozen=True)
class Squarem:
    """Two updates, then a step along their difference and its change (Varadhan & Roland 2008, S3).

    Three passes an iteration. A step that is worse than the second update is forgotten.
    """

    def init(self, problem, weights, topics) -> State:
        """Evaluate the starting point."""
        return JointEM().init(problem, weights, topics)

    def step(self, problem: Problem, state: State) -> State:
        """Make two updates and one step."""
        start = _logs(state)
        first = JointEM().step(problem, state)
        way = _logs(first) - start
        second = JointEM().step(problem, first)
        change = _logs(second) - start - 2 * way
        length = max(1.0, np.linalg.norm(way) / np.linalg.norm(change))
        new = _at(problem, start + 2 * length * way + length**2 * change, second)
        return new if new.objective <= second.objective else replace(second, passes=new.passes)


@dataclass(frozen=True)
class DaaremState(State):
    """A point, differences of points and of residuals before it, and how far to trust them."""

    last: tuple | None = None
    changes: tuple = ()
    trust: int = 0


@dataclass(frozen=True)
class Daarem:
    """Damped Anderson acceleration with restarts and a fallback (Henderson & Varadhan 2019).

    One pass an iteration, and one more for a step that is forgotten.
    """

    order: int = 10
    slack: float = 0.01

    def init(self, problem, weights, topics) -> DaaremState:
        """Evaluate the starting point."""
        return DaaremState(**vars(JointEM().init(problem, weights, topics)))

    def step(self, problem: Problem, state: DaaremState) -> DaaremState:
        """Mix the last updates; make a plain one if that is worse."""
        point = _logs(state)
        weights = problem.absorb_weights(state.counts.weights, state.topics)
        topics = problem.absorb_topics(state.counts.topics, state.topics, weights)
        plain = replace(state, weights=weights, topics=topics)
        value = _logs(plain)
        residual, changes = value - point, state.changes
        if state.last is not None:
            changes = (*changes, (point - state.last[0], residual - state.last[1]))
        memory = () if len(changes) >= self.order else changes
        if changes:
            mixed = value - _mixture(changes, residual, state.trust)
            new = _at(problem, mixed, state)
            if new.objective <= state.objective + self.slack:
                return _kept(new, (point, residual), memory, state.trust + 1)
        new = problem.evaluate(weights, topics, state.passes + (2 if changes else 1))
        trust = max(state.trust - self.order, -2 * _TRUSTED) if changes else state.trust
        return _kept(new, (point, residual), memory, trust)


def _kept(point: State, last: tuple, changes: tuple, trust: int) -> DaaremState:
    plain = {name: getattr(point, name) for name in State.__dataclass_fields__}
    return DaaremState(**plain, last=last, changes=changes, trust=trust)


def _mixture(changes: tuple, residual, trust: int):
    """Find what to take off the update, with a ridge that falls as steps succeed."""
    points, residuals = (np.stack(part) for part in zip(*changes, strict=True))
    values, vectors = np.linalg.eigh(residuals @ residuals.T)
    values = np.maximum(values, values[-1] * 1e-14)  # the rest is rounding
    onto = vectors.T @ (residuals @ residual)
    wanted = np.linalg.norm(onto / values) / np.sqrt(1 + 1.2 ** float(_TRUSTED - trust))
    low, high = 0.0, 1e4 * float(values[-1])
    for _ in range(60):  # bisection: the norm of the coefficients falls with the ridge
        ridge = (low + high) / 2
        if np.linalg.norm(onto / (values + ridge)) > wanted:
            low = ridge
        else:
            high = ridge
    coefficients = vectors @ (onto / (values + ridge))
    return coefficients @ points + coefficients @ residuals


def _logs(state: State):
    parts = state.weights.mean.ravel(), state.topics.mean.T.ravel()
    return np.log(np.maximum(np.concatenate(parts), _SMALLEST))


def _at(problem: Problem, logs, state: State) -> State:
    n = state.weights.mean.size
    weights = np.exp(np.minimum(logs[:n], 300)).reshape(state.weights.mean.shape)
    topics = np.exp(np.minimum(logs[n:], 300)).reshape(state.topics.mean.shape[::-1]).T
    # A step is as long for the scale of a sample as for the rest; its best scale is known.
    weights *= (problem.X.sample_totals / weights.sum(axis=1))[:, np.newaxis]
    return problem.evaluate(
        problem.weights.at(weights, 1.0), problem.topics.at(topics, 1.0), state.passes + 1
    )
