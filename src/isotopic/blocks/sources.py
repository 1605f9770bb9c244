"""Finding row blocks in what a user has."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotopic.blocks.block import (
    FILES,
    Block,
    BlockError,
    InMemory,
    RowRange,
    Stack,
    file_block,
    suffix_of,
)
from isotopic.blocks.containers import Container, Coordinates, MemoryMap, Parts, hierarchy

# A block's topics-sized sums cost as much as some entries for each feature, so that it should
# have many more; but blocks are also what is read ahead, and what workers share out.
_ENTRIES_A_FEATURE = 128
_FEWEST_ENTRIES, _MOST_ENTRIES = 2**20, 2**23

# Bytes that an entry takes while its block is worked on, and how many blocks a limit should hold.
_ENTRY_BYTES = 24
_BLOCKS_IN_LIMIT = 12


@dataclass(frozen=True)
class Reading:
    """What a user says of how to read.

    Parameters
    ----------
    limit : int or None
        Memory, in bytes.
    n_features : int or None
    key : str or None
    block_entries : int or None
    """

    limit: int | None
    n_features: int | None
    key: str | None
    block_entries: int | None

    def target(self, n_features: int) -> int:
        """Choose how many entries a block should have."""
        if self.block_entries is not None:
            return self.block_entries
        target = int(np.clip(_ENTRIES_A_FEATURE * n_features, _FEWEST_ENTRIES, _MOST_ENTRIES))
        if self.limit is None:
            return target
        return max(1, min(target, self.limit // (_BLOCKS_IN_LIMIT * _ENTRY_BYTES)))


def is_dask(X: Any) -> bool:
    """Tell whether ``X`` is a Dask collection."""
    return hasattr(X, "__dask_graph__") and callable(X.__dask_graph__)


def is_dask_list(X: Any) -> bool:
    """Tell whether ``X`` is a list of Dask collections."""
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(map(is_dask, X))


def module_of(X: Any) -> str:
    """Tell which library a thing is of."""
    return type(X).__module__.partition(".")[0]


def is_part(part: Any) -> bool:
    """Tell whether a thing in a list is a block of rows rather than a row."""
    path = isinstance(part, (str, os.PathLike))
    matrix = sparse.issparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)
    return path or matrix or is_dask(part)


def found_in(source: Any, how: Reading) -> Sequence[Block]:
    """Look at a source of any kind."""
    if isinstance(source, (str, os.PathLike)):
        return _in_path(os.fspath(source), how)
    if is_dask(source) or is_dask_list(source):
        from isotopic.dask import blocks_of  # noqa: PLC0415 - an extra

        return blocks_of(source)
    library = module_of(source)
    if library == "anndata":
        return _in_anndata(source, how)
    if library in ("h5py", "zarr"):
        return _cut(_stored(source), how)
    return _in_memory(source, how)


def _in_memory(source: Any, how: Reading) -> Sequence[Block]:
    """Look at matrices that are here, or at least mapped."""
    if isinstance(source, np.memmap) and isinstance(source.filename, (str, os.PathLike)):
        return _cut(_memory_map(source), how)
    if sparse.issparse(source) or isinstance(source, np.ndarray):
        return [InMemory("X", source)]
    try:
        parts = list(source)
    except TypeError:
        raise TypeError(f"{type(source).__name__} is nothing that row blocks are read of") from None
    _check_paths(parts)
    return [block for i, part in enumerate(parts) for block in _in_part(i, part, how)]


def _check_paths(parts: list[Any]) -> None:
    """Raise if texts were meant where files could have been."""
    texts = [part for part in parts if isinstance(part, str)]
    if texts and len(texts) == len(parts) and not any(map(os.path.exists, texts)):
        raise ValueError(
            f"X is a list of {len(texts)} strings, none of which is the path of a row block. Texts "
            "must be counted first: with isotopic.read_counts or scikit-learn's CountVectorizer"
        )


def _in_part(number: int, part: Any, how: Reading) -> Sequence[Block]:
    if not is_part(part):
        raise TypeError(
            f"block {number} is a {type(part).__name__}, not a matrix, a path or a delayed matrix"
        )
    if isinstance(part, (str, os.PathLike)) or is_dask(part):
        return found_in(part, how)
    return [InMemory(f"number {number}", part)]


def _in_path(path: str, how: Reading) -> Sequence[Block]:
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no file or folder {path!r}")
    suffix = suffix_of(path)
    if suffix == ".npy":
        mapped: Any = np.load(path, mmap_mode="r")
        if mapped.ndim == 2:
            return _cut(_memory_map(mapped), how)
    if suffix in FILES:
        return [file_block(path)]
    if suffix in (".h5ad", ".h5", ".hdf5", ".zarr") or _is_zarr(path):
        try:
            return _cut(hierarchy(path, how.key), how)
        except OSError as error:
            raise BlockError(f"{path} cannot be read: {error}") from error
    if suffix == ".parquet" and os.path.isfile(path):
        return _cut(Coordinates(path), how)
    if not os.path.isdir(path):
        raise ValueError(
            f"{path} is of no format that is known here: "
            f"{', '.join(FILES)}, .h5ad, .h5, .zarr, .parquet"
        )
    return _in_folder(Path(path), how)


def _in_folder(folder: Path, how: Reading) -> Sequence[Block]:
    if (folder / "indptr.npy").exists():
        return _cut(Parts(os.fspath(folder)), how)
    names = sorted(item for item in os.listdir(folder) if not item.startswith((".", "_")))
    kinds = {suffix_of(name) for name in names} & {*FILES, ".parquet"}
    if len(kinds) != 1:
        found = f"files of several formats ({', '.join(sorted(kinds))})" if kinds else "no blocks"
        raise ValueError(f"{folder} has {found}; it needs files of one of {', '.join(FILES)}")
    kind = kinds.pop()
    paths = [os.fspath(folder / name) for name in names if suffix_of(name) == kind]
    if kind in FILES:
        return [file_block(path) for path in paths]
    containers = [Coordinates(path) for path in paths]
    if how.n_features is None:  # a block may lack the last features
        most = max(container.look()[1] or 0 for container in containers)
        how = replace(how, n_features=most)
    return [block for container in containers for block in _cut(container, how)]


def _in_anndata(data: Any, how: Reading) -> Sequence[Block]:
    if getattr(data, "isbacked", False):
        return _cut(hierarchy(os.fspath(data.filename), "X"), how)
    return [InMemory("X", data.X)]


def _stored(source: Any) -> Container:
    """Find the file of an open HDF5 or zarr object, because others will open it again."""
    if module_of(source) == "h5py":
        return hierarchy(source.file.filename, source.name.strip("/") or None)
    root = getattr(source.store, "root", None)
    if root is None:
        raise ValueError("a zarr array must be in a folder, so that it can be opened again")
    return hierarchy(os.fspath(root), source.path or None)


def _memory_map(mapped: Any) -> Container:
    order = "C" if mapped.flags.c_contiguous else "F"
    if not (mapped.flags.c_contiguous or mapped.flags.f_contiguous):
        raise ValueError("a memory map must be contiguous")
    root = mapped
    while isinstance(root.base, np.memmap):  # of a view only the base knows its offset in the file
        root = root.base
    first, own = (array.__array_interface__["data"][0] for array in (root, mapped))
    begin = root.offset + own - first
    return MemoryMap(os.fspath(mapped.filename), mapped.dtype.str, begin, mapped.shape, order)


def _is_zarr(path: str) -> bool:
    names = ("zarr.json", ".zarray", ".zgroup")
    return any(os.path.exists(os.path.join(path, name)) for name in names)


def _cut(container: Container, how: Reading) -> Sequence[Block]:
    """Cut the rows of a container into blocks of about the same size, 2, 4, 8, ... of them."""
    n_rows, features, starts = container.look()
    if isinstance(container, Parts) and features is None and how.n_features is None:
        features = container.n_features()
    width = _width(container.name, features, how.n_features)
    if starts is None:
        starts = np.arange(n_rows + 1, dtype=np.int64) * width
    entries = int(starts[-1])
    n_blocks = 1
    while entries > n_blocks * how.target(width):
        n_blocks *= 2
    ends = np.searchsorted(starts, np.linspace(0, entries, n_blocks + 1)[1:-1])
    edges = np.unique([0, *ends, n_rows])
    return [
        RowRange(container, a, b, width, int(starts[b] - starts[a]))
        for a, b in pairwise(edges.tolist())
    ]


def _width(name: str, found: int | None, given: int | None) -> int:
    if given is None:
        return found or 0
    if not isinstance(given, Integral) or (found is not None and found > given):
        raise ValueError(f"n_features={given!r}, but {name} has {found} features")
    return int(given)


def stacked(blocks: Sequence[Block], how: Reading) -> Iterator[Block]:
    """Join neighbours that are small."""
    waiting: list[Block] = []
    for block in blocks:
        target = how.target(block.shape[1])
        joined = sum(part.entries for part in waiting) + block.entries
        if waiting and (joined > target or block.shape[1] != waiting[0].shape[1]):
            yield _joined(waiting)
            waiting = []
        waiting.append(block)
    yield _joined(waiting)


def _joined(parts: list[Block]) -> Block:
    return parts[0] if len(parts) == 1 else Stack(tuple(parts))


def check_widths(blocks: Sequence[Block]) -> None:
    """Raise if the blocks differ in their number of features."""
    widths = {block.shape[1]: block.name for block in blocks}
    if len(widths) > 1:
        said = " and ".join(f"{name} has {width}" for width, name in list(widths.items())[:2])
        raise BlockError(f"the blocks differ in their number of features: {said}")
