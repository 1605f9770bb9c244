"""Names for solvers."""

from isotopic.problem import Problem, State
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Solver
from isotopic.solvers.joint import JointEM

SOLVERS: dict[str, type[JointEM | Alternating]] = {"joint": JointEM, "alternating": Alternating}


def choose_solver(solver: str | Solver[State], problem: Problem) -> Solver[State]:
    """Find the solver for a name, a solver object, or ``"auto"``: joint where that is possible."""
    if isinstance(solver, str) and solver == "auto":
        return JointEM() if problem.joint else Alternating()
    if isinstance(solver, str):
        if solver not in SOLVERS:
            names = ", ".join(repr(name) for name in ("auto", *SOLVERS))
            raise ValueError(f"solver must be one of {names} or a solver object, not {solver!r}")
        return SOLVERS[solver]()
    if isinstance(solver, type) or not hasattr(solver, "step"):
        raise TypeError(
            f"solver must be a name or a solver object such as JointEM(), not {solver!r}"
        )
    return solver
