"""The runs of a consensus: fits from different starts to resampled data."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from isotopic import archive
from isotopic.arrays import Array
from isotopic.consensus.held_out import HeldOut, HiddenEntries
from isotopic.containers import NamedMatrix
from isotopic.estimators.digest import digest
from isotopic.terminal import LiveLine, can_show_live_lines
from isotopic.threads import thread_count

#: How the data of a run differ from the data.
RESAMPLING = ("bootstrap", "subsample", "none")

_SUBSAMPLE = 0.8

# Seconds between two writes of the checkpoint, and between two lines of progress.
_SECONDS_TO_WRITE, _SECONDS_TO_PRINT = 20.0, 10.0

# Parameters of a model that do not change what a fit finds.
_NOT_COMPARED = ("n_jobs", "callbacks", "verbose", "random_state", "n_components", "init")


@dataclass(frozen=True, eq=False)
class Plan:
    """What to fit.

    Attributes
    ----------
    model : estimator
    counts : csr_array
    feature_names : ndarray of objects or None
    resampling : {"bootstrap", "subsample", "none"}
    splits : list of HeldOut or HiddenEntries
        For the held-out scores; none of them if there are too few samples.
    seed : int
        Each run has a generator of its own, made of this, its kind and its numbers. So the result
        depends neither on the order of the runs nor on which other numbers are tried.
    """

    model: Any
    counts: Any
    feature_names: Array | None
    resampling: str
    splits: list[HeldOut] | list[HiddenEntries]
    seed: int

    def fit(self, number: int, run: int) -> dict[str, Any]:
        """Fit a run from a random start; return its topics, as distributions, and objective."""
        rng = np.random.default_rng([self.seed, 0, number, run])
        model = self._model(number, rng).set_params(init="random")
        counts = resample(self.counts, self.resampling, rng)
        model.fit(NamedMatrix(counts, self.feature_names))
        topics = np.asarray(model.components_, np.float64)
        sums = topics.sum(axis=1, keepdims=True)
        uniform = 1 / topics.shape[1]
        topics = np.where(sums > 0, topics / np.where(sums > 0, sums, 1), uniform)
        return {"topics": topics, "objective": float(model.objective_)}

    def score(self, number: int, split: int) -> dict[str, Any]:
        """Fit what a split shows as the model would, and score what it hides."""
        rng = np.random.default_rng([self.seed, 1, number, split])
        model = self._model(number, rng)
        return {"score": self.splits[split].fit_and_score(model, self.feature_names)}

    def _model(self, number: int, rng: np.random.Generator) -> Any:
        seed = int(rng.integers(2**31))
        return clone(self.model).set_params(
            n_components=number, random_state=seed, n_jobs=1, verbose=0, callbacks=None
        )

    def digest(self) -> str:
        """Return a digest of everything that the results depend on."""
        parameters = self.model.get_params(deep=False)
        settings = {name: v for name, v in parameters.items() if name not in _NOT_COMPARED}
        run = [self.resampling, len(self.splits), self.seed]
        counts = self.counts.astype(np.float64)
        return digest([type(self.model).__name__, settings, counts, self.feature_names, run])


def resample(counts: Any, how: str, rng: np.random.Generator) -> Any:
    """Return other counts: Poisson draws around them, some of the samples, or the same.

    A feature or sample that has no count left keeps what it has in the data, so that every run has
    the same features.
    """
    if how == "none":
        return counts
    if how == "subsample":
        n_samples = counts.shape[0]
        n_kept = max(1, round(_SUBSAMPLE * n_samples))
        return counts[np.sort(rng.choice(n_samples, n_kept, replace=False))]
    drawn = rng.poisson(counts.data).astype(np.float64)
    if not drawn.any():
        return counts
    return sparse.csr_array((drawn, counts.indices, counts.indptr), shape=counts.shape)


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

    Several fits run at a time, each in one thread.
    """
    tasks: dict[str, tuple[Callable[[int, int], dict[str, Any]], int, int]] = {}
    for number in numbers:
        for run in range(n_runs):
            tasks[f"fit {number} {run}"] = plan.fit, number, run
        for split in range(len(plan.splits)):
            tasks[f"score {number} {split}"] = plan.score, number, split
    store = Store(checkpoint, plan) if checkpoint is not None else None
    done: dict[str, dict[str, Any]] = {} if store is None else store.read()
    left = [name for name in tasks if name not in done]
    # The longest fits first, so that no core waits for one of them at the end.
    left.sort(key=lambda name: -tasks[name][1])
    with warnings.catch_warnings(), _progress(len(left), verbose) as show:
        warnings.simplefilter("ignore")  # a run that stops early is one of many
        try:
            for name, found in _in_threads({name: tasks[name] for name in left}, n_jobs):
                done[name] = found
                show()
                if store is not None:
                    store.write_if_due(done)
        finally:
            if store is not None:
                store.write(done)
    return {name: done[name] for name in tasks}


def _in_threads(tasks: dict[str, Any], n_jobs: int | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield results as they come. The first error, or Ctrl-C, cancels what has not begun."""
    executor = ThreadPoolExecutor(thread_count(n_jobs))
    try:
        pending: dict[Future[dict[str, Any]], str] = {
            executor.submit(task, *given): name for name, (task, *given) in tasks.items()
        }
        while pending:
            done = wait(pending, return_when=FIRST_COMPLETED).done
            # What succeeded is kept, before an error ends everything.
            for future in sorted(done, key=lambda future: future.exception() is not None):
                yield pending.pop(future), future.result()
    finally:
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
