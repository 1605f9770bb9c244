"""The weights of samples that are looked at a few times only."""

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import Counts, row_sums
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers.momentum import FLOOR

# How many updates the first one stands for.
_AT_ONCE = 8

# What a first look costs: two passes for the weights, one for the counts of the topics.
PASSES = 3


def quick_inference(problem: Problem, topics: Posterior) -> tuple[Posterior, Counts]:
    r"""Infer weights in two updates, and share the counts out by them.

    Each sample starts with equal shares. While the topics are still alike, plain updates leave
    these shares slowly, the counts that the topics absorb are alike again, and most of the time of
    a fit goes into telling them apart. So the first update goes as far as several would at its
    pace: in the logarithms, which from equal shares is a power,

    .. math:: \text{counts}_{dk} \propto \Big(\sum_v x_{dv} \phi_{dkv}\Big)^{8}

    and the second one is plain.

    Parameters
    ----------
    problem : Problem
        With the samples.
    topics : Posterior

    Returns
    -------
    weights : Posterior
    counts : Counts
        The expected counts at these weights.
    """
    shares = problem.X.equal_shares(problem.n_components).astype(problem.X.dtype)
    weights = problem.absorb_weights(shares, topics)
    counts = problem.expected_counts(weights, topics, weights_only=True).weights
    weights = problem.absorb_weights(_taken_far(counts), topics)
    counts = problem.expected_counts(weights, topics, weights_only=True).weights
    weights = problem.absorb_weights(counts, topics)
    return weights, problem.expected_counts(weights, topics)


def _taken_far(counts: Array) -> Array:
    """Raise each row's shares to a power; entries that are positive keep a little."""
    totals = row_sums(counts).astype(counts.dtype)[:, np.newaxis]
    largest = counts.max(axis=1, keepdims=True)
    far = counts / np.where(largest > 0, largest, 1)
    least = np.where(far > 0, counts.dtype.type(FLOOR / counts.shape[1] ** 2), 0)
    far = np.maximum(far**_AT_ONCE, least)
    sums = row_sums(far).astype(counts.dtype)[:, np.newaxis]
    far *= totals / np.where(sums > 0, sums, 1)
    return far
