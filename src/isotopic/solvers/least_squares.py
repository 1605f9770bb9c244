"""LeastSquares: coordinate descent for squared distances, one component of a side at a time."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences import Majorized
from isotopic.divergences.gradient_pass import Gradients, squared_distances
from isotopic.divergences.majorized import Proposal
from isotopic.elementwise import row_sums
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.accelerated import FIRST_MOMENTUM, Schedule
from isotopic.solvers.base import Solver
from isotopic.threads import one_blas_thread

_SCHEDULE = Schedule(max_momentum=0.95, floor_to_residual=0.0)

# How often each component of a side is improved for one product with the data, which costs more.
_ROUNDS = 2


@register
@dataclass(frozen=True)
class LeastSquaresState(State):
    """The best point so far, and the change that led to it.

    Attributes
    ----------
    numerator : ndarray of shape (components, features)
        The weights times the data.
    previous : tuple of ndarray, or None
        The weights and topics that the last descent made, before they were extrapolated. ``None``:
        the next step is a plain one.
    momentum : float
        The share of the change since then that the next step adds.
    """

    numerator: Array
    previous: tuple[Array, Array] | None
    momentum: float


class _Topics(NamedTuple):
    """New topics, with what is computed from them before the weights are."""

    weights: Array  # the old ones, in the units of the topics
    topics: Posterior
    descended: Array  # the topics as the descent made them, before they were extrapolated
    numerator: Array  # the data times the topics
    gram: Array  # of the topics


class _Weights(NamedTuple):
    """New weights for new topics, their denominator, and the divergence of each sample."""

    weights: Posterior
    denominator: Array
    values: Array
    objective: float


@register
@dataclass(frozen=True)
class LeastSquares(Solver[LeastSquaresState]):
    r"""Improve all entries of one component at a time: two products with the data an iteration.

    Next to the other side with its Gram matrix :math:`G`, the best entries of component :math:`k`
    are

    .. math:: \max\Big(0, f_k + \frac{\text{numerator}_k - \text{slope}_k - \sum_j G_{kj} f_j}
        {G_{kk}}\Big)

    (hierarchical alternating least squares: Cichocki & Phan 2009). Each side is visited twice for
    one product with the data (Gillis & Glineur 2012), and is then extrapolated along its last
    change (Ang & Gillis 2019). If the objective is higher there, the weights stay where the descent
    ended; if it still is, the step is taken back and the next one is plain, which never raises it.
    A penalty is replaced by its tangent.

    For squared distances (``beta=2``) and data in memory without missing entries.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import BetaNMF, LeastSquares
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> BetaNMF(2, beta=2, solver=LeastSquares(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless Gram matrices are enough for the problem."""
        if not is_quadratic(problem):
            raise ValueError(
                "LeastSquares needs squared distances (beta=2) and X in memory without missing "
                f"entries; this problem has {problem.divergence!r}. Use solver='auto'."
            )

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> LeastSquaresState:
        """Return the state at the starting point."""
        with one_blas_thread:
            at = _next_to(problem, weights.mean, topics, topics.mean)
            point, numerator = _evaluate(problem, at, _measure(problem, at, weights.mean), passes=0)
        return LeastSquaresState(
            **vars(point), numerator=numerator, previous=None, momentum=FIRST_MOMENTUM
        )

    def step(self, problem: Problem, state: LeastSquaresState) -> LeastSquaresState:
        """Return the state after a descent over the topics, then over the weights."""
        with one_blas_thread:
            new = _find_topics(problem, state)
            slope = problem.weights.slope(new.weights)
            descended = _descend(new.weights.T, (new.numerator - slope).T, new.gram).T
            found, momentum = _find_weights(problem, state, new, descended)
            passes = state.passes + 1
            if state.previous is not None and found.objective > state.objective:
                return replace(state, passes=passes, previous=None, momentum=momentum)
            point, numerator = _evaluate(problem, new, found, passes)
        previous = descended, new.descended
        return LeastSquaresState(
            **vars(point), numerator=numerator, previous=previous, momentum=momentum
        )

    def plain_step(self, problem: Problem, state: LeastSquaresState) -> LeastSquaresState:
        """Return the state after a step that is not extrapolated."""
        return self.step(problem, replace(state, previous=None))


def is_quadratic(problem: Problem) -> bool:
    """Return whether Gram matrices are enough for the problem."""
    X, divergence = problem.X, problem.divergence
    is_squared = isinstance(divergence, Majorized) and divergence.is_squared_distance
    return is_squared and isinstance(X, CountMatrix) and X.missing is None


def _find_topics(problem: Problem, state: LeastSquaresState) -> _Topics:
    """Improve the topics and extrapolate them; fixed ones stay."""
    weights, topics = state.weights, state.topics
    descended = topics.mean
    if problem.topics.is_learned:
        numerator = state.numerator
        slope = problem.weights.slope(weights.mean)
        if problem.topics.is_normalized and np.any(slope):  # the topics see the penalty too
            slopes = slope * _count_copies(problem, weights.mean)
            penalty = slopes.sum(axis=0, dtype=np.float64).astype(numerator.dtype)
            numerator = numerator - penalty[:, np.newaxis]
        n_fixed, may_move = problem.topics.held_rows, problem.movable_topics
        made = _descend(topics.mean, numerator, _gram(problem, weights.mean), n_fixed, may_move)
        weights, topics = _scale(problem, weights.mean, made)
        descended = topics.mean
        if state.previous is not None:
            further = _extrapolate(descended, state.previous[1], state.momentum)
            weights, topics = _scale(problem, weights.mean, further)
    return _next_to(problem, weights.mean, topics, descended)


def _next_to(problem: Problem, weights: Array, topics: Posterior, descended: Array) -> _Topics:
    """Return these topics with what is computed from them."""
    factor = np.ascontiguousarray(topics.mean)
    numerator = problem.data_pass.multiply_topics(factor)
    return _Topics(weights, topics, descended, numerator, factor @ factor.T)


def _find_weights(
    problem: Problem, state: LeastSquaresState, new: _Topics, descended: Array
) -> tuple[_Weights, float]:
    """Extrapolate the weights unless that raises the objective; return the next momentum too."""
    factor, has_failed = descended, False
    if state.previous is not None:
        factor = _extrapolate(descended, state.previous[0], state.momentum)
    found = _measure(problem, new, factor)
    if state.previous is not None and found.objective > state.objective:
        found, has_failed = _measure(problem, new, descended), True
    momentum, _ = _SCHEDULE.next(state.momentum, 0.0, 0.0, has_failed)
    return found, float(momentum)


def _measure(problem: Problem, new: _Topics, factor: Array) -> _Weights:
    weights = problem.weights.at(np.ascontiguousarray(factor), 1.0)
    denominator = weights.mean @ new.gram
    saturated = problem.data_pass.saturated
    values = squared_distances(saturated, weights.mean, new.numerator, denominator)
    copies = problem.weights.copies
    total = float((values if copies is None else values * copies).sum())
    return _Weights(weights, denominator, values, total + weights.term)


def _evaluate(problem: Problem, new: _Topics, found: _Weights, passes: int) -> tuple[State, Array]:
    """Return the state at new weights and topics, and the weights times the data."""
    factor = found.weights.mean
    numerator = of_topics = np.zeros((0, *new.topics.mean.shape), factor.dtype)
    if problem.topics.is_learned:
        numerator = problem.data_pass.multiply_weights(factor)
        of_topics = np.stack([numerator, _gram(problem, factor) @ new.topics.mean])
    of_weights = np.stack([new.numerator, found.denominator])
    gradients = Gradients(of_weights, of_topics, found.values, proposal=factor)
    sums = problem.data_pass.collect(problem.weights, found.weights, gradients)
    divergence: Any = problem.divergence
    residual = divergence.residual(sums, problem.topics, new.topics)
    # The next step descends from the point itself.
    counts = Proposal(factor, new.topics.mean, sums.log_likelihood, residual)
    return problem.state_at(found.weights, new.topics, counts, passes), numerator


def _scale(problem: Problem, weights: Array, topics: Array) -> tuple[Posterior, Posterior]:
    """Return both sides as their priors have them; normalised topics hand their scale over."""
    if problem.topics.is_normalized:
        weights = weights * row_sums(topics).astype(weights.dtype)
    return problem.weights.at(weights, 1.0), problem.topics.at(np.asfortranarray(topics), 1.0)


def _count_copies(problem: Problem, weights: Array) -> Array:
    """Multiply the weights of each sample by how often it counts."""
    copies = problem.weights.copies
    return weights if copies is None else weights * copies[:, np.newaxis].astype(weights.dtype)


def _gram(problem: Problem, weights: Array) -> Array:
    """Return the weights multiplied with themselves, each sample as often as it counts."""
    return np.asarray(_count_copies(problem, weights).T @ weights)


def _descend(
    factor: Array,
    numerator: Array,
    gram: Array,
    n_fixed: int = 0,
    may_move: Array | None = None,
) -> Array:
    """Minimise over one component after the other, given the Gram matrix of the other side.

    A component that is zero there, or too small for its square to be a number of full precision,
    stays as it is; so do the first ``n_fixed``. Only entries that ``may_move`` may be positive.
    """
    new, info = np.array(factor, order="C"), np.finfo(factor.dtype)
    is_large = np.diagonal(gram) > info.tiny / info.eps
    is_large[:n_fixed] = False
    for k in np.flatnonzero(is_large).tolist() * _ROUNDS:
        best = (numerator[k] - gram[k] @ new) / gram[k, k] + new[k]
        np.maximum(best, 0, out=new[k])
        if may_move is not None:
            new[k] *= may_move[k]
    return new


def _extrapolate(latest: Array, previous: Array, momentum: float) -> Array:
    """Add a share of the last change once more; entries stay non-negative."""
    change = latest - previous
    change *= latest.dtype.type(momentum)
    change += latest
    return np.asarray(np.maximum(change, 0, out=change))
