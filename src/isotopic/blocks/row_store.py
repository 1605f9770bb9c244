"""Row stores: the expected counts of the samples of each block, kept between passes."""

import os
import shutil
import time
import weakref
from bisect import bisect
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias
from uuid import uuid4

import numpy as np

from isotopic import npy
from isotopic.arrays import Array
from isotopic.blocks.tasks import PlacedBlock
from isotopic.divergences import Divergence
from isotopic.registry import register

# A folder that a thread still writes into is not empty: its deletion is tried again, for a second.
_ATTEMPTS_TO_DELETE = 20


class MemoryStore:
    """A store in memory: arrays of rows by a key and the number of their block."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[int, Array]] = {}

    def put(self, key: str, number: int, rows: Array) -> None:
        """Keep the rows of a block, which never change afterwards."""
        self._rows.setdefault(key, {})[number] = rows

    def get(self, key: str, number: int) -> Array:
        """Return a copy of the rows of a block."""
        return self._rows[key][number].copy()

    def discard(self, key: str) -> None:
        """Delete all rows of a key."""
        self._rows.pop(key, None)

    def numbers(self, key: str) -> list[int]:
        """Return the numbers of the blocks that have rows of a key."""
        return sorted(self._rows[key])


@dataclass(frozen=True)
class FolderStore:
    """A store in the files of a folder, which several processes may see.

    A file appears only when it is complete, and a name always has the same content. So any worker
    can replace one that dies.
    """

    folder: str

    def put(self, key: str, number: int, rows: Array) -> None:
        """Write the rows of a block."""
        path = self._path(key, number)
        part = f"{path}.{uuid4().hex}"
        with open(part, "wb") as file:
            np.save(file, rows)
        os.replace(part, path)

    def get(self, key: str, number: int) -> Array:
        """Return the rows of a block."""
        return npy.load(self._path(key, number))

    def discard(self, key: str) -> None:
        """Delete all files of a key."""
        for path in Path(self.folder).glob(f"{key}.*"):
            path.unlink(missing_ok=True)

    def numbers(self, key: str) -> list[int]:
        """Return the numbers of the blocks that have rows of a key."""
        paths = Path(self.folder).glob(f"{key}.*.npy")
        return sorted(int(path.name.split(".")[1]) for path in paths)

    def close(self) -> None:
        """Delete the folder, even if a thread of an interrupted pass is still writing into it."""
        for _ in range(_ATTEMPTS_TO_DELETE):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.isdir(self.folder):
                return
            time.sleep(0.05)

    def _path(self, key: str, number: int) -> str:
        return os.path.join(self.folder, f"{key}.{number}.npy")


Store: TypeAlias = MemoryStore | FolderStore


class BlockRows:
    """Rows of all blocks, as arrays that are made when a block is worked on."""

    stands_for: ClassVar[type] = np.ndarray  # where a file holds one

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return the rows of a block, whose sample totals are given."""
        raise NotImplementedError

    def stored(self, store: Store, pieces: Any) -> "BlockRows":
        """Return the same rows in a form that other processes can read."""
        return self

    def copy(self, order: str = "K") -> Self:
        """Return the same object: rows never change."""
        return self

    def scaled(self, scale: Array) -> "ScaledRows":
        """Return the rows times a number for each column."""
        return ScaledRows(self, scale)


@register
class StoredRows(BlockRows):
    """Rows in a store under a new key, which are deleted with this object.

    Copies in other processes have the same ``key``, and delete nothing.
    """

    def __init__(self, store: Store, key: str | None = None) -> None:
        self.store, self.key = store, uuid4().hex if key is None else key
        if key is None:
            weakref.finalize(self, store.discard, self.key)

    def __reduce__(self) -> Any:
        return StoredRows, (self.store, self.key)

    def put(self, piece: PlacedBlock, rows: Array) -> None:
        """Keep the rows of a block."""
        self.store.put(self.key, piece.number, rows)

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return the rows of a block."""
        return self.store.get(self.key, piece.number)

    def __archive__(self) -> dict[str, Any]:
        numbers = self.store.numbers(self.key)
        return {"values": np.concatenate([self.store.get(self.key, n) for n in numbers])}

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> "RowsInMemory":
        return RowsInMemory(**content)


@register
@dataclass(frozen=True, eq=False)
class RowsByNumber:
    """Rows in a store that are indexed by row numbers, those of a block at a time."""

    rows: StoredRows
    starts: tuple[int, ...]  # the first row of each block

    def __getitem__(self, which: Array) -> Array:
        """Return the rows of a block."""
        return self.rows.store.get(self.rows.key, bisect(self.starts, which[0]) - 1)

    def __archive__(self) -> dict[str, Any]:
        return self.rows.__archive__()

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Array:
        values: Array = content["values"]
        return values


@register
@dataclass(frozen=True, eq=False)
class RowsInMemory(BlockRows):
    """Rows in one array."""

    values: Array

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return a copy of the rows of a block."""
        return self.values[piece.rows].copy()

    def stored(self, store: Store, pieces: Any) -> StoredRows:
        """Return the rows in a store."""
        kept = StoredRows(store)
        for piece in pieces:
            kept.put(piece, self.values[piece.rows])
        return kept


@register
@dataclass(frozen=True)
class EqualShares(BlockRows):
    """The total of each sample, divided equally among the components."""

    n_components: int
    dtype: str

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return the shares of the samples of a block."""
        shares = sample_totals[:, np.newaxis] / self.n_components
        return np.repeat(shares, self.n_components, 1).astype(self.dtype)


@register
@dataclass(frozen=True)
class Extrapolated(BlockRows):
    """Extrapolated counts; see :meth:`isotopic.divergences.Divergence.extrapolate`."""

    divergence: Divergence
    latest: BlockRows
    previous: BlockRows
    momentum: float
    floor: float

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return the extrapolated counts of a block."""
        latest, previous = (rows.of(piece, sample_totals) for rows in (self.latest, self.previous))
        return self.divergence.extrapolate(
            latest, previous, sample_totals, momentum=self.momentum, floor=self.floor
        )

    def stored(self, store: Store, pieces: Any) -> "Extrapolated":
        """Return the same with both in a store."""
        latest, previous = (rows.stored(store, pieces) for rows in (self.latest, self.previous))
        return replace(self, latest=latest, previous=previous)


@register
@dataclass(frozen=True, eq=False)
class ScaledRows(BlockRows):
    """Rows times a number for each column."""

    rows: BlockRows
    scale: Array

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return the scaled rows of a block."""
        rows = self.rows.of(piece, sample_totals)
        return np.asarray(rows * self.scale.astype(rows.dtype))

    def stored(self, store: Store, pieces: Any) -> "ScaledRows":
        """Return the same with the rows in a store."""
        return ScaledRows(self.rows.stored(store, pieces), self.scale)
