"""What the samples need from one pass to the next: expected counts of each block, somewhere."""

import os
import tempfile
import weakref
from bisect import bisect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self
from uuid import uuid4

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.tasks import PlacedBlock
from isotopic.divergences import Divergence


class Store(Protocol):
    """Where arrays of rows are kept, by name and number of the block."""

    def put(self, key: str, number: int, rows: Array) -> None:
        """Keep the rows of a block; once there, they do not change."""

    def get(self, key: str, number: int) -> Array:
        """Give the rows of a block."""

    def discard(self, key: str) -> None:
        """Forget all rows of that name."""

    def numbers(self, key: str) -> list[int]:
        """Tell of which blocks there are rows of that name."""


class MemoryStore:
    """Rows in memory."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[int, Array]] = {}

    def put(self, key: str, number: int, rows: Array) -> None:
        """Keep the rows of a block."""
        self._rows.setdefault(key, {})[number] = rows

    def get(self, key: str, number: int) -> Array:
        """Copy the rows of a block."""
        return self._rows[key][number].copy()

    def discard(self, key: str) -> None:
        """Forget all rows of that name."""
        self._rows.pop(key, None)

    def numbers(self, key: str) -> list[int]:
        """Tell of which blocks there are rows of that name."""
        return sorted(self._rows[key])


@dataclass(frozen=True)
class FolderStore:
    """Rows in the files of a folder, which several processes may see.

    A file appears when it is complete, and always has the same content under the same name: so a
    worker that dies can be replaced by any other.

    Parameters
    ----------
    folder : str
    """

    folder: str

    @classmethod
    def new(cls, parent: str | None) -> "FolderStore":
        """Make a folder in ``parent``, or where temporary files are; it goes with the fit."""
        return cls(tempfile.mkdtemp(prefix="isotopic-", dir=parent))

    def put(self, key: str, number: int, rows: Array) -> None:
        """Write the rows of a block."""
        path = self._path(key, number)
        part = f"{path}.{uuid4().hex}"
        with open(part, "wb") as file:
            np.save(file, rows)
        os.replace(part, path)

    def get(self, key: str, number: int) -> Array:
        """Read the rows of a block."""
        rows: Array = np.load(self._path(key, number))
        return rows

    def discard(self, key: str) -> None:
        """Delete all files of that name."""
        for path in Path(self.folder).glob(f"{key}.*"):
            path.unlink(missing_ok=True)

    def numbers(self, key: str) -> list[int]:
        """Tell of which blocks there are rows of that name."""
        paths = Path(self.folder).glob(f"{key}.*.npy")
        return sorted(int(path.name.split(".")[1]) for path in paths)

    def close(self) -> None:
        """Delete the folder."""
        for path in Path(self.folder).glob("*"):
            path.unlink(missing_ok=True)
        if os.path.isdir(self.folder):
            os.rmdir(self.folder)

    def _path(self, key: str, number: int) -> str:
        return os.path.join(self.folder, f"{key}.{number}.npy")


class Rows(Protocol):
    """Rows of all blocks, as arrays that are made when a block is worked on."""

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Give the rows of a block, whose totals are known."""

    def copy(self, order: str = "K") -> Self:
        """Nobody changes them."""

    def stored(self, store: Store, pieces: Any) -> "Rows":
        """Return the same rows, none of them in the memory of this process alone."""

    def scaled(self, scale: Array) -> "Rows":
        """Return the rows times a number for each column."""


class Scalable:
    """Rows that can be multiplied by a number for each column."""

    def scaled(self, scale: Array) -> "Scaled":
        """Return the rows times a number for each column."""
        rows: Any = self
        return Scaled(rows, scale)


