"""NumPy's ``.npz``: sparse as SciPy writes it, or one dense array."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, BadZipFile

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.io.csr_arrays import (
    PARTS,
    CsrArrays,
    file_status,
    read_array_header,
    stored_array,
)
from isotopic.io.files import DAMAGED, as_names, is_plain_file, open_seekable
from isotopic.io.source import (
    Options,
    Source,
    check_plausible,
    check_structure,
    find_name_files,
    named,
)

# A member of an archive starts with this many bytes; the last four are the lengths of two fields
# that follow.
_LOCAL_HEADER = 30

# Deflate makes numbers at most this many times smaller.
_MOST_COMPRESSED = 1100

_NAMES = ("sample_names", "feature_names")
_BROKEN = (OSError, KeyError, TypeError, NotImplementedError, BadZipFile, *DAMAGED)


@dataclass(frozen=True, eq=False)
class NpzSource(Source):
    """A matrix in an archive of NumPy; rows can be read if they are CSR and not compressed."""

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``, with the archive's checksums verified once."""
        is_whole = (start, stop) == (0, self.shape[0])
        if is_whole or self.csr_arrays is None:
            with _opened(self.path) as (archive, stream):
                whole = _read_matrix(archive, stream)
            return whole if is_whole else whole[start:stop]
        if not self.csr_arrays.is_unchanged:
            raise ValueError("the file has changed since it was opened")
        if start == 0:
            with _opened(self.path) as (archive, _):
                damaged = archive.zip.testzip()
                if damaged is not None:
                    raise ValueError(f"{damaged} does not match its checksum")
        return self.csr_arrays.rows(start, stop)

    def write_arrays(self, folder: Path) -> None:
        """Write the arrays of a CSR matrix to files, without holding them in memory if they are."""
        with _opened(self.path) as (archive, _):
            if _is_csr(archive):
                for name in (*PARTS, "shape"):
                    _header(archive, name)
                    archive.zip.extract(f"{name}.npy", folder)  # checksums are verified
                return
        super().write_arrays(folder)

    def _stored_names(self, axis: int, start: int, stop: int | None) -> Array | None:
        name = _NAMES[axis]
        with _opened(self.path) as (archive, _):
            if name not in archive.files:
                return None
            names = archive[name]
        if names.dtype.kind not in "US" or names.ndim != 1:
            raise ValueError(f"{name} must be a list of str; it is {names.dtype} of {names.shape}")
        return as_names(names[start:stop].tolist())


def open_npz(path: Path, options: Options) -> Source:
    """Open an archive; names are in it, or beside it in ``rows.txt`` and ``vocab.txt``."""
    with _opened(path) as (archive, _):
        shape, entries = _measure(archive)
        members = set(archive.files)
        arrays = _find_arrays(path, archive, shape) if is_plain_file(path) else None
    source = NpzSource(
        os.fspath(path), shape, entries, can_read_rows=arrays is not None, csr_arrays=arrays
    )
    rows, columns = find_name_files(path, shape, options)
    rows = None if "sample_names" in members else rows
    columns = None if "feature_names" in members else columns
    return named(source, rows, columns, options.encoding)


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[Any, IO[bytes]]]:
    with open_seekable(Path(path)) as stream:
        try:
            if stream.read(2) != b"PK":
                raise ValueError("this is not an archive of NumPy (.npz)")
            stream.seek(0)
            with np.load(stream, allow_pickle=False) as archive:
                yield archive, stream
        except _BROKEN as error:
            raise ValueError(f"this is not an archive of NumPy, or is damaged: {error}") from error


def _measure(archive: Any) -> tuple[tuple[int, int], int]:
    """Return the shape and the number of stored values, without reading them."""
    for member in archive.zip.infolist():
        if member.file_size > _MOST_COMPRESSED * max(1, member.compress_size):
            raise ValueError(f"{member.filename} is damaged: it promises more than it can hold")
    members = set(archive.files) - set(_NAMES)
    if {"shape", "data"} <= members:
        shape = archive["shape"]
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
            raise ValueError(f"the shape must be two whole numbers, not {shape!r:.60}")
        rows, features = shape.tolist()
        stored = int(np.prod(_header(archive, "data")[0], dtype=object))
        check_plausible((rows, features), stored)
        return (rows, features), stored
    if len(members) != 1:
        raise ValueError(
            "this is not a sparse matrix as scipy.sparse.save_npz writes it, nor one dense array; "
            f"it has {', '.join(sorted(members)) or 'nothing'}"
        )
    sizes, dtype = _header(archive, members.pop())
    if len(sizes) != 2 or dtype.kind not in "biuf":
        raise ValueError(f"the array is {dtype} of shape {sizes}, not a table of counts")
    return (sizes[0], sizes[1]), sizes[0] * sizes[1]


def _header(archive: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the header of an array, and compare what it promises with the size of the member."""
    info = archive.zip.getinfo(f"{name}.npy")
    with archive.zip.open(info) as member:
        shape, _, dtype = read_array_header(member)
        begin = member.tell()
    promised = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if min(shape, default=0) < 0 or begin + promised != info.file_size:
        raise ValueError(f"{name} is cut off or damaged: its header promises {promised:,} bytes")
    return shape, dtype


def _read_matrix(archive: Any, stream: IO[bytes]) -> Any:
    """Read everything, with checksums; sparse matrices become CSR."""
    members = set(archive.files) - set(_NAMES)
    for name in members - {"format", "shape"}:
        _header(archive, name)
    if "format" in members:
        stream.seek(0)
        matrix: Any = sparse.load_npz(stream)
        if matrix.format != "csr":
            check_structure(matrix)
            matrix = matrix.tocsr()
        return matrix
    if "data" in members and "shape" in members:  # CSR without saying so
        parts = tuple(archive[name] for name in PARTS)
        return sparse.csr_array(parts, shape=tuple(archive["shape"].tolist()))
    return archive[members.pop()]


def _find_arrays(path: Path, archive: Any, shape: tuple[int, int]) -> CsrArrays | None:
    """Return where the arrays of a CSR matrix are, if it is one and is not compressed."""
    if not _is_csr(archive):
        return None
    status = file_status(*[os.fspath(path)] * 3)
    found = []
    with path.open("rb") as file:
        for name in PARTS:
            member = archive.zip.getinfo(f"{name}.npy")
            if member.compress_type != ZIP_STORED:
                return None
            _header(archive, name)
            file.seek(member.header_offset + _LOCAL_HEADER - 4)
            file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
            found.append(stored_array(os.fspath(path), file))
    data, indices, indptr = found
    if data is None or indices is None or indptr is None:
        return None
    if "f" in indices.dtype.kind + indptr.dtype.kind or indptr.size != shape[0] + 1:
        return None
    return CsrArrays(data, indices, indptr, shape[1], status)


def _is_csr(archive: Any) -> bool:
    """Whether the archive has the arrays of a CSR matrix and says nothing else."""
    members = set(archive.files)
    if not {*PARTS, "shape"} <= members:
        return False
    return "format" not in members or archive["format"].item() in (b"csr", "csr")
