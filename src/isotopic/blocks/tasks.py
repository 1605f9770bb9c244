"""Blocks with their place in the data, loaded as counts; and sums over them in a fixed order."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from isotopic.arrays import Array
from isotopic.blocks.block import Block, BlockError, can_load_again, load_again, load_raw
from isotopic.blocks.buffers import Buffers
from isotopic.counts import CountMatrix


class Form(NamedTuple):
    """What the first look at a block found.

    Attributes
    ----------
    dtype : str
        The precision of all blocks.
    canonical : bool
        Whether its sparse rows are in the form that is worked on, and can be taken as they are.
    entries : int
    """

    dtype: str
    canonical: bool
    entries: int


@dataclass(frozen=True)
class PlacedBlock:
    """A block, and which rows of the data it has.

    Attributes
    ----------
    number, start, stop : int
    block : Block
    form : Form or None
        ``None``: nobody has looked yet, so that everything is checked.
    copies : ndarray or None
        How often each of its samples counts.
    """

    number: int
    start: int
    stop: int
    block: Block
    form: Form | None = None
    copies: Array | None = None

    @property
    def rows(self) -> slice:
        """Its rows of the data."""
        return slice(self.start, self.stop)

    @property
    def row_numbers(self) -> Array:
        """Its rows of the data, one by one."""
        return np.arange(self.start, self.stop)

    @property
    def comes_straight(self) -> bool:
        """Whether loading it again takes no memory but that of its counts."""
        return self.form is not None and self.form.canonical and can_load_again(self.block)

    def load(self, given: Any = None, buffers: Buffers | None = None) -> CountMatrix:
        """Load the block (or take what was ``given``) as counts, which may be in ``buffers``.

        Raises
        ------
        FileNotFoundError, BlockError
            That name the block.
        """
        form = self.form
        X = None
        if given is None and form is not None and form.canonical:
            X = load_again(self.block, form.dtype, Buffers() if buffers is None else buffers)
        raw = load_raw(self.block) if X is None and given is None else given
        try:
            X = self._counts(raw) if X is None else self._unchanged(X)
            return X if self.copies is None else X.repeated(self.copies)
        except (ValueError, TypeError) as error:
            raise BlockError(f"the block {self.block.name} is not good: {error}") from error

    def checked(self, given: Any = None) -> tuple["PlacedBlock", CountMatrix]:
        """Load the block for the first time; give it together with what was found."""
        raw = load_raw(self.block) if given is None else given
        X = self.load(raw)
        canonical = getattr(raw, "format", None) == "csr"
        canonical = canonical and np.array_equal(raw.indices, X.features)
        entries = len(X.values) if X.is_sparse else X.dense.size
        return replace(self, form=Form(str(X.dtype), canonical, entries)), X

    def _counts(self, raw: Any) -> CountMatrix:
        if self.form is None:
            return CountMatrix(raw)
        if not self.form.canonical:
            return CountMatrix(raw, self.form.dtype)
        return self._unchanged(CountMatrix.of_canonical(raw, self.form.dtype))

    def _unchanged(self, X: CountMatrix) -> CountMatrix:
        if self.form is not None and len(X.values) != self.form.entries:
            raise ValueError("it has changed since it was checked")
        return X


class Addable(Protocol):
    """Something of which there is one for each block, and a sum of all."""

    def plus(self, later: Self) -> Self:
        """Add what comes later in the data; both may be used up."""


A = TypeVar("A", bound=Addable)
A_co = TypeVar("A_co", bound=Addable, covariant=True)


class Task(Protocol[A_co]):
    """What is done with each block. It travels to where the block is."""

    def __call__(self, piece: PlacedBlock, X: Any) -> A_co:
        """Work on the rows of a block: a CountMatrix, or ``None`` if it was not to be read."""


class TreeSum(Generic[A]):
    """Add in the order of a binary tree over the blocks, which only their number determines.

    Sums over 1, 2, 4, ... neighbours that begin at a multiple of their number are subtrees. So it
    has the same bits wherever such groups are summed.
    """

    def __init__(self, items: Iterable[A] = ()) -> None:
        self._waiting: list[tuple[int, A]] = []  # subtrees of falling height
        for item in items:
            self.add(item)

    def add(self, item: A) -> None:
        """Add the next one."""
        height = 0
        while self._waiting and self._waiting[-1][0] == height:
            item = self._waiting.pop()[1].plus(item)
            height += 1
        self._waiting.append((height, item))

    def total(self) -> A:
        """Add up what is there."""
        *earlier, (_, total) = self._waiting
        for _, item in reversed(earlier):
            total = item.plus(total)
        self._waiting = []
        return total
