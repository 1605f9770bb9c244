"""Our solvers, and others of their kind, to the same objectives from the same starts."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.data import REAL_DATA, real_datasets
from benchmarks.rivals import Daarem, Squarem
from benchmarks.table import Row, Section, Settings
from isotopic import CountMatrix, Free, Simplex, datasets
from isotopic.init import random_start
from isotopic.problem import Problem
from isotopic.solvers import Accelerated, CoordinateDescent, JointEM, TwoPhase, solve
from isotopic.threads import use_threads

_PLAIN_PASSES = 500
_FEWEST_PASSES = 150  # that everybody is given, however slow
_COMPONENTS = 20
_REAL = ("ap", "pcawg_sbs96", "pbmc_facs")
_STARTS = {"pbmc_facs": 1}  # else six
_SOLVERS = {
    "accelerated, then coordinate": Accelerated(TwoPhase()),
    "coordinate": Accelerated(CoordinateDescent()),
    "coordinate, not accelerated": CoordinateDescent(),
    "SQUAREM": Squarem(),
    "DAAREM": Daarem(),
}


@dataclass
class Run:
    """When a solver reached the early and the late goal, and how good it was when time was up."""

    early: float = np.inf  # seconds
    late: float = np.inf
    passes: float = np.inf  # to the early goal
    objective: float = np.inf
    objective_at: float = np.inf  # seconds


def measure(settings: Settings) -> Iterator[Row]:
    """Let plain passes and the accelerated solver set goals, then everybody reach them."""
    if not REAL_DATA.is_dir():
        yield Row("real data", detail=f"skipped: no folder {REAL_DATA}")
    for name, counts in _data():
        problem = Problem(Free(), Simplex(), CountMatrix(counts, np.float64), _COMPONENTS)
        with use_threads(1):
            yield from _raced(name, problem, _STARTS.get(name, settings.repetitions(6)))


def _data() -> Iterator[tuple]:
    yield "kjv", datasets.load_kjv().data
    yield from real_datasets(_REAL)


def _raced(name: str, problem: Problem, n_starts: int) -> Iterator[Row]:
    runs: dict[str, list[Run]] = {label: [] for label in ("accelerated", *_SOLVERS)}
    _ = problem.X.in_sparse_form.by_feature  # made once, by whoever is first
    for seed in range(n_starts):
        plain = solve(problem, JointEM(), _start(problem, seed), max_iter=_PLAIN_PASSES, tol=0)
        early = plain.state.objective
        leader = _run(problem, Accelerated(), seed, early, -np.inf, np.inf)
        leader.late, late = leader.objective_at, leader.objective
        runs["accelerated"].append(leader)
        for label, solver in _SOLVERS.items():
            runs[label].append(_run(problem, solver, seed, early, late, 2 * leader.late))
    goal = np.mean([run.objective for run in runs["accelerated"]])
    for label, some in runs.items():
        early_seconds, late_seconds = [run.early for run in some], [run.late for run in some]
        lower = 100 * (1 - np.mean([run.objective for run in some]) / goal)
        yield Row(
            f"{name}: {label}",
            float(np.mean(late_seconds)),
            " s",
            (min(late_seconds), max(late_seconds)),
            detail=f"early goal {np.mean(early_seconds):.2f} s, "
            f"{np.mean([run.passes for run in some]):.0f} passes; ends {lower:+.2f} % lower",
        )


def _run(problem: Problem, solver, seed: int, early: float, late: float, limit: float) -> Run:
    """Go on until the residual is 1e-4 or time is up."""
    run = Run()
    began = time.process_time()
    state = solver.init(problem, *_start(problem, seed))
    seconds = 0.0
    while state.residual > 1e-4 and (seconds < limit or state.passes < _FEWEST_PASSES):
        state = solver.step(problem, state)
        seconds = time.process_time() - began
        if run.early == np.inf and state.objective <= early:
            run.early, run.passes = seconds, state.passes
        if run.late == np.inf and state.objective <= late:
            run.late = seconds
    run.objective, run.objective_at = state.objective, seconds
    return run


def _start(problem: Problem, seed: int):
    return random_start(problem, np.random.default_rng(seed))


SECTION = Section(
    "solvers",
    f"processor time until NMF is as good as the accelerated solver's, {_COMPONENTS} components",
    measure,
    (
        "measured: seconds to the objective of the accelerated solver where it converges (residual",
        f"1e-4); early goal: that of {_PLAIN_PASSES} joint passes. Passes: as often as the data is",
        "read; one sweep of a side is one. Ends: where the residual is 1e-4, or after twice the",
        "accelerated solver's time. Same starts, one thread.",
    ),
)
