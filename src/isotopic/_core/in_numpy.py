"""The functions of the compiled core in NumPy, for machines without a compiler.

They have the same names, arguments and results (up to rounding) as those in ``_native.pyi``, so the
tests use them as the reference. ``kernels.hpp`` says what each argument means. Like the compiled
core, they use memory for one row block at a time.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from isotopic._core.rates import fit_rates as fit_rates  # noqa: PLC0414 - one of them
from isotopic._core.sampling import draw_topics as draw_topics  # noqa: PLC0414 - one of them
from isotopic._core.sampling import sample_sweeps as sample_sweeps  # noqa: PLC0414 - one of them
from isotopic._core.selection import select_topics as select_topics  # noqa: PLC0414 - one of them
from isotopic._core.stack import STACK_WIDTH as STACK_WIDTH  # noqa: PLC0414
from isotopic._core.stack import extrapolate_stack as extrapolate_stack  # noqa: PLC0414
from isotopic._core.stack import stacked_pass as stacked_pass  # noqa: PLC0414

Array = NDArray[Any]

# Rows of a row pass that are computed together.
_ROWS_AT_A_TIME = 1024

# The smallest part of itself to which a weight may shrink in one step, except to zero.
_LEAST_PART = 1 / 1024

# Every so many sweeps, weights that are zero are tried too.
_FULL_SWEEP = 4


# The nodes of a histogram: of an octave, the first octave, octaves, and nodes by share.
_PER_OCTAVE, _FIRST_OCTAVE, _OCTAVES, _SHARE_NODES = 8, -12, 36, 9
_SIZE_NODES = _PER_OCTAVE * _OCTAVES
HISTOGRAM_SIZE = _SIZE_NODES * _SHARE_NODES


class Workspace:
    """Stand in for the memory that the compiled core keeps between passes."""


def _possible(x: Array, product: Array) -> Array:
    """Return where the product explains the count without an overflow of their ratio."""
    possible: Array = product >= np.finfo(product.dtype).tiny * np.maximum(4 * x, 1)
    return possible


def _ratios(x: Array, product: Array) -> Array:
    """Return x / product, or zero where the product cannot explain the count."""
    return np.divide(x, product, out=np.zeros_like(product), where=_possible(x, product))


def _log_likelihoods(x: Array, product: Array) -> Array:
    """Return x log(product), which is minus infinity where the product explains nothing."""
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
    """Compute the expected counts in one pass over the row blocks of a sparse matrix."""
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


def release_memory() -> None:
    """Do nothing: NumPy keeps no memory."""


def pad_topics(topics: Array, threads: int) -> Array:
    """Return the topics unchanged: padding would gain nothing here."""
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
    """Compute the expected counts of some rows, for the weights only."""
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
    """Return an empty index: none is needed here."""
    return ()


def order_values(by_feature: Any, values: Array, to: Array) -> None:
    """Copy the values: they need no order here."""
    to[:] = values


def divide(x: Array, product: Array, log_likelihoods: Array, threads: int) -> None:
    """Replace the product by x / product and compute the log-likelihood of each row."""
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
    """Compute exp(digamma(parameters) - offsets) and the terms of the bound by row."""
    wide = parameters.astype(np.float64)
    digamma = special.digamma(wide)
    terms[:] = (special.gammaln(wide) - counts * digamma).sum(axis=1)
    if row_offsets is not None:
        digamma -= row_offsets[:, np.newaxis]
    if column_offsets is not None:
        digamma -= column_offsets
    effective[:] = np.exp(digamma)


def mean_posterior(
    parameters: Array,
    counts: Array,
    self_contribution: Array | None,
    prior: Array,
    row_sums: Array | None,
    column_sums: Array | None,
    mean: Array,
    effective: Array | None,
    terms: Array,
    threads: int,
) -> None:
    """Compute the mean, the factor without self-contributions, and the terms by row."""
    sums: Any = column_sums if row_sums is None else row_sums[:, np.newaxis]
    others = 1.0 if self_contribution is None else 1 - self_contribution.astype(np.float64)
    factor = others * counts.astype(np.float64) + prior
    mean[:] = parameters * (1 / sums)
    if effective is not None:
        effective[:] = factor * (1 / sums)
    is_allowed = prior > 0  # forbidden entries, whose prior is zero, add nothing
    ratios = np.where(is_allowed, factor / np.where(is_allowed, prior, 1), 1)
    terms[:] = (prior / others * np.log(ratios)).sum(axis=1)


def distance(
    a: Array,
    b: Array,
    row_scale: Array | None,
    column_scale: Array | None,
    threads: int,
) -> float:
    """Return the sum of the absolute differences of a and the scaled b."""
    scaled = b.astype(np.float64)
    if row_scale is not None:
        scaled *= row_scale[:, np.newaxis]
    if column_scale is not None:
        scaled *= column_scale
    return float(np.abs(a - scaled).sum())


def row_distances(a: Array, b: Array, to: Array, threads: int) -> None:
    """Compute the sum of the absolute differences of each row."""
    to[:] = np.abs(a - b).sum(axis=1, dtype=np.float64)


def sums(a: Array, by_column: bool, to: Array, threads: int) -> None:
    """Compute the sum of each row or column."""
    to[:] = a.sum(axis=0 if by_column else 1, dtype=np.float64)


def normalize(a: Array, by_column: bool, sums: Array, to: Array, threads: int) -> None:
    """Divide rows or columns by their sums; make them uniform where the sum is zero."""
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
    """Extrapolate counts along their last change and scale each row to its total."""
    smallest = np.finfo(latest.dtype).tiny
    positive = latest >= smallest
    moved = positive & (previous >= smallest)
    wide, limits = latest.astype(np.float64), np.finfo(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        change = np.divide(wide, previous, out=np.ones_like(wide), where=moved)
        further = wide * np.clip(change, limits.tiny, limits.max) ** momentum[:, np.newaxis]
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
    """Compute each count times the sum of its squared shares."""
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
    """Run coordinate descent on the weights of each sample; ``descent.hpp`` has the formulas."""
    n_rows, n_components = from_.shape
    rows = np.repeat(np.arange(n_rows), np.diff(row_starts))
    totals = np.bincount(rows, weights=values, minlength=n_rows)
    scale = np.exp2(-np.floor(np.log2(np.where(totals > 0, totals, 1))))
    x, weights = values * scale[rows], from_ * scale[:, np.newaxis]
    products = np.einsum("ek,ek->e", weights[rows], others[features], dtype=np.float64)
    _explain_all(x, products, weights, rows, others[features], slopes)
    costs = np.outer(np.ones(n_rows) if repeats is None else repeats, slopes)
    for sweep in range(sweeps):
        tried = weights > 0
        if sweep % _FULL_SWEEP == 0:
            pulls = np.zeros_like(weights)
            np.add.at(pulls, rows, (x / products)[:, np.newaxis] * others[features])
            tried |= pulls > costs
        for k in range(n_components):
            a, now = others[features, k].astype(np.float64), weights[:, k].copy()
            new = _updated_weights(x, products, a, rows, now, costs[:, k])
            weights[:, k] = np.where(tried[:, k], new, now)
            products += (weights[:, k] - now)[rows] * a
    to[:] = weights / scale[:, np.newaxis]


def descend_features(
    row_starts: Array,
    features: Array,
    values: Array,
    block_rows: Array,
    by_feature: Any,
    whole: Array | None,
    other: Array | None,
    others: Array,
    slopes: Array,
    sweeps: int,
    from_: Array,
    to: Array,
    threads: int,
) -> None:
    """Run coordinate descent on the topics of each feature, next to the weights of the samples."""
    shape = (len(row_starts) - 1, len(from_))
    turned = sparse.csr_array((values, features, row_starts), shape=shape).T.tocsr()
    parts = turned.indptr, turned.indices, turned.data
    descend(*parts, others, slopes, None, sweeps, from_, to, threads)


class _WeightsRule(NamedTuple):
    """What a prior makes of the absorbed counts of samples; see ``SampleWeights``."""

    prior: Array
    part: Any
    scale: Array | None
    is_variational: bool
    sums: Array

    def absorb(self, counts: Array) -> tuple[Array, Array, Array]:
        """Return the parameters, the effective weights and a variational prior's terms."""
        parameters, terms = counts * self.part + self.prior, np.zeros(len(counts))
        if self.is_variational:
            digamma = special.digamma(parameters)
            offset = 0.0 if self.scale is not None else special.digamma(self.sums)
            effective = np.exp(digamma - offset)
            terms = (counts * digamma - special.gammaln(parameters)).sum(axis=1)
        else:
            effective = parameters / (1.0 if self.scale is not None else self.sums)
        return parameters, effective * (1.0 if self.scale is None else self.scale), terms

    def may_have_risen(self, parameters: Array, accepted: Array, counts: Array) -> Array:
        """Return of which samples the objective may have risen since the accepted step."""
        change = np.zeros_like(parameters)
        np.divide(parameters - accepted, parameters, out=change, where=parameters > 0)
        return np.asarray(np.sum((counts + self.prior / self.part) * change, axis=1) < 0)


