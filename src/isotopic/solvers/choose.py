"""Names for solvers."""

from typing import Any, cast

import numpy as np

from isotopic.beta_problem import BetaProblem
from isotopic.counts import CountMatrix
from isotopic.problem import Problem
from isotopic.solvers.accelerated import Accelerated
from isotopic.solvers.alternating import Alternating
from isotopic.solvers.base import Solver
from isotopic.solvers.beta_mm import FurtherMM, JointMM, SequentialMM
from isotopic.solvers.coordinate_descent import CoordinateDescent, descends
from isotopic.solvers.descent_fold_in import DescentFoldIn, can_descend
from isotopic.solvers.fold_in import FoldIn
from isotopic.solvers.hyperparameters import HyperparameterUpdates
from isotopic.solvers.incremental import IncrementalEM
from isotopic.solvers.joint import JointEM
from isotopic.solvers.least_squares import LeastSquares
from isotopic.solvers.mixed_precision import MixedPrecision
from isotopic.solvers.online import OnlineEM
from isotopic.solvers.two_phase import TwoPhase

# Up to so many entries a dense array is worth the sparse copies that coordinate descent works on.
_DENSE_ENTRIES = 2**22
# From so many products a pass on, time matters more than that the order of components and the
# grouping of samples change nothing but rounding, which coordinate descent cannot promise.
_MANY_PRODUCTS = 2**20
# And from so many on, steps in single precision save more than they cost.
_ROUGH_PRODUCTS = 2**24
# How much nearer to the optimum samples settle that descent finds the weights of.
_FURTHER = 0.01

SOLVERS: dict[str, Solver[Any]] = {
    "auto": Accelerated(),  # or more: see `_sharper`
    "accelerated": Accelerated(),
    "joint": JointEM(),
    "alternating": Alternating(),
    "coordinate": Accelerated(CoordinateDescent()),
    "online": cast(Any, OnlineEM()),
    "incremental": cast(Any, IncrementalEM()),
}

# For divergences that the main kernel does not know.
BETA_SOLVERS: dict[str, Solver[Any]] = {
    "auto": cast(Any, FurtherMM()),
    "accelerated": cast(Any, FurtherMM()),
    "joint": cast(Any, JointMM()),
    "alternating": cast(Any, SequentialMM()),
}

# And for squares.
QUADRATIC_SOLVERS: dict[str, Solver[Any]] = {
    **BETA_SOLVERS,
    "auto": cast(Any, LeastSquares()),
    "coordinate": cast(Any, LeastSquares()),
}


def choose_solver(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    """Find the solver for a name or a solver object; ``"auto"`` is the fastest for the problem.

    Priors that learn get a solver around it that lets them.
    """
    chosen = _named(solver, problem)
    if isinstance(chosen, HyperparameterUpdates) or not (
        problem.weights.learns or problem.topics.learns
    ):
        return chosen
    if not hasattr(chosen, "plain_step"):
        raise ValueError(
            f"{type(chosen).__name__} cannot let priors learn; use solver='auto', 'joint' or "
            "'alternating', or give the priors' concentrations"
        )
    learner: Solver[Any] = HyperparameterUpdates(chosen)
    return learner


def choose_fold_in(problem: Problem, tol: float) -> FoldIn | DescentFoldIn:
    """Find the faster way to the weights of samples, the topics being known.

    Descent goes further for little more: on its way, unlike on that of EM, the order of the
    components matters.
    """
    return DescentFoldIn(_FURTHER * tol) if can_descend(problem) else FoldIn(tol)


def _named(solver: str | Solver[Any], problem: Problem) -> Solver[Any]:
    known, others = SOLVERS, QUADRATIC_SOLVERS
    if isinstance(problem, BetaProblem):
        known, others = QUADRATIC_SOLVERS if problem.quadratic else BETA_SOLVERS, SOLVERS
    names = ", ".join(repr(name) for name in known)
    if isinstance(solver, str):
        if solver not in known:
            raise ValueError(f"solver must be one of {names} or a solver object, not {solver!r}")
        sharper = _sharper(problem) if solver == "auto" and known is SOLVERS else None
        return known[solver] if sharper is None else sharper
    if isinstance(solver, type) or not hasattr(solver, "step"):
        raise TypeError(
            f"solver must be a name or a solver object such as JointEM(), not {solver!r}"
        )
    if type(solver) in map(type, others.values()):
        raise ValueError(f"solver {solver!r} is for other divergences; choose one of {names}")
    return solver


def _sharper(problem: Problem) -> Solver[Any] | None:
    """Give what is better than the accelerated solver alone, for problems that have such a thing.

    Coordinate descent near the optimum ends lower, and large problems begin in single precision.
    """
    X = problem.X
    if not (isinstance(X, CountMatrix) and descends(problem)):
        return None
    entries = len(X.values) if X.is_sparse else X.dense.size
    products = entries * problem.n_components
    if products < _MANY_PRODUCTS or (not X.is_sparse and entries > _DENSE_ENTRIES):
        return None
    solver: Solver[Any] = Accelerated(TwoPhase())
    large = products >= _ROUGH_PRODUCTS
    if large and X.dtype == np.float64 and X.copies is None and X.fits_single_precision:
        solver = MixedPrecision(Accelerated(TwoPhase()))
    return solver
