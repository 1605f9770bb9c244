"""The engine of a Dask cluster: every worker reduces its own row blocks, and only sums travel.

A pass broadcasts the topics, runs a task for each group of neighbouring blocks, and adds the
results in the order of the same binary tree as on one machine. So the result has the same bits for
any number of workers. Tasks load their blocks, and a worker keeps them as long as it has memory.
What samples need from one pass to the next is in a folder that all workers see, in files that are
written once. So any worker can repeat the work of a lost one, and a pass can begin again.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import dask
import distributed

from isotopic.blocks.block import Block, InMemory
from isotopic.blocks.engine import LocalEngine
from isotopic.blocks.tasks import A, PlacedBlock, Task, TreeSum
from isotopic.counts import CountMatrix
from isotopic.dask.cluster import Cluster, Worker, size_of
from isotopic.dask.collections import DelayedBlock, as_matrix
from isotopic.threads import use_threads

# Groups of blocks for each thread of the cluster, so that fast workers can do more of them.
_GROUPS_PER_THREAD = 2

# The share of a worker's memory that blocks may take, if no limit is given.
_MEMORY_SHARE = 0.5

# The client adds the sums of this many groups, since it has to wait for them anyway.
_ADDED_HERE = 2

# The client sends the topics itself to at most this many workers; more are faster among themselves.
_MOST_SENT_TO = 8

# The number of fits whose blocks a worker process holds.
_MOST_ENGINES = 2
_engines: dict[str, LocalEngine] = {}


class DaskEngine:
    """Run tasks on blocks on a cluster.

    No call waits forever. The scheduler must answer within 60 seconds, and a second more for each
    megabyte that is transferred. A pass may take any time while workers report that they execute
    tasks. It begins again if the scheduler did not answer in time, if results are lost with their
    workers, or if no worker has reported work for 60 seconds. Workers without a heartbeat for 60
    seconds (paused, or cut off from the network) get no tasks. A fit ends with a
    ``ConnectionError`` if the scheduler does not answer or no worker accepts tasks for 120 seconds,
    or if workers are lost in each of five attempts at a pass.

    Parameters
    ----------
    client : distributed.Client
    memory_limit : int or None
        Bytes for the blocks that stay with each worker; by default half of a worker's memory.
    """

    shared = True

    def __init__(self, client: Any, memory_limit: int | None) -> None:
        if not isinstance(client, distributed.Client):
            raise TypeError(f"client must be a distributed.Client, not {type(client).__name__}.")
        if client.asynchronous:
            raise ValueError("client must not be asynchronous: a fit waits for its results.")
        self.client, self.cluster = client, Cluster(client)
        self.limit, self.token = memory_limit, uuid4().hex
        self.watch: Callable[[int, int], None] | None = None

    def concurrent_blocks(self, n_blocks: int) -> int:
        """Return how many blocks are worked on at a time: the threads of workers are for tasks."""
        return max(2, n_blocks)

    def total(self, task: Task[A], pieces: Sequence[PlacedBlock], *, read: bool = True) -> A:
        """Run the task on every block; add the results by a :class:`TreeSum`."""
        in_memory = [piece.block for piece in pieces if isinstance(piece.block, InMemory)]
        sizes = size_of(task), size_of(in_memory)
        return self.cluster.retry(lambda workers: self._total(task, pieces, read, workers, sizes))

    def _total(
        self,
        task: Task[A],
        pieces: Sequence[PlacedBlock],
        read: bool,
        workers: dict[str, Worker],
        sizes: tuple[int, int],
    ) -> A:
        client, name = self.client, type(task).__name__.lower()
        addresses = sorted(workers)
        groups = _groups(pieces, sum(worker.threads for worker in workers.values()))
        # Tasks may run anywhere, but not where a worker is known to be silent.
        placement: dict[str, Any] = {"workers": addresses} if self.cluster.silent else {}
        broadcast = self._broadcast(task, addresses, sizes[0], placement)
        futures = [
            client.submit(
                _work,
                broadcast,
                [replace(piece, block=_without_futures(piece.block)) for piece in group],
                [_held(client, piece.block, placement) if read else None for piece in group],
                self.token,
                self.limit,
                read,
                key=f"isotopic-{name}-{uuid4().hex}",
                pure=False,
                # A worker gets the same blocks in each pass, because it may still have them.
                **placement
                or {
                    "workers": [addresses[i * len(addresses) // len(groups)]],
                    "allow_other_workers": True,
                },
            )
            for i, group in enumerate(groups)
        ]
        if read and self.watch is not None:
            self.cluster.wait(futures, sum(sizes), self.watch)
        while len(futures) > _ADDED_HERE:  # neighbours in pairs, an odd one goes up as it is
            futures = [
                client.submit(
                    _add, *pair, key=f"isotopic-add-{uuid4().hex}", pure=False, **placement
                )
                if len(pair) == 2
                else pair[0]
                for pair in (futures[i : i + 2] for i in range(0, len(futures), 2))
            ]
        self.cluster.wait(futures, sum(sizes))
        sums: list[A] = self.cluster.gather(futures, self._is_direct)
        return TreeSum(sums).total()

    def _broadcast(
        self, task: Any, addresses: list[str], n_bytes: int, placement: dict[str, Any]
    ) -> Any:
        """Return the future of a task after sending it to each worker, if they are few.

        Otherwise it is the result of a Dask task, which workers fetch from each other. The
        scheduler can repeat that task, so it is not lost with a worker.
        """
        if self._is_direct and len(addresses) <= _MOST_SENT_TO:
            sent = self.cluster.send(task, addresses, n_bytes)
            if sent is not None:
                return sent
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            key = f"isotopic-broadcast-{uuid4().hex}"
            return self.client.submit(_same, task, key=key, pure=False, **placement)

    @cached_property
    def _is_direct(self) -> bool:
        """Whether this process reaches the workers, so that nothing large goes by the scheduler."""
        addresses = list(self.cluster.workers())
        return bool(addresses) and self.cluster.can_reach(addresses[0])

    def blocks(self, pieces: Sequence[PlacedBlock]) -> Iterator[tuple[PlacedBlock, CountMatrix]]:
        """Load one block after another in this process: successive steps cannot be shared."""
        yield from LocalEngine(cache_size=0).blocks(pieces)

    def check_sees(self, folder: str) -> None:
        """Raise if a worker does not see the folder."""
        seen = self.cluster.retry(
            lambda workers: self.cluster.call(
                self.client.run, os.path.isdir, folder, workers=list(workers), on_error="ignore"
            )
        )
        blind = [address for address, sees in seen.items() if not sees]
        if blind:
            raise ValueError(
                f"The worker {blind[0]} has no access to {folder}. Pass a scratch= folder to "
                "open_blocks that all workers and this process can read."
            )


def _groups(pieces: Sequence[PlacedBlock], threads: int) -> list[Sequence[PlacedBlock]]:
    """Cut into groups of 1, 2, 4, ... neighbours: subtrees of the sum.

    A single thread gets one group, because nobody shares its work and each group has a sum to send.
    """
    if threads == 1:
        return [pieces] if pieces else []
    size = 1
    while len(pieces) / (2 * size) >= _GROUPS_PER_THREAD * threads:
        size *= 2
    return [pieces[i : i + size] for i in range(0, len(pieces), size)]


def _held(client: Any, block: Block, placement: dict[str, Any]) -> Any:
    """Return the future of a block that the workers hold already."""
    if isinstance(block, DelayedBlock) and block.held:
        return client.compute(block.delayed, **placement)
    return None


def _without_futures(block: Block) -> Block:
    """Return a block that can be given to a task as a plain value."""
    if isinstance(block, DelayedBlock) and block.held:
        return replace(block, delayed=None)
    return block


def _work(
    task: Task[A],
    pieces: list[PlacedBlock],
    held: list[Any],
    token: str,
    limit: int | None,
    read: bool,
) -> A:
    """Run a task on adjacent blocks, on a worker."""
    loaded = [
        piece
        if matrix is None
        else replace(piece, block=InMemory(piece.block.name, as_matrix(matrix)))
        for piece, matrix in zip(pieces, held, strict=True)
    ]
    with use_threads(1):  # the threads of the worker are for its tasks
        return _engine(token, limit).total(task, loaded, read=read)


def _engine(token: str, limit: int | None) -> LocalEngine:
    """Return the engine that keeps the blocks of a fit in this process."""
    if token not in _engines:
        if limit is None:
            limit = distributed.get_worker().memory_manager.memory_limit
            limit = None if limit is None else int(_MEMORY_SHARE * limit)
        _engines[token] = LocalEngine(limit)
        while len(_engines) > _MOST_ENGINES:
            _engines.pop(next(iter(_engines)))
    return _engines[token]


def _add(first: A, second: A) -> A:
    """Return the sum of two neighbours."""
    return first.plus(second)


def _same(task: Any) -> Any:
    """Return what was given: the result of a Dask task is kept by the cluster."""
    return task
