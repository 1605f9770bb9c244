"""Pooled: the topics of two starts at once, merged until as many are left as are wanted."""

from typing import NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.elementwise import gamma_functions, normalized
from isotopic.init.allocation import completed_topics, shared_out, smallest_count
from isotopic.init.nndsvd import nndsvd, singular_topics
from isotopic.init.spectral import anchored_topics
from isotopic.init.start import absorbed
from isotopic.priors import DirichletMean
from isotopic.problem import Problem
from isotopic.solvers import Accelerated, solve
from isotopic.threads import one_blas_thread

# Passes with the components of both starts: enough to tell which of them are the same.
_PASSES = 12

# Topics that both starts have found differ by this part at random, or they would stay the same.
_NOISE = 0.01

# The concentrations in these passes: of all weights of a sample together, and of a topic's entries.
_WEIGHTS_SUM, _TOPICS = 2.0, 0.05

# Each component may be merged with so many others, those with the most similar topics.
_PARTNERS = 5

# The costs of merging are estimated with samples of so many entries.
_ENTRIES = 10_000

# The least part of the total that is taken for one count.
_LEAST_UNIT = 1e-12

# The share of the merges still to be made that is made before costs are computed again.
_AT_ONCE = 0.7


class _Pool(NamedTuple):
    """Expected counts of components, and the concentration of the weights of each."""

    weights: Array  # samples x components
    topics: Array  # components x features
    concentration: Array


