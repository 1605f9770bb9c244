"""Priors as someone outside of the package writes them; workers of a cluster import them too."""

from dataclasses import dataclass

import numpy as np

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
