"""NMF's default solver against fastTopics, from the same start: how soon, and where each ends.

fastTopics is an R package. ``ISOTOPIC_R_LIBRARY`` names the library folder that it is installed in
and ``Rscript`` must be on the path.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import gammaln

from benchmarks import data
from benchmarks.processes import MEASUREMENT_LIMIT
from benchmarks.table import Row, Section, Settings, Target
from isotopic import NMF

LIBRARY = "ISOTOPIC_R_LIBRARY"
SCRIPT = Path(__file__).parent / "fasttopics_peer.R"

DATA = ("ap", "pbmc_facs", "20news_pruned")
COMPONENTS = (20, 100)

# The peer's processor seconds: its level is taken there. It has nearly converged with 20
# components of the smallest data, and is still rising elsewhere.
SECONDS = 30.0

# Both start from a few plain updates of random factors. Its updates need positive factors.
PLAIN_UPDATES = 4
SMALLEST = 1e-10


def measure(settings: Settings) -> Iterator[Row]:
    why_not = missing_peer()
    if why_not:
        yield Row("fastTopics", detail=why_not)
        return
    for name in DATA:
        counts = data.dataset(name)
        if counts is None:
            yield Row(name, detail="not found; ISOTOPIC_DATA names the folder of the data")
            continue
        X = counts.astype(np.float64)
        for components in COMPONENTS:
            for seed in range(1, settings.repetitions(3) + 1):
                yield from _compare(f"{name}, K={components}, start {seed}", X, components, seed)


def missing_peer() -> str:
    """Return why fastTopics cannot be run; an empty text if it can."""
    if shutil.which("Rscript") is None:
        return "Rscript is not on the path"
    if LIBRARY not in os.environ:
        return f"{LIBRARY} must name the R library that fastTopics is installed in"
    asked = ["Rscript", "-e", "library(fastTopics)"]
    done = subprocess.run(asked, env=_environment(), capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"R has no fastTopics in {os.environ[LIBRARY]}"


def _compare(what: str, X, components: int, seed: int) -> Iterator[Row]:
    start = common_start(X, components, seed)
    their_seconds, theirs = run_peer(X, *start)
    seconds, ours, model = run_own(X, *start)
    level = theirs[-1]
    reached = np.flatnonzero(ours >= level)
    limit = their_seconds[-1]
    if len(reached):
        ratio = limit / seconds[reached[0]]
        detail = f"{seconds[reached[0]]:.2f} against {limit:.1f} s"
        yield Row(f"{what}: times sooner", ratio, "x", target=Target(20.0), detail=detail)
    else:
        yield Row(f"{what}: times sooner", 0.0, "x", target=Target(20.0), detail="never there")
    end = "converged" if model.converged_ else "not converged"
    detail = f"{ours[-1]:.0f} after {seconds[-1]:.1f} s ({end}), fastTopics {level:.0f}"
    yield Row(f"{what}: gain at the end", ours[-1] - level, target=Target(0.0), detail=detail)


def common_start(X, components: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Make positive weights and topics that both begin with."""
    given = data.start_for(X, components, seed)
    model = NMF(components, init=given, solver="joint", max_iter=PLAIN_UPDATES, tol=0, n_jobs=1)
    model.fit(X)
    return np.maximum(model.weights_, SMALLEST), np.maximum(model.components_, SMALLEST)


def run_own(X, weights, topics) -> tuple[np.ndarray, np.ndarray, NMF]:
    """Fit with the default solver; give seconds, log-likelihoods of its iterations, the model."""
    clock: list[float] = []
    objectives: list[float] = []

    def note(iteration) -> None:
        clock.append(time.process_time())
        objectives.append(iteration.objective)

    model = NMF(weights.shape[1], init=(weights, topics), n_jobs=1, max_iter=1000, callbacks=note)
    began = time.process_time()
    model.fit(X)
    # Objectives and log-likelihoods differ by a constant.
    end = log_likelihood(X, model.weights_, model.components_)
    values = end - (np.array(objectives) - model.objective_)
    return np.array(clock) - began, values, model


def run_peer(X, weights, topics) -> tuple[np.ndarray, np.ndarray]:
    """Run fastTopics; give processor seconds of its updates and log-likelihoods."""
    columns = X.tocsc()
    columns.sort_indices()
    arrays = {
        "size": np.array([*X.shape, weights.shape[1], X.nnz], np.int32),
        "starts": columns.indptr.astype(np.int32),
        "rows": columns.indices.astype(np.int32),
        "values": columns.data,
        "weights": weights.ravel(order="F"),
        "topics": topics.ravel(),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, array in arrays.items():
            array.tofile(Path(folder) / name)
        done = subprocess.run(
            ["Rscript", str(SCRIPT), folder, str(SECONDS)],
            env=_environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=MEASUREMENT_LIMIT,
        )
    seconds, values = np.array([line.split() for line in done.stdout.splitlines()], float).T
    return seconds, values + gammaln(X.data + 1).sum()


def log_likelihood(X, weights, topics) -> float:
    """Give the Poisson log-likelihood without its constant."""
    products = np.empty(X.nnz)
    for d, row in enumerate(weights):
        entries = slice(X.indptr[d], X.indptr[d + 1])
        products[entries] = row @ topics[:, X.indices[entries]]
    return float(X.data @ np.log(products) - weights.sum(axis=0) @ topics.sum(axis=1))


def _environment() -> dict[str, str]:
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return os.environ | threads | {"R_LIBS": os.environ.get(LIBRARY, "")}


SECTION = Section(
    "fasttopics",
    "NMF's default solver against fastTopics (scd, extrapolated) from the same start, one thread",
    measure,
    (
        f"times sooner     seconds of fastTopics' updates, {SECONDS:.0f} or a little more,",
        "                 over ours until our log-likelihood is at its level there. 0: never.",
        "gain at the end  our log-likelihood where the fit stops (default tol) minus that level.",
        f"Processor seconds. Needs Rscript and {LIBRARY}, with the R library of fastTopics.",
    ),
)
