"""Call a Dask cluster with time limits, so that no call waits for ever.

Every call has a time limit. Waiting for computations has none, because a pass over large blocks may
take hours, but it goes on only while the scheduler answers and some worker reports that it works.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import distributed
from distributed.protocol.pickle import dumps

T = TypeVar("T")

# Seconds in which the scheduler must answer a call, in which a worker must send a heartbeat, and in
# which some worker must work while there are results to wait for. Dask's heartbeats are half a
# second apart, 6 seconds in a cluster of a thousand workers.
ANSWER_SECONDS = 60.0

# Bytes per second of the slowest network. A limit is longer by the time that a transfer needs.
SLOWEST_TRANSFER = 1e6

# Seconds to wait for a scheduler that does not answer, as on a machine under heavy load, and for a
# worker when there is none: batch systems need some time to start one.
WORKER_SECONDS = 120.0

# Seconds for a connection to a worker. Without one, data goes by the scheduler.
CONNECT_SECONDS = 3.0

# Seconds between looks at the futures (in this process) and at the workers (by the scheduler).
POLL_SECONDS = 0.5
CHECK_SECONDS = 5.0

# Seconds after the limit of a call in which the client's own event loop must end it.
_LOOP_SECONDS = 10.0

# Attempts at a computation in which workers are lost.
ATTEMPTS = 5

# What calls raise when the other side is lost: a scheduler KeyError, if it has just lost the worker
# or the result it is asked about; a closed client RuntimeError.
_LOST = (
    distributed.CancelledError,
    distributed.KilledWorker,
    distributed.TimeoutError,
    KeyError,
    OSError,
    RuntimeError,
)


class ClusterLost(Exception):  # noqa: N818 - not an error for the user: it is tried again
    """Workers, results or the connection were lost, so that a pass must start again."""


@dataclass(frozen=True)
class Worker:
    """What the scheduler knows about a worker that answers."""

    threads: int
    is_running: bool  # whether it accepts tasks: Dask pauses workers that are short of memory
    is_busy: bool  # whether it has reported, since the last look, that it executes a task


class Cluster:
    """Call a cluster with time limits."""

    def __init__(self, client: Any) -> None:
        self.client = client
        # Workers that the scheduler lists, but that have sent no heartbeat for ANSWER_SECONDS: they
        # are paused (SIGSTOP), or cut off.
        self.silent: set[str] = set()
        self._heartbeats: dict[str, tuple[float, float]] = {}  # the last one, and when it was new

    def call(
        self, function: Callable[..., Any], *args: Any, n_bytes: int = 0, **kwargs: Any
    ) -> Any:
        """Return the answer to an asynchronous call in which ``n_bytes`` travel.

        Raise ``ClusterLost`` if there is none within the limit, or the other side is lost.
        """
        seconds = limit_of(n_bytes)
        try:
            return self.client.sync(
                _awaited, seconds, function, args, kwargs, callback_timeout=seconds + _LOOP_SECONDS
            )
        except TimeoutError as error:
            raise ClusterLost(f"no answer within {seconds:.0f} seconds") from error
        except _LOST as error:
            raise ClusterLost(f"{type(error).__name__}: {error}") from error

    def retry(self, attempt: Callable[[dict[str, Worker]], T]) -> T:
        """Return the result of the first attempt that loses no workers.

        Raise ``ConnectionError`` if workers are lost in each of ``ATTEMPTS`` attempts, or there are
        none, or the scheduler is gone.
        """
        reason = ""
        for _ in range(ATTEMPTS):
            workers = self.wait_for_workers()
            try:
                return attempt(workers)
            except ClusterLost as error:
                reason = str(error)  # the error itself would keep the futures of the attempt
            except Exception as error:
                if self.client.status == "running":
                    raise
                reason = str(error)  # Dask's errors after a lost connection are of many types
        raise ConnectionError(
            f"The Dask workers were lost in each of {ATTEMPTS} attempts ({reason}). Check the logs "
            "of the workers: they may lack memory, or this process may not reach them."
        )

    def wait_for_workers(self) -> dict[str, Worker]:
        """Return the workers that answer and accept tasks; wait for one if there is none."""
        start = time.monotonic()
        while True:
            try:
                workers = {a: worker for a, worker in self.workers().items() if worker.is_running}
            except ClusterLost as error:
                waited = time.monotonic() - start
                if waited >= WORKER_SECONDS or self.client.status in ("closing", "closed"):
                    raise ConnectionError(
                        f"The Dask scheduler does not answer ({error}). If the fit had "
                        "checkpoint=, repeat the call with the client of a running cluster: it "
                        "continues from the last checkpoint."
                    ) from None
            else:
                if workers:
                    return workers
                if time.monotonic() - start >= WORKER_SECONDS:
                    raise ConnectionError(
                        f"No Dask worker has accepted tasks for {WORKER_SECONDS:.0f} seconds. "
                        f"Workers that do not answer: {sorted(self.silent) or 'none'}. Start "
                        "workers, or give them more memory if Dask has paused them."
                    )
            time.sleep(POLL_SECONDS)

    def workers(self) -> dict[str, Worker]:
        """Return all workers that answer, and note those that are silent."""
        if self.client.status != "running":  # calls would wait for a connection
            raise ClusterLost("the client has lost its connection")
        listed = self.call(self.client.scheduler.identity)["workers"]
        now, before = time.monotonic(), self._heartbeats
        # Heartbeats have the scheduler's clock: what counts here is whether there was a new one.
        is_new = {a: before.get(a, (None,))[0] != w["last_seen"] for a, w in listed.items()}
        self._heartbeats = {
            a: (w["last_seen"], now) if is_new[a] else before[a] for a, w in listed.items()
        }
        self.silent = {a for a, (_, at) in self._heartbeats.items() if now - at >= ANSWER_SECONDS}
        return {
            a: Worker(w["nthreads"], w["status"] == "running", is_new[a] and _executes(w))
            for a, w in listed.items()
            if a not in self.silent
        }

    def wait(
        self,
        futures: Sequence[Any],
        n_bytes: int = 0,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Wait for results for which ``n_bytes`` travel, as long as workers work.

        Raise ``ClusterLost`` if results are lost, the scheduler does not answer, or no worker has
        worked and no result has arrived within the limit.
        """
        limit, n_finished = limit_of(n_bytes), 0
        progress = checked = time.monotonic()
        while True:
            self.call(_look_at, self.client, futures)
            now, states = time.monotonic(), [future.status for future in futures]
            _raise_failure(futures, states)
            if (finished := states.count("finished")) > n_finished:
                n_finished, progress = finished, now
                if on_progress is not None:
                    on_progress(finished, len(futures))
            if n_finished == len(futures):
                return
            if now - checked >= min(CHECK_SECONDS, limit):
                checked = now
                if any(worker.is_busy for worker in self.workers().values()):
                    progress = now
                elif now - progress >= limit:
                    raise ClusterLost(f"no worker has worked for {limit:.0f} seconds")

    def gather(self, futures: Sequence[Any], direct: bool) -> list[Any]:
        """Return results that are finished, from the workers themselves or by the scheduler."""
        keys = [future.key for future in futures]
        sizes = self.call(self.client.scheduler.nbytes, keys=keys, summary=False)
        n_bytes = sum(max(0, size) for size in sizes.values())
        results: list[Any] = self.call(self.client.gather, futures, direct=direct, n_bytes=n_bytes)
        return results

    def can_reach(self, address: str) -> bool:
        """Return whether this process can connect to a worker."""
        is_reached: bool = self.call(_reaches, self.client, address)
        return is_reached

    def send(self, value: Any, addresses: Sequence[str], n_bytes: int) -> Any:
        """Return a future of a value after sending it to workers; None if no worker took it.

        ``Client.scatter(broadcast=True)`` would let the scheduler copy the value until each of the
        workers has it, which never ends when one of them dies meanwhile.
        """
        n_bytes *= len(addresses)
        limit = limit_of(n_bytes) - 2 * CONNECT_SECONDS  # the others still count if one is slow
        return self.call(_send, self.client, value, addresses, limit, n_bytes=n_bytes)


