"""solve(): the only iteration loop of the package."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isotopic.priors import Posterior
from isotopic.problem import Problem
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
    """What a callback sees: where the fit is, and the solver's state there.

    For the solvers of this package ``state.weights`` and ``state.topics`` are the iterate as the
    priors hold it (``mean``, ``effective``, ``parameters``). They are not copies: look, do not
    write.
    """

    iteration: int
    passes: int
    seconds: float
    objective: float
    residual: float
    state: S


Callback: TypeAlias = Callable[[Iteration[S]], Any]


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
        Whether the residual reached the tolerance, or the gain of a pass fell below its limit.
    interrupted : bool
        Whether Ctrl-C ended it. The state is that of the last complete iteration.
    """

    state: S
    history: NDArray[np.void]
    converged: bool
    interrupted: bool


Row: TypeAlias = tuple[int, int, float, float, float]

# Over how many iterations the gain of a pass is averaged.
_WINDOW = 10


def _gain(rows: list[Row]) -> float:
    """Give what the last passes gained in the objective, each; infinite while there are few."""
    if len(rows) <= _WINDOW:
        return np.inf
    (_, passes, _, objective, _), (_, passes_now, _, objective_now, _) = (
        rows[-1 - _WINDOW],
        rows[-1],
    )
    return (objective - objective_now) / (passes_now - passes)


def solve(
    problem: Problem,
    solver: Solver[S],
    start: tuple[Posterior, Posterior] | Solution[S],
    *,
    max_iter: int,
    tol: float,
    min_gain: float = 0.0,
    callbacks: Iterable[Callback[S]] = (),
) -> Solution[S]:
    """Iterate until the optimality residual is at most ``tol``, at most ``max_iter`` times.

    Parameters
    ----------
    problem : Problem
    solver : Solver
    start : pair of Posterior, or Solution
        The weights and topics to start from, or where an earlier run of the same loop was.
    max_iter : int
    tol : float
        With 0, the residual stops nothing.
    min_gain : float
        Stop when passes gain less than this, in units of the objective for each count of ``X``,
        on average over the last ten iterations. So one step that a solver takes back does not
        end the fit. With 0, gains stop nothing.
    callbacks : iterable of callables
        Called with an :class:`Iteration` after each one. Any that returns ``True`` stops the loop.

    Returns
    -------
    Solution
    """
    problem.check_solvable()
    began = time.perf_counter()
    rows: list[Row] = []
    if isinstance(start, Solution):
        state, rows = start.state, start.history.tolist()
        began -= rows[-1][2] if rows else 0.0
    else:
        state = solver.init(problem, *start)
    del start  # its memory may be wanted

    def settled() -> bool:
        small = tol > 0 and state.residual <= tol
        return bool(small or (min_gain > 0 and 0 <= _gain(rows) < min_gain * problem.X.total))

    converged = bool(rows) and settled()
    interrupted = False
    try:
        for iteration in range(len(rows) + 1, 1 if converged else max_iter + 1):
            state = solver.step(problem, state)
            seconds = time.perf_counter() - began
            row = (iteration, state.passes, seconds, state.objective, state.residual)
            rows.append(row)
            answers = [callback(Iteration(*row, state)) for callback in callbacks]
            stops = [isinstance(answer, (bool, np.bool_)) and answer for answer in answers]
            converged = settled()
            if converged or any(stops):
                break
    except KeyboardInterrupt:
        interrupted = True
    return Solution(state, np.array(rows, dtype=HISTORY), converged, interrupted)


def finished(problem: Problem, solver: Solver[S], solution: Solution[S]) -> Solution[S]:
    """Let a solver do what it has to do at the end, and not where a fit may go on."""
    if not hasattr(solver, "finished"):
        return solution
    return replace(solution, state=solver.finished(problem, solution.state))
