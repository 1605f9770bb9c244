"""Folders of row blocks to measure on, and fits in processes of their own."""

import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.memory import STATUS
from benchmarks.processes import MEASUREMENT_LIMIT, REPOSITORY
from isotopic import LDA, open_blocks

FEATURES = 50_000
_DRAWS_A_ROW = 1_300  # about a thousand of them are of different features


def value_of(module: str, call: str) -> Any:
    """Evaluate a call of a function of ``benchmarks.<module>`` in a new interpreter."""
    code = f"import json; from benchmarks.{module} import *; print(json.dumps({call}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=MEASUREMENT_LIMIT,
    )
    return json.loads(done.stdout)


def write_shards(X: sparse.csr_array, folder: Path, n_shards: int) -> None:
    """Cut a matrix into files."""
    edges = np.linspace(0, X.shape[0], n_shards + 1).astype(int)
    for i, (begin, end) in enumerate(pairwise(edges)):
        sparse.save_npz(folder / f"{i:04}.npz", X[begin:end], compressed=False)


def write_generated(folder: Path, n_entries: int, n_shards: int) -> int:
    """Write Zipf-like counts, about a thousand a sample; give the number of nonzeros."""
    shares = np.cumsum(1 / np.arange(10, FEATURES + 10))
    made = 0
    for i in range(n_shards):
        rng = np.random.default_rng(i)
        n_rows = n_entries // n_shards // 1_000
        drawn = np.searchsorted(shares, shares[-1] * rng.random(n_rows * _DRAWS_A_ROW))
        starts = np.arange(n_rows + 1) * _DRAWS_A_ROW
        ones = np.ones(len(drawn), np.int32)
        X = sparse.csr_array((ones, drawn.astype(np.int32), starts), shape=(n_rows, FEATURES))
        X.sum_duplicates()
        sparse.save_npz(folder / f"{i:04}.npz", X, compressed=False)
        made += X.nnz
    return made


def fit_in_memory(folder: str, n_shards: int, components: int, iterations: int) -> dict[str, float]:
    """Fit some of the shards as one matrix."""
    paths = sorted(Path(folder).glob("*.npz"))[:n_shards]
    X = sparse.vstack([sparse.csr_array(sparse.load_npz(path)) for path in paths], format="csr")
    return _timed(paper_lda(components, iterations), X)


def fit_blocks(
    folder: str, components: int, iterations: int, limit: str | None, threads: int | None = None
) -> dict[str, float]:
    """Fit a folder of shards within a limit on memory."""
    model = paper_lda(components, iterations)
    return _timed(model.set_params(n_jobs=threads), open_blocks(folder, memory_limit=limit))


def paper_lda(components: int, iterations: int) -> LDA:
    """Give the paper's LDA: joint updates from a random start."""
    model = LDA(components, alpha=0.1, eta=0.1, estimate="variational", init="random")
    return model.set_params(solver="joint", max_iter=iterations, tol=0, random_state=0)


def _timed(model: LDA, X: Any) -> dict[str, float]:
    """Give seconds of an iteration, of all, and the peak of resident memory in megabytes."""
    began = time.perf_counter()
    model.fit(X)
    seconds = model.history_["seconds"]
    return {
        "iteration": float((seconds[-1] - seconds[0]) / (len(seconds) - 1)),
        "all": time.perf_counter() - began,
        "tokens": float(model.sample_totals_.sum()),
        "peak": _peak() / 1e6,
    }


def _peak() -> int:
    lines = (line.split() for line in STATUS.read_text().splitlines())
    return next(1024 * int(line[1]) for line in lines if line[0] == "VmHWM:")
