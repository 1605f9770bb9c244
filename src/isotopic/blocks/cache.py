"""BlockCache: the blocks, and indexes of blocks, that stay in memory between passes."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.tasks import PlacedBlock
from isotopic.counts import INDEX_BYTES, CountMatrix


class BlockCache:
    """A cache for blocks between passes.

    The totals of samples always stay. Indexes by feature come next, because they take longer to
    make than the counts to read, and less memory. If all of them fit, the first blocks stay too.
    Every pass goes through all blocks, so that a cache of those used last would never be hit.

    Parameters
    ----------
    size : int or None
        In bytes; ``None``: everything stays.
    """

    def __init__(self, size: int | None) -> None:
        self.size = size
        self._blocks: dict[int, CountMatrix] = {}
        self._indexes: dict[int, Any] = {}
        self._sample_totals: dict[int, Array] = {}
        self._used = self._reserved = 0
        self._lock = Lock()

    def clear(self) -> None:
        """Remove everything."""
        self._blocks, self._indexes, self._sample_totals = {}, {}, {}
        self._used = self._reserved = 0

    def expect(self, pieces: Sequence[PlacedBlock]) -> None:
        """Reserve memory for the indexes that a pass over these blocks will make."""
        self._reserved = 0
        for piece in pieces:
            is_new = piece.number not in self._blocks and piece.number not in self._indexes
            if is_new and piece.facts is not None:
                self._reserved += INDEX_BYTES * piece.facts.entries

    def get(self, piece: PlacedBlock) -> CountMatrix | None:
        """Return a block, or ``None`` if it is not in the cache."""
        return self._blocks.get(piece.number)

    def attach_index(self, piece: PlacedBlock, X: CountMatrix) -> None:
        """Set the index and the totals of a block that was read again, or compute them."""
        if X.is_sparse:
            index = self._indexes.get(piece.number)
            X.by_feature = X.by_feature if index is None else index
        totals = self._sample_totals.get(piece.number)
        X.sample_totals = X.sample_totals if totals is None else totals
        self._sample_totals[piece.number] = X.sample_totals

    def would_keep(self, piece: PlacedBlock) -> bool:
        """Whether a sparse block would stay."""
        if piece.facts is None:
            return False
        entry = np.dtype(piece.facts.dtype).itemsize + np.dtype(np.int32).itemsize
        index, known = INDEX_BYTES * piece.facts.entries, piece.number in self._indexes
        more = entry * piece.facts.entries + (0 if known else index)
        return self._fits(more + self._reserved - (0 if known else index))

    def put(self, piece: PlacedBlock, X: CountMatrix, *, in_buffers: bool) -> None:
        """Keep a block if it fits, or only its index if its counts are ``in_buffers``."""
        with self._lock:
            self._put(piece, X, in_buffers)

    def _put(self, piece: PlacedBlock, X: CountMatrix, in_buffers: bool) -> None:
        index = INDEX_BYTES * len(X.values) if X.is_sparse else 0
        known = piece.number in self._indexes
        if not known:
            self._reserved = max(0, self._reserved - index)
        more = X.nbytes - (index if known else 0)
        if not in_buffers and self._fits(more + self._reserved):
            self._used += more
            self._indexes.pop(piece.number, None)
            self._blocks[piece.number] = X
        elif X.is_sparse and not known and self._fits(index):
            self._used += index
            self._indexes[piece.number] = X.by_feature

    def _fits(self, more: int) -> bool:
        return self.size is None or self._used + more <= self.size
