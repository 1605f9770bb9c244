"""Names for solvers."""

from typing import Any

from isotopic.problem import Problem
from isotopic.solvers.accelerated import Accelerated
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Solver
from isotopic.solvers.incremental import IncrementalEM
from isotopic.solvers.joint import JointEM
from isotopic.solvers.online import OnlineEM

SOLVERS: dict[str, type[Any]] = {
    "auto": Accelerated,
    "accelerated": Accelerated,
    "joint": JointEM,
    "alternating": Alternating,
    "online": OnlineEM,
    "incremental": IncrementalEM,
}


def choose_solver(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    """Find the solver for a name or a solver object; ``"auto"`` is the accelerated one."""
    if isinstance(solver, str):
        if solver not in SOLVERS:
            names = ", ".join(repr(name) for name in SOLVERS)
            raise ValueError(f"solver must be one of {names} or a solver object, not {solver!r}")
        chosen: Solver[Any] = SOLVERS[solver]()
        return chosen
    if isinstance(solver, type) or not hasattr(solver, "step"):
        raise TypeError(
            f"solver must be a name or a solver object such as JointEM(), not {solver!r}"
        )
    return solver