class Stored(Scalable):
    """Rows that are kept in a store, as long as this object lives.

    Parameters
    ----------
    store : Store
    key : str
    owned : bool, default=True
        Whether the rows go when this object goes; not so where it only travelled to.
    """

    def __init__(self, store: Store, key: str, owned: bool = True) -> None:
        self.store, self.key = store, key
        if owned:
            weakref.finalize(self, store.discard, key)

    @classmethod
    def new(cls, store: Store) -> "Stored":
        """Give a name that nobody has."""
        return cls(store, uuid4().hex)

    def __reduce__(self) -> Any:
        return Stored, (self.store, self.key, False)

    def put(self, piece: PlacedBlock, rows: Array) -> None:
        """Keep the rows of a block."""
        self.store.put(self.key, piece.number, rows)

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Give the rows of a block."""
        return self.store.get(self.key, piece.number)

    def copy(self, order: str = "K") -> Self:
        """Nobody changes them."""
        return self

    def stored(self, store: Store, pieces: Any) -> "Stored":
        """They are."""
        return self

    def __archive__(self) -> dict[str, Any]:
        numbers = self.store.numbers(self.key)
        return {"values": np.concatenate([self.store.get(self.key, n) for n in numbers])}

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> "Whole":
        return Whole(**content)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in a store that are asked for by their numbers, those of a block at a time.

    Parameters
    ----------
    rows : Stored
    starts : tuple of int
        The first row of each block.
    """

    rows: Stored
    starts: tuple[int, ...]

    def __getitem__(self, which: Array) -> Array:
        """Give the rows of a block."""
        return self.rows.store.get(self.rows.key, bisect(self.starts, which[0]) - 1)

    def __archive__(self) -> dict[str, Any]:
        return self.rows.__archive__()

    @classmethod
    def __from_archive__(cls, content: dict[str, Any]) -> Array:
        values: Array = content["values"]
        return values


@dataclass(frozen=True, eq=False)
class Whole(Scalable):
    """Rows that someone gave, in one array."""

    values: Array

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Copy the rows of a block."""
        return self.values[piece.rows].copy()

    def copy(self, order: str = "K") -> Self:
        """Nobody changes them."""
        return self

    def stored(self, store: Store, pieces: Any) -> Stored:
        """Put them there."""
        kept = Stored.new(store)
        for piece in pieces:
            kept.put(piece, self.values[piece.rows])
        return kept


@dataclass(frozen=True)
class EqualShares(Scalable):
    """The total of each sample, shared equally."""

    n_components: int
    dtype: str

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Share the totals of a block."""
        shares = sample_totals[:, np.newaxis] / self.n_components
        return np.repeat(shares, self.n_components, 1).astype(self.dtype)

    def copy(self, order: str = "K") -> Self:
        """Nobody changes them."""
        return self

    def stored(self, store: Store, pieces: Any) -> "EqualShares":
        """Nothing is to be stored."""
        return self


@dataclass(frozen=True)
class Extrapolated(Scalable):
    """Expected counts taken further along their way; see :func:`~isotopic.kernels.extrapolated`."""

    divergence: Divergence
    latest: Rows
    previous: Rows
    momentum: float
    floor: float

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Take the counts of a block further."""
        latest, previous = (rows.of(piece, sample_totals) for rows in (self.latest, self.previous))
        return self.divergence.extrapolate(
            latest, previous, sample_totals, momentum=self.momentum, floor=self.floor
        )

    def copy(self, order: str = "K") -> Self:
        """Nobody changes them."""
        return self

    def stored(self, store: Store, pieces: Any) -> "Extrapolated":
        """Put both there."""
        return Extrapolated(
            self.divergence,
            self.latest.stored(store, pieces),
            self.previous.stored(store, pieces),
            self.momentum,
            self.floor,
        )


@dataclass(frozen=True, eq=False)
class Scaled(Scalable):
    """Rows times a number for each column."""

    rows: Rows
    scale: Array

    def of(self, piece: PlacedBlock, sample_totals: Array) -> Array:
        """Return the rows of a block, scaled."""
        rows = self.rows.of(piece, sample_totals)
        return np.asarray(rows * self.scale.astype(rows.dtype))

    def copy(self, order: str = "K") -> Self:
        """Return the rows: nobody changes them."""
        return self

    def stored(self, store: Store, pieces: Any) -> "Scaled":
        """Return the same rows, none of them in the memory of this process alone."""
        return Scaled(self.rows.stored(store, pieces), self.scale)
