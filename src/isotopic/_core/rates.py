"""Poisson regression of features on exposures, in NumPy.

The twin of ``rates.hpp``, which says what is maximised and how.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_EM_STEPS, _NEWTON_STEPS = 3, 100
_ROUNDING = 1e-14
_HALVINGS = 20


def fit_rates(
    column_starts: Array,
    samples: Array,
    values: Array,
    exposures: Array,
    totals: Array,
    overall: Array,
    pseudo_count: float,
    rates: Array,
    covariance: Array,
    threads: int,
) -> None:
    """Fit the rates of each feature, and compute the covariance of their logarithms."""
    for v in np.flatnonzero(overall > 0):
        entries = slice(column_starts[v], column_starts[v + 1])
        x, own = values[entries], exposures[samples[entries]]
        cost = totals + pseudo_count / overall[v]
        rates[v], information = _maximize(x, own, cost, pseudo_count, rates[v])
        covariance[v] = np.linalg.inv(information).ravel()


def _maximize(
    x: Array, exposures: Array, cost: Array, pseudo_count: float, rates: Array
) -> tuple[Array, Array]:
    """Return the rates of one feature, and the information about their logarithms."""

    def evaluate(rates: Array) -> tuple[float, Array]:
        products = exposures @ rates
        value = float(x @ np.log(products)) + pseudo_count * float(np.log(rates).sum())
        return value - float(cost @ rates), exposures * rates / products[:, np.newaxis]

    for _ in range(_EM_STEPS):
        rates = (x @ evaluate(rates)[1] + pseudo_count) / cost
    value, shares = evaluate(rates)
    for _ in range(_NEWTON_STEPS):
        information = (shares.T * x) @ shares + pseudo_count * np.eye(len(rates))
        gradient = x @ shares + pseudo_count - rates * cost
        step = np.linalg.solve(information, gradient)
        enough = _ROUNDING * abs(value)
        if not gradient @ step > enough:
            break
        length = min(1.0, -0.9 / step.min()) if step.min() < 0 else 1.0  # rates stay positive
        for _ in range(_HALVINGS + 1):
            found, shares = evaluate(rates * (1 + length * step))
            if found >= value - enough:
                break
            length /= 2
        rates, value = rates * (1 + length * step), found
    return rates, (shares.T * x) @ shares + pseudo_count * np.eye(len(rates))
