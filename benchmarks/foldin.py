"""How long transform takes: for one sample, and for many."""

import time
from collections.abc import Iterator

import numpy as np
from sklearn.decomposition import NMF as SKLEARN_NMF
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target, number
from benchmarks.timing import one_thread
from isotopic import LDA, NMF, GammaPoisson

N_FEATURES = 5_000
FITTED = 2_000
BATCH = 50
LATENCIES = {20: 1.0, 100: 3.0}  # milliseconds for one sample, by components
PEERS = {
    LDA: lambda k: LatentDirichletAllocation(k, max_iter=2, n_jobs=1),
    NMF: lambda k: SKLEARN_NMF(k, init="random", solver="mu", beta_loss=1, max_iter=5, tol=0),
}


def measure(settings: Settings) -> Iterator[Row]:
    n_samples = 10_000 if settings.quick else 100_000
    X = data.lda_like("float64", n_samples, N_FEATURES)
    with one_thread():
        for estimator in (NMF, LDA, GammaPoisson):
            for components in LATENCIES:
                model = estimator(components, max_iter=50, tol=1e-3, n_jobs=1, random_state=0)
                model.fit(X[:FITTED])
                yield _one_by_one(model, X[:300])
                yield _all_at_once(model, X, settings.repetitions(3))
        yield _small_batches(X)
        for estimator, peer in PEERS.items():
            yield _against_peer(estimator(20, n_jobs=1, max_iter=50, tol=1e-3), peer(20), X)


def _one_by_one(model, X) -> Row:
    rows = [X[d : d + 1] for d in range(X.shape[0])]
    milliseconds = [1e3 * _seconds(model, row) for row in rows]
    low, middle, high, worst = np.quantile(milliseconds, (0.25, 0.5, 0.75, 0.99))
    return Row(
        f"one sample, {_name(model)}",
        middle,
        unit=" ms",
        spread=(low, high),
        target=Target(LATENCIES[model.n_components], at_least=False),
        detail=f"99 of 100 within {number(worst)} ms",
    )


def _all_at_once(model, X, repetitions: int) -> Row:
    seconds = min(_seconds(model, X) for _ in range(repetitions))
    return Row(f"{X.shape[0]:,} samples, {_name(model)}", X.shape[0] / seconds, unit="/s")


def _small_batches(X) -> Row:
    """Time partial_fit of batches that follow a few others."""
    model = LDA(20, n_jobs=1, random_state=0)
    milliseconds = []
    for first in range(0, 90 * BATCH, BATCH):
        rows = X[first : first + BATCH]
        began = time.process_time()
        model.partial_fit(rows)
        milliseconds.append(1e3 * (time.process_time() - began))
    low, middle, high = np.quantile(milliseconds[30:], (0.25, 0.5, 0.75))
    return Row(
        f"partial_fit of {BATCH} samples, {_name(model)}",
        middle,
        unit=" ms",
        spread=(low, high),
        target=Target(3.0, at_least=False),
    )


def _against_peer(model, peer, X) -> Row:
    model.fit(X[:FITTED])
    peer.fit(X[:FITTED])
    ours, theirs = _seconds(model, X[:FITTED]), _seconds(peer, X[:FITTED])
    return Row(
        f"scikit-learn against {_name(model)}",
        theirs / ours,
        detail=f"{FITTED:,} samples: {number(theirs)} s and {number(ours)} s",
    )


def _name(model) -> str:
    return f"{type(model).__name__}, K={model.n_components}"


def _seconds(model, X) -> float:
    began = time.process_time()
    model.transform(X)
    return time.process_time() - began


SECTION = Section(
    "foldin",
    "transform: the latency of one sample, samples a second, and scikit-learn's time over ours",
    measure,
    (
        f"Generated samples of {N_FEATURES:,} features: 100,000, or 10,000 with --quick. "
        "Seconds of the processor, one thread.",
        "scikit-learn stops at its own defaults for transform.",
    ),
)
