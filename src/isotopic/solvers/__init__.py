"""The only loop, and one file for each solver."""

from isotopic.solvers.accelerated import Accelerated, AcceleratedState
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Progress, Solver
from isotopic.solvers.choose import SOLVERS, choose_solver
from isotopic.solvers.fold_in import FoldIn
from isotopic.solvers.incremental import IncrementalEM, IncrementalState
from isotopic.solvers.joint import JointEM
from isotopic.solvers.online import OnlineEM, OnlineState
from isotopic.solvers.solve import HISTORY, Iteration, Solution, solve

__all__ = [
    "HISTORY",
    "SOLVERS",
    "Accelerated",
    "AcceleratedState",
    "Alternating",
    "FoldIn",
    "IncrementalEM",
    "IncrementalState",
    "Iteration",
    "JointEM",
    "OnlineEM",
    "OnlineState",
    "Progress",
    "Solution",
    "Solver",
    "choose_solver",
    "solve",
]
