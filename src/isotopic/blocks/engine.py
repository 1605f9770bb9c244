"""Going through the blocks on this machine, the next one being read while one is worked on."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from isotopic._core import native
from isotopic.blocks.pieces import A, Piece, Task, TreeSum
from isotopic.counts import CountMatrix


class Engine(Protocol):
    """Who does a task with every block, and adds up what comes of it.

    Attributes
    ----------
    watch : callable or None
        Told after each block how many are done, and of how many.
    """

    watch: Callable[[int, int], None] | None

    @property
    def shared(self) -> bool:
        """Whether tasks run in other processes, which see files only."""

    def total(self, task: Task[A], pieces: Sequence[Piece]) -> A:
        """Do the task with every block; add the results by a :class:`TreeSum`."""

    def check_sees(self, folder: str) -> None:
        """Raise if a folder is not seen where tasks run."""

    def blocks(self, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, CountMatrix]]:
        """Give each block loaded, here."""


class LocalEngine:
    """One block after the other, with all threads on each.

    Parameters
    ----------
    room : int or None
        Bytes for blocks that stay in memory; ``None``: all do. The first ones are kept, because
        every pass goes through all of them: the blocks that were used last would always be gone
        when their turn comes.
    """

    shared = False

    def __init__(self, room: int | None) -> None:
        self.room = room
        self.watch: Callable[[int, int], None] | None = None
        self._kept: dict[int, CountMatrix] = {}
        self._workspace = native.Workspace()

    def total(self, task: Task[A], pieces: Sequence[Piece]) -> A:
        """Do the task with every block; add the results by a :class:`TreeSum`."""
        tree: TreeSum[A] = TreeSum()
        for done, (piece, X) in enumerate(self.blocks(pieces), 1):
            tree.add(task(piece, X))
            if self.watch is not None:
                self.watch(done, len(pieces))
        return tree.total()

    def check_sees(self, folder: str) -> None:
        """Tasks run here."""

    def blocks(self, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, CountMatrix]]:
        """Give each block loaded, the next one being loaded by a thread meanwhile."""
        with ThreadPoolExecutor(1) as reader:
            pending = reader.submit(self._loaded, pieces[0])
            for following in [*pieces[1:], None]:
                loaded = pending.result()
                if following is not None:
                    pending = reader.submit(self._loaded, following)
                yield loaded

    def _loaded(self, piece: Piece) -> tuple[Piece, CountMatrix]:
        if piece.form is None:  # to be checked, not to be worked with
            return piece.checked()
        if piece.number in self._kept:
            return piece, self._kept[piece.number]
        X = piece.load()
        if X.is_sparse:
            X.workspace = self._workspace  # one for all, because one is worked on at a time
            _ = X.by_feature
        used = sum(kept.nbytes for kept in self._kept.values())
        if self.room is None or used + X.nbytes <= self.room:
            self._kept[piece.number] = X
        return piece, X
