"""Starts from a fitted model: its own point, or what other priors make of its counts."""

from dataclasses import replace
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.elementwise import row_sums
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.value import Fitted
from isotopic.init import Start, uniform_start
from isotopic.init.allocation import shared_out
from isotopic.init.start import absorbed
from isotopic.priors import Posterior, innermost
from isotopic.problem import Problem

# Each estimate of the self-contribution makes the next one better, by a factor of about five.
_SELF_CONTRIBUTION_ESTIMATES = 5


def problem_from_fitted(problem: Problem, fitted: Fitted, rows: Array | None = None) -> Problem:
    """Return the problem with the hyperparameters that a fitted model has learned.

    The problem goes on learning them. Priors and divergences of another kind keep their
    own. ``rows`` is as for :func:`start_from_fitted`.
    """
    _check_shape(problem, fitted)
    weights = problem.weights.continuing(fitted.weights_prior)
    topics = problem.topics.continuing(innermost(fitted.topics_prior))
    divergence = problem.divergence.continuing(fitted.divergence)
    problem = replace(problem, weights=weights, topics=topics, divergence=divergence)
    # A fitted value does not hold the self-contribution of counts, which new samples do not have.
    has_some = not np.array_equal(fitted.weights.effective, fitted.weights.mean)
    if has_some and (weights.needs_squares or topics.needs_squares):
        for _ in range(_SELF_CONTRIBUTION_ESTIMATES):
            problem = _with_self_contribution(problem, start_from_fitted(problem, fitted, rows))
    return problem


def _with_self_contribution(problem: Problem, start: Start) -> Problem:
    """Return the problem with the self-contribution at a point; nothing else is learned."""
    sides: dict[str, Any] = {"weights": problem.weights, "topics": problem.topics}
    fixed = {name: prior.with_learned(prior) for name, prior in sides.items()}
    learned = replace(problem, **fixed).with_updated_hyperparameters(problem.evaluate(*start, 0))
    for name, prior in sides.items():
        if prior.needs_squares:
            updated: Any = innermost(getattr(learned, name))
            sides[name] = prior.with_self_contribution(updated.self_contribution)
    return replace(problem, **sides)


def start_from_fitted(problem: Problem, fitted: Fitted, rows: Array | None = None) -> Start:
    """Return the point of a fitted model as a start.

    Priors of the same kinds get the same factors or posteriors, so that a fit goes on where the
    other one ended. Other priors absorb the counts that the model explains.

    ``rows`` are the samples of the model that the problem has; ``None``: all of them. If it was
    fitted to another number of samples, only its topics are used.
    """
    _check_shape(problem, fitted)
    source = _Source(problem, fitted, rows)
    start = source.same_point() if source.has_same_kinds else source.absorbed_counts()
    return start if source.explains_all(start) else source.absorbed_counts(spread=True)


def _check_shape(problem: Problem, fitted: Fitted) -> None:
    given, needed = fitted.topics.mean.shape, (problem.n_components, problem.X.shape[1])
    if given != needed:
        raise ValueError(
            f"init: the model's topics have the shape {given}, but this fit needs {needed}. Fit "
            "the model with the same n_components and features."
        )


