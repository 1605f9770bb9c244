"""Engines: running a task on every block; here on this machine, with a cache and reading ahead."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.blocks.block import Buffers
from isotopic.blocks.tasks import A, PlacedBlock, Task, TreeSum
from isotopic.counts import INDEX_BYTES, CountMatrix
from isotopic.threads import current_threads, use_threads

T = TypeVar("T")

# Blocks that are always in memory at the same time: one that is worked on, and one that is read.
MIN_CONCURRENT = 2


class Engine(Protocol):
    """Runs a task on every block, and adds up the results."""

    watch: Callable[[int, int], None] | None  # called with the numbers of blocks done, and of all

    @property
    def shared(self) -> bool:
        """Whether tasks run in other processes, which share files but no memory."""

    def concurrent_blocks(self, n_blocks: int) -> int:
        """Return how many of ``n_blocks`` are worked on at the same time, by a thread each."""

    def total(self, task: Task[A], pieces: Sequence[PlacedBlock], *, read: bool = True) -> A:
        """Return the :class:`TreeSum` of the results of a task on every block.

        Without ``read``, blocks are not loaded and the task gets ``None`` for the counts.
        """

    def check_sees(self, folder: str) -> None:
        """Raise if tasks cannot see a folder."""

    def blocks(self, pieces: Sequence[PlacedBlock]) -> Iterator[tuple[PlacedBlock, CountMatrix]]:
        """Yield each block with its counts, loaded in this process."""


class BlockCache:
    """A cache for blocks between passes.

    The totals of samples always stay. Indexes by feature come next, because they take longer to
    make than the counts to read, and less memory. If all of them fit, the first blocks stay too.
    Every pass goes through all blocks, so that a cache of those used last would never be hit.
    ``size`` is in bytes; with ``None`` everything stays.
    """

    def __init__(self, size: int | None) -> None:
        self.size, self._lock = size, Lock()
        self.clear()

    def clear(self) -> None:
        """Remove everything."""
        self._blocks: dict[int, CountMatrix] = {}
        self._indexes: dict[int, Any] = {}
        self._sample_totals: dict[int, Array] = {}
        self._used = self._reserved = 0

    def expect(self, pieces: Sequence[PlacedBlock]) -> None:
        """Reserve memory for the indexes that a pass over these blocks will make."""
        self._reserved = 0
        for piece in pieces:
            is_new = piece.number not in self._blocks and piece.number not in self._indexes
            if is_new and piece.facts is not None:
                self._reserved += INDEX_BYTES * piece.facts.entries

    def get(self, piece: PlacedBlock) -> CountMatrix | None:
        """Return a block, or ``None`` if it is not in the cache."""
        return self._blocks.get(piece.number)

    def attach_index(self, piece: PlacedBlock, X: CountMatrix) -> None:
        """Set the index and the totals of a block that was read again, or compute them."""
        if X.is_sparse:
            index = self._indexes.get(piece.number)
            X.by_feature = X.by_feature if index is None else index
        totals = self._sample_totals.get(piece.number)
        X.sample_totals = X.sample_totals if totals is None else totals
        self._sample_totals[piece.number] = X.sample_totals

    def would_keep(self, piece: PlacedBlock) -> bool:
        """Return whether a sparse block would stay."""
        if piece.facts is None:
            return False
        entry = np.dtype(piece.facts.dtype).itemsize + np.dtype(np.int32).itemsize
        index, known = INDEX_BYTES * piece.facts.entries, piece.number in self._indexes
        more = entry * piece.facts.entries + (0 if known else index)
        return self._fits(more + self._reserved - (0 if known else index))

    def put(self, piece: PlacedBlock, X: CountMatrix, *, in_buffers: bool) -> None:
        """Keep a block if it fits, or only its index if its counts are ``in_buffers``."""
        with self._lock:
            index = INDEX_BYTES * len(X.values) if X.is_sparse else 0
            known = piece.number in self._indexes
            if not known:
                self._reserved = max(0, self._reserved - index)
            more = X.nbytes - (index if known else 0)
            if not in_buffers and self._fits(more + self._reserved):
                self._used += more
                self._indexes.pop(piece.number, None)
                self._blocks[piece.number] = X
            elif X.is_sparse and not known and self._fits(index):
                self._used += index
                self._indexes[piece.number] = X.by_feature

    def _fits(self, more: int) -> bool:
        return self.size is None or self._used + more <= self.size


@dataclass(frozen=True)
class BlockWorkspace:
    """Memory for working on one block after the other."""

    native: Any = field(default_factory=native.Workspace)
    buffers: Buffers = field(default_factory=Buffers)


class LocalEngine:
    """An engine for this process: a block for each thread, or all threads on one block.

    A block for each thread is faster: threads never wait for each other, and while one reads,
    others compute. Where there is not enough memory for that, one block is read ahead.
    ``max_concurrent`` is how many blocks may be in memory besides those in the cache.
    """

    shared = False

    def __init__(self, cache_size: int | None) -> None:
        self.cache, self.max_concurrent = BlockCache(cache_size), MIN_CONCURRENT
        self.watch: Callable[[int, int], None] | None = None
        self._workspaces: list[BlockWorkspace] = []

    def concurrent_blocks(self, n_blocks: int) -> int:
        """Return how many of ``n_blocks`` are worked on at the same time."""
        threads = current_threads()
        return min(threads, n_blocks) if threads <= self.max_concurrent else 1

    def total(self, task: Task[A], pieces: Sequence[PlacedBlock], *, read: bool = True) -> A:
        """Return the :class:`TreeSum` of the results of a task on every block."""
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
        """Do nothing: tasks run in this process."""

    def blocks(self, pieces: Sequence[PlacedBlock]) -> Generator[tuple[PlacedBlock, CountMatrix]]:
        """Yield each block with its counts; a thread loads the next one meanwhile."""
        self.cache.expect(pieces)
        with self._workspace() as memory, ThreadPoolExecutor(1) as reader:
            loading = (reader.submit(self._load, piece, memory.native) for piece in pieces)
            yield from _in_order(loading, ahead=1)

    def _results(self, task: Task[A], pieces: Sequence[PlacedBlock]) -> Generator[A]:
        """Yield the results of a task in the order of the blocks."""
        n_threads = self.concurrent_blocks(len(pieces))
        if n_threads == 1:
            with closing(self.blocks(pieces)) as blocks:
                for piece, X in blocks:
                    yield task(piece, X)
            return
        self.cache.expect(pieces)
        with ThreadPoolExecutor(n_threads) as team:
            working = (team.submit(self._result, task, piece) for piece in pieces)
            yield from _in_order(working, ahead=n_threads)

    def _result(self, task: Task[A], piece: PlacedBlock) -> A:
        with use_threads(1), self._workspace() as memory:
            return task(*self._load(piece, memory.native, memory.buffers))

    @contextmanager
    def _workspace(self) -> Iterator[BlockWorkspace]:
        """Yield a workspace that no other thread uses; it is used again later."""
        try:  # asking first whether there is one would let another thread take it meanwhile
            workspace = self._workspaces.pop()
        except IndexError:
            workspace = BlockWorkspace()
        try:
            yield workspace
        finally:
            self._workspaces.append(workspace)

    def _load(
        self, piece: PlacedBlock, workspace: Any, buffers: Buffers | None = None
    ) -> tuple[PlacedBlock, CountMatrix]:
        """Return a block with its counts; one without facts is checked and not kept."""
        if piece.facts is None:
            return piece.load_and_check()
        X = self.cache.get(piece)
        if X is None:
            in_buffers = buffers is not None and not self.cache.would_keep(piece)
            X = piece.load(buffers if in_buffers else None)
            self.cache.attach_index(piece, X)
            self.cache.put(piece, X, in_buffers=in_buffers)
        if X.is_sparse:
            X.workspace = workspace
        return piece, X


def _in_order(futures: Iterable[Future[T]], ahead: int) -> Iterator[T]:
    """Yield results in order, with ``ahead`` more being worked on or waiting."""
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
