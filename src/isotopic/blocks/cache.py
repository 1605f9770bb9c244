"""Which blocks, and which indexes of blocks, stay in memory."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.tasks import PlacedBlock
from isotopic.counts import CountMatrix

INDEX_BYTES = 6  # of an entry in the index by feature: a short and a long whole number


class BlockCache:
    """Memory for blocks between passes.

    The totals of samples always stay. Then the indexes by feature come first, because they take
    longer to make than the counts to read, and less room. If there is room for all of them, the
    rest is for the first blocks: every pass goes through all, so that those that were used last
    would always be gone when their turn comes.

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
        """Forget everything."""
        self._blocks, self._indexes, self._sample_totals = {}, {}, {}
        self._used = self._reserved = 0

    def expect(self, pieces: Sequence[PlacedBlock]) -> None:
        """Get ready for a pass over these blocks."""
        new = (p for p in pieces if p.number not in self._blocks and p.number not in self._indexes)
        forms = (piece.form for piece in new)
        self._reserved = sum(INDEX_BYTES * form.entries for form in forms if form is not None)

    def block(self, piece: PlacedBlock) -> CountMatrix | None:
        """Give a block that stayed."""
        return self._blocks.get(piece.number)

    def complete(self, piece: PlacedBlock, X: CountMatrix) -> None:
        """Give a block that was read again what is known of it, or find it out."""
        if X.is_sparse:
            index = self._indexes.get(piece.number)
            X.by_feature = X.by_feature if index is None else index
        totals = self._sample_totals.get(piece.number)
        X.sample_totals = X.sample_totals if totals is None else totals
        self._sample_totals[piece.number] = X.sample_totals

    def has_room_for(self, piece: PlacedBlock) -> bool:
        """Tell whether a block that is sparse would stay."""
        if piece.form is None:
            return False
        entry = np.dtype(piece.form.dtype).itemsize + np.dtype(np.int32).itemsize
        index, known = INDEX_BYTES * piece.form.entries, piece.number in self._indexes
        more = entry * piece.form.entries + (0 if known else index)
        return self._fits(more + self._reserved - (0 if known else index))

    def offer(self, piece: PlacedBlock, X: CountMatrix, *, lent: bool) -> None:
        """Keep a block, or only its index if the block's memory is ``lent``, if there is room."""
        with self._lock:
            self._offer(piece, X, lent)

    def _offer(self, piece: PlacedBlock, X: CountMatrix, lent: bool) -> None:
        index = INDEX_BYTES * len(X.values) if X.is_sparse else 0
        known = piece.number in self._indexes
        if not known:
            self._reserved = max(0, self._reserved - index)
        more = X.nbytes - (index if known else 0)
        if not lent and self._fits(more + self._reserved):
            self._used += more
            self._indexes.pop(piece.number, None)
            self._blocks[piece.number] = X
        elif X.is_sparse and not known and self._fits(index):
            self._used += index
            self._indexes[piece.number] = X.by_feature

    def _fits(self, more: int) -> bool:
        return self.size is None or self._used + more <= self.size
