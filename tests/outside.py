"""Priors, a solver and a divergence as someone outside of the package writes them.

The workers of a cluster import this module too.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

import isotopic


@isotopic.register
@dataclass(frozen=True, eq=False)
class Quadratic(isotopic.Prior):
    """Non-negative with the penalty ``strength * h**2 / 2``."""

    strength: float = 1.0

    def absorb(self, counts, totals):
        root = np.sqrt(np.square(totals) + 4 * np.asarray(self.strength) * counts)
        factor = np.divide(2 * counts, totals + root, out=np.zeros_like(counts), where=counts > 0)
        return self.at(factor, totals)

    def penalty(self, factor):
        return (np.asarray(self.strength) * factor**2).sum(axis=1) / 2

    def slope(self, factor):
        return np.asarray(self.strength) * factor


@isotopic.register
@dataclass(frozen=True, eq=False)
class Barrier(isotopic.Prior):
    """Rows that sum to one with the penalty ``-strength * log(h)``."""

    strength: float = 1.0
    is_normalized = True

    def absorb(self, counts, totals):
        parameters = counts + self.strength
        return self.at(parameters / parameters.sum(axis=1, keepdims=True), totals)

    def penalty(self, factor):
        return -self.strength * np.log(factor).sum(axis=1)

    def slope(self, factor):
        return -self.strength / factor


@isotopic.register
@dataclass(frozen=True)
class LazyUpdates(isotopic.Solver):
    """Update the weights in every pass, and the topics in every ``interval``-th."""

    interval: int = 3

    def step(self, problem, state):
        weights = problem.absorb_weights(state.counts.weights, state.topics)
        topics = state.topics
        if state.passes % self.interval == 0:
            topics = problem.absorb_topics(state.counts.topics, state.topics, weights)
            weights, topics = problem.hand_over_scale(weights, topics)
        return problem.evaluate(weights, topics, state.passes + 1)


@isotopic.register
@dataclass(frozen=True)
class Dispersed(isotopic.Majorized):
    """Counts with the variance ``v + v**2 / shape``: minus a negative binomial likelihood."""

    shape: float = 10.0
    joint_powers = (0.0, 1.0)

    def values(self, x, product):
        ratio = (x + self.shape) / (product + self.shape)
        return xlogy(x, x / product) - (x + self.shape) * np.log(ratio)

    def gradient(self, x, product):
        return x / product, (x + self.shape) / (product + self.shape)
