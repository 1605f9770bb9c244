"""Going through the blocks on this machine: some are read while others are worked on."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from isotopic._core import native
from isotopic.blocks.buffers import Buffers
from isotopic.blocks.cache import BlockCache
from isotopic.blocks.tasks import A, PlacedBlock, Task, TreeSum
from isotopic.counts import CountMatrix
from isotopic.threads import current_threads, use_threads

T = TypeVar("T")

# Blocks that are in memory at a time in any case: one that is worked on, and one that is read.
FEWEST_TOGETHER = 2


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

    def together(self, n_blocks: int) -> int:
        """Tell how many of so many blocks are worked on at a time, each by one thread then."""

    def total(self, task: Task[A], pieces: Sequence[PlacedBlock], *, read: bool = True) -> A:
        """Do the task with every block; add the results by a :class:`TreeSum`.

        Tasks that do not ask for counts are given ``None`` if these are not to be ``read``.
        """

    def check_sees(self, folder: str) -> None:
        """Raise if a folder is not seen where tasks run."""

    def blocks(self, pieces: Sequence[PlacedBlock]) -> Iterator[tuple[PlacedBlock, CountMatrix]]:
        """Give each block loaded, here."""


@dataclass(frozen=True)
class Workspace:
    """Memory to work with on one block after the other."""

    workspace: Any = field(default_factory=native.Workspace)
    buffers: Buffers = field(default_factory=Buffers)


class LocalEngine:
    """Every thread with a block of its own, or all threads with one block after the other.

    A block for each thread is better: threads never wait for each other, and while one reads,
    others compute. Where there is no memory for so many blocks, one is read ahead.

    Parameters
    ----------
    room : int or None
        Bytes for what stays in memory from one pass to the next; see
        :class:`~isotopic.blocks.cache.BlockCache`.

    Attributes
    ----------
    most_together : int
        How many blocks there may be in memory besides those that stay.
    """

    shared = False

    def __init__(self, room: int | None) -> None:
        self.room, self.most_together = BlockCache(room), FEWEST_TOGETHER
        self.watch: Callable[[int, int], None] | None = None
        self._benches: list[Workspace] = []

    def together(self, n_blocks: int) -> int:
        """Tell how many of so many blocks are worked on at a time."""
        threads = current_threads()
        return min(threads, n_blocks) if threads <= self.most_together else 1

    def total(self, task: Task[A], pieces: Sequence[PlacedBlock], *, read: bool = True) -> A:
        """Do the task with every block; add the results by a :class:`TreeSum`."""
        if not read:
            return TreeSum(task(piece, None) for piece in pieces).total()
        tree: TreeSum[A] = TreeSum()
        # Closed at once if something fails, or threads would live as long as the traceback.
        with closing(self._results(task, pieces)) as results:
            for done, result in enumerate(results, 1):
                tree.add(result)
                if self.watch is not None:
                    self.watch(done, len(pieces))
        return tree.total()

    def check_sees(self, folder: str) -> None:
        """Tasks run here."""

    def blocks(self, pieces: Sequence[PlacedBlock]) -> Generator[tuple[PlacedBlock, CountMatrix]]:
        """Give each block loaded, the next one being loaded by a thread meanwhile."""
        self.room.expect(pieces)
        with self._bench() as bench, ThreadPoolExecutor(1) as reader:
            loading = (reader.submit(self._loaded, piece, bench.workspace) for piece in pieces)
            yield from _in_order(loading, ahead=1)

    def _results(self, task: Task[A], pieces: Sequence[PlacedBlock]) -> Generator[A]:
        """Do the task with every block; give the results in the order of the blocks."""
        together = self.together(len(pieces))
        if together == 1:
            with closing(self.blocks(pieces)) as blocks:
                for piece, X in blocks:
                    yield task(piece, X)
            return
        self.room.expect(pieces)
        with ThreadPoolExecutor(together) as team:
            working = (team.submit(self._result, task, piece) for piece in pieces)
            yield from _in_order(working, ahead=together)

    def _result(self, task: Task[A], piece: PlacedBlock) -> A:
        with use_threads(1), self._bench() as bench:
            return task(*self._loaded(piece, bench.workspace, bench.buffers))

    @contextmanager
    def _bench(self) -> Iterator[Workspace]:
        """Lend what nobody uses at the time, so that passes find their memory again."""
        try:  # to ask first whether there is one would leave time for another thread to take it
            bench = self._benches.pop()
        except IndexError:
            bench = Workspace()
        try:
            yield bench
        finally:
            self._benches.append(bench)

    def _loaded(
        self, piece: PlacedBlock, workspace: Any, buffers: Buffers | None = None
    ) -> tuple[PlacedBlock, CountMatrix]:
        if piece.form is None:  # to be checked, not to be worked with
            return piece.checked()
        X = self.room.block(piece)
        if X is None:
            lent = buffers is not None and not self.room.has_room_for(piece)
            X = piece.load(buffers=buffers if lent else None)
            self.room.complete(piece, X)
            self.room.offer(piece, X, lent=lent)
        if X.is_sparse:
            X.workspace = workspace
        return piece, X


def _in_order(futures: Iterable[Future[T]], ahead: int) -> Iterator[T]:
    """Give results one after the other, so many more being worked on or waiting."""
    waiting: deque[Future[T]] = deque()
    try:
        for future in futures:
            waiting.append(future)
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
