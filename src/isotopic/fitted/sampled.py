"""Sampling after a fit: mean counts of the posterior instead of those of one optimum.

Where there are fewer counts than numbers to learn, as with many topics or short samples, a single
optimum fits the samples too closely. The mean over samples from the posterior predicts new ones
better, and the optimum is a good place to begin with them.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.init.allocation import smallest_count
from isotopic.init.gibbs import sampled_counts, tokens_of
from isotopic.kernels import normalized
from isotopic.priors import CollapsedDirichlet, Dirichlet
from isotopic.problem import Problem
from isotopic.sampling import Tokens
from isotopic.solvers import HyperparameterState, Solution

# Passes before the sampling. It needs a good place to begin, and no more.
PASSES_BEFORE = 60

# Sweeps over all tokens, and those at the end whose counts are averaged.
_SWEEPS, _AVERAGED = 120, 60

# Entries whose topics are drawn at once, times components: 16 MB in single precision.
_CHUNK = 4_000_000


def ends_with_samples(model: Any, problem: Problem) -> bool:
    """Return whether a fit ends with Gibbs sampling.

    It does for CVB0 with learned concentrations and whole counts in memory, if there are fewer
    counts than numbers to learn: a weight and a topic's entry for each component. A fit of exactly
    ``max_iter`` iterations (``tol=0``), or of few, stays where it ends.
    """
    X, n_components = problem.X, problem.n_components
    is_plain = all(
        isinstance(prior, CollapsedDirichlet) and prior.learn and prior.uses_histogram(columns)
        for prior, columns in ((problem.weights, n_components), (problem.topics, X.shape[1]))
    )
    is_long = model.tol > 0 and model.max_iter > PASSES_BEFORE
    if not (is_plain and is_long and isinstance(X, CountMatrix) and X.missing is None):
        return False
    n_samples = X.shape[0] if X.copies is None else X.copies.sum()
    return X.total < n_components * (n_samples + X.shape[1]) and smallest_count(X) == 1


def with_sampled_means(
    problem: Problem, solution: Solution[Any], rng: np.random.Generator
) -> Solution[Any]:
    """Return the solution with the mean counts of Gibbs sampling, and the priors learned with it.

    Sampling begins with topics that are drawn from the responsibilities of the solution.
    """
    state = solution.state
    if solution.interrupted or not np.isfinite(state.objective):
        return solution
    return replace(solution, state=_sampled(problem, state, rng), converged=True)


def _sampled(
    problem: Problem, state: HyperparameterState, rng: np.random.Generator
) -> HyperparameterState:
    """Return the state at the mean counts of the sweeps, with the priors that go with them."""
    X: Any = problem.X
    weights: Any = state.weights_prior
    topics: Any = state.topics_prior
    tokens = tokens_of(X)
    priors = (
        Dirichlet(weights.concentration, learn=weights.learn),
        Dirichlet(topics.concentration, learn=topics.learn),
    )
    assignments = _drawn_topics(tokens, state.weights.effective, state.topics.effective, rng)
    found = sampled_counts(
        tokens,
        assignments,
        priors,
        problem.n_components,
        rng,
        sweeps=_SWEEPS,
        averaged=_AVERAGED,
    )
    problem = replace(
        problem,
        weights=replace(weights, concentration=found.alpha.concentration),
        topics=replace(topics, concentration=found.eta.concentration),
    )
    # In single precision they do not sum to the totals.
    weight_counts = _shared(X.sample_totals, found.counts.weights)
    topic_counts = _shared(X.feature_totals, found.counts.topics.T).T
    new_topics = problem.absorb_topics(topic_counts, state.topics, state.weights)
    new_weights = problem.absorb_weights(weight_counts, new_topics)
    return replace(
        state,
        inner=problem.evaluate(new_weights, new_topics, state.passes),
        weights_prior=problem.weights,
        topics_prior=problem.topics,
    )


def _shared(totals: Array, counts: Array) -> Array:
    """Return each total split in proportion to a row of counts."""
    return normalized(np.ascontiguousarray(counts, np.float64)) * totals[:, np.newaxis]


def _drawn_topics(tokens: Tokens, weights: Array, topics: Array, rng: np.random.Generator) -> Array:
    """Return a topic for each token, drawn from the responsibilities of its entry."""
    samples = np.repeat(np.arange(len(tokens.copies)), np.diff(tokens.row_starts))
    by_feature = np.ascontiguousarray(topics.T, np.float32)
    step = max(1, _CHUNK // len(topics))
    drawn = []
    for first in range(0, len(samples), step):
        entries = slice(first, first + step)
        bounds = weights[samples[entries]].astype(np.float32)
        bounds *= by_feature[tokens.features[entries]]
        np.cumsum(bounds, axis=1, out=bounds)
        entry = np.repeat(np.arange(len(bounds)), tokens.repeats[entries])
        at = rng.random(len(entry), np.float32) * bounds[entry, -1]
        drawn.append((bounds[entry, :-1] <= at[:, np.newaxis]).sum(axis=1, dtype=np.int32))
    return np.concatenate(drawn)
