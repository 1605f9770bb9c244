"""How soon LDA predicts well with hundreds of topics, next to Gibbs samplers."""

import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from benchmarks import data
from benchmarks.estimates import (
    Split,
    judged,
    load_topica,
    perplexity,
    split_samples,
    tomotopy_in_steps,
)
from benchmarks.solution.tokens import words
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA

QUICK = (("20news_pruned", 300), ("20news_pruned", 1000))
FULL = (*QUICK, ("acl_abstracts", 300), ("acl_abstracts", 1000))

# Sweeps of the peers after which their topics are judged.
QUICK_SWEEPS = (10, 60, 200)
FULL_SWEEPS = (10, 20, 50, 100, 200, 400)

# The part of the peers' time in which a fit of so many topics should end.
HALF_TIME_FROM = 1000


class Point(NamedTuple):
    """What a fit reaches, and when."""

    what: str
    seconds: float
    perplexity: float


def measure(settings: Settings) -> Iterator[Row]:
    for name, components in QUICK if settings.quick else FULL:
        counts = data.dataset(name)
        if counts is None:
            yield Row(name, detail="not found; ISOTOPIC_DATA names the folder of the data")
            continue
        split, where = split_samples(counts), f"{name}, K={components}"
        own = []
        for point in _own(split, components):
            own.append(point)
            yield _row(where, point)
        others = []
        for peer in (_tomotopy, _topica):
            try:
                for point in peer(split, components, settings):
                    others.append(point)
                    yield _row(where, point)
            except ImportError:
                yield Row(
                    f"{where}, {peer.__name__[1:]}",
                    detail="not installed; pip install 'isotopic[bench]'",
                )
        if others:
            yield from _comparison(where, own, others, components)


def _row(where: str, point: Point) -> Row:
    detail = f"{point.seconds:.1f} s of one core"
    return Row(f"{where}, {point.what}", point.perplexity, detail=detail)


def _own(split: Split, components: int) -> Iterator[Point]:
    """Fit with the start and one iteration only, and by default."""
    for what, settings in (("start", {"max_iter": 1, "tol": 0}), ("default", {})):
        began = time.process_time()
        model = LDA(components, n_jobs=1, random_state=0, **settings).fit(split.train)
        seconds = time.process_time() - began
        yield Point(f"LDA({components}), {what}", seconds, perplexity(model, split))


def _tomotopy(split: Split, components: int, settings: Settings) -> Iterator[Point]:
    sweeps = QUICK_SWEEPS if settings.quick else FULL_SWEEPS
    import tomotopy  # noqa: F401, PLC0415 - a peer, whose import is not timed

    texts = words(split.train)
    began, judging = time.process_time(), 0.0
    steps = tomotopy_in_steps(components, sweeps, texts, split.train.shape[1])
    for done, (topics, alpha) in zip(sweeps, steps, strict=True):
        seconds = time.process_time() - began - judging
        now = time.process_time()
        value = perplexity(judged(topics, alpha, split.seen), split)
        judging += time.process_time() - now
        yield Point(f"tomotopy, {done} sweeps", seconds, value)


def _topica(split: Split, components: int, settings: Settings) -> Iterator[Point]:
    """Fit anew for each number of sweeps: it cannot go on. Only the longest averages samples."""
    sweeps = QUICK_SWEEPS if settings.quick else FULL_SWEEPS
    texts, n_features = words(split.train), split.train.shape[1]
    for n in sweeps:
        last = {"num_samples": 1, "sample_interval": 1} if n < sweeps[-1] else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what its samples of weights take
            fit: Callable = load_topica(components, n, **last)
            began = time.process_time()
            topics, alpha = fit(texts, n_features)
            seconds = time.process_time() - began
        value = perplexity(judged(topics, alpha, split.seen), split)
        yield Point(f"topica, {n} sweeps", seconds, value)


def _comparison(
    where: str, own: list[Point], others: list[Point], components: int
) -> Iterator[Row]:
    """Compare at every time from the end of the first fit on, then the ends.

    Before a fit ends its user sees nothing: what the peers have by then is in the detail.
    """
    first = own[0].seconds
    times = sorted(p.seconds for p in [*own, *others] if p.seconds >= first)
    ratios = [_best(own, at) / _best(others, at) for at in times]
    before = _best(others, first)
    detail = f"from {first:.1f} s on; a peer had {before:.0f} before"
    if not np.isfinite(before):
        detail = f"from {first:.1f} s on; no peer had anything before"
    yield Row(
        f"{where}, over the best peer at any time",
        max(ratios),
        "x",
        target=Target(1.0, at_least=False),
        detail=detail,
    )
    best = min(others, key=lambda point: point.perplexity)
    yield Row(
        f"{where}, time over that of the best peer",
        own[-1].seconds / best.seconds,
        "x",
        target=Target(0.5 if components >= HALF_TIME_FROM else 1.0, at_least=False),
        detail=f"{best.what}: {best.perplexity:.0f}; ours {own[-1].perplexity:.0f}",
    )


def _best(points: list[Point], at: float) -> float:
    """Return the lowest perplexity that was reached by a time."""
    return min((p.perplexity for p in points if p.seconds <= at), default=np.inf)


SECTION = Section(
    "many",
    "Perplexity of LDA with many topics, and when it is reached",
    measure,
    (
        "A tenth of the samples is held out, half of their counts are hidden: their perplexity,",
        "given the other half. Lower is better; processor time of one thread. tomotopy goes on",
        "from point to point; topica is fitted anew for each (alpha_sum = 0.1 K, burn_in = 20,",
        "optimize_interval = 10), and its last point averages five samples. A fit shows nothing",
        "before it ends, so times are compared from the end of our shortest fit on.",
    ),
)
