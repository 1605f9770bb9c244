"""Covariates next to the DMR and STM of topica, and R's stm: the same documents, one thread."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.covariate_corpora import Corpus, completion, draw, matched
from benchmarks.processes import MEASUREMENT_LIMIT
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA
from isotopic.evaluate import split_counts

CORPUS = {"n": 2_000, "n_features": 1_000, "length": 100}
TOPICS = (10, 30)
DMR_ITERATIONS = 1000

LIBRARY = "ISOTOPIC_R_LIBRARY"
SCRIPT = Path(__file__).parent / "stm_peer.R"


@dataclass
class Data:
    """A corpus, other documents of the same model, and their words: one half of each is hidden."""

    corpus: Corpus
    new: Corpus
    seen: Any
    hidden: Any


@dataclass
class Found:
    """What a package has found; ``effects`` by topic in units of its own, if it has any."""

    seconds: float
    topics: Any
    weights: Any
    new_weights: Any
    effects: Any = None


def measure(settings: Settings) -> Iterator[Row]:
    """Compare speed, prediction and effects."""
    for n_topics in TOPICS[:1] if settings.quick else TOPICS:
        known = {**CORPUS, "n_topics": n_topics}
        corpus, new = draw(0, **known), draw(900, model_seed=0, **known)
        data = Data(corpus, new, *split_counts(new.X, held_out=0.5, random_state=0))
        own = fit_own(data, n_topics, settings.repetitions(3))
        what = f"{n_topics} topics, isotopic"
        yield Row(
            f"{what}: seconds", own.seconds, " s", detail=f"perplexity {_score(data, own):.1f}"
        )
        yield Row(f"{what}: correlation with the truth", agreement(corpus, _in_order(data, own)))
        for name, peer in PEERS.items():
            yield from _compared(f"{n_topics} topics, {name}", data, own, peer)


def _compared(what: str, data: Data, own: Found, peer: Any) -> Iterator[Row]:
    found = peer(data, len(own.topics))
    if isinstance(found, str):
        yield Row(what, detail=found)
        return
    ratio = found.seconds / own.seconds
    detail = f"{found.seconds:.1f} s"
    yield Row(f"{what}: times slower", ratio, "x", target=Target(10), detail=detail)
    above = 100 * (_score(data, found) / _score(data, own) - 1)
    yield Row(f"{what}: perplexity above ours", above, "%", target=Target(0))
    slopes = _slopes(data, found)
    truth = agreement_of(slopes, _true_slopes(data))
    ours = agreement_of(_slopes(data, own), _true_slopes(data))
    detail = f"ours {ours:.4f}"
    yield Row(f"{what}: correlation of slopes with the truth", truth, detail=detail)
    same = agreement_of(slopes, _slopes(data, own))
    yield Row(f"{what}: correlation of slopes with ours", same, target=Target(0.9))
    if found.effects is not None:
        truth = agreement(data.corpus, _in_order(data, found))
        yield Row(f"{what}: correlation of coefficients with the truth", truth)


def fit_own(data: Data, n_topics: int, repetitions: int) -> Found:
    """Return isotopic's results."""
    seconds = []
    for _ in range(repetitions):
        began = time.process_time()
        model = LDA(n_topics, random_state=0, n_jobs=1).fit(
            data.corpus.X, covariates=data.corpus.table
        )
        seconds.append(time.process_time() - began)
    new_weights = model.transform(data.seen, covariates=data.new.table)
    return Found(
        min(seconds), model.components_, model.weights_, new_weights, model.coefficients_[1:]
    )


def fit_dmr(data: Data, n_topics: int) -> Found | str:
    """Return the results of topica's Dirichlet-multinomial regression."""
    try:
        import topica  # noqa: PLC0415 - a peer
    except ImportError:
        return "not installed"
    words = as_words(data.corpus.X)
    began = time.process_time()
    model = topica.DMR(n_topics, seed=0, num_threads=1)
    model.fit(words, data.corpus.columns, iters=DMR_ITERATIONS)
    seconds = time.process_time() - began
    new_weights = model.transform(as_words(data.seen), data.new.columns)
    topics = _all_features(data, model.topic_word, _features(model))
    effects = np.asarray(model.feature_effects).T[1:]
    return Found(seconds, topics, np.asarray(model.doc_topic), np.asarray(new_weights), effects)


def fit_stm(data: Data, n_topics: int) -> Found | str:
    """Return the results of topica's structural topic model, which is logistic normal."""
    try:
        import topica  # noqa: PLC0415 - a peer
    except ImportError:
        return "not installed"
    words = as_words(data.corpus.X)
    began = time.process_time()
    model = topica.STM(n_topics, seed=0)
    model.fit(words, prevalence=data.corpus.columns)
    seconds = time.process_time() - began
    seen = as_words(data.seen)
    new_weights = topica.stm.transform(model, seen, prevalence=data.new.columns)
    topics = _all_features(data, model.topic_word, _features(model))
    return Found(seconds, topics, np.asarray(model.doc_topic), np.asarray(new_weights))


