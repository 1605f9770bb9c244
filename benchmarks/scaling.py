"""What a pass costs when there is twice as much to do."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, Task, interleaved, one_thread
from isotopic import CountMatrix
from isotopic.kernels import one_pass

# Samples (and with them nonzeros), components and features, each doubled three times.
SAMPLES = (1_250, 2_500, 5_000, 10_000)
COMPONENTS = (20, 40, 80, 160)
FEATURES = (5_000, 10_000, 20_000, 40_000)


def measure(settings: Settings) -> Iterator[Row]:
    with one_thread():
        for components in (20, 100):
            name = f"nonzeros, K={components}"
            yield from _doublings(
                settings, name, SAMPLES, lambda n, k=components: _pass(k, n_samples=n)
            )
        yield from _doublings(settings, "components", COMPONENTS, _pass)
        for components in (20, 100):
            name = f"features, K={components}"
            yield from _doublings(
                settings, name, FEATURES, lambda n, k=components: _pass(k, n_features=n)
            )


def _doublings(
    settings: Settings, name: str, sizes: tuple[int, ...], make: Callable[[int], tuple[Task, int]]
) -> Iterator[Row]:
    """Compare each size with the one before it, by the work that was really doubled."""
    for half, whole in pairwise(sizes):
        (less, entries_less), (more, entries_more) = make(half), make(whole)
        times = interleaved(settings.repetitions(15), warm=True, less=less, more=more)
        ratio = Ratio.of(times["more"], times["less"])
        # Random counts: twice the samples have not exactly twice the nonzeros.
        share = 2 * entries_less / entries_more if name.startswith("nonzeros") else 1.0
        yield Row(
            f"{name}: {half:,} to {whole:,}{' samples' if share != 1.0 else ''}",
            share * ratio.value,
            "x",
            (share * ratio.low, share * ratio.high),
            None if name.startswith("features") else Target(2.2, at_least=False),
            f"{times['less'].ms} and {times['more'].ms}, {entries_more:,} nonzeros",
        )


def _pass(components: int, n_samples: int = 5_000, n_features: int = 10_000) -> tuple[Task, int]:
    counts = data.lda_like("float64", n_samples, n_features)
    X, (weights, topics) = CountMatrix(counts), data.start_for(counts, components)
    topics = np.asfortranarray(topics)
    return (lambda: one_pass(X, weights, topics)), counts.nnz


SECTION = Section(
    "scaling",
    "the bare pass when nonzeros, components or features are doubled, one thread",
    measure,
    (
        "nonzeros   more samples of the same kind; the ratio is for exactly twice the nonzeros.",
        "components of the same 5,000 x 10,000 counts.",
        "features   as many tokens spread over more features (so nonzeros grow a little too).",
    ),
)
