"""CoordinateDescent: Newton steps for one entry of a factor at a time, near the optimum only."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences import KullbackLeibler
from isotopic.elementwise import row_sums
from isotopic.kernels import descended, descended_topics
from isotopic.priors import Posterior
from isotopic.problem import Problem, State
from isotopic.registry import register
from isotopic.solvers.base import Solver
from isotopic.solvers.joint import BlockUpdate


@register
@dataclass(frozen=True)
class CoordinateDescent(Solver[State]):
    r"""Minimise over one entry at a time, first of the topics, then of the weights.

    Given the topics, the weights of a sample solve the convex problem

    .. math:: \min_{h \ge 0} \; \sum_k s_k h_k - \sum_v x_v \log \sum_k h_k t_{kv}

    with slopes :math:`s` of the totals of the topics plus the strength of a penalty. Each sweep
    makes one Newton step for each :math:`h_k` (Hsieh & Dhillon 2011; `scd` of fastTopics), in a
    form that never passes the optimum, so no step is checked twice and the objective never rises.
    An entry may become zero, and may leave zero, which no multiplicative update can. The topics of
    a feature are found by the same routine.

    Normalised topics are solved for with a scale, which then goes to the weights: that changes no
    product (Lemma 4.1). Weights that are proportions are treated in the same way: their scale is
    the sample's total.
    Before the sweeps both sides absorb their expected counts, which are known already; after them
    each sample's weights are given their best scale.

    Parameters
    ----------
    sweeps : int, default=1
        Over each side in an iteration, which takes as many passes for each and one to evaluate.
        In the first and every fourth one, entries that are zero are tried where the gradient at its
        beginning says that they would grow. The others go over positive entries only.

    Notes
    -----
    Needs, for each thread, as much memory as the other side's factors of the longest row or column
    take.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import CoordinateDescent, NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> NMF(2, solver=CoordinateDescent(), tol=1e-2, random_state=0).fit(X).converged_
    True
    """

    sweeps: int = 1

    def check(self, problem: Problem) -> None:
        """Raise ValueError unless both sides are point estimates with at most an l1 penalty."""
        reason = why_no_descent(problem)
        if reason:
            raise ValueError(
                f"CoordinateDescent cannot solve this problem: {reason}. solver='auto', "
                "'accelerated' and 'alternating' can."
            )

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after both M steps, the sweeps over both sides, and one pass."""
        absorbed = problem.absorb_topics(state.counts.topics, state.topics, state.weights)
        weights = scaled_weights(problem, problem.absorb_weights(state.counts.weights, absorbed))
        weights, topics = descend_topics(problem, weights, absorbed.mean, self.sweeps)
        weights = descend_weights(problem, weights, topics.mean, self.sweeps)
        return evaluate(problem, weights, topics, state.passes + 2 * self.sweeps + 1)


def scaled_weights(problem: Problem, weights: Posterior) -> Array:
    """Return weights with the scale of the counts: proportions times the totals of the samples."""
    if not problem.weights.is_normalized:
        return weights.mean
    scales = _totals_of_one_copy(problem).astype(weights.mean.dtype)
    return np.asarray(weights.mean * scales[:, np.newaxis])


def descend_topics(
    problem: Problem, weights: Array, topics: Array, sweeps: int
) -> tuple[Array, Posterior]:
    """Return weights and topics after sweeps over the topics.

    Normalised topics are solved for with a scale, which the weights take over.
    """
    copies = problem.weights.copies
    sums = row_sums(weights.T) if copies is None else copies @ weights
    if problem.topics.is_normalized:  # a penalty on the weights is one on all products
        slopes = (1 + (problem.weights.linear_penalty or 0.0)) * sums
    else:
        slopes = sums + (problem.topics.linear_penalty or 0.0)
    topics = descended_topics(problem.X.in_sparse_form, topics, weights, slopes, sweeps=sweeps)
    if problem.topics.is_normalized:
        weights = weights * row_sums(topics).astype(weights.dtype)
    return weights, problem.topics.at(topics, 1.0)


def descend_weights(problem: Problem, weights: Array, topics: Array, sweeps: int) -> Array:
    """Return the weights after sweeps over them, each sample's with its best scale."""
    X = problem.X.in_sparse_form
    slopes = _totals(problem, topics) + (problem.weights.linear_penalty or 0.0)
    weights = descended(X, weights, topics.T, slopes, sweeps=sweeps, repeats=problem.weights.copies)
    return rescale(weights, slopes, _totals_of_one_copy(problem))


def evaluate(problem: Problem, weights: Array, topics: Posterior, passes: int) -> State:
    """Make a pass, and return the state at weights with the scale of the counts."""
    at_weights = problem.weights.at(weights, _totals(problem, topics.mean))
    return problem.evaluate(at_weights, topics, passes)


def _totals(problem: Problem, topics: Array) -> Array:
    """Return the sum of each topic, which is exactly one if topics are normalised."""
    return np.ones(len(topics)) if problem.topics.is_normalized else row_sums(topics)


def _totals_of_one_copy(problem: Problem) -> Array:
    """Return the totals of the samples; of one that counts several times, those of one copy."""
    copies = problem.weights.copies
    return problem.X.sample_totals if copies is None else problem.X.sample_totals / copies


@register
@dataclass(frozen=True)
class TwoPhase(Solver[State]):
    """Take one solver's steps far from the optimum and another's near it.

    Both must begin a step with nothing but a point and its counts, so that one can take over from
    the other at any time.

    Parameters
    ----------
    first : Solver, default=BlockUpdate()
    then : Solver, default=CoordinateDescent()
    below : float, default=0.03
        The residual below which ``then`` takes the steps.
    after : int, default=4
        The minimum number of passes of ``first``. Random components are alike, so the residual is
        also small at the start.
    """

    first: Solver[Any] = field(default_factory=BlockUpdate)
    then: Solver[Any] = field(default_factory=CoordinateDescent)
    below: float = 0.03
    after: int = 4

    def check(self, problem: Problem) -> None:
        """Raise ValueError if one of the two cannot solve the problem."""
        self.first.check(problem)
        self.then.check(problem)

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Return the state at the starting point."""
        start: State = self.then.init(problem, weights, topics)
        return start

    def step(self, problem: Problem, state: State) -> State:
        """Return the state after a step of the solver whose turn it is."""
        is_near = state.residual <= self.below and state.passes >= self.after
        new: State = (self.then if is_near else self.first).step(problem, state)
        return new


def rescale(weights: Array, slopes: Array, sample_totals: Array) -> Array:
    """Return each sample's weights, scaled so that ``weights @ slopes`` equals its total."""
    costs = row_sums(weights * slopes)  # of each sample on its own, which a product is not
    scales = np.divide(sample_totals, costs, out=np.ones_like(costs), where=costs > 0)
    return np.asarray(weights * scales.astype(weights.dtype)[:, np.newaxis])


def why_no_descent(problem: Problem, sides: tuple[str, ...] = ("weights", "topics")) -> str:
    """Return why coordinate descent cannot solve for these sides; an empty text if it can."""
    if not isinstance(problem.divergence, KullbackLeibler):
        return f"it needs the Kullback-Leibler divergence, and this one is {problem.divergence!r}"
    if not isinstance(problem.X, CountMatrix):
        return "it goes over samples and features in turn, which needs X in memory"
    if problem.X.missing is not None:
        return "X has missing entries"
    for side in sides:
        prior = getattr(problem, side)
        if prior.linear_penalty is None:
            return f"{type(prior).__name__} {side} are neither Free, Lasso nor Simplex"
    return ""
