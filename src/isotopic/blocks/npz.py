"""Sparse matrices in ``.npz`` files, which every pass reads again."""

import os
import struct
import zipfile
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from isotopic.arrays import Array

# Size and time of the last change of each file when its checksums were found to be right.
_checked: dict[str, tuple[int, int]] = {}

# A member of an archive begins with so many bytes, whose last four are the lengths of what follows.
_LOCAL_HEADER = 30


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
    """Read what :func:`scipy.sparse.save_npz` wrote.

    The first time with its checksums, which take longer than the reading; and again without them,
    if the file has not changed since and is not compressed.
    """
    status = os.stat(path)
    now = status.st_size, status.st_mtime_ns
    again = _without_checksums(path) if _checked.get(path) == now else None
    if again is not None:
        return again
    matrix = sparse.load_npz(path)
    _checked[path] = now
    return matrix


def _without_checksums(path: str) -> Any:
    """Read a CSR matrix that is not compressed; give nothing if it is another or is."""
    with np.load(path) as parts:
        if parts["format"].item() != b"csr":
            return None
        shape = tuple(parts["shape"].tolist())
        members = [parts.zip.getinfo(f"{name}.npy") for name in ("data", "indices", "indptr")]
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        return None
    with open(path, "rb") as file:
        arrays = [_stored(file, member) for member in members]
    return sparse.csr_array(tuple(arrays), shape=shape)


def _stored(file: BinaryIO, member: zipfile.ZipInfo) -> Array:
    file.seek(member.header_offset + _LOCAL_HEADER - 4)
    file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)  # its name, and extra fields
    shape, _, dtype = _header(file)
    array = np.fromfile(file, dtype, int(np.prod(shape)))
    if array.shape != shape:
        raise ValueError("it has become shorter")
    return array


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read how an array is stored, up to where its numbers begin."""
    first = np.lib.format.read_magic(file)[0] == 1
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(file)
    return header
