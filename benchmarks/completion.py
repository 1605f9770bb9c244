"""How well and how fast default LDA predicts, next to Gibbs samplers, on corpora of several kinds.

A fifth of the documents is held out, and half of the words of each are hidden.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import data
from benchmarks.estimates import (
    Split,
    judged,
    load_tomotopy,
    load_topica,
    perplexity,
    split_samples,
)
from benchmarks.solution.tokens import words
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA

HELD_OUT = 0.2
COMPONENTS = 20, 50, 100  # each in a section of its own
SWEEPS = 1000
STARTS = 3
PEERS = {"topica": load_topica, "tomotopy": load_tomotopy}
# With more topics only topica, which predicts better than tomotopy with fewer.
BOTH_PEERS = 20

# Per cent above the better peer, and times faster than topica; with titles less is asked for.
MOST_ABOVE = Target(0.3, at_least=False)
FASTER, FASTER_WITH_TITLES = Target(20.0), Target(10.0)


def _sample(name: str, n: int, *, length: int | None = None) -> sparse.csr_array | None:
    """Take documents at random, each cut to about so many words; rare words are left out."""
    counts = data.dataset(name)
    if counts is None:
        return None
    rng = np.random.default_rng(0)
    X = sparse.csr_array(counts)[np.sort(rng.permutation(counts.shape[0])[:n])]
    if length is not None:
        share = np.minimum(1, length / np.maximum(X.sum(axis=1), 1))
        X.data = rng.binomial(X.data.astype(np.int64), np.repeat(share, np.diff(X.indptr)))
        X.eliminate_zeros()
    X = X[X.sum(axis=1) >= 2]
    return X[:, np.bincount(X.indices, minlength=X.shape[1]) >= 3]


CORPORA: dict[str, Callable[[], sparse.csr_array | None]] = {
    "titles": lambda: _sample("acl_abstracts", 15_000, length=7),
    "abstracts": lambda: _sample("acl_abstracts", 1500),
    "kjv": lambda: data.dataset("kjv"),
    "short posts": lambda: _sample("20news_pruned", 5000, length=25),
    "paragraphs": lambda: _sample("elife_3k", 1500, length=100),
    "news": lambda: _sample("ap", 2246),
    "long articles": lambda: _sample("elife_3k", 150),
    "generated": lambda: data.lda_like("float64", 1000, 3000),
}
QUICK = ("titles", "abstracts", "kjv")


def measure(settings: Settings, components: int) -> Iterator[Row]:
    for name in QUICK if settings.quick else CORPORA:
        counts = CORPORA[name]()
        if counts is None:
            yield Row(name, detail="not found; ISOTOPIC_DATA names the folder of the data")
            continue
        split = split_samples(counts, HELD_OUT)
        faster = FASTER_WITH_TITLES if name == "titles" else FASTER
        yield from _compared(split, f"{name}, K={components}", components, faster)


def _compared(split: Split, what: str, components: int, faster: Target) -> Iterator[Row]:
    found = {}
    for peer, load in PEERS.items():
        if peer == "tomotopy" and components > BOTH_PEERS:
            continue
        try:
            found[peer] = _peer(split, load(components, SWEEPS))
        except ImportError:
            yield Row(f"{what}, {peer}", detail="not installed; pip install 'isotopic[bench]'")
    own = [_own(split, components, seed) for seed in range(STARTS)]
    perplexities, seconds = np.transpose(own)
    found["isotopic"] = perplexities.mean(), seconds.mean()
    detail = "; ".join(
        f"{name} {value:.1f} in {took:.2f} s" for name, (value, took) in found.items()
    )
    best = min((value for name, (value, _) in found.items() if name in PEERS), default=np.nan)
    spread = tuple(100 * (np.quantile(perplexities, [0.25, 0.75]) / best - 1))
    above = 100 * (perplexities.mean() / best - 1)
    yield Row(f"{what}: above the better peer", above, " %", spread, MOST_ABOVE, detail)
    if "topica" in found:
        times = found["topica"][1] / seconds.mean()
        yield Row(f"{what}: times faster than topica", times, "x", None, faster)


def _own(split: Split, components: int, seed: int) -> tuple[float, float]:
    began = time.process_time()
    model = LDA(components, n_jobs=1, random_state=seed).fit(split.train)
    seconds = time.process_time() - began
    return perplexity(model, split), seconds


def _peer(split: Split, fit: Any) -> tuple[float, float]:
    texts = words(split.train)
    began = time.process_time()
    topics, alpha = fit(texts, split.train.shape[1])
    seconds = time.process_time() - began
    return perplexity(judged(topics, alpha, split.seen), split), seconds


def _section(components: int) -> Section:
    return Section(
        f"completion_{components}",
        f"Held-out perplexity and time of LDA({components}) next to Gibbs samplers",
        partial(measure, components=components),
        (
            "A fifth of the documents is held out, half of their words are hidden: their",
            "perplexity, given the other half. Both sides are judged by the same inference.",
            f"Peers: {SWEEPS:,} sweeps, learned priors, one seed. Ours: mean of {STARTS} seeds.",
            "Processor time, one thread.",
        ),
    )


SECTIONS = tuple(_section(components) for components in COMPONENTS)
