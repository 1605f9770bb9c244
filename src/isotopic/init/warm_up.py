"""Warm-up: solve an easier problem first, and start from the counts that it explains."""

from dataclasses import replace
from typing import Any

from isotopic.arrays import Array
from isotopic.init.start import Start, absorbed
from isotopic.priors import Evidence
from isotopic.problem import Problem
from isotopic.row_inference import infer_rows
from isotopic.solvers import Accelerated, BlockUpdate, row_rule, solve

# Enough to tell the topics apart; the rest is for the problem itself.
_PASSES = 50
_TOL = 1e-3

# The number of passes after which the self-contribution of counts changes little.
_SELF_CONTRIBUTION_PASSES = 5


def warm_up(problem: Problem, weight_counts: Array, topic_counts: Array) -> tuple[Array, Array]:
    """Return the expected counts after some passes with posterior means as effective factors.

    ``exp(E[log])`` of a small count is far smaller than the count, so a variational side gives
    components up before it has found a use for them. Posterior means do not: they find better
    topics, and the variational problem that starts from their counts ends at a better bound.
    """
    weights = problem.weights.with_posterior_means()
    topics = problem.topics.with_posterior_means()
    if not topics.is_normalized or (weights, topics) == (problem.weights, problem.topics):
        return weight_counts, topic_counts
    easier = replace(problem, weights=weights, topics=topics)
    start = absorbed(easier, weight_counts, topic_counts)
    found = solve(easier, Accelerated(), start, max_iter=_PASSES, tol=_TOL)
    return found.state.counts.weights, found.state.counts.topics


def with_self_contribution_estimate(problem: Problem, start: Start) -> Problem:
    """Return the problem with the self-contribution of new samples' counts, estimated quickly.

    A few updates from ``start`` are enough. All other hyperparameters stay as they are, and the
    estimate of a sample does not depend on the others.
    """
    topics = start[1]
    X = problem.X.only_features(topics.explains)  # others do not matter
    known = replace(problem, weights=problem.weights.with_learned(problem.weights), X=X)
    rule = row_rule(known)
    if rule is not None:
        passes = _SELF_CONTRIBUTION_PASSES
        rows = infer_rows(X.view(), topics.prepared, rule, max_updates=passes, with_squares=True)
        evidence = Evidence(rows.counts, rows.squares, problem.topics_totals(topics))
        own: Any = problem.weights
        entries = own.self_contribution_of(evidence)
        return replace(problem, weights=own.with_self_contribution(entries))
    found = solve(known, BlockUpdate(), start, max_iter=_SELF_CONTRIBUTION_PASSES)
    return replace(problem, weights=known.with_updated_hyperparameters(found.state).weights)
