"""NumPy's ``.npz``: sparse as SciPy writes it, or one dense array."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from scipy import sparse

from isotopic import npy
from isotopic.arrays import Array, in_native_order
from isotopic.io.csr_arrays import PARTS, CsrArrays, stored_array
from isotopic.io.files import DAMAGED, as_names, is_plain_file, open_seekable
from isotopic.io.limits import check_bytes, check_shape
from isotopic.io.source import Options, Source, check_structure, find_name_files, named

# A member of an archive starts with this many bytes; the last four are the lengths of two fields
# that follow.
_LOCAL_HEADER = 30

# Deflate makes numbers at most this many times smaller.
_MOST_COMPRESSED = 1100

# The arrays of SciPy's sparse formats.
_SPARSE_PARTS = {
    "csr": PARTS,
    "csc": PARTS,
    "bsr": PARTS,
    "coo": ("data", "row", "col"),
    "dia": ("data", "offsets"),
}

_NAMES = ("sample_names", "feature_names")
_BROKEN = (OSError, KeyError, TypeError, NotImplementedError, RuntimeError, BadZipFile, *DAMAGED)


class Archive:
    """The arrays of an open archive, by name; each is compared with what its header promises."""

    def __init__(self, file: ZipFile) -> None:
        self.zip = file
        for member in file.infolist():
            if member.file_size > _MOST_COMPRESSED * max(1, member.compress_size):
                raise ValueError(f"{member.filename} is damaged: it promises more than it can hold")
        self.names = {name.removesuffix(".npy") for name in file.namelist()}

    def header(self, name: str) -> npy.Header:
        """Return the header of an array."""
        with self._opened(name) as (_, header):
            return header

    def array(self, name: str) -> Array:
        """Return an array; its checksum is verified."""
        with self._opened(name) as (member, header):
            found = npy.read_values(member, header)
            member.read(1)  # the end of a member, where its checksum is verified
            return found

    @contextmanager
    def _opened(self, name: str) -> Iterator[tuple[Any, npy.Header]]:
        if f"{name}.npy" not in self.zip.namelist():
            raise ValueError(f"the archive has no array {name}; it has {self._list_members()}")
        info = self.zip.getinfo(f"{name}.npy")
        with self.zip.open(info) as member:
            try:
                header = npy.read_header(member)
            except ValueError as error:
                raise ValueError(f"{name} is not an array: {error}") from error
            if member.tell() + header.nbytes != info.file_size:
                raise ValueError(
                    f"{name} is cut off or damaged: its header promises {header.nbytes:,} bytes"
                )
            yield member, header

    def layout(self) -> str | None:
        """Return the layout of a sparse matrix (CSR if it does not say), or ``None``."""
        if not {"shape", "data"} <= self.names:
            return None
        if "format" not in self.names:
            return "csr"
        found = self.array("format")
        layout = found.item() if found.size == 1 else found.tolist()
        layout = layout.decode("latin-1") if isinstance(layout, bytes) else layout
        if layout not in _SPARSE_PARTS:
            raise ValueError(f"the sparse matrix is {layout!r:.60}, not {', '.join(_SPARSE_PARTS)}")
        return str(layout)

    def dense_name(self) -> str:
        """Return the name of the only array."""
        members = self.names - set(_NAMES)
        if len(members) != 1:
            raise ValueError(
                "this is not a sparse matrix as scipy.sparse.save_npz writes it, nor one dense "
                f"array; it has {self._list_members()}"
            )
        return members.pop()

    def _list_members(self) -> str:
        return ", ".join(sorted(self.names)[:20]) or "nothing"


@dataclass(frozen=True, eq=False)
class NpzSource(Source):
    """A matrix in an archive of NumPy; rows can be read if they are CSR and not compressed."""

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``, with the archive's checksums verified once."""
        is_whole = (start, stop) == (0, self.shape[0])
        if is_whole or self.csr_arrays is None:
            with _opened(self.path) as archive:
                whole = _read_matrix(archive, self.shape)
            return whole if is_whole else whole[start:stop]
        if start == 0:
            with _opened(self.path) as archive:
                damaged = archive.zip.testzip()
                if damaged is not None:
                    raise ValueError(f"{damaged} does not match its checksum")
        return self.csr_arrays.rows(start, stop)

    def write_arrays(self, folder: Path) -> None:
        """Write the arrays of a CSR matrix to files, without holding them in memory if they are."""
        with _opened(self.path) as archive:
            if archive.layout() == "csr":
                for name in (*PARTS, "shape"):
                    archive.header(name)
                    archive.zip.extract(f"{name}.npy", folder)  # checksums are verified
                return
        super().write_arrays(folder)

    def _stored_names(self, axis: int, start: int, stop: int | None) -> Array | None:
        name = _NAMES[axis]
        with _opened(self.path) as archive:
            if name not in archive.names:
                return None
            names = archive.array(name)
        if names.dtype.kind not in "US" or names.ndim != 1:
            raise ValueError(f"{name} must be a list of str; it is {names.dtype} of {names.shape}")
        return as_names(names[start:stop].tolist())


