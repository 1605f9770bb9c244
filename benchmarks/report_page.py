"""Measure the report: ``python -m benchmarks.report_page``.

It prints the processor seconds of ``isotopic fit`` from 20,000 documents with dates and groups to a
report, with one thread.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse


def draw_counts(n: int, n_features: int, n_topics: int, length: int) -> sparse.csr_array:
    """Return counts of samples with three topics each."""
    rng = np.random.default_rng(0)
    reach = np.cumsum(rng.dirichlet(np.full(n_features, 0.02), n_topics), axis=1)
    owner = np.repeat(np.arange(n), length)
    topic = rng.integers(n_topics, size=(n, 3))[owner, rng.integers(3, size=len(owner))]
    at, feature = rng.random(len(owner)), np.empty(len(owner), dtype=np.int64)
    for k in range(n_topics):
        feature[topic == k] = np.searchsorted(reach[k], at[topic == k])
    feature = np.minimum(feature, n_features - 1)
    counts = sparse.coo_array((np.ones(len(owner)), (owner, feature)), shape=(n, n_features))
    return counts.tocsr()


def measure_command(folder: Path) -> float:
    """Return the processor seconds of one command, from documents to a report."""
    X = draw_counts(20_000, 10_000, 20, 100)
    lines = []
    for i in range(X.shape[0]):
        words = np.repeat(X[[i]].indices, X[[i]].data.astype(int))
        text = " ".join(f"word{word}" for word in words)
        date = f"{1990 + i % 30}-{1 + i % 12:02d}-01"
        lines.append(json.dumps({"text": text, "date": date, "group": f"group {i % 7}"}))
    (folder / "news.jsonl").write_text("\n".join(lines), encoding="utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "isotopic", "fit", "news.jsonl", "-k", "20", "-o", "out"]
    command += ["--model", "LDA", "--threads", "1"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        seconds = measure_command(Path(name))
    print(f"20,000 documents to a report: {seconds:.1f} s of processor time")


if __name__ == "__main__":
    main()
