r"""Divergences that are minimised by multiplicative updates.

The derivative of a divergence with respect to the product :math:`\hat x` of weights and topics is
a difference ``denominator - numerator`` of two non-negative parts. Sums of these parts make a
majorizer that touches the objective at the present point, and its minimum is at

.. math:: \text{factor} \cdot
    \Big(\frac{\text{numerator}}{\text{denominator} + \text{slope}}\Big)^\gamma

with an exponent :math:`\gamma` of the divergence (Févotte & Idier 2011). A penalty that is concave
lies below its tangent, so its slope joins the denominator.

**Both sides from one pass.** The joint majorizer (Marmin, Goulart & Févotte 2023) touches the
objective in both sides at once. Next to weights that change by a ratio :math:`r`, the topics' sums
have ``weights * r**power`` in the place of the weights, with a power for each part.

**Topics that sum to one.** A penalty :math:`R` of the weights with such topics is the same as
the penalty :math:`R(w_{dk} s_k)` with topics of any scale, with :math:`s_k = \sum_v t_{kv}`
(Theorem F.1). Its tangent is :math:`\text{slope}_{dk} \sum_v w_{dk} t_{kv}`, so the topics see the
penalty too: :math:`\sum_d \text{slope}_{dk} w_{dk}` joins their denominator. Then the topics are
divided by their sums and the weights multiplied, which changes neither product nor penalty.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from isotopic.arrays import Array
from isotopic.counts import CountMatrix
from isotopic.divergences.base import Divergence, PassSums, RowsPass, RowSums
from isotopic.divergences.gradient_pass import GradientPass
from isotopic.elementwise import row_sums
from isotopic.priors import Free, Posterior, Prior
from isotopic.registry import register

# An extrapolated entry grows at most by this factor beyond what the update makes it: larger
# changes are not to be trusted.
_MAX_GROWTH = 100.0

# Rows of a pass over single samples: a fixed number, so that their bits do not depend on others.
_ROWS_PER_BLOCK = 16

# What rounding may add to an objective, in units of the precision.
_ROUNDING = 1e3


@register
class Proposal(NamedTuple):
    """The next values of both sides; it stands for :class:`~isotopic.kernels.Counts`.

    Attributes
    ----------
    weights : ndarray of shape (samples, components)
    topics : ndarray of shape (components, features)
    log_likelihood : float
        Minus the divergence.
    residual : float
        The optimality residual at the point of the pass.
    """

    weights: Array
    topics: Array
    log_likelihood: float
    residual: float


class Majorized(Divergence):
    """A divergence that is defined by its values and its gradient.

    A subclass is a frozen dataclass that writes :meth:`values` and :meth:`gradient`. Its
    ``exponent`` must be one for which the update never raises the divergence.

    Examples
    --------
    >>> from isotopic import Beta, Majorized
    >>> isinstance(Beta(0.5), Majorized)
    True
    """

    proposes_values: ClassVar[bool] = True

    @property
    def exponent(self) -> float:
        """The power to which an update takes ``numerator / denominator``."""
        return 1.0

    @property
    def joint_powers(self) -> tuple[float, float] | None:
        """The powers of the weights' ratio in the joint majorizer's two sums; None: not known."""
        return None

    @property
    def is_squared_distance(self) -> bool:
        """Whether it is half the squared distance, for which Gram matrices are enough."""
        return False

    @property
    def is_joint(self) -> bool:
        """Whether one pass serves the update of both sides."""
        return self.joint_powers is not None

    def values(self, x: Array, product: Array) -> Array:
        """Return the divergence of each entry; products are positive."""
        raise NotImplementedError

    def gradient(self, x: Array, product: Array) -> tuple[Array, Array]:
        """Return numerator and denominator; their difference is minus the derivative."""
        raise NotImplementedError

    def check_data(self, x: Array, has_zeros: bool) -> None:
        """Raise ValueError if the divergence of such data is infinite or out of range.

        Parameters
        ----------
        x : ndarray
            The positive entries.
        has_zeros : bool
            Whether there are others.
        """

    def smallest_product(self, dtype: np.dtype[Any]) -> float:
        """Return the smallest product whose gradient is finite; smaller ones are raised to it."""
        return float(np.finfo(dtype).tiny)

    def saturated(self, x: Array, missing: tuple[Array, Array] | None) -> Array:
        """Return for each row what :meth:`row_values` needs of the data alone."""
        return np.zeros(len(x))

    def row_values(
        self,
        x: Array,
        product: Array,
        saturated: Array,
        weights: Array,
        sums: tuple[Array, Array],
        missing: tuple[Array, Array] | None,
    ) -> Array:
        """Return the divergence of each row; missing entries count nothing."""
        entries = self.values(x, product)
        if missing is not None:
            entries[missing] = 0
        return np.asarray(entries.sum(axis=1, dtype=np.float64))

    def ratios(self, numerator: Array, denominator: Array) -> Array:
        """Return the ratio of the majorizer's minimum to the current factor."""
        ratios = np.divide(
            numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0
        )
        exponent = self.exponent
        return ratios if exponent == 1 else np.power(ratios, numerator.dtype.type(exponent))

    def check(self, weights: Prior, topics: Prior, X: Any) -> None:
        """Raise ValueError if a side is not a factor, or the data does not suit the divergence."""
        if weights.is_bayesian or weights.is_normalized or topics.is_bayesian:
            raise ValueError(
                f"{self!r} needs point estimates. Simplex weights, Dirichlet and Gamma sides need "
                "the Kullback-Leibler divergence."
            )
        if topics.norm not in (None, 1.0) or topics.scale_tendency == "shrinks":
            raise ValueError(
                f"{self!r} needs topics that are Free or sum to one, without a penalty of their "
                f"own; these are {type(topics).__name__}. Use Free or Simplex topics."
            )
        with np.errstate(divide="ignore"):
            slope = np.asarray(weights.slope(np.zeros((1, 1))))
        if weights.learns or topics.learns or not np.all(np.isfinite(slope)):
            raise ValueError(
                f"{self!r} needs a fixed penalty with a finite slope at zero, but the prior of the "
                f"weights is {type(weights).__name__}. Use Free, Lasso or LogPenalty weights, or "
                "the Kullback-Leibler divergence."
            )
        for prior in (weights, topics):
            if prior.counts_only_parameter:
                raise ValueError(
                    f"{prior.counts_only_parameter} are defined only for counts, which have the "
                    f"Kullback-Leibler divergence; this model has {self!r}. Use NMF, or "
                    "fixed_topics, forbidden or init=(weights, topics)."
                )
        if isinstance(X, CountMatrix):
            self._check_rows(X)

    def _check_rows(self, X: CountMatrix) -> None:
        n_missing = 0 if X.missing is None else X.missing.pattern.nnz
        positive = _positive_entries(X)
        n_zeros = X.shape[0] * X.shape[1] - positive.size - n_missing
        self.check_data(positive, has_zeros=n_zeros > 0)

    def prepare(self, X: CountMatrix) -> GradientPass:
        """Return the pass over some samples, whose data is checked."""
        self._check_rows(X)
        return GradientPass(self, X)

    def counts(self, sums: PassSums, prior: Prior, topics: Posterior) -> Any:
        """Return the next values of both sides; fixed topics keep theirs."""
        weights, proposal = sums.weights, topics.mean[:0]
        if len(sums.topics):
            proposal = topics.mean * self.ratios(*sums.topics[-2:])
            proposal[: prior.held_rows] = topics.mean[: prior.held_rows]
        if len(sums.topics) == 4 and prior.is_normalized:  # both sides are final: scale them now
            scale = row_sums(proposal)
            scale[scale == 0] = 1
            proposal = proposal / scale[:, np.newaxis].astype(proposal.dtype)
            weights = scale_rows(weights, scale)
        residual = self.residual(sums, prior, topics)
        return Proposal(weights, proposal, sums.log_likelihood, residual)

    def residual(self, sums: PassSums, prior: Prior, topics: Posterior) -> float:
        """Return the optimality residual at the point of a pass."""
        gap = sums.gap
        if len(sums.topics):
            pull = np.asfortranarray(topics.mean * (sums.topics[0] - sums.topics[1]))
            gap = max(gap, prior.gap(topics, pull, 0.0))
        return gap / sums.mass if sums.mass > 0 else 0.0

    def extrapolate(
        self,
        latest: Array,
        previous: Array,
        totals: Array,
        *,
        momentum: Array | float,
        floor: Array | float,
    ) -> Array:
        """Extrapolate factors; rows keep the scale that they get."""
        power, least = (
            np.reshape(given, (-1, 1)).astype(latest.dtype) for given in (momentum, floor)
        )
        change = np.divide(latest, previous, out=np.zeros_like(latest), where=previous > 0)
        growth = np.minimum(np.minimum(change, _MAX_GROWTH**2) ** power, _MAX_GROWTH)
        kept = np.where(latest > 0, latest.sum(axis=1, keepdims=True) * least, 0)
        return np.asarray(np.maximum(latest * growth, kept).astype(latest.dtype))

    def prepare_rows(
        self, problem: Any, X: CountMatrix, topics: Posterior
    ) -> Callable[[Array], RowsPass]:
        """Return the function that selects samples for passes with the topics fixed."""
        factor = np.ascontiguousarray(topics.mean)

        def select(which: Array) -> GradientRows:
            gradients = GradientPass(self, X.rows(which), _ROWS_PER_BLOCK)
            return GradientRows(gradients, problem.weights.rows(which), factor)

        return select

    def row_scores(self, X: CountMatrix, weights: Array, topics: Array) -> Array:
        """Return minus the divergence of each sample."""
        found = GradientPass(self, X).gradients(Free(), weights, topics, weights_only=True)
        return -found.values

    def row_units(self, X: Any) -> Array:
        """Return the number of entries of each sample that are not missing."""
        entries = np.full(X.shape[0], float(X.shape[1]))
        return entries if X.missing is None else entries - np.diff(X.missing.pattern.indptr)


