"""The only loop, and one file for each solver."""

from isotopic.solvers.accelerated import Accelerated, AcceleratedState
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Progress, Solver
from isotopic.solvers.beta_fold_in import BetaFoldIn
from isotopic.solvers.beta_mm import FurtherMM, FurtherMMState, JointMM, JointMMState, SequentialMM
from isotopic.solvers.choose import (
    BETA_SOLVERS,
    QUADRATIC_SOLVERS,
    SOLVERS,
    choose_fold_in,
    choose_solver,
)
from isotopic.solvers.coordinate_descent import CoordinateDescent
from isotopic.solvers.descent_fold_in import DescentFoldIn
from isotopic.solvers.fold_in import FoldIn
from isotopic.solvers.incremental import IncrementalEM, IncrementalState
from isotopic.solvers.joint import InTurn, JointEM
from isotopic.solvers.learning import Learning, LearningState
from isotopic.solvers.least_squares import LeastSquares, LeastSquaresState
from isotopic.solvers.mixed import Mixed
from isotopic.solvers.online import OnlineEM, OnlineState
from isotopic.solvers.phased import Phased
from isotopic.solvers.solve import HISTORY, Iteration, Solution, finished, solve

__all__ = [
    "BETA_SOLVERS",
    "HISTORY",
    "QUADRATIC_SOLVERS",
    "SOLVERS",
    "Accelerated",
    "AcceleratedState",
    "Alternating",
    "BetaFoldIn",
    "CoordinateDescent",
    "DescentFoldIn",
    "FoldIn",
    "FurtherMM",
    "FurtherMMState",
    "InTurn",
    "IncrementalEM",
    "IncrementalState",
    "Iteration",
    "JointEM",
    "JointMM",
    "JointMMState",
    "Learning",
    "LearningState",
    "LeastSquares",
    "LeastSquaresState",
    "Mixed",
    "OnlineEM",
    "OnlineState",
    "Phased",
    "Progress",
    "SequentialMM",
    "Solution",
    "Solver",
    "choose_fold_in",
    "choose_solver",
    "finished",
    "solve",
]
