"""Fits that survive their process."""

import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import blake2b
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from isotopic import archive
from isotopic.arrays import Array
from isotopic.kernels import Counts
from isotopic.problem import Problem, State
from isotopic.registry import registered_types
from isotopic.solvers import HISTORY, HyperparameterState, Iteration, Solution

# Settings that do not change the path of a fit, or are looked at otherwise.
_NOT_COMPARED = {"n_jobs", "callbacks", "verbose", "random_state", "init", "warm_start"}

# Those that only say where the path ends; with several starts they also say which one is kept.
_ENDS = {"max_iter", "tol", "min_gain"}


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

    def keeper(self, model: Any, problem: Problem) -> "CheckpointWriter":
        """Give who keeps the state of one fit."""
        return CheckpointWriter(self, model, problem)


class CheckpointWriter:
    """Writes down the state of a fit, and finds it again."""

    def __init__(self, checkpoint: Checkpoint, model: Any, problem: Problem) -> None:
        self.path, self.seconds = Path(checkpoint.path), checkpoint.seconds
        self.problem, self.max_iter = problem, model.max_iter
        left_out = _NOT_COMPARED | (_ENDS if model.n_init == 1 else set())
        parameters = model.get_params(deep=False)
        settings = {name: _digest(v) for name, v in parameters.items() if name not in left_out}
        seed = model.random_state
        if isinstance(seed, Integral):
            settings["random_state"] = _digest(int(seed))
        warm = model.warm_start and hasattr(model, "components_")
        self.fit: dict[str, Any] = {
            "model": type(model).__name__,
            "settings": settings,
            "start": _start_fingerprint(model if warm else model.init),
            "data": _digest(
                [problem.X.shape, problem.X.copies, problem.weights, *problem.X.identity()]
            ),
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
        kept = archive.read(self.path, "checkpoint", registered_types())
        self._check(kept)
        made = 0 if kept["here"] is None else len(kept["here"].history)
        if made > self.max_iter:
            raise ValueError(
                f"max_iter={self.max_iter}, but the fit of {self.path} has made {made} iterations"
            )
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
        state = solution.state
        if solution.interrupted:  # the step that was broken off may have taken over the counts
            problem = self.problem.in_precision_of(state.topics)
            counts = problem.evaluate(state.weights, state.topics, state.passes).counts
            state = _with_counts(state, counts)
        self._write(replace(solution, state=state))

    def _write(self, here: Solution[State]) -> None:
        tree = {
            "fit": self.fit,
            "seeds": self.seeds,
            "number": self.number,
            "best": self.best,
            "here": here,
        }
        try:
            archive.write(self.path, "checkpoint", tree, registered_types())
        except OSError as error:  # a full disk is no reason to lose the fit as well
            warnings.warn(f"no checkpoint was written: {error}", UserWarning, stacklevel=2)
        self.written = time.monotonic()

    def _check(self, kept: dict[str, Any]) -> None:
        """Raise if the file is of another fit."""
        theirs, ours = kept["fit"], self.fit
        advice = "; give another path, or delete the file to start again"
        if theirs["model"] != ours["model"]:
            raise ValueError(f"{self.path} is the checkpoint of a {theirs['model']}{advice}")
        for name, value in ours["settings"].items():
            if theirs["settings"].get(name, value) != value:
                raise ValueError(
                    f"{self.path} is the checkpoint of a fit with another {name}{advice}"
                )
        if theirs["data"] != ours["data"]:
            raise ValueError(f"{self.path} is the checkpoint of a fit to other data{advice}")
        if theirs["start"] != ours["start"]:
            raise ValueError(f"{self.path} is the checkpoint of a fit from another start{advice}")


def _with_counts(state: Any, counts: Counts) -> Any:
    if isinstance(state, HyperparameterState):
        return replace(state, inner=_with_counts(state.inner, counts))
    return replace(state, counts=counts)


def _start_fingerprint(start: Any) -> str:
    """Tell one start from another."""
    if isinstance(start, BaseEstimator):
        start = [getattr(start, name, None) for name in ("weights_", "components_")]
    return _digest(start)


def _digest(value: Any) -> str:
    digest = blake2b(digest_size=16)
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    """Feed a setting to a digest by what it says, whatever it is made of."""
    if is_dataclass(value):
        value = [type(value).__name__, *(getattr(value, item.name) for item in fields(value))]
    elif isinstance(value, Mapping):
        value = sorted(value.items(), key=repr)
    elif isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    elif hasattr(value, "columns"):  # a data frame
        value = [list(value.columns), np.asarray(value)]
    if isinstance(value, (list, tuple)):
        digest.update(f"{len(value)} [".encode())
        for item in value:
            _feed(digest, item)
    elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind != "O":
        digest.update(f"{value.dtype} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).data)
    else:
        digest.update(f"{value!r} ".encode())
