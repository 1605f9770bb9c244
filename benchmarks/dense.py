"""Dense counts: against scikit-learn, and against the matrix products that they need anyway."""

from collections.abc import Iterator

import numpy as np

from benchmarks import data
from benchmarks.fits import iterations_of, own_nmf, sklearn_nmf
from benchmarks.table import Row, Section, Settings, Target
from benchmarks.timing import Ratio, Task, interleaved, one_thread
from isotopic import CountMatrix
from isotopic.kernels import one_pass


def measure(settings: Settings) -> Iterator[Row]:
    X = data.dense_counts()
    with one_thread():
        for components in (20, 100):
            weights, topics = data.start_for(X, components)
            yield _against_sklearn(settings, X, weights, topics)
            yield _against_products(settings, X, weights, topics)


def _against_sklearn(settings: Settings, X, weights, topics) -> Row:
    times = iterations_of(
        settings.repetitions(7),
        own=(own_nmf(X, weights, topics), 8),
        theirs=(sklearn_nmf(X, weights, topics), 4),
    )
    ratio = Ratio.of(times["theirs"], times["own"])
    return Row(
        f"NMF iteration, K={len(topics)}, float64",
        ratio.value,
        "x",
        (ratio.low, ratio.high),
        Target(1.0),
        f"{times['own'].ms} against scikit-learn's {times['theirs'].ms}",
    )


def _against_products(settings: Settings, X, weights, topics) -> Row:
    counts, by_feature = CountMatrix(X), np.asfortranarray(topics)
    times = interleaved(
        settings.repetitions(15),
        own=lambda: one_pass(counts, weights, by_feature),
        products=_products(X, weights, topics),
    )
    ratio = Ratio.of(times["own"], times["products"])
    return Row(
        f"pass, K={len(topics)}, float64",
        ratio.value,
        "x",
        (ratio.low, ratio.high),
        Target(1.5, at_least=False),
        f"{times['own'].ms} against the products' {times['products'].ms}",
    )


def _products(X, weights, topics) -> Task:
    """Prepare the three bare products of a dense pass, into arrays that are there already."""
    product, ratios = np.empty_like(X), np.ones_like(X)
    weight_sums, topic_sums = np.empty_like(weights), np.empty_like(topics)

    def run() -> None:
        np.matmul(weights, topics, out=product)
        np.matmul(ratios, topics.T, out=weight_sums)
        np.matmul(weights.T, ratios, out=topic_sums)

    return run


SECTION = Section(
    "dense",
    "dense 2,000 x 2,000 counts, one thread",
    measure,
    (
        "iteration  of NMF against scikit-learn's, as in the sparse comparison.",
        "pass       against the three matrix products in it alone (no division, no logarithm).",
    ),
)
