"""Fits that survive their process."""

import os
import time
from dataclasses import dataclass
from hashlib import blake2b
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from isotopic import archive
from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.estimators.keeping import TYPES
from isotopic.problem import Problem, State
from isotopic.solvers import HISTORY, Iteration, Solution

# Settings that may change between a fit and its continuation: they do not change the path.
_FREE_TO_CHANGE = {"max_iter", "tol", "n_jobs", "callbacks", "verbose", "random_state", "init"}


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit writes down its state, and how often.

    Parameters
    ----------
    path : str or path-like
        A file that exists is gone on from. It stays when the fit ends; the same fit again then
        gives the same model at once.
    seconds : float, default=60.0
        Time between two writings.
    """

    path: str | os.PathLike[str]
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not (isinstance(self.seconds, Real) and 0 <= self.seconds < np.inf):
            raise ValueError(f"seconds must be a finite number >= 0, not {self.seconds!r}")

    @classmethod
    def of(cls, given: Any) -> "Checkpoint":
        """Read what was given to ``fit``."""
        if isinstance(given, cls):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls(given)
        raise TypeError(f"checkpoint must be a path or a Checkpoint, not {given!r}")

    def keeper(self, model: Any, problem: Problem) -> "Keeper":
        """Give who keeps the state of one fit."""
        return Keeper(self, model, problem)


class Keeper:
    """Writes down the state of a fit, and finds it again."""

    def __init__(self, checkpoint: Checkpoint, model: Any, problem: Problem) -> None:
        self.path, self.seconds = Path(checkpoint.path), checkpoint.seconds
        parameters = model.get_params(deep=False)
        settings = {k: v for k, v in parameters.items() if k not in _FREE_TO_CHANGE}
        self.fit: dict[str, Any] = {
            "model": type(model).__name__,
            "settings": {name: _plain(value) for name, value in settings.items()},
            "start": _start_fingerprint(model.init),
            "data": _fingerprint(problem.X),
        }
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.path.parent} for the checkpoint")

    def resume(
        self, seeds: Array
    ) -> tuple[Array, int, Solution[State] | None, Solution[State] | None]:
        """Give the seeds, the number of the start, the best solution so far and the state there."""
        self.seeds = seeds
        if not self.path.exists():
            return seeds, 0, None, None
        kept = archive.read(self.path, "checkpoint", TYPES)
        self._check(kept)
        self.seeds = kept["seeds"]
        return kept["seeds"], kept["number"], kept["best"], kept["here"]

    def begin(
        self, number: int, best: Solution[State] | None, resumed: Solution[State] | None
    ) -> None:
        """Begin with a start, or go on with one."""
        self.number, self.best = number, best
        self.rows: list[Any] = [] if resumed is None else resumed.history.tolist()
        self.written = time.monotonic()

    def __call__(self, at: Iteration[State]) -> None:
        """Write the state down if it is time."""
        self.rows.append((at.iteration, at.passes, at.seconds, at.objective, at.residual))
        if time.monotonic() - self.written >= self.seconds:
            history = np.array(self.rows, dtype=HISTORY)
            self._write(Solution(at.state, history, converged=False, interrupted=False))

    def end(self, solution: Solution[State]) -> None:
        """Write down where a start led."""
        self._write(solution)

    def _write(self, here: Solution[State]) -> None:
        tree = {
            "fit": self.fit,
            "seeds": self.seeds,
            "number": self.number,
            "best": self.best,
            "here": here,
        }
        archive.write(self.path, "checkpoint", tree)
        self.written = time.monotonic()

    def _check(self, kept: dict[str, Any]) -> None:
        """Raise if the file is of another fit."""
        theirs, ours = kept["fit"], self.fit
        advice = "; give another path, or delete the file to start again"
        if theirs["model"] != ours["model"]:
            raise ValueError(f"{self.path} is the checkpoint of a {theirs['model']}{advice}")
        for name, value in ours["settings"].items():
            if theirs["settings"].get(name) != value:
                raise ValueError(
                    f"{self.path} is the checkpoint of a fit with another {name}{advice}"
                )
        if theirs["data"] != ours["data"]:
            raise ValueError(f"{self.path} is the checkpoint of a fit to other data{advice}")
        if theirs["start"] != ours["start"]:
            raise ValueError(f"{self.path} is the checkpoint of a fit from another start{advice}")


def _plain(value: Any) -> str:
    """Write a setting so that two can be compared."""
    if isinstance(value, np.ndarray):
        return _digest(value)
    with np.printoptions(threshold=2**62, floatmode="unique"):
        return repr(value)


def _start_fingerprint(start: Any) -> str:
    """Tell one start from another."""
    if isinstance(start, str):
        return start
    if isinstance(start, BaseEstimator):
        start = (start.weights_, start.components_) if hasattr(start, "components_") else ()
    return _digest(*map(np.asarray, start))


def _fingerprint(X: CountMatrix) -> str:
    parts = [X.row_starts, X.features, X.values] if X.is_sparse else [X.dense]
    if X.missing is not None:
        parts += [X.missing.indptr, X.missing.indices]
    if X.copies is not None:
        parts.append(X.copies)
    return _digest(*parts)


def _digest(*arrays: Array) -> str:
    digest = blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
