"""Sparse matrices in ``.npz`` files, which every pass reads again."""

import os
import struct
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks.buffers import Buffers

# A member of an archive begins with so many bytes, whose last four are the lengths of what follows.
_LOCAL_HEADER = 30

# Numbers that have to be converted are read so many at a time, which stay in the cache meanwhile.
_AT_A_TIME = 2**15


class Numbers(NamedTuple):
    """Where in a file the numbers of an array are, and what they are."""

    begin: int
    dtype: np.dtype[Any]
    size: int


class Layout(NamedTuple):
    """Where in a file the parts of a CSR matrix are."""

    shape: tuple[int, int]
    data: Numbers
    indices: Numbers
    indptr: Numbers


# Of files whose checksums were found to be right: size and time of the last change then, and the
# layout of those that can be read without them.
_checked: dict[str, tuple[tuple[int, int], Layout | None]] = {}


def look_at_npz(path: str) -> tuple[tuple[int, int], int]:
    """Give the shape and the number of entries."""
    with np.load(path) as parts:
        if "shape" not in parts:
            raise ValueError("it was not written by scipy.sparse.save_npz")
        with parts.zip.open("data.npy") as member:
            entries = int(np.prod(_header(member)[0]))
        rows, features = (int(n) for n in parts["shape"])
    return (rows, features), entries


def read_npz(path: str) -> Any:
    """Read what :func:`scipy.sparse.save_npz` wrote, with its checksums."""
    now = _status(path)
    matrix = sparse.load_npz(path)
    _checked[path] = now, _layout(path)
    return matrix


class Rows(NamedTuple):
    """A CSR matrix in the form that is worked on."""

    shape: tuple[int, int]
    starts: Array
    features: Array
    values: Array


def read_again(paths: Sequence[str], dtype: DTypeLike, buffers: Buffers) -> Rows | None:
    """Read CSR matrices, one below the other, with numbers of another precision.

    Without the checksums, which take longer than the reading; and straight to where they belong.
    Gives ``None`` unless all files were read before, have not changed since, and are CSR and not
    compressed.
    """
    found = [layout for layout in map(_known_layout, paths) if layout is not None]
    if len(found) < len(paths):
        return None
    n_features = found[0].shape[1]
    rows = np.cumsum([0, *(layout.shape[0] for layout in found)])
    entries = np.cumsum([0, *(layout.data.size for layout in found)])
    starts = np.zeros(rows[-1] + 1, np.int64)
    features = buffers.lend("features", entries[-1], np.int32)
    values = buffers.lend("values", entries[-1], dtype)
    places = zip(paths, found, pairwise(rows), pairwise(entries), strict=True)
    for path, layout, (row, next_row), (entry, next_entry) in places:
        own = starts[row : next_row + 1]
        with open(path, "rb", buffering=0) as file:
            _read(file, layout.indptr, own)
            largest = _read(file, layout.indices, features[entry:next_entry])
            _read(file, layout.data, values[entry:next_entry])
        good = own[0] == 0 and own[-1] == next_entry - entry and np.all(np.diff(own) >= 0)
        if not good or largest >= n_features:
            raise ValueError(f"the indices of {path} are damaged")
        own += entry
    return Rows((int(rows[-1]), n_features), starts, features, values)


def can_read_again(paths: Sequence[str]) -> bool:
    """Tell whether files can be read without checksums, and straight to where they belong."""
    return all(_known_layout(path) is not None for path in paths)


def _known_layout(path: str) -> Layout | None:
    """Give the layout of a file that has not changed since it was read."""
    status, layout = _checked.get(path, (None, None))
    return layout if status == _status(path) else None


def _status(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def _layout(path: str) -> Layout | None:
    """Find out where the parts of a CSR matrix are, if it is one and is not compressed."""
    with np.load(path) as parts:
        if parts["format"].item() != b"csr":
            return None
        rows, features = parts["shape"].tolist()
        members = [parts.zip.getinfo(f"{name}.npy") for name in ("data", "indices", "indptr")]
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        return None
    with open(path, "rb") as file:
        return Layout((rows, features), *(_numbers(file, member) for member in members))


def _numbers(file: BinaryIO, member: zipfile.ZipInfo) -> Numbers:
    file.seek(member.header_offset + _LOCAL_HEADER - 4)
    file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)  # its name, and extra fields
    shape, _, dtype = _header(file)
    return Numbers(file.tell(), dtype, int(np.prod(shape)))


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read how an array is stored, up to where its numbers begin."""
    first = np.lib.format.read_magic(file)[0] == 1
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(file)
    return header


def _read(file: Any, numbers: Numbers, to: Array) -> int:
    """Read the numbers of an array, converting them on the way if they have to be.

    Gives the largest of whole numbers, negative ones being larger than any other.
    """
    file.seek(numbers.begin)
    same, largest = numbers.dtype == to.dtype, 0
    some = np.empty(min(_AT_A_TIME, len(to)), numbers.dtype)
    for begin in range(0, len(to), _AT_A_TIME):
        part = to[begin : begin + _AT_A_TIME]
        read = part if same else some[: len(part)]
        _fill(file, read)
        if not same:
            part[:] = read
        if to.dtype.kind == "i":
            largest = max(largest, int(read.view(f"u{read.dtype.itemsize}").max()))
    return largest


def _fill(file: Any, array: Array) -> None:
    left = memoryview(array.data).cast("B")
    while len(left):
        n = file.readinto(left)
        if not n:
            raise ValueError(f"{file.name} has become shorter")
        left = left[n:]