@dataclass(frozen=True)
class GradientRows:
    """A pass over some samples on their own."""

    gradients: GradientPass
    prior: Prior
    topics: Array

    def absorb(self, counts: Array) -> Posterior:
        """Return the weights at their next values."""
        return self.prior.at(counts, 1.0)

    def evaluate(self, weights: Posterior, absorbed: Array | None) -> RowSums:
        """Return the sums at these weights."""
        factor = weights.mean
        found = self.gradients.gradients(self.prior, factor, self.topics, weights_only=True)
        numerator, denominator = found.weights
        slope = self.prior.slope(factor)
        gaps = np.abs((numerator - denominator - slope) * factor).sum(axis=1, dtype=np.float64)
        whole = (numerator * factor).sum(axis=1, dtype=np.float64)
        residuals = np.where(gaps > 0, np.inf, 0.0)  # nothing in the data asks for weights
        np.divide(gaps, whole, out=residuals, where=whole > 0)
        objectives = found.values if weights.terms is None else found.values + weights.terms
        rounding = _ROUNDING * np.finfo(factor.dtype).eps * whole
        return RowSums(found.proposal, -found.values, objectives, residuals, rounding)

    def extrapolate(self, latest: Array, previous: Array, momentum: Array, floor: Array) -> Array:
        """Return the next values extrapolated along their last change."""
        totals = self.gradients.X.sample_totals
        return self.gradients.divergence.extrapolate(
            latest, previous, totals, momentum=momentum, floor=floor
        )


def scale_rows(rows: Any, scale: Array | None) -> Any:
    """Multiply each component of the weights, in memory or in a store, with its scale."""
    if scale is None:
        return rows
    return rows * scale.astype(rows.dtype) if isinstance(rows, np.ndarray) else rows.scaled(scale)


def _positive_entries(X: CountMatrix) -> Array:
    """Return the entries that are not zero, as each sample has them."""
    if X.is_sparse:
        copies = None if X.copies is None else np.repeat(X.copies, np.diff(X.row_starts))
        return X.values if copies is None else X.values / copies.astype(X.dtype)
    once = X.dense if X.copies is None else X.dense / X.copies[:, np.newaxis].astype(X.dtype)
    return once if once.min(initial=1) > 0 else np.asarray(once[once > 0])
