"""Functions of the entries and rows of a factor, computed by the core."""

from typing import Any

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.threads import current_threads


def table(array: Array) -> tuple[Array, bool]:
    """Return a C-contiguous view of a contiguous matrix, and whether it is transposed."""
    if array.flags.c_contiguous:
        return array, False
    if not array.flags.f_contiguous:
        return np.ascontiguousarray(array), False
    return array.T, True


def effective_factor(
    parameters: Array, counts: Array, offsets: Array | None = None
) -> tuple[Array, Array]:
    r"""Return the effective factor of Dirichlet or Gamma posteriors, and its part of the bound.

    The factor is :math:`\exp(\psi(\text{parameters}) - \text{offsets})` with an offset for each
    row. Its part of the bound has the sums of
    :math:`\log\Gamma(\text{parameters}) - \text{counts}\,\psi(\text{parameters})` over each row, or
    over each column if those are what is contiguous; the counts are the parameters without the
    prior's.
    """
    parameters, turned = table(parameters)
    counts = np.ascontiguousarray(counts.T if turned else counts)
    effective, terms = np.empty_like(parameters), np.empty(len(parameters))
    by_row, by_column = (None, offsets) if turned else (offsets, None)
    native.effective_factor(
        parameters, counts, by_row, by_column, effective, terms, current_threads()
    )
    return (effective.T if turned else effective), terms


def mean_posterior(
    parameters: Array, counts: Array, prior: Array, self_contribution: Array | None = None
) -> tuple[Array, Array, Array]:
    r"""Return the rows' means, the effective factor, and its sums of the objective.

    With the self-contribution :math:`s` of each entry (CVB0) the factor is that of the other
    counts, divided by the sum of its row as the mean is; without one it is the mean. The sums

    .. math:: \sum \frac{\text{prior}}{1 - s} \log\frac{(1 - s)\,\text{counts} +
        \text{prior}}{\text{prior}}

    are over each row, or over each column if those are what is contiguous. The prior is a matrix
    that broadcasts to the parameters.
    """
    sums = row_sums(parameters)
    parameters, turned = table(parameters)

    def as_table(array: Array, dtype: Any) -> Array:
        return np.ascontiguousarray(array.T if turned else array, dtype)

    dtype, own = parameters.dtype, self_contribution
    mean, terms = np.empty_like(parameters), np.empty(len(parameters))
    effective = None if own is None else np.empty_like(parameters)
    native.mean_posterior(
        parameters,
        as_table(counts, dtype),
        None if own is None else as_table(own, dtype),
        as_table(prior, np.float64),
        None if turned else sums,
        sums if turned else None,
        mean,
        effective,
        terms,
        current_threads(),
    )
    effective = mean if effective is None else effective
    return (mean.T, effective.T, terms) if turned else (mean, effective, terms)


def gamma_functions(x: Array) -> tuple[Array, Array]:
    """Return digamma and log-gamma of an array of positive numbers."""
    x = np.ascontiguousarray(x, dtype=np.float64)
    digamma, log_gamma = np.empty_like(x), np.empty_like(x)
    native.gamma_functions(x.ravel(), digamma.reshape(-1), log_gamma.reshape(-1))
    return digamma, log_gamma


def distance(
    a: Array, b: Array, *, row_scale: Array | None = None, column_scale: Array | None = None
) -> float:
    """Return the sum of ``|a - scale * b|``, with a scale for each row and column (default 1)."""
    a, turned = table(a)
    b = np.ascontiguousarray(b.T if turned else b)
    if turned:
        row_scale, column_scale = column_scale, row_scale
    if row_scale is not None:
        row_scale = np.ascontiguousarray(row_scale, np.float64)
    if column_scale is not None:
        column_scale = np.ascontiguousarray(column_scale, np.float64)
    return native.distance(a, b, row_scale, column_scale, current_threads())


def row_distances(a: Array, b: Array) -> Array:
    """Return the sum of ``|a - b|`` of each row of C-contiguous arrays, in float64."""
    distances = np.empty(len(a))
    native.row_distances(a, b, distances, current_threads())
    return distances


def row_sums(array: Array) -> Array:
    """Return the sum of each row, in float64."""
    array, turned = table(array)
    sums = np.empty(array.shape[1 if turned else 0])
    native.sums(array, turned, sums, current_threads())
    return sums


def normalized(array: Array, *, in_place: bool = False) -> Array:
    """Return rows divided by their sums; a row of zeros becomes uniform."""
    sums = row_sums(array)
    array, turned = table(array)
    result = array if in_place else np.empty_like(array)
    native.normalize(array, turned, sums, result, current_threads())
    return result.T if turned else result


def extrapolated(
    latest: Array,
    previous: Array,
    totals: Array,
    *,
    momentum: Array | float,
    floor: Array | float,
) -> Array:
    r"""Return expected counts extrapolated by their last change, in the logarithms.

    .. math:: \text{latest} \cdot (\text{latest} / \text{previous})^{\text{momentum}}

    Rows are samples or features, with their components as columns. Entries that are positive stay
    at least ``floor`` times their row's total, entries that are zero stay zero, and each row is
    scaled to its total. The momentum, between 0 and 1, and the floor may differ by row.
    """
    latest, previous = np.ascontiguousarray(latest), np.ascontiguousarray(previous)
    momentums = np.full(len(latest), momentum, np.float64)
    floors = np.full(len(latest), floor, np.float64)
    to = np.empty_like(latest)
    native.extrapolate(latest, previous, totals, momentums, floors, to, current_threads())
    return to
