r"""Both problems of Theorem F.1, written out for any norm, penalty and reconstruction error.

.. math:: \min_{\|w_k\|_p = 1} D(X \| HW) + R(H), \qquad
    \min D(X \| HW) + R(H \operatorname{diag}(\|w_1\|_p, \ldots, \|w_K\|_p))

Points are given by the logarithms of their entries. Gradients are by these, so that they vanish at
a solution wherever an entry is zero.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import xlogy

from isotopic.arrays import Array
from isotopic.threads import one_blas_thread

Point = tuple[Array, Array]

# Enough for the small problems here; the flat ends of entries that go to zero take the longest.
_MOST_ITERATIONS = 300


class Penalty(NamedTuple):
    """A function of each weight, and its derivative by the logarithm of the weight."""

    value: Callable[[Array], Array]
    drive: Callable[[Array], Array]


class Error(NamedTuple):
    """A function of each entry of the data and of the product, and its derivative by the latter."""

    value: Callable[[Array, Array], Array]
    slope: Callable[[Array, Array], Array]


PENALTIES = {
    "l1": Penalty(lambda h: h, lambda h: h),
    "log": Penalty(np.log1p, lambda h: h / (1 + h)),
    "power": Penalty(np.sqrt, lambda h: 0.5 * np.sqrt(h)),
}
ERRORS = {
    "Kullback-Leibler": Error(lambda x, y: xlogy(x, x / y) - x + y, lambda x, y: 1 - x / y),
    "Euclidean": Error(lambda x, y: (x - y) ** 2, lambda x, y: 2 * (y - x)),
    "Itakura-Saito": Error(lambda x, y: x / y - np.log(x / y) - 1, lambda x, y: (y - x) / y**2),
}


@dataclass(frozen=True)
class Sparse:
    """A sparse problem: what is minimised, with and without the constraint.

    Parameters
    ----------
    X : ndarray of shape (samples, features)
    p : float
        Of the norm of the topics.
    penalty : Penalty
    error : Error
    strength : float
        Of the penalty.
    """

    X: Array
    p: float
    penalty: Penalty
    error: Error
    strength: float

    def normalized(self, weights: Array, topics: Array) -> Point:
        """Map to unit norm: hand the norms of the topics over to the weights."""
        norms = (topics**self.p).sum(axis=1) ** (1 / self.p)
        return weights * norms, topics / norms[:, np.newaxis]

    def constrained(self, weights: Array, topics: Array) -> tuple[float, Point]:
        """Evaluate at unit norm, with the gradient along the constraint."""
        value, by_weights, by_topics = self._error(weights, topics)
        by_weights += self.strength * self.penalty.drive(weights)
        # Of a change of all entries, what is left after scaling back to unit norm.
        by_topics -= topics**self.p * by_topics.sum(axis=1, keepdims=True)
        return value + self._penalty(weights), (by_weights, by_topics)

    def reformulated(self, weights: Array, topics: Array) -> tuple[float, Point]:
        """Evaluate without constraint, with the gradient."""
        value, by_weights, by_topics = self._error(weights, topics)
        scaled, unit = self.normalized(weights, topics)
        pull = self.strength * self.penalty.drive(scaled)
        by_topics += pull.sum(axis=0)[:, np.newaxis] * unit**self.p
        return value + self._penalty(scaled), (by_weights + pull, by_topics)

    def solve(self, weights: Array, topics: Array, *, constrained: bool) -> Point:
        """Minimise numerically from a start; both are of any scale."""
        shapes, n_weights = (weights.shape, topics.shape), weights.size

        def split(u: Array) -> Point:
            entries = np.exp(u)
            point = entries[:n_weights].reshape(shapes[0]), entries[n_weights:].reshape(shapes[1])
            return (point[0], self.normalized(*point)[1]) if constrained else point

        def evaluate(u: Array) -> tuple[float, Array]:
            problem = self.constrained if constrained else self.reformulated
            value, gradient = problem(*split(u))
            return value, np.concatenate([side.ravel() for side in gradient])

        start = np.log(np.concatenate([weights.ravel(), topics.ravel()]))
        options: Any = {"maxiter": _MOST_ITERATIONS, "maxcor": len(start), "gtol": 1e-10, "ftol": 0}
        # The search along a line looks far out, and turns back. Threads only wait for each other.
        with np.errstate(all="ignore"), one_blas_thread:
            found = minimize(evaluate, start, jac=True, method="L-BFGS-B", options=options)
        return split(found.x)

    def _error(self, weights: Array, topics: Array) -> tuple[float, Array, Array]:
        product = weights @ topics
        slope = self.error.slope(self.X, product)
        value = float(self.error.value(self.X, product).sum())
        return value, weights * (slope @ topics.T), topics * (weights.T @ slope)

    def _penalty(self, weights: Array) -> float:
        return self.strength * float(self.penalty.value(weights).sum())


def steepness(gradient: Point) -> float:
    """Measure a gradient by the larger of the sums over each side."""
    return max(float(np.abs(side).sum()) for side in gradient)