def infer(
    row_starts: Array,
    row_ends: Array,
    features: Array,
    values: Array,
    topics: Array,
    prior: Array,
    others: Array | None,
    scale: Array | None,
    is_variational: bool,
    tol: float,
    max_updates: int,
    schedule: Array,
    counts: Array,
    squares: Array | None,
    log_likelihoods: Array,
    residuals: Array,
    updates: Array,
    threads: int,
) -> None:
    """Run accelerated EM on the weights of each sample; ``inference.hpp`` has the rule."""
    rows = row_starts, row_ends, features, values
    ends = zip(row_starts, row_ends, strict=True)
    totals = np.array([values[first:end].sum(dtype=np.float64) for first, end in ends])
    first, least, most, growth, first_floor, shrinkage, to_residual = schedule
    part: Any = 1.0 if others is None else others.astype(np.float64)
    rule = _WeightsRule(prior, part, scale, is_variational, (totals + prior.sum(axis=1))[:, None])

    def share_out(absorbed: Array, latest: Array) -> tuple[Array, Array, Array]:
        """Return parameters, effective weights and objectives, and fill the other results."""
        parameters, weights, terms = rule.absorb(absorbed)
        effective = weights.astype(counts.dtype)
        row_pass(*rows, effective, topics, latest, log_likelihoods, threads)
        return parameters, effective, terms - log_likelihoods

    latest, previous = np.empty_like(counts), np.empty_like(counts)
    n_components = counts.shape[1]
    share_out(np.repeat(totals[:, np.newaxis] / n_components, n_components, 1), latest)
    absorbed, best = latest.astype(np.float64), np.full(len(counts), np.inf)
    accepted = np.zeros_like(absorbed)
    momentum, floor = np.full(len(counts), first), np.ones(len(counts))
    residuals[:], updates[:] = np.where(totals > 0, np.inf, 0.0), 0
    is_plain, counts[:] = np.ones(len(counts), bool), 0
    effective, weights = np.zeros_like(counts), np.zeros_like(counts)
    found = np.zeros(len(counts))
    for _ in range(max_updates):
        moving = residuals > tol
        if not moving.any():
            break
        previous, latest = latest, np.empty_like(counts)
        parameters, effective, objectives = share_out(absorbed, latest)
        moved = np.abs(latest - absorbed).sum(axis=1) / np.where(totals > 0, totals, 1)
        is_worse = rule.may_have_risen(parameters, accepted, latest)
        if is_variational:
            is_worse = objectives > best
        failed = ~is_plain & is_worse & (moved > tol)
        accepted = np.where(failed[:, np.newaxis], accepted, parameters)
        latest[failed] = previous[failed]
        kept = np.where(failed, best, objectives)
        counts[moving], weights[moving] = latest[moving], effective[moving]
        residuals[moving], found[moving] = moved[moving], log_likelihoods[moving]
        updates[moving] += 1
        floor = np.where(failed, floor / 2, np.minimum(shrinkage * floor, to_residual * moved))
        momentum = np.where(
            failed, np.maximum(momentum / 2, least), np.minimum(momentum * growth, most)
        )
        absorbed = np.empty(counts.shape)
        by = np.where(failed, 0.0, momentum), np.where(failed, 0.0, first_floor * floor)
        both = latest.astype(np.float64), previous.astype(np.float64)
        extrapolate(*both, totals, *by, absorbed, threads)
        best, is_plain = kept, failed
    log_likelihoods[:] = found
    if squares is not None:
        _square_shares(rows, weights, topics, squares)


