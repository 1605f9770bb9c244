"""One sweep over the data: the sums of which every update for the beta divergence is made."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences.beta import Beta
from isotopic.divergences.blocks import Block, DenseRows, GramRows
from isotopic.kernels import in_waves
from isotopic.threads import one_blas_thread

# Blocks of dense rows are of about this many bytes, so that their powers stay in a second-level
# cache; but for so many rows at least it is worth adding up the sums of the topics. Where there
# are no powers, blocks are larger.
_BLOCK_BYTES = 2**18
_FEWEST_ROWS = 32
_GRAM_ROWS = 4096

# Gives the ratios of new weights to old ones from the sums of the weights of some rows.
Ratios: TypeAlias = Callable[[slice, Array], Array]


class Sweep(NamedTuple):
    r"""The sums of one sweep: what the data ask for, and what the model gives.

    Attributes
    ----------
    weights : ndarray of shape (2, samples, components)
        :math:`\sum_v x_{dv} \hat x_{dv}^{\beta-2} t_{kv}` and
        :math:`\sum_v \hat x_{dv}^{\beta-1} t_{kv}`, with the product :math:`\hat x`.
    topics : ndarray of shape (2, components, features), or empty
        The same with the weights and over the samples, each as often as it counts.
    values : ndarray of shape (samples,)
        The divergence of each sample, counted once.
    joint : ndarray of shape (2, components, features), or empty
        The topics' sums of the joint majorizer, next to new weights.
    """

    weights: Array
    topics: Array
    values: Array
    joint: Array


class Sweeper:
    """Sweeps over the same data again and again.

    Data is worked on in row blocks, and so is the product: the whole of it is never there. For
    ``beta=2``, unless entries are missing, the product is not made at all. The blocks are always
    the same, each is the work of one thread, and their sums are added in order: the bits do not
    depend on the number of threads.

    Parameters
    ----------
    divergence : Beta
    X : CountMatrix
        Of samples that count more than once, it holds the counts of all copies.
    rows_a_block : int or None
        Makes all blocks of this size, filled up if need be, so that what comes out for a row does
        not depend on which others are there.
    """

    def __init__(self, divergence: Beta, X: CountMatrix, rows_a_block: int | None = None) -> None:
        self.divergence, self.X, self.filled_up = divergence, X, rows_a_block is not None
        self.by_gram = divergence.beta == 2 and X.missing is None
        own = _GRAM_ROWS if self.by_gram else _dense_rows(X)
        self.rows = own if rows_a_block is None else rows_a_block
        self.blocks = _blocks(X, self.rows)
        self.copies = None if X.copies is None else X.copies[:, np.newaxis].astype(X.dtype)
        self.saturated = self._saturated_values()

    def __call__(
        self,
        weights: Array,
        topics: Array,
        *,
        ratios: Ratios | None = None,
        weights_only: bool = False,
    ) -> Sweep:
        """Make the sums at a point; with ``ratios`` also those of the joint majorizer."""
        topics = np.ascontiguousarray(topics)
        of_weights, values = np.empty((2, *weights.shape), weights.dtype), np.empty(len(weights))

        def compute(rows: slice) -> list[Array]:
            block = self._block(rows, weights, topics)
            kept = slice(0, rows.stop - rows.start)
            of_weights[:, rows] = [sums[kept] for sums in block.sums]
            values[rows] = block.values[kept]
            if weights_only:
                return []
            seen = self._all_copies(weights[rows], rows)
            found = [*block.over_samples(seen, seen)]
            if ratios is not None:
                grown = ratios(rows, of_weights[:, rows])
                found += block.over_samples(*(seen * powers for powers in self._powers(grown)))
            return found

        n_sums = 0 if weights_only else 2 if ratios is None else 4
        total = np.zeros((n_sums, *topics.shape), topics.dtype)
        with one_blas_thread:
            for found in in_waves(compute, self.blocks):
                for number, part in enumerate(found):
                    total[number] += part
        return Sweep(of_weights, total[:2], values, total[2:])

    def asked_by_samples(self, topics: Array) -> Array:
        """Multiply the data with the topics: what they ask for with ``beta=2``."""
        found = np.empty((self.X.shape[0], len(topics)), topics.dtype)

        def compute(rows: slice) -> None:
            found[rows] = self._once(rows) @ topics.T

        for _ in in_waves(compute, self.blocks):
            pass
        return found

    def asked_by_features(self, weights: Array) -> Array:
        """Multiply the weights with the data, each sample as often as it counts."""
        total = np.zeros((weights.shape[1], self.X.shape[1]), weights.dtype)

        def compute(rows: slice) -> Array:
            seen = self._all_copies(weights[rows], rows)
            return np.asarray((self._once(rows).T @ seen).T)

        for part in in_waves(compute, self.blocks):
            total += part
        return total

    def _powers(self, ratios: Array) -> list[Array]:
        """Take the ratios to the powers of the joint majorizer.

        A weight that becomes zero was asked for by nothing, and asks for nothing.
        """
        some = ratios > 0
        return [
            np.power(ratios, ratios.dtype.type(power), out=np.zeros_like(ratios), where=some)
            for power in self.divergence.joint_powers
        ]

    def _block(self, rows: slice, weights: Array, topics: Array) -> Block:
        factor, saturated = self._filled(weights[rows]), self._filled(self.saturated[rows])
        x = self._once(rows)
        if self.by_gram and self.X.is_sparse:
            x.resize((len(factor), x.shape[1]))
        else:
            x = self._filled(x)
        if self.by_gram:
            return GramRows(self.divergence, x, factor, topics, saturated)
        return DenseRows(self.divergence, x, factor, topics, saturated, self._missing(rows))

    def _once(self, rows: slice) -> Any:
        """Give rows of the data as each sample has them; ones where entries are missing."""
        if self.X.is_sparse:
            x = _some_rows(self._csr, rows)
            if self.copies is not None:
                x = sparse.csr_array(x.multiply(1 / self.copies[rows]))
            if self.by_gram:
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

    def _filled(self, part: Array) -> Array:
        if not self.filled_up or len(part) == self.rows:
            return part
        filling = np.ones((self.rows - len(part), *part.shape[1:]), part.dtype)
        return np.concatenate([part, filling])

    def _all_copies(self, weights: Array, rows: slice) -> Array:
        return weights if self.copies is None else weights * self.copies[rows]

    @cached_property
    def _csr(self) -> Any:
        return _as_csr(self.X)

    def _saturated_values(self) -> Array:
        """Compute what the values have of the data alone, by row."""
        parts = [np.empty(0)]
        for rows in self.blocks:
            x: Any = self._once(rows)
            if self.by_gram and self.X.is_sparse:
                parts.append(0.5 * x.astype(np.float64).power(2).sum(axis=1))
            else:
                parts.append(self.divergence.saturated(x, self._missing(rows)))
        return np.concatenate(parts)


def _some_rows(X: Any, rows: slice) -> Any:
    """Give rows of a matrix in CSR form without a copy of their entries."""
    starts = X.indptr[rows.start : rows.stop + 1]
    part = slice(starts[0], starts[-1])
    shape = len(starts) - 1, X.shape[1]
    return sparse.csr_array((X.data[part], X.indices[part], starts - starts[0]), shape=shape)


def row_blocks(X: CountMatrix) -> Iterator[tuple[slice, Array]]:
    """Give the data in blocks of dense rows."""
    for rows in _blocks(X, _dense_rows(X)):
        yield rows, _as_csr(X)[rows].toarray() if X.is_sparse else X.dense[rows]


def _blocks(X: CountMatrix, rows: int) -> list[slice]:
    return [slice(at, min(at + rows, X.shape[0])) for at in range(0, X.shape[0], rows)]


def _dense_rows(X: CountMatrix) -> int:
    return max(_FEWEST_ROWS, _BLOCK_BYTES // max(1, X.shape[1] * X.dtype.itemsize))


def _as_csr(X: CountMatrix) -> Any:
    return sparse.csr_array((X.values, X.features, X.row_starts), shape=X.shape)
