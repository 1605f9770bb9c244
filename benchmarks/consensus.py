"""Whether the consensus finds a planted number of components, and how long many runs take."""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import data
from benchmarks.processes import python_for, run_alone
from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA, NMF, consensus, read_counts

DRAWS, RUNS = 10, 10

# Numbers that are tried for real tumours, fits for each, and where a fit stops.
REAL_NUMBERS, REAL_RUNS, REAL_TOL = range(1, 26), 100, 1e-4

# SigProfilerExtractor makes one replicate for each of these numbers. Its time grows about linearly
# with the number, so the mean of both is that of all numbers.
PEER_NUMBERS, PEER = (5, 21), "benchmarks.extract_peer"


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
    if has_signatures:
        yield from real_tumours(settings.repetitions(REAL_RUNS))


def known_signatures():
    """Read the reference signatures, with a norm of one."""
    file = data.REAL_DATA / "pcawg_sbs96" / "reference_signatures.csv"
    reference = read_counts(file).counts.toarray()
    return reference / np.linalg.norm(reference, axis=1, keepdims=True)


def real_tumours(n_runs: int) -> Iterator[Row]:
    """Measure all fits of real tumours, and how many known signatures the consensus finds."""
    X, reference = data.dataset("pcawg_sbs96"), known_signatures()
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the edge of the range
        found = consensus(
            NMF(tol=REAL_TOL), X, REAL_NUMBERS, n_runs=n_runs, random_state=0, n_jobs=1
        )
    ours = time.process_time() - began
    n_fits = n_runs * len(REAL_NUMBERS)
    detail = f"{n_fits} fits, tol={REAL_TOL:g}, bootstrap, with held-out scores"
    yield Row(f"2,780 tumours, 1 to 25 components, {n_runs} runs", ours, " s", detail=detail)
    yield Row("chosen number", found.n_components, detail=found.reason)
    for number in (found.n_components, REAL_NUMBERS[-1]):
        topics = found.clusters[number].topics
        topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)
        similar = int(((topics @ reference.T).max(axis=0) > 0.9).sum())
        stability = found.clusters[number].stability.mean()
        detail = f"reference signatures with a cosine above 0.9; mean stability {stability:.2f}"
        yield Row(f"{number} components: signatures found", similar, detail=detail)
    seconds = []
    for number in PEER_NUMBERS:
        peer = by_sigprofiler(X, number)
        if isinstance(peer, str):
            yield Row("SigProfilerExtractor", detail=peer)
            return
        seconds.append(peer)
        yield Row(f"SigProfilerExtractor, {number} components, 1 replicate", peer, " s")
    theirs = n_fits * float(np.mean(seconds))
    detail = f"scaled from {len(seconds)} replicates; the factorizations alone"
    yield Row(f"SigProfilerExtractor, {n_fits} replicates", theirs / 3600, " h", detail=detail)
    yield Row("SigProfilerExtractor, times slower", theirs / ours, target=Target(100))


def by_sigprofiler(X, number: int) -> float | str:
    """Run one replicate of SigProfilerExtractor; give its processor seconds, or what failed."""
    with tempfile.TemporaryDirectory() as folder:
        types = (data.REAL_DATA / "pcawg_sbs96" / "vocab.txt").read_text().split()
        given = {"X": X.toarray(), "types": types, "n_components": number, "n_runs": 1}
        np.savez(Path(folder) / "given.npz", **given)
        python = python_for("sigprofiler")
        problem = run_alone(python, PEER, Path(folder), threads=1, timeout=3600)
        return problem or float(np.load(Path(folder) / "found.npz")["seconds"])


SECTION = Section(
    "consensus",
    "Consensus: planted numbers of components, and real tumours",
    measure,
    (
        "Share of draws with the right number. Processor time, one thread.",
        "SigProfilerExtractor: its defaults, one process; in the environment peers/sigprofiler.",
    ),
)
