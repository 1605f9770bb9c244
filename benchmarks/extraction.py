"""Fits of real tumours by the consensus and by SigProfilerExtractor: the time of each."""

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.processes import python_for, run_alone
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.tumours import REAL_RUNS, REAL_TOL
from isotopic import NMF, consensus

# SigProfilerExtractor makes one replicate for each of these numbers. Its time grows about linearly
# with the number, so that of 13 is the mean of 1 to 25.
NUMBERS, PEER = (13,), "benchmarks.extract_peer"
ALL_FITS, LIMIT = 2500, 400


def measure(settings: Settings) -> Iterator[Row]:
    """Measure the processor seconds of one fit, by us and by the peer."""
    X = data.dataset("pcawg_sbs96")
    if X is None:
        yield Row("extraction", detail="needs pcawg_sbs96")
        return
    n_runs = settings.repetitions(REAL_RUNS)
    ours, theirs = [], []
    for number in NUMBERS:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the edge of the range
            consensus(NMF(tol=REAL_TOL), X, number, n_runs=n_runs, random_state=0, n_jobs=1)
        ours.append((time.process_time() - began) / n_runs)
        detail = f"{n_runs} runs, with held-out scores and consensus"
        yield Row(f"consensus, {number} components, by run", ours[-1], " s", detail=detail)
        peer = by_sigprofiler(X, number)
        if isinstance(peer, str):
            yield Row("SigProfilerExtractor", detail=peer)
            return
        theirs.append(peer)
        yield Row(f"SigProfilerExtractor, {number} components, 1 replicate", peer, " s")
    hours = ALL_FITS * float(np.mean(theirs)) / 3600
    detail = "scaled from one replicate; the factorizations alone"
    yield Row(f"SigProfilerExtractor, {ALL_FITS:,} replicates", hours, " h", detail=detail)
    ratio = float(np.sum(theirs) / np.sum(ours))
    yield Row("SigProfilerExtractor, times slower by fit", ratio, target=Target(100))


def by_sigprofiler(X, number: int) -> float | str:
    """Run one replicate of SigProfilerExtractor; give its processor seconds, or what failed."""
    with tempfile.TemporaryDirectory() as folder:
        types = (data.REAL_DATA / "pcawg_sbs96" / "vocab.txt").read_text().split()
        given = {"X": X.toarray(), "types": types, "n_components": number, "n_runs": 1}
        np.savez(Path(folder) / "given.npz", **given)
        python = python_for("sigprofiler")
        problem = run_alone(python, PEER, Path(folder), threads=1, timeout=LIMIT)
        return problem or float(np.load(Path(folder) / "found.npz")["seconds"])


SECTION = Section(
    "extraction",
    "Fits of 2,780 tumours, next to SigProfilerExtractor",
    measure,
    (
        "Processor time, one thread.",
        "SigProfilerExtractor: its defaults, one process; in the environment peers/sigprofiler.",
    ),
)
