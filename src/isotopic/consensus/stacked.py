"""Runs of a consensus that share their passes over the data."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import xlogy

from isotopic.consensus.plan import Plan, resampled_values
from isotopic.containers import NamedMatrix
from isotopic.counts import CountMatrix
from isotopic.estimators.base import BaseTopicModel
from isotopic.estimators.data import read_data
from isotopic.estimators.parameters import with_plain_parameters
from isotopic.init import STRATEGIES
from isotopic.problem import Problem
from isotopic.solvers.stack import (
    WIDTH,
    Stack,
    StackedData,
    StackedRun,
    can_stack,
    run_stack,
)

# Names and numbers of runs, in groups that begin together.
Queue: TypeAlias = deque[list[tuple[str, int]]]

# Large data: a run first takes this many steps on this share of the samples, if there are enough of
# them for each component. They cost little, and leave half of the steps on all samples.
_SHORT_STEPS, _SHORT_SHARE, _SAMPLES_BY_COMPONENT = 40, 1 / 8, 60

# The share of the overall profile in the topics after these steps, so that no feature is lost.
_PROFILE_SHARE = 0.05


def groups_of_runs(runs: dict[str, int]) -> Queue:
    """Return runs in groups, which do not depend on the runs that are left to do."""
    groups: dict[int, list[tuple[str, int]]] = {}
    for name, run in runs.items():
        groups.setdefault(run // WIDTH, []).append((name, run))
    return deque(groups.values())


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
        begun: list[tuple[str, StackedRun]] = []

        def take() -> tuple[str, StackedRun] | None:
            if not begun:
                try:
                    group = queue.popleft()
                except IndexError:
                    return None
                starts = self.improved([self.start(run) for _, run in group], group[0][1] // WIDTH)
                begun.extend((name, start) for (name, _), start in zip(group, starts, strict=True))
            name, start = begun.pop(0)
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

    def improved(self, runs: list[StackedRun], group: int) -> list[StackedRun]:
        """Return the starts of a group after short fits to some of the samples, if there are many.

        Each group has samples of its own.
        """
        counts, number = self.plan.counts, self.problem.n_components
        n_some = int(_SHORT_SHARE * counts.shape[0])
        if n_some < _SAMPLES_BY_COMPONENT * number:
            return runs
        rng = np.random.default_rng([self.plan.seed, 3, number, group])
        which = np.sort(rng.choice(counts.shape[0], n_some, replace=False))
        entries = (np.arange(counts.nnz), counts.indices, counts.indptr)
        some = sparse.csr_array(entries, shape=counts.shape)[which]
        starts, features = some.indptr.astype(np.int64), some.indices.astype(np.int32)
        part = CountMatrix.of_checked(some.shape, starts, features, counts.data[some.data])
        stack = Stack(
            StackedData.of(part, number), number, has_own_values=runs[0].values is not None
        )
        for lane, run in enumerate(runs):
            values = None if run.values is None else run.values[some.data]
            stack.load(lane, replace(run, values=values))
        for _ in range(_SHORT_STEPS):
            stack.step()
        profile = self.problem.X.feature_totals / self.problem.X.total
        return [
            replace(
                run,
                topics=(1 - _PROFILE_SHARE) * stack.result(lane).topics + _PROFILE_SHARE * profile,
            )
            for lane, run in enumerate(runs)
        ]

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
