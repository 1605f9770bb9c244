"""Convert the topics that a strategy found into expected counts of both sides."""

from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.elementwise import normalized
from isotopic.kernels import one_pass
from isotopic.priors import Fixed, Posterior, Simplex
from isotopic.problem import Problem
from isotopic.solvers import BlockUpdate, solve

# A multiplicative update cannot leave zero. So every topic has a part of the overall profile, and
# a part of every total goes to all components alike.
_OVERALL_PART = 0.1
_EVEN_PART = 0.01

# More passes fit the weights closer to topics that are yet to change.
WEIGHT_PASSES = 5


def profiles(X: CountMatrix) -> Any:
    """Return each sample divided by its total, free of the scale of the counts.

    Returns
    -------
    ndarray or sparse array of shape (samples, features), float64
        Like ``X``. Samples without counts stay zero.
    """
    totals = np.where(X.sample_totals > 0, X.sample_totals, 1)
    if not X.is_sparse:
        return X.dense / totals[:, np.newaxis]
    values = X.values / np.repeat(totals, np.diff(X.row_starts))
    return sparse.csr_array((values, X.features, X.row_starts), shape=X.shape)


def smallest_count(X: CountMatrix) -> float:
    """Return the smallest positive entry, which is 1 in true counts; infinity if there is none.

    Sample weights do not change it.
    """
    stored = X.stored
    if X.copies is not None:
        lengths = np.diff(X.row_starts) if X.is_sparse else X.shape[1]
        stored = np.ravel(stored) / np.repeat(X.copies, lengths)
    return float(np.min(stored, where=stored > 0, initial=np.inf))


def counts_from_topics(
    X: CountMatrix, found: Array, n_components: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Infer weights for the topics, and return the expected counts of both.

    Parameters
    ----------
    X : CountMatrix of shape (samples, features)
    found : ndarray of shape (at most n_components, features)
        Non-negative and of any scale. Rows of zeros were not found. Random topics take the place
        of all that are missing.
    n_components : int
    rng : Generator

    Returns
    -------
    weight_counts : ndarray of shape (samples, components)
        Rows sum to the samples' totals.
    topic_counts : ndarray of shape (components, features)
        Columns sum to the features' totals. Both are positive wherever these are.
    """
    topics = completed_topics(X, found, n_components, rng)
    weights = np.full((X.shape[0], n_components), 1 / n_components, X.dtype)
    start = Posterior(weights, weights), Posterior(topics, topics)
    problem = Problem(Simplex(), Fixed(start[1], is_normalized=True), X.as_complete(), n_components)
    inferred = solve(problem, BlockUpdate(), start, max_iter=WEIGHT_PASSES)
    counts = one_pass(X, inferred.state.weights.mean, topics)
    weight_counts = shared_out(X.sample_totals, counts.weights)
    return weight_counts, shared_out(X.feature_totals, counts.topics.T).T


def completed_topics(
    X: CountMatrix, found: Array, n_components: int, rng: np.random.Generator
) -> Array:
    """Return the topics with the overall profile mixed in, and random ones for those missing."""
    overall = normalized(X.feature_totals[np.newaxis])
    found = normalized(found[found.any(axis=1)])
    shape = (n_components - len(found), X.shape[1])
    random = normalized(overall * rng.exponential(size=shape))
    found = (1 - _OVERALL_PART) * found + _OVERALL_PART * overall
    return np.asfortranarray(np.vstack([found, random]), X.dtype)


def shared_out(totals: Array, counts: Array) -> Array:
    """Return each total split in proportion to a row of counts, with a small part split evenly."""
    shares = normalized(np.ascontiguousarray(counts, np.float64), in_place=True)
    shares *= 1 - _EVEN_PART
    shares += _EVEN_PART / shares.shape[1]
    shares *= totals[:, np.newaxis]
    return shares
