"""The functions of the compiled core in NumPy, for machines without a compiler.

Same names, same arguments, same results to rounding; see ``_native.pyi`` and ``kernels.hpp``.
Memory is bounded as there: a row block at a time.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

Array = NDArray[Any]

# Rows are shared out so many at a time.
_ROWS_AT_A_TIME = 1024

# A weight falls to no less than this part of itself at a time, unless to zero.
_LEAST_PART = 1 / 1024


class Workspace:
    """Memory kept between passes; NumPy has its own."""


def _possible(x: Array, product: Array) -> Array:
    """Tell where the product can explain the count without an overflow."""
    possible: Array = product >= np.finfo(product.dtype).tiny * np.maximum(4 * x, 1)
    return possible


def _ratios(x: Array, product: Array) -> Array:
    """Divide, giving zero where the product cannot explain anything."""
    return np.divide(x, product, out=np.zeros_like(product), where=_possible(x, product))


def _log_likelihoods(x: Array, product: Array) -> Array:
    with np.errstate(divide="ignore"):
        return special.xlogy(x, np.where(_possible(x, product), product, 0), dtype=np.float64)


def expected_counts(
    row_starts: Array,
    features: Array,
    values: Array,
    block_rows: Array,
    by_feature: Any,
    weights: Array,
    topics: Array,
    weight_counts: Array,
    topic_counts: Array | None,
    log_likelihoods: Array,
    workspace: Workspace,
    threads: int,
) -> None:
    """One pass over the row blocks of a sparse matrix."""
    sums = np.zeros_like(topics)
    for begin, end in pairwise(block_rows):
        starts = row_starts[begin : end + 1]
        entries = slice(starts[0], starts[-1])
        x, columns, block_weights = values[entries], features[entries], weights[begin:end]
        rows = np.repeat(np.arange(end - begin), np.diff(starts))
        product = np.einsum("ek,ek->e", block_weights[rows], topics[columns])
        ratio = sparse.csr_array(
            (_ratios(x, product), columns, starts - starts[0]),
            shape=(end - begin, len(topics)),
        )
        weight_counts[begin:end] = block_weights * (ratio @ topics)
        log_likelihoods[begin:end] = np.bincount(
            rows, weights=_log_likelihoods(x, product), minlength=end - begin
        )
        if topic_counts is not None:
            sums += ratio.T @ block_weights
    if topic_counts is not None:
        np.multiply(topics, sums, out=topic_counts)


def give_back_memory() -> None:
    """NumPy holds nothing back."""


def padded(topics: Array, threads: int) -> Array:
    """Nothing is gained by padding here."""
    return topics


def row_pass(
    row_starts: Array,
    row_ends: Array,
    features: Array,
    values: Array,
    weights: Array,
    topics: Array,
    weight_counts: Array,
    log_likelihoods: Array,
    threads: int,
) -> None:
    """Share out the counts of some rows, for the weights only."""
    lengths = row_ends - row_starts
    starts = np.append(0, np.cumsum(lengths))
    entries = np.arange(starts[-1]) + np.repeat(row_starts - starts[:-1], lengths)
    expected_counts(
        starts,
        features[entries],
        values[entries],
        np.append(np.arange(0, len(weights), _ROWS_AT_A_TIME), len(weights)),
        (),
        weights,
        topics,
        weight_counts,
        None,
        log_likelihoods,
        Workspace(),
        threads,
    )


def column_index(
    n_features: int,
    block_rows: Array,
    row_starts: Array,
    features: Array,
    threads: int,
) -> tuple[()]:
    """Not needed here."""
    return ()


def turned(
    n_features: int,
    block_rows: Array,
    row_starts: Array,
    features: Array,
    values: Array,
    by_feature: Any,
) -> tuple[Array, Array, Array]:
    """Turn a sparse matrix around."""
    shape = (len(row_starts) - 1, n_features)
    made = sparse.csr_array((values, features, row_starts), shape=shape).T.tocsr()
    return made.indptr.astype(np.int64), made.indices.astype(np.int32), made.data


def divide(x: Array, product: Array, log_likelihoods: Array, threads: int) -> None:
    """Turn a dense product into ratios."""
    log_likelihoods[:] = _log_likelihoods(x, product).sum(axis=1)
    product[:] = _ratios(x, product)


def effective_factor(
    parameters: Array,
    counts: Array,
    row_offsets: Array | None,
    column_offsets: Array | None,
    effective: Array,
    terms: Array,
    threads: int,
) -> None:
    """exp(digamma(parameters) - offsets), and the rows' terms of the bound."""
    wide = parameters.astype(np.float64)
    digamma = special.digamma(wide)
    terms[:] = (special.gammaln(wide) - counts * digamma).sum(axis=1)
    if row_offsets is not None:
        digamma -= row_offsets[:, np.newaxis]
    if column_offsets is not None:
        digamma -= column_offsets
    effective[:] = np.exp(digamma)


def distance(
    a: Array,
    b: Array,
    row_scale: Array | None,
    column_scale: Array | None,
    threads: int,
) -> float:
    """Sum of the absolute differences of a and the scaled b."""
    scaled = b.astype(np.float64)
    if row_scale is not None:
        scaled *= row_scale[:, np.newaxis]
    if column_scale is not None:
        scaled *= column_scale
    return float(np.abs(a - scaled).sum())


def row_distances(a: Array, b: Array, to: Array, threads: int) -> None:
    """Sum of the absolute differences of each row."""
    to[:] = np.abs(a - b).sum(axis=1, dtype=np.float64)