def _square_shares(rows: Any, weights: Array, topics: Array, squares: Array) -> None:
    """Sum the squared responsibilities of each sample and component."""
    row_starts, row_ends, features, values = rows
    for row, (first, end) in enumerate(zip(row_starts, row_ends, strict=True)):
        x, factors = values[first:end], topics[features[first:end], : weights.shape[1]]
        shares = weights[row] * factors * _ratios(x, factors @ weights[row])[:, np.newaxis]
        squares[row] = np.square(shares).T @ np.where(x < 1, 1.0, 1 / np.maximum(x, 1))


def _explain_all(
    x: Array, products: Array, weights: Array, rows: Array, others: Array, slopes: Array
) -> None:
    """Give each unexplained count to the best component, or drop it if no component fits."""
    shares = np.divide(1, slopes, out=np.zeros_like(slopes), where=slopes > 0)
    for entry in np.flatnonzero(~_possible(x, products.astype(others.dtype))):
        if _possible(x[entry], products[entry].astype(others.dtype)):
            continue  # a previous entry of the sample has changed its product
        best = int(np.argmax(others[entry] * shares))
        by = x[entry] * shares[best]
        if _possible(x[entry], (by * others[entry, best]).astype(others.dtype)):
            weights[rows[entry], best] += by
            same = rows == rows[entry]
            products[same] += by * others[same, best]
        else:
            x[entry], products[entry] = 0, 1


