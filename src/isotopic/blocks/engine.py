"""Going through the blocks on this machine, the next one being read while one is worked on."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from isotopic._core import native
from isotopic.blocks.pieces import A, Piece, Task, TreeSum
from isotopic.blocks.room import Room
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

    def total(self, task: Task[A], pieces: Sequence[Piece], *, read: bool = True) -> A:
        """Do the task with every block; add the results by a :class:`TreeSum`.

        Tasks that do not ask for counts are given ``None`` if these are not to be ``read``.
        """

    def check_sees(self, folder: str) -> None:
        """Raise if a folder is not seen where tasks run."""

    def blocks(self, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, CountMatrix]]:
        """Give each block loaded, here."""


class LocalEngine:
    """One block after the other, with all threads on each.

    Parameters
    ----------
    room : int or None
        Bytes for what stays in memory from one pass to the next; see
        :class:`~isotopic.blocks.room.Room`.
    """

    shared = False

    def __init__(self, room: int | None) -> None:
        self.room = Room(room)
        self.watch: Callable[[int, int], None] | None = None
        self._workspace = native.Workspace()

    def total(self, task: Task[A], pieces: Sequence[Piece], *, read: bool = True) -> A:
        """Do the task with every block; add the results by a :class:`TreeSum`."""
        if not read:
            return TreeSum(task(piece, None) for piece in pieces).total()
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
        self.room.expect(pieces)
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
        kept = self.room.block(piece)
        if kept is not None:
            return piece, kept
        X = piece.load()
        if X.is_sparse:
            X.workspace = self._workspace  # one for all, because one is worked on at a time
            index = self.room.index(piece)
            X.by_feature = X.by_feature if index is None else index
        self.room.offer(piece, X)
        return piece, X
