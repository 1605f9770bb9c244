"""Finding row blocks in what a user has: paths, matrices, open files, Dask collections."""

import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.atomic import scratch_folder
from isotopic.blocks.block import (
    Block,
    BlockError,
    InMemory,
    Reordered,
    SourceRows,
    Stack,
    WidthError,
    errors_naming_block,
)
from isotopic.containers import is_named, read_container
from isotopic.io import TEXT_FORMATS, Options, Source, open_source
from isotopic.io.hdf5 import is_zarr, open_hdf5, stored_source
from isotopic.io.limits import MAX_SIZE
from isotopic.io.npy import memory_map_source, open_csr_folder
from isotopic.io.read import recognise
from isotopic.io.source import LoadedSource, find_name_files, named
from isotopic.io.triplets import looks_like_triplets
from isotopic.names import order_by_name

# A block costs as much as some entries for each feature, for sums of the size of the topics. So it
# should have many more entries; but blocks are also what is read ahead, and what workers share.
_ENTRIES_PER_FEATURE = 128
_FEWEST_ENTRIES, _MOST_ENTRIES = 2**20, 2**23

# Bytes that an entry takes while its block is worked on, and how many blocks a limit should hold.
_ENTRY_BYTES = 24
_BLOCKS_IN_LIMIT = 12

# Files that can be the blocks of a folder, with their formats.
_BLOCK_FILES = {
    ".npz": "npz",
    ".npy": "npy",
    ".mtx": "mtx",
    ".mtx.gz": "mtx",
    ".parquet": "triplets",
    ".h5ad": "h5ad",
}