def open_npz(path: Path, options: Options) -> Source:
    """Open an archive; names are in it, or beside it in ``rows.txt`` and ``vocab.txt``."""
    with _opened(path) as archive:
        unpacked = sum(member.file_size for member in archive.zip.infolist())
        check_bytes(path, unpacked, f"{unpacked:,} bytes when it is unpacked", options.max_size)
        shape, entries = _measure(archive)
        check_shape(path, shape, options.max_size)
        names = archive.names
        arrays = _find_arrays(path, archive, shape) if is_plain_file(path) else None
    source = NpzSource(
        os.fspath(path), shape, entries, can_read_rows=arrays is not None, csr_arrays=arrays
    )
    rows, columns = find_name_files(path, shape, options)
    rows = None if "sample_names" in names else rows
    columns = None if "feature_names" in names else columns
    return named(source, rows, columns, options.encoding)


@contextmanager
def _opened(path: str | Path) -> Iterator[Archive]:
    with open_seekable(Path(path)) as stream:
        try:
            if stream.read(2) != b"PK":
                raise ValueError("this is not an archive of NumPy (.npz)")
            stream.seek(0)
            with ZipFile(stream) as file:
                yield Archive(file)
        except _BROKEN as error:
            raise ValueError(f"this is not an archive of NumPy, or is damaged: {error}") from error


def _measure(archive: Archive) -> tuple[tuple[int, int], int]:
    """Return the shape and the number of stored values, without reading them."""
    if archive.layout() is not None:
        shape = archive.array("shape")
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
            raise ValueError(f"the shape must be two whole numbers, not {shape!r:.60}")
        rows, features = shape.tolist()
        header = archive.header("data")
        if header.dtype.kind not in "biuf":
            raise ValueError(f"the data are {header.dtype}, not real numbers")
        return (rows, features), header.nbytes // header.dtype.itemsize
    sizes, _, dtype = archive.header(archive.dense_name())
    if len(sizes) != 2 or dtype.kind not in "biuf":
        raise ValueError(f"the array is {dtype} of shape {sizes}, not a table of counts")
    return (sizes[0], sizes[1]), sizes[0] * sizes[1]


def _read_matrix(archive: Archive, shape: tuple[int, int]) -> Any:
    """Read everything, with checksums; sparse matrices become CSR."""
    layout = archive.layout()
    if layout is None:
        return archive.array(archive.dense_name())
    if tuple(archive.array("shape").tolist()) != shape:
        raise ValueError("the shape has changed since the archive was opened")
    parts = [in_native_order(archive.array(name)) for name in _SPARSE_PARTS[layout]]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in parts[1:]):
        raise ValueError("the indices must be lists of whole numbers")
    made = getattr(sparse, f"{layout}_array")
    given = (parts[0], (parts[1], parts[2])) if layout == "coo" else tuple(parts)
    matrix = made(given, shape=shape)
    if layout == "csr":
        return matrix
    check_structure(matrix)
    return matrix.tocsr()


def _find_arrays(path: Path, archive: Archive, shape: tuple[int, int]) -> CsrArrays | None:
    """Return where the arrays of a CSR matrix are, if it is one and is not compressed."""
    if archive.layout() != "csr":
        return None
    found = []
    with path.open("rb") as file:
        for name in PARTS:
            archive.header(name)
            member = archive.zip.getinfo(f"{name}.npy")
            if member.compress_type != ZIP_STORED:
                return None
            file.seek(member.header_offset + _LOCAL_HEADER - 4)
            file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
            found.append(stored_array(os.fspath(path), file))
    data, indices, indptr = found
    if data is None or indices is None or indptr is None:
        return None
    if "f" in indices.dtype.kind + indptr.dtype.kind or indptr.size != shape[0] + 1:
        return None
    return CsrArrays(data, indices, indptr, shape[1])
