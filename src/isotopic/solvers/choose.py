"""Names for solvers."""

from typing import Any

from isotopic.beta_problem import BetaProblem
from isotopic.problem import Problem
from isotopic.solvers.accelerated import Accelerated
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Solver
from isotopic.solvers.beta_mm import FurtherMM, JointMM, SequentialMM
from isotopic.solvers.joint import JointEM

SOLVERS: dict[str, type[Any]] = {
    "auto": Accelerated,
    "accelerated": Accelerated,
    "joint": JointEM,
    "alternating": Alternating,
}

# For divergences that the main kernel does not know.
BETA_SOLVERS: dict[str, type[Any]] = {
    "auto": FurtherMM,
    "accelerated": FurtherMM,
    "joint": JointMM,
    "alternating": SequentialMM,
}


def choose_solver(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    """Find the solver for a name or a solver object; ``"auto"`` is the fastest one for most."""
    of_beta = isinstance(problem, BetaProblem)
    known, others = (BETA_SOLVERS, SOLVERS) if of_beta else (SOLVERS, BETA_SOLVERS)
    names = ", ".join(repr(name) for name in known)
    if isinstance(solver, str):
        if solver not in known:
            of_whom = " for this divergence" if solver in others else ""
            raise ValueError(
                f"solver must be one of {names} or a solver object{of_whom}, not {solver!r}"
            )
        chosen: Solver[Any] = known[solver]()
        return chosen
    if isinstance(solver, type) or not hasattr(solver, "step"):
        raise TypeError(
            f"solver must be a name or a solver object such as JointEM(), not {solver!r}"
        )
    if type(solver) in others.values():
        raise ValueError(f"solver {solver!r} is for other divergences; choose one of {names}")
    return solver
