"""ExtrapolatedDescent: coordinate descent whose factors are extrapolated between its sides."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver
from isotopic.solvers.coordinate_descent import (
    CoordinateDescent,
    descend_topics,
    descend_weights,
    evaluate,
    scaled_weights,
)

# The rule of Ang & Gillis (2019) for the momentum. It begins high: small steps at the start choose
# worse optima, the worse the more components there are.
_FIRST_MOMENTUM = 0.8
_GROWTH = 1.1
_SHRINKAGE = 0.5
_LIMIT_GROWTH = 1.05

# The largest momentum is 1 - 2 / components, within these bounds. On texts, fits of 20 components
# end lower with 0.9 than with 0.99, and fits of 100 components higher.
_LEAST_LIMIT, _MOST_LIMIT = 0.9, 0.99


@register
@dataclass(frozen=True)
class ExtrapolatedState(State):
    """The best point so far, and how far to extrapolate from it.

    Attributes
    ----------
    start_weights : ndarray
        The weights with which the next step begins.
    descended_topics : ndarray or None
        The topics of this point before they were extrapolated. ``None``: the next step is plain.
    momentum, max_momentum : float
        The share of the last change by which the next step extrapolates, and its upper limit.
    """

    start_weights: Array
    descended_topics: Array | None
    momentum: float
    max_momentum: float


@register
@dataclass(frozen=True)
class ExtrapolatedDescent(Solver[State]):
    r"""Descend over the topics, extrapolate them, descend over the weights, extrapolate them.

    The sweeps are those of :class:`~isotopic.solvers.CoordinateDescent`. After them, topics
    :math:`t_n` become

    .. math:: \max(0,\; t_n + \text{momentum} \cdot (t_n - t_{n-1}))

    and the weights are found for these; then the weights with which the next step begins are
    extrapolated in the same way (Ang & Gillis 2019; `extrapolate` of fastTopics). Entries reach
    zero and leave it again, so early decisions do not bind a fit, and it ends lower than with
    momentum on expected counts (:class:`~isotopic.solvers.Accelerated`): the more components, the
    more.

    The pass that ends a step gives its objective. If that is higher than before, the step is taken
    back, the next one is plain, and the momentum shrinks. A plain step never raises the objective,
    so neither does the fit.

    Parameters
    ----------
    sweeps : int, default=2
        Over each side in an iteration, which takes as many passes for each and one to evaluate.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import ExtrapolatedDescent, NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> NMF(2, solver=ExtrapolatedDescent(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    sweeps: int = 2

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless both sides are point estimates with at most an l1 penalty."""
        CoordinateDescent(self.sweeps).check(problem)

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after the sweeps over both sides, and one pass."""
        largest = _largest_momentum(problem.n_components)
        if not isinstance(state, ExtrapolatedState):
            start = scaled_weights(problem, state.weights)
            state = ExtrapolatedState(**vars(state), **_settings(start, _FIRST_MOMENTUM, largest))
        momentum, limit = state.momentum, state.max_momentum
        previous = state.descended_topics
        weights, topics = descend_topics(
            problem, state.start_weights, state.topics.mean, self.sweeps
        )
        descended = topics.mean
        if previous is not None:
            topics = problem.topics.at(_extrapolate(descended, previous, momentum), 1.0)
        weights = descend_weights(problem, weights, topics.mean, self.sweeps)
        new = evaluate(problem, weights, topics, state.passes + 2 * self.sweeps + 1)
        before = scaled_weights(problem, state.weights)
        if previous is not None:
            if not new.objective <= state.objective:
                again = _settings(before, _SHRINKAGE * momentum, momentum)
                return replace(state, passes=new.passes, **again)
            momentum, limit = min(_GROWTH * momentum, limit), min(_LIMIT_GROWTH * limit, largest)
        start = _extrapolate(weights, before, momentum)
        return ExtrapolatedState(**vars(new), **_settings(start, momentum, limit, descended))


def _largest_momentum(n_components: int) -> float:
    """Return the largest momentum for a number of components."""
    return min(max(1 - 2 / n_components, _LEAST_LIMIT), _MOST_LIMIT)


def _extrapolate(factor: Array, before: Array, momentum: float) -> Array:
    """Return the factor further along its last change, without negative entries."""
    further = factor - before
    further *= momentum
    further += factor
    return np.asarray(np.maximum(further, 0, out=further))


def _settings(
    weights: Array, momentum: float, limit: float, topics: Array | None = None
) -> dict[str, Any]:
    """Return how the next step begins; without descended topics it is a plain one."""
    return {
        "start_weights": weights,
        "descended_topics": topics,
        "momentum": momentum,
        "max_momentum": limit,
    }
