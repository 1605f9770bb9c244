"""Expected counts of a fitted model whose topics are split or dropped, or that loses features."""

from typing import Any

import numpy as np
from scipy import sparse

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences import KullbackLeibler
from isotopic.fitted.explained import explained_counts
from isotopic.fitted.value import Fitted
from isotopic.init import strategy_start
from isotopic.priors import Simplex
from isotopic.problem import Problem
from isotopic.solvers import choose_solver, solve

# Entries whose probabilities are in memory at once.
_ENTRIES = 2**18

# The fit of the parts of a topic is only a start: more iterations and digits gain nothing.
_ITERATIONS, _TOL = 100, 1e-3


def counts_of_topics(fitted: Fitted, X: CountMatrix, topics: Array) -> Any:
    r"""Return the counts that some topics explain, as a sparse array (samples x features).

    .. math:: x_{dv} \sum_{k} w_{dk} t_{kv} \big/ \sum_j w_{dj} t_{jv}

    with the effective weights and topics, and the sum of the numerator over the given ``topics``.
    """
    weights = fitted.weights.effective
    by_feature = np.ascontiguousarray(fitted.topics.effective.T)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.row_starts))
    values = np.empty(len(X.values))
    for start in range(0, len(values), _ENTRIES):
        part = slice(start, start + _ENTRIES)
        joint = weights[rows[part]] * by_feature[X.features[part]]
        sums = joint.sum(axis=1)
        values[part] = X.values[part] * joint[:, topics].sum(axis=1) / np.where(sums > 0, sums, 1)
    return sparse.csr_array((values, X.features, X.row_starts), shape=X.shape)


def counts_after_split(fitted: Fitted, X: CountMatrix, topic: int, n: int) -> tuple[Array, Array]:
    """Return the expected counts of both sides when a topic is split into ``n`` parts.

    The counts that it explains are fitted by PLSA with ``n`` topics. The largest part takes the
    place of the topic, and the others come last. Their sums are what the topic had.
    """
    by_sample, by_topic = explained_counts(fitted)
    of_samples, of_features = _find_parts(counts_of_topics(fitted, X, np.array([topic])), n)
    order = np.argsort(-of_features.sum(axis=1), kind="stable")
    own = by_sample[:, [topic]] * _shares(of_samples[:, order])
    parts = by_topic[topic] * _shares(of_features[order].T).T
    by_sample, by_topic = np.array(by_sample), np.array(by_topic)
    by_sample[:, topic], by_topic[topic] = own[:, 0], parts[0]
    return np.hstack([by_sample, own[:, 1:]]), np.vstack([by_topic, parts[1:]])


def _find_parts(counts: Any, n: int) -> tuple[Array, Array]:
    """Return the counts of each of ``n`` parts, by sample (samples x n) and by feature."""
    rows = np.flatnonzero(counts.sum(axis=1) > 0)
    X = CountMatrix.of(counts[rows], np.float64)
    n_features = int(np.count_nonzero(X.feature_totals))
    if min(len(rows), n_features) < n:
        raise ValueError(
            f"Cannot split a topic into {n} parts: it explains counts of {len(rows)} samples and "
            f"{n_features} features."
        )
    problem = Problem(Simplex(), Simplex(), X, n, KullbackLeibler())
    start = strategy_start(problem, "nndsvd", np.random.default_rng(0))
    found = solve(
        problem, choose_solver("auto", problem), start, max_iter=_ITERATIONS, tol=_TOL
    ).state.counts
    by_sample = np.zeros((counts.shape[0], n))
    by_sample[rows] = found.weights
    return by_sample, np.asarray(found.topics, np.float64)


def counts_after_drop(fitted: Fitted, X: CountMatrix, kept: Array) -> tuple[Array, Array]:
    """Return the expected counts of both sides when only some topics are kept.

    The counts of the others go to the kept topics in proportion to the weights of their sample.
    """
    by_sample, by_topic = explained_counts(fitted)
    dropped = np.setdiff1d(np.arange(fitted.n_components), kept)
    # A sample that had no other topic is shared out as all samples together.
    shares = _shares(by_sample[:, kept], default=by_sample[:, kept].sum(axis=0))
    moved = counts_of_topics(fitted, X, dropped)
    copies = fitted.sample_weight[:, np.newaxis]
    lost = by_sample[:, dropped].sum(axis=1, keepdims=True)
    return by_sample[:, kept] + lost * shares, by_topic[kept] + (moved.T @ (copies * shares)).T


def counts_after_feature_drop(fitted: Fitted, X: CountMatrix, kept: Array) -> tuple[Array, Array]:
    """Return the expected counts of both sides when only some features are kept."""
    by_sample, by_topic = explained_counts(fitted)
    is_dropped = np.ones(X.shape[1], dtype=bool)
    is_dropped[kept] = False
    lost = X.only_features(is_dropped)
    expected = [
        counts_of_topics(fitted, lost, np.array([k])).sum(axis=1)
        for k in range(fitted.n_components)
    ]
    return np.maximum(by_sample - np.stack(expected, axis=1), 0), by_topic[:, kept]


def _shares(counts: Array, default: Array | None = None) -> Array:
    """Return the rows divided by their sums; rows of zeros become the default, or equal shares."""
    others = np.ones(counts.shape[1]) if default is None or not default.any() else default
    filled = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, others)
    return np.asarray(filled / filled.sum(axis=1, keepdims=True))
