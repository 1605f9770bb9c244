"""From what a user has to row blocks."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.block import Block
from isotopic.blocks.sources import (
    Reading,
    check_widths,
    found_in,
    is_dask,
    is_dask_list,
    is_part,
    module_of,
    stacked,
)

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


@dataclass(frozen=True)
class Blocks:
    """Data in row blocks, and what may be used to go through it; see :func:`open_blocks`.

    Attributes
    ----------
    blocks : tuple of Block
    memory_limit : int or None
        In bytes.
    scratch : str or None
    keep_weights : bool
    client : distributed.Client or None
    feature_names : ndarray of str or None
    """

    blocks: tuple[Block, ...]
    memory_limit: int | None = None
    scratch: str | None = None
    keep_weights: bool = True
    client: Any = None
    feature_names: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return sum(block.shape[0] for block in self.blocks), self.blocks[0].shape[1]

    def __len__(self) -> int:
        """Count the samples, as for any matrix."""
        return self.shape[0]


def open_blocks(
    source: Any,
    *,
    memory_limit: int | str | None = None,
    scratch: str | os.PathLike[str] | None = None,
    keep_weights: bool = True,
    client: Any = None,
    n_features: int | None = None,
    key: str | None = None,
    block_entries: int | None = None,
) -> Blocks:
    """Open data that is in row blocks, or too large to be read at once.

    Only sizes are looked at here; a fit checks every block before its first pass.

    Parameters
    ----------
    source : path, list of paths, list of matrices, array in a file, AnnData or Dask collection
        A folder or list of ``.npz`` (``scipy.sparse.save_npz``), ``.npy`` or ``.mtx`` files, one
        below the other; a folder with the parts of a CSR matrix (``data.npy``, ``indices.npy``,
        ``indptr.npy``); HDF5, ``.h5ad`` or zarr; Parquet with the columns sample, feature, count
        (samples ascending); ``np.memmap``; arrays and sparse matrices in a list or any other
        iterable; a Dask array, bag or list of delayed matrices.
    memory_limit : int, str or None, default=None
        What a fit may use, as ``2_000_000_000`` or ``"2 GB"``. Blocks for which there is room
        stay in memory, others are read again for each pass. ``None``: all stay.
    scratch : path or None, default=None
        A folder for what the samples need from one pass to the next, and for ``weights_``. By
        default these are in memory, or in a temporary folder if the limit is too small. The
        workers of a cluster must all see it.
    keep_weights : bool, default=True
        Whether the fitted model keeps ``weights_``.
    client : distributed.Client or None, default=None
        Where to work: on a Dask cluster. By default here, or for Dask collections where the
        current client is.
    n_features : int or None, default=None
        For formats that do not say how many there are, where the largest one is not the last.
    key : str or None, default=None
        Where in a file of HDF5 or zarr the matrix is, by default ``"X"``.
    block_entries : int or None, default=None
        How many counts a block should have: smaller ones are joined, and matrices of which rows
        can be read are cut. By default many times the number of features, because each block
        costs a little for each feature.

    Returns
    -------
    blocks : Blocks
        For ``fit``, ``transform`` and ``score`` of any model.

    Examples
    --------
    >>> from isotopic import NMF, datasets, open_blocks
    >>> X = datasets.load_kjv().data
    >>> blocks = open_blocks([X[:600], X[600:]], memory_limit="1 GB")
    >>> NMF(5, max_iter=20, tol=0).fit(blocks).weights_.shape
    (1189, 5)
    """
    limit = read_bytes(memory_limit)
    names = feature_names(source)
    how = Reading(limit, n_features, key, block_entries)
    found = found_in(source, how)
    if not found:
        raise ValueError(f"{source!r:.200} has no row blocks")
    blocks = tuple(stacked(found, how))
    check_widths(blocks)
    folder = None if scratch is None else os.fspath(scratch)
    if folder is not None and not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} for scratch")
    if client is None and (is_dask(source) or is_dask_list(source)):
        from isotopic.dask import current_client  # noqa: PLC0415 - an extra

        client = current_client()
    return Blocks(blocks, limit, folder, keep_weights, client, names)


def is_blocks(X: Any) -> bool:
    """Tell whether ``X`` is to be read block by block rather than as a matrix."""
    if isinstance(X, (Blocks, str, os.PathLike)) or is_dask(X):
        return True
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(is_part(part) for part in X)
    if isinstance(X, Iterator):
        return True
    return module_of(X) in ("h5py", "zarr", "anndata")


def read_bytes(given: Any) -> int | None:
    """Read an amount of memory."""
    if given is None:
        return None
    value = given
    if isinstance(given, str):
        digits = given.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        unit = given.strip()[len(digits) :].upper()
        try:
            value = float(digits) * _UNITS[unit]
        except (KeyError, ValueError):
            raise ValueError(f"memory_limit={given!r} is not an amount such as '2 GB'") from None
    number = isinstance(value, (int, float, np.integer)) and not isinstance(value, bool)
    if not (number and 0 < value < np.inf):
        raise ValueError(f"memory_limit must be a positive amount of bytes, not {given!r}")
    return int(value)


def feature_names(source: Any) -> Array | None:
    """Give the names of the features, where the data has them."""
    names = getattr(source, "var_names", None)  # of AnnData
    return None if names is None else np.asarray(names, dtype=object)
