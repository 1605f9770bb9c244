"""Row blocks: where their rows are, and how they are loaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from isotopic.arrays import Array
from isotopic.containers import columns_of
from isotopic.counts import CountMatrix
from isotopic.io import Source
from isotopic.io.csr_arrays import CsrArrays


class Block(Protocol):
    """A block of rows. It is sent to where it is loaded, so it must be small."""

    @property
    def name(self) -> str:
        """What errors call the block."""

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features."""

    @property
    def entries(self) -> int:
        """The approximate number of counts."""

    def load(self) -> Any:
        """Return the rows as an array or a sparse matrix."""


@dataclass(frozen=True)
class InMemory:
    """Rows that are in memory already, as an array or sparse matrix, and their names."""

    name: str
    X: Any
    samples: Array | None = None
    features: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features."""
        return (int(self.X.shape[0]), int(self.X.shape[1]))

    @property
    def entries(self) -> int:
        """The number of stored values."""
        return int(self.X.size)  # of sparse matrices too

    def load(self) -> Any:
        """Return the rows."""
        return self.X


@dataclass(frozen=True)
class SourceRows:
    """Some rows of a source, or all of them."""

    source: Source
    start: int
    stop: int
    entries: int

    @property
    def name(self) -> str:
        """The name of the source and the rows."""
        if (self.start, self.stop) == (0, self.source.shape[0]):
            return self.source.name
        return f"{self.source.name}, rows {self.start} to {self.stop}"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features."""
        return self.stop - self.start, self.source.shape[1]

    def load(self) -> Any:
        """Return the rows."""
        return self.source.checked_rows(self.start, self.stop)


@dataclass(frozen=True)
class Stack:
    """Small adjacent blocks that are loaded as one."""

    parts: tuple[Block, ...]

    @property
    def name(self) -> str:
        """The names of the first and the last part."""
        return f"{self.parts[0].name} to {self.parts[-1].name}"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features."""
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    @property
    def entries(self) -> int:
        """The number of stored values of all parts."""
        return sum(part.entries for part in self.parts)

    def load(self) -> Any:
        """Return the rows of all parts; an error names the part that it is about."""
        loaded = [load_raw(part) for part in self.parts]
        if any(sparse.issparse(part) for part in loaded):
            return sparse.vstack([sparse.csr_array(part) for part in loaded], format="csr")
        return np.concatenate(loaded)


@dataclass(frozen=True)
class Reordered:
    """A block with its features in another order."""

    block: Block
    order: Array

    @property
    def name(self) -> str:
        """The name of the block."""
        return self.block.name

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of samples and features."""
        return self.block.shape

    @property
    def entries(self) -> int:
        """The number of stored values."""
        return self.block.entries

    def load(self) -> Any:
        """Return the rows, their columns in the new order."""
        return columns_of(load_raw(self.block), self.order)


class Buffers:
    """Arrays by name that use the same memory for one block after the other.

    The system clears new memory, which takes as long as reading numbers into it.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def get(self, name: str, size: int, dtype: DTypeLike) -> Array:
        """Return an array with arbitrary content."""
        kept = self._arrays.get(name)
        if kept is None or kept.dtype != dtype or len(kept) < size:
            kept = self._arrays[name] = np.empty(size, dtype)
        return kept[:size]


class BlockError(ValueError):
    """A block cannot be used; the message names it."""


class WidthError(ValueError):
    """A source has another number of features than ``n_features``; ``names`` are its own."""

    def __init__(self, message: str, names: Array | None = None) -> None:
        super().__init__(message)
        self.names = names


def load_raw(block: Block) -> Any:
    """Return the rows of a block as they are stored; errors name the block."""
    with errors_naming_block(block.name):
        loaded = block.load()
    rows: Any = loaded if sparse.issparse(loaded) else np.asarray(loaded)
    if rows.shape != block.shape:
        raise BlockError(
            f"The block {block.name} has shape {rows.shape}; {block.shape} was expected."
        )
    return rows


def load_in_place(block: Block, dtype: DTypeLike, buffers: Buffers) -> CountMatrix | None:
    """Return a block that was checked before, read straight into ``buffers``.

    Checksums are not computed again, which would take longer than reading. ``None``: the block is
    not stored as CSR arrays, or its files have changed.
    """
    parts = _parts_in_place(block)
    if parts is None:
        return None
    rows = np.cumsum([0, *(part.shape[0] for part, _ in parts)]).tolist()
    entries = np.cumsum([0, *(part.entries for part, _ in parts)]).tolist()
    starts = np.zeros(rows[-1] + 1, np.int64)
    features = buffers.get("features", entries[-1], np.int32)
    values = buffers.get("values", entries[-1], dtype)
    for i, (part, arrays) in enumerate(parts):
        own, here = starts[rows[i] : rows[i + 1] + 1], slice(entries[i], entries[i + 1])
        with errors_naming_block(part.name):
            arrays.read_rows_into(part.start, part.stop, own, features[here], values[here])
        own += entries[i]
    if not is_unchanged(block):
        return None  # changed while it was read
    return CountMatrix.of_checked(block.shape, starts, features, values)


def is_unchanged(block: Block) -> bool:
    """Return whether the files of a block, if any, are unchanged since they were opened."""
    parts = block.parts if isinstance(block, Stack) else (block,)
    return all(part.source.is_unchanged for part in parts if isinstance(part, SourceRows))


def can_load_in_place(block: Block) -> bool:
    """Return whether :func:`load_in_place` can load a block without extra memory."""
    return _parts_in_place(block) is not None


def _parts_in_place(block: Block) -> list[tuple[SourceRows, CsrArrays]] | None:
    """Return the parts of a block with their arrays, if all files are as they were."""
    found = []
    for part in block.parts if isinstance(block, Stack) else (block,):
        arrays = part.source.csr_arrays if isinstance(part, SourceRows) else None
        if not isinstance(part, SourceRows) or arrays is None or not part.source.is_unchanged:
            return None
        found.append((part, arrays))
    return found


def sample_names(block: Block) -> Array | None:
    """Return the names of the samples of a block, or ``None`` if it has none."""
    if isinstance(block, InMemory):
        return block.samples
    if isinstance(block, SourceRows):
        return block.source.sample_names(block.start, block.stop)
    if isinstance(block, Reordered):
        return sample_names(block.block)
    if isinstance(block, Stack):
        names = [sample_names(part) for part in block.parts]
        known = [part for part in names if part is not None]
        return np.concatenate(known) if len(known) == len(names) else None
    return None


@contextmanager
def errors_naming_block(name: str) -> Iterator[None]:
    """Add the name of a block to errors."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"The block {name} is missing.") from None
    except BlockError:
        raise
    except Exception as error:  # of the library that reads the format
        raise BlockError(f"The block {name} cannot be read: {error}") from error
