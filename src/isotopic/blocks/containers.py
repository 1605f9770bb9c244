"""Matrices that are read a few rows at a time: HDF5, zarr, Parquet and memory maps."""

import os
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from isotopic.arrays import Array


class Container(Protocol):
    """A matrix of which rows can be read; it travels, so it holds no open file."""

    @property
    def name(self) -> str:
        """What errors call it."""

    def rows(self, start: int, stop: int, n_features: int) -> Any:
        """Read some rows."""

    def look(self) -> tuple[int, int | None, Array | None]:
        """Give the number of samples, of features if known, and where rows start if sparse."""


@dataclass(frozen=True)
class _AtPath:
    """Something that is called by its path."""

    path: str

    @property
    def name(self) -> str:
        """The path."""
        return self.path


@dataclass(frozen=True)
class MemoryMap(_AtPath):
    """A dense array in a file, of which the system reads what is looked at.

    Parameters
    ----------
    path : str
    dtype : str
    offset : int
    shape : tuple of int
    order : {"C", "F"}
    """

    dtype: str
    offset: int
    shape: tuple[int, int]
    order: Any = "C"

    def rows(self, start: int, stop: int, n_features: int) -> Any:
        """Copy some rows."""
        whole: Any = np.memmap(
            self.path, self.dtype, "r", offset=self.offset, shape=self.shape, order=self.order
        )
        return np.array(whole[start:stop])

    def look(self) -> tuple[int, int | None, Array | None]:
        """Give the shape."""
        return (*self.shape, None)


@dataclass(frozen=True)
class Parts(_AtPath):
    """A CSR matrix as ``data.npy``, ``indices.npy`` and ``indptr.npy`` in a folder.

    Parameters
    ----------
    path : str
    """

    def _part(self, name: str) -> Array:
        part: Array = np.load(Path(self.path) / f"{name}.npy", mmap_mode="r")
        return part

    def rows(self, start: int, stop: int, n_features: int) -> Any:
        """Copy some rows."""
        return _rows_of_csr(self._part, start, stop, n_features)

    def look(self) -> tuple[int, int | None, Array | None]:
        """Give the shape, if ``shape.npy`` tells it; else the largest feature does."""
        starts = np.array(self._part("indptr"))
        if (Path(self.path) / "shape.npy").exists():
            return len(starts) - 1, int(self._part("shape")[1]), starts
        return len(starts) - 1, None, starts

    def n_features(self) -> int:
        """Find the largest feature."""
        indices = self._part("indices")
        return int(indices.max()) + 1 if len(indices) else 0


@dataclass(frozen=True)
class Hierarchy:
    """A matrix in a file of HDF5 (h5ad too) or in a zarr folder: dense, or CSR as AnnData has it.

    Parameters
    ----------
    path : str
    key : str
        Where in the file it is.
    zarr : bool
    """

    path: str
    key: str
    zarr: bool

    @property
    def name(self) -> str:
        """The path, and where in it."""
        return f"{self.path}:{self.key}" if self.key else self.path

    def rows(self, start: int, stop: int, n_features: int) -> Any:
        """Read some rows."""
        with _opened(self.path, self.zarr) as root:
            found = root[self.key] if self.key else root
            if hasattr(found, "shape"):
                return np.asarray(found[start:stop])
            return _rows_of_csr(found.__getitem__, start, stop, n_features)

    def look(self) -> tuple[int, int | None, Array | None]:
        """Give the shape, and where rows start."""
        with _opened(self.path, self.zarr) as root:
            if self.key and self.key not in root:
                raise ValueError(f"{self.path} has no {self.key!r}; it has {', '.join(root)}")
            found = root[self.key] if self.key else root
            if hasattr(found, "shape"):
                if len(found.shape) != 2:
                    raise ValueError(f"{self.name} has {len(found.shape)} dimensions, not two")
                return int(found.shape[0]), int(found.shape[1]), None
            attributes = dict(found.attrs)
            kind = str(attributes.get("encoding-type", attributes.get("h5sparse_format", "?")))
            if "csr" not in kind:
                raise ValueError(
                    f"{self.name} is stored as {kind}; only dense and CSR matrices can be read a "
                    "few rows at a time. Write it again with X as csr_matrix"
                )
            shape: Any = attributes.get("shape", attributes.get("h5sparse_shape"))
            return int(shape[0]), int(shape[1]), np.asarray(found["indptr"][:])


