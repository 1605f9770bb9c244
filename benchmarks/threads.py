"""Two threads against one."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, Samples, interleaved
from isotopic import LDA, NMF, CountMatrix
from isotopic.kernels import one_pass
from isotopic.threads import available_cores, use_threads

_ITERATIONS = 20


def measure(settings: Settings) -> Iterator[Row]:
    if available_cores() < 2:
        yield Row("two threads", detail="this machine has one core")
        return
    counts = data.lda_like()
    X = CountMatrix(counts)
    for model in (NMF, LDA):
        yield _whole_fits(model, counts, settings.repetitions(5))
        yield _iterations(model, counts, settings.repetitions(5))
    for components in (20, 100):
        weights, topics = data.start_for(counts, components)
        topics = np.asfortranarray(topics)

        def with_threads(n: int, weights=weights, topics=topics) -> None:
            with use_threads(n):
                one_pass(X, weights, topics)

        times = interleaved(
            settings.repetitions(30),
            clock=time.perf_counter,
            one=lambda: with_threads(1),
            two=lambda: with_threads(2),
        )
        ratio = Ratio.of(times["one"], times["two"])
        yield Row(
            f"pass, K={components}, float64",
            ratio.value,
            "x",
            (ratio.low, ratio.high),
            Target(1.8),
            f"{times['one'].ms} and {times['two'].ms}",
        )


def _whole_fits(model: Any, counts: Any, repetitions: int) -> Row:
    """Compare default fits, with their starts and what follows the last iteration."""
    return _compared(f"fit of {model.__name__}", _fit_seconds, model, counts, repetitions)


def _iterations(model: Any, counts: Any, repetitions: int) -> Row:
    """Compare the iterations of a default fit, whose start is not counted."""
    return _compared(
        f"iteration of {model.__name__}", _iteration_seconds, model, counts, repetitions
    )


def _compared(
    what: str, measured: Callable[..., float], model: Any, counts: Any, repetitions: int
) -> Row:
    seconds = np.array([[measured(model, counts, n) for n in (1, 2)] for _ in range(repetitions)])
    one, two = (Samples(float(each.min()), each) for each in seconds.T)
    ratio = Ratio.of(one, two)
    spread, detail = (ratio.low, ratio.high), f"{one.ms} and {two.ms}"
    return Row(f"{what}, K=100, float64", ratio.value, "x", spread, Target(1.8), detail)


def _fit_seconds(model: Any, counts: Any, threads: int) -> float:
    began = time.perf_counter()
    model(100, n_jobs=threads, random_state=0).fit(counts)
    return time.perf_counter() - began


def _iteration_seconds(model: Any, counts: Any, threads: int) -> float:
    ends: list[float] = []
    fit = model(
        100,
        init="random",
        n_jobs=threads,
        max_iter=_ITERATIONS + 1,
        tol=0,
        random_state=0,
        callbacks=lambda _: ends.append(time.perf_counter()),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is not to converge
        fit.fit(counts)
    return (ends[-1] - ends[0]) / _ITERATIONS


SECTION = Section(
    "threads",
    "two threads against one",
    measure,
    (
        "Whole default fits, their iterations, and the bare pass, over the same counts. Other work",
        "on the machine lowers this first.",
    ),
)
