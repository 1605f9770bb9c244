"""Inference and scores under beta divergences other than Kullback-Leibler."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from isotopic.arrays import Array
from isotopic.beta_problem import BetaProblem
from isotopic.counts import CountMatrix
from isotopic.divergences import Sweeper
from isotopic.fitted.offsets import Offsets
from isotopic.fitted.value import Fitted
from isotopic.init import uniform_start
from isotopic.priors import Fixed, Posterior, Prior
from isotopic.solvers import BetaFoldIn, Solution, solve

_TOL = 1e-6
_MAX_ITER = 5000


def infer(fitted: Fitted, X: CountMatrix, offsets: Offsets, prior: Prior) -> Posterior:
    """Return the weights of samples; see :func:`isotopic.fitted.inference.infer`."""
    if not offsets.is_empty:
        raise ValueError(offsets_need_counts(fitted.divergence.beta))
    factor = fitted.topics.mean.astype(X.dtype, copy=False)
    topics = Posterior(factor, factor)
    fixed = Fixed(topics, is_normalized=fitted.topics_prior.is_normalized)
    problem = BetaProblem(prior, fixed, X, len(factor), fitted.divergence)
    solver: Any = BetaFoldIn(_TOL)
    start = uniform_start(X, problem, topics)
    solution: Solution[Any] = solve(problem, solver, start, max_iter=_MAX_ITER, tol=_TOL)
    if solution.interrupted:
        raise KeyboardInterrupt
    if not solution.converged:
        warnings.warn(
            f"The weights of {len(solution.state.rows)} samples have not converged: their residual "
            f"is up to {solution.state.residual:.1e} after {_MAX_ITER} updates.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return prior.at(solution.state.weights, 1.0)


def divergences(fitted: Fitted, X: CountMatrix, weights: Array, topics: Array) -> Array:
    """Return the divergence of each sample from ``weights @ topics``."""
    sweep = Sweeper(fitted.divergence, X)
    values: Array = sweep(weights, topics.astype(weights.dtype), weights_only=True).values
    return values


def numbers_of_entries(X: Any) -> Array:
    """Return how many entries of each sample are not missing."""
    entries = np.full(X.shape[0], X.shape[1])
    if X.missing is not None:
        entries -= np.diff(X.missing.pattern.indptr)
    return entries


def offsets_need_counts(beta: float) -> str:
    """Return the error for size factors or fixed weights with another divergence."""
    return (
        "size_factors and fixed_weights are defined only for beta=1 (Kullback-Leibler); this model "
        f"has beta={beta:g}. Use NMF, or BetaNMF(beta=1)."
    )


def check_kullback_leibler(fitted: Fitted, name: str) -> None:
    """Raise unless the model is one of counts, with probabilities."""
    if not fitted.is_kullback_leibler:
        raise ValueError(
            f"{name} is defined only for beta=1 (Kullback-Leibler); this model has "
            f"beta={fitted.divergence.beta:g}. transform, score and inverse_transform are defined "
            "for any beta."
        )