def fit_r_stm(data: Data, n_topics: int) -> Found | str:
    """Return the results of R's stm."""
    if shutil.which("Rscript") is None:
        return "Rscript is not on the path"
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "R_LIBS": os.environ.get(LIBRARY, ""),
    }
    asked = ["Rscript", "-e", "library(stm)"]
    if subprocess.run(asked, env=environment, capture_output=True, check=False).returncode:
        return f"R has no stm; {LIBRARY} may name its library"
    X = sparse.csr_array(data.corpus.X)
    used = np.flatnonzero(np.asarray(X.sum(axis=0)) > 0)  # it wants every word to occur
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for of, counts, columns in (
            ("fitted", X, data.corpus.columns),
            ("new", sparse.csr_array(data.seen), data.new.columns),
        ):
            some = sparse.csr_array(counts[:, used])
            some.indptr.astype(np.int32).tofile(folder / f"{of}_starts")
            (some.indices + 1).astype(np.int32).tofile(folder / f"{of}_words")
            some.data.astype(np.int32).tofile(folder / f"{of}_counts")
            np.asfortranarray(columns).ravel(order="F").tofile(folder / f"{of}_columns")
        n, n_new, n_columns = X.shape[0], data.new.X.shape[0], data.corpus.columns.shape[1]
        sizes = [str(size) for size in (n, n_new, n_columns, len(used), n_topics)]
        done = subprocess.run(
            ["Rscript", str(SCRIPT), name, *sizes],
            env=environment,
            capture_output=True,
            text=True,
            timeout=MEASUREMENT_LIMIT,
            check=False,
        )
        if done.returncode:
            return f"failed: {done.stderr.strip()[-200:]}"
        tables = (
            np.fromfile(folder / file).reshape(n_topics, -1).T
            for file in ("topics", "weights", "new_weights")
        )
        topics, weights, new_weights = tables
    seconds = float(done.stdout.split()[-1])
    return Found(seconds, _all_features(data, topics.T, used), weights, new_weights)


PEERS = {"topica DMR": fit_dmr, "topica STM": fit_stm, "R's stm": fit_r_stm}


def _all_features(data: Data, topics: Any, features: Any) -> Any:
    """Return topics with a column for each feature, also for those that a peer has left out."""
    found = np.zeros((len(topics), data.corpus.X.shape[1]))
    found[:, features] = topics
    return found


def _features(model: Any) -> Any:
    """Return the feature of each word of a peer's vocabulary."""
    return np.array([int(word[1:]) for word in model.vocabulary])


def as_words(X: Any) -> list[list[str]]:
    """Return the tokens of each document as texts."""
    X = sparse.csr_array(X)
    return [
        [
            f"w{v}"
            for v, count in zip(X.indices[a:b], X.data[a:b], strict=True)
            for _ in range(int(count))
        ]
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def _score(data: Data, found: Found) -> float:
    return completion(found.topics, found.new_weights, data.hidden)


def _in_order(data: Data, found: Found) -> Any:
    """Return the coefficients of the true topics."""
    return found.effects[:, matched(data.corpus.topics, found.topics)]


def _slopes(data: Data, found: Found) -> Any:
    """Return a regression of the proportions on the covariates: effects in the same units."""
    order = matched(data.corpus.topics, found.topics)
    return _regression(data, found.weights[:, order])


def _true_slopes(data: Data) -> Any:
    alpha = np.exp(_design(data) @ data.corpus.coefficients)
    return _regression(data, alpha / alpha.sum(axis=1, keepdims=True))


def _regression(data: Data, proportions: Any) -> Any:
    return np.linalg.lstsq(_design(data), proportions, rcond=None)[0][1:]


def _design(data: Data) -> Any:
    return np.column_stack([np.ones(len(data.corpus.columns)), data.corpus.columns])


def agreement(corpus: Corpus, coefficients: Any) -> float:
    """Return the correlation of coefficients with the true ones."""
    return agreement_of(coefficients, corpus.coefficients[1:])


def agreement_of(one: Any, other: Any) -> float:
    """Return the correlation of two tables."""
    return float(np.corrcoef(np.ravel(one), np.ravel(other))[0, 1])


SECTION = Section(
    "covariate_peers",
    "Covariates next to topica (DMR, STM) and R's stm: the same documents, one thread",
    measure,
    (
        "2,000 documents of 100 words with three covariates (five columns), drawn from a model",
        "with known coefficients. Default settings, DMR with 1,000 iterations. Processor seconds.",
        "Perplexity is that of the hidden half of the words of new documents. Slopes are those of",
        "a regression of the proportions on the covariates: effects in the same units.",
        f"R's stm is looked for in the library that {LIBRARY} names, too.",
    ),
)
