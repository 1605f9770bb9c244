"""Learned concentrations on corpora of several kinds: how well new samples are predicted.

Titles, paragraphs and long documents are made of the real datasets by thinning their counts. The
peers are those of the section on estimates.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import data, estimates
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA
from isotopic.evaluate import split_counts
from isotopic.problem import Problem

TEST_SHARE = 0.2

# The dataset, samples that are drawn from it, and counts that are kept of each (None: all).
KINDS: dict[str, tuple[str, int, int | None]] = {
    "titles": ("acl_abstracts", 20_000, 5),
    "short posts": ("20news_pruned", 12_000, 8),
    "paragraphs": ("acl_abstracts", 5_000, 40),
    "few news stories": ("ap", 400, None),
    "posts": ("20news_pruned", 3_500, None),
    "abstracts": ("acl_abstracts", 2_500, None),
    "news": ("ap", 2_246, None),
    "the King James Bible": ("kjv", 1_189, None),
}
QUICK = ("few news stories", "the King James Bible")


def corpus(name: str, n_samples: int, kept: int | None) -> sparse.csr_array | None:
    """Draw samples of a dataset, and thin each to about so many counts."""
    counts = data.dataset(name)
    if counts is None:
        return None
    rng = np.random.default_rng(0)
    which = rng.choice(counts.shape[0], min(n_samples, counts.shape[0]), replace=False)
    some = sparse.csr_array(counts[np.sort(which)])
    if kept is not None:
        totals = np.maximum(some.sum(axis=1), 1)
        chances = np.repeat(np.minimum(1, kept / totals), np.diff(some.indptr))
        some.data = rng.binomial(some.data.astype(np.int64), chances)
        some.eliminate_zeros()
    return some[np.flatnonzero(some.sum(axis=1) >= 2)]


def split(counts: sparse.csr_array) -> estimates.Split:
    """Hold a fifth of the samples out, and hide half of their counts."""
    order = np.random.default_rng(0).permutation(counts.shape[0])
    n_test = round(TEST_SHARE * len(order))
    train = counts[np.sort(order[n_test:])]
    known = np.flatnonzero(train.sum(axis=0))
    seen, hidden = split_counts(counts[np.sort(order[:n_test])][:, known], random_state=0)
    return estimates.Split(train[:, known].astype(np.float64), seen, hidden)


def measure(settings: Settings) -> Iterator[Row]:
    for kind in QUICK if settings.quick else KINDS:
        counts = corpus(*KINDS[kind])
        if counts is None:
            yield Row(kind, detail="not found; ISOTOPIC_DATA names the folder of the data")
            continue
        parts = split(counts)
        yield from _own(kind, parts)
        yield from estimates.peers(parts, kind)


def _own(kind: str, parts: estimates.Split) -> Iterator[Row]:
    """Measure the default, and the share of its time that hyperparameter updates take."""
    with _Timed(Problem, "with_updated_hyperparameters") as updates:
        began = time.process_time()
        model = LDA(estimates.COMPONENTS, n_jobs=1, random_state=0).fit(parts.train)
        seconds = time.process_time() - began
    prior: Any = model.fitted_.weights_prior
    yield _other_start(kind, parts)
    yield Row(
        f"{kind}, LDA({estimates.COMPONENTS})",
        estimates.perplexity(model, parts),
        detail=f"{seconds:.2f} s of one core; alpha sums to {model.alpha_.sum():.2f}, "
        f"{prior.calibration:.2f} times what the fit learned",
    )
    share = 100 * updates.seconds / seconds
    yield Row(f"{kind}, hyperparameter updates", share, "%", target=Target(10, at_least=False))


def _other_start(kind: str, parts: estimates.Split) -> Row:
    """Measure singular vectors alone, from which the default start takes half of its topics."""
    began = time.process_time()
    model = LDA(estimates.COMPONENTS, init="nndsvd", n_jobs=1, random_state=0).fit(parts.train)
    seconds = time.process_time() - began
    what = f'{kind}, LDA({estimates.COMPONENTS}, init="nndsvd")'
    return Row(what, estimates.perplexity(model, parts), detail=f"{seconds:.2f} s of one core")


class _Timed:
    """Measure the processor time of all calls of a method, meanwhile."""

    def __init__(self, owner: type, name: str) -> None:
        self.owner, self.name, self.seconds = owner, name, 0.0
        self.method: Callable[..., Any] = getattr(owner, name)

    def __enter__(self) -> "_Timed":
        def timed(*arguments: Any) -> Any:
            began = time.process_time()
            result = self.method(*arguments)
            self.seconds += time.process_time() - began
            return result

        setattr(self.owner, self.name, timed)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self.owner, self.name, self.method)


SECTION = Section(
    "concentrations",
    f"Learned concentrations of LDA, {estimates.COMPONENTS} components, on corpora of many kinds",
    measure,
    (
        "A fifth of the samples is held out, half of their counts are hidden: their perplexity,",
        "given the other half. Lower is better; one thread.",
    ),
)
