"""Names for solvers, and the best one for a problem."""

from typing import Any

import numpy as np

from isotopic.counts import CountMatrix
from isotopic.problem import Problem
from isotopic.solvers.accelerated import Accelerated
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Solver, check_settings
from isotopic.solvers.coordinate_descent import CoordinateDescent, why_no_descent
from isotopic.solvers.core_fold_in import CoreFoldIn, row_rule
from isotopic.solvers.descent_fold_in import DescentFoldIn
from isotopic.solvers.extrapolated_descent import ExtrapolatedDescent
from isotopic.solvers.fold_in import FoldIn
from isotopic.solvers.hyperparameters import (
    FEW_COMPONENTS,
    FIRST_WITH_FEW,
    FIRST_WITH_MANY,
    HyperparameterUpdates,
)
from isotopic.solvers.incremental import IncrementalEM
from isotopic.solvers.joint import JointEM
from isotopic.solvers.least_squares import LeastSquares, is_quadratic
from isotopic.solvers.mixed_precision import MixedPrecision
from isotopic.solvers.online import OnlineEM

# The most entries of a dense array that is worth the sparse copies of coordinate descent.
_MAX_DENSE_ENTRIES = 2**22

# From this many products per pass on, time matters more than that the order of components and the
# grouping of samples change nothing but rounding, which coordinate descent cannot promise.
_MIN_DESCENT_PRODUCTS = 2**20

# Descent converges further than EM for little more time: unlike EM, its path depends on the order
# of the components, and this makes the difference invisible.
_DESCENT_TOL = 0.01

SOLVERS: dict[str, Solver[Any]] = {
    "auto": Accelerated(),  # or better: see `_fastest`
    "accelerated": Accelerated(),
    "joint": JointEM(),
    "alternating": Alternating(),
    "coordinate": Accelerated(CoordinateDescent()),
    "online": OnlineEM(),
    "incremental": IncrementalEM(),
}


def choose_solver(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    """Return the solver for a name or a solver object; ``"auto"`` is the fastest for the problem.

    Priors that learn hyperparameters get a solver around it that updates them.
    """
    if not isinstance(solver, str):
        if not isinstance(solver, Solver):
            raise TypeError(
                "solver must be a name or an object of a subclass of isotopic.Solver, such as "
                f"JointEM(), not {solver!r}."
            )
        check_settings(solver)
        chosen = solver
    elif solver not in SOLVERS:
        names = ", ".join(map(repr, SOLVERS))
        raise ValueError(f"solver must be one of {names} or a solver object, not {solver!r}.")
    elif solver == "auto":
        chosen = _fastest(problem)
    elif solver == "coordinate" and is_quadratic(problem):
        chosen = LeastSquares()
    else:
        chosen = SOLVERS[solver]
    learns = any(part.learns for part in (problem.weights, problem.topics, problem.divergence))
    if isinstance(chosen, HyperparameterUpdates) or not learns:
        return chosen
    has_few = problem.n_components <= FEW_COMPONENTS
    return HyperparameterUpdates(chosen, first=FIRST_WITH_FEW if has_few else FIRST_WITH_MANY)


def choose_fold_in(problem: Problem, tol: float) -> CoreFoldIn | DescentFoldIn | FoldIn:
    """Return the fastest solver that can infer the weights of samples with the topics fixed."""
    X = problem.X
    is_exact = X.dtype == np.float64 and not X.has_tiny_samples
    if is_exact and not why_no_descent(problem, sides=("weights",)):
        return DescentFoldIn(_DESCENT_TOL * tol)
    if row_rule(problem) is not None:
        return CoreFoldIn(tol)
    return FoldIn(tol)


def _fastest(problem: Problem) -> Solver[Any]:
    """Return the fastest solver for a problem.

    Extrapolated coordinate descent ends lowest, and begins in single precision where it can.
    """
    if is_quadratic(problem):
        return LeastSquares()
    if not problem.divergence.is_joint:
        return Accelerated(Alternating())
    X = problem.X
    if not isinstance(X, CountMatrix) or why_no_descent(problem):
        return SOLVERS["accelerated"]
    entries = len(X.values) if X.is_sparse else X.dense.size
    products = entries * problem.n_components
    if products < _MIN_DESCENT_PRODUCTS or (not X.is_sparse and entries > _MAX_DENSE_ENTRIES):
        return SOLVERS["accelerated"]
    if X.dtype == np.float64 and X.copies is None and X.fits_single_precision:
        return MixedPrecision(ExtrapolatedDescent())
    return ExtrapolatedDescent()
