"""Literal transcriptions of the paper's algorithms and bounds, independent of the library.

The paper's ``X`` (terms x documents), ``W`` and ``H`` are here ``X`` (samples x features),
``topics`` (components x features) and ``weights`` (samples x components), all dense. Each function
``algorithm_*`` makes one iteration, from ``(weights, topics)`` to the next. A Bayesian side is
given by the parameters of its posterior (the paper's beta).
"""

from typing import TypeAlias

import numpy as np
from scipy.special import digamma, gammaln, rel_entr, xlogy

from isotopic.arrays import Array

Point: TypeAlias = tuple[Array, Array]

# Smaller responsibilities add nothing to a sum, but the factors may underflow to zero there, and
# their logarithm would be infinite.
_SMALLEST_SHARE = 1e-100


def ratio(numerator: Array, denominator: Array) -> Array:
    """Return the quotient, with 0 / 0 = 0, since a count of zero contributes nothing."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=numerator > 0)


def normalized(rows: Array) -> Array:
    """Return the rows divided by their sums (the paper's "proportional to")."""
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def responsibilities(weights: Array, topics: Array) -> Array:
    """Return the responsibilities phi, samples x components x features."""
    joint = weights[:, :, np.newaxis] * topics
    return ratio(joint, joint.sum(axis=1, keepdims=True))


def log_expected_dirichlet(posterior: Array) -> Array:
    """Return E[log h] for rows h with Dirichlet posteriors."""
    return np.asarray(digamma(posterior) - digamma(posterior.sum(axis=1, keepdims=True)))


def algorithm_1(X: Array, weights: Array, topics: Array) -> Point:
    """Make one iteration of NMF: update the topics, then the weights with the new topics."""
    shared = topics * (weights.T @ ratio(X, weights @ topics))
    topics = ratio(shared, weights.sum(axis=0)[:, np.newaxis])
    shared = weights * (ratio(X, weights @ topics) @ topics.T)
    return ratio(shared, topics.sum(axis=1)), topics


def algorithm_2(X: Array, weights: Array, topics: Array) -> Point:
    """Make one EM iteration of PLSA."""
    phi = responsibilities(weights, topics)
    return (
        normalized(np.einsum("dv,dkv->dk", X, phi)),
        normalized(np.einsum("dv,dkv->kv", X, phi)),
    )


def algorithm_3(X: Array, posterior: Array, topics: Array, *, alpha: Array) -> Point:
    """Make one iteration of variational inference for LDA."""
    phi = responsibilities(np.exp(log_expected_dirichlet(posterior)), topics)
    return alpha + np.einsum("dv,dkv->dk", X, phi), normalized(np.einsum("dv,dkv->kv", X, phi))


def algorithm_4(X: Array, weights: Array, topics: Array) -> Point:
    """Make one joint multiplicative update of NMF with normalised topics."""
    ratios = ratio(X, weights @ topics)
    return weights * (ratios @ topics.T), normalized(topics * (weights.T @ ratios))


def algorithm_5(X: Array, posterior: Array, topics: Array, *, alpha: Array) -> Point:
    """Make one iteration of variational inference for Dirichlet-Poisson NMF."""
    effective = np.exp(log_expected_dirichlet(posterior))
    weights, topics = algorithm_4(X, effective, topics)
    return alpha + weights, topics


def algorithm_6(X: Array, weights: Array, topics: Array) -> Point:
    """Make one joint multiplicative update of NMF with both factors normalised."""
    weights, topics = algorithm_4(X, weights, topics)
    return normalized(weights), topics


def algorithm_7(X: Array, posterior: Array, topics: Array, *, alpha: Array, rate: Array) -> Point:
    """Make one iteration of variational inference for Gamma-Poisson NMF."""
    effective = np.exp(digamma(posterior)) / (1 + rate)
    weights, topics = algorithm_4(X, effective, topics)
    return alpha + weights, topics


def divergence(X: Array, product: Array) -> float:
    """Return the generalized Kullback-Leibler divergence."""
    return float((rel_entr(X, product) - X + product).sum())


def auxiliary(X: Array, point: Point, previous: Point) -> float:
    """Return the joint auxiliary function G(point, previous) of the divergence, up to constants."""
    weights, topics = point
    phi = responsibilities(*previous)
    shared = X[:, np.newaxis, :] * np.where(phi > _SMALLEST_SHARE, phi, 0)
    log_joint = xlogy(shared, weights[:, :, np.newaxis]) + xlogy(shared, topics)
    return float((xlogy(shared, phi) - log_joint).sum() + (weights @ topics).sum())


def dirichlet_poisson_bound(X: Array, posterior: Array, topics: Array, alpha: Array) -> float:
    """Return the lower bound of the Dirichlet-Poisson model, term by term as in Appendix C.

    The expected logarithms of z!, which cancel, are left out; constants are included.
    """
    log_weights = log_expected_dirichlet(posterior)
    phi = responsibilities(np.exp(log_weights), topics)
    shared = X[:, np.newaxis, :] * phi
    joint = np.exp(log_weights)[:, :, np.newaxis] * topics
    log_prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_weights.T
    log_q_weights = (
        gammaln(posterior.sum(axis=1))
        - gammaln(posterior).sum(axis=1)
        + ((posterior - 1) * log_weights).sum(axis=1)
    )
    mass = (normalized(posterior) @ topics).sum()
    log_likelihood = xlogy(shared, joint).sum() - mass
    log_q_shares = gammaln(X + 1).sum() + xlogy(shared, phi).sum()
    return float(log_prior.sum() + log_likelihood - log_q_weights.sum() - log_q_shares)


def gamma_poisson_bound(
    X: Array, posterior: Array, topics: Array, alpha: Array, rate: Array
) -> float:
    """Return the Gamma-Poisson bound of Appendix E, without the constant of the data."""
    rates = 1 + rate
    log_weights, mean = digamma(posterior) - np.log(rates), posterior / rates
    phi = responsibilities(np.exp(log_weights), topics)
    shared = X[:, np.newaxis, :] * phi
    joint = np.exp(log_weights)[:, :, np.newaxis] * topics
    return float(
        (xlogy(shared, joint) - xlogy(shared, phi)).sum()
        - mean.sum()
        + (alpha * np.log(rate) - posterior * np.log(rates)).sum()
        + (gammaln(posterior) - gammaln(alpha)).sum()
        + ((alpha - posterior) * log_weights + (rates - rate) * mean).sum()
    )
