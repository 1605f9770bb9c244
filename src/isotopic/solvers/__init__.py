"""The only loop, and one file for each solver."""

from isotopic.solvers.accelerated import Accelerated, AcceleratedState
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Progress, Solver
from isotopic.solvers.choose import SOLVERS, choose_solver
from isotopic.solvers.coordinate_descent import CoordinateDescent
from isotopic.solvers.fold_in import FoldIn
from isotopic.solvers.joint import InTurn, JointEM
from isotopic.solvers.learning import Learning, LearningState
from isotopic.solvers.solve import HISTORY, Iteration, Solution, solve

__all__ = [
    "HISTORY",
    "SOLVERS",
    "Accelerated",
    "AcceleratedState",
    "Alternating",
    "CoordinateDescent",
    "FoldIn",
    "InTurn",
    "Iteration",
    "JointEM",
    "Learning",
    "LearningState",
    "Progress",
    "Solution",
    "Solver",
    "choose_solver",
    "solve",
]
