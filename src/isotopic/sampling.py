"""Gibbs sampling: assign each token of the data to a topic, given the topics of all others."""

from typing import NamedTuple

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.threads import current_threads


class Tokens(NamedTuple):
    """The tokens of counts: an entry of three units has three, each with a topic of its own.

    Attributes
    ----------
    row_starts : ndarray of int64, shape (samples + 1,)
        Where the entries of each sample begin.
    features, repeats : ndarray of int32, shape (entries,)
        The feature of each entry, and its number of tokens.
    sizes : ndarray of float32, shape (entries,)
        How many units each token of an entry stands for.
    copies : ndarray of float32, shape (samples,)
        The sample weights.
    n_features : int
    """

    row_starts: Array
    features: Array
    repeats: Array
    sizes: Array
    copies: Array
    n_features: int


class SampledCounts(NamedTuple):
    """Counts by topic, in units: mean expected counts of several sweeps, or drawn ones."""

    weights: Array  # samples x components
    topics: Array  # components x features


def drawn_topics(tokens: Tokens, weights: Array, topics: Array, seed: int) -> Array:
    """Return a topic for each token, drawn from the responsibilities of its entry."""
    assignments = np.empty(int(tokens.repeats.sum()), np.int32)
    threads = current_threads()
    native.draw_topics(
        tokens.row_starts,
        tokens.features,
        tokens.repeats,
        np.ascontiguousarray(weights, np.float32),
        native.pad_topics(np.ascontiguousarray(topics.T, np.float32), threads),
        seed,
        assignments,
        threads,
    )
    return assignments


def sample_sweeps(
    tokens: Tokens,
    assignments: Array,
    alpha: Array,
    eta: float,
    *,
    sweeps: int,
    averaged: int,
    seed: int,
) -> SampledCounts:
    r"""Sample the topic of each token in turn, and return what they count.

    .. math:: p(z = k \mid \text{all others}) \propto
        (n_{dk} + \alpha_k) \frac{n_{kv} + \eta}{n_k + V \eta}

    with the counts of the other tokens: of the sample :math:`d` and the feature :math:`v` with the
    topic :math:`k`, for :math:`V` features (Griffiths & Steyvers, 2004).

    Parameters
    ----------
    tokens : Tokens
    assignments : ndarray of int32, shape (tokens,)
        The topic of each token; it is changed in place.
    alpha : ndarray of shape (components,)
        The concentration of the weights.
    eta : float
        The concentration of the topics.
    sweeps, averaged : int
        The number of sweeps over all tokens, and of the last ones, whose expected counts are
        averaged (of every fourth of them; with many topics, drawn counts of each). With zero, the
        counts are those drawn last.
    seed : int
        The same seed gives the same numbers, with any number of threads.
    """
    n_samples, n_components = len(tokens.copies), len(alpha)
    weight_counts = np.empty((n_samples, n_components), np.float32)
    topic_counts = np.empty((tokens.n_features, n_components), np.float32)
    native.sample_sweeps(
        tokens.row_starts,
        tokens.features,
        tokens.repeats,
        tokens.sizes,
        tokens.copies,
        np.ascontiguousarray(alpha, np.float64),
        eta,
        sweeps,
        averaged,
        seed,
        assignments,
        weight_counts,
        topic_counts,
        current_threads(),
    )
    return SampledCounts(weight_counts, topic_counts.T)
