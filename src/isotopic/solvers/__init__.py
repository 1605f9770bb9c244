"""Solvers: the only loop, and one file for each algorithm."""

from isotopic.solvers.accelerated import Accelerated, AcceleratedState
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Solver
from isotopic.solvers.choose import SOLVERS, choose_fold_in, choose_solver
from isotopic.solvers.coordinate_descent import CoordinateDescent, TwoPhase
from isotopic.solvers.core_fold_in import CoreFoldIn, row_rule
from isotopic.solvers.descent_fold_in import DescentFoldIn
from isotopic.solvers.extrapolated_descent import ExtrapolatedDescent, ExtrapolatedState
from isotopic.solvers.fold_in import FoldIn
from isotopic.solvers.hyperparameters import HyperparameterState, HyperparameterUpdates
from isotopic.solvers.incremental import IncrementalEM, IncrementalState
from isotopic.solvers.joint import BlockUpdate, JointEM
from isotopic.solvers.least_squares import LeastSquares, LeastSquaresState
from isotopic.solvers.mixed_precision import MixedPrecision
from isotopic.solvers.online import OnlineEM, OnlineState
from isotopic.solvers.solve import HISTORY, Iteration, Solution, solve

__all__ = [
    "HISTORY",
    "SOLVERS",
    "Accelerated",
    "AcceleratedState",
    "Alternating",
    "BlockUpdate",
    "CoordinateDescent",
    "CoreFoldIn",
    "DescentFoldIn",
    "ExtrapolatedDescent",
    "ExtrapolatedState",
    "FoldIn",
    "HyperparameterState",
    "HyperparameterUpdates",
    "IncrementalEM",
    "IncrementalState",
    "Iteration",
    "JointEM",
    "LeastSquares",
    "LeastSquaresState",
    "MixedPrecision",
    "OnlineEM",
    "OnlineState",
    "Solution",
    "Solver",
    "TwoPhase",
    "choose_fold_in",
    "choose_solver",
    "row_rule",
    "solve",
]
