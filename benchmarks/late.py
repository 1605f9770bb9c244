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
    X, (weights, topics) = CountMatrix(counts), data.start_for(counts, components)
    topics = np.asfortranarray(topics)
    times = interleaved(
        settings.repetitions(9),
        warm=True,
        late=_late_pass(estimator, X, counts, components),
        early=lambda: one_pass(X, weights, topics),
    )
    ratio = Ratio.of(times["late"], times["early"])
    return Row(
        f"{estimator.__name__}, K={components}, {dtype}",
        ratio.value,
        "x",
        (ratio.low, ratio.high),
        detail=f"{times['late'].ms} against {times['early'].ms}",
    )


def _late_pass(estimator: type, X: CountMatrix, counts, components: int) -> Task:
    """Prepare the pass at the point that a fit has reached."""
    points = []
    estimator(
        components,
        solver="joint",
        max_iter=ITERATIONS,
        tol=0,
        n_jobs=1,
        random_state=0,
        callbacks=lambda at: points.append(at.state) if at.iteration == ITERATIONS else None,
    ).fit(counts)
    weights = np.ascontiguousarray(points[0].weights.effective)
    topics = np.asfortranarray(points[0].topics.effective)
    return lambda: one_pass(X, weights, topics)


SECTION = Section(
    "late",
    f"the bare pass after {ITERATIONS} iterations against one without small entries, one thread",
    measure,
    ("The work is the same; subnormal numbers, where they are computed with, make it slower.",),
)
