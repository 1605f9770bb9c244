"""CoordinateDescent: Newton steps for one entry of a factor at a time."""

from dataclasses import dataclass

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.kernels import descended, row_sums
from isotopic.priors import Free, Lasso, Posterior, Prior, SampleWeighted, Simplex
from isotopic.problem import Problem, State

KNOWN = (Free, Lasso, Simplex)


@dataclass(frozen=True)
class CoordinateDescent:
    r"""Let each entry of the topics, then of the weights, go to its optimum, the others being held.

    Given the topics, the weights of a sample solve the convex problem

    .. math:: \min_{h \ge 0} \; \sum_k s_k h_k - \sum_v x_v \log \sum_k h_k t_{kv}

    with slopes :math:`s` of the totals of the topics plus the strength of a penalty. Each sweep
    makes one Newton step for each :math:`h_k` (Hsieh & Dhillon 2011; `scd` of fastTopics), in a
    form that never goes beyond the optimum, so that no step needs to be looked at twice and the
    objective never rises. An entry may become zero, and may leave zero, which no multiplicative
    update can. The topics of a feature are found by the same routine from the counts turned around.

    Topics that are normalised are solved for with a scale, which then goes to the weights: that
    changes no product (Lemma 4.1). So do weights that are proportions, whose scale is the sample's
    total. Before the sweeps both sides absorb their expected counts, which are there already; after
    them each sample's weights are given their best scale.

    Parameters
    ----------
    sweeps : int, default=1
        Over each side in an iteration, which takes as many passes for each and one to evaluate.

    Notes
    -----
    Needs a copy of the data turned around, and for each thread as much memory as the other side's
    factors of the longest row or column take.
    """

    sweeps: int = 1

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> State:
        """Evaluate the starting point."""
        if not isinstance(problem.X, CountMatrix):
            raise ValueError(
                "coordinate descent goes over samples and features in turn, which needs X in "
                "memory: for row blocks use solver='auto', 'joint' or 'alternating'"
            )
        _check_supported(problem)
        return problem.evaluate(weights, topics, passes=0)

    def step(self, problem: Problem, state: State) -> State:
        """Both M steps, the sweeps over both sides, then one pass."""
        absorbed = problem.absorb_topics(state.counts.topics, state.topics, state.weights)
        topics = absorbed.mean
        weights = problem.absorb_weights(state.counts.weights, absorbed).mean
        X, turned = problem.X.by_sample_and_by_feature
        penalty, copies = strength(problem.weights), problem.weights.copies
        each = problem.X.sample_totals if copies is None else problem.X.sample_totals / copies
        if problem.weights.is_normalized:
            weights = weights * each.astype(weights.dtype)[:, np.newaxis]

        sums = row_sums(weights.T) if copies is None else copies @ weights
        if problem.topics.is_normalized:  # a penalty on the weights is one on all products
            slopes = (1 + penalty) * sums
        else:
            slopes = sums + strength(problem.topics)
        topics = descended(turned, topics.T, weights, slopes, sweeps=self.sweeps).T

        totals = row_sums(topics)
        if problem.topics.is_normalized:
            weights, totals = weights * totals.astype(weights.dtype), np.ones_like(totals)
            topics = problem.topics.at(topics, 1.0).mean
        weights = descended(
            X, weights, topics.T, totals + penalty, sweeps=self.sweeps, repeats=copies
        )
        weights = best_scaled(weights, totals + penalty, each)
        return problem.evaluate(
            problem.weights.at(weights, totals),
            problem.topics.at(topics, 1.0),
            state.passes + 2 * self.sweeps + 1,
        )


def best_scaled(weights: Array, slopes: Array, sample_totals: Array) -> Array:
    """Give each sample's weights their best scale: what they cost is then the sample's total."""
    costs = row_sums(weights * slopes)  # of each sample on its own, which a product is not
    scales = np.divide(sample_totals, costs, out=np.ones_like(costs), where=costs > 0)
    return np.asarray(weights * scales.astype(weights.dtype)[:, np.newaxis])


def strength(prior: Prior) -> float:
    """Give the strength of the penalty."""
    prior = prior.prior if isinstance(prior, SampleWeighted) else prior
    return prior.strength if isinstance(prior, Lasso) else 0.0


def descends(problem: Problem) -> bool:
    """Tell whether coordinate descent can solve it."""
    known = all(isinstance(prior, KNOWN) for _, prior in _sides(problem))
    return known and problem.X.missing is None


def _sides(problem: Problem) -> tuple[tuple[str, Prior], tuple[str, Prior]]:
    weights = problem.weights
    weights = weights.prior if isinstance(weights, SampleWeighted) else weights
    return ("weights", weights), ("topics", problem.topics)


def _check_supported(problem: Problem) -> None:
    for side, prior in _sides(problem):
        if not isinstance(prior, KNOWN):
            raise ValueError(
                "coordinate descent is for sides that are Free, Lasso or Simplex, not "
                f"{type(prior).__name__} {side}; solver='accelerated' and solver='alternating' are "
                "for every pair, solver='joint' for every pair with normalised topics"
            )
    if problem.X.missing is not None:
        raise ValueError(
            "coordinate descent does not know missing entries; solver='accelerated', 'joint' and "
            "'alternating' do"
        )
