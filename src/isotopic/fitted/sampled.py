"""Gibbs sampling after CVB0: concentrations of the weights, and means where there are few counts.

Where there are far fewer counts than numbers to learn, as with many topics or short samples, a
single optimum fits the samples too closely, and the mean over samples from the posterior predicts
new ones better. Where there are more, a fit ends at the optimum of CVB0, which is found sooner.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.elementwise import normalized
from isotopic.init.allocation import smallest_count
from isotopic.init.gibbs import Sampled, drawn_topics, sampled_counts, tokens_of
from isotopic.priors import CollapsedDirichlet, Dirichlet
from isotopic.problem import Problem
from isotopic.solvers import HyperparameterState, Solution

# A fit of no more iterations is to be a short one, and ends where they end.
_FEW_ITERATIONS = 60


class Sweeps(NamedTuple):
    """When a fit ends with samples, and how.

    Attributes
    ----------
    counts : float
        It does if there are fewer counts for each number to learn.
    passes : int
        Passes before the sampling.
    total, averaged : int
        Sweeps over all tokens, and those at the end whose counts are averaged.
    """

    counts: float
    passes: int
    total: int
    averaged: int


# One pass: sampling goes on from the start. An optimum would be no better place to begin.
SWEEPS = Sweeps(counts=0.5, passes=1, total=160, averaged=120)

# Sweeps that learn the concentration of the weights after a fit that ended at an optimum.
_LEARNING_SWEEPS = 30


def can_be_sampled(model: Any, problem: Problem) -> bool:
    """Return whether Gibbs sampling can follow a fit.

    It can follow CVB0 with learned concentrations and whole counts in memory. A fit of exactly
    ``max_iter`` iterations (``tol=0``), or of few, stays where it ends.
    """
    X, n_components = problem.X, problem.n_components
    is_plain = all(
        isinstance(prior, CollapsedDirichlet) and prior.learn and prior.uses_histogram(columns)
        for prior, columns in ((problem.weights, n_components), (problem.topics, X.shape[1]))
    )
    is_long = model.tol > 0 and model.max_iter > _FEW_ITERATIONS
    if not (is_plain and is_long and isinstance(X, CountMatrix) and X.missing is None):
        return False
    return bool(smallest_count(X) == 1)


def has_few_counts(problem: Problem) -> bool:
    """Return whether there are far fewer counts than numbers to learn.

    These are a weight and a topic's entry for each component. A fit with few counts ends with
    samples, if it can be sampled.
    """
    X: Any = problem.X
    n_samples = X.shape[0] if X.copies is None else X.copies.sum()
    n_unknown = problem.n_components * (n_samples + X.shape[1])
    return bool(X.total < SWEEPS.counts * n_unknown)


def with_sampled_concentration(
    problem: Problem, solution: Solution[Any], rng: np.random.Generator
) -> Solution[Any]:
    """Return the solution with the concentration of the weights that Gibbs sampling learns.

    The expected counts of an optimum are smoother than counts, above all where topics overlap, and
    a concentration that is learned from them is too large. Topics and weights stay as they are.
    """
    state = solution.state
    if solution.interrupted or not np.isfinite(state.objective):
        return solution
    found = _sampled_counts(problem, state, rng, total=_LEARNING_SWEEPS, averaged=1)
    prior: Any = state.weights_prior
    prior = prior.calibrated(np.divide(found.alpha.concentration, prior.concentration))
    return replace(solution, state=replace(state, weights_prior=prior))


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
    found = _sampled_counts(problem, state, rng, total=SWEEPS.total, averaged=SWEEPS.averaged)
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


def _sampled_counts(
    problem: Problem,
    state: HyperparameterState,
    rng: np.random.Generator,
    *,
    total: int,
    averaged: int,
) -> Sampled:
    """Return what sweeps find that begin with topics drawn from the responsibilities."""
    priors: Any = state.weights_prior, state.topics_prior
    alpha, eta = (Dirichlet(prior.concentration, learn=prior.learn) for prior in priors)
    X: Any = problem.X
    tokens = tokens_of(X)
    assignments = drawn_topics(tokens, state.weights.effective, state.topics.effective, rng)
    n_components = problem.n_components
    return sampled_counts(
        tokens, assignments, (alpha, eta), n_components, rng, sweeps=total, averaged=averaged
    )


def _shared(totals: Array, counts: Array) -> Array:
    """Return each total split in proportion to a row of counts."""
    return normalized(np.ascontiguousarray(counts, np.float64)) * totals[:, np.newaxis]
