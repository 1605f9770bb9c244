"""Memory that one block after the other is read into."""

import numpy as np
from numpy.typing import DTypeLike

from isotopic.arrays import Array


class Buffers:
    """Lend arrays by name, always the same memory: a block may have it once the last one is done.

    The system clears memory before it gives it away, which takes as long as reading into it.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def lend(self, name: str, size: int, dtype: DTypeLike) -> Array:
        """Give an array of any content."""
        kept = self._arrays.get(name)
        if kept is None or kept.dtype != dtype or len(kept) < size:
            kept = self._arrays[name] = np.empty(size, dtype)
        return kept[:size]
