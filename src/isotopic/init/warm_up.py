"""Rehearsals: solving an easier problem first, and starting from the counts that it explains."""

from dataclasses import replace

import numpy as np

from isotopic.arrays import Array
from isotopic.init.start import Start, absorbed
from isotopic.problem import Problem
from isotopic.solvers import Accelerated, solve

# Enough to tell the topics apart; the rest is for the problem itself.
_PASSES = 50
_TOL = 1e-3

# What counts find of themselves is much the same after these as at the end.
_PASSES_OF_NEW_SAMPLES = 5


def warm_up(problem: Problem, weight_counts: Array, topic_counts: Array) -> tuple[Array, Array]:
    """Let the posterior means lead where the variational updates would get stuck.

    ``exp(E[log])`` of a small count is far smaller than the count, so a variational side gives
    components up that it has not yet found a use for. Its mean does not: the same priors with the
    means as effective factors find better topics, and a better bound once they hand over their
    counts.
    """
    weights = problem.weights.with_posterior_means()
    topics = problem.topics.with_posterior_means()
    if not topics.is_normalized or (weights, topics) == (problem.weights, problem.topics):
        return weight_counts, topic_counts
    easier = replace(problem, weights=weights, topics=topics)
    start = absorbed(easier, weight_counts, topic_counts)
    found = solve(easier, Accelerated(), start, max_iter=_PASSES, tol=_TOL)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.state.counts.weights, found.state.counts.topics


def with_self_contribution_estimate(problem: Problem, start: Start) -> Problem:
    """Let the weights' prior learn what the counts of new samples find of themselves.

    A few passes from ``start`` are enough. All that was learned in the fit stays as it is, and what
    a sample finds does not depend on the others.
    """
    if not problem.weights.needs_squares:
        return problem
    weights, topics = start
    X = problem.X.only_features(np.any(topics.effective, axis=0))  # the rest says nothing
    known = replace(problem, weights=problem.weights.with_learned(problem.weights), X=X)
    state = known.evaluate(weights, topics, passes=0)
    for passes in range(1, _PASSES_OF_NEW_SAMPLES + 1):
        weights = known.absorb_weights(state.counts.weights, topics)
        state = known.evaluate(weights, topics, passes)
    return replace(problem, weights=known.with_updated_hyperparameters(state).weights)
