"""Rehearsals: solving an easier problem first, and starting from the counts that it explains."""

from dataclasses import replace

from isotopic.arrays import Array
from isotopic.init.start import absorbed
from isotopic.priors import smoothed
from isotopic.problem import Problem
from isotopic.solvers import Accelerated, solve

# Enough to tell the topics apart; the rest is for the problem itself.
_PASSES = 50
_TOL = 1e-3


def rehearsed(problem: Problem, weight_counts: Array, topic_counts: Array) -> tuple[Array, Array]:
    """Let the posterior means lead where the variational updates would get stuck.

    ``exp(E[log])`` of a small count is far smaller than the count, so a variational side gives
    components up that it has not yet found a use for. Its mean does not: the same priors with the
    means as effective factors find better topics, and a better bound once they hand over their
    counts.
    """
    weights, topics = smoothed(problem.weights), smoothed(problem.topics)
    if not topics.normalized or (weights, topics) == (problem.weights, problem.topics):
        return weight_counts, topic_counts
    easier = replace(problem, weights=weights, topics=topics)
    start = absorbed(easier, weight_counts, topic_counts)
    found = solve(easier, Accelerated(), start, max_iter=_PASSES, tol=_TOL)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.state.counts.weights, found.state.counts.topics
