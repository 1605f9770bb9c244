"""Row blocks on a Dask cluster: every worker reduces its own, and only sums travel.

A pass broadcasts the topics, runs a task for each group of neighbouring blocks, and adds up what
comes of it in the order of the same binary tree as on one machine: so the result has the same bits
for any number of workers. Blocks are loaded inside the tasks, and stay with a worker as long as it
has room. What samples need from one pass to the next is in a folder that all workers see, under
names that are written once: any worker can do again what another did not finish.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse

from isotopic.blocks.block import Block, BlockError, InMemory
from isotopic.blocks.engine import LocalEngine
from isotopic.blocks.tasks import A, PlacedBlock, Task, TreeSum
from isotopic.counts import CountMatrix
from isotopic.threads import use_threads

try:
    import dask
    import distributed
    from dask.delayed import Delayed
    from distributed.comm import connect
except ImportError:
    raise ImportError("Dask is not installed: pip install isotopic[dask]") from None

# Groups of blocks for each thread of the cluster, so that fast workers can do more of them.
_GROUPS_A_THREAD = 2

# Passes that are begun again because all workers were gone for a while.
_ATTEMPTS = 5

# What a pass ends with when workers are lost.
_LOST = (distributed.CancelledError, distributed.KilledWorker, distributed.TimeoutError, OSError)

# Seconds to wait for a worker when there is none.
_PATIENCE = 120

# The share of a worker's memory that blocks may take, if no limit is given.
_ROOM_SHARE = 0.5

# Sums of so many groups are added by the client, which has to wait for them anyway.
_ADDED_HERE = 2

# To so many workers the client sends the topics itself; more of them are faster among themselves.
_MOST_SENT_TO = 8

# How long to try whether the client reaches a worker.
_CONNECT_SECONDS = 3

# Fits whose blocks a worker process holds.
_MOST_ENGINES = 2
_engines: dict[str, LocalEngine] = {}


class DaskEngine:
    """Do tasks with blocks on a cluster.

    Parameters
    ----------
    client : distributed.Client
    memory_limit : int or None
        Bytes for the blocks that stay with each worker; by default half of a worker's memory.
    """

    shared = True

    def __init__(self, client: Any, memory_limit: int | None) -> None:
        if not isinstance(client, distributed.Client):
            raise TypeError(f"client must be a distributed.Client, not {type(client).__name__}")
        if client.asynchronous:
            raise ValueError("client must not be asynchronous: a fit waits for its results")
        self.client, self.room, self.token = client, memory_limit, uuid4().hex
        self.watch: Callable[[int, int], None] | None = None

    def concurrent_blocks(self, n_blocks: int) -> int:
        """Tell how many blocks may be worked on at a time: the threads of workers are for tasks."""
        return max(2, n_blocks)

    def total(self, task: Task[A], pieces: Sequence[PlacedBlock], *, read: bool = True) -> A:
        """Do the task with every block; add the results by a :class:`TreeSum`."""
        for _ in range(_ATTEMPTS):
            try:
                return self._total(task, pieces, read)
            except _LOST as error:
                if isinstance(error, FileNotFoundError):  # a block is missing
                    raise
                self._check_scheduler(error)
        raise ConnectionError(
            f"a pass over the data was begun {_ATTEMPTS} times, and the workers were lost each time"
        )

    def _total(self, task: Task[A], pieces: Sequence[PlacedBlock], read: bool) -> A:
        client, name = self.client, type(task).__name__.lower()
        threads = client.nthreads() or self._when_there_are_some()
        addresses, groups = sorted(threads), _groups(pieces, sum(threads.values()))
        broadcast = self._broadcast(task)
        futures = [
            client.submit(
                _work,
                broadcast,
                [replace(piece, block=_traveller(piece.block)) for piece in group],
                [_held(client, piece.block) if read else None for piece in group],
                self.token,
                self.room,
                read,
                key=f"isotopic-{name}-{uuid4().hex}",
                workers=[addresses[i * len(addresses) // len(groups)]],
                allow_other_workers=True,
                pure=False,
            )
            for i, group in enumerate(groups)
        ]
        if read and self.watch is not None:
            for done, _ in enumerate(distributed.as_completed(futures), 1):
                self.watch(done, len(groups))
        while len(futures) > _ADDED_HERE:  # neighbours in pairs, an odd one goes up as it is
            futures = [
                client.submit(_add, *pair, key=f"isotopic-add-{uuid4().hex}", pure=False)
                if len(pair) == 2
                else pair[0]
                for pair in (futures[i : i + 2] for i in range(0, len(futures), 2))
            ]
        sums: list[A] = client.gather(futures, direct=self._direct)
        return _sum(sums)

    def _broadcast(self, task: Any) -> Any:
        """Send a task to each of a few workers, or to where many fetch it from each other.

        Then it is the result of a task: what is scattered to one worker is lost with it.
        """
        if self._direct and len(self.client.nthreads()) <= _MOST_SENT_TO:
            return self.client.scatter(task, broadcast=True, direct=True, hash=False)
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            key = f"isotopic-broadcast-{uuid4().hex}"
            return self.client.submit(_same, task, key=key, pure=False)

    @cached_property
    def _direct(self) -> bool:
        """Whether this process reaches the workers, so that nothing large goes by the scheduler."""
        addresses = list(self.client.nthreads())
        reached = self.client.sync(_reaches, self.client, addresses[:1])
        return bool(addresses) and reached

    def _when_there_are_some(self) -> dict[str, int]:
        """Wait for workers, all of which may have died a moment ago."""
        self.client.wait_for_workers(1, timeout=_PATIENCE)
        threads: dict[str, int] = self.client.nthreads()
        return threads

    def _check_scheduler(self, cause: Exception) -> None:
        """Raise if the scheduler is gone: nothing can be begun again then."""
        try:
            alive = (
                self.client.status == "running" and self.client.run_on_scheduler(_nothing) is None
            )
        except Exception:  # whatever the way in which it is gone
            alive = False
        if not alive:
            raise ConnectionError(
                "the Dask scheduler is gone. A fit with checkpoint= goes on from there: call it "
                "again with a client of a new cluster"
            ) from cause

    def blocks(self, pieces: Sequence[PlacedBlock]) -> Iterator[tuple[PlacedBlock, CountMatrix]]:
        """Load one block after the other, here: steps that follow each other cannot be shared."""
        yield from LocalEngine(cache_size=0).blocks(pieces)

    def check_sees(self, folder: str) -> None:
        """Raise if a worker does not see the folder."""
        seen = self.client.run(os.path.isdir, folder)
        blind = [address for address, sees in seen.items() if not sees]
        if blind:
            raise ValueError(
                f"the worker {blind[0]} does not see {folder}: give open_blocks a scratch= folder "
                "that all workers and this process see"
            )


@dataclass(frozen=True)
class DelayedBlock:
    """Rows that a Dask graph makes.

    Parameters
    ----------
    name : str
    shape : tuple of int
    delayed : dask Delayed
        Of a matrix, or of a list of rows and matrices.
    held : bool
        Whether the workers have it already.
    """

    name: str
    shape: tuple[int, int]
    delayed: Any
    held: bool

    @property
    def entries(self) -> int:
        """Unknown until it is made; joined with no other."""
        return 2**62

    def load(self) -> Any:
        """Make the rows, here."""
        return as_matrix(dask.compute(self.delayed, scheduler="synchronous")[0])


def blocks_of(collection: Any) -> Sequence[Block]:
    """Give the row blocks of a Dask array, of a bag of matrices, or of delayed matrices."""
    delayed = collection if isinstance(collection, (list, tuple)) else [collection]
    if all(isinstance(part, Delayed) for part in delayed):
        return _of_delayed(delayed, any(map(_has_futures, delayed)), "list")
    if hasattr(collection, "chunks"):
        return _of_array(collection)
    held = _has_futures(collection)
    return _of_delayed(_parts(collection, held), held, type(collection).__name__)


def _of_delayed(parts: Sequence[Any], held: bool, name: str) -> Sequence[Block]:
    """Make the parts once to learn their shapes, which no graph tells."""
    shapes = dask.compute(*(dask.delayed(_shape)(part) for part in parts))
    return [
        DelayedBlock(f"{i} of a Dask {name}", shape, part, held)
        for i, (shape, part) in enumerate(zip(shapes, parts, strict=True))
    ]


def _of_array(array: Any) -> Sequence[Block]:
    if array.ndim != 2:
        raise ValueError(f"X must have two dimensions, samples x features; it has {array.ndim}")
    if any(np.isnan(size) for sizes in array.chunks for size in sizes):
        raise ValueError("the Dask array does not know its shape: call compute_chunk_sizes() on it")
    if len(array.chunks[1]) > 1:
        array = array.rechunk({1: -1})
    held = _has_futures(array)
    return [
        DelayedBlock(f"{i} of a Dask array", (int(rows), int(array.shape[1])), part, held)
        for i, (rows, part) in enumerate(zip(array.chunks[0], _parts(array, held), strict=True))
    ]


def _parts(collection: Any, held: bool) -> list[Any]:
    """Give the delayed parts; an optimised graph would lose those that workers hold."""
    return list(np.ravel(collection.to_delayed(optimize_graph=not held)))


def _has_futures(collection: Any) -> bool:
    """Tell whether workers hold parts of a collection: it was persisted."""
    graph = dict(collection.__dask_graph__())
    return any(isinstance(value, distributed.Future) for value in graph.values())


def current_client() -> Any:
    """Give the client that Dask collections would be computed with; None if there is none."""
    try:
        return distributed.get_client()
    except ValueError:
        return None


def as_matrix(made: Any) -> Any:
    """Put the rows of a partition below each other."""
    if sparse.issparse(made) or isinstance(made, np.ndarray):
        return made
    parts: list[Any] = [
        part if sparse.issparse(part) else np.atleast_2d(np.asarray(part)) for part in made
    ]
    if not parts:
        raise BlockError("it is empty")
    if any(sparse.issparse(part) for part in parts):
        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.concatenate(parts)


def _shape(made: Any) -> tuple[int, int]:
    rows, features = as_matrix(made).shape
    return int(rows), int(features)


def _groups(pieces: Sequence[PlacedBlock], threads: int) -> list[Sequence[PlacedBlock]]:
    """Cut into groups of 1, 2, 4, ... neighbours: subtrees of the sum."""
    size = 1
    while len(pieces) / (2 * size) >= _GROUPS_A_THREAD * threads:
        size *= 2
    return [pieces[i : i + size] for i in range(0, len(pieces), size)]


def _held(client: Any, block: Block) -> Any:
    """Give the future of a block that the workers hold already."""
    if isinstance(block, DelayedBlock) and block.held:
        return client.compute(block.delayed)
    return None


def _traveller(block: Block) -> Block:
    """Leave futures out of what a task is given as a plain value."""
    if isinstance(block, DelayedBlock) and block.held:
        return replace(block, delayed=None)
    return block


def _work(
    task: Task[A],
    pieces: list[PlacedBlock],
    held: list[Any],
    token: str,
    room: int | None,
    read: bool,
) -> A:
    """Do a task with neighbouring blocks, on a worker."""
    loaded = [
        piece
        if matrix is None
        else replace(piece, block=InMemory(piece.block.name, as_matrix(matrix)))
        for piece, matrix in zip(pieces, held, strict=True)
    ]
    with use_threads(1):  # the threads of the worker are for its tasks
        return _engine(token, room).total(task, loaded, read=read)


def _engine(token: str, room: int | None) -> LocalEngine:
    """Give who holds the blocks of a fit in this process."""
    if token not in _engines:
        if room is None:
            limit = distributed.get_worker().memory_manager.memory_limit
            room = None if limit is None else int(_ROOM_SHARE * limit)
        _engines[token] = LocalEngine(room)
        while len(_engines) > _MOST_ENGINES:
            _engines.pop(next(iter(_engines)))
    return _engines[token]


def _add(first: A, second: A) -> A:
    return TreeSum([first, second]).total()


def _sum(items: list[A]) -> A:
    """Add neighbours in pairs, an odd one going up as it is."""
    while len(items) > 1:
        pairs = (items[i : i + 2] for i in range(0, len(items), 2))
        items = [_add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return items[0]


async def _reaches(client: Any, addresses: list[str]) -> bool:
    """Find out whether workers can be connected to."""
    try:
        for address in addresses:
            comm = await connect(address, timeout=_CONNECT_SECONDS, **client.connection_args)
            await comm.close()
    except OSError:
        return False
    return True


def _same(task: Any) -> Any:
    return task


def _nothing() -> None:
    """Do nothing, where it is asked for."""
