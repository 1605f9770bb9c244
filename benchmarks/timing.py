"""Timings that can be compared: interleaved, the best of several, with their spread."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.table import number
from isotopic.threads import use_threads

Task = Callable[[], object]


@dataclass(frozen=True)
class Samples:
    """Seconds of the same thing: the best estimate, and each repetition."""

    best: float
    each: np.ndarray

    @property
    def ms(self) -> str:
        """The best in milliseconds, as text."""
        return f"{number(1e3 * self.best)} ms"


@dataclass(frozen=True)
class Ratio:
    """One thing's seconds over another's, and the quartiles over the repetitions."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, above: Samples, below: Samples) -> "Ratio":
        """Divide the best by the best, and each repetition by its neighbour."""
        low, high = np.quantile(above.each / below.each, (0.25, 0.75))
        return cls(above.best / below.best, low, high)


def interleaved(
    repetitions: int,
    *,
    warm: bool = False,
    clock: Callable[[], float] = time.process_time,
    **tasks: Task,
) -> dict[str, Samples]:
    """Time the tasks in turn, so that whatever slows the machine down slows all of them.

    The default clock counts processor time, which other work on the machine hardly changes. It
    suits tasks of one thread.

    With ``warm`` a task is run once before each timing, so that it finds its own data in the
    caches and not that of the task before.
    """
    seconds = {name: np.empty(repetitions) for name in tasks}
    for task in tasks.values():
        task()
    for repetition in range(repetitions):
        for name, task in tasks.items():
            if warm:
                task()
            began = clock()
            task()
            seconds[name][repetition] = clock() - began
    return {name: Samples(float(each.min()), each) for name, each in seconds.items()}


def per_iteration(short: Samples, long: Samples, iterations: int) -> Samples:
    """Difference of fits that differ in their number of iterations: set-up does not count."""
    return Samples((long.best - short.best) / iterations, (long.each - short.each) / iterations)


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for everything: the passes, BLAS and OpenMP."""
    with threadpool_limits(1), use_threads(1):
        yield
