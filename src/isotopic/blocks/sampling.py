"""Some rows of all blocks, brought together in memory."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks.counts import BlockedCounts
from isotopic.blocks.engine import LocalEngine
from isotopic.blocks.tasks import PlacedBlock
from isotopic.counts import CountMatrix


@dataclass
class Picked:
    """Rows of blocks, as sparse matrices that go one below the other."""

    parts: list[Any]

    def plus(self, later: Self) -> Self:
        """Put later rows below."""
        return type(self)(self.parts + later.parts)


@dataclass(frozen=True)
class Pick:
    """The task of picking rows.

    Parameters
    ----------
    which : ndarray of int
        Their numbers in the data, ascending.
    """

    which: Array

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Picked:
        """Do it for one block."""
        first, last = np.searchsorted(self.which, (piece.start, piece.stop))
        rows = X.as_sparse().rows(self.which[first:last] - piece.start)
        parts = rows.values, rows.features, rows.row_starts
        return Picked([sparse.csr_array(parts, shape=rows.shape)])


def picked(X: BlockedCounts, which: Array) -> CountMatrix:
    """Bring some rows into memory; ``which``, ascending."""
    engine = X.engine
    if isinstance(engine, LocalEngine) and engine.room.size is not None:
        engine.room.clear()  # the rows may need all the room there is
        engine = LocalEngine(room=0)
    parts = engine.total(Pick(which), X.pieces).parts
    rows = CountMatrix.of_canonical(sparse.vstack(parts, format="csr"), X.dtype)
    rows.copies = None if X.copies is None else X.copies[which]
    return rows
