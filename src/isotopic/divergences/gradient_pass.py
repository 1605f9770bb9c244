"""A pass that sums the gradient of a divergence, for multiplicative updates.

Both kinds of rows have ``sums``, the numerator and denominator multiplied by the topics, and the
``values`` of the divergence of each row.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences.base import PassSums
from isotopic.kernels import in_waves
from isotopic.priors import Posterior, Prior
from isotopic.threads import one_blas_thread

if TYPE_CHECKING:
    from isotopic.divergences.majorized import Majorized

# Blocks of dense rows are of about this many bytes, so that their gradients stay in a second-level
# cache; but for so many rows at least it is worth adding up the sums of the topics. Gram matrices
# need no products, so their blocks are larger.
_BLOCK_BYTES = 2**18
_MIN_ROWS = 32
_GRAM_ROWS = 4096


class DenseRows:
    """Gradients from the product of the factors, which is formed for these rows.

    ``missing`` has the rows and the features of the missing entries, where ``x`` is one.
    """

    def __init__(
        self,
        divergence: "Majorized",
        x: Array,
        weights: Array,
        topics: Array,
        saturated: Array,
        missing: tuple[Array, Array] | None,
    ) -> None:
        product = weights @ topics
        if missing is not None:
            product[missing] = 1
        unreachable = None
        if divergence.needs_positive_product and product.min() == 0:
            unreachable = np.any((product == 0) & (x > 0), axis=1)
        floor = divergence.smallest_product(product.dtype)
        np.maximum(product, product.dtype.type(floor), out=product)
        self.numerator, self.denominator = divergence.gradient(x, product)
        if missing is not None:
            self.numerator[missing], self.denominator[missing] = 0, 0
        self.sums = self.numerator @ topics.T, self.denominator @ topics.T
        self.values = divergence.row_values(x, product, saturated, weights, self.sums, missing)
        if unreachable is not None:
            self.values[unreachable] = np.inf

    def sum_over_samples(
        self, numerator_weights: Array, denominator_weights: Array
    ) -> tuple[Array, Array]:
        """Multiply each part by its weights."""
        return numerator_weights.T @ self.numerator, denominator_weights.T @ self.denominator


class GramRows:
    r"""Gradients of half the squared distance, from Gram matrices: the product is never formed.

    .. math:: (WT) T^\top = W (T T^\top), \qquad W^\top (WT) = (W^\top W) T
    """

    def __init__(self, x: Any, weights: Array, topics: Array, saturated: Array) -> None:
        self.x, self.weights, self.topics = x, weights, topics
        self.sums = x @ topics.T, weights @ (topics @ topics.T)
        self.values = squared_distances(saturated, weights, *self.sums)

    def sum_over_samples(
        self, numerator_weights: Array, denominator_weights: Array
    ) -> tuple[Array, Array]:
        """Multiply the data by its weights, and the Gram matrix of the others by the topics."""
        numerator = (self.x.T @ numerator_weights).T
        return numerator, (denominator_weights.T @ self.weights) @ self.topics


def squared_distances(
    saturated: Array, weights: Array, numerator: Array, denominator: Array
) -> Array:
    """Return half the squared distance of each row, from its sums."""
    halves = np.einsum("dk,dk->d", weights, denominator / 2 - numerator, dtype=np.float64)
    return np.asarray(saturated + halves)


class Gradients(NamedTuple):
    """The sums over one pass; each sample counts once in those of its weights."""

    weights: Array  # 2 x samples x components: both parts, summed over features with the topics
    # 0, 2 or 4 x components x features: the same summed over samples with the weights, then with
    # the weights' next values, which are the sums of the joint majorizer.
    topics: Array
    values: Array  # the divergence of each sample
    proposal: Array  # the weights' next values


class GradientPass:
    """Sum the gradient over fixed data; can be called repeatedly.

    The data is worked on in row blocks, so the whole product is never in memory. With
    ``rows_per_block`` every block has that size, filled up if need be: then the result of a row
    does not depend on which others are there. Each block is the work of one thread and sums are
    added in order: the bits do not depend on the number of threads.

    Parameters
    ----------
    divergence : Majorized
    X : CountMatrix
        For samples that count more than once, it holds the counts of all copies.
    rows_per_block : int or None
    """

    def __init__(
        self, divergence: "Majorized", X: CountMatrix, rows_per_block: int | None = None
    ) -> None:
        self.divergence, self.X, self.is_filled = divergence, X, rows_per_block is not None
        self.uses_gram = divergence.is_squared_distance and X.missing is None
        rows = _GRAM_ROWS if self.uses_gram else _dense_rows(X)
        self.rows = rows if rows_per_block is None else rows_per_block
        self.blocks = _row_slices(X, self.rows)
        self.copies = None if X.copies is None else X.copies[:, np.newaxis].astype(X.dtype)
        self.csr = _as_csr(X) if X.is_sparse else None

    def __call__(
        self,
        prior: Prior,
        weights: Posterior,
        topics: Posterior,
        *,
        weights_only: bool,
        jointly: bool,
        rescales: bool,
    ) -> PassSums:
        """Return the weights' next values, and the sums of which the topics' are made."""
        found = self.gradients(
            prior,
            weights.mean,
            topics.mean,
            weights_only=weights_only,
            jointly=jointly,
            rescales=rescales,
        )
        return self.collect(prior, weights, found)

    def collect(self, prior: Prior, weights: Posterior, sums: Gradients) -> PassSums:
        """Return what is stacked and added over row blocks, from the gradient's sums."""
        numerator, denominator = sums.weights * weights.mean
        if self.copies is not None:
            numerator, denominator = numerator * self.copies, denominator * self.copies
        values = sums.values if self.X.copies is None else sums.values * self.X.copies
        return PassSums(
            sums.proposal,
            sums.topics,
            -float(values.sum()),
            prior.gap(weights, numerator - denominator, 0.0),
            float(numerator.sum(axis=1, dtype=np.float64).sum()),
        )

    def gradients(
        self,
        prior: Prior,
        weights: Array,
        topics: Array,
        *,
        weights_only: bool = False,
        jointly: bool = False,
        rescales: bool = False,
    ) -> Gradients:
        """Return the sums at a point, and the weights' next values.

        With ``rescales`` the topics' scale goes to the weights, so the topics see the slope of the
        weights' penalty too: see :mod:`isotopic.divergences.majorized`.
        """
        topics = np.ascontiguousarray(topics)
        of_weights, values = np.empty((2, *weights.shape), weights.dtype), np.empty(len(weights))
        proposal = np.empty_like(weights)
        slope = np.asarray(prior.slope(weights))
        topics_see_penalty = rescales and bool(np.any(slope))

        def work(rows: slice) -> list[Array]:
            gradients = self._rows(rows, weights, topics)
            kept = slice(0, rows.stop - rows.start)
            numerator, denominator = (sums[kept] for sums in gradients.sums)
            of_weights[0, rows], of_weights[1, rows] = numerator, denominator
            values[rows] = gradients.values[kept]
            own_slope = slope[rows] if slope.ndim == 2 else slope
            ratios = self.divergence.ratios(numerator, denominator + own_slope)
            proposal[rows] = weights[rows] * ratios
            if weights_only:
                return []
            counted = self._times_copies(weights[rows], rows)
            pairs = [(counted, counted)]
            if jointly:
                first, second = self._joint_powers(ratios)
                pairs.append((counted * first, counted * second))
            found: list[Array] = []
            for pair in pairs:
                found += gradients.sum_over_samples(*pair)
                if topics_see_penalty:
                    penalty = (own_slope * pair[1]).sum(axis=0, dtype=np.float64)
                    found[-1] += penalty[:, np.newaxis].astype(topics.dtype)
            return found

        n_sums = 0 if weights_only else 4 if jointly else 2
        total = np.zeros((n_sums, *topics.shape), topics.dtype)
        with one_blas_thread:
            for found in in_waves(work, self.blocks):
                for number, part in enumerate(found):
                    total[number] += part
        return Gradients(of_weights, total, values, proposal)

    def sum_entries(
        self, terms: Callable[[Array, Array], Array], weights: Array, topics: Array
    ) -> Array:
        """Return the sums over all entries of functions of the data and the product.

        ``terms`` returns several arrays of the shape of its two arguments, stacked. Each sample is
        counted as often as its sample weight says, and missing entries count nothing.
        """
        topics = np.ascontiguousarray(topics)
        floor = self.divergence.smallest_product(topics.dtype)

        def work(rows: slice) -> Array:
            found = terms(self._data(rows), np.maximum(weights[rows] @ topics, floor))
            missing = self._missing(rows)
            if missing is not None:
                found[:, *missing] = 0
            by_sample = found.sum(axis=2, dtype=np.float64)
            if self.X.copies is not None:
                by_sample = by_sample * self.X.copies[rows]
            return np.asarray(by_sample.sum(axis=1))

        with one_blas_thread:
            return np.asarray(sum(in_waves(work, self.blocks)))

    def multiply_topics(self, topics: Array) -> Array:
        """Return the data times the topics: the weights' numerator of squared distances."""
        found = np.empty((self.X.shape[0], len(topics)), topics.dtype)

        def work(rows: slice) -> None:
            found[rows] = self._data(rows) @ topics.T

        for _ in in_waves(work, self.blocks):
            pass
        return found

    def multiply_weights(self, weights: Array) -> Array:
        """Return the weights times the data, each sample as often as it counts."""
        total = np.zeros((weights.shape[1], self.X.shape[1]), weights.dtype)

        def work(rows: slice) -> Array:
            counted = self._times_copies(weights[rows], rows)
            return np.asarray((self._data(rows).T @ counted).T)

        for part in in_waves(work, self.blocks):
            total += part
        return total

    def _joint_powers(self, ratios: Array) -> list[Array]:
        """Take the ratios to the powers of the joint majorizer; zero stays zero."""
        assert self.divergence.joint_powers is not None
        some = ratios > 0
        return [
            np.power(ratios, ratios.dtype.type(power), out=np.zeros_like(ratios), where=some)
            for power in self.divergence.joint_powers
        ]

    def _rows(self, rows: slice, weights: Array, topics: Array) -> DenseRows | GramRows:
        factor, saturated = self._fill(weights[rows]), self._fill(self.saturated[rows])
        x = self._data(rows)
        if self.uses_gram and self.X.is_sparse:
            x.resize((len(factor), x.shape[1]))
        else:
            x = self._fill(x)
        if self.uses_gram:
            return GramRows(x, factor, topics, saturated)
        return DenseRows(self.divergence, x, factor, topics, saturated, self._missing(rows))

    def _data(self, rows: slice) -> Any:
        """Return rows of the data as each sample has them, with ones where entries are missing."""
        if self.X.is_sparse:
            x = _some_rows(self.csr, rows)
            if self.copies is not None:
                x = sparse.csr_array(x.multiply(1 / self.copies[rows]))
            if self.uses_gram:
                return x
            x = x.toarray()
        else:
            x = self.X.dense[rows]
            if self.copies is not None:
                x = x / self.copies[rows]
        missing = self._missing(rows)
        if missing is not None:
            x = np.array(x)
            x[missing] = 1
        return x

    def _missing(self, rows: slice) -> tuple[Array, Array] | None:
        if self.X.missing is None:
            return None
        where: tuple[Array, Array] = self.X.missing.pattern[rows].nonzero()
        return where

    def _fill(self, part: Array) -> Array:
        if not self.is_filled or len(part) == self.rows:
            return part
        filling = np.ones((self.rows - len(part), *part.shape[1:]), part.dtype)
        return np.concatenate([part, filling])

    def _times_copies(self, weights: Array, rows: slice) -> Array:
        return weights if self.copies is None else weights * self.copies[rows]

    @cached_property
    def saturated(self) -> Array:
        """The part of each row's divergence that depends on the data alone.

        The data remembers that of the last divergence: problems that differ in their priors only
        share it.
        """
        divergence, known = vars(self.X).get("_saturated", (None, None))
        if divergence != self.divergence:
            known = self._saturated()
            vars(self.X)["_saturated"] = self.divergence, known
        return np.asarray(known)

    def _saturated(self) -> Array:
        parts = [np.empty(0)]
        for rows in self.blocks:
            x: Any = self._data(rows)
            if self.uses_gram and self.X.is_sparse:
                parts.append(0.5 * x.astype(np.float64).power(2).sum(axis=1))
            else:
                parts.append(self.divergence.saturated(x, self._missing(rows)))
        return np.concatenate(parts)


def dense_row_blocks(X: CountMatrix) -> Iterator[tuple[slice, Array]]:
    """Yield the data in blocks of dense rows."""
    for rows in _row_slices(X, _dense_rows(X)):
        yield rows, _as_csr(X)[rows].toarray() if X.is_sparse else X.dense[rows]


def _some_rows(X: Any, rows: slice) -> Any:
    """Return rows of a CSR matrix without a copy of their entries."""
    starts = X.indptr[rows.start : rows.stop + 1]
    part = slice(starts[0], starts[-1])
    shape = len(starts) - 1, X.shape[1]
    return sparse.csr_array((X.data[part], X.indices[part], starts - starts[0]), shape=shape)


def _row_slices(X: CountMatrix, rows: int) -> list[slice]:
    return [slice(at, min(at + rows, X.shape[0])) for at in range(0, X.shape[0], rows)]


def _dense_rows(X: CountMatrix) -> int:
    return max(_MIN_ROWS, _BLOCK_BYTES // max(1, X.shape[1] * X.dtype.itemsize))


def _as_csr(X: CountMatrix) -> Any:
    return sparse.csr_array((X.values, X.features, X.row_starts), shape=X.shape)
