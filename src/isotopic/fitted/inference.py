"""Infer the weights of new samples, and score them, with the topics fixed."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from isotopic.arrays import Array
from isotopic.blocks import BlockedCounts, PlacedBlock
from isotopic.blocks.tasks import Added
from isotopic.counts import CountMatrix
from isotopic.fitted.offsets import NO_OFFSETS, Offsets
from isotopic.fitted.value import Fitted, check_likelihood, without_rows
from isotopic.init import uniform_start, with_self_contribution_estimate
from isotopic.priors import Fixed, Posterior
from isotopic.problem import Problem
from isotopic.solvers import choose_fold_in, solve


class UnseenFeaturesWarning(UserWarning):
    """Warns that no topic explains some counts, because their features were not fitted.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from isotopic import NMF
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 4))
    >>> model = NMF(2, tol=1e-2, random_state=0).fit(X * [1, 1, 1, 0])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = model.score(X)
    >>> caught[0].category.__name__
    'UnseenFeaturesWarning'
    """


# Weights are inferred until an update moves less than this share of a sample's total.
_TOL = 1e-6


def infer(
    fitted: Fitted, X: CountMatrix, offsets: Offsets = NO_OFFSETS, rows: Array | None = None
) -> Posterior:
    """Return the posterior of the weights of samples.

    Each sample's own problem is solved; the result does not depend on the other samples.

    Parameters
    ----------
    fitted : Fitted
    X : CountMatrix of shape (samples, features)
    offsets : Offsets
        Size factors, fixed weights and covariates of these samples.
    rows : ndarray of int or None
        The rows of the weights' prior that belong to these samples, if it has one for each sample.

    Returns
    -------
    weights : Posterior
        For size one.
    """
    X = X.as_sparse()  # the last bits of dense products depend on other rows
    if not offsets.is_empty:
        check_likelihood(fitted, "size_factors and fixed_weights")
    prior = offsets.prior_of_rows(fitted.weights_prior, rows)
    topics = fitted.known_topics(X.dtype)
    fixed = Fixed(topics, is_normalized=fitted.topics_prior.is_normalized)
    problem = Problem(prior, fixed, X, fitted.n_components, fitted.divergence)
    start = uniform_start(problem, topics)
    if problem.weights.needs_squares:
        problem = with_self_contribution_estimate(problem, start)
        start = uniform_start(problem, topics)
    solver: Any = choose_fold_in(problem, _TOL)
    solution = solve(problem, solver, start, tol=solver.tol)
    if not solution.converged and X.total > 0:
        warnings.warn(
            f"The weights of some samples have not converged: after {solver.max_updates} updates "
            f"the last one moved {solution.state.residual:.1e} of a sample's total.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return offsets.for_size_one(problem.absorb_weights(solution.state.counts, topics))


def infer_weights(
    fitted: Fitted, X: CountMatrix | BlockedCounts, offsets: Offsets = NO_OFFSETS
) -> Array:
    """Return the weights of samples (samples x components), a block at a time for row blocks."""
    if isinstance(X, BlockedCounts):
        task = _InferBlock(without_rows(fitted), offsets)
        return np.concatenate(X.engine.total(task, X.pieces).values)
    return infer(fitted, X, offsets).mean


def score(
    fitted: Fitted,
    X: CountMatrix | BlockedCounts,
    sample_weight: Array | None = None,
    offsets: Offsets = NO_OFFSETS,
) -> float:
    """Return the mean log-likelihood of a count, or minus the mean divergence of an entry.

    The weights are inferred from the same counts. With each sample's probabilities
    ``p = weights @ topics``, normalised, the score of a model of counts is
    ``sum(X * log(p)) / sum(X)``. Counts of features that no topic has are left out of both sums,
    with a warning: they are impossible under every number of components. Other divergences have
    no probabilities.

    Parameters
    ----------
    fitted : Fitted
    X : CountMatrix or BlockedCounts of shape (samples, features)
    sample_weight : ndarray of shape (samples,) or None
    offsets : Offsets
    """
    copies = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    if isinstance(X, BlockedCounts):
        found = X.engine.total(_ScoreBlock(without_rows(fitted), offsets, copies), X.pieces)
    else:
        found = _score_rows(fitted, X, copies, offsets)
    value, size, n_impossible, left_out = found.values.tolist()
    if size == 0:
        known = " of features that a topic has" if left_out else ""
        raise ValueError(f"X has no counts{known} to score.")
    if left_out:
        warnings.warn(
            f"The score leaves out {left_out / (size + left_out):.2g} of the counts: no topic has "
            "their features, which did not occur in the fitted samples. A prior on the topics, "
            "such as LDA's eta, makes every feature possible.",
            UnseenFeaturesWarning,
            stacklevel=3,
        )
    if n_impossible:
        warnings.warn(
            f"The score is -inf: {n_impossible:.0f} samples have counts of features that none of "
            "their topics has. A prior on the topics, such as LDA's eta, makes every feature "
            "possible.",
            UserWarning,
            stacklevel=3,
        )
    return float(value / size)


@dataclass(frozen=True)
class _InferBlock:
    """Infer the weights of one block of samples."""

    fitted: Fitted
    offsets: Offsets

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Added:
        offsets = self.offsets.rows(piece.rows)
        return Added([infer(self.fitted, X, offsets, piece.row_numbers).mean])


@dataclass(frozen=True)
class _ScoreBlock:
    """Score one block of samples."""

    fitted: Fitted
    offsets: Offsets
    copies: Array

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Added:
        offsets, copies = self.offsets.rows(piece.rows), self.copies[piece.rows]
        return _score_rows(self.fitted, X, copies, offsets, piece.row_numbers)


def _score_rows(
    fitted: Fitted, X: CountMatrix, copies: Array, offsets: Offsets, rows: Array | None = None
) -> Added:
    """Infer the weights of samples, and score them.

    Returns four sums: of all scores; of the counts (or entries) that they belong to; of the samples
    with a log-likelihood of minus infinity; and of the counts of features that no topic has.
    """
    X, divergence, left_out = X.as_sparse(), fitted.divergence, 0.0
    topics = fitted.topics.mean.astype(X.dtype)
    if divergence.is_likelihood:
        all_counts = X.sample_totals
        X = X.only_features(np.any(topics, axis=0))
        left_out = float((all_counts - X.sample_totals) @ copies)
    weights = infer(fitted, X, offsets, rows).mean
    by_sample = divergence.row_scores(X, weights, topics)
    units = divergence.row_units(X)
    counted = (copies > 0) & (divergence.is_likelihood | (units > 0))
    n_impossible = np.count_nonzero(np.isneginf(by_sample[counted]))
    sums = [by_sample[counted] @ copies[counted], units @ copies, n_impossible, left_out]
    return Added(np.array(sums))
