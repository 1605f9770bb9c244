"""How well the signatures of simulated tumours are found again, and how fast."""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from benchmarks import data
from benchmarks.processes import python_for, run_alone
from benchmarks.table import Row, Section, Settings, Target
from isotopic import read_counts, refit

SAMPLES, PEER_SAMPLES = 1000, 60

# A peer in an environment of its own, which need not hold this package.
PEER = "benchmarks.refit_peer"


def signatures():
    """Read the reference signatures (signatures x mutation types); ``None`` without the data."""
    file = data.REAL_DATA / "pcawg_sbs96" / "reference_signatures.csv"
    return read_counts(file) if file.exists() else None


def simulated(topics, n_samples: int, seed: int = 0):
    """Draw tumours with 3 to 6 signatures and totals of real ones; give exposures and counts."""
    rng = np.random.default_rng(seed)
    totals = np.asarray(data.dataset("pcawg_sbs96").sum(axis=1)).ravel()
    exposures = np.zeros((n_samples, len(topics)))
    for row in exposures:
        chosen = rng.choice(len(topics), rng.integers(3, 7), replace=False)
        row[chosen] = rng.dirichlet(np.ones(len(chosen))) * rng.choice(totals)
    return exposures, rng.poisson(exposures @ topics)


def by_nnls(X, topics):
    """Fit all signatures by least squares; shares below 1 % count as absent."""
    weights = np.array([nnls(topics.T, x.astype(float))[0] for x in X])
    return np.where(weights < 0.01 * weights.sum(axis=1, keepdims=True), 0, weights)


def by_backward_selection(X, topics, loss: float = 0.01):
    """Remove signatures as long as the relative error grows by at most ``loss`` (least squares)."""
    found = np.zeros((len(X), len(topics)))
    for row, x in zip(found, X.astype(float), strict=True):
        size = np.linalg.norm(x)
        chosen = list(np.flatnonzero(nnls(topics.T, x)[0]))
        error = nnls(topics[chosen].T, x)[1] / size
        while len(chosen) > 1:
            errors = [nnls(topics[[k for k in chosen if k != out]].T, x)[1] for out in chosen]
            best = int(np.argmin(errors))
            if errors[best] / size - error > loss:
                break
            error = errors[best] / size
            chosen.pop(best)
        row[chosen] = nnls(topics[chosen].T, x)[0]
    return found


def by_sigprofiler(X, topics, types):
    """Run SigProfilerAssignment; give exposures and processor seconds, or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "given.npz", X=X, topics=topics, types=types)
        python = python_for("sigprofiler")
        problem = run_alone(python, PEER, Path(folder), threads=1, timeout=3600)
        if problem is not None:
            return problem
        found = np.load(Path(folder) / "found.npz")
        return found["weights"], float(found["seconds"])


def accuracy(found, truth) -> tuple[float, float, float]:
    """Give precision, recall and their harmonic mean."""
    both = np.count_nonzero((found > 0) & (truth > 0))
    precision, recall = both / max(1, (found > 0).sum()), both / (truth > 0).sum()
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-12)


def timed(fit: Callable, *given):
    """Give what a function returns, and its processor seconds."""
    began = time.process_time()
    return fit(*given), time.process_time() - began


def measure(settings: Settings) -> Iterator[Row]:
    known = signatures()
    if known is None:
        yield Row("refit", detail="needs pcawg_sbs96 with reference_signatures.csv")
        return
    topics = known.counts.toarray()
    topics /= topics.sum(axis=1, keepdims=True)
    n_samples = settings.repetitions(SAMPLES)
    truth, X = simulated(topics, n_samples)
    n_peer = min(settings.repetitions(PEER_SAMPLES), n_samples)

    def rows(name: str, found, seconds: float, n: int) -> Iterator[Row]:
        precision, recall, mean = accuracy(found, truth[:n])
        detail = f"precision {precision:.3f}, recall {recall:.3f}, of {n} tumours"
        yield Row(f"{name}: F1", mean, detail=detail)
        yield Row(f"{name}: time by tumour", 1000 * seconds / n, " ms")

    found, ours = timed(lambda: refit(X, topics, n_jobs=1).weights)
    yield from rows("refit", found, ours, n_samples)
    yield from rows("refit, the peer's tumours", found[:n_peer], ours * n_peer / n_samples, n_peer)
    for name, fit in (("NNLS, 1 %", by_nnls), ("backward selection", by_backward_selection)):
        yield from rows(name, *timed(fit, X[:n_peer], topics), n_peer)
    peer = by_sigprofiler(X[:n_peer], topics, known.feature_names.astype(str))
    if isinstance(peer, str):
        yield Row("SigProfilerAssignment", detail=peer)
    else:
        yield from rows("SigProfilerAssignment", *peer, n_peer)
        ratio = peer[1] / n_peer / (ours / n_samples)
        yield Row("SigProfilerAssignment, times slower", ratio, target=Target(100))
    real, seconds = timed(lambda: refit(data.dataset("pcawg_sbs96"), topics, n_jobs=1))
    present = np.count_nonzero(real.weights, axis=1).mean()
    yield Row("2,780 real tumours", seconds, " s", detail=f"{present:.1f} signatures a tumour")


SECTION = Section(
    "refit",
    "Refit to known signatures: simulated tumours with 3 to 6 of 67",
    measure,
    (
        "F1: the harmonic mean of precision and recall of the signatures that are present.",
        "Processor time, one thread.",
        "SigProfilerAssignment: its defaults, the same reference, one process; "
        "in the environment peers/sigprofiler.",
    ),
)
