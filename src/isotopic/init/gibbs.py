"""Gibbs: the mean counts of samples from the posterior of LDA."""

from typing import NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.elementwise import normalized
from isotopic.init.allocation import shared_out, smallest_count
from isotopic.init.pooled import pooled
from isotopic.init.start import random_counts
from isotopic.priors import Dirichlet, Evidence
from isotopic.sampling import SampledCounts, Tokens, drawn_topics, sample_sweeps

# Up to so many components, sampling begins with pooled topics, which include rare ones. Finding
# them takes longer the more there are, and with more it begins at random.
_MOST_POOLED = 16

# Sampling begins with a large concentration of the topics, in so many sweeps. It makes topics
# smooth, so tokens move between them easily. Under the small concentration that is learned in the
# end, the topics of the start hardly change any more.
_SMOOTH_TOPICS = 0.1

# Pooled topics need fewer sweeps, and rare ones are lost in many. Random topics need the more the
# more there are, but with very many those that a fit ends with bring more.
_POOLED_SWEEPS, _LEAST_SWEEPS, _SWEEPS_BY_TOPIC, _MOST_SWEEPS = 30, 60, 3, 200
_MANY, _SWEEPS_OF_MANY = 128, 100

# The concentration of all weights of a sample together is at most so much in these sweeps. With
# more, the topics of a sample hardly matter, and each token is compared with all topics.
_SMOOTH_WEIGHTS_SUM = 20.0

# Sweeps after that, which learn the concentrations, and the last of them, which are averaged.
_SWEEPS, _AVERAGED = 15, 5

# Sweeps from one update of the concentrations to the next.
_INTERVAL = 5

# Where the concentrations begin: of each weight, but of all weights of a sample together at most so
# much, and of a topic's entries.
_WEIGHT, _WEIGHTS_SUM, _TOPICS = 0.1, 5.0, 0.05

# A part of the counts is shared out at random, so that topics without tokens are not all alike.
_RANDOM_PART = 0.01

# The least part of the total that is taken for one count.
_LEAST_UNIT = 1e-12

# The tokens of an entry that has more units than these count more than one each. Such tokens change
# topics all at once, and hold sampling in worse topics. So the limit is as high as leaves entries
# no more tokens on average than this.
_LIMITS, _MEAN_TOKENS = (128, 64, 32, 16, 8), 4


def gibbs(X: CountMatrix, n_components: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Share the counts out as collapsed Gibbs sampling does (Griffiths & Steyvers, 2004).

    It begins with pooled topics, or with random ones if there are many, and smooths them. Then both
    concentrations are learned from the sampled counts.
    """
    if not X.total > 0:
        return X.equal_shares(n_components), np.zeros((n_components, X.shape[1]))
    tokens = tokens_of(X)
    alpha = min(_WEIGHT, _WEIGHTS_SUM / n_components)
    if n_components <= _MOST_POOLED:
        weights, topics = (normalized(counts) for counts in pooled(X, n_components, rng))
        assignments = drawn_topics(tokens, weights, topics, int(rng.integers(2**63)))
    else:
        assignments = rng.integers(n_components, size=int(tokens.repeats.sum()), dtype=np.int32)
    sample_sweeps(
        tokens,
        assignments,
        np.full(n_components, min(_WEIGHT, _SMOOTH_WEIGHTS_SUM / n_components)),
        _smooth_topics(tokens, n_components),
        sweeps=_smooth_sweeps(n_components),
        averaged=0,
        seed=int(rng.integers(2**63)),
    )
    priors = Dirichlet(alpha, learn="asymmetric"), Dirichlet(_TOPICS, learn="symmetric")
    counts = sampled_counts(
        tokens, assignments, priors, n_components, rng, sweeps=_SWEEPS, averaged=_AVERAGED
    ).counts
    topics = shared_out(X.feature_totals, counts.topics.T).T
    topics += _RANDOM_PART * (random_counts(X, n_components, rng)[1] - topics)
    return shared_out(X.sample_totals, counts.weights), topics


def _smooth_topics(tokens: Tokens, n_components: int) -> float:
    """Return the concentration of smooth topics: with many, no more than the tokens of each."""
    if n_components <= _MANY:
        return _SMOOTH_TOPICS
    return min(_SMOOTH_TOPICS, float(tokens.repeats.sum()) / (n_components * tokens.n_features))


def _smooth_sweeps(n_components: int) -> int:
    """Return how many sweeps sampling begins with, in which topics are smooth."""
    if n_components <= _MOST_POOLED:
        return _POOLED_SWEEPS
    if n_components > _MANY:
        return _SWEEPS_OF_MANY
    return min(_MOST_SWEEPS, _LEAST_SWEEPS + _SWEEPS_BY_TOPIC * n_components)


class Sampled(NamedTuple):
    """Mean counts of sweeps in units of the smallest count, and the priors learned on the way."""

    counts: SampledCounts
    alpha: Dirichlet
    eta: Dirichlet


def sampled_counts(
    tokens: Tokens,
    assignments: Array,
    priors: tuple[Dirichlet, Dirichlet],
    n_components: int,
    rng: np.random.Generator,
    *,
    sweeps: int,
    averaged: int,
) -> Sampled:
    """Return the mean counts of the last sweeps of Gibbs sampling, and the learned priors.

    Both priors are updated every few sweeps until the counts are averaged. ``assignments`` change
    in place.
    """
    alpha, eta = priors
    copies = None if np.all(tokens.copies == 1) else tokens.copies

    def sampled(n: int, averaged: int) -> SampledCounts:
        return sample_sweeps(
            tokens,
            assignments,
            np.broadcast_to(np.ravel(alpha.concentration), n_components),
            float(np.ravel(eta.concentration)[0]),
            sweeps=n,
            averaged=averaged,
            seed=int(rng.integers(2**63)),
        )

    done, learning = 0, sweeps - averaged
    while done < learning:
        # The priors that are given are often far from those learned, so they are learned at once.
        n = min(_INTERVAL if done else 1, learning - done)
        counts, done = sampled(n, 0), done + n
        alpha = alpha.with_updated_hyperparameters(Evidence(counts.weights, None, 1.0, copies))
        eta = eta.with_updated_hyperparameters(Evidence(counts.topics, None, 1.0))
    return Sampled(sampled(averaged, averaged), alpha, eta)


def tokens_of(X: CountMatrix) -> Tokens:
    """Return the tokens of the counts, in units of the smallest count."""
    unit = max(smallest_count(X), _LEAST_UNIT * X.total)
    stored = X.as_complete().as_sparse()
    copies = np.ones(X.shape[0]) if X.copies is None else np.asarray(X.copies)
    units = stored.values / np.repeat(unit * copies, np.diff(stored.row_starts))
    repeats = np.clip(np.rint(units), 1, _most_tokens(units)).astype(np.int32)
    return Tokens(
        stored.row_starts,
        stored.features,
        repeats,
        (units / repeats).astype(np.float32),
        copies.astype(np.float32),
        X.shape[1],
    )


def _most_tokens(units: Array) -> int:
    """Return how many tokens an entry has at most, given the units of each."""
    total = _MEAN_TOKENS * len(units)
    fitting = (limit for limit in _LIMITS if np.minimum(units, limit).sum() <= total)
    return next(fitting, _LIMITS[-1])
