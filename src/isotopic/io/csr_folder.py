"""Folders with the arrays of a CSR matrix: ``data.npy``, ``indices.npy`` and ``indptr.npy``."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from isotopic.io.csr_arrays import CsrArrays, StoredArray, file_status, stored_array
from isotopic.io.names import find_name_files
from isotopic.io.options import Options
from isotopic.io.source import Source, check_plausible, named


def is_csr_folder(folder: Path) -> bool:
    """Whether a folder holds the arrays of a CSR matrix."""
    return (folder / "indptr.npy").is_file()


def open_csr_folder(path: Path, options: Options) -> Source:
    """Open a folder; without ``shape.npy`` the largest feature is the last, or ``n_features``."""
    if not is_csr_folder(path):
        raise ValueError("this is not a folder with data.npy, indices.npy and indptr.npy")
    data, indices, indptr = (_array(path / f"{name}.npy") for name in ("data", "indices", "indptr"))
    if "f" in indices.dtype.kind + indptr.dtype.kind or indptr.size == 0:
        raise ValueError("indices.npy and indptr.npy must hold whole numbers")
    if data.size != indices.size:
        raise ValueError(f"data.npy has {data.size:,} numbers, indices.npy {indices.size:,}")
    shape = (indptr.size - 1, _n_features(path, indices, options))
    check_plausible(shape, data.size)
    status = file_status(data.path, indices.path, indptr.path)
    arrays = CsrArrays(data, indices, indptr, shape[1], status)
    source = Source(os.fspath(path), shape, data.size, can_read_rows=True, csr_arrays=arrays)
    rows, columns = find_name_files(path / "-", shape, options)
    return named(source, rows, columns, options.encoding)


def _array(path: Path) -> StoredArray:
    with path.open("rb") as file:
        found = stored_array(os.fspath(path), file)
        held = os.fstat(file.fileno()).st_size
    if found is None:
        raise ValueError(f"{path.name} must be a list of real numbers")
    if found.offset + found.size * found.dtype.itemsize > held:
        raise ValueError(f"{path.name} is cut off: its header promises {found.size:,} numbers")
    return found


def _n_features(path: Path, indices: StoredArray, options: Options) -> int:
    if (path / "shape.npy").is_file():
        shape = np.load(path / "shape.npy", allow_pickle=False)
        if shape.shape != (2,) or shape.dtype.kind not in "iu":
            raise ValueError(f"shape.npy must hold two whole numbers, not {shape!r:.60}")
        return int(shape[1])
    if options.n_features is not None:
        return options.n_features
    mapped: Any = np.load(path / "indices.npy", mmap_mode="r", allow_pickle=False)
    return int(mapped.max()) + 1 if indices.size else 0
