"""open_blocks: data in row blocks, and the settings for going through it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks.block import Block, BlockError, Reordered, Stack, sample_names
from isotopic.blocks.sources import (
    BlockOptions,
    align_blocks,
    find_blocks,
    is_dask,
    is_dask_list,
    is_part,
    join_small,
    module_of,
)
from isotopic.containers import is_anndata
from isotopic.io import Source
from isotopic.io.limits import MAX_SIZE, parse_bytes
from isotopic.names import order_by_name


@dataclass(frozen=True)
class Blocks:
    """Data in row blocks, and the memory, folder and cluster for going through it.

    :func:`open_blocks` makes it and describes the attributes.

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
        """The numbers of samples and features."""
        return sum(block.shape[0] for block in self.blocks), self.blocks[0].shape[1]

    def __len__(self) -> int:
        """Return the number of samples, as for any matrix."""
        return self.shape[0]

    def with_features(self, expected: Array | None) -> "Blocks":
        """Return the data with its features in the order of those of a fitted model, by name."""
        order = order_by_name(self.feature_names, expected)
        if order is None:
            return self
        blocks = tuple(Reordered(block, order) for block in self.blocks)
        return replace(self, blocks=blocks, feature_names=expected)

    @property
    def sample_names(self) -> Array | None:
        """The names of the samples, read from the files; ``None`` if a block has none."""
        return sample_names(Stack(self.blocks))


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
    format: str | None = None,
    max_size: int | str = MAX_SIZE,
) -> Blocks:
    """Open data that is in row blocks, or too large to be read at once.

    Only the sizes and names are read here; a fit checks every block before its first pass.

    Parameters
    ----------
    source : path, list of paths, list of matrices, array in a file, AnnData or Dask collection
        A folder or list of ``.npz`` (``scipy.sparse.save_npz``), ``.npy``, ``.mtx`` or ``.h5ad``
        files, one below the other; a folder with the arrays of a CSR matrix (``data.npy``,
        ``indices.npy``, ``indptr.npy``); HDF5, ``.h5ad`` or zarr; Parquet with a column for each
        feature, or with the columns sample, feature, count (numbered from 0, samples ascending);
        any other file of counts that :func:`isotopic.read_counts` reads; ``np.memmap``; arrays and
        sparse matrices in a list or any other iterable; a Dask array, bag or list of delayed
        matrices; a :class:`isotopic.io.Source`.
    memory_limit : int, str or None, default=None
        The memory that a fit may use, as ``2_000_000_000`` or ``"2 GB"``. Blocks that fit stay in
        memory, others are read again in each pass. With ``None``, all stay.
    scratch : path or None, default=None
        A folder for the expected counts of the samples, which are kept from one pass to the next,
        and for ``weights_``. By default these are in memory, or in a temporary folder if the limit
        is too small. Formats that can only be read as a whole are written there by rows. All
        workers of a cluster must have access to it.
    keep_weights : bool, default=True
        Whether the fitted model keeps ``weights_``.
    client : distributed.Client or None, default=None
        The Dask cluster to work on. By default the work is done in this process, or for Dask
        collections by the current client.
    n_features : int or None, default=None
        The number of features, for formats that do not store it.
    key : str or None, default=None
        Where in a file of HDF5 or zarr the matrix is; by default ``"X"``.
    block_entries : int or None, default=None
        How many counts a block should have: smaller blocks are joined, and matrices that can be
        read by rows are cut. By default many times the number of features, because each block
        costs a little for each feature.
    format : str or None, default=None
        The format of a file or folder, one of :data:`isotopic.io.FORMATS`; by default it is
        recognised.
    max_size : int or str, default=2**28
        A limit against damaged or malicious files, as in :func:`isotopic.read_counts`.

    Returns
    -------
    blocks : Blocks
        For ``fit``, ``transform`` and ``score`` of any model; with ``feature_names`` and
        ``sample_names`` if the files have them.

    Examples
    --------
    >>> from isotopic import NMF, datasets, open_blocks
    >>> X = datasets.load_kjv().data
    >>> blocks = open_blocks([X[:600], X[600:]], memory_limit="1 GB")
    >>> NMF(5, max_iter=20, tol=0).fit(blocks).weights_.shape
    (1189, 5)
    """
    limit = None if memory_limit is None else parse_bytes("memory_limit", memory_limit)
    folder = None if scratch is None else os.fspath(scratch)
    if folder is not None and not os.path.isdir(folder):
        raise FileNotFoundError(f"scratch={folder!r}: there is no such folder. Create it first.")
    options = BlockOptions(limit, n_features, key, block_entries, folder, format, max_size)
    found = find_blocks(source, options)
    if not found:
        raise ValueError(
            f"{source!r:.200} contains no row blocks. Accepted: a path of files of counts, or a "
            "list of at least one path or matrix."
        )
    widths = {block.shape[1]: block.name for block in join_small(found, options)}
    if len(widths) > 1:
        said = " and ".join(f"{name} has {width}" for width, name in list(widths.items())[:2])
        raise BlockError(f"The blocks differ in their number of features: {said}.")
    found, names = align_blocks(found)
    blocks = tuple(join_small(found, options))
    if is_anndata(source):
        names = np.asarray(source.var_names, dtype=object)
    elif isinstance(source, Source):
        names = source.feature_names()
    if client is None and (is_dask(source) or is_dask_list(source)):
        from isotopic.dask import current_client  # noqa: PLC0415 - an extra

        client = current_client()
    return Blocks(blocks, limit, folder, keep_weights, client, names)


def is_blocks(X: Any) -> bool:
    """Return whether ``X`` is read block by block rather than as a matrix."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return False
    if isinstance(X, (Blocks, Source, str, os.PathLike, Iterator)) or is_dask(X):
        return True
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(is_part(part) for part in X)
    is_in_memory = is_anndata(X) and not X.isbacked
    return module_of(X) in ("h5py", "zarr", "anndata") and not is_in_memory