def limit_of(n_bytes: int) -> float:
    """Return the seconds that a call may take if it transfers this many bytes."""
    return ANSWER_SECONDS + n_bytes / SLOWEST_TRANSFER


def size_of(value: Any) -> int:
    """Return the bytes that travel with a value; arrays are not copied to find out."""
    buffers: list[Any] = []
    pickled: bytes = dumps(value, buffer_callback=buffers.append)
    return len(pickled) + sum(int(buffer.raw().nbytes) for buffer in buffers)


def _executes(worker: dict[str, Any]) -> bool:
    """Return whether a worker's last heartbeat said that it executes a task."""
    counts = worker["metrics"].get("task_counts", worker["metrics"])  # older Dask: no level between
    return any(counts.get(state, 0) > 0 for state in ("executing", "long-running"))


def _raise_failure(futures: Sequence[Any], states: list[str]) -> None:
    """Raise the error of a failed task, or ``ClusterLost`` if a result is lost."""
    for future, state in zip(futures, states, strict=True):
        if state == "cancelled":
            raise ClusterLost("a result was lost with the workers that had it")
        if state == "error":
            try:
                future.result(timeout=ANSWER_SECONDS)
            except distributed.KilledWorker as error:
                raise ClusterLost(str(error)) from error


async def _awaited(seconds: float, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return the result of a call within a limit, even if the call resists being cancelled."""
    calling = asyncio.ensure_future(function(*args, **kwargs))
    try:
        await asyncio.wait([calling], timeout=seconds)
        if not calling.done():
            raise TimeoutError
        if calling.cancelled():  # Dask would lose the result of a call that is cancelled inside
            raise distributed.CancelledError("the call was cancelled")
        return calling.result()
    finally:
        calling.cancel()


async def _look_at(client: Any, futures: Sequence[Any]) -> None:
    """Wait a moment for all results."""
    with client.as_current():  # it may not be the default client
        waiting = distributed.wait(futures, timeout=POLL_SECONDS)
    with suppress(TimeoutError):
        await waiting


async def _reaches(client: Any, address: str) -> bool:
    """Return whether a worker accepts a connection, which stays open for later calls."""
    try:
        comm = await asyncio.wait_for(client.rpc.connect(address), CONNECT_SECONDS)
    except OSError:
        return False
    client.rpc.reuse(address, comm)
    return True


async def _send(client: Any, value: Any, addresses: Sequence[str], limit: float) -> Any:
    """Send a value to each worker that is reached, under the same key."""
    key = f"isotopic-broadcast-{uuid4().hex}"

    async def send_to(address: str) -> Any:
        if not await _reaches(client, address):
            return {}
        sending = client.scatter(
            {key: value}, workers=[address], direct=True, timeout=CONNECT_SECONDS
        )
        return await asyncio.wait_for(sending, limit)

    sent = await asyncio.gather(*map(send_to, addresses), return_exceptions=True)
    futures = [copy[key] for copy in sent if isinstance(copy, dict) and copy]
    return futures[0] if futures else None
