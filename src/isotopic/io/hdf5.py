"""HDF5, AnnData's ``.h5ad`` and zarr: dense, CSR or CSC matrices, and AnnData's names."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array, in_native_order
from isotopic.containers import CountsWarning
from isotopic.io.csr_arrays import DAMAGED_ROWS, PARTS, check_row_starts
from isotopic.io.files import as_names, extra, head_of, is_plain_file, open_seekable
from isotopic.io.inside import InsideHdf5, check_zarr
from isotopic.io.limits import MAX_SIZE, check_bytes, check_shape
from isotopic.io.source import Options, Source, check_structure
from isotopic.names import (
    SYMBOL_COLUMNS,
    are_gene_identifiers,
    gene_names,
    stacklevel_of_caller,
)

#: The first bytes of a file of HDF5.
HDF5_MAGIC = b"\x89HDF\r\n"

# AnnData's tables of samples and features, whose indexes are the names.
_FRAMES = ("obs", "var")
# Entries of a matrix that are looked at to see whether it holds counts.
_ENTRIES_TO_CHECK = 100_000

_ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")


@dataclass(frozen=True, eq=False)
class Hdf5Source(Source):
    """A matrix in a file of HDF5 or in a zarr folder."""

    key: str  # where in the file the matrix is; "" is the root of a zarr array
    layout: str  # dense, csr or csc
    has_names: bool  # whether there are AnnData's names of samples (obs) and features (var)
    name_column: str | None = None  # of obs, if its index is not to name the samples

    @property
    def name(self) -> str:
        """The path, and where in the file the matrix is."""
        return f"{self.path}:{self.key}" if self.key else self.path

    def files(self) -> Sequence[str]:
        """Return the file; of a zarr folder, the folder of the matrix."""
        return (os.path.join(self.path, self.key) if os.path.isdir(self.path) else self.path,)

    def rows(self, start: int, stop: int) -> Any:
        """Return the rows ``start:stop``."""
        with _opened(self.path, is_checked=True) as root:
            node = root[self.key] if self.key else root
            if self.layout == "dense":
                return _slice(node, start, stop)
            if self.layout == "csr":
                starts = _slice(node["indptr"], start, stop + 1).astype(np.int64, copy=False)
                first, last = int(starts[0]), int(starts[-1])
                if not 0 <= first <= last <= self.entries:
                    raise ValueError(DAMAGED_ROWS)
                data, indices = (_slice(node[part], first, last) for part in PARTS[:2])
                shape = (stop - start, self.shape[1])
                return sparse.csr_array((data, indices, starts - first), shape=shape, copy=False)
            data, indices, indptr = (_slice(node[part], 0, None) for part in PARTS)
        whole = sparse.csc_array((data, indices, indptr), shape=self.shape)
        check_structure(whole)
        return whole.tocsr()[start:stop]

    def row_starts(self) -> Array | None:
        """Return where the entries of each row start."""
        if self.layout != "csr":
            return None
        with _opened(self.path, is_checked=True) as root:
            node = root[self.key] if self.key else root
            starts = _slice(node["indptr"], 0, None).astype(np.int64, copy=False)
        check_row_starts(starts, self.entries)
        return starts

    def _stored_names(self, axis: int, start: int, stop: int | None) -> Array | None:
        if not self.has_names:
            return None
        with _opened(self.path, is_checked=True) as root:
            frame = root[_FRAMES[axis]]
            if self.name_column is not None and axis == 0:
                return as_names(self._strings(frame[self.name_column], start, stop))
            if not hasattr(frame, "attrs") or "_index" not in frame.attrs:
                raise ValueError(f"{_FRAMES[axis]} has no index")
            if axis == 1:
                return self._feature_names(frame)[start:stop]
            return as_names(self._strings(frame[frame.attrs["_index"]], start, stop))

    def stored_metadata(self) -> dict[str, Array] | None:
        """Return the columns of ``obs``, as text; a missing value is empty."""
        if not self.has_names:
            return None
        with _opened(self.path, is_checked=True) as root:
            frame = root["obs"]
            index = frame.attrs.get("_index")
            names = [name for name in frame if name != index and not name.startswith("__")]
            columns = {name: self._texts(frame[name]) for name in names}
        n = self.shape[0]
        whole = {name: as_names(c) for name, c in columns.items() if c is not None and len(c) == n}
        return whole or None

    def _texts(self, node: Any) -> list[str] | None:
        """Return a column as texts; ``None`` if it is stored in another way than as one list."""
        if hasattr(node, "shape"):
            return self._strings(node, 0, None) if len(node.shape) == 1 else None
        if "categories" in node:
            categories = [*self._strings(node["categories"], 0, None), ""]
            codes = self._slice_names(node["codes"], 0, None)
            if not np.all((codes >= -1) & (codes < len(categories) - 1)):
                raise ValueError("the categories of a column of obs are damaged")
            return [categories[code] for code in codes]
        if "values" in node and "mask" in node:
            missing = self._slice_names(node["mask"], 0, None)
            texts = self._strings(node["values"], 0, None)
            return ["" if gone else text for text, gone in zip(texts, missing, strict=True)]
        return None

    def _feature_names(self, frame: Any) -> Array:
        """Return the index of ``var``, or the symbols of genes if it has only identifiers."""
        names = as_names(self._strings(frame[frame.attrs["_index"]], 0, None))
        found = [name for name in SYMBOL_COLUMNS if name in frame]
        if not found or not are_gene_identifiers(names):
            return names
        try:
            return gene_names(names, self._strings(frame[found[0]], 0, None))
        except ValueError:  # symbols are missing; the identifiers are whole
            return names

    def _strings(self, node: Any, start: int, stop: int | None) -> list[str]:
        """Return an array of strings in any of the ways in which AnnData stores them."""
        if not hasattr(node, "shape"):
            if "categories" in node:
                categories = np.asarray(self._strings(node["categories"], 0, None), dtype=object)
                codes = self._slice_names(node["codes"], start, stop)
                if not np.all((codes >= 0) & (codes < len(categories))):
                    raise ValueError("the name of a sample or feature is missing")
                return list(categories[codes])
            if "mask" in node and np.any(self._slice_names(node["mask"], start, stop)):
                raise ValueError("the name of a sample or feature is missing")
            node = node["values"]  # of strings that may be missing
        found = self._slice_names(node, start, stop).tolist()
        return [cell.decode() if isinstance(cell, bytes) else str(cell) for cell in found]

    def _slice_names(self, node: Any, start: int, stop: int | None) -> Array:
        """Return part of a list of names, whose length may be a mere claim."""
        if len(node.shape) != 1:
            raise ValueError("the names of samples or features are not a list")
        claimed = node.shape[0] * max(8, getattr(node.dtype, "itemsize", 8))
        check_bytes(self.path, claimed, f"{node.shape[0]:,} names", MAX_SIZE)
        return np.asarray(node[start:stop])


def is_zarr(path: Path) -> bool:
    """Return whether a folder is a zarr store."""
    return any((path / name).is_file() for name in _ZARR_FILES)


def has_annotations(path: Path) -> bool:
    """Return whether a file has AnnData's names of samples and features."""
    with _opened(path) as root:
        return not hasattr(root, "shape") and "obs" in root and "var" in root


