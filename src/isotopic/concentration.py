"""What counts say about the concentration of their prior: histograms and slopes."""

from enum import IntEnum

import numpy as np

from isotopic._core import native
from isotopic.arrays import Array
from isotopic.elementwise import table
from isotopic.threads import current_threads


class Occurs(IntEnum):
    """How a concentration is learned: from observed counts, or from sums of random draws."""

    ALWAYS = 0  # they are observed
    INDEPENDENTLY = 1  # sums of many small draws
    DEPENDENTLY = 2  # sums of dependent draws, of which each has a share


def count_histogram(
    counts: Array, squares: Array | None = None, copies: Array | None = None, *, by_column: bool
) -> Array:
    """Return the histograms of positive counts and their shares, as flat rows of sums.

    There is one for each column if ``by_column``, else one for all. ``copies`` are the
    sample weights of the rows. Histograms of parts of the rows can be added.
    """
    needs_rows = by_column or copies is not None
    counts, turned = table(np.ascontiguousarray(counts) if needs_rows else counts)
    if squares is not None:
        squares = np.ascontiguousarray(squares.T if turned else squares, counts.dtype)
    if copies is not None:
        copies = np.ascontiguousarray(copies, np.float64)
    groups = counts.shape[1] if by_column else 1
    histogram = np.empty((groups, native.HISTOGRAM_SIZE))
    native.count_histogram(counts, squares, copies, by_column, histogram, current_threads())
    return histogram


def concentration_rises(histogram: Array, concentration: Array, occurs: Occurs) -> Array:
    r"""Return the sum of digamma differences over the counts :math:`n` of each histogram.

    .. math:: \sum p\, (\psi(a + n / p) - \psi(a))

    with the concentration :math:`a` of the histogram and the probability :math:`p` that a count
    is positive; see :func:`concentration_slopes`.
    """
    sums = np.empty(len(histogram))
    concentration = np.ascontiguousarray(concentration, np.float64)
    native.concentration_rises(histogram, concentration, int(occurs), sums, current_threads())
    return sums


def concentration_slopes(
    counts: Array, squares: Array | None, concentration: Array, occurs: Occurs
) -> tuple[Array, Array]:
    r"""Return what the log-likelihood of counts gains and loses by a larger concentration.

    .. math:: p_{ij} (\psi(\alpha_{ij} + n_{ij} / p_{ij}) - \psi(\alpha_{ij})), \qquad
        \psi(A_i + N_i) - \psi(A_i)

    of shapes (rows, columns) and (rows,). The difference is its derivative. Where the
    ``concentration``, a matrix with one row or one for each, is zero, there is nothing to gain.

    The likelihood needs :math:`E[\log\Gamma(\alpha + n)]`, which bends sharply between a count of
    zero and one. So zero is treated apart, as in Teh, Newman & Welling (2007): :math:`p` is the
    probability that a count is positive. Of dependent draws, each has the share
    :math:`s = \sum x\phi^2 / \sum x\phi`. If one draw of a row belongs to a component, the others
    are likely to belong to it too, and more so the smaller its concentration: of :math:`m = n/s`
    draws

    .. math:: P(c) \propto \binom{m}{c} r^c \, \Gamma(\alpha + c)

    belong to it. With the mean :math:`n` the curvature of its logarithm there gives the variance
    :math:`n D`, and a (negative) binomial count with these two is positive with probability

    .. math:: p = 1 - D^{-n / (D - 1)}, \qquad D = \frac{(1 - s)(\alpha + n)}{\alpha + s n}.

    Independent draws of a share (:math:`D = 1 - s`, the limit of a large concentration) would give
    positive counts too often, and learned concentrations would be too large. If the share is
    unknown, the draws are taken to be many and small: :math:`D = 1`.
    """
    counts = np.ascontiguousarray(counts)
    if squares is not None:
        squares = np.ascontiguousarray(squares, counts.dtype)
    gains, losses = np.empty(counts.shape), np.empty(len(counts))
    rows = len(concentration)
    prior = np.ascontiguousarray(np.broadcast_to(concentration, (rows, counts.shape[1])), float)
    native.concentration_slopes(
        counts, squares, prior, int(occurs), gains, losses, current_threads()
    )
    return gains, losses
