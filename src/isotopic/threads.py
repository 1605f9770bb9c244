"""How many threads the work below uses."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any

_MOST_THREADS = 1024

_threads: ContextVar[int | None] = ContextVar("isotopic_threads", default=None)


def available_cores() -> int:
    """Count the cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(n_jobs: int | None) -> int:
    """Read ``n_jobs`` as joblib does, except that ``None`` means every core.

    The results have the same bits for any number of threads, so there is no reason not to.
    """
    if n_jobs is None:
        return available_cores()
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: use None or -1 for every core, 1 for one thread")
    return min(n_jobs, _MOST_THREADS) if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def current_threads() -> int:
    """Tell the number of threads set by the innermost :func:`use_threads`, or every core."""
    threads = _threads.get()
    return available_cores() if threads is None else threads


@contextmanager
def use_threads(n_jobs: int | None) -> Iterator[None]:
    """Set the number of threads for the block, in this Python thread only."""
    token = _threads.set(thread_count(n_jobs))
    try:
        yield
    finally:
        _threads.reset(token)


class _OneBlasThread:
    """Hold the BLAS library at one thread while anybody is inside.

    The threads of BLAS are the process's, and how many there are changes the last bits of a
    product. So products are made by one thread each, several of them at a time.
    """

    def __init__(self) -> None:
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Begin with nobody inside.

        A forked child has none of the threads that were inside, and one of them may have held the
        lock: nobody would release it there.
        """
        self._lock = Lock()
        self._inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()


one_blas_thread = _OneBlasThread()


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - only dense data needs it

    return ThreadpoolController()
