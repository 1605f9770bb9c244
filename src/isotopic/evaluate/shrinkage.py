"""Adaptive shrinkage: what many estimates with standard errors say about each of them.

The true values are thought of as drawn from one distribution with its mode at zero: a mixture of a
point mass at zero and of normal distributions around zero, on a grid of standard deviations. The
estimates tell how much of each there is (by EM), and this prior makes a posterior of each estimate
(Stephens, *False discovery rates: a new deal*, 2017).
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import special

from isotopic.arrays import Array

# The grid: from half of the smallest standard error to twice the largest estimate, by factors. What
# is smaller can hardly be told from zero.
_FACTOR = 2.0
_LARGEST_GRID = 30

# Counts that the prior of the mixture adds: more for the point mass, so that few estimates, or
# doubtful ones, count as zero.
_NULL_COUNT, _COUNT = 10.0, 1.0

_EM_STEPS, _EM_TOLERANCE = 1000, 3e-5

# Estimates that the mixture is fitted to, at most, and whose posteriors are computed at a time.
_MOST_FITTED, _AT_A_TIME = 10_000, 2**16


@dataclass(frozen=True, eq=False)
class Shrunken:
    """The posterior of each estimate.

    Attributes
    ----------
    mean, sd : ndarray
        Mean and standard deviation of the posterior.
    lfsr : ndarray
        Local false sign rate: the probability that the sign of the estimate is wrong, or that the
        true value is zero. One without information.
    """

    mean: Array
    sd: Array
    lfsr: Array


@dataclass(frozen=True, eq=False)
class Prior:
    """A mixture of normal distributions around zero; the first has no variance."""

    variances: Array
    shares: Array

    def likelihoods(self, estimates: Array, errors: Array) -> Array:
        """Return the density of each estimate in each part, relative to its largest."""
        total = self.variances + errors[:, np.newaxis] ** 2
        logs = -0.5 * (estimates[:, np.newaxis] ** 2 / total + np.log(total))
        return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))

    def posterior(self, estimates: Array, errors: Array) -> Shrunken:
        """Return the posterior of each estimate."""
        parts = self.shares * self.likelihoods(estimates, errors)
        parts /= parts.sum(axis=1, keepdims=True)
        square = errors[:, np.newaxis] ** 2
        kept = self.variances / (self.variances + square)
        means, variances = kept * estimates[:, np.newaxis], kept * square
        mean = (parts * means).sum(axis=1)
        second = (parts * (means**2 + variances)).sum(axis=1)
        sd = np.sqrt(np.maximum(second - mean**2, 0))
        ratios = means[:, 1:] / np.sqrt(variances[:, 1:])
        below = (parts[:, 1:] * special.ndtr(-ratios)).sum(axis=1)
        above = (parts[:, 1:] * special.ndtr(ratios)).sum(axis=1)
        return Shrunken(mean, sd, np.minimum(parts[:, 0] + np.minimum(below, above), 1.0))


def shrink(estimates: Array, errors: Array) -> Shrunken:
    """Return the posteriors of estimates under the prior that all of them together suggest.

    Parameters
    ----------
    estimates, errors : ndarray of the same shape
        Estimates of quantities that are often near zero, and their standard errors. An infinite
        error is no information: the estimate counts as 0, with a false sign rate of 1.
    """
    is_known = np.isfinite(errors) & (errors > 0)
    mean, sd, lfsr = np.zeros(estimates.shape), np.zeros(estimates.shape), np.ones(estimates.shape)
    if is_known.any():
        known = estimates[is_known], errors[is_known]
        prior = fit_prior(*known)
        edges = [*range(0, len(known[0]), _AT_A_TIME), len(known[0])]
        found = [prior.posterior(known[0][a:b], known[1][a:b]) for a, b in pairwise(edges)]
        mean[is_known] = np.concatenate([part.mean for part in found])
        sd[is_known] = np.concatenate([part.sd for part in found])
        lfsr[is_known] = np.concatenate([part.lfsr for part in found])
    return Shrunken(mean, sd, lfsr)


def fit_prior(estimates: Array, errors: Array) -> Prior:
    """Return the mixture that makes the estimates most probable.

    Of very many estimates some are used, evenly spaced in the order of their z-scores.
    """
    if len(estimates) > _MOST_FITTED:
        order = np.argsort(estimates / errors, kind="stable")
        chosen = order[np.linspace(0, len(order) - 1, _MOST_FITTED).round().astype(int)]
        estimates, errors = estimates[chosen], errors[chosen]
    smallest = float(errors.min()) / 2
    excess = float(np.max(estimates**2 - errors**2))
    largest = max(2 * np.sqrt(max(excess, 0.0)), 8 * smallest)
    steps = int(np.ceil(np.log(largest / smallest) / np.log(_FACTOR)))
    grid = largest / _FACTOR ** np.arange(min(steps, _LARGEST_GRID), -1, -1)
    variances = np.concatenate([[0.0], grid**2])
    shares = np.full(len(variances), 1 / len(variances))
    likelihoods = Prior(variances, shares).likelihoods(estimates, errors)
    added = np.full(len(variances), _COUNT - 1)
    added[0] = _NULL_COUNT - 1
    for _ in range(_EM_STEPS):
        counts = shares * (likelihoods.T @ (1 / (likelihoods @ shares))) + added
        updated = counts / counts.sum()
        change, shares = np.abs(updated - shares).max(), updated
        if change < _EM_TOLERANCE:
            break
    return Prior(variances, shares)
