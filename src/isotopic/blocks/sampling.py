"""Loading some rows of all blocks into memory."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks.counts import BlockedCounts
from isotopic.blocks.engine import LocalEngine
from isotopic.blocks.tasks import Added, PlacedBlock
from isotopic.counts import CountMatrix


@dataclass(frozen=True)
class SelectRows:
    """The task that selects rows.

    Parameters
    ----------
    which : ndarray of int
        Their numbers in the data, ascending.
    """

    which: Array

    def __call__(self, piece: PlacedBlock, X: CountMatrix) -> Added:
        """Return the selected rows of one block, as a list of sparse matrices."""
        first, last = np.searchsorted(self.which, (piece.start, piece.stop))
        rows = X.as_sparse().rows(self.which[first:last] - piece.start)
        parts = rows.values, rows.features, rows.row_starts
        return Added([sparse.csr_array(parts, shape=rows.shape)])


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
