"""Make the runs of a consensus: over the cores, with a checkpoint and progress."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, TypeAlias

import numpy as np

from isotopic import archive
from isotopic.arrays import Array
from isotopic.consensus.plan import Plan
from isotopic.consensus.stacked import groups_of_runs, stack_of_runs
from isotopic.terminal import LiveLine, can_show_live_lines
from isotopic.threads import thread_count

# Yields the names and results of some runs.
Task: TypeAlias = Callable[[], Iterator[tuple[str, dict[str, Any]]]]

# Seconds between two writes of the checkpoint, and between two lines of progress.
_SECONDS_TO_WRITE, _SECONDS_TO_PRINT = 20.0, 10.0


def run_all(
    plan: Plan,
    numbers: list[int],
    n_runs: int,
    *,
    n_jobs: int | None,
    checkpoint: str | os.PathLike[str] | None,
    verbose: int,
) -> dict[str, dict[str, Any]]:
    """Return the results of all runs and scores by name; what the checkpoint has is not repeated.

    Several tasks run at a time, each in one thread.
    """
    fits = {f"fit {k} {run}": (k, run) for k in numbers for run in range(n_runs)}
    scores = {f"score {k} {s}": (k, s) for k in numbers for s in range(len(plan.splits))}
    store = Store(checkpoint, plan) if checkpoint is not None else None
    done: dict[str, dict[str, Any]] = {} if store is None else store.read()
    left = {name: given for name, given in fits.items() if name not in done}
    tasks = _fit_tasks(plan, left, thread_count(n_jobs))
    for name, given in scores.items():
        if name not in done:
            tasks.append((given[0], partial(_alone, name, plan.score, given)))
    tasks.sort(key=lambda task: -task[0])  # the longest first, so that no core waits at the end
    n_left = sum(name not in done for name in (*fits, *scores))
    with warnings.catch_warnings(), _progress(n_left, verbose) as show:
        warnings.simplefilter("ignore")  # a run that stops early is one of many
        try:
            for name, found in _in_threads([task for _, task in tasks], n_jobs):
                done[name] = found
                show()
                if store is not None:
                    store.write_if_due(done)
        finally:
            if store is not None:
                store.write(done)
    return {name: done[name] for name in (*fits, *scores)}


def _fit_tasks(
    plan: Plan, left: dict[str, tuple[int, int]], n_threads: int
) -> list[tuple[int, Task]]:
    """Return the tasks that make the runs, with the number of components of each."""
    tasks: list[tuple[int, Task]] = []
    for number in {number: None for number, _ in left.values()}:
        runs = {name: run for name, (k, run) in left.items() if k == number}
        stacked = stack_of_runs(plan, number)
        if stacked is None:
            tasks += [
                (number, partial(_alone, name, plan.fit, (number, run)))
                for name, run in runs.items()
            ]
        else:
            queue = groups_of_runs(runs)
            tasks += [(number, partial(stacked, queue))] * min(n_threads, len(queue))
    return tasks


def _alone(
    name: str, call: Callable[[int, int], dict[str, Any]], given: tuple[int, int]
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield name, call(*given)


def _in_threads(tasks: list[Task], n_jobs: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield results as they come. The first error, or Ctrl-C, ends what has not begun."""
    results: SimpleQueue[tuple[str, dict[str, Any]] | BaseException | None] = SimpleQueue()
    is_over = Event()

    def work(task: Task) -> None:
        try:
            for found in task():
                results.put(found)
                if is_over.is_set():
                    break
        except BaseException as error:
            results.put(error)
        results.put(None)

    executor = ThreadPoolExecutor(thread_count(n_jobs))
    try:
        for task in tasks:
            executor.submit(work, task)
        n_open = len(tasks)
        while n_open:
            found = results.get()
            if found is None:
                n_open -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found
    finally:
        is_over.set()
        executor.shutdown(cancel_futures=True)


class Store:
    """A file with the results so far, for a consensus that is killed and begun again."""

    def __init__(self, path: str | os.PathLike[str], plan: Plan) -> None:
        self.path, self.digest = Path(path), plan.digest()
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"Cannot write the checkpoint: there is no folder {self.path.parent}."
            )
        self.written = time.monotonic()

    def read(self) -> dict[str, dict[str, Any]]:
        """Return what the file has; nothing if there is none."""
        if not self.path.exists():
            return {}
        saved = archive.read(self.path, "consensus", {})
        if saved["digest"] != self.digest:
            raise ValueError(
                f"The checkpoint {self.path} belongs to another consensus: the model, the data, "
                "resampling or random_state differ. Pass another path, or delete the file."
            )
        return dict(saved["done"])

    def write(self, done: dict[str, dict[str, Any]]) -> None:
        """Replace the file."""
        archive.write(self.path, "consensus", {"digest": self.digest, "done": done})
        self.written = time.monotonic()

    def write_if_due(self, done: dict[str, dict[str, Any]]) -> None:
        """Write the file if the last write was more than ``_SECONDS_TO_WRITE`` ago."""
        if time.monotonic() - self.written > _SECONDS_TO_WRITE:
            self.write(done)


@contextmanager
def _progress(total: int, verbose: int) -> Iterator[Any]:
    """Yield a function that shows one more fit and the time left."""
    began = printed = time.monotonic()
    done = 0
    live = LiveLine(sys.stderr) if verbose and can_show_live_lines(sys.stderr) else None

    def show() -> None:
        nonlocal done, printed
        done += 1
        if not verbose:
            return
        now = time.monotonic()
        left = (now - began) / done * (total - done)
        text = f"{done} of {total} fits, about {left:.0f} s left"
        if live is not None:
            live.show(text)
        elif now - printed > _SECONDS_TO_PRINT or done == total:
            with suppress(BrokenPipeError):  # if its reader has gone, the fits go on
                print(text, file=sys.stderr, flush=True)
            printed = now

    if live is None:
        yield show
    else:
        with live:
            yield show


def topics_of_runs(
    done: dict[str, dict[str, Any]], number: int, n_runs: int
) -> tuple[Array, Array]:
    """Return the topics (runs x components x features) and objectives of a number's runs."""
    found = [done[f"fit {number} {run}"] for run in range(n_runs)]
    return np.array([f["topics"] for f in found]), np.array([f["objective"] for f in found])
