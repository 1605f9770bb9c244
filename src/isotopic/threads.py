"""How many threads the work below uses."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

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
    return n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def current_threads() -> int:
    """Tell the number of threads set by the innermost :func:`use_threads`, or every core."""
    threads = _threads.get()
    return available_cores() if threads is None else threads


@contextmanager
def use_threads(n_jobs: int | None, *, blas: bool = False) -> Iterator[None]:
    """Set the number of threads for the block, in this Python thread only.

    ``blas`` limits the threads of the BLAS library too; that limit is the process's.
    """
    token = _threads.set(thread_count(n_jobs))
    try:
        if blas:
            with _controller().limit(limits=current_threads(), user_api="blas"):
                yield
        else:
            yield
    finally:
        _threads.reset(token)


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - only dense data needs it

    return ThreadpoolController()
