"""Initialise fits to row blocks from a random subsample that fits into memory."""

from dataclasses import replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks import BlockedProblem, load_rows
from isotopic.elementwise import normalized
from isotopic.init.allocation import WEIGHT_PASSES, shared_out
from isotopic.init.start import absorbed
from isotopic.priors import Fixed, Simplex
from isotopic.problem import Problem
from isotopic.solvers import BlockUpdate, solve

# Samples for each component without which a decomposition would be of little use.
_FEWEST = 10


def has_room_for_sample(problem: BlockedProblem) -> bool:
    """Return whether a sample that fits into memory is large enough to start from."""
    n_samples = problem.X.shape[0]
    return problem.memory.n_sampled >= min(n_samples, _FEWEST * problem.n_components)


def sample_problem(problem: BlockedProblem, rng: np.random.Generator) -> Problem:
    """Return the problem of as many samples as fit into memory, drawn at random if not all do."""
    n_samples, n_sampled = problem.X.shape[0], problem.memory.n_sampled
    which = np.arange(n_samples)
    if n_sampled < n_samples:
        which = np.sort(rng.choice(n_samples, n_sampled, replace=False))
    X = load_rows(problem.X, which)
    return Problem(problem.weights.rows(which), problem.topics, X, problem.n_components)


def counts_of_all_samples(problem: BlockedProblem, topic_counts: Array) -> tuple[Any, Array]:
    """Infer the weights of all samples for the topics of some, and return all expected counts.

    The counts of a feature that these samples do not have are split equally.
    """
    X = problem.X
    by_feature = normalized(np.ascontiguousarray(topic_counts.T, np.float64))
    by_feature *= X.feature_totals[:, np.newaxis]
    plain = replace(problem, weights=Simplex(), topics=Simplex())
    equal: Any = X.equal_shares(problem.n_components)
    start = absorbed(plain, equal, by_feature.T)
    known = replace(plain, topics=Fixed(start[1], is_normalized=True))
    found = solve(known, BlockUpdate(), start, max_iter=WEIGHT_PASSES)
    counts = plain.expected_counts(found.state.weights, start[1])
    return counts.weights, shared_out(X.feature_totals, counts.topics.T).T
