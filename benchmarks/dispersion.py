"""The number of components: overdispersed counts, and automatic relevance at different depths."""

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from isotopic import ARDNMF, NMF, NegativeBinomialNMF, consensus, evaluate

DRAWS, RUNS = 5, 8
NUMBERS = range(2, 10)

# Mean counts of a sample at which automatic relevance is tried, and its largest number.
DEPTHS, LARGEST = (20, 60, 200, 1000, 10_000), 20

# Shares of the counts of real tumours that are kept, and the largest number of components.
THINNED, LARGEST_REAL = (1.0, 0.2, 0.02), 40


@dataclass(frozen=True)
class Design:
    """Counts with a known number of components and a known dispersion."""

    samples: int
    features: int
    components: int
    depth: float
    dispersion: float

    def draw(self, seed):
        """Draw topics, weights of which about half are zero, and counts."""
        rng = np.random.default_rng(seed)
        topics = rng.dirichlet(np.full(self.features, 0.2), self.components)
        weights = rng.gamma(1.0, 1.0, (self.samples, self.components))
        weights *= rng.random(weights.shape) < 0.6
        weights[weights.sum(axis=1) == 0] = 1
        mean = (weights * self.depth / weights.sum(axis=1).mean()) @ topics
        if self.dispersion:
            mean = mean * rng.gamma(1 / self.dispersion, self.dispersion, mean.shape)
        return rng.poisson(mean)

    def __str__(self):
        return (
            f"{self.samples} x {self.features}, depth {self.depth:g}, "
            f"dispersion {self.dispersion:g}, {self.components} planted"
        )


DESIGNS = (
    Design(100, 96, 5, 2000, 0.0),
    Design(200, 40, 3, 2000, 1.0),
    Design(30, 96, 3, 20_000, 0.5),
    Design(60, 96, 5, 500, 0.5),
    Design(100, 96, 3, 2000, 2.0),
)


def chosen(kind, design: Design, seed: int) -> tuple[int, int]:
    """Return the number that the consensus chooses, and the one with the best held-out score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the edge of the range
        model = kind(tol=1e-3)
        found = consensus(
            model, design.draw(seed), NUMBERS, n_runs=RUNS, random_state=seed, n_jobs=1
        )
    return found.n_components, NUMBERS[int(np.argmax(found.table["score"]))]


def overdispersed(n_draws: int) -> Iterator[Row]:
    for design in DESIGNS:
        for kind in (NMF, NegativeBinomialNMF):
            began = time.process_time()
            numbers, best = zip(
                *(chosen(kind, design, seed) for seed in range(n_draws)), strict=True
            )
            seconds = (time.process_time() - began) / n_draws
            right = 100 * np.mean(np.array(numbers) == design.components)
            yield Row(
                f"{kind.__name__}: {design}",
                float(right),
                " %",
                target=Target(80) if kind is NegativeBinomialNMF else None,
                detail=f"consensus {list(numbers)}, best held-out score {list(best)}; "
                f"{seconds:.1f} s a draw",
            )


def held_out(n_draws: int) -> Iterator[Row]:
    for design in DESIGNS:
        gains = []
        for seed in range(n_draws):
            X = design.draw(seed)
            scores = [
                evaluate.held_out_likelihood(kind(design.components, random_state=0), X)
                for kind in (NMF, NegativeBinomialNMF)
            ]
            gains.append(scores[1] - scores[0])
        yield Row(
            f"gain of NegativeBinomialNMF: {design}",
            float(np.mean(gains)),
            detail="held-out log-likelihood of an entry, minus that of NMF",
        )


def relevance(n_draws: int) -> Iterator[Row]:
    for depth in DEPTHS:
        design = Design(300, 96, 8, depth, 0.0)
        draws = [design.draw(seed) for seed in range(n_draws)]
        numbers = [ARDNMF(LARGEST, random_state=0).fit(X).n_relevant_ for X in draws]
        detail = f"found {numbers}"
        if depth <= 200:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [
                    consensus(NMF(tol=1e-3), X, range(4, 12), n_runs=RUNS, random_state=0, n_jobs=1)
                    for X in draws
                ]
            detail += f"; consensus of NMF {[each.n_components for each in found]}"
        yield Row(f"ARDNMF: {design}", float(np.mean(numbers)), detail=detail)


def real_tumours() -> Iterator[Row]:
    X = data.dataset("pcawg_sbs96")
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X).astype(np.int64)
    for share in THINNED:
        thinned = np.random.default_rng(0).binomial(X, share)
        model = ARDNMF(LARGEST_REAL, random_state=0).fit(thinned)
        yield Row(f"ARDNMF: 2,780 tumours, {share:.0%} of the counts", float(model.n_relevant_))


def measure(settings: Settings) -> Iterator[Row]:
    n_draws = settings.repetitions(DRAWS)
    yield from overdispersed(n_draws)
    yield from held_out(n_draws)
    yield from relevance(n_draws)
    if (data.REAL_DATA / "pcawg_sbs96").exists():
        yield from real_tumours()


SECTION = Section(
    "dispersion",
    "the number of components of overdispersed counts, and by automatic relevance",
    measure,
    (
        f"{DRAWS} draws; consensus of {RUNS} runs for each number from 2 to 9, tol=1e-3.",
        "Share of draws with the right number. Processor time, one thread.",
    ),
)
