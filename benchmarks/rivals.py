"""Other ways to accelerate a fixed-point iteration, for comparison: SQUAREM and DAAREM.

Both work on the logarithms of the factors, so that every point they make is positive, and both take
the joint update as their map. A pass at a point gives its objective and its counts, so neither
needs another one to evaluate.
"""

from dataclasses import dataclass, replace

import numpy as np

from isotopic.problem import Problem, State
from isotopic.solvers import JointEM

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
    """A point, the map's value there, and the differences of both to those before."""

    last: tuple | None = None
    changes: tuple = ()
    failures: int = 0


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
            mixed = value - _mixture(changes, residual, state.failures)
            new = _at(problem, mixed, state)
            if new.objective <= state.objective + self.slack:
                return _kept(new, (point, residual), memory, state.failures)
        new = problem.evaluate(weights, topics, state.passes + (2 if changes else 1))
        return _kept(new, (point, residual), memory, state.failures + bool(changes))


def _kept(point: State, last: tuple, changes: tuple, failures: int) -> DaaremState:
    plain = {name: getattr(point, name) for name in State.__dataclass_fields__}
    return DaaremState(**plain, last=last, changes=changes, failures=failures)


def _mixture(changes: tuple, residual, failures: int):
    """Find what to take off the update, with a ridge that grows with the number of failures."""
    points, residuals = (np.stack(part, axis=1) for part in zip(*changes, strict=True))
    left, values, right = np.linalg.svd(residuals, full_matrices=False)
    onto = left.T @ residual
    whole = np.linalg.norm(onto / values)
    wanted = whole / np.sqrt(1 + 1.2 ** (failures - 25.0))
    low, high = 0.0, float(values[0] ** 2)
    for _ in range(40):  # bisection: the norm of the coefficients falls with the ridge
        ridge = (low + high) / 2
        if np.linalg.norm(values * onto / (values**2 + ridge)) > wanted:
            low = ridge
        else:
            high = ridge
    coefficients = right.T @ (values * onto / (values**2 + ridge))
    return (points + residuals) @ coefficients


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
