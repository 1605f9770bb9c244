"""Write the state of a fit to a file, and continue from it."""

import os
import time
import warnings
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from isotopic import archive
from isotopic.arrays import Array
from isotopic.atomic import check_replaceable, remove_leftovers
from isotopic.estimators.digest import describe_random_state, digest
from isotopic.estimators.persistence import read_file
from isotopic.estimators.saved_state import check_saved_fit, check_saved_state
from isotopic.fitted import Fitted
from isotopic.kernels import Counts
from isotopic.problem import Problem, State
from isotopic.registry import registered_types
from isotopic.solvers import HISTORY, HyperparameterState, Iteration, Solution

# Parameters that do not change the iterates of a fit, or are compared in another way.
_NOT_COMPARED = {"n_jobs", "callbacks", "verbose", "random_state", "init", "warm_start"}

# Parameters that only say when a fit ends. With several starts they also decide which one is kept.
_ENDS = {"max_iter", "tol", "min_gain"}


@dataclass(frozen=True)
class Checkpoint:
    """The file to which a fit writes its state, and how often.

    Parameters
    ----------
    path : str or path-like
        If the file exists, the fit continues from it. The file stays when the fit ends; the same
        fit again then gives the same model at once. The checkpoint of another fit is refused: data,
        start, priors and all parameters that change the result must be the same. So must be
        ``random_state``: the same seed, a generator in the same state, or ``None`` for a fit that
        had none. Then the random numbers of the interrupted fit are used again.
    seconds : float, default=60.0
        Time between two writes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from isotopic import NMF, Checkpoint
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "nmf.fit"
    ...     model = NMF(2, tol=1e-2, random_state=0).fit(X, checkpoint=Checkpoint(path, seconds=10))
    ...     path.exists()
    True
    """

    path: str | os.PathLike[str]
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not (isinstance(self.seconds, Real) and 0 <= self.seconds < np.inf):
            raise ValueError(f"seconds must be a finite number >= 0, not {self.seconds!r}.")

    @classmethod
    def of(cls, given: Any) -> "Checkpoint":
        """Return the checkpoint that was given to ``fit``, as a path or as it is."""
        if isinstance(given, cls):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls(given)
        raise TypeError(f"checkpoint must be a path or a Checkpoint, not {given!r}.")


class CheckpointWriter:
    """Write the state of a fit from ``start`` to a file, and read it again."""

    def __init__(self, checkpoint: Any, model: Any, problem: Problem, start: Any) -> None:
        checkpoint = Checkpoint.of(checkpoint)
        self.path, self.seconds = Path(checkpoint.path), checkpoint.seconds
        self.problem, self.max_iter, self.n_init = problem, model.max_iter, model.n_init
        left_out = _NOT_COMPARED | (_ENDS if model.n_init == 1 else set())
        parameters = model.get_params(deep=False)
        settings = {name: digest(v) for name, v in parameters.items() if name not in left_out}
        settings["random_state"] = digest(describe_random_state(model.random_state))
        if isinstance(start, Fitted):  # without its history, which holds times
            start = [start.weights, start.topics, start.weights_prior, start.topics_prior]
        self.fit: dict[str, Any] = {
            "model": type(model).__name__,
            "settings": settings,
            "start": digest(start),
            "data": digest([problem.X.shape, problem.X.copies, *problem.X.identity()]),
            "priors": digest([problem.weights, problem.topics, problem.divergence]),
        }
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"Cannot write the checkpoint: there is no folder {self.path.parent}."
            )
        check_replaceable(self.path)
        remove_leftovers(self.path.parent)

    def resume(
        self, seeds: Array
    ) -> tuple[Array, int, Solution[State] | None, Solution[State] | None]:
        """Return the seeds, the number of the start, and the best and the current solution."""
        self.seeds = seeds
        if not self.path.exists():
            return seeds, 0, None, None
        saved = read_file(self.path, "checkpoint")
        try:
            check_saved_fit(saved)
            self._check(saved)
            check_saved_state(saved, self.problem, self.n_init)
        except ValueError as error:
            raise ValueError(f"{self.path}: {error}") from error
        n_iter = 0 if saved["here"] is None else len(saved["here"].history)
        if n_iter > self.max_iter:
            raise ValueError(
                f"max_iter={self.max_iter}, but the fit of {self.path} has made {n_iter} "
                f"iterations already. Raise max_iter to at least {n_iter}, or delete the file to "
                "start again."
            )
        self.seeds = saved["seeds"]
        return saved["seeds"], saved["number"], saved["best"], saved["here"]

    def begin(
        self, number: int, best: Solution[State] | None, resumed: Solution[State] | None
    ) -> None:
        """Begin a start, or continue one."""
        self.number, self.best = number, best
        self.rows: list[Any] = [] if resumed is None else resumed.history.tolist()
        self.written = time.monotonic()

    def __call__(self, at: Iteration[State]) -> None:
        """Write the state if enough time has passed."""
        self.rows.append((at.iteration, at.passes, at.seconds, at.objective, at.residual))
        if len(self.rows) == 1:  # a state that cannot be saved is refused at once
            archive.check("checkpoint", at.state, registered_types())
        if time.monotonic() - self.written >= self.seconds:
            history = np.array(self.rows, dtype=HISTORY)
            self._write(Solution(at.state, history, converged=False, interrupted=False))

    def check_continued(self, resumed: Solution[State] | None, ended: Solution[State]) -> None:
        """Raise ValueError if a resumed fit becomes infinite or NaN: the file is damaged."""
        if resumed is None or not np.isfinite(resumed.state.objective):
            return
        if not np.isfinite(ended.state.objective):
            raise ValueError(
                f"{self.path}: The objective became {ended.state.objective}, so the state in the "
                "file is damaged. Delete the file to start again."
            )

    def end(self, solution: Solution[State]) -> None:
        """Write the solution of a start."""
        state = solution.state
        if solution.interrupted:  # the interrupted step may have overwritten the counts
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
        except OSError as error:  # a full disk must not end the fit
            warnings.warn(f"Cannot write the checkpoint: {error}", UserWarning, stacklevel=2)
        self.written = time.monotonic()

    def _check(self, saved: dict[str, Any]) -> None:
        """Raise if the file belongs to another fit."""
        theirs, ours = saved["fit"], self.fit
        settings = ours["settings"] | theirs["settings"]
        before = {name: ours["settings"].get(name) for name in settings}
        changed = [name for name, value in settings.items() if before[name] != value]
        differences = (
            (theirs["model"] != ours["model"], f"a fit of {theirs['model']}"),
            (bool(changed), f"a fit with other values of {', '.join(changed)}"),
            (theirs["data"] != ours["data"], "a fit to other data"),
            (theirs["start"] != ours["start"], "a fit from another start"),
            (
                theirs["priors"] != ours["priors"],
                "a fit with other priors, size factors, fixed weights or sample weights",
            ),
        )
        for differs, what in differences:
            if differs:
                raise ValueError(
                    f"The checkpoint belongs to {what}. Pass another path, or delete the file to "
                    "start again."
                )


def _with_counts(state: Any, counts: Counts) -> Any:
    if isinstance(state, HyperparameterState):
        return replace(state, inner=_with_counts(state.inner, counts))
    return replace(state, counts=counts)
