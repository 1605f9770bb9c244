"""Solver, the base class of all solvers."""

import math
from dataclasses import fields, is_dataclass, replace
from numbers import Integral, Real
from typing import Any, Generic, TypeVar, get_origin

from isotopic.priors import Posterior
from isotopic.problem import Problem

S = TypeVar("S")  # the state: it has ``passes``, ``objective`` and ``residual``


class Solver(Generic[S]):
    """An algorithm: a frozen dataclass of settings that knows how to make one iteration.

    :func:`~isotopic.solvers.solve` is the only loop. A solver must write :meth:`step`; the rest
    has a default. A solver that takes the steps of another one has it as ``inner``.

    The default state is a :class:`~isotopic.problem.State`, which holds the expected
    counts at its point: a step begins with an M step and ends with the pass that evaluates the new
    point, so the objective costs nothing extra.

    Examples
    --------
    >>> from isotopic import JointEM, Solver
    >>> isinstance(JointEM(), Solver)
    True
    """

    def check(self, problem: Problem) -> None:
        """Raise ValueError if this solver, or its inner one, cannot solve the problem; say why."""
        if hasattr(self, "inner"):
            self.inner.check(problem)

    def init(self, problem: Problem, weights: Posterior, topics: Posterior) -> S:
        """Return the state at the starting point."""
        state: Any = problem.evaluate(weights, topics, passes=0)
        return state  # type: ignore[no-any-return]

    def step(self, problem: Problem, state: S) -> S:
        """Return the state after one iteration."""
        raise NotImplementedError

    def plain_step(self, problem: Problem, state: Any) -> S:
        """Return the state after both sides have absorbed the counts of this point.

        Every solver takes it after the priors' hyperparameters have changed. It is also the step
        of :class:`~isotopic.solvers.BlockUpdate`, and so of the default solver.
        """
        topics = problem.absorb_topics(state.counts.topics, state.topics, state.weights)
        weights = problem.absorb_weights(state.counts.weights, topics)
        new: Any = problem.evaluate(weights, topics, state.passes + 1)
        return new  # type: ignore[no-any-return]

    def continued(self, passes: int) -> "Solver[S]":
        """Return the solver for a start that an earlier fit reached after ``passes`` passes."""
        if not hasattr(self, "inner"):
            return self
        outer: Any = self
        return replace(outer, inner=self.inner.continued(passes))  # type: ignore[no-any-return]

    def is_done(self, state: S) -> bool:
        """Return whether there is nothing left to do."""
        return False

    def finish(self, problem: Problem, state: S) -> S:
        """Return the state that a fit keeps after its last step.

        :func:`~isotopic.solvers.solve` does not call it.
        """
        return state


def check_settings(solver: Any) -> None:
    """Raise ValueError if a setting declared as int, float or Solver has another type.

    Only fields with these type annotations are checked.
    """
    for item in fields(solver) if is_dataclass(solver) else ():
        value = getattr(solver, item.name)
        kind = get_origin(item.type) or item.type
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if kind is int and not (is_number and isinstance(value, Integral)):
            expected = "a whole number"
        elif kind is float and not (is_number and math.isfinite(value)):
            expected = "a finite number"
        elif isinstance(kind, type) and issubclass(kind, Solver):
            expected = "" if isinstance(value, Solver) else "a solver"
            check_settings(value)
        else:
            continue
        if expected:
            name = type(solver).__name__
            raise ValueError(f"{item.name} of {name} must be {expected}, not {value!r}.")
