"""How well each estimate of LDA predicts, by document completion, and how fast it gets there.

The peers are collapsed Gibbs samplers with learned priors, if they are installed, and the
variational LDA of scikit-learn, on few samples: it takes long.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation

from benchmarks import data
from benchmarks.solution.tokens import words
from benchmarks.table import Row, Section, Settings
from isotopic import LDA
from isotopic.evaluate import completion_score, split_counts

COMPONENTS = 20
QUICK = ("kjv", "ap")
FULL = ("kjv", "ap", "20news_pruned", "pbmc_facs")
LARGE = FULL[2:]  # for these, fewer settings and starts
SWEEPS = 1000
VARIATIONAL_SAMPLES, VARIATIONAL_ITERATIONS = 500, 30
TEST_SHARE = 0.1

# Closer than the default, so that what is compared are the estimates.
TOL = 1e-3

# Both learned, and given: of the proportions, and of the topics.
CONCENTRATIONS: tuple[tuple[Any, Any], ...] = (
    ("auto", "auto"),
    (0.1, 0.05),
    (0.05, 0.01),
    (0.5, 0.1),
)
# The mode needs concentrations above one, or it does without most of what it has seen.
MODES: tuple[tuple[Any, Any], ...] = ((1.1, 1.05), (1.05, 1.01), (1.5, 1.1))


@dataclass(frozen=True)
class Split:
    """Training samples, and two halves of the counts of others."""

    train: sparse.csr_array
    seen: sparse.csr_array
    hidden: sparse.csr_array


def judged(topics: np.ndarray, alpha: np.ndarray, seen: sparse.csr_array) -> LDA:
    """Give topics that somebody found the face of a model, to be judged like one of ours."""
    start = np.ones((seen.shape[0], len(topics))), topics
    settings = {"alpha": alpha, "eta": None, "estimate": "cvb0"}
    return LDA(len(topics), init=start, max_iter=0, **settings).fit(seen)


def measure(settings: Settings) -> Iterator[Row]:
    for name in QUICK if settings.quick else FULL:
        counts = data.dataset(name)
        if counts is None:
            yield Row(name, detail="not found; ISOTOPIC_DATA names the folder of the data")
            continue
        split = split_samples(counts)
        large = name in LARGE
        yield from _own(split, name, settings.repetitions(2 if large else 3), 2 if large else None)
        yield from peers(split, name)
        yield from _variational(split, name)


def split_samples(counts: sparse.csr_array, share: float = TEST_SHARE) -> Split:
    rng = np.random.default_rng(0)
    order = rng.permutation(counts.shape[0])
    n_test = max(1, round(share * len(order)))
    train = counts[np.sort(order[n_test:])]
    known = np.flatnonzero(train.sum(axis=0))  # nobody can know the other features
    seen, hidden = split_counts(counts[np.sort(order[:n_test])][:, known], random_state=0)
    return Split(train[:, known].astype(np.float64), seen, hidden)


def _own(split: Split, name: str, repetitions: int, most: int | None) -> Iterator[Row]:
    """Measure what a user gets who sets nothing, then at most so many settings of each estimate."""
    yield _row(f"{name}, LDA({COMPONENTS})", split, repetitions)
    for estimate in ("cvb0", "smoothed", "variational", "map"):
        for alpha, eta in (MODES if estimate == "map" else CONCENTRATIONS)[:most]:
            what = f"{name}, {estimate}, alpha={alpha}, eta={eta}"
            settings = {"estimate": estimate, "alpha": alpha, "eta": eta, "tol": TOL}
            yield _row(what, split, repetitions, **settings)


def _row(what: str, split: Split, repetitions: int, **settings) -> Row:
    results = [_fit(split, seed, **settings) for seed in range(repetitions)]
    perplexities, seconds, passes = np.transpose(results)
    return Row(
        what,
        float(np.mean(perplexities)),
        spread=(min(perplexities), max(perplexities)),
        detail=f"{np.mean(seconds):.2f} s of one core, {np.mean(passes):.0f} passes",
    )


def _fit(split: Split, seed: int, **settings) -> tuple[float, float, int]:
    began = time.process_time()
    model = LDA(COMPONENTS, n_jobs=1, random_state=seed, **settings).fit(split.train)
    seconds = time.process_time() - began
    return perplexity(model, split), seconds, int(model.history_["passes"][-1])


def perplexity(model: Any, split: Split) -> float:
    return float(np.exp(-completion_score(model, split.seen, split.hidden)))


def peers(
    split: Split, name: str, components: int = COMPONENTS, sweeps: int = SWEEPS
) -> Iterator[Row]:
    for peer, load in (("tomotopy", load_tomotopy), ("topica", load_topica)):
        what = f"{name}, {peer}, {sweeps:,} Gibbs sweeps, learned priors"
        try:
            fit = load(components, sweeps)
        except ImportError:
            yield Row(what, detail="not installed; pip install 'isotopic[bench]'")
            continue
        began = time.process_time()
        topics, alpha = fit(words(split.train), split.train.shape[1])
        seconds = time.process_time() - began
        model = judged(topics, alpha, split.seen)
        yield Row(what, perplexity(model, split), detail=f"{seconds:.2f} s of one core")


def _variational(split: Split, name: str) -> Iterator[Row]:
    """Compare the variational estimate with that of scikit-learn, each with its own inference."""
    few = split.train[:: max(1, split.train.shape[0] // VARIATIONAL_SAMPLES)]
    known = np.flatnonzero(few.sum(axis=0))
    split = Split(few[:, known], split.seen[:, known], split.hidden[:, known])
    what = f"{name}, {split.train.shape[0]} samples"
    yield _row(f"{what}, variational", split, 1, estimate="variational")
    began = time.process_time()
    peer = LatentDirichletAllocation(
        COMPONENTS, max_iter=VARIATIONAL_ITERATIONS, learning_method="batch", random_state=0
    ).fit(split.train)
    seconds = time.process_time() - began
    yield Row(
        f"{what}, scikit-learn, {VARIATIONAL_ITERATIONS} batch iterations",
        perplexity(peer, split),
        detail=f"{seconds:.2f} s of one core",
    )


# From documents and the number of features to topics and a concentration.
Fit = Callable[[list[list[str]], int], tuple[np.ndarray, np.ndarray]]


def load_tomotopy(components: int, sweeps: int) -> Fit:
    import tomotopy  # noqa: F401, PLC0415 - a peer

    def fit(texts: list[list[str]], n_features: int) -> tuple[np.ndarray, np.ndarray]:
        return next(tomotopy_in_steps(components, (sweeps,), texts, n_features))

    return fit


def tomotopy_in_steps(
    components: int, sweeps: tuple[int, ...], texts: list[list[str]], n_features: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Fit, and give the topics and the concentration after each number of sweeps."""
    import tomotopy  # noqa: PLC0415 - a peer

    model = tomotopy.LDAModel(k=components, alpha=0.1, eta=0.01, seed=1, min_cf=0, rm_top=0)
    for text in texts:
        model.add_doc(text)
    for before, after in pairwise((0, *sweeps)):
        model.train(after - before, workers=1)
        topics = np.zeros((components, n_features))
        columns = [int(word) for word in model.used_vocabs]
        topics[:, columns] = [model.get_topic_word_dist(k) for k in range(components)]
        yield topics, np.asarray(model.alpha, np.float64)


def load_topica(components: int, sweeps: int, **averaging: int) -> Fit:
    import topica  # noqa: PLC0415 - a peer

    def fit(texts: list[list[str]], n_features: int) -> tuple[np.ndarray, np.ndarray]:
        vocabulary = [str(i) for i in range(n_features)]
        corpus = topica.Corpus.from_documents(texts, vocabulary=vocabulary)
        # It predicts better when it learns its prior sooner and more often than by default.
        settings = {"alpha_sum": 0.1 * components, "burn_in": 20, "optimize_interval": 10}
        model = topica.LDA(components, seed=1, num_threads=1, **settings)
        model = model.fit(corpus, iters=sweeps, **averaging)
        return np.asarray(model.topic_word), np.asarray(model.alpha, np.float64)

    return fit


SECTION = Section(
    "estimates",
    f"Perplexity of the estimates of LDA, {COMPONENTS} components",
    measure,
    (
        "A tenth of the samples is held out, half of their counts are hidden: their perplexity,",
        "given the other half. Mean over starts, least and most. Lower is better; one thread.",
    ),
)