def pooled(X: CountMatrix, n_components: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Share the counts out by the best topics of two starts.

    One start has topics from singular vectors, the other from anchor features. Each misses topics
    that the other has found, above all rare ones, and some topics are in both. So all of them share
    the counts, and then the pairs are merged whose merging costs least evidence.
    """
    if n_components == 1 or not X.total > 0:
        return nndsvd(X, n_components, rng)
    unit = max(smallest_count(X), _LEAST_UNIT * X.total)
    # First, because how much the starts draw depends on the number of samples.
    noise = _NOISE * rng.random((2 * n_components, X.shape[1]))
    found = [
        completed_topics(X, topics_of(X, n_components, rng), n_components, rng)
        for topics_of in (singular_topics, anchored_topics)
    ]
    weights, topics = _improved(X, np.vstack(found) * (1 + noise), unit)
    pool = _Pool(weights, topics, np.full(len(topics), _WEIGHTS_SUM / len(topics)))
    rows = _some_rows(X, rng)
    with one_blas_thread:
        while (n_merges := len(pool.topics) - n_components) > 0:
            pool = _merged(X, pool, unit, rows, max(1, int(_AT_ONCE * n_merges)))
    return _whole(X.sample_totals, pool.weights), _whole(X.feature_totals, pool.topics.T).T


def _whole(totals: Array, counts: Array) -> Array:
    """Return the counts with rows that sum to the totals, which float32 does not keep."""
    return normalized(counts.astype(np.float64)) * totals[:, np.newaxis]


def _improved(X: CountMatrix, topics: Array, unit: float) -> tuple[Array, Array]:
    """Return the expected counts after some passes of LDA with posterior means.

    They begin with equal weights. The concentrations are in units of one count, so the start does
    not depend on the scale.
    """
    n_components = len(topics)
    alpha = _WEIGHTS_SUM / n_components * unit
    repeats = np.ones(1) if X.copies is None else np.asarray(X.copies)
    by_sample = np.outer(alpha * repeats, np.ones(n_components))
    priors = DirichletMean(by_sample), DirichletMean(_TOPICS * unit)
    problem = Problem(*priors, X.as_complete(), n_components)
    topic_counts = shared_out(X.feature_totals, topics.T).T
    start = absorbed(problem, X.equal_shares(n_components), topic_counts)
    found = solve(problem, Accelerated(), start, max_iter=_PASSES)
    if found.interrupted:
        raise KeyboardInterrupt
    return found.state.counts.weights, found.state.counts.topics


def _some_rows(X: CountMatrix, rng: np.random.Generator) -> Array:
    """Return samples that have enough entries together, all of them if there are no more."""
    lengths = np.diff(X.row_starts) if X.is_sparse else np.full(X.shape[0], X.shape[1])
    if lengths.sum() <= _ENTRIES:
        return np.arange(X.shape[0])
    order = rng.permutation(X.shape[0])
    enough = 1 + int(np.searchsorted(np.cumsum(lengths[order]), _ENTRIES))
    return np.sort(order[:enough])


def _merged(X: CountMatrix, pool: _Pool, unit: float, rows: Array, n_merges: int) -> _Pool:
    """Return the pool after merges that cost little; no component takes part in two."""
    first, second = _similar_pairs(pool.topics)
    costs = _costs(X, pool, unit, rows, (first, second))
    into = np.arange(len(pool.topics))
    is_used = np.zeros(len(into), bool)
    for pair in np.argsort(costs, kind="stable"):
        one, other = first[pair], second[pair]
        if n_merges > 0 and not (is_used[one] or is_used[other]):
            into[other], n_merges = one, n_merges - 1
            is_used[[one, other]] = True
    members = (into == np.unique(into)[:, np.newaxis]).astype(np.float64)
    return _Pool(pool.weights @ members.T, members @ pool.topics, members @ pool.concentration)


def _similar_pairs(topics: Array) -> tuple[Array, Array]:
    """Return the pairs of each component and those with the most similar topics."""
    roots = np.sqrt(normalized(topics.astype(np.float64)))
    similarity = roots @ roots.T
    np.fill_diagonal(similarity, -1)
    n_partners = min(_PARTNERS, len(topics) - 1)
    partners = np.argsort(-similarity, axis=1, kind="stable")[:, :n_partners]
    own = np.repeat(np.arange(len(topics)), n_partners)
    pairs = np.sort(np.column_stack([own, partners.ravel()]), axis=1)
    first, second = np.unique(pairs, axis=0).T
    return first, second


def _costs(
    X: CountMatrix, pool: _Pool, unit: float, rows: Array, pairs: tuple[Array, Array]
) -> Array:
    r"""Return how much evidence each pair of components would lose if it became one.

    With responsibilities :math:`\phi` it is bounded by the joint likelihood of counts and
    components, and the entropy of the components:

    .. math:: \log p(x, z) - \sum x \phi \log \phi

    A merge changes the Dirichlet-multinomial likelihood of both topics and of their weights, and
    the entropy, in which a count no longer chooses between the two. Weights and entropy are taken
    from some samples for all.
    """
    copies = np.ones(len(rows)) if X.copies is None else X.copies[rows]
    weights, alpha = pool.weights[rows] / (unit * copies[:, np.newaxis]), pool.concentration
    topics = pool.topics.astype(np.float64) / unit
    n_features, share = topics.shape[1], len(pool.weights) / len(rows)

    def log_gamma(values: Array) -> Array:
        return gamma_functions(values)[1]

    one_entry, one_topic = log_gamma(np.array([_TOPICS, n_features * _TOPICS]))

    def topic_likelihood(counts: Array) -> Array:
        by_entry: Array = (log_gamma(_TOPICS + counts) - one_entry).sum(axis=1)
        by_topic: Array = log_gamma(n_features * _TOPICS + counts.sum(axis=1)) - one_topic
        return by_entry - by_topic

    def weight_likelihood(counts: Array, alpha: Array) -> Array:
        by_sample: Array = log_gamma(alpha + counts) - log_gamma(alpha)
        return np.asarray(copies @ by_sample)

    data = X.rows(rows).as_sparse()
    samples = np.repeat(np.arange(len(rows)), np.diff(data.row_starts))
    shares = normalized(weights + alpha)[samples]
    shares *= normalized(topics + _TOPICS).T[data.features]
    shares /= shares.sum(axis=1, keepdims=True)

    def log_product(shares: Array) -> Array:
        by_entry = shares * np.log(np.maximum(shares, np.finfo(np.float64).tiny))
        return np.asarray((data.values / unit) @ by_entry)

    topic_part, weight_part = topic_likelihood(topics), weight_likelihood(weights, alpha)
    entropy_part = -log_product(shares)
    first, second = pairs
    costs = np.empty(len(first))
    for one in np.unique(first):  # a few columns at a time
        here = np.flatnonzero(first == one)
        other = second[here]
        topic_cost = topic_part[one] + topic_part[other]
        topic_cost -= topic_likelihood(topics[one] + topics[other])
        weight_cost = weight_part[one] + weight_part[other]
        weight_cost -= weight_likelihood(
            weights[:, [one]] + weights[:, other], alpha[one] + alpha[other]
        )
        entropy_cost = entropy_part[one] + entropy_part[other]
        entropy_cost += log_product(shares[:, [one]] + shares[:, other])
        costs[here] = topic_cost + share * (weight_cost + entropy_cost)
    return costs
