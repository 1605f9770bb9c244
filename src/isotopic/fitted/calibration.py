"""Calibration of a learned concentration on samples that the topics have not seen.

Topics fit the samples that they were learned from better than new ones, and the more so the shorter
the samples are. Weights of these samples are therefore too concentrated, and a concentration that
is learned from them is too small for new samples: on titles of five words by a factor of seven.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks import BlockedProblem, load_rows
from isotopic.counts import CountMatrix
from isotopic.elementwise import normalized
from isotopic.kernels import ReadyTopics, one_pass, ready, rows_pass
from isotopic.problem import Problem
from isotopic.solvers import Accelerated, HyperparameterState, Solution, solve

# The share of the samples that is held out, and the least number: few samples would not decide it.
_HELD_OUT = 0.1
_FEWEST = 20

# The largest number of counts that are predicted: enough for one number.
_MOST_COUNTS = 50_000

# The most entries of samples from which the topics are learned again; of more, some samples are.
_MOST_ENTRIES = 2_000_000

# The number of steps after which the held-out samples hardly affect the topics.
_STEPS = 12

# Factors that are tried one after the other, up or down from one, are this far apart.
_STEP = 1.3
_LEAST, _MOST = 0.2, 50.0

# The least gain of log-likelihood, and what a squared logarithm of the factor costs: where samples
# say little, the concentration stays as it was learned.
_LEAST_GAIN = 4.0
_PENALTY = 10.0

# The passes that infer the weights: first, and for each factor.
_FIRST_PASSES, _PASSES = 10, 4


def calibrated(problem: Problem, solution: Solution[Any]) -> Solution[Any]:
    """Return the solution with a concentration for new samples, if one was learned."""
    state = solution.state
    if solution.interrupted or not isinstance(state, HyperparameterState):
        return solution
    prior, has_learned = state.weights_prior, np.isfinite(state.residual_after_update)
    topics, is_likelihood = problem.topics, problem.divergence.is_likelihood
    is_plain = is_likelihood and topics.is_learned and not topics.held_rows
    if not (has_learned and prior.needs_calibration and is_plain):
        return solution
    try:
        factor = calibration_factor(problem, state)
    except KeyboardInterrupt:
        return replace(solution, interrupted=True)
    return replace(solution, state=replace(state, weights_prior=prior.calibrated(factor)))


def calibration_factor(problem: Problem, state: HyperparameterState) -> float:
    """Return the factor of the learned concentration with which new samples are predicted best.

    A tenth of the samples is taken out of the counts of the topics, and the topics go on without
    them for some steps. Then one half of the counts of these samples is predicted from the other
    (document completion) for several factors. The topics of the fit itself do not change.
    """
    prior: Any = state.weights_prior
    rng = np.random.default_rng(0)
    learned = replace(
        problem,
        weights=_without_self_contribution(prior),
        topics=_without_self_contribution(state.topics_prior),
    )
    some = _some_samples(learned, state, rng)
    if some is None:
        return 1.0
    part, weight_counts = some
    held_out = held_out_samples(part.X, rng)
    if held_out is None:
        return 1.0
    rest = np.setdiff1d(np.arange(part.X.shape[0]), held_out)
    topics = _topics_of(part, weight_counts, state, rest)
    return best_factor(part.X, held_out, part.weights, topics, rng)


def held_out_samples(X: CountMatrix, rng: np.random.Generator) -> Array | None:
    """Return a tenth of the samples, in random order, or None if that is too few."""
    n_samples = X.shape[0]
    n_held_out = round(_HELD_OUT * n_samples)
    if n_held_out < _FEWEST or X.missing is not None:
        return None
    order: Array = rng.permutation(n_samples)[:n_held_out]
    return order


def best_factor(
    X: CountMatrix, held_out: Array, prior: Any, topics: Array, rng: np.random.Generator
) -> float:
    """Return the factor of the concentration that predicts samples best which topics did not see.

    One half of their counts is predicted from the other.
    """
    rows = _enough_samples(X, held_out)
    seen, hidden = _halves(X.rows(rows), rng)
    if not (hidden.total > 0 and seen.total > 0):
        return 1.0
    whole = np.asarray(prior.rows(rows).concentration, np.float64)
    concentration = np.broadcast_to(whole, (len(rows), len(topics)))
    return _best_factor(concentration, ready(topics), seen, hidden)


def _some_samples(
    problem: Problem, state: HyperparameterState, rng: np.random.Generator
) -> tuple[Problem, Array] | None:
    """Return the problem of samples in memory, and the expected counts of their weights.

    If there are many samples, these are some of them, and the topics have seen the counts of the
    others before. ``None``: the topics have no prior that could hold these counts.
    """
    X: Any = problem.X
    is_blocked = isinstance(problem, BlockedProblem)
    n_samples = X.shape[0]
    n_entries = X.entries if is_blocked else np.size(X.values if X.is_sparse else X.dense)
    n_wanted = min(n_samples, int(n_samples * _MOST_ENTRIES / max(n_entries, 1)))
    if isinstance(problem, BlockedProblem):
        n_wanted = min(n_wanted, problem.memory.n_sampled)
    counts: Any = state.counts
    if n_wanted == n_samples and not is_blocked:
        return problem, counts.weights
    if n_wanted < n_samples and not problem.topics.is_bayesian:
        return None
    which = np.arange(n_samples)
    if n_wanted < n_samples:
        which = np.sort(rng.choice(n_samples, n_wanted, replace=False))
    if is_blocked:
        part, rows = load_rows(X, which), _stored_rows(counts.weights, X, which)
    else:
        part, rows = X.rows(which), counts.weights[which]
    prior = problem.weights.rows(which)
    topics: Any = problem.topics
    if n_wanted < n_samples:
        effective = prior.absorb(rows, 1.0).effective
        own = one_pass(part, effective, state.topics.effective).topics
        topics = topics.seeded(np.maximum(counts.topics - own, 0))
    return Problem(prior, topics, part, problem.n_components), rows


def _stored_rows(stored: Any, X: Any, which: Array) -> Array:
    """Return some rows of those that row blocks have stored."""
    return np.concatenate(
        [
            stored.of(piece, X.sample_totals[piece.rows])[
                which[(which >= piece.start) & (which < piece.stop)] - piece.start
            ]
            for piece in X.pieces
        ]
    )


def _topics_of(
    problem: Problem, weight_counts: Array, state: HyperparameterState, rows: Array
) -> Array:
    """Return the topics after some steps with these samples only."""
    rest = replace(problem, weights=problem.weights.rows(rows), X=problem.X.rows(rows))
    start = rest.weights_from(weight_counts[rows], 1.0), state.topics
    found = solve(rest, Accelerated(), start, max_iter=_STEPS)
    return normalized(found.state.topics.mean.astype(np.float64))


def _without_self_contribution(prior: Any) -> Any:
    """Return the prior without self-contributions, which would slow down the forgetting."""
    return prior.with_self_contribution(None) if prior.needs_squares else prior


def _enough_samples(X: CountMatrix, order: Array) -> Array:
    """Return as many of the held-out samples as are needed."""
    totals = X.sample_totals[order] if X.copies is None else (X.sample_totals / X.copies)[order]
    enough = 1 + int(np.searchsorted(np.cumsum(totals), _MOST_COUNTS))
    return np.sort(order[:enough])


def _halves(X: CountMatrix, rng: np.random.Generator) -> tuple[CountMatrix, CountMatrix]:
    """Return two random halves of the counts of samples."""
    some = X.as_sparse()
    values = some.values.astype(np.float64)
    if some.copies is not None:
        values /= np.repeat(some.copies, np.diff(some.row_starts))
    whole = np.floor(values)
    tokens = rng.binomial(whole.astype(np.int64), 0.5)
    first = tokens + (values - whole) * rng.integers(0, 2, len(values))
    halves = (
        sparse.csr_array((part, some.features, some.row_starts), shape=some.shape)
        for part in (first, values - first)
    )
    seen, hidden = (CountMatrix.of(half) for half in halves)
    return seen, hidden


def _best_factor(
    concentration: Array, topics: ReadyTopics, seen: CountMatrix, hidden: CountMatrix
) -> float:
    """Return the factor with the best prediction: by steps from one, then by a parabola."""
    counts = seen.sample_totals[:, np.newaxis] * normalized(concentration)

    def score(factor: float, passes: int) -> float:
        nonlocal counts
        for _ in range(passes):
            weights = normalized(counts + factor * concentration)
            counts = rows_pass(seen.view(), weights, topics)[0]
        weights = normalized(counts + factor * concentration)
        log_likelihood = float(rows_pass(hidden.view(), weights, topics)[1].sum())
        return log_likelihood - _PENALTY * float(np.log(factor)) ** 2

    at_one = score(1.0, _FIRST_PASSES)
    factors, values = [1.0], [at_one]

    def walk(step: float) -> None:
        """Go on in one direction, one step beyond the best factor."""
        while values[-1] == max(values) and _LEAST < factors[-1] * step < _MOST:
            factors.append(factors[-1] * step)
            values.append(score(factors[-1], _PASSES))

    walk(_STEP)
    if len(factors) == 2:  # up is no better: start again from one, and go down
        factors.reverse()
        values.reverse()
        walk(1 / _STEP)
    return _vertex(factors[-3:], values[-3:]) if max(values) > at_one + _LEAST_GAIN else 1.0


def _vertex(factors: list[float], values: list[float]) -> float:
    """Return where the parabola through three values is largest, over the logarithm of factors."""
    best = int(np.argmax(values))
    if len(values) < 3 or best != 1:
        return factors[best]
    before, now, after = values
    shift = 0.5 * (before - after) / (before - 2 * now + after)
    return float(factors[1] * (factors[2] / factors[1]) ** shift)
