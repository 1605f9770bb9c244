"""Topics of unit norm."""

from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from isotopic.arrays import Array
from isotopic.kernels import distance, row_sums
from isotopic.priors.base import Posterior, Side, Totals, as_column
from isotopic.priors.roots import positive_root


@dataclass(frozen=True, eq=False)
class UnitNorm(Side):
    r"""Non-negative rows of unit :math:`l_p` norm, :math:`p > 1`.

    Next to weights with a penalty this is the paper's sparse problem. It is solved as its
    Theorem F.1 has it: the norm moves into the penalty, and what is minimised does not depend on
    the scale of a topic any more,

    .. math:: D(X \| HW) + R(H \operatorname{diag}(\|w_1\|_p, \ldots, \|w_K\|_p)).

    With a penalty :math:`\lambda \sum \rho(h)` the last term has the tangent
    :math:`\|w_k\|_p M_k` in the norms, :math:`M_k = \sum_d h_{dk} \lambda \rho'(h_{dk})` at unit
    norm (for the Lasso it is no approximation), and the norm in turn the separable majorizer

    .. math:: \|w\|_p \le 1 + \frac1p \Big(\sum_v w_v^p - 1\Big),

    which is the tangent of :math:`z^{1/p}` and touches at unit norm. So an entry becomes the root
    of :math:`\text{totals} \cdot w + M_k w^p = \text{counts}`, for :math:`p = 2` of a quadratic.
    Then each topic is scaled to unit norm, and its weights the other way: that changes nothing.

    Parameters
    ----------
    p : float, default=2.0
        Which norm; above 1 and finite. For 1 there is :class:`Simplex`.
    pulled_by : float or ndarray of shape (components,), default=0.0
        The :math:`M_k` of the weights at hand; see :meth:`beside`.
    """

    p: float = 2.0
    pulled_by: Totals = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.p, Real) and 1 < self.p < np.inf):
            raise ValueError(
                f"p must be a finite number > 1, not {self.p!r}; topics that sum to one are "
                "Simplex()"
            )

    @property
    def norm(self) -> float:
        """Which norm is one."""
        return self.p

    def next_to(self, pull: Totals) -> "UnitNorm":
        """Give the prior next to weights that pull so much."""
        return UnitNorm(self.p, pull)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Scale to unit norm; a row of zeros says nothing and becomes uniform."""
        factor = self._unit(values, row_norms(values, self.p))
        return Posterior(factor, factor)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Take the roots, and scale to unit norm."""
        roots = positive_root(counts, totals, self._pull, self.p)
        norms = row_norms(roots, self.p)
        factor = self._unit(roots, norms)
        return Posterior(factor, factor, scale=norms)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Sum of :math:`|\text{counts} - w (\text{totals} + M w^{p-1})|`."""
        factor = posterior.mean.astype(np.float64, copy=False)
        explained = factor * totals + self._pull * factor**self.p
        return distance(counts, np.asarray(explained, counts.dtype))

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Share out what the totals explain, and the rest as the pull would have it."""
        explained = posterior.mean * totals
        rest = np.maximum(mass - explained.sum(axis=1), 0.0)  # below zero by rounding only
        return np.asarray(explained + as_column(rest) * posterior.mean**self.p)

    def initial_totals(self, counts: Array) -> Totals:
        """Take the sums of the counts at unit norm."""
        return row_sums(self.at(counts, 1.0).mean)

    @property
    def _pull(self) -> Array:
        pull = np.asarray(self.pulled_by, np.float64)
        return as_column(pull) if pull.ndim else pull

    def _unit(self, values: Array, norms: Array) -> Array:
        uniform = values.shape[1] ** (-1 / self.p)
        unit = values / as_column(np.where(norms > 0, norms, 1).astype(values.dtype))
        unit[norms == 0] = uniform
        return unit


def row_norms(values: Array, p: float) -> Array:
    """Compute the l_p norm of each row, in float64."""
    if p == 1:
        return np.asarray(values.sum(axis=1, dtype=np.float64))
    largest = values.max(axis=1).astype(np.float64)
    scaled = values / as_column(np.where(largest > 0, largest, 1))  # so that no power overflows
    return np.asarray(largest * (scaled**p).sum(axis=1) ** (1 / p))
