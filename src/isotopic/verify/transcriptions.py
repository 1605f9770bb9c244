"""The paper's algorithms and bounds, transcribed: slow, literal, and nothing of the library's.

The paper's ``X`` (terms x documents), ``W`` and ``H`` are here ``X`` (samples x features),
``topics`` (components x features) and ``weights`` (samples x components), all dense. An algorithm
is one iteration of it, from ``(weights, topics)`` to the next; a Bayesian side is the parameters
of its posterior (the paper's beta).
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import digamma, gammaln, rel_entr, xlogy

from isotopic.arrays import Array

Point: TypeAlias = tuple[Array, Array]
Step: TypeAlias = Callable[[Array, Array, Array], Point]

# A share this small adds nothing to a sum, but what follows from it may be zero: its logarithm not.
_NO_SHARE = 1e-100


def trajectory(step: Step, X: Array, start: Point, n_iter: int) -> list[Point]:
    """Iterate; the start is not in the list."""
    points = [start]
    for _ in range(n_iter):
        points.append(step(X, *points[-1]))
    return points[1:]


def ratio(numerator: Array, denominator: Array) -> Array:
    """Divide, with 0 / 0 = 0: a count of zero has nothing to share out."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=numerator > 0)


def normalized(rows: Array) -> Array:
    """Make each row sum to one: the paper's sign for proportional."""
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def responsibilities(weights: Array, topics: Array) -> Array:
    """Compute the tensor phi, samples x components x features: the shares of each count."""
    joint = weights[:, :, np.newaxis] * topics
    return ratio(joint, joint.sum(axis=1, keepdims=True))


def log_expected_dirichlet(posterior: Array) -> Array:
    """E[log h] of rows h that are Dirichlet."""
    return np.asarray(digamma(posterior) - digamma(posterior.sum(axis=1, keepdims=True)))


def algorithm_1(X: Array, weights: Array, topics: Array) -> Point:
    """Multiplicative updates of NMF: the topics, then the weights with the new topics."""
    shared = topics * (weights.T @ ratio(X, weights @ topics))
    topics = ratio(shared, weights.sum(axis=0)[:, np.newaxis])
    shared = weights * (ratio(X, weights @ topics) @ topics.T)
    return ratio(shared, topics.sum(axis=1)), topics


def algorithm_2(X: Array, weights: Array, topics: Array) -> Point:
    """EM of PLSA."""
    phi = responsibilities(weights, topics)
    return (
        normalized(np.einsum("dv,dkv->dk", X, phi)),
        normalized(np.einsum("dv,dkv->kv", X, phi)),
    )


def algorithm_3(X: Array, posterior: Array, topics: Array, *, alpha: Array) -> Point:
    """Variational inference of LDA."""
    phi = responsibilities(np.exp(log_expected_dirichlet(posterior)), topics)
    return (
        alpha + np.einsum("dv,dkv->dk", X, phi),
        normalized(np.einsum("dv,dkv->kv", X, phi)),
    )


def algorithm_4(X: Array, weights: Array, topics: Array) -> Point:
    """Joint multiplicative updates of NMF with normalised topics."""
    ratios = ratio(X, weights @ topics)
    return weights * (ratios @ topics.T), normalized(topics * (weights.T @ ratios))


def algorithm_5(X: Array, posterior: Array, topics: Array, *, alpha: Array) -> Point:
    """Variational inference of Dirichlet-Poisson NMF."""
    effective = np.exp(log_expected_dirichlet(posterior))
    weights, topics = algorithm_4(X, effective, topics)
    return alpha + weights, topics


def algorithm_6(X: Array, weights: Array, topics: Array) -> Point:
    """Joint multiplicative updates of NMF with both sides normalised."""
    weights, topics = algorithm_4(X, weights, topics)
    return normalized(weights), topics


def algorithm_7(X: Array, posterior: Array, topics: Array, *, alpha: Array, rate: Array) -> Point:
    """Variational inference of Gamma-Poisson NMF."""
    effective = np.exp(digamma(posterior)) / (1 + rate)
    weights, topics = algorithm_4(X, effective, topics)
    return alpha + weights, topics


def divergence(X: Array, product: Array) -> float:
    """Generalized Kullback-Leibler divergence."""
    return float((rel_entr(X, product) - X + product).sum())


def auxiliary(X: Array, point: Point, previous: Point) -> float:
    """Joint auxiliary function G(point, previous) of the divergence, constants left out."""
    weights, topics = point
    phi = responsibilities(*previous)
    shared = X[:, np.newaxis, :] * np.where(phi > _NO_SHARE, phi, 0)
    log_joint = xlogy(shared, weights[:, :, np.newaxis]) + xlogy(shared, topics)
    return float((xlogy(shared, phi) - log_joint).sum() + (weights @ topics).sum())


def dirichlet_poisson_bound(X: Array, posterior: Array, topics: Array, alpha: Array) -> float:
    """Lower bound of the Dirichlet-Poisson model, term by term as Appendix C has them.

    Only the expected logarithms of z!, which cancel, are left out; the constants are not.
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
    """Lower bound of the Gamma-Poisson model as Appendix E has it, without the data's constant."""
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