def _updated_weights(
    x: Array, products: Array, a: Array, rows: Array, now: Array, slope: Array
) -> Array:
    """Return one weight of every sample moved towards its optimum, never beyond it."""

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
    """Compute digamma and log-gamma of positive numbers."""
    digamma[:] = special.digamma(x)
    log_gamma[:] = special.gammaln(x)


def count_histogram(
    counts: Array,
    squares: Array | None,
    copies: Array | None,
    by_column: bool,
    to: Array,
    threads: int,
) -> None:
    """Compute the histogram of the counts of each column, or of all; see ``histogram.hpp``."""
    rows, columns = np.nonzero(counts)
    size = counts[rows, columns].astype(np.float64)
    share = np.zeros_like(size)
    if squares is not None:
        share = np.clip(squares[rows, columns].astype(np.float64) / size, 0, 1)
    weight = np.ones_like(size) if copies is None else copies[rows]
    least = 2.0**_FIRST_OCTAVE
    weight = weight * np.minimum(size / least, 1)
    mantissa, exponent = np.frexp(np.maximum(size, least))
    place = (exponent - 1 - _FIRST_OCTAVE) * _PER_OCTAVE + (2 * mantissa - 1) * _PER_OCTAVE
    place = np.minimum(place, _SIZE_NODES - 1)
    node = np.minimum(place.astype(np.int64), _SIZE_NODES - 2)
    root = np.arcsin(np.sqrt(share)) / (np.pi / 2) * (_SHARE_NODES - 1)
    row = np.minimum(root.astype(np.int64), _SHARE_NODES - 2)
    beyond, upper = place - node, root - row
    first = (columns if by_column else 0) * HISTOGRAM_SIZE + row * _SIZE_NODES + node
    to[:] = 0
    for step, part in (
        (0, (1 - upper) * (1 - beyond)),
        (1, (1 - upper) * beyond),
        (_SIZE_NODES, upper * (1 - beyond)),
        (_SIZE_NODES + 1, upper * beyond),
    ):
        sums = np.bincount(first + step, weights=weight * part, minlength=to.size)
        to += sums.reshape(to.shape)


def concentration_rises(
    histogram: Array, concentration: Array, occurs: int, to: Array, threads: int
) -> None:
    """Compute what the counts of each group say about its concentration; see ``occurrence.hpp``."""
    octave, part = np.divmod(np.arange(_SIZE_NODES), _PER_OCTAVE)
    size = np.tile(2.0 ** (octave + _FIRST_OCTAVE) * (1 + part / _PER_OCTAVE), _SHARE_NODES)
    share = np.repeat(np.sin(np.linspace(0, np.pi / 2, _SHARE_NODES)) ** 2, _SIZE_NODES)
    prior = concentration[:, np.newaxis]
    probability = probability_of(size, share, prior, occurs)
    rises = special.digamma(prior + size / probability) - special.digamma(prior)
    to[:] = (histogram * probability * rises).sum(axis=1)


def concentration_slopes(
    counts: Array,
    squares: Array | None,
    prior: Array,
    occurs: int,
    gains: Array,
    losses: Array,
    threads: int,
) -> None:
    """Compute what a row's likelihood gains and loses by a larger concentration."""
    size = counts.astype(np.float64)
    is_known = (prior > 0) & (size > 0)
    size, start = np.where(is_known, size, 1), np.where(is_known, prior, 1)
    share = np.zeros_like(size) if squares is None else squares / size
    probability = probability_of(size, share, start, occurs)
    rises = special.digamma(start + size / probability) - special.digamma(start)
    gains[:] = np.where(is_known, probability * rises, 0)
    sums, totals = np.broadcast_to(prior.sum(axis=1), len(counts)), counts.sum(axis=1, dtype=float)
    losses[:] = 0
    some = sums > 0
    losses[some] = special.digamma((sums + totals)[some]) - special.digamma(sums[some])


def probability_of(size: Array, share: Array, concentration: Array, occurs: int) -> Array:
    """Return how likely expected counts are positive; see ``concentration_slopes``."""
    if occurs == 0:
        return np.ones(np.broadcast_shapes(np.shape(size), np.shape(concentration)))
    share = np.minimum(share, 1 - 1e-9)
    spread = 1.0 + 0 * (concentration + size)
    if occurs > 1:
        spread = (1 - share) * (concentration + size) / (concentration + share * size)
    beyond = spread - 1
    near = np.abs(beyond) < 1e-4
    ratio = np.where(near, 1 - beyond / 2, np.log(spread) / np.where(near, 1, beyond))
    return np.asarray(-np.expm1(-size * ratio))


def level() -> str:
    """Return the name of the instruction-set level in use."""
    return "numpy"


def levels() -> list[str]:
    """Return the names of the levels that can be used."""
    return ["numpy"]
