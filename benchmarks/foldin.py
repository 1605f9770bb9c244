"""How much of the time of a transform is spent in passes of the kernel."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target, number
from benchmarks.timing import one_thread
from isotopic import LDA, NMF, PLSA
from isotopic.solvers import descent_fold_in, fold_in

N_FEATURES = 5_000
FITTED = 2_000
SHARE = 0.8


def measure(settings: Settings) -> Iterator[Row]:
    n_samples = 10_000 if settings.quick else 100_000
    X = data.lda_like("float64", n_samples, N_FEATURES)
    with one_thread():
        for estimator in (NMF, PLSA, LDA):
            for components in (20, 50):
                model = estimator(components, max_iter=50, tol=1e-3, n_jobs=1, random_state=0)
                yield _row(model.fit(X[:FITTED]), X, settings.repetitions(3))


def _row(model, X, repetitions: int) -> Row:
    seconds, inside = min(_timed(model, X) for _ in range(repetitions))
    return Row(
        f"{type(model).__name__}, K={model.n_components}",
        inside / seconds,
        target=Target(SHARE),
        detail=f"{number(seconds)} s, {X.shape[0] / seconds:,.0f} samples a second",
    )


def _timed(model, X) -> tuple[float, float]:
    """Give the processor's seconds of a transform, and those within the passes of it."""
    with _watched_passes() as inside:
        began = time.process_time()
        model.transform(X)
        return time.process_time() - began, sum(inside)


@contextmanager
def _watched_passes() -> Iterator[list[float]]:
    """Note the seconds of each pass, and of each descent, that the inference makes."""
    inside: list[float] = []

    def watched(function):
        def timed(*args, **options):
            began = time.process_time()
            found = function(*args, **options)
            inside.append(time.process_time() - began)
            return found

        return timed

    places = (
        (fold_in, "rows_pass"),
        (descent_fold_in, "rows_pass"),
        (descent_fold_in, "descended"),
    )
    originals = [getattr(module, name) for module, name in places]
    for (module, name), function in zip(places, originals, strict=True):
        setattr(module, name, watched(function))
    try:
        yield inside
    finally:
        for (module, name), function in zip(places, originals, strict=True):
            setattr(module, name, function)


SECTION = Section(
    "foldin",
    "the share of transform's time that is spent in passes and descents of the kernel, one thread",
    measure,
    (
        f"Generated samples of {N_FEATURES:,} features: 100,000, or 10,000 with --quick. "
        "Seconds of the processor; the best repetition.",
    ),
)
