"""Whether a pass stays fast as the fit settles and most entries become very small."""

from collections.abc import Iterator

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings
from benchmarks.timing import Ratio, Task, interleaved, one_thread
from isotopic import LDA, NMF, CountMatrix
from isotopic.kernels import one_pass

ITERATIONS = 60


def measure(settings: Settings) -> Iterator[Row]:
    with one_thread():
        for dtype in ("float64", "float32"):
            for components in (20, 100):
                for estimator in (NMF, LDA):
                    yield _row(settings, estimator, components, dtype)


def _row(settings: Settings, estimator: type, components: int, dtype: str) -> Row:
    counts = data.lda_like(dtype)
    X = CountMatrix(counts)
    times = interleaved(
        settings.repetitions(9),
        late=_pass_after(ITERATIONS, estimator, X, counts, components),
        early=_pass_after(1, estimator, X, counts, components),
    )
    ratio = Ratio.of(times["late"], times["early"])
    return Row(
        f"{estimator.__name__}, K={components}, {dtype}",
        ratio.value,
        "x",
        (ratio.low, ratio.high),
        detail=f"{times['late'].ms} against {times['early'].ms}",
    )


def _pass_after(n: int, estimator: type, X: CountMatrix, counts, components: int) -> Task:
    """Prepare the pass at the point that a fit has reached after n iterations."""
    point = []
    estimator(
        components,
        solver="joint",
        max_iter=n,
        tol=0,
        n_jobs=1,
        random_state=0,
        callbacks=lambda at: point.append(at) if at.iteration == n else None,
    ).fit(counts)
    weights = np.ascontiguousarray(point[0].weights.effective)
    topics = np.asfortranarray(point[0].topics.effective)
    return lambda: one_pass(X, weights, topics)


SECTION = Section(
    "late",
    f"the bare pass after {ITERATIONS} iterations against the one after the first, one thread",
    measure,
    ("The work is the same; subnormal numbers, where they are computed with, make it slower.",),
)
