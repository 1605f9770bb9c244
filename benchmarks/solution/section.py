"""The races as a section of the report: who reached what, and when."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.solution.contestants import OWN, PEERS, Contestant
from benchmarks.solution.figure import draw
from benchmarks.solution.problems import MEASURES, Problem
from benchmarks.solution.race import Run, run
from benchmarks.table import Row, Section, Target, number
from isotopic.threads import available_cores

SNAPSHOTS = "solution_snapshots.csv"
COLUMNS = (
    "measure",
    "dataset",
    "components",
    "threads",
    "contestant",
    "version",
    "repetition",
    "seconds",
    "objective",
)
DATA = ("kjv", *data.GENERATED, "ap", "20news_pruned", "pbmc_facs")


@dataclass(frozen=True)
class Plan:
    """What to run."""

    data: tuple[str, ...] = DATA
    components: tuple[int, ...] = (20, 100)
    threads: tuple[int, ...] = tuple(sorted({1, available_cores()}))
    seconds: float = 60.0
    repetitions: int = 3
    peers: tuple[Contestant, ...] = PEERS

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that any of the peers is compared by."""
        return tuple(m for m in MEASURES if any(peer.measure == m for peer in self.peers))


# Not enstop, whose compilation alone takes half a minute.
QUICK = Plan(("kjv",), (10,), (1,), 1.0, 1, tuple(peer for peer in PEERS if peer.name != "enstop"))


@dataclass(frozen=True)
class Heat:
    """One problem with one number of threads."""

    measure: str
    dataset: str
    components: int
    threads: int

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.dataset}, K={self.components}, {threads}"


def section(plan: Plan, folder: Path) -> Section:
    return Section(
        "solution",
        "time to the same solution: a peer's time over isotopic's",
        lambda _settings: measure(plan, folder),
        (
            f"Everybody runs alone in a new process for {plan.seconds:g} s, from the same start",
            "(topica and tomotopy from their own: they can be given none). Snapshots of the",
            "factors are judged afterwards by one function. Taking them is free, and so are",
            "imports, compilation and the conversion of the data to a peer's form. The target is",
            "what the peer ended with; both times are the first snapshot that is as good. 0 means",
            "that isotopic did not get there. Medians over the repetitions. Rows that end with",
            "joint are for the plain joint updates, the others for the default solver.",
            "divergence  KL of all counts (NMF, PLSA), rows of the product scaled to their totals.",
            "perplexity  of held-out words (LDA): a tenth of the documents, half of their tokens,",
            "            whose weights one function infers from the other half.",
        ),
    )


def measure(plan: Plan, folder: Path) -> Iterator[Row]:
    """Run all heats of a plan; keep their snapshots and figures in a folder."""
    folder.mkdir(exist_ok=True)
    present = tuple(peer for peer in plan.peers if peer.version is not None)
    for peer in plan.peers:
        if peer not in present:
            yield Row(
                peer.name,
                detail=f"{peer.package} is not installed; `make bench` installs the peers",
            )
    runs: dict[Heat, list[list[Run]]] = {}
    with (folder / SNAPSHOTS).open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for heat, problem in _heats(plan):
            if problem is None:
                yield Row(heat.dataset, detail="not found; ISOTOPIC_DATA names the folder of it")
                continue
            runs[heat] = []
            for repetition in range(plan.repetitions):
                runs[heat].append(_repetition(plan, heat, problem, repetition, present))
                table.writerows(_snapshots(heat, repetition, runs[heat][-1]))
                file.flush()
            yield from _rows(heat, runs[heat])
    yield from draw(runs, folder)


def _heats(plan: Plan) -> Iterator[tuple[Heat, Problem | None]]:
    for dataset in plan.data:
        counts = data.dataset(dataset)
        if counts is None:
            yield Heat("", dataset, 0, 0), None
            continue
        for name in plan.measures:
            for components in plan.components:
                problem = MEASURES[name](counts, components)
                for threads in plan.threads:
                    yield Heat(name, dataset, components, threads), problem


def _repetition(
    plan: Plan, heat: Heat, problem: Problem, repetition: int, peers: tuple[Contestant, ...]
) -> list[Run]:
    """One after the other, everybody from the same start."""
    field = [who for who in (*OWN, *peers) if who.measure == heat.measure]
    return [run(who, problem, repetition, heat.threads, plan.seconds) for who in field]


def _snapshots(heat: Heat, repetition: int, runs: list[Run]) -> Iterator[tuple[object, ...]]:
    for one in runs:
        who = one.contestant
        for seconds, objective in zip(one.seconds, one.objectives, strict=True):
            fixed = (heat.measure, heat.dataset, heat.components, heat.threads)
            yield *fixed, who.name, who.version, repetition, f"{seconds:.6f}", f"{objective:.12g}"


def _rows(heat: Heat, repetitions: list[list[Run]]) -> Iterator[Row]:
    """Compare each way of isotopic with each peer, repetition by repetition."""
    columns = list(zip(*repetitions, strict=True))
    own = [runs for runs in columns if runs[0].contestant in OWN]
    for theirs in (runs for runs in columns if runs[0].contestant not in OWN):
        for ours in own:
            yield _row(heat, ours, theirs)


def _row(heat: Heat, ours: tuple[Run, ...], theirs: tuple[Run, ...]) -> Row:
    own, peer = ours[0].contestant, theirs[0].contestant
    what = f"{heat}: {peer.name}{own.name.removeprefix('isotopic').replace('-', ', ')}"
    for one in (*ours, *theirs):
        if one.failure is not None:
            return Row(what, detail=f"{one.contestant.name} did not run: {one.failure}")
    times = np.array(
        [
            (they.time_to(they.end), we.time_to(they.end))
            for we, they in zip(ours, theirs, strict=True)
        ]
    )
    ratios = times[:, 0] / times[:, 1]
    their_seconds, own_seconds = np.median(times, axis=0)
    ends = [float(np.median([one.end for one in runs])) for runs in (theirs, ours)]
    reached = f"in {number(own_seconds)} s" if np.isfinite(own_seconds) else "never"
    detail = (
        f"{peer.name} {peer.version} at {ends[0]:.6g} after {number(their_seconds)} s, "
        f"isotopic there {reached} and at {ends[1]:.6g} in the end; {theirs[0].free}"
    )
    spread = tuple(np.quantile(ratios, (0.25, 0.75)))
    return Row(what, float(np.median(ratios)), "x", spread, Target(1.0), detail)
