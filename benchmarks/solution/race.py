"""Run one contestant in a process of its own, and judge its snapshots afterwards."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.processes import run_alone
from benchmarks.solution.contestants import Contestant
from benchmarks.solution.problems import Problem


@dataclass(frozen=True)
class Run:
    """A contestant's snapshots, or why there are none.

    Attributes
    ----------
    seconds, objectives : ndarray of shape (snapshots,)
    free : str
        The time that was not counted, in words.
    failure : str or None
    """

    contestant: Contestant
    seconds: np.ndarray
    objectives: np.ndarray
    free: str = ""
    failure: str | None = None

    @property
    def end(self) -> float:
        """What it ended with."""
        return float(self.objectives[-1])

    def time_to(self, target: float) -> float:
        """When it first was at ``target`` or below; never is infinite."""
        there = np.flatnonzero(self.objectives <= target)
        return float(self.seconds[there[0]]) if len(there) else np.inf


def run(
    contestant: Contestant, problem: Problem, repetition: int, threads: int, seconds: float
) -> Run:
    """Let a contestant run for some seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        problem.job(repetition, threads, seconds).save(folder / "job.npz")
        (folder / "contestant.txt").write_text(contestant.function)
        failure = run_alone(
            contestant.python,
            "benchmarks.solution.worker",
            folder,
            threads=1 if contestant.processes else threads,
            timeout=20 * seconds + 600,  # an iteration may be long, and compilation takes time
        )
        snapshots = sorted(folder.glob("0*.npz"))
        if failure is None and not snapshots:
            failure = "it kept nothing"
        if failure is not None:
            return Run(contestant, np.empty(0), np.empty(0), failure=failure)
        judged = np.array([_judged(problem, file) for file in snapshots])
        free = json.loads((folder / "free.json").read_text())
    words = f"free: import {free['import']:.1f} s, first use {free['first']:.1f} s"
    return Run(contestant, judged[:, 0], judged[:, 1], words)


def _judged(problem: Problem, file: Path) -> tuple[float, float]:
    with np.load(file) as kept:
        weights = kept.get("weights")
        return float(kept["seconds"]), problem.objective(weights, kept["topics"])