def open_h5ad(path: Path, options: Options) -> Source:
    """Open a file of AnnData: the matrix ``X``, a layer, or what ``key`` names."""
    with _opened(path) as root:
        missing = [name for name in _FRAMES if name not in root]
        if missing:
            raise ValueError(f"this HDF5 file is not AnnData: it has no {' and no '.join(missing)}")
        layers = sorted(root["layers"]) if "layers" in root else []
        known = f"it has the layers {', '.join(layers)}" if layers else "it has no layers"
        if options.layer is not None and options.layer not in layers:
            raise ValueError(f"there is no layer {options.layer!r}; {known}")
        if options.layer is not None:
            key = f"layers/{options.layer}"
        else:
            key = options.key or "X"
            if key not in root:
                raise ValueError(f"the file has no {key}; {known}")
        has_names = not key.startswith(("obs", "var", "uns", "raw"))
        column = options.name_column
        if column is not None and (not has_names or column not in root["obs"]):
            raise ValueError(f"obs has no column {column!r}; it has {', '.join(root['obs'])}")
        source = _describe(path, root, key, options, has_names=has_names)
        if key == "X":
            _warn_of_forgotten_layer(path, root, layers)
        return replace(source, name_column=column)


def _warn_of_forgotten_layer(path: Path, root: Any, layers: list[str]) -> None:
    """Warn if ``X`` is not counts but a layer is."""
    if not layers or _begins_with_counts(root["X"]):
        return
    counts = [name for name in layers if _begins_with_counts(root[f"layers/{name}"])]
    if counts:
        warnings.warn(
            f"{path.name}: X is not counts: it has entries that are not whole numbers. Pass "
            f"layer={counts[0]!r} (--layer {counts[0]}), which holds counts. If you mean X, ignore "
            "this warning.",
            CountsWarning,
            stacklevel=stacklevel_of_caller(),
        )


