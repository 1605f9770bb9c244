"""Memory that is used again for the next block."""

import numpy as np
from numpy.typing import DTypeLike

from isotopic.arrays import Array


class Buffers:
    """Arrays by name that use the same memory for one block after the other.

    The system clears new memory, which takes as long as reading numbers into it.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def get(self, name: str, size: int, dtype: DTypeLike) -> Array:
        """Return an array with arbitrary content."""
        kept = self._arrays.get(name)
        if kept is None or kept.dtype != dtype or len(kept) < size:
            kept = self._arrays[name] = np.empty(size, dtype)
        return kept[:size]
