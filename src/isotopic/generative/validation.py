"""Checks of the arguments of generative processes."""

import operator

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from isotopic.containers import as_dense, read_container
from isotopic.generative.draws import Floats, Integers, normalized_rows

# A distribution may sum to 1 up to this difference; it is then normalised.
_SUM_TOLERANCE = 1e-6


def _check_non_negative(name: str, matrix: ArrayLike) -> Floats:
    checked: Floats = check_array(
        as_dense(read_container(matrix, name)).matrix,
        dtype=np.float64,
        ensure_non_negative=True,
        input_name=name,
    )
    return checked


def check_factors(weights: ArrayLike, topics: ArrayLike) -> tuple[Floats, Floats]:
    """Return both factors as non-negative arrays with the same number of components."""
    weights, topics = _check_non_negative("weights", weights), _check_non_negative("topics", topics)
    if weights.shape[1] != topics.shape[0]:
        raise ValueError(
            "weights (samples x components) and topics (components x features) must have the same "
            f"number of components, but their shapes are {weights.shape} and {topics.shape}."
        )
    return weights, topics


def check_distributions(name: str, matrix: ArrayLike) -> Floats:
    """Return rows that sum to 1 exactly; raise if they do not sum to 1 approximately."""
    rows = _check_non_negative(name, matrix)
    sums = rows.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[worst] - 1) > _SUM_TOLERANCE:
        raise ValueError(
            f"Each row of {name} must sum to 1, but row {worst} sums to {sums[worst]}."
        )
    return normalized_rows(rows)


def check_totals(totals: ArrayLike, weights: Floats, topics: Floats) -> Integers:
    """Return a total for each sample; raise if it is positive and nothing can be drawn."""
    given = np.asarray(totals)
    if given.shape not in ((), (len(weights),)):
        raise ValueError(
            f"totals must be a number or one for each of the {len(weights)} samples, but "
            f"its shape is {given.shape}."
        )
    is_total = np.atleast_1d(np.isfinite(given) & (given >= 0) & (given == np.floor(given)))
    if not is_total.all():
        sample = int(np.argmin(is_total))
        value = np.atleast_1d(given)[sample]
        raise ValueError(f"totals must be non-negative integers, but sample {sample} has {value}.")
    totals = np.full(len(weights), given, dtype=np.int64)
    impossible = (totals > 0) & (weights @ topics.sum(axis=1) == 0)
    if impossible.any():
        raise ValueError(
            f"Sample {int(np.argmax(impossible))} has a positive total, but its weights and the "
            "topics give every feature the probability 0."
        )
    return totals


def check_positive(name: str, values: ArrayLike, size: int) -> Floats:
    """Return an array of this size from a positive number or array."""
    given = np.asarray(values, dtype=np.float64)
    if given.shape not in ((), (size,)):
        raise ValueError(
            f"{name} must be a number or have {size} entries, but its shape is {given.shape}."
        )
    if not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(f"{name} must be positive and finite, not {values!r:.100}.")
    return np.broadcast_to(given, size)


def check_n_samples(n_samples: int) -> int:
    """Return the number of samples as an int of at least 1."""
    n_samples = operator.index(n_samples)
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, not {n_samples}.")
    return n_samples
