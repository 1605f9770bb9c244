"""The data that is measured on: generated, or real where a folder of it is present."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from scipy import sparse

from isotopic import datasets, generative

# A folder of real datasets, each as <name>/<name>.npz; relative to the repository.
REAL_DATA = Path(__file__).parents[1] / os.environ.get("ISOTOPIC_DATA", "../shared/data")

# Sizes of generated counts, samples and features.
GENERATED = {
    "generated_1k": (1_000, 2_000),
    "generated_5k": (5_000, 10_000),
    "generated_20k": (20_000, 20_000),
}

_TRUE_TOPICS = 50
_MEAN_TOKENS = 223  # makes about 700,000 nonzeros


@cache
def lda_like(dtype: str = "float64", n_samples: int = 5_000, n_features: int = 10_000):
    """LDA's own counts: topics around a Zipf-like law over features in no particular order."""
    rng = np.random.default_rng(0)
    frequencies = rng.permutation(1 / np.arange(1, n_features + 1))
    topics = rng.dirichlet(0.05 * n_features * frequencies / frequencies.sum(), _TRUE_TOPICS)
    weights = rng.dirichlet(np.full(_TRUE_TOPICS, 0.1), n_samples)
    totals = rng.poisson(rng.gamma(4.0, _MEAN_TOKENS / 4, n_samples))
    counts = generative.word_by_word(weights, topics, totals, random_state=rng)
    counts.sum_duplicates()
    indices, starts = (a.astype(np.int32) for a in (counts.indices, counts.indptr))
    return sparse.csr_array((counts.data.astype(dtype), indices, starts), shape=counts.shape)


@cache
def dense_counts(n: int = 2_000):
    """Dense Poisson counts with a mean of five."""
    return np.random.default_rng(0).poisson(5.0, (n, n)).astype(np.float64)


def start_for(X, n_components: int, seed: int = 1):
    """Positive factors whose product has the total of X, each topic summing to one."""
    rng = np.random.default_rng(seed)
    totals = np.asarray(X.sum(axis=1)).reshape(-1, 1)
    weights = rng.dirichlet(np.ones(n_components), X.shape[0]) * totals + 1e-3
    topics = rng.dirichlet(np.full(X.shape[1], 5.0), n_components)
    return weights.astype(X.dtype), topics.astype(X.dtype)


def real_datasets(only: tuple[str, ...] = ()) -> Iterator[tuple[str, sparse.csr_array]]:
    """Load the real datasets that are present, smallest file first."""
    files = sorted(REAL_DATA.glob("*/*.npz"), key=lambda file: file.stat().st_size)
    for file in files:
        if not only or file.stem in only:
            yield file.stem, sparse.csr_array(sparse.load_npz(file))


def dataset(name: str) -> sparse.csr_array | None:
    """Find counts by name: bundled, generated, or real where they are present."""
    if name in GENERATED:
        n_samples, n_features = GENERATED[name]
        return lda_like("float64", n_samples, n_features)
    if name in ("kjv", "kjv_small"):
        counts = datasets.load_kjv().data
        return counts[:200] if name == "kjv_small" else counts
    return next((counts for _, counts in real_datasets((name,))), None)
