"""Quick inference: the weights of samples in two updates."""

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import Counts, row_sums
from isotopic.priors import Posterior
from isotopic.problem import Problem
from isotopic.solvers.momentum import FLOOR

# The power of the first update: it goes as far as so many would.
_POWER = 8

# Two passes for the weights, one for the counts of the topics.
PASSES = 3


def quick_inference(problem: Problem, topics: Posterior) -> tuple[Posterior, Counts]:
    r"""Return weights inferred in two updates, and the expected counts there.

    Each sample starts with equal shares. While the topics are still alike, plain updates leave
    these shares slowly, so the topics' counts stay alike, and a fit spends most of its time telling
    them apart. So the first update is extrapolated: in the logarithms, which from equal shares is a
    power,

    .. math:: \text{counts}_{dk} \propto \Big(\sum_v x_{dv} \phi_{dkv}\Big)^{8}

    and the second one is plain.

    Parameters
    ----------
    problem : Problem
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
    weights = problem.absorb_weights(_extrapolate_far(counts), topics)
    counts = problem.expected_counts(weights, topics, weights_only=True).weights
    weights = problem.absorb_weights(counts, topics)
    return weights, problem.expected_counts(weights, topics)


def _extrapolate_far(counts: Array) -> Array:
    """Return each row's shares raised to a power; positive entries stay positive."""
    totals = row_sums(counts).astype(counts.dtype)[:, np.newaxis]
    largest = counts.max(axis=1, keepdims=True)
    far = counts / np.where(largest > 0, largest, 1)
    least = np.where(far > 0, counts.dtype.type(FLOOR / counts.shape[1] ** 2), 0)
    far = np.maximum(far**_POWER, least)
    sums = row_sums(far).astype(counts.dtype)[:, np.newaxis]
    far *= totals / np.where(sums > 0, sums, 1)
    return far
