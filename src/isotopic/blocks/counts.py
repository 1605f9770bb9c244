"""BlockedCounts: data in row blocks, every one of which was checked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.blocks.engine import Engine, LocalEngine
from isotopic.blocks.opening import Blocks
from isotopic.blocks.row_store import EqualShares
from isotopic.blocks.tasks import PlacedBlock
from isotopic.counts import CountMatrix, check_shares, check_total


@dataclass
class Summary:
    """What a first look at some blocks finds.

    Attributes
    ----------
    pieces : list of PlacedBlock
    sample_totals : list of ndarray
        Of each block.
    feature_totals : ndarray of shape (features,)
    saturated_divergence : float
    largest : int
        Bytes of the largest block.
    """

    pieces: list[PlacedBlock]
    sample_totals: list[Array]
    feature_totals: Array
    saturated_divergence: float
    largest: int

    def plus(self, later: Self) -> Self:
        """Add what was found in blocks that come later."""
        return type(self)(
            self.pieces + later.pieces,
            self.sample_totals + later.sample_totals,
            self.feature_totals + later.feature_totals,
            self.saturated_divergence + later.saturated_divergence,
            max(self.largest, later.largest),
        )


@dataclass(frozen=True)
class Look:
    """The task of the first look."""

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Summary:
        """Find out about one block."""
        return Summary(
            [piece],
            [X.sample_totals],
            X.feature_totals,
            X.saturated_divergence,
            X.nbytes,
        )


class BlockedCounts:
    """Counts in row blocks that are loaded when they are worked on.

    It stands for a :class:`~isotopic.counts.CountMatrix` where only sums are asked for. Making one
    loads and checks every block.

    Parameters
    ----------
    blocks : Blocks
    copies : ndarray of shape (samples,) or None
        How often each sample counts.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    missing : None
    copies : ndarray or None
    pieces : tuple of PlacedBlock
    engine : Engine
    sample_totals, feature_totals : ndarray
    total, saturated_divergence : float
    """

    missing = None

    def __init__(self, blocks: Blocks, copies: Array | None = None) -> None:
        self.blocks, self.copies = blocks, copies
        self.shape = blocks.shape
        self.engine: Engine = _engine(blocks)
        found = self.engine.total(Look(), _pieces(blocks, copies))
        if blocks.memory_limit is not None:
            native.release_memory()  # what was read and is not needed counts as used otherwise
        precisions = {piece.form.dtype for piece in found.pieces if piece.form is not None}
        self.dtype = np.dtype(np.float32 if precisions == {"float32"} else np.float64)
        self.pieces = tuple(_of_precision(piece, str(self.dtype)) for piece in found.pieces)
        self.sample_totals: Array = np.concatenate(found.sample_totals)
        self.feature_totals: Array = found.feature_totals
        self.saturated_divergence: float = found.saturated_divergence
        self.largest_block = found.largest
        self.total = float(self.sample_totals.sum())
        check_total(self.total, self.dtype)
        check_shares(self.feature_totals, self.total, self.dtype)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{name}: what was asked for needs the whole matrix in memory, but X is in row blocks. "
            "Choose another solver or start"
        )

    def repeated(self, copies: Array) -> "BlockedCounts":
        """Let each sample count as often as ``copies`` (positive, whole or not) says."""
        return BlockedCounts(self.blocks, copies)

    def loaded(self) -> Iterator[tuple[PlacedBlock, CountMatrix]]:
        """Give one block after the other, here."""
        yield from self.engine.blocks(self.pieces)

    def identity(self) -> list[Array]:
        """Give the arrays that tell it from other data."""
        return [self.sample_totals, self.feature_totals, np.array(self.saturated_divergence)]

    def equal_shares(self, n_components: int) -> EqualShares:
        """Share each sample's total equally."""
        return EqualShares(n_components, str(self.dtype))


def _engine(blocks: Blocks) -> Engine:
    if blocks.client is None:
        return LocalEngine(room=0)  # a fit finds out how much there is
    from isotopic.dask import DaskEngine  # noqa: PLC0415 - an extra

    return DaskEngine(blocks.client, blocks.memory_limit)


def _pieces(blocks: Blocks, copies: Array | None) -> Sequence[PlacedBlock]:
    ends = np.cumsum([block.shape[0] for block in blocks.blocks]).tolist()
    return [
        PlacedBlock(i, start, stop, block, copies=None if copies is None else copies[start:stop])
        for i, (start, stop, block) in enumerate(
            zip([0, *ends[:-1]], ends, blocks.blocks, strict=True)
        )
    ]


def _of_precision(piece: PlacedBlock, dtype: str) -> PlacedBlock:
    assert piece.form is not None
    return replace(piece, form=piece.form._replace(dtype=dtype))