def _begins_with_counts(node: Any) -> bool:
    """Return whether the first entries of a matrix are whole numbers, and not all zero."""
    stored = node if hasattr(node, "shape") else node["data"]
    if np.dtype(stored.dtype).kind not in "biuf":
        return False
    width = int(np.prod(stored.shape[1:])) or 1
    values = np.asarray(stored[: -(-_ENTRIES_TO_CHECK // width)])
    return bool(values.any()) and np.array_equal(np.rint(values), values)


def open_hdf5(path: Path, options: Options) -> Source:
    """Open HDF5 or zarr: what ``key`` names, or ``X``, or the only matrix there is."""
    with _opened(path) as root:
        is_array, key = hasattr(root, "shape"), options.key
        names = [] if is_array else list(root)
        found = "an array" if is_array else ", ".join(names) or "nothing"
        if key and (is_array or key not in root):
            raise ValueError(f"the file has no {key!r}; it has {found}")
        if not key and (is_array or "indptr" in names):
            return _describe(path, root, "", options, has_names=False)
        if not key and "X" not in names and len(names) != 1:
            raise ValueError(f"the file has {found}; say with key= which is the matrix")
        key = key or ("X" if "X" in names else names[0])
        return _describe(path, root, key, options, has_names="obs" in names and "var" in names)


def stored_source(node: Any) -> Source:
    """Return a source for an open object of h5py or zarr, which is opened again to be read."""
    if type(node).__module__.partition(".")[0] == "h5py":
        file, key = Path(node.file.filename), node.name.strip("/") or None
        return open_hdf5(file, Options(key=key)).with_status()
    root = getattr(node.store, "root", None)
    if root is None:
        raise ValueError("a zarr array must be in a folder, so that it can be opened again")
    return open_hdf5(Path(root), Options(key=node.path or None)).with_status()


def _describe(path: Path, root: Any, key: str, options: Options, *, has_names: bool) -> Hdf5Source:
    """Find out the layout and the shape of a matrix, and whether its parts fit together."""
    node, name = (root[key], key) if key else (root, "the array")
    if hasattr(node, "shape"):
        _check_numbers(node, name)
        if len(node.shape) != 2:
            raise ValueError(f"{name} has {len(node.shape)} dimensions, not two")
        layout, shape = "dense", (int(node.shape[0]), int(node.shape[1]))
        entries = shape[0] * shape[1]
        check_shape(path, shape, options.max_size, cell_bytes=np.dtype(node.dtype).itemsize)
    else:
        layout, shape = _describe_sparse(node, key or "the root")
        entries = int(node["data"].shape[0])
        check_shape(path, shape, options.max_size)
        entry_bytes = sum(np.dtype(node[part].dtype).itemsize for part in PARTS[:2])
        check_bytes(path, entries * entry_bytes, f"{entries:,} entries", options.max_size)
    can_read_rows = layout != "csc" and (path.is_dir() or is_plain_file(path))
    known = os.fspath(path), shape, entries, key, layout, has_names
    return Hdf5Source(*known, can_read_rows=can_read_rows)


def _describe_sparse(node: Any, name: str) -> tuple[str, tuple[int, int]]:
    """Return the layout and the shape of a sparse matrix; raise if its parts do not fit."""
    attributes = dict(node.attrs)
    kind = str(attributes.get("encoding-type", attributes.get("h5sparse_format", "?")))
    layout = "csr" if "csr" in kind else "csc"
    if layout not in kind or any(part not in node for part in PARTS):
        raise ValueError(f"{name} is stored as {kind}, not as a dense or sparse matrix")
    given: Any = attributes.get("shape", attributes.get("h5sparse_shape"))
    if given is None or len(given) != 2 or min(given) < 0:
        raise ValueError(f"{name} does not have a shape of two numbers")
    shape = int(given[0]), int(given[1])
    for part in PARTS:
        _check_numbers(node[part], part)
        if len(node[part].shape) != 1:
            raise ValueError(f"{part} has {len(node[part].shape)} dimensions, not one")
    entries = int(node["data"].shape[0])
    pointers = shape[0] if layout == "csr" else shape[1]
    if node["indices"].shape[0] != entries or node["indptr"].shape[0] != pointers + 1:
        raise ValueError("the parts of the matrix (data, indices, indptr) do not fit its shape")
    return layout, shape


def _check_numbers(node: Any, name: str) -> None:
    kind = np.dtype(node.dtype).kind
    if kind not in "biuf" or (name in ("indices", "indptr") and kind not in "iu"):
        raise ValueError(f"{name} holds {node.dtype}, not real numbers")


def _slice(node: Any, start: int, stop: int | None) -> Array:
    return in_native_order(np.asarray(node[start:stop]))


@contextmanager
def _opened(given: str | Path, *, is_checked: bool = False) -> Iterator[Any]:
    """Open a file of HDF5 or a zarr folder; any error of the libraries becomes a ValueError.

    A zarr folder ``is_checked`` when it is opened first; later, a change would be noticed.
    """
    path = Path(given)
    try:
        if path.is_dir():
            if not is_checked:
                check_zarr(path)
            yield extra("zarr", "files").open(os.fspath(path), mode="r")
        elif not head_of(path).startswith(HDF5_MAGIC):
            raise ValueError("this is not a file of HDF5")
        elif is_plain_file(path):
            with extra("h5py", "files").File(path, "r") as file:
                yield InsideHdf5(file)
        else:
            with open_seekable(path) as stream, extra("h5py", "files").File(stream, "r") as file:
                yield InsideHdf5(file)
    except (ValueError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"the file is damaged, or not what it seems: {error}") from error
