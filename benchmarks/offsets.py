"""What size factors and a known background are good for: single cells, thinned or contaminated."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from benchmarks import data
from benchmarks.table import Row, Section, Settings, Target
from isotopic import GammaPoisson

CELLS, COMPONENTS, SHAPE = 1_000, 6, 0.5
THINNED_TO = 0.1


def single_cells(rng):
    """Load some cells, and the genes that at least 20 of them show."""
    counts = data.dataset("pbmc_facs")
    if counts is None:
        return None
    counts = counts[rng.choice(counts.shape[0], CELLS, replace=False)]
    return counts[:, np.asarray((counts > 0).sum(axis=0)).ravel() >= 20]


def fitted(X, rng):
    mean_total = X.sum() / X.shape[0]
    settings = {"shape": SHAPE, "rate": SHAPE * COMPONENTS / mean_total, "tol": 1e-3}
    return GammaPoisson(COMPONENTS, random_state=int(rng.integers(100)), **settings).fit(X)


def thinned(X, rng):
    """Keep a tenth of the counts."""
    part = X.copy()
    part.data = rng.binomial(X.data, THINNED_TO)
    part.eliminate_zeros()
    return part


def contaminated(X, rng):
    """Add counts of the mean profile, half of each cell's own on average."""
    profile = np.asarray(X.sum(axis=0)).ravel() / X.sum()
    amounts = rng.gamma(2.0, 0.25, X.shape[0]) * np.asarray(X.sum(axis=1)).ravel()
    soup = sparse.csr_array(rng.poisson(amounts[:, np.newaxis] * profile))
    return X + soup, profile, amounts


def measure(settings: Settings) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X = single_cells(rng)
    if X is None:
        yield Row("single cells", detail="pbmc_facs was not found")
        return
    model = fitted(X, rng)
    truth = model.weights_

    def error(weights):
        return 100 * float(np.mean(np.abs(weights - truth).sum(axis=1) / truth.sum(axis=1)))

    few = thinned(X, rng)
    yield Row("a tenth of the counts, size ignored", error(model.transform(few)), "%")
    sized = model.transform(few, size_factors=np.full(CELLS, THINNED_TO))
    yield Row(
        "a tenth of the counts, size factor 0.1", error(sized), "%", target=Target(30.0, False)
    )

    mixed, profile, amounts = contaminated(X, rng)
    yield Row("background, ignored", error(model.transform(mixed)), "%")
    topics = np.vstack([profile, model.components_])
    with_background = GammaPoisson(
        COMPONENTS + 1, shape=SHAPE, rate=model.rate, fixed_topics=topics
    )
    free = with_background.fit(mixed).weights_[:, 1:]
    yield Row("background, its amounts inferred", error(free), "%")
    given = with_background.fit(mixed, fixed_weights=amounts).weights_[:, 1:]
    yield Row("background, its amounts given", error(given), "%", target=Target(30.0, False))


SECTION = Section(
    "offsets",
    "weights of single cells that are thinned or contaminated, against those of the whole cells",
    measure,
    ("Mean over cells of sum |weights - whole cell's weights| / sum of the whole cell's weights.",),
)
