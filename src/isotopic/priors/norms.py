"""Topics of unit l_p norm."""

from dataclasses import dataclass, field
from numbers import Real

import numpy as np

from isotopic.arrays import Array
from isotopic.elementwise import distance, row_sums
from isotopic.priors.base import Posterior, Prior, Totals, as_column
from isotopic.priors.penalties import positive_root
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class UnitNorm(Prior):
    r"""Non-negative rows of unit :math:`l_p` norm, :math:`p > 1`.

    With a penalty on the weights this is the paper's sparse problem. It is solved as in Theorem
    F.1: the norm moves into the penalty, and the objective no longer depends on the scale of a
    topic,

    .. math:: D(X \| HW) + R(H \operatorname{diag}(\|w_1\|_p, \ldots, \|w_K\|_p)).

    With a penalty :math:`\lambda \sum \rho(h)` the last term has the tangent
    :math:`\|w_k\|_p M_k` in the norms, :math:`M_k = \sum_d h_{dk} \lambda \rho'(h_{dk})` at unit
    norm (exact for the Lasso), and the norm in turn has the separable majorizer

    .. math:: \|w\|_p \le 1 + \frac1p \Big(\sum_v w_v^p - 1\Big),

    which is the tangent of :math:`z^{1/p}` and touches at unit norm. So an entry becomes the root
    of :math:`\text{totals} \cdot w + M_k w^p = \text{counts}`, for :math:`p = 2` of a quadratic.
    Then each topic is divided by its norm and its weights are multiplied by it, which changes no
    product.

    Parameters
    ----------
    p : float, default=2.0
        The order p of the norm, above 1 and finite. For p = 1 use :class:`Simplex`.
    pulled_by : float or ndarray of shape (components,), default=0.0
        The scale derivative :math:`M_k` of the current weights' penalty; :meth:`next_to` sets it.

    Examples
    --------
    >>> import numpy as np
    >>> from isotopic import TopicModel, UnitNorm
    >>> X = np.random.default_rng(0).poisson(2.0, (20, 8))
    >>> model = TopicModel(2, topics=UnitNorm(2.0), tol=1e-2, random_state=0).fit(X)
    >>> model.components_.shape
    (2, 8)
    """

    p: float = 2.0
    pulled_by: Totals = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.p, Real) and 1 < self.p < np.inf):
            raise ValueError(
                f"p must be a finite number above 1, not {self.p!r}. For p = 1 use Simplex()."
            )

    @property
    def norm(self) -> float:
        """The ``p`` for which rows have unit l_p norm."""
        return self.p

    def next_to(self, scale_derivative: Totals) -> "UnitNorm":
        """Return the prior of the topics, given the derivative of the weights' penalty."""
        return UnitNorm(self.p, scale_derivative)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the values scaled to unit norm; a row of zeros becomes uniform."""
        factor = self._unit(values, row_norms(values, self.p))
        return Posterior(factor, factor)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the roots, scaled to unit norm."""
        roots = positive_root(counts, totals, self._pull, self.p)
        norms = row_norms(roots, self.p)
        factor = self._unit(roots, norms)
        return Posterior(factor, factor, scale=norms)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        r"""Return :math:`\sum |\text{counts} - w (\text{totals} + M w^{p-1})|`."""
        factor = posterior.mean.astype(np.float64, copy=False)
        explained = factor * totals + self._pull * factor**self.p
        return distance(counts, np.asarray(explained, counts.dtype))

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Return what the totals explain, and the rest of the mass by ``M w^p``."""
        explained = posterior.mean * totals
        rest = np.maximum(mass - explained.sum(axis=1), 0.0)  # below zero by rounding only
        return np.asarray(explained + as_column(rest) * posterior.mean**self.p)

    def initial_totals(self, counts: Array) -> Totals:
        """Return the row sums of the counts scaled to unit norm."""
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
    """Return the l_p norm of each row, in float64."""
    if p == 1:
        return np.asarray(values.sum(axis=1, dtype=np.float64))
    largest = values.max(axis=1).astype(np.float64)
    scaled = values / as_column(np.where(largest > 0, largest, 1))  # so that no power overflows
    return np.asarray(largest * (scaled**p).sum(axis=1) ** (1 / p))
