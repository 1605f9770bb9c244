"""Runs of a consensus that share their passes over the data."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from isotopic.consensus.plan import Plan, resampled_values
from isotopic.containers import NamedMatrix
from isotopic.counts import CountMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.data import read_data
from isotopic.estimators.parameters import with_plain_parameters
from isotopic.init import STRATEGIES
from isotopic.problem import Problem
from isotopic.solvers.stack import StackedData, StackedRun, can_stack, run_stack

Queue = deque[tuple[str, int]]


def stack_of_runs(
    plan: Plan, number: int
) -> Callable[[Queue], Iterator[tuple[str, dict[str, Any]]]] | None:
    """Return what makes all runs of a queue together; ``None`` if each must be made alone."""
    model = with_plain_parameters(plan.model_for(number, 0))
    kind = type(model)
    has_own_fit = kind.fit is not BaseTopicModel.fit or kind._fit is not BaseTopicModel._fit
    is_usual = model.solver == "auto" and model.n_init == 1 and not model.warm_start
    if has_own_fit or not is_usual or not model.tol > 0 or model.min_gain > 0:
        return None
    model._validate_params()
    data = read_data(model, NamedMatrix(plan.counts, plan.feature_names), known=None)
    problem = model._pose(data).problem
    has_own_values = plan.resampling != "none"
    if not can_stack(problem, has_own_values=has_own_values):
        return None
    return StackedRuns(plan, problem, StackedData.of(problem.X, number), model.tol, model.max_iter)


@dataclass(frozen=True, eq=False)
class StackedRuns:
    """Makes runs with one number of components; several threads may share a queue of them."""

    plan: Plan
    problem: Problem
    data: StackedData
    tol: float
    max_iter: int

    def __call__(self, queue: Queue) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name, and the topics and objective, of each run of the queue."""
        constants: dict[str, float] = {}

        def take() -> tuple[str, StackedRun] | None:
            try:
                name, run = queue.popleft()
            except IndexError:
                return None
            start = self.start(run)
            constants[name] = self.data_terms(start)
            return name, start

        for name, found in run_stack(
            self.data,
            self.problem.n_components,
            take,
            has_own_values=self.plan.resampling != "none",
            tol=self.tol,
            max_iter=self.max_iter,
        ):
            objective = found.objective + constants.pop(name)
            yield name, {"topics": found.topics, "objective": objective}

    def start(self, run: int) -> StackedRun:
        """Return the random start of a run, and its data."""
        number, X = self.problem.n_components, self.problem.X
        rng = self.plan.generator(number, run)
        seed = int(rng.integers(2**31))
        values = resampled_values(self.plan.counts, self.plan.resampling, rng)
        topics = STRATEGIES["random"](X, number, np.random.default_rng(seed))[1]
        return StackedRun(topics, values)

    def data_terms(self, run: StackedRun) -> float:
        """Return the terms of the model's objective that depend on the data of a run alone.

        NMF minimises the divergence and PLSA, whose weights are proportions, minus the likelihood.
        """
        X: CountMatrix = self.problem.X
        if self.problem.weights.is_normalized:
            totals = X.sample_totals
            if run.values is not None:
                starts = self.plan.counts.indptr
                totals = np.diff(np.append(0.0, np.cumsum(run.values))[starts])
            return float(xlogy(totals, totals).sum() - totals.sum())
        if run.values is None:
            return X.saturated_divergence
        return float(xlogy(run.values, run.values).sum() - run.values.sum())
