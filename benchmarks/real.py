"""Milliseconds of a pass on real data."""

from collections.abc import Iterator

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings
from benchmarks.timing import interleaved, one_thread
from isotopic import CountMatrix
from isotopic.kernels import one_pass

QUICK = ("ap", "20news_pruned", "pbmc_facs")


def measure(settings: Settings) -> Iterator[Row]:
    found = False
    for name, counts in data.real_datasets(QUICK if settings.quick else ()):
        found = True
        yield from _passes(settings, name, counts.astype(np.float64))
    if not found:
        yield Row("real datasets", detail="none found; ISOTOPIC_DATA names the folder of them")


def _passes(settings: Settings, name: str, counts) -> Iterator[Row]:
    X = CountMatrix(counts)
    n_samples, n_features = X.shape
    with one_thread():
        for components in (20, 100):
            weights, topics = data.start_for(counts, components)
            topics = np.asfortranarray(topics)
            repetitions = settings.repetitions(3 if counts.nnz > 5e6 else 10)
            own = interleaved(repetitions, own=lambda w=weights, t=topics: one_pass(X, w, t))["own"]
            low, high = 1e3 * np.quantile(own.each, (0.25, 0.75))
            yield Row(
                f"{name}, K={components}",
                1e3 * own.best,
                " ms",
                (low, high),
                detail=f"{n_samples:,} x {n_features:,}, {counts.nnz:,} nonzeros, "
                f"{1e9 * own.best / counts.nnz:.3g} ns each",
            )


SECTION = Section("real", "one pass over real counts, float64, one thread", measure)
