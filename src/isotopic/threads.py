"""The number of threads that the core and BLAS use."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from threading import Lock
from typing import Any

_MOST_THREADS = 1024

_threads: ContextVar[int | None] = ContextVar("isotopic_threads", default=None)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for.

    It is read as by joblib, except that ``None`` means every core: the results have the same bits
    for any number of threads.
    """
    if n_jobs is None:
        return available_cores()
    if not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be a whole number or None, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0. Use None or -1 for every core, 1 for one thread.")
    number = int(n_jobs)
    return min(number, _MOST_THREADS) if number > 0 else max(1, available_cores() + 1 + number)


def current_threads() -> int:
    """Return the number of threads set by the innermost :func:`use_threads`, or of all cores."""
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
    """Limit BLAS to one thread for as long as any thread is inside the context.

    The number of BLAS threads belongs to the whole process and changes the last bits of a product.
    So each product is computed by one thread, and several products at the same time.
    """

    def __init__(self) -> None:
        self._controller: Any = None
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Start with no thread inside.

        A forked child has none of its parent's threads. If one of them held the lock, nothing in
        the child would release it.
        """
        self._lock = Lock()
        self._inside = 0
        self._limiter: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._controller is None:
                from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - for dense data

                self._controller = ThreadpoolController()
            if self._inside == 0:
                self._limiter = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limiter.restore_original_limits()


one_blas_thread = _OneBlasThread()
