"""Gibbs sampling after CVB0: what a fit of LDA ends with.

The mean counts of samples from the posterior still have noise, and an optimum fits the samples too
closely. These errors are almost independent, so the mean of both predicts new samples better than
either. Concentrations are learned from the samples: the expected counts of an optimum are smoother
than counts, above all where topics overlap, and a concentration learned from them is too large.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.elementwise import gamma_functions, normalized
from isotopic.fitted.calibration import best_factor, held_out_samples
from isotopic.init.allocation import smallest_count
from isotopic.init.gibbs import Sampled, sampled_counts, tokens_of
from isotopic.priors import CollapsedDirichlet, Dirichlet
from isotopic.problem import Problem
from isotopic.sampling import Tokens, drawn_topics, sample_sweeps
from isotopic.solvers import HyperparameterState, Solution

# A fit of no more iterations is to be a short one, and ends where they end.
_FEW_ITERATIONS = 60

# With fewer counts for each number to learn, samples improve the optimum.
_FEW_COUNTS = 2.0

# Samples of fewer counts on average are short.
_SHORT = 32

# With more topics a pass takes longer than a sweep, which visits those of a sample only.
_MOST_FOR_PASSES = 128


class Ending(NamedTuple):
    """How a fit ends.

    Attributes
    ----------
    passes : int or None
        The most passes before the sampling, if there is a limit.
    sweeps, averaged : int
        Sweeps over all tokens, and those at the end whose counts are averaged.
    optimum : float
        The part of the optimum in the counts that the fit ends with.
    """

    passes: int | None
    sweeps: int
    averaged: int
    optimum: float


# With many counts: only the concentration is learned from samples.
_AT_OPTIMUM = Ending(passes=None, sweeps=30, averaged=1, optimum=1.0)

# More passes come nearer to the optimum, but its mean with samples does not get better.
_BETWEEN = Ending(passes=10, sweeps=60, averaged=50, optimum=0.5)

# Few short samples have no optimum worth looking for: CVB0 leaves out an average self-contribution,
# which is wrong for most of their entries.
_WITH_SAMPLES = Ending(passes=1, sweeps=120, averaged=100, optimum=0.0)
_WITH_MANY_TOPICS = _WITH_SAMPLES._replace(sweeps=160, averaged=120)

# With fewer counts for each number to learn, topics overfit their samples: the concentration that
# is learned from these samples is too small for new ones.
_CALIBRATED = 0.25

# Sweeps in which the topics forget the samples that are held out, and those that are averaged then.
_FORGETTING, _WITHOUT = 5, 10

# Starts are compared by so many samples, after so many sweeps.
_COMPARED, _SWEEPS_BEFORE = 5, 10


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


def choose_ending(problem: Problem) -> Ending:
    """Return how a fit that can be sampled ends, by how many counts there are.

    The numbers to learn are a weight and a topic's entry for each component.
    """
    X: Any = problem.X
    if X.total >= _FEW_COUNTS * _n_unknown(problem):
        return _AT_OPTIMUM
    if X.total < _SHORT * _n_samples(X):
        return _WITH_SAMPLES
    return _BETWEEN if problem.n_components <= _MOST_FOR_PASSES else _WITH_MANY_TOPICS


def _n_samples(X: CountMatrix) -> float:
    """Return the number of samples, as often as each counts."""
    return X.shape[0] if X.copies is None else float(X.copies.sum())


def _n_unknown(problem: Problem) -> float:
    """Return how many numbers there are to learn: weights, and entries of topics."""
    X: Any = problem.X
    return problem.n_components * (_n_samples(X) + float(X.shape[1]))


def with_samples(
    problem: Problem, solution: Solution[Any], rng: np.random.Generator
) -> Solution[Any]:
    """Return the solution with what Gibbs sampling adds: learned priors, and mean counts.

    Sampling begins with topics that are drawn from the responsibilities of the solution.
    """
    state, ending = solution.state, choose_ending(problem)
    if solution.interrupted or not np.isfinite(state.objective):
        return solution
    X: Any = problem.X
    tokens = tokens_of(X)
    seed = int(rng.integers(2**63))
    assignments = drawn_topics(tokens, state.weights.effective, state.topics.effective, seed)
    found = _sampled_counts(problem, state, tokens, assignments, rng, ending)
    if ending.optimum == 1:
        prior: Any = state.weights_prior
        ratio = np.divide(found.alpha.concentration, prior.concentration)
        return replace(solution, state=replace(state, weights_prior=prior.calibrated(ratio)))
    state = _with_counts(problem, state, found, ending.optimum)
    if X.total < _CALIBRATED * _n_unknown(problem):
        factor = _calibration_factor(X, tokens, assignments, found, rng)
        state = replace(state, weights_prior=state.weights_prior.calibrated(factor))
    return replace(solution, state=state, converged=True)


def _calibration_factor(
    X: CountMatrix,
    tokens: Tokens,
    assignments: Array,
    found: Sampled,
    rng: np.random.Generator,
) -> float:
    """Return the factor of the concentration with which new samples are predicted best.

    A tenth of the samples is taken out of the topics, which then go on without them.
    """
    held_out = held_out_samples(X, rng)
    if held_out is None:
        return 1.0
    copies = tokens.copies.copy()
    copies[held_out] = 0
    counts = sample_sweeps(
        tokens._replace(copies=copies),
        assignments.copy(),
        np.broadcast_to(np.ravel(found.alpha.concentration), found.counts.weights.shape[1]),
        float(np.ravel(found.eta.concentration)[0]),
        sweeps=_FORGETTING + _WITHOUT,
        averaged=_WITHOUT,
        seed=int(rng.integers(2**63)),
    )
    topics = normalized(counts.topics + np.asarray(found.eta.concentration, np.float64))
    return best_factor(X, held_out, found.alpha, topics, rng)


def _with_counts(
    problem: Problem, state: HyperparameterState, found: Sampled, optimum: float
) -> HyperparameterState:
    """Return the state at the mean of its counts and the sampled ones, with the learned priors."""
    X: Any = problem.X
    weights: Any = state.weights_prior
    topics: Any = state.topics_prior
    problem = replace(
        problem,
        weights=replace(weights, concentration=found.alpha.concentration),
        topics=replace(topics, concentration=found.eta.concentration),
    )
    # In single precision they do not sum to the totals.
    weight_counts = _shared(X.sample_totals, found.counts.weights)
    topic_counts = _shared(X.feature_totals, found.counts.topics.T).T
    weight_counts += optimum * (state.counts.weights - weight_counts)
    topic_counts += optimum * (state.counts.topics - topic_counts)
    dtype = state.counts.weights.dtype
    new_topics = problem.absorb_topics(topic_counts.astype(dtype), state.topics, state.weights)
    new_weights = problem.absorb_weights(weight_counts.astype(dtype), new_topics)
    return replace(
        state,
        inner=problem.evaluate(new_weights, new_topics, state.passes),
        weights_prior=problem.weights,
        topics_prior=problem.topics,
    )


def sampled_likelihood(problem: Problem, solution: Solution[Any], seed: int) -> float:
    """Return the log-likelihood of the counts and of topics that are sampled from the solution.

    Starts with learned priors can be compared by it: it contains both factors' evidence under the
    priors of each. Their objectives cannot, because each is relative to its priors.
    """
    state: HyperparameterState = solution.state
    if not np.isfinite(state.objective):
        return -np.inf
    X: Any = problem.X
    rng = np.random.default_rng(seed)
    priors: Any = state.weights_prior, state.topics_prior
    alpha, eta = (np.ravel(prior.concentration).astype(np.float64) for prior in priors)
    alpha = np.broadcast_to(alpha, problem.n_components)
    tokens = tokens_of(X)
    drawing = int(rng.integers(2**63))
    assignments = drawn_topics(tokens, state.weights.effective, state.topics.effective, drawing)
    values = []
    for sweeps in (_SWEEPS_BEFORE, *(1,) * (_COMPARED - 1)):
        settings = {"sweeps": sweeps, "averaged": 0, "seed": int(rng.integers(2**63))}
        counts = sample_sweeps(tokens, assignments, alpha, float(eta[0]), **settings)
        by_sample = _log_marginals(counts.weights, alpha)
        by_topic = _log_marginals(counts.topics, np.broadcast_to(eta, X.shape[1]))
        values.append(float(tokens.copies @ by_sample) + float(by_topic.sum()))
    return float(np.mean(values))


def _log_marginals(counts: Array, concentration: Array) -> Array:
    """Return the log-likelihood of the draws of each row, whose chances are Dirichlet."""

    def log_gamma(values: Array) -> Array:
        return gamma_functions(np.ascontiguousarray(values, np.float64))[1]

    whole = concentration.sum(keepdims=True)
    entries = (log_gamma(counts + concentration) - log_gamma(concentration)).sum(axis=1)
    totals = counts.sum(axis=1, dtype=np.float64)
    result: Array = entries + log_gamma(whole) - log_gamma(totals + whole)
    return result


def _sampled_counts(
    problem: Problem,
    state: HyperparameterState,
    tokens: Tokens,
    assignments: Array,
    rng: np.random.Generator,
    ending: Ending,
) -> Sampled:
    """Return what sweeps find that begin with these topics of the tokens."""
    priors: Any = state.weights_prior, state.topics_prior
    alpha, eta = (Dirichlet(prior.concentration, learn=prior.learn) for prior in priors)
    return sampled_counts(
        tokens,
        assignments,
        (alpha, eta),
        problem.n_components,
        rng,
        sweeps=ending.sweeps,
        averaged=ending.averaged,
    )


def _shared(totals: Array, counts: Array) -> Array:
    """Return each total split in proportion to a row of counts."""
    return normalized(np.ascontiguousarray(counts, np.float64)) * totals[:, np.newaxis]
