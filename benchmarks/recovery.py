"""How near the learned concentrations of LDA come to those that counts were drawn with."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from benchmarks.table import Row, Section, Settings, Target
from isotopic import LDA

FEATURES, ETA = 400, 0.1
FOUR = np.array([0.1, 0.3, 0.6, 1.0])

# Samples, counts of each, and the concentration.
DRAWN = {
    "50 counts": (4000, 50, FOUR),
    "200 counts": (4000, 200, FOUR),
    "1,000 counts": (2000, 1000, FOUR),
    "five of 0.1": (3000, 200, np.full(5, 0.1)),
    "twenty of 0.1": (3000, 200, np.full(20, 0.1)),
    "twenty from 0.03 to 0.5": (3000, 200, np.geomspace(0.03, 0.5, 20)),
}


def drawn(rng, samples, total, alpha):
    """Draw counts, and give the topics that they were drawn from."""
    topics = rng.dirichlet(np.full(FEATURES, ETA), len(alpha)) + 1e-12
    topics /= topics.sum(axis=1, keepdims=True)
    expected = rng.dirichlet(alpha, samples) @ topics
    expected /= expected.sum(axis=1, keepdims=True)
    return sparse.csr_array(rng.multinomial(total, expected).astype(float)), topics


# The most that is asked for, of few topics and of those that overlap.
FEW, OVERLAPPING = Target(0.3, at_least=False), Target(0.5, at_least=False)


def ratios(X, topics, alpha, estimate, *, known):
    """Learn the concentration; give it as a multiple of the true one, component by component."""
    model = LDA(len(alpha), estimate=estimate, tol=1e-4, max_iter=400, random_state=0)
    model.set_params(fixed_topics=topics if known else None).fit(X)
    shares, found = (
        rows / np.linalg.norm(rows, axis=1)[:, None] for rows in (topics, model.components_)
    )
    order = linear_sum_assignment(shares @ found.T, maximize=True)[1]
    return model.alpha_[order] / alpha


def measure(settings: Settings) -> Iterator[Row]:
    for name, (samples, total, alpha) in DRAWN.items():
        X, topics = drawn(np.random.default_rng(1), samples, total, alpha)
        for estimate in ("cvb0", "smoothed", "variational"):
            for known in (False, True):
                found = ratios(X, topics, alpha, estimate, known=known)
                is_default = estimate == "cvb0" and not known
                yield Row(
                    f"{name}: {estimate}{', topics known' * known}",
                    float(np.abs(np.log(found)).mean()),
                    target=(OVERLAPPING if len(alpha) > 5 else FEW) if is_default else None,
                    detail=f"from {found.min():.2f} to {found.max():.2f} times the true one",
                )


SECTION = Section(
    "recovery",
    "how far the alpha that LDA learns is from the true one: mean |log ratio| over components",
    measure,
    (f"{FEATURES} features, topics of concentration {ETA}; one data set each.",),
)