@dataclass(frozen=True)
class BlockOptions:
    """How data is cut into blocks, and how files are read; see :func:`~isotopic.open_blocks`."""

    memory_limit: int | None = None
    n_features: int | None = None
    key: str | None = None
    block_entries: int | None = None
    scratch: str | None = None
    format: str | None = None
    max_size: int | str = MAX_SIZE

    def target_entries(self, n_features: int) -> int:
        """Return how many entries a block should have."""
        if self.block_entries is not None:
            return self.block_entries
        target = int(np.clip(_ENTRIES_PER_FEATURE * n_features, _FEWEST_ENTRIES, _MOST_ENTRIES))
        if self.memory_limit is None:
            return target
        return max(1, min(target, self.memory_limit // (_BLOCKS_IN_LIMIT * _ENTRY_BYTES)))


def is_dask(X: Any) -> bool:
    """Return whether ``X`` is a Dask collection."""
    return hasattr(X, "__dask_graph__") and callable(X.__dask_graph__)


def is_dask_list(X: Any) -> bool:
    """Return whether ``X`` is a list of Dask collections."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(map(is_dask, X))


def module_of(X: Any) -> str:
    """Return the name of the library that the type of ``X`` is from."""
    return type(X).__module__.partition(".")[0]


def is_part(part: Any) -> bool:
    """Return whether an item of a list is a block of rows rather than a row."""
    is_path = isinstance(part, (str, os.PathLike))
    is_matrix = sparse.issparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)
    return is_path or is_matrix or is_dask(part)


def find_blocks(source: Any, options: BlockOptions) -> Sequence[Block]:
    """Return the blocks of a source of any kind."""
    if isinstance(source, (str, os.PathLike)):
        return _blocks_of_path(Path(source), options)
    if is_dask(source) or is_dask_list(source):
        from isotopic.dask import blocks_of  # noqa: PLC0415 - an extra

        return blocks_of(source)
    stored = source if isinstance(source, Source) else _stored_source(source)
    if stored is not None:
        return cut(stored, options)
    if is_named(source) or sparse.issparse(source) or isinstance(source, np.ndarray):
        named = read_container(source)
        return [InMemory("X", named.matrix, named.sample_names, named.feature_names)]
    return _blocks_of_list(source, options)


def _stored_source(source: Any) -> Source | None:
    """Return the file of an open array or backed AnnData; ``None`` if it is in memory."""
    library = module_of(source)
    if library in ("h5py", "zarr"):
        return stored_source(source)
    if library == "anndata" and getattr(source, "isbacked", False):
        with errors_naming_block(str(source.filename)):
            return open_hdf5(Path(source.filename), Options(key="X")).with_status()
    if isinstance(source, np.memmap) and isinstance(source.filename, (str, os.PathLike)):
        return memory_map_source(source).with_status()
    return None


def _blocks_of_list(source: Any, options: BlockOptions) -> Sequence[Block]:
    try:
        parts = list(source)
    except TypeError:
        raise TypeError(
            f"Cannot read row blocks from {type(source).__name__}. Accepted: a path, a matrix, "
            "AnnData, an open HDF5 or zarr array, a Dask collection, or a list of these."
        ) from None
    texts = [part for part in parts if isinstance(part, str)]
    if texts and len(texts) == len(parts) and not any(map(os.path.exists, texts)):
        raise ValueError(
            f"X is a list of {len(texts)} strings, none of which is the path of a row block. Count "
            "the words of texts first, with isotopic.read_counts or scikit-learn's CountVectorizer."
        )
    blocks: list[Block] = []
    for number, part in enumerate(parts):
        if not is_part(part):
            raise TypeError(
                f"block {number} is a {type(part).__name__}, not a matrix, a path or a delayed "
                "matrix"
            )
        if isinstance(part, (str, os.PathLike)):
            blocks += _blocks_of_path(Path(part), options, is_shard=True)
        elif is_dask(part):
            blocks += find_blocks(part, options)
        else:
            blocks.append(InMemory(f"number {number}", read_container(part).matrix))
    return blocks


def _blocks_of_path(
    path: Path, options: BlockOptions, *, is_shard: bool = False
) -> Sequence[Block]:
    """Return the blocks of a file or folder; an archive that is one of several stays a block."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {str(path)!r}.")
    files = _block_files(path) if path.is_dir() and options.format is None else []
    if files:
        return _blocks_of_folder(path, files, options)
    reading = Options(key=options.key, n_features=options.n_features, max_size=options.max_size)
    try:
        format = options.format
        if format is None:
            is_triplets = path.is_file() and looks_like_triplets(path)
            format = "triplets" if is_triplets else recognise(path, reading)
        if format in TEXT_FORMATS:
            raise ValueError(
                "this is text. Count its words first, with isotopic.read_counts or scikit-learn's "
                "CountVectorizer"
            )
    except ValueError as error:
        raise BlockError(f"{path}: {error}") from error
    source = _open(path, reading, format)
    return [whole_block(source)] if is_shard and format == "npz" else cut(source, options)


def _open(path: Path, reading: Options, format: str) -> Source:
    try:
        return open_source(path, reading, format)[0]
    except ValueError as error:
        raise BlockError(str(error)) from error


def _suffix(path: Path) -> str:
    name = path.name.lower()
    return ".mtx.gz" if name.endswith(".mtx.gz") else os.path.splitext(name)[1]


def _block_files(folder: Path) -> list[Path]:
    """Return the files of a folder of blocks; none if the folder itself is one matrix."""
    found = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
    names = {path.name.removesuffix(".gz") for path in found}
    if is_zarr(folder) or names & {"indptr.npy", "matrix.mtx", "counts.isotopic"}:
        return []
    kinds = {_suffix(path) for path in found} & set(_BLOCK_FILES)
    if len(kinds) > 1:
        raise ValueError(
            f"{folder} has files of several formats ({', '.join(sorted(kinds))}); blocks must be "
            "files of one format."
        )
    return [path for path in found if _suffix(path) in kinds]


def _blocks_of_folder(
    folder: Path, files: Sequence[Path], options: BlockOptions
) -> Sequence[Block]:
    format = _BLOCK_FILES[_suffix(files[0])]
    reading = Options(
        key=options.key,
        n_features=options.n_features,
        max_size=options.max_size,
        has_names_beside=False,
    )
    sources = [_open(file, reading, format) for file in files]
    if format == "triplets" and options.n_features is None:  # a file may lack the last features
        width = max(source.shape[1] for source in sources)
        sources = [replace(source, shape=(source.shape[0], width)) for source in sources]
    _, vocabulary = find_name_files(folder / "-", sources[0].shape, Options())
    sources = [named(source, None, vocabulary) for source in sources]
    if format in ("triplets", "h5ad"):
        return [block for source in sources for block in cut(source, options)]
    return [whole_block(source) for source in sources]


def whole_block(source: Source) -> Block:
    """Return a source as one block."""
    if isinstance(source, LoadedSource):
        names = source.sample_names(), source.feature_names()
        return InMemory(source.name, source.counts, *names)
    return SourceRows(source, 0, source.shape[0], source.entries)


def cut(source: Source, options: BlockOptions) -> Sequence[Block]:
    """Cut the rows of a source into blocks of about the same size, 2, 4, 8, ... of them.

    A format that can only be read as a whole is first written to the scratch folder by rows, if it
    is large and there is one; otherwise it is one block.
    """
    n_rows, width = source.shape
    if options.n_features is not None and options.n_features != width:
        with errors_naming_block(source.name):
            names = source.feature_names()
        raise WidthError(
            f"n_features={options.n_features!r}, but {source.name} has {width} features.", names
        )
    target = options.target_entries(width)
    if isinstance(source, LoadedSource) or not source.can_read_rows:
        if source.entries <= target or (options.scratch is None and options.memory_limit is None):
            return [whole_block(source)]
        if options.scratch is not None:
            source = _write_by_rows(source, options.scratch)
        elif isinstance(source, LoadedSource):
            raise ValueError(
                f"{source.name} can only be read as a whole. Pass open_blocks a scratch= folder, "
                "where its rows are written to, or read it with isotopic.read_counts."
            )
        else:
            return [whole_block(source)]
    with errors_naming_block(source.name):
        starts = source.row_starts()
    if starts is None:
        starts = np.arange(n_rows + 1, dtype=np.int64) * width
    entries, n_blocks = int(starts[-1]), 1
    while entries > n_blocks * target:
        n_blocks *= 2
    ends = np.searchsorted(starts, np.linspace(0, entries, n_blocks + 1)[1:-1])
    edges = np.unique([0, *ends, n_rows])
    return [
        SourceRows(source, start, stop, int(starts[stop] - starts[start]))
        for start, stop in pairwise(edges.tolist())
    ]


def _write_by_rows(source: Source, scratch: str) -> Source:
    """Write a source to a folder of CSR arrays, which is deleted with the source that reads it."""
    with ExitStack() as stack, errors_naming_block(source.name):
        folder = stack.enter_context(scratch_folder(scratch))
        source.write_arrays(folder)
        written = open_csr_folder(folder, Options())
        written = named(written, source.sample_names(), source.feature_names())
        weakref.finalize(written, stack.pop_all().close)
    return written


def join_small(blocks: Sequence[Block], options: BlockOptions) -> Iterator[Block]:
    """Yield the blocks, with small adjacent ones joined."""
    waiting: list[Block] = []
    for block in blocks:
        target = options.target_entries(block.shape[1])
        joined = sum(part.entries for part in waiting) + block.entries
        if waiting and (joined > target or block.shape[1] != waiting[0].shape[1]):
            yield waiting[0] if len(waiting) == 1 else Stack(tuple(waiting))
            waiting = []
        waiting.append(block)
    yield waiting[0] if len(waiting) == 1 else Stack(tuple(waiting))


def align_blocks(blocks: Sequence[Block]) -> tuple[list[Block], Array | None]:
    """Return blocks with the features in the order of the first that names them, and the names."""
    names: Array | None = None
    orders: dict[Any, Array | None] = {}  # by the file of names, which blocks can share
    aligned: list[Block] = []
    for block in blocks:
        key: Any = id(block)
        if isinstance(block, SourceRows):
            shared = block.source.names[1]
            key = shared if isinstance(shared, str) else id(block.source)
        if key not in orders:
            found = _names_of_features(block)
            names = found if names is None else names
            try:
                orders[key] = order_by_name(found, names, what=block.name, than="earlier blocks")
            except ValueError as error:
                raise BlockError(str(error)) from None
        order = orders[key]
        aligned.append(block if order is None else Reordered(block, order))
    return aligned, names


def _names_of_features(block: Block) -> Array | None:
    if isinstance(block, InMemory):
        return block.features
    if isinstance(block, SourceRows):
        with errors_naming_block(block.source.name):
            return block.source.feature_names()
    return None