class _Source:
    """A fitted model from which a problem starts."""

    def __init__(self, problem: Problem, fitted: Fitted, rows: Array | None) -> None:
        self.problem, self.fitted = problem, fitted
        n_fitted, n_samples = len(fitted.weights.mean), problem.X.shape[0]
        self.rows: Any = slice(None)  # of the fitted weights
        if rows is not None and n_fitted > rows[-1]:
            self.rows, n_fitted = rows, len(rows)
        self.has_weights = n_fitted == n_samples

    @property
    def has_same_kinds(self) -> bool:
        """Whether the problem can have the factors or posteriors of the fitted model."""
        problem, fitted = self.problem, self.fitted
        pairs = [(problem.topics, fitted.topics_prior)]
        # Fixed topics and weights have no posterior that a problem without them could have.
        is_same = problem.topics.held_rows == fitted.topics_prior.held_rows
        if self.has_weights:
            pairs.append((problem.weights, fitted.weights_prior))
            given: Any = getattr(problem.weights, "given", np.empty((0, 0)))
            is_same = is_same and given.shape[1] == fitted.offsets.n_fixed_weights
        return is_same and all(type(innermost(a)) is type(innermost(b)) for a, b in pairs)

    def same_point(self) -> Start:
        """Return the factors or posteriors of the model, as the problem's priors hold them."""
        problem, topics = self.problem, self._same_topics()
        if self.has_weights:
            return self._same_weights(), topics
        return uniform_start(problem, topics)

    def _same_topics(self) -> Posterior:
        prior, dtype, known = self.problem.topics, self.problem.X.dtype, self.fitted.topics
        if known.explained is None:
            return prior.at(np.array(known.mean, dtype, order="F"), 1.0)
        totals: Any = 1.0
        if known.rates is not None:
            learned: Any = innermost(self.fitted.topics_prior)
            totals = np.array(known.rates, np.float64)
            totals[prior.held_rows :] -= learned.prior_rate
        return prior.absorb(np.array(known.explained, dtype, order="F"), totals)

    def _same_weights(self) -> Posterior:
        problem, rows, known = self.problem, self.rows, self.fitted.weights
        dtype, sizes = problem.X.dtype, problem.weights.sizes
        if known.explained is None:
            values = np.array(known.mean[rows], dtype)
            values = values if sizes is None else values * sizes[:, np.newaxis].astype(dtype)
            return problem.weights_from(values, 1.0, is_value=True)
        totals: Any = 1.0
        if known.rates is not None:
            prior: Any = self.fitted.weights_prior
            totals = (known.rates - np.broadcast_to(prior.prior_rate, known.rates.shape))[rows]
            totals = totals if sizes is None else totals / sizes[:, np.newaxis]
            totals = totals[0] if problem.X.missing is None else totals  # the same for all samples
        return problem.weights_from(self._counts_of_copies(known.explained[rows]), totals)

    def absorbed_counts(self, *, spread: bool = False) -> Start:
        """Return what the problem's priors make of the counts that the model explains.

        With ``spread`` a small part of them is distributed evenly, so that no factor is zero.
        """
        problem, X = self.problem, self.problem.X
        by_sample, by_topic = explained_counts(self.fitted)
        totals = row_sums(self.fitted.topics.mean)
        shares: Any = X.equal_shares(problem.n_components)
        if self.has_weights:
            shares = self._counts_of_copies(by_sample[self.rows])
            shares = shared_out(X.sample_totals, shares) if spread else self._without_empty(shares)
        if spread:
            by_topic = shared_out(X.feature_totals, by_topic.T).T
        return absorbed(problem, shares, by_topic.copy("K"), totals)

    def explains_all(self, start: Start) -> bool:
        """Return whether every count is possible at a start: a factor of zero stays zero."""
        problem, fitted, X = self.problem, self.fitted, self.problem.X
        if not problem.divergence.needs_positive_product:  # then zeros explain counts, badly
            return True
        if (
            np.isfinite(fitted.objective)
            and fitted.divergence.needs_positive_product
            and np.array_equal(X.feature_totals, fitted.feature_totals)
            and np.array_equal(X.sample_totals, fitted.sample_totals)
        ):
            return True
        if np.any((X.feature_totals > 0) & ~np.any(start[1].effective, axis=0)):
            return False
        if not self.has_weights or fitted.weights.effective.min(initial=1) > 0:
            return True
        return bool(np.isfinite(problem.expected_counts(*start).log_likelihood))

    def _counts_of_copies(self, counts: Array) -> Array:
        """Return counts of all copies of each sample, in a new array."""
        copies = 1.0 if self.problem.X.copies is None else self.problem.X.copies[:, np.newaxis]
        return np.array(counts * copies, self.problem.X.dtype)

    def _without_empty(self, counts: Array) -> Array:
        """Return the counts, with equal shares for samples of which the model explains nothing."""
        totals = self.problem.X.sample_totals
        empty = (counts.sum(axis=1) <= 0) & (totals > 0)
        counts[empty] = totals[empty, np.newaxis] / self.problem.n_components
        return counts