@dataclass(frozen=True)
class Coordinates(_AtPath):
    """A table of Parquet whose first three columns are sample, feature and count.

    Samples ascend, and are numbered from 0.

    Parameters
    ----------
    path : str
    """

    def rows(self, start: int, stop: int, n_features: int) -> Any:
        """Read some samples, from the row groups that have them."""
        parquet = _parquet()
        table = parquet.ParquetFile(self.path)
        groups = [i for i, (low, high) in enumerate(_ranges(table)) if low < stop and high >= start]
        names = table.schema_arrow.names[:3]
        read = table.read_row_groups(groups, columns=names)
        row, feature, count = (np.asarray(read[name]) for name in names)
        here = slice(*np.searchsorted(row, (start, stop)))
        if np.any(np.diff(row) < 0):
            raise ValueError(f"the samples of {self.path} do not ascend: sort the table by them")
        where = (row[here] - start, feature[here])
        return sparse.coo_array((count[here], where), shape=(stop - start, n_features))

    def look(self) -> tuple[int, int | None, Array | None]:
        """Give the number of samples, and where their entries start."""
        table = _parquet().ParquetFile(self.path)
        names = table.schema_arrow.names
        if len(names) < 3:
            raise ValueError(f"{self.path} needs the columns sample, feature and count")
        lengths = np.zeros(0, np.int64)
        largest = -1
        for group in range(table.num_row_groups):
            read = table.read_row_group(group, columns=names[:2])
            row, feature = (np.asarray(read[name]) for name in names[:2])
            if row.dtype.kind not in "iu" or feature.dtype.kind not in "iu":
                raise ValueError(f"the samples and features of {self.path} must be whole numbers")
            found = np.bincount(row)
            grown = np.zeros(max(len(found), len(lengths)), np.int64)
            grown[: len(lengths)] = lengths
            grown[: len(found)] += found
            lengths, largest = grown, max(largest, int(feature.max(initial=-1)))
        return len(lengths), largest + 1, np.append(0, np.cumsum(lengths))


def hierarchy(path: str, key: str | None) -> Hierarchy:
    """Look where in a file of HDF5 or a zarr folder the matrix is."""
    is_zarr = os.path.isdir(path)
    with _opened(path, is_zarr) as root:
        if key is None:
            matrix = hasattr(root, "shape") or "indptr" in root
            names = [] if hasattr(root, "shape") else list(root)
            key = "" if matrix else "X" if "X" in names else names[0] if len(names) == 1 else None
        if key is None:
            raise ValueError(
                f"{path} has {', '.join(names) or 'nothing'}; say with key= which is X"
            )
    return Hierarchy(path, key, is_zarr)


def _opened(path: str, is_zarr: bool) -> Any:
    """Open a file of HDF5 or a zarr folder, for the length of a with statement."""
    if is_zarr:
        return nullcontext(_library("zarr").open(path, mode="r"))
    return _library("h5py").File(path, "r")


def _parquet() -> Any:
    return _library("pyarrow.parquet")


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"this format needs {name.partition('.')[0]}: pip install isotopic[files]"
        ) from None


def _rows_of_csr(part: Any, start: int, stop: int, n_features: int) -> Any:
    starts = np.asarray(part("indptr")[start : stop + 1])
    here = slice(int(starts[0]), int(starts[-1]))
    data, indices = np.array(part("data")[here]), np.array(part("indices")[here])
    return sparse.csr_array(
        (data, indices, starts - starts[0]), shape=(stop - start, n_features), copy=False
    )


def _ranges(table: Any) -> list[tuple[float, float]]:
    """Give the first and last sample of each row group; all, where that was not written down."""
    found = []
    for group in range(table.num_row_groups):
        statistics = table.metadata.row_group(group).column(0).statistics
        known = statistics is not None and statistics.has_min_max
        found.append((statistics.min, statistics.max) if known else (0, float("inf")))
    return found
