"""Exact probabilities of tiny counts, by enumeration, convolution and quadrature.

A sample is a tuple ``x`` of a few counts, ``weights`` has one number for each of two components,
and ``topics`` is components x features. Each distribution is computed from its own process.
"""

from collections.abc import Iterator
from functools import reduce
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln, roots_genlaguerre, roots_jacobi

from isotopic.arrays import Array

Cell: TypeAlias = tuple[int, ...]
Distribution: TypeAlias = dict[Cell, float]


def cells(n_features: int, most: int) -> list[Cell]:
    """Return all tuples of counts with at most this total."""
    return [x for x in product(range(most + 1), repeat=n_features) if sum(x) <= most]


def poisson_probability(n: Array, rate: Array) -> Array:
    """Return the probability of ``n`` under a Poisson distribution."""
    return np.exp(n * np.log(rate) - rate - gammaln(n + 1.0))


def coefficient(x: Cell) -> float:
    """Return the multinomial coefficient."""
    return float(np.exp(gammaln(sum(x) + 1.0) - gammaln(np.add(x, 1.0)).sum()))


# Given weights and topics


def poisson(weights: Array, topics: Array, most: int) -> Distribution:
    """Return the distribution of independent Poisson counts."""
    rates = weights @ topics
    return {
        x: float(poisson_probability(np.array(x), rates).prod()) for x in cells(len(rates), most)
    }


def poisson_contributions(weights: Array, topics: Array, most: int) -> Distribution:
    """Return the distribution of sums of Poisson contributions, by convolution."""
    counts = np.arange(most + 1)
    each = [
        reduce(np.convolve, [poisson_probability(counts, rate) for rate in weights * topic])
        for topic in topics.T
    ]
    return {
        x: float(np.prod([mass[n] for mass, n in zip(each, x, strict=True)]))
        for x in cells(topics.shape[1], most)
    }


def multinomial(weights: Array, topics: Array, total: int) -> Distribution:
    """Return the distribution of multinomial counts."""
    shares = weights @ topics / (weights @ topics).sum()
    return {
        x: coefficient(x) * float(np.prod(shares**x))
        for x in cells(topics.shape[1], total)
        if sum(x) == total
    }


def multinomial_contributions(weights: Array, topics: Array, total: int) -> Distribution:
    """Return the distribution of sums of multinomial contributions, by enumeration."""
    joint = weights[:, np.newaxis] * topics
    whole = multinomial(np.ones(1), joint.reshape(1, -1), total)
    return _add_up(
        (tuple(np.reshape(z, joint.shape).sum(axis=0).tolist()), mass) for z, mass in whole.items()
    )


def word_by_word(weights: Array, topics: Array, total: int) -> Distribution:
    """Return the distribution of counts of tokens, summed over all sequences of tokens."""
    tokens = list(product(range(len(weights)), range(topics.shape[1])))

    def sequences() -> Iterator[tuple[Cell, float]]:
        for sequence in product(tokens, repeat=total):
            features = [feature for _, feature in sequence]
            mass = np.prod([weights[k] * topics[k, v] for k, v in sequence])
            yield tuple(features.count(v) for v in range(topics.shape[1])), float(mass)

    return _add_up(sequences())


# Given topics and a prior of the weights of two components. The integrands are polynomials times
# the weight function of the quadrature, so Gauss rules are exact up to rounding.


def lda_likelihood(x: Cell, topics: Array, alpha: Array) -> float:
    """Return the probability of one token sequence with these counts under LDA."""
    nodes, mass = roots_jacobi(sum(x) // 2 + 1, alpha[1] - 1, alpha[0] - 1)
    proportions = np.stack([1 + nodes, 1 - nodes], axis=1) / 2
    return float(mass @ np.prod((proportions @ topics) ** x, axis=1) / mass.sum())


def gamma_poisson_likelihood(x: Cell, topics: Array, alpha: Array, rate: float) -> float:
    """Return the probability of counts under Gamma-Poisson with normalised topics."""
    first, second = (roots_genlaguerre(sum(x) // 2 + 1, shape - 1) for shape in alpha)
    weights = np.array(list(product(first[0], second[0]))) / (1 + rate)
    mass = np.outer(first[1], second[1]).ravel()
    mean = mass @ np.prod((weights @ topics) ** x, axis=1) / mass.sum()
    return float((rate / (1 + rate)) ** alpha.sum() * mean / np.exp(gammaln(np.add(x, 1.0)).sum()))


def poisson_gamma_probability(n: Array, shape: float, rate: float) -> Array:
    """Return the probability of ``n`` under a Poisson distribution with a Gamma rate."""
    log_mass = gammaln(n + shape) - gammaln(shape) - gammaln(n + 1.0)
    return np.asarray(np.exp(log_mass + shape * np.log(rate / (1 + rate)) - n * np.log(1 + rate)))


def gamma_poisson(topics: Array, alpha: Array, rate: float, most: int) -> Distribution:
    """Return the distribution of Poisson counts with Gamma weights."""
    return {
        x: gamma_poisson_likelihood(x, topics, alpha, rate) for x in cells(topics.shape[1], most)
    }


def dirichlet_multinomial(topics: Array, alpha: Array, of_total: Array) -> Distribution:
    """Return the distribution of multinomial counts, given the probability of each total."""
    return {
        x: coefficient(x) * lda_likelihood(x, topics, alpha) * float(of_total[sum(x)])
        for x in cells(topics.shape[1], len(of_total) - 1)
    }


# Comparing distributions


def aligned(*distributions: Distribution) -> Array:
    """Return an array with one row for each distribution and one column for each count."""
    places = sorted(set().union(*distributions))
    return np.array([[masses.get(x, 0.0) for x in places] for masses in distributions])


def total_variation(draws: Array, distribution: Distribution) -> float:
    """Return the total variation distance of draws; counts without probability form one cell."""
    seen, times = np.unique(draws, axis=0, return_counts=True)
    frequencies = dict(zip(map(tuple, seen.tolist()), (times / len(draws)).tolist(), strict=True))
    gaps = np.array([frequencies.get(x, 0.0) - mass for x, mass in distribution.items()])
    return float(np.abs(gaps).sum() + abs(gaps.sum())) / 2


def _add_up(masses: Iterator[tuple[Cell, float]]) -> Distribution:
    """Return the distribution with the probabilities of equal counts added up."""
    distribution: Distribution = {}
    for x, mass in masses:
        distribution[x] = distribution.get(x, 0.0) + mass
    return distribution
