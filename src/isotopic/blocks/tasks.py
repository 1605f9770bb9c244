"""Blocks with their place in the data, tasks on them, and sums over them in a fixed order."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar
from zlib import crc32

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.blocks.block import (
    Block,
    BlockError,
    Buffers,
    can_load_in_place,
    is_unchanged,
    load_in_place,
    load_raw,
)
from isotopic.counts import CountMatrix
from isotopic.io.limits import CHANGED


class BlockFacts(NamedTuple):
    """What the first loading of a block found."""

    dtype: str  # the precision of all blocks
    is_canonical: bool  # whether sparse rows are stored in the form that is worked on
    entries: int
    total: float  # of the counts as they are stored
    checksum: int  # of the counts as they are stored


@dataclass(frozen=True)
class PlacedBlock:
    """A block with its place in the data."""

    number: int
    start: int
    stop: int
    block: Block
    facts: BlockFacts | None = None  # None: not loaded yet, so that everything is checked
    copies: Array | None = None  # the weights of its samples

    @property
    def rows(self) -> slice:
        """Its rows of the data."""
        return slice(self.start, self.stop)

    @property
    def row_numbers(self) -> Array:
        """The numbers of its rows in the data."""
        return np.arange(self.start, self.stop)

    @property
    def loads_in_place(self) -> bool:
        """Whether loading it again takes no memory but that of its counts."""
        return self.facts is not None and self.facts.is_canonical and can_load_in_place(self.block)

    def load(self, buffers: Buffers | None = None) -> CountMatrix:
        """Return the counts of the block, which may be in ``buffers``; errors name the block."""
        X = None
        if self.facts is not None and self.facts.is_canonical:
            buffers = Buffers() if buffers is None else buffers
            X = load_in_place(self.block, self.facts.dtype, buffers)
        if X is not None:
            return self._counts(X)
        raw = load_raw(self.block)
        if self.facts is not None:
            self._check_same(raw, self.facts)
        return self._counts(raw)

    def load_and_check(self) -> tuple["PlacedBlock", CountMatrix]:
        """Load the block for the first time; return it with its facts, and its counts."""
        raw = load_raw(self.block)
        X = self._counts(raw)
        is_canonical = getattr(raw, "format", None) == "csr"
        is_canonical = is_canonical and np.array_equal(raw.indices, X.features)
        entries = len(X.values) if X.is_sparse else X.dense.size
        facts = BlockFacts(str(X.dtype), is_canonical, entries, _total(raw), _checksum(raw))
        return replace(self, facts=facts), X

    def _check_same(self, raw: Any, facts: BlockFacts) -> None:
        """Raise if the counts are not those of the first loading.

        The sum is compared always, because it takes no time. Files that were touched, but whose
        size and time are the same, are compared as a whole.
        """
        is_same = _total(raw) == facts.total
        if is_same and not is_unchanged(self.block):
            is_same = _checksum(raw) == facts.checksum
        if not is_same:
            raise BlockError(f"The block {self.block.name} cannot be used: {CHANGED}")

    def _counts(self, raw: Any) -> CountMatrix:
        facts = self.facts
        try:
            if isinstance(raw, CountMatrix):
                X = raw
            elif facts is None:
                X = CountMatrix(raw)
            elif facts.is_canonical:
                X = CountMatrix.of_canonical(raw, facts.dtype)
            else:
                X = CountMatrix(raw, facts.dtype)
            if facts is not None and facts.is_canonical and len(X.values) != facts.entries:
                raise ValueError(CHANGED)
            return X if self.copies is None else X.repeated(self.copies)
        except (ValueError, TypeError) as error:
            raise BlockError(f"The block {self.block.name} cannot be used: {error}") from error


def _total(raw: Any) -> float:
    """Return the sum of the stored counts; it is the same whenever they are."""
    is_sparse = sparse.issparse(raw)  # asked in place, it would narrow the type too much
    return float(np.sum(raw.data if is_sparse else raw))


def _checksum(raw: Any) -> int:
    """Return a checksum of an array, or of the arrays of a sparse matrix."""
    is_sparse, found = sparse.issparse(raw), 0
    rows: Any = sparse.csr_array(raw) if is_sparse else raw
    for part in (rows.indptr, rows.indices, rows.data) if is_sparse else (rows,):
        found = crc32(np.ascontiguousarray(part).data, found)
    return found


class Addable(Protocol):
    """A result of a task, of which there is one for each block and a sum over all."""

    def plus(self, later: Self) -> Self:
        """Return the sum with a result of later rows; both may be overwritten."""


@dataclass
class Added:
    """Values of one or more blocks that are added: an array, or a list that becomes longer."""

    values: Any

    def plus(self, later: Self) -> Self:
        """Return the sum with that of later blocks."""
        return type(self)(self.values + later.values)


A = TypeVar("A", bound=Addable)
A_co = TypeVar("A_co", bound=Addable, covariant=True)


class Task(Protocol[A_co]):
    """A computation on each block. It is sent to where the block is."""

    def __call__(self, piece: PlacedBlock, X: Any) -> A_co:
        """Return the result for a block: ``X`` is a CountMatrix, or ``None`` if not needed."""


class TreeSum(Generic[A]):
    """A sum in the order of a binary tree over the blocks, which depends only on their number.

    Groups of 1, 2, 4, ... neighbours that begin at a multiple of their number are subtrees. So the
    bits of the sum do not depend on where such groups are summed.
    """

    def __init__(self, items: Iterable[A] = ()) -> None:
        self._waiting: list[tuple[int, A]] = []  # subtrees of falling height
        for item in items:
            self.add(item)

    def add(self, item: A) -> None:
        """Add the next result."""
        height = 0
        while self._waiting and self._waiting[-1][0] == height:
            item = self._waiting.pop()[1].plus(item)
            height += 1
        self._waiting.append((height, item))

    def total(self) -> A:
        """Return the sum of all results."""
        *earlier, (_, total) = self._waiting
        for _, item in reversed(earlier):
            total = item.plus(total)
        self._waiting = []
        return total
