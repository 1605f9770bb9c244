"""Row blocks: what they are called, how large they are, and how they are loaded."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import DTypeLike
from scipy import io, sparse

from isotopic.blocks.buffers import Buffers
from isotopic.blocks.containers import Container
from isotopic.blocks.npz import can_read_again, look_at_npz, read_again, read_npz
from isotopic.counts import CountMatrix


class Block(Protocol):
    """Some rows of the data, somewhere. It travels to where it is loaded, so it must be small."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""

    @property
    def entries(self) -> int:
        """About how many counts it has."""

    def load(self) -> Any:
        """Read the rows: an array or a sparse matrix."""


@dataclass(frozen=True)
class InMemory:
    """Rows that are here already.

    Parameters
    ----------
    name : str
    X : array or sparse matrix
    """

    name: str
    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return (int(self.X.shape[0]), int(self.X.shape[1]))

    @property
    def entries(self) -> int:
        """Stored values."""
        return int(self.X.size)  # of sparse matrices too

    def load(self) -> Any:
        """Give the rows."""
        return self.X


@dataclass(frozen=True)
class File:
    """A file that holds a matrix of its own.

    Parameters
    ----------
    path : str
    shape : tuple of int
    entries : int
    """

    path: str
    shape: tuple[int, int]
    entries: int

    @property
    def name(self) -> str:
        """The path."""
        return self.path

    def load(self) -> Any:
        """Read the file."""
        return FILES[suffix_of(self.path)].read(self.path)


@dataclass(frozen=True)
class RowRange:
    """Rows of something larger, which is read in parts.

    Parameters
    ----------
    container : Container
    start, stop : int
    n_features : int
    entries : int
    """

    container: Container
    start: int
    stop: int
    n_features: int
    entries: int

    @property
    def name(self) -> str:
        """The container and the rows."""
        return f"{self.container.name}, rows {self.start} to {self.stop}"

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return self.stop - self.start, self.n_features

    def load(self) -> Any:
        """Read the rows."""
        return self.container.rows(self.start, self.stop, self.n_features)


@dataclass(frozen=True)
class Stack:
    """Small blocks, one below the other, that are worth reading only together.

    Parameters
    ----------
    parts : tuple of Block
    """

    parts: tuple[Block, ...]

    @property
    def name(self) -> str:
        """The first and the last part."""
        return f"{self.parts[0].name} to {self.parts[-1].name}"

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    @property
    def entries(self) -> int:
        """Of all parts."""
        return sum(part.entries for part in self.parts)

    def load(self) -> Any:
        """Read all parts; an error names the one that it is about."""
        loaded = [load_raw(part) for part in self.parts]
        if any(sparse.issparse(part) for part in loaded):
            return sparse.vstack([sparse.csr_array(part) for part in loaded], format="csr")
        return np.concatenate(loaded)


def load_raw(block: Block) -> Any:
    """Load a block; whatever goes wrong is said with its name.

    Raises
    ------
    FileNotFoundError, ValueError
    """
    with _naming(block):
        loaded = block.load()
    given: Any = loaded if sparse.issparse(loaded) else np.asarray(loaded)
    _check_shape(block, given.shape)
    return given


def load_again(block: Block, dtype: DTypeLike, buffers: Buffers) -> CountMatrix | None:
    """Load a block of which all is known to be good, if its files can be read faster then.

    Parameters
    ----------
    block : Block
    dtype : dtype
        Of the counts.
    buffers : Buffers
        Whose memory the counts have.
    """
    paths = _npz_files(block)
    if paths is None:
        return None
    with _naming(block):
        rows = read_again(paths, dtype, buffers)
    if rows is None:
        return None
    _check_shape(block, rows.shape)
    return CountMatrix.of_checked(*rows)


def can_load_again(block: Block) -> bool:
    """Tell whether :func:`load_again` can load it, which takes no memory but that of the counts."""
    paths = _npz_files(block)
    return paths is not None and can_read_again(paths)


def _npz_files(block: Block) -> list[str] | None:
    parts = block.parts if isinstance(block, Stack) else (block,)
    paths = [part.path for part in parts if isinstance(part, File)]
    sparse_files = len(paths) == len(parts) and all(suffix_of(path) == ".npz" for path in paths)
    return paths if sparse_files else None


@contextmanager
def _naming(block: Block) -> Iterator[None]:
    """Say which block an error is about."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"the block {block.name} is missing") from None
    except BlockError:
        raise
    except Exception as error:  # of whatever library reads the format
        raise BlockError(f"the block {block.name} cannot be read: {error}") from error


def _check_shape(block: Block, shape: tuple[int, ...]) -> None:
    if shape != block.shape:
        raise BlockError(f"the block {block.name} has shape {shape} and should have {block.shape}")


class BlockError(ValueError):
    """A block that cannot be used; the message names it."""


class Format(NamedTuple):
    """How a kind of file is looked at, and read."""

    look: Callable[[str], tuple[tuple[int, int], int]]
    read: Callable[[str], Any]


def _look_at_npy(path: str) -> tuple[tuple[int, int], int]:
    shape = np.load(path, mmap_mode="r").shape
    if len(shape) != 2:
        raise ValueError(f"it has {len(shape)} dimensions, not two")
    return (shape[0], shape[1]), shape[0] * shape[1]


def _look_at_mtx(path: str) -> tuple[tuple[int, int], int]:
    rows, features, entries = io.mminfo(path)[:3]
    return (int(rows), int(features)), int(entries)


# Files that are read as a whole.
FILES = {
    ".npz": Format(look_at_npz, read_npz),
    ".npy": Format(_look_at_npy, np.load),
    ".mtx": Format(_look_at_mtx, io.mmread),
    ".mtx.gz": Format(_look_at_mtx, io.mmread),
}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Give the ending that tells the format of a file."""
    name = os.fspath(path).lower()
    return ".mtx.gz" if name.endswith(".mtx.gz") else os.path.splitext(name)[1]


def file_block(path: str) -> File:
    """Look at a file that holds a matrix of its own."""
    try:
        shape, entries = FILES[suffix_of(path)].look(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"the block {path} is missing") from None
    except Exception as error:  # of whatever library reads the format
        raise BlockError(f"the block {path} cannot be read: {error}") from error
    return File(path, shape, entries)
