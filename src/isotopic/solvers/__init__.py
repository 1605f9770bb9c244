"""The only loop, and one file for each solver."""

from isotopic.solvers.accelerated import Accelerated
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Progress, Solver
from isotopic.solvers.choose import choose_solver
from isotopic.solvers.fold_in import FoldIn
from isotopic.solvers.joint import JointEM
from isotopic.solvers.solve import Iteration, Solution, solve

__all__ = [
    "Accelerated",
    "Alternating",
    "FoldIn",
    "Iteration",
    "JointEM",
    "Progress",
    "Solution",
    "Solver",
    "choose_solver",
    "solve",
]
