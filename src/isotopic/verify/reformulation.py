r"""Both problems of Theorem F.1, for any norm, penalty and reconstruction error.

.. math:: \min_{\|w_k\|_p = 1} D(X \| HW) + R(H), \qquad
    \min D(X \| HW) + R(H \operatorname{diag}(\|w_1\|_p, \ldots, \|w_K\|_p))

Gradients are with respect to the logarithms of the entries, so that they vanish at a solution even
where an entry is zero.
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

# Enough for the small problems here; entries that approach zero converge slowest.
_MOST_ITERATIONS = 300


class Penalty(NamedTuple):
    """A function of each weight, and its derivative with respect to the log of the weight."""

    value: Callable[[Array], Array]
    log_derivative: Callable[[Array], Array]


class Error(NamedTuple):
    """A function of an entry of the data and of the product, and its derivative by the latter."""

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
    """A sparse problem with and without the constraint on the topics."""

    X: Array
    p: float  # the topics have unit l_p norm
    penalty: Penalty
    error: Error
    strength: float  # the factor of the penalty

    def normalized(self, weights: Array, topics: Array) -> Point:
        """Return the same product with topics of unit norm: the weights take over the norms."""
        norms = (topics**self.p).sum(axis=1) ** (1 / self.p)
        return weights * norms, topics / norms[:, np.newaxis]

    def constrained(self, weights: Array, topics: Array) -> tuple[float, Point]:
        """Return the constrained objective and its gradient along the constraint."""
        value, by_weights, by_topics = self._error(weights, topics)
        by_weights += self.strength * self.penalty.log_derivative(weights)
        # The part of the gradient that remains after rescaling to unit norm.
        by_topics -= topics**self.p * by_topics.sum(axis=1, keepdims=True)
        return value + self._penalty(weights), (by_weights, by_topics)

    def reformulated(self, weights: Array, topics: Array) -> tuple[float, Point]:
        """Return the unconstrained objective and its gradient."""
        value, by_weights, by_topics = self._error(weights, topics)
        scaled, unit = self.normalized(weights, topics)
        slope = self.strength * self.penalty.log_derivative(scaled)
        by_topics += slope.sum(axis=0)[:, np.newaxis] * unit**self.p
        return value + self._penalty(scaled), (by_weights + slope, by_topics)

    def solve(self, weights: Array, topics: Array, *, constrained: bool) -> Point:
        """Return a numerical minimum, starting from these factors."""
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
        # The line search may try and reject huge steps. Threads would only wait for each other.
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
    """Return the larger of the absolute sums of a gradient over each factor."""
    return max(float(np.abs(side).sum()) for side in gradient)
