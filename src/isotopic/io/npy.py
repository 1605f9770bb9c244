"""NumPy's ``.npy``: a dense array in a file, or a folder with the arrays of a CSR matrix."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from isotopic import npy
from isotopic.io.csr_arrays import (
    PARTS,
    CsrArrays,
    StoredArray,
    stored_array,
)
from isotopic.io.files import is_plain_file
from isotopic.io.limits import check_shape
from isotopic.io.source import Options, Source, find_name_files, named


@dataclass(frozen=True, eq=False)
class NpySource(Source):
    """A dense array in a file that the system maps into memory."""

    dtype: str
    offset: int  # where in the file the numbers start
    order: Literal["C", "F"]

    def rows(self, start: int, stop: int) -> Any:
        """Return a copy of the rows ``start:stop``."""
        mapped: Any = np.memmap(
            self.path, self.dtype, "r", offset=self.offset, shape=self.shape, order=self.order
        )
        return np.array(mapped[start:stop])


def open_npy(path: Path, options: Options) -> Source:
    """Open an array; its names are beside it in ``rows.txt`` and ``vocab.txt``."""
    if not is_plain_file(path):
        raise ValueError("arrays of NumPy are mapped into memory: decompress the file first")
    with path.open("rb") as file:
        shape, is_fortran, dtype = npy.read_header(file)
        offset = file.tell()
        held = os.fstat(file.fileno()).st_size - offset
    if len(shape) != 2 or dtype.kind not in "biuf":
        raise ValueError(f"the array is {dtype} of shape {shape}, not a table of counts")
    entries = shape[0] * shape[1]
    promised = entries * dtype.itemsize
    if promised > held:
        raise ValueError(f"the header promises {promised:,} bytes; {held:,} follow")
    check_shape(path, shape, options.max_size)
    order: Literal["C", "F"] = "F" if is_fortran else "C"
    source = NpySource(
        os.fspath(path), shape, entries, dtype.str, offset, order, can_read_rows=True
    )
    return named(source, *find_name_files(path, shape, options), options.encoding)


def memory_map_source(mapped: Any) -> Source:
    """Return a source for a memory map, which is opened again where its rows are read."""
    if not (mapped.flags.c_contiguous or mapped.flags.f_contiguous):
        raise ValueError("a memory map must be contiguous")
    root = mapped
    while isinstance(root.base, np.memmap):  # only the base of a view knows its offset in the file
        root = root.base
    first, own = (array.__array_interface__["data"][0] for array in (root, mapped))
    offset = root.offset + own - first
    return NpySource(
        os.fspath(mapped.filename),
        mapped.shape,
        mapped.size,
        mapped.dtype.str,
        offset,
        "C" if mapped.flags.c_contiguous else "F",
        can_read_rows=True,
    )


def is_csr_folder(folder: Path) -> bool:
    """Return whether a folder holds the arrays of a CSR matrix."""
    return (folder / "indptr.npy").is_file()


def open_csr_folder(path: Path, options: Options) -> Source:
    """Open a folder; without ``shape.npy`` the largest feature is the last, or ``n_features``."""
    if not is_csr_folder(path):
        raise ValueError("this is not a folder with data.npy, indices.npy and indptr.npy")
    data, indices, indptr = (_array(path / f"{name}.npy") for name in PARTS)
    if "f" in indices.dtype.kind + indptr.dtype.kind or indptr.size == 0:
        raise ValueError("indices.npy and indptr.npy must hold whole numbers")
    if data.size != indices.size:
        raise ValueError(f"data.npy has {data.size:,} numbers, indices.npy {indices.size:,}")
    shape = (indptr.size - 1, _n_features(path, indptr.size - 1, indices, options))
    check_shape(path, shape, options.max_size)
    arrays = CsrArrays(data, indices, indptr, shape[1])
    source = Source(os.fspath(path), shape, data.size, can_read_rows=True, csr_arrays=arrays)
    return named(source, *find_name_files(path / "-", shape, options), options.encoding)


def _array(path: Path) -> StoredArray:
    with path.open("rb") as file:
        found = stored_array(os.fspath(path), file)
        held = os.fstat(file.fileno()).st_size
    if found is None:
        raise ValueError(f"{path.name} must be a list of real numbers")
    if found.offset + found.size * found.dtype.itemsize > held:
        raise ValueError(f"{path.name} is cut off: its header promises {found.size:,} numbers")
    return found


def _n_features(path: Path, n_rows: int, indices: StoredArray, options: Options) -> int:
    if (path / "shape.npy").is_file():
        shape = npy.load(path / "shape.npy")
        if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape.min() < 0:
            raise ValueError(f"shape.npy must hold two whole numbers, not {shape!r:.60}")
        if int(shape[0]) != n_rows:
            raise ValueError(f"shape.npy says {shape[0]:,} rows; indptr.npy has {n_rows:,}")
        return int(shape[1])
    if options.n_features is not None:
        return options.n_features
    if indices.size == 0:
        return 0
    place = indices.offset, (indices.size,)
    return int(np.memmap(indices.path, indices.dtype, "r", *place).max()) + 1
