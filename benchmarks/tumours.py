"""Consensus of thousands of fits of real tumours."""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from isotopic import NMF, consensus, read_counts

# Numbers that are tried, fits for each, and where a fit stops.
REAL_NUMBERS, REAL_RUNS, REAL_TOL = range(1, 26), 100, 1e-4

# A tumour with more counts as if it had so many: a hundred for each type, as SigProfiler does.
MOST_MUTATIONS = 9600

# The reference signatures that one fit of NMF with 25 components finds.
ALONE = 18


def known_signatures():
    """Read the reference signatures, with a norm of one."""
    file = data.REAL_DATA / "pcawg_sbs96" / "reference_signatures.csv"
    reference = read_counts(file).counts.toarray()
    return reference / np.linalg.norm(reference, axis=1, keepdims=True)


def in_stretches(X, n_runs: int):
    """Return the consensus and its processor seconds; what ended early goes on from there."""
    kept = Path("build") / f"tumours-{n_runs}.checkpoint"
    spent = kept.with_suffix(".seconds")
    kept.parent.mkdir(exist_ok=True)
    before = float(spent.read_text()) if kept.exists() and spent.exists() else 0.0
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the edge of the range
            found = consensus(
                NMF(tol=REAL_TOL),
                X,
                REAL_NUMBERS,
                n_runs=n_runs,
                max_total=MOST_MUTATIONS,
                random_state=0,
                checkpoint=kept,
            )
    finally:
        seconds = before + time.process_time() - began
        spent.write_text(str(seconds))
    kept.unlink()
    spent.unlink()
    return found, seconds


def measure(settings: Settings) -> Iterator[Row]:
    """Measure all fits, and how many known signatures the consensus finds."""
    if not (data.REAL_DATA / "pcawg_sbs96" / "reference_signatures.csv").exists():
        yield Row("tumours", detail="needs pcawg_sbs96 with reference_signatures.csv")
        return
    n_runs = settings.repetitions(REAL_RUNS)
    X, reference = data.dataset("pcawg_sbs96"), known_signatures()
    found, ours = in_stretches(X, n_runs)
    n_fits = n_runs * len(REAL_NUMBERS)
    detail = f"{n_fits} fits, tol={REAL_TOL:g}, with held-out scores"
    yield Row(f"2,780 tumours, 1 to 25 components, {n_runs} runs", ours, " s", detail=detail)
    yield Row("chosen number", found.n_components, detail=found.reason)
    for number in (found.n_components, REAL_NUMBERS[-1]):
        topics = found.clusters[number].topics
        topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)
        similar = int(((topics @ reference.T).max(axis=0) > 0.9).sum())
        stability = found.clusters[number].stability.mean()
        detail = f"reference signatures with a cosine above 0.9; mean stability {stability:.2f}"
        target = Target(ALONE + 1) if number == REAL_NUMBERS[-1] else None
        yield Row(f"{number} components: signatures found", similar, target=target, detail=detail)


SECTION = Section(
    "tumours",
    "Consensus of 2,780 tumours, 1 to 25 components",
    measure,
    (
        "Processor time of all threads, in one run or in several that go on from a checkpoint.",
        f"Tumours with more than {MOST_MUTATIONS:,} mutations count as if they had so many.",
    ),
)
