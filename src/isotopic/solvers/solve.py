"""solve(): the only iteration loop of the package."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.registry import register
from isotopic.solvers.base import S, Solver

HISTORY = np.dtype(
    [
        ("iteration", np.int64),
        ("passes", np.int64),
        ("seconds", np.float64),
        ("objective", np.float64),
        ("residual", np.float64),
    ]
)


@dataclass(frozen=True)
class Iteration(Generic[S]):
    """What a callback sees: how far the fit is, and the solver's state there.

    For the solvers of this package ``state.weights`` and ``state.topics`` are the iterate as the
    priors hold it (``mean``, ``effective``, ``parameters``). They are not copies: do not write to
    them.
    """

    iteration: int
    passes: int
    seconds: float
    objective: float
    residual: float
    state: S


Callback: TypeAlias = Callable[[Iteration[S]], Any]


@register
@dataclass(frozen=True)
class Solution(Generic[S]):
    """Where a solver ended.

    Attributes
    ----------
    state : State
        The last complete iterate.
    history : structured ndarray
        A row for each iteration: ``iteration``, ``passes`` over the data made to reach the
        iterate, ``seconds`` since the start, ``objective`` and optimality ``residual`` there.
    converged : bool
        Whether the residual reached the tolerance, or the gain of a pass fell below its limit,
        at a finite objective.
    interrupted : bool
        Whether Ctrl-C ended it. The state is that of the last complete iteration.
    """

    state: S
    history: NDArray[np.void]
    converged: bool
    interrupted: bool


def check_history(history: NDArray[np.void]) -> None:
    """Raise ValueError unless the rows of a history follow each other."""
    if history.dtype != HISTORY or history.ndim != 1:
        raise ValueError("history must have one record for each iteration.")
    for name in ("seconds", "objective", "residual"):
        if np.isnan(history[name]).any():
            raise ValueError(f"history contains a NaN among the {name}.")
    is_counted = np.array_equal(history["iteration"], np.arange(1, len(history) + 1))
    steps = [np.diff(history[name], prepend=0) for name in ("passes", "seconds")]
    is_ordered = all((step >= 0).all() for step in steps) and (history["residual"] >= 0).all()
    if not (is_counted and is_ordered and (history["seconds"] < np.inf).all()):
        raise ValueError(
            "history is not consistent: iterations must be 1, 2, ...; passes and seconds never "
            "fall, and no residual is negative."
        )


Row: TypeAlias = tuple[int, int, float, float, float]

# The number of iterations over which the gain of a pass is averaged.
_WINDOW = 10


def solve(
    problem: Problem,
    solver: Solver[S],
    start: tuple[Posterior, Posterior] | Solution[S],
    *,
    max_iter: int | None = None,
    tol: float = 0.0,
    min_gain: float = 0.0,
    callbacks: Iterable[Callback[S]] = (),
    keep_interrupted: bool = False,
) -> Solution[S]:
    """Solve a problem: iterate until the optimality residual is at most ``tol``.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    start : pair of Posterior, or Solution
        The weights and topics to start from, or where an earlier run of the same loop ended.
    max_iter : int or None
        The largest number of iterations; ``None``: until the solver is done.
    tol : float
        0 turns this criterion off.
    min_gain : float
        Stop when the objective falls by less than this per pass and per count of ``X``, averaged
        over the last ten iterations. The average keeps a single rejected step from ending the fit.
        0 turns this off.
    callbacks : iterable of callables
        Called with an :class:`Iteration` after each iteration. The loop stops if one of them
        returns ``True``.
    keep_interrupted : bool
        Return the last complete iteration when Ctrl-C ends the loop, instead of passing the
        KeyboardInterrupt on.

    Returns
    -------
    Solution

    Raises
    ------
    ValueError
        If the problem has no minimum, or the solver cannot solve it.
    """
    problem.check_solvable()
    solver.check(problem)
    began = time.perf_counter()
    rows: list[Row] = []
    state: Any
    if isinstance(start, Solution):
        state, rows = start.state, start.history.tolist()
        began -= rows[-1][2] if rows else 0.0
    else:
        state = solver.init(problem, *start)
    del start  # its memory may be needed
    least_gain = min_gain * problem.X.total
    converged = bool(rows) and _has_converged(rows, tol, least_gain)
    interrupted = False
    reached = state, len(rows)
    try:
        for iteration in count(len(rows) + 1):
            if converged or (max_iter is not None and iteration > max_iter):
                break
            state = solver.step(problem, state)
            seconds = time.perf_counter() - began
            row = (iteration, state.passes, seconds, state.objective, state.residual)
            rows.append(row)
            reached = state, iteration  # one assignment: an interruption never comes between
            is_stopped = False
            for callback in callbacks:
                answer = callback(Iteration(*row, state))
                is_stopped |= isinstance(answer, (bool, np.bool_)) and bool(answer)
            converged = _has_converged(rows, tol, least_gain)
            if is_stopped or solver.is_done(state) or _is_stuck(rows[-1], tol):
                break
    except KeyboardInterrupt:
        if not keep_interrupted:
            raise
        interrupted = True
    state, iterations = reached
    return Solution(state, np.array(rows[:iterations], dtype=HISTORY), converged, interrupted)


def _has_converged(rows: list[Row], tol: float, least_gain: float) -> bool:
    """Return whether the residual is small enough, or the last passes gained too little."""
    _, _, _, objective, residual = rows[-1]
    if not np.isfinite(objective):  # some counts are impossible
        return False
    if tol > 0 and residual <= tol:
        return True
    if least_gain <= 0 or len(rows) <= _WINDOW:
        return False
    _, passes, _, earlier, _ = rows[-1 - _WINDOW]
    return 0 <= (earlier - objective) / (rows[-1][1] - passes) < least_gain


def _is_stuck(row: Row, tol: float) -> bool:
    """Return whether the objective is not finite and further steps will not change that."""
    _, _, _, objective, residual = row
    return bool(tol > 0 and (np.isnan(objective) or (np.isinf(objective) and residual <= tol)))
