"""Documents drawn from models with known coefficients of three covariates."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment


@dataclass
class Corpus:
    """Documents drawn from a model with known coefficients."""

    X: Any
    table: dict[str, Any]
    columns: Any
    coefficients: Any
    topics: Any


def draw(
    seed: int,
    *,
    n: int = 1_000,
    n_topics: int = 5,
    n_features: int = 300,
    length: int = 80,
    strength: float = 0.5,
    model_seed: int | None = None,
) -> Corpus:
    """Draw documents with a covariate of three groups, and two numbers.

    ``strength`` is the spread of the coefficients; ``model_seed`` draws other documents of the
    same model.
    """
    known = np.random.default_rng(seed if model_seed is None else model_seed)
    topics = known.dirichlet(np.full(n_features, 0.05), n_topics)
    beta = known.normal(0, strength, (5, n_topics))
    beta[0] = np.log(1 / n_topics)
    rng = np.random.default_rng(seed + 10_000)
    group = rng.choice(["a", "b", "c"], n, p=[0.4, 0.3, 0.3])
    year, size = rng.uniform(-1, 1, n), rng.normal(size=n)
    columns = np.column_stack([np.ones(n), group == "b", group == "c", year, size]).astype(float)
    weights = rng.standard_gamma(np.exp(columns @ beta)) + 1e-300
    weights /= weights.sum(axis=1, keepdims=True)
    lengths = 1 + rng.poisson(length - 1, n)
    table = {"group": group, "year": year, "size": size}
    return Corpus(_words(weights, topics, lengths, rng), table, columns[:, 1:], beta, topics)


def _words(weights, topics, lengths, rng):
    """Draw a topic and a word for each token, some documents at a time."""
    steps = np.cumsum(topics, axis=1)
    parts = []
    for begin in range(0, len(weights), 50_000):
        rows = slice(begin, begin + 50_000)
        n_tokens = lengths[rows]
        row = np.repeat(np.arange(len(n_tokens)), n_tokens)
        ends = np.cumsum(weights[rows], axis=1)
        topic = (rng.random(len(row))[:, np.newaxis] > ends[row]).sum(axis=1)
        topic = np.minimum(topic, len(topics) - 1)
        words = np.empty(len(row), np.int64)
        for k in range(len(topics)):
            own = topic == k
            words[own] = np.searchsorted(steps[k], rng.random(own.sum()) * steps[k, -1])
        ones = np.ones(len(row), np.int32)
        shape = len(n_tokens), topics.shape[1]
        parts.append(sparse.coo_array((ones, (row, words)), shape=shape).tocsr())
    return sparse.vstack(parts, format="csr")


def matched(truth, topics):
    """Return which found topic belongs to each true one."""
    norms = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (truth, topics)]
    return linear_sum_assignment(-norms[0] @ norms[1].T)[1]


def completion(model_topics, weights, hidden):
    """Return the perplexity of hidden words under inferred weights."""
    rows, columns = hidden.nonzero()
    probability = np.einsum("ij,ij->i", weights[rows], model_topics.T[columns])
    counts = np.asarray(hidden[rows, columns]).ravel()
    return float(np.exp(-(counts * np.log(probability + 1e-12)).sum() / counts.sum()))