def sums(a: Array, by_column: bool, to: Array, threads: int) -> None:
    """Sum rows or columns."""
    to[:] = a.sum(axis=0 if by_column else 1, dtype=np.float64)


def normalize(a: Array, by_column: bool, sums: Array, to: Array, threads: int) -> None:
    """Rows or columns divided by their sums, uniform where the sum is zero."""
    sums = sums if by_column else sums[:, np.newaxis]
    uniform = 1 / a.shape[0 if by_column else 1]
    to[:] = np.where(sums > 0, a / np.where(sums > 0, sums, 1), uniform)


def extrapolate(
    latest: Array,
    previous: Array,
    totals: Array,
    momentum: Array,
    floor: Array,
    to: Array,
    threads: int,
) -> None:
    """Take counts further along the way that they went, each row scaled to its total."""
    smallest = np.finfo(latest.dtype).tiny
    positive = latest >= smallest
    moved = positive & (previous >= smallest)
    wide = latest.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        change = np.divide(wide, previous, out=np.ones_like(wide), where=moved)
        further = wide * np.clip(change, 1e-300, 1e300) ** momentum[:, np.newaxis]
    most, least = totals[:, np.newaxis], (floor * totals)[:, np.newaxis]
    further = np.where(positive, np.maximum(np.minimum(further, most), least), 0)
    sums = further.sum(axis=1)
    by = np.divide(totals, sums, out=np.ones_like(sums), where=sums > 0)
    to[:] = further * by[:, np.newaxis]


def squared_shares(
    row_starts: Array,
    features: Array,
    values: Array,
    weights: Array,
    topics: Array,
    to: Array,
    threads: int,
) -> None:
    """Each count times the sum of its squared shares."""
    rows = np.repeat(np.arange(len(weights)), np.diff(row_starts))
    for begin in range(0, len(values), 2**14):
        some = slice(begin, begin + 2**14)
        products = weights[rows[some]].astype(np.float64) * topics[features[some]]
        whole = products.sum(axis=1, keepdims=True)
        shares = np.divide(products, whole, out=np.zeros_like(products), where=whole > 0)
        to[some] = values[some] * np.square(shares).sum(axis=1)


def descend(
    row_starts: Array,
    features: Array,
    values: Array,
    others: Array,
    slopes: Array,
    repeats: Array | None,
    sweeps: int,
    from_: Array,
    to: Array,
    threads: int,
) -> None:
    """Coordinate descent on the weights of each sample; see ``descent.hpp`` for the steps."""
    n_rows, n_components = from_.shape
    rows = np.repeat(np.arange(n_rows), np.diff(row_starts))
    totals = np.bincount(rows, weights=values, minlength=n_rows)
    scale = np.exp2(-np.floor(np.log2(np.where(totals > 0, totals, 1))))
    x, weights = values * scale[rows], from_ * scale[:, np.newaxis]
    products = np.einsum("ek,ek->e", weights[rows], others[features], dtype=np.float64)
    _explain(x, products, weights, rows, others[features], slopes)
    costs = np.outer(np.ones(n_rows) if repeats is None else repeats, slopes)
    for k in np.tile(np.arange(n_components), sweeps):
        a, now = others[features, k].astype(np.float64), weights[:, k].copy()
        weights[:, k] = _moved(x, products, a, rows, now, costs[:, k])
        products += (weights[:, k] - now)[rows] * a
    to[:] = weights / scale[:, np.newaxis]


def _explain(
    x: Array, products: Array, weights: Array, rows: Array, others: Array, slopes: Array
) -> None:
    """Give counts that nothing explains to the best component; leave out what none has."""
    shares = np.divide(1, slopes, out=np.zeros_like(slopes), where=slopes > 0)
    for entry in np.flatnonzero(~_possible(x, products.astype(others.dtype))):
        if _possible(x[entry], products[entry].astype(others.dtype)):
            continue  # an entry before it saw to that
        best = int(np.argmax(others[entry] * shares))
        by = x[entry] * shares[best]
        if _possible(x[entry], (by * others[entry, best]).astype(others.dtype)):
            weights[rows[entry], best] += by
            same = rows == rows[entry]
            products[same] += by * others[same, best]
        else:
            x[entry], products[entry] = 0, 1


def _moved(x: Array, products: Array, a: Array, rows: Array, now: Array, slope: Array) -> Array:
    """Move one weight of every sample towards its optimum, never beyond."""

    def total(values: Array) -> Array:
        return np.bincount(rows, weights=values, minlength=len(now))

    with np.errstate(all="ignore"):
        pull, curvature = total(x * a / products), total(x * (a / products) ** 2)
        step = pull / curvature * (pull / slope - 1)
        part = now * curvature / (now * curvature + slope - pull)
        rest = products - now[rows] * a
        lost = total(rest < _LEAST_PART * products) > 0
        zero = (now + step <= 0) & ~lost & (total(x * a / rest) <= slope)
    down = np.where(zero, 0, now * np.maximum(part, _LEAST_PART))
    moved = np.where(pull > slope, now + step, np.where((now > 0) & (pull < slope), down, now))
    moved = np.where((pull > 0) & (curvature > 0), moved, 0)
    return np.where((slope > 0) & (curvature < np.inf), moved, now)


def gamma_functions(x: Array, digamma: Array, log_gamma: Array) -> None:
    """Digamma and log-gamma of positive numbers."""
    digamma[:] = special.digamma(x)
    log_gamma[:] = special.gammaln(x)


def level() -> str:
    """Name what runs."""
    return "numpy"


def levels() -> list[str]:
    """Name what can run."""
    return ["numpy"]
