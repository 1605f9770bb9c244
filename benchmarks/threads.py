"""Two threads against one."""

import time
from collections.abc import Iterator

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, interleaved
from isotopic import CountMatrix
from isotopic.kernels import one_pass
from isotopic.threads import available_cores, use_threads


def measure(settings: Settings) -> Iterator[Row]:
    if available_cores() < 2:
        yield Row("two threads", detail="this machine has one core")
        return
    counts = data.lda_like()
    X = CountMatrix(counts)
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


SECTION = Section(
    "threads",
    "two threads against one",
    measure,
    ("The bare pass over the same counts. Other work on the machine lowers this first.",),
)
