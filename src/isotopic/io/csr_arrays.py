"""CSR matrices whose arrays are stored as plain numbers, read without copies or decompression."""

from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from isotopic import npy
from isotopic.arrays import Array, as_unsigned

#: The arrays of a CSR matrix.
PARTS = ("data", "indices", "indptr")

# Numbers that have to be converted are read in parts of this many, which stay in the cache.
_PART = 2**15

DAMAGED_ROWS = "the row pointers (indptr) are damaged: they do not fit the entries"
_DAMAGED = "the indices of {} are damaged"


class StoredArray(NamedTuple):
    """Where the numbers of a one-dimensional array start in a file, and what they are."""

    path: str
    offset: int
    dtype: np.dtype[Any]
    size: int


class CsrArrays(NamedTuple):
    """Where the arrays of a CSR matrix are."""

    data: StoredArray
    indices: StoredArray
    indptr: StoredArray
    n_features: int

    def files(self) -> tuple[str, ...]:
        """Return the files of the arrays."""
        return tuple(dict.fromkeys(part.path for part in (self.data, self.indices, self.indptr)))

    def row_starts(self) -> Array:
        """Return where the entries of each row start."""
        starts = np.empty(self.indptr.size, np.int64)
        _read(self.indptr, 0, starts)
        check_row_starts(starts, self.data.size, self.indices.size)
        return starts

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop`` with the numbers as they are stored."""
        starts = np.empty(stop - start + 1, np.int64)
        _read(self.indptr, start, starts)
        first, last = int(starts[0]), int(starts[-1])
        if not 0 <= first <= last <= min(self.data.size, self.indices.size):
            raise ValueError(_DAMAGED.format(self.indptr.path))
        data, indices = (
            np.empty(last - first, part.dtype.newbyteorder("="))
            for part in (self.data, self.indices)
        )
        _read(self.data, first, data)
        _read(self.indices, first, indices)
        shape = (stop - start, self.n_features)
        return sparse.csr_array((data, indices, starts - first), shape=shape, copy=False)

    def read_rows_into(
        self, start: int, stop: int, starts: Array, features: Array, values: Array
    ) -> None:
        """Read the rows ``start:stop`` into arrays of the right sizes, converting on the way.

        Only indices that would lead outside of the arrays are looked for: the rows must have been
        checked before.
        """
        _read(self.indptr, start, starts)
        first = int(starts[0])
        starts -= first
        if not (starts[-1] == len(values) and np.all(np.diff(starts) >= 0) and first >= 0):
            raise ValueError(_DAMAGED.format(self.indptr.path))
        largest = _read(self.indices, first, features)
        if largest >= self.n_features:
            raise ValueError(_DAMAGED.format(self.indices.path))
        _read(self.data, first, values)


def stored_array(path: str, file: BinaryIO) -> StoredArray | None:
    """Return where the array of NumPy's format at the current position of a file is.

    ``None``: it is not a one-dimensional array of real numbers.
    """
    shape, _, dtype = npy.read_header(file)
    if len(shape) != 1 or dtype.kind not in "biuf":
        return None
    return StoredArray(path, file.tell(), dtype, shape[0])


def check_row_starts(starts: Array, *sizes: int) -> None:
    """Raise if the row pointers of a CSR matrix do not fit its arrays."""
    fits = len(starts) > 0 and starts[0] == 0 and bool(np.all(np.diff(starts) >= 0))
    if not fits or any(starts[-1] != size for size in sizes):
        raise ValueError(DAMAGED_ROWS)


def _read(stored: StoredArray, start: int, to: Array) -> int:
    """Read numbers from ``start`` on; return the largest integer, negative ones being larger."""
    if start + len(to) > stored.size:
        raise ValueError(f"{stored.path} is shorter than its header promises")
    is_same, largest = stored.dtype == to.dtype, 0
    part = np.empty(min(_PART, len(to)), stored.dtype)
    with open(stored.path, "rb", buffering=0) as file:
        file.seek(stored.offset + start * stored.dtype.itemsize)
        for begin in range(0, len(to), _PART):
            wanted = to[begin : begin + _PART]
            numbers = wanted if is_same else part[: len(wanted)]
            left = memoryview(numbers.data).cast("B")
            while len(left):
                n = file.readinto(left)
                if not n:
                    raise ValueError(f"{stored.path} is shorter than when it was opened")
                left = left[n:]
            if not is_same:
                wanted[:] = numbers
            if stored.dtype.kind in "iu":
                unsigned = numbers.view(as_unsigned(numbers.dtype))
                largest = max(largest, int(unsigned.max()))
    return largest
