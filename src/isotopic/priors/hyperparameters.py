"""Learning the settings of Dirichlet and Gamma priors from the counts of their sides."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import gamma_functions
from isotopic.priors.base import Evidence

# A concentration that falls below this has run out of counts to speak for it.
LEAST = 1e-3

# Each learned concentration is exponential beforehand, with this rate: where rows are all alike,
# the likelihood alone would have it grow forever.
RATE = 1.0

# Updates in a lesson; fewer if they no longer change much.
_UPDATES = 20
_LITTLE = 1e-3


S = TypeVar("S")


def settled(update: Callable[[S], S], now: S, moved: Callable[[S, S], bool]) -> S:
    """Update settings until that changes little, or often enough."""
    for _ in range(_UPDATES):
        before, now = now, update(now)
        if not moved(now, before):
            break
    return now


def moved(now: Any, before: Any) -> bool:
    """Tell whether settings changed by more than a little."""
    return bool(np.any(np.abs(np.subtract(now, before)) > _LITTLE * np.asarray(now)))


class Occurrence(NamedTuple):
    r"""How likely each count is to be there at all, and what it is expected to be if it is.

    The likelihood of a concentration needs :math:`E[\log\Gamma(\alpha + n)]`, which bends sharply
    between a count of zero and one. So zero is treated apart, as in Teh, Newman & Welling (2007).
    """

    probability: Array
    size: Array


def certain(counts: Array) -> Occurrence:
    """Take the expected counts for the counts themselves, as the variational bound does."""
    return Occurrence(np.ones(1), counts)


def uncertain(counts: Array, squares: Array | None, prior: Array) -> Occurrence:
    r"""Take each expected count as the sum of draws that go together.

    Each has the share :math:`s = \sum x\phi^2 / \sum x\phi`. A component that one draw of a row
    belongs to is likely to have the others too, the more so the smaller its concentration
    :math:`\alpha`: of :math:`m = n/s` draws

    .. math:: P(c) \propto \binom{m}{c} r^c \, \Gamma(\alpha + c)

    belong to it. With the mean :math:`n` the curvature of its logarithm there gives the variance
    :math:`n D`, and a (negative) binomial count with these two is zero with probability

    .. math:: D^{-n / (D - 1)}, \qquad D = \frac{(1 - s)(\alpha + n)}{\alpha + s n}.

    Draws on their own (:math:`D = 1 - s`, the limit of a large concentration) would have a count
    there too often, and teach concentrations that are too large. Without squares there is no more
    to go by than that, and the draws are many and small: :math:`D = 1`.

    Parameters
    ----------
    counts : ndarray of shape (rows, columns)
    squares : ndarray of shape (rows, columns) or None
    prior : ndarray that broadcasts to (rows, columns)
        The concentrations of now; where they are zero, so are the counts.
    """
    spread = np.ones_like(counts)
    if squares is not None:
        share = np.divide(squares, counts, out=np.zeros_like(counts), where=counts > 0)
        share = np.clip(share, 0, 1 - 1e-9)  # one is a limit
        parameters, seen = prior + counts, prior + share * counts
        np.divide((1 - share) * parameters, seen, out=spread, where=seen > 0)
    probability = -np.expm1(-counts * _log_ratio(spread))
    size = np.divide(counts, probability, out=np.ones_like(counts), where=probability > 0)
    return Occurrence(probability, size)


def _log_ratio(x: Array) -> Array:
    """Compute ``log(x) / (x - 1)``, which is 1 at 1."""
    beyond = x - 1
    ratio = np.divide(np.log1p(beyond), beyond, out=np.ones_like(x), where=beyond != 0)
    return np.asarray(ratio)


def concentration_tally(
    concentration: Array,
    occurrence: Occurrence,
    totals: Array,
    *,
    symmetric: bool,
    seeds: Array | None = None,
    forbidden: Array | None = None,
    copies: Array | None = None,
) -> Array:
    r"""Add up over rows the two sums of an update of the concentration (Minka's fixed point).

    .. math:: \alpha_j \leftarrow
        \frac{\sum_i \alpha_j p_{ij} (\psi(\alpha_j + s_{ij} + n_{ij}) - \psi(\alpha_j + s_{ij}))}
             {r + \sum_i \psi(A_i + N_i) - \psi(A_i)}, \qquad
        A_i = \sum_j \alpha_j + s_{ij}

    with the rate :math:`r` of its exponential prior and the counts :math:`s` that were seen
    beforehand. Each update maximises a lower bound that touches the posterior, so it never lowers
    it.

    Parameters
    ----------
    concentration : ndarray that broadcasts to (rows, columns)
        Where it starts.
    occurrence : Occurrence
    totals : ndarray of shape (rows,)
        The counts of each row.
    symmetric : bool
        Whether all columns share one number.
    seeds : ndarray of shape (rows, columns) or None
        Counts that were seen beforehand.
    forbidden : ndarray of bool of shape (rows, columns) or None
        Entries that are not there.
    copies : ndarray of shape (rows,) or None
        How often each row counts.

    Returns
    -------
    sufficient_statistics : ndarray of shape (2, 1, 1) or (2, 1, columns)
        Those of all rows are the sum of those of any parts of them.
    """
    shape, axis = occurrence.size.shape, None if symmetric else 0
    there = np.ones((1, 1)) if forbidden is None else ~forbidden
    by_row = there if copies is None else there * copies[:, np.newaxis]
    now = np.atleast_2d(np.asarray(concentration, np.float64))
    prior = now if seeds is None else now + seeds
    rises = gamma_functions(prior + occurrence.size)[0] - gamma_functions(prior)[0]
    sums = np.broadcast_to(prior * there, shape).sum(axis=1)
    push = gamma_functions(sums + totals)[0] - gamma_functions(sums)[0]
    pulled = (by_row * now * occurrence.probability * rises).sum(axis=axis, keepdims=True)
    pushed = np.broadcast_to(by_row * push[:, np.newaxis], shape)
    return np.stack([pulled, pushed.sum(axis=axis, keepdims=True)])


def concentration_of(tally: Array) -> Array:
    """Update the concentration, from the sums over all rows."""
    pulled, pushed = tally
    return np.asarray(np.maximum(pulled / (pushed + RATE), LEAST))


def learned_gamma(
    shape: Array, rate: Array, evidence: Evidence, *, symmetric: bool, votes: Array | None = None
) -> tuple[Array, Array]:
    r"""Raise the likelihood of the counts, which are negative binomial.

    .. math:: \alpha \leftarrow \frac{\sum \alpha (\psi(\alpha + n) - \psi(\alpha))}
                                {\sum \log((a + T) / a)}, \qquad
        a \leftarrow \frac{\sum \alpha}{\sum (\alpha + n) / (a + T)}

    with the other side's totals :math:`T`. The first maximises a bound that touches the likelihood
    (as Minka's does), the second is an EM step: neither lowers it.

    Parameters
    ----------
    shape, rate : ndarray that broadcasts to the side
    evidence : Evidence
    symmetric : bool
        Whether all entries share them, or only those of a column.
    votes : ndarray of bool or None
        The entries that count. A column of which none does keeps what it has.

    Returns
    -------
    shape, rate : ndarray of shape (1, 1) or (1, columns)
    """
    axis = None if symmetric else 0
    shape, rate = (
        np.broadcast_to(setting, evidence.counts.shape).mean(axis=axis, keepdims=True)
        for setting in (shape, rate)
    )

    def update(now: tuple[Array, Array]) -> tuple[Array, Array]:
        tally = gamma_tally(now[0], now[1], evidence, symmetric=symmetric, votes=votes)
        return gamma_of(tally, *now)

    return settled(update, (shape, rate), lambda now, before: moved(now[0], before[0]))


def gamma_tally(
    shape: Array, rate: Array, evidence: Evidence, *, symmetric: bool, votes: Array | None = None
) -> Array:
    """Add up over rows the sums of an update: see :func:`learned_gamma`.

    Returns
    -------
    sufficient_statistics : ndarray of shape (6, 1, 1) or (6, 1, columns)
        Those of all rows are the sum of those of any parts of them.
    """
    counts = evidence.counts.astype(np.float64, copy=False)
    by_row = np.ones((1, 1)) if evidence.copies is None else evidence.copies[:, np.newaxis]
    weight = np.broadcast_to(by_row if votes is None else by_row * votes, counts.shape)
    totals = np.asarray(evidence.totals, np.float64)
    shape = np.atleast_2d(shape)
    rises = gamma_functions(counts + shape)[0] - gamma_functions(shape)[0]
    inverse = 1 / (rate + totals)
    sums = (shape * rises, np.log1p(totals / rate), counts * inverse, inverse, 1.0, totals)
    axis = None if symmetric else 0
    return np.stack(
        [
            (np.broadcast_to(values, counts.shape) * weight).sum(axis=axis, keepdims=True)
            for values in sums
        ]
    )


def gamma_of(tally: Array, shape: Array, rate: Array) -> tuple[Array, Array]:
    """Update shape and rate, from the sums over all rows."""
    pulled, falls, means, inverse, entries, totals = tally
    heard = totals > 0  # the others stay as they are
    learned = np.divide(pulled, falls, out=np.ones_like(falls), where=heard)
    shape = np.where(heard, np.maximum(learned, LEAST), _level(shape, falls))
    expected = shape * inverse + means
    return shape, np.divide(shape * entries, expected, out=_level(rate, falls), where=heard)


def _level(setting: Array, like: Array) -> Array:
    """Give the mean of settings that are to be shared from now on."""
    axis = None if like.shape == (1, 1) else 0
    mean = np.atleast_2d(np.asarray(setting, np.float64)).mean(axis=axis, keepdims=True)
    return np.broadcast_to(mean, like.shape).copy()
