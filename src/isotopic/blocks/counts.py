"""BlockedCounts: data in row blocks, all of which were checked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.blocks.engine import Engine, LocalEngine
from isotopic.blocks.opening import Blocks
from isotopic.blocks.row_store import EqualShares
from isotopic.blocks.tasks import Added, PlacedBlock
from isotopic.count_checks import check_range
from isotopic.counts import CountMatrix

# The first rows of the data stay in memory: at most so many, and so many counts of a block.
_HEAD_ROWS, _HEAD_ENTRIES = 500, 100_000


@dataclass
class BlockTotals:
    """Totals of some blocks, computed when they were checked."""

    pieces: list[PlacedBlock]
    sample_totals: list[Array]  # one array for each block
    feature_totals: Array
    saturated_divergence: float
    largest: int  # bytes of the largest block
    head: list[Any]  # the first rows, as sparse matrices

    def plus(self, later: Self) -> Self:
        """Return the totals with those of later blocks."""
        return type(self)(
            self.pieces + later.pieces,
            self.sample_totals + later.sample_totals,
            self.feature_totals + later.feature_totals,
            self.saturated_divergence + later.saturated_divergence,
            max(self.largest, later.largest),
            self.head + later.head,
        )


@dataclass(frozen=True)
class CheckBlocks:
    """The task that checks blocks and computes their totals."""

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> BlockTotals:
        """Return the totals of one block."""
        totals = [X.sample_totals], X.feature_totals
        return BlockTotals([piece], *totals, X.saturated_divergence, X.nbytes, _head(piece, X))


def _head(piece: PlacedBlock, X: CountMatrix) -> list[Any]:
    """Return those rows of a block that are among the first of the data; a list of at most one."""
    few = _HEAD_ENTRIES // X.shape[1]
    if X.is_sparse:
        few = int(np.searchsorted(X.row_starts, _HEAD_ENTRIES, side="right")) - 1
    rows = np.arange(min(_HEAD_ROWS - piece.start, X.shape[0], few))
    return [_as_csr(X.rows(rows).as_sparse())] if len(rows) else []


def _as_csr(X: CountMatrix) -> Any:
    return sparse.csr_array((X.values, X.features, X.row_starts), shape=X.shape)


@dataclass(frozen=True)
class SelectRows:
    """The task that selects rows."""

    which: Array  # their numbers in the data, ascending

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Added:
        """Return the selected rows of one block, as a list of sparse matrices."""
        first, last = np.searchsorted(self.which, (piece.start, piece.stop))
        return Added([_as_csr(X.as_sparse().rows(self.which[first:last] - piece.start))])


class BlockedCounts:
    """Counts in row blocks that are loaded when they are worked on.

    It replaces a :class:`~isotopic.counts.CountMatrix` where only sums are needed. The constructor
    loads and checks every block.

    Parameters
    ----------
    blocks : Blocks
    copies : ndarray of shape (samples,) or None
        The sample weights.

    Attributes
    ----------
    shape : tuple of int
    feature_names : ndarray of str or None
    dtype : dtype
    missing : None
    copies : ndarray or None
    pieces : tuple of PlacedBlock
    engine : Engine
    sample_totals, feature_totals : ndarray
    total, saturated_divergence : float
    entries : int
        The number of stored counts.
    head : CountMatrix
        The first rows, some hundred at most; none if they are very long.
    """

    missing = None

    def __init__(self, blocks: Blocks, copies: Array | None = None) -> None:
        self.blocks, self.copies = blocks, copies
        self.shape, self.feature_names = blocks.shape, blocks.feature_names
        self.engine: Engine = _engine(blocks)
        found = self.engine.total(CheckBlocks(), _place(blocks, copies))
        if blocks.memory_limit is not None:
            native.release_memory()  # otherwise the allocator holds what was read
        facts = [piece.facts for piece in found.pieces if piece.facts is not None]
        precisions = {block.dtype for block in facts}
        self.dtype = np.dtype(np.float32 if precisions == {"float32"} else np.float64)
        self.pieces = tuple(
            replace(piece, facts=block._replace(dtype=str(self.dtype)))
            for piece, block in zip(found.pieces, facts, strict=True)
        )
        self.entries = sum(block.entries for block in facts)
        self.sample_totals: Array = np.concatenate(found.sample_totals)
        self.feature_totals: Array = found.feature_totals
        self.saturated_divergence: float = found.saturated_divergence
        self.largest_block = found.largest
        none = sparse.csr_array((0, self.shape[1]), dtype=self.dtype)
        head = sparse.vstack([none, *found.head], format="csr")
        self.head = CountMatrix.of_canonical(head, self.dtype)
        self.total = float(self.sample_totals.sum())
        check_range(self.dtype, self.total, feature_totals=self.feature_totals)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{name} needs the whole matrix in memory, but X is in row blocks. Choose another "
            "solver or init, or read X into memory."
        )

    def repeated(self, copies: Array) -> "BlockedCounts":
        """Return the data with the sample weights ``copies`` (positive)."""
        return BlockedCounts(self.blocks, copies)

    def loaded(self) -> Iterator[tuple[PlacedBlock, CountMatrix]]:
        """Yield one block after the other with its counts, in this process."""
        yield from self.engine.blocks(self.pieces)

    def identity(self) -> list[Array]:
        """Return arrays that differ for different data."""
        checksums = [piece.facts.checksum for piece in self.pieces if piece.facts is not None]
        sums = [self.sample_totals, self.feature_totals, np.array(self.saturated_divergence)]
        return [*sums, np.array(checksums)]

    def equal_shares(self, n_components: int) -> EqualShares:
        """Return each sample's total, divided equally among the components."""
        return EqualShares(n_components, str(self.dtype))


def load_rows(X: BlockedCounts, which: Array) -> CountMatrix:
    """Return the rows ``which`` (ascending) of all blocks in memory."""
    engine = X.engine
    if isinstance(engine, LocalEngine) and engine.cache.size is not None:
        engine.cache.clear()  # the rows may need all memory that the limit leaves
        engine = LocalEngine(cache_size=0)
    parts = engine.total(SelectRows(which), X.pieces).values
    rows = CountMatrix.of_canonical(sparse.vstack(parts, format="csr"), X.dtype)
    rows.copies = None if X.copies is None else X.copies[which]
    return rows


def _engine(blocks: Blocks) -> Engine:
    if blocks.client is None:
        return LocalEngine(cache_size=0)  # a fit finds out how much memory there is
    from isotopic.dask import DaskEngine  # noqa: PLC0415 - an extra

    return DaskEngine(blocks.client, blocks.memory_limit)


def _place(blocks: Blocks, copies: Array | None) -> Sequence[PlacedBlock]:
    """Return the blocks with their places in the data."""
    placed, start = [], 0
    for number, block in enumerate(blocks.blocks):
        stop = start + block.shape[0]
        own = None if copies is None else copies[start:stop]
        placed.append(PlacedBlock(number, start, stop, block, copies=own))
        start = stop
    return placed
