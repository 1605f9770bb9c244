"""Whether the consensus finds a planted number of components."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA, NMF, consensus, read_counts

DRAWS, RUNS = 10, 10


@dataclass(frozen=True)
class Planted:
    """Counts that are drawn with a known number of components, and how to look for it."""

    name: str
    number: int
    numbers: range
    model: Callable[[], object]
    draw: Callable[[np.random.Generator], np.ndarray]


def signature_counts(rng):
    """Draw 300 tumours with some of ten reference signatures."""
    file = data.REAL_DATA / "pcawg_sbs96" / "reference_signatures.csv"
    known = read_counts(file).counts.toarray()
    topics = known[rng.choice(len(known), 10, replace=False)]
    present = rng.random((300, 10)) < 0.4
    weights = present * rng.gamma(1.0, 1000, size=(300, 10))
    return rng.poisson(weights @ topics)


def documents(rng, n_topics):
    """Draw 500 documents of 200 words from LDA."""
    topics = rng.dirichlet(np.full(500, 0.05), size=n_topics)
    weights = rng.dirichlet(np.full(n_topics, 0.2), size=500)
    return rng.multinomial(200, weights @ topics / (weights @ topics).sum(axis=1, keepdims=True))


def products(rng, dispersion=None):
    """Draw 300 samples from Poisson NMF with 6 parts; with a dispersion they vary more."""
    topics = rng.dirichlet(np.full(100, 0.2), size=6)
    mean = rng.gamma(0.5, 300, size=(300, 6)) @ topics
    if dispersion is not None:
        mean = mean * rng.gamma(1 / dispersion, dispersion, size=mean.shape)
    return rng.poisson(mean)


PLANTED = (
    Planted("10 signatures, Poisson", 10, range(6, 15), NMF, signature_counts),
    Planted("LDA, 5 topics", 5, range(2, 9), LDA, lambda rng: documents(rng, 5)),
    Planted("LDA, 10 topics", 10, range(7, 14), LDA, lambda rng: documents(rng, 10)),
    Planted("Poisson NMF, 6 parts", 6, range(3, 10), NMF, products),
    Planted("overdispersed, 6 parts", 6, range(3, 10), NMF, lambda rng: products(rng, 0.2)),
)


def found_numbers(planted: Planted, n_draws: int) -> list[int]:
    """Return the number that the consensus chooses for each draw."""
    numbers = []
    for seed in range(n_draws):
        X = planted.draw(np.random.default_rng(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the edge of the range
            found = consensus(
                planted.model(), X, planted.numbers, n_runs=RUNS, random_state=seed, n_jobs=1
            )
        numbers.append(found.n_components)
    return numbers


def measure(settings: Settings) -> Iterator[Row]:
    has_signatures = (data.REAL_DATA / "pcawg_sbs96" / "reference_signatures.csv").exists()
    n_draws = settings.repetitions(DRAWS)
    for planted in PLANTED:
        if planted.draw is signature_counts and not has_signatures:
            yield Row(planted.name, detail="needs pcawg_sbs96 with reference_signatures.csv")
            continue
        began = time.process_time()
        numbers = found_numbers(planted, n_draws)
        seconds = (time.process_time() - began) / n_draws
        right = 100 * np.mean(np.array(numbers) == planted.number)
        detail = f"{planted.number} planted, found {numbers}; {seconds:.1f} s a draw"
        yield Row(planted.name, float(right), " %", target=Target(90), detail=detail)


SECTION = Section(
    "consensus",
    "Consensus: planted numbers of components",
    measure,
    ("Share of draws with the right number. Processor time, one thread.",),
)
