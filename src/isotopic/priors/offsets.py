"""Wrappers for what is known about samples of Poisson models: sizes, and given weights."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from isotopic.arrays import Array
from isotopic.priors.base import Posterior, Prior, Totals, as_column
from isotopic.priors.hyperparameters import Evidence
from isotopic.priors.wrapper import Wrapper
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class WithSizeFactors(Wrapper):
    r"""Samples of known sizes: the inner prior is that of the weights of a sample of size one.

    .. math:: x_{dv} \sim \operatorname{Poisson}\Big(s_d \sum_k h_{dk} t_{kv}\Big)

    The weights :math:`h` of a sample of size :math:`s_d` absorb their counts with :math:`s_d` times
    the totals. The factor outside of this prior is :math:`s_d h_{dk}`, so kernels and topics need
    not know about sizes.

    Parameters
    ----------
    prior : Prior
        Of the weights :math:`h`; not of proportions, which have no size.
    size_factors : ndarray of shape (samples,)
        The sizes :math:`s_d`; positive.
    """

    prior: Prior
    size_factors: Array = field(repr=False)
    counts_only_parameter: ClassVar[str] = "size_factors"

    @property
    def sizes(self) -> Array:  # type: ignore[override]
        """The size factor of each row."""
        return self.size_factors

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the factor, which contains the sizes, or a posterior with these parameters."""
        own = values if self.is_bayesian else values / self._column(values)
        return self.sized(self.prior.at(own, self._scaled(totals)))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return what the prior makes of counts and totals times sizes."""
        return self.sized(self.prior.absorb(counts, self._scaled(totals)))

    def penalty(self, factor: Array) -> Array | None:
        """Return the penalty of the weights for size one."""
        return self.prior.penalty(factor / self._column(factor))

    def slope(self, factor: Array) -> Totals:
        """Return the derivative of the penalty with respect to weights times sizes."""
        sizes = self._column(factor)
        return np.asarray(self.prior.slope(factor / sizes) / sizes)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Return the gap of the weights for size one."""
        return self.prior.gap(self.unsized(posterior), counts, self._scaled(totals), copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Return the counts that the weights for size one imply."""
        return self.prior.implied_counts(self.unsized(posterior), mass, self._scaled(totals))

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        """Return the derivative of the penalty of the weights for size one."""
        return self.prior.scale_derivative(self.unsized(posterior), copies)

    def with_posterior_means(self) -> Prior:
        """Return a prior that uses posterior means; proportions have no size."""
        prior = self.prior.with_posterior_means()
        return prior if prior.is_normalized else self.around(prior)

    def inner_evidence(self, evidence: Evidence) -> Evidence:
        """Return the evidence with totals times sizes."""
        return evidence._replace(totals=self._scaled(evidence.totals))

    def sized(self, posterior: Posterior) -> Posterior:
        """Return the weights times the sizes."""
        return _times(posterior, self._column(posterior.mean))

    def unsized(self, posterior: Posterior) -> Posterior:
        """Return the weights for size one."""
        return _times(posterior, 1 / self._column(posterior.mean))

    def _scaled(self, totals: Totals) -> Array:
        return np.asarray(as_column(self.sizes) * totals)

    def _column(self, like: Array) -> Array:
        return as_column(self.sizes.astype(like.dtype))


@register
@dataclass(frozen=True, eq=False)
class WithFixedWeights(Wrapper):
    """Weights of which those of the first components are given, and the others inferred.

    If its topic is fixed as well, such a component is a known background. In place of the given
    weights the prior sees zero counts and zero totals, so they add nothing to its term.

    Parameters
    ----------
    prior : Prior
        Of all weights; not of proportions.
    given : ndarray of shape (samples, given components)
    """

    prior: Prior
    given: Array = field(repr=False)
    counts_only_parameter: ClassVar[str] = "fixed_weights"

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the given weights, and what the prior makes of the other values."""
        if self.is_bayesian:
            counts = self.prior.at(values, totals).explained
            assert counts is not None
            return self.absorb(counts, totals)
        seen = self._without_totals(totals, values.shape)
        return self._joined(self.prior.at(self._without(values), seen), values)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the given weights, and what the prior makes of the other counts."""
        seen = self._without_totals(totals, counts.shape)
        return self._joined(self.prior.absorb(self._without(counts), seen), counts)

    def penalty(self, factor: Array) -> Array | None:
        """Return the penalty of the weights that are inferred."""
        return self.prior.penalty(self._without(factor))

    def slope(self, factor: Array) -> Totals:
        """Return the slope of the weights that are inferred, and zero for the given ones."""
        slope = self.prior.slope(self._without(factor))
        return self._without(np.broadcast_to(np.asarray(slope, factor.dtype), factor.shape))

    def with_posterior_means(self) -> Prior:
        """Return the prior itself: proportions cannot contain given weights."""
        return self

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Return the gap of the weights that are inferred."""
        explained = posterior.explained
        others = replace(
            posterior,
            mean=self._without(posterior.mean),
            effective=self._without(posterior.effective),
            explained=None if explained is None else self._without(explained),
        )
        seen = self._without_totals(totals, counts.shape)
        return self.prior.gap(others, self._without(counts), seen, copies)

    def inner_evidence(self, evidence: Evidence) -> Evidence:
        """Return the evidence of the weights that are inferred."""
        counts, squares, totals, copies = evidence
        squares = None if squares is None else self._without(squares)
        seen = self._without_totals(totals, counts.shape)
        return Evidence(self._without(counts), squares, seen, copies)

    def _without(self, side: Array) -> Array:
        """Return the array with zeros in place of the given weights."""
        side = side.copy("K")
        side[:, : self.given.shape[1]] = 0
        return side

    def _without_totals(self, totals: Totals, shape: tuple[int, ...]) -> Array:
        return self._without(np.broadcast_to(np.asarray(totals, np.float64), shape))

    def _joined(self, others: Posterior, counts: Array) -> Posterior:
        """Return the posterior with the given weights, which have no parameters."""
        here = np.s_[:, : self.given.shape[1]]
        mean = others.mean.copy("K")
        mean[here] = self.given
        if others.explained is None:
            return replace(others, mean=mean, effective=mean)
        parts = {
            "effective": (others.effective, self.given),
            "parameters": (others.parameters, np.nan),
            "rates": (others.rates, np.nan),
            "explained": (others.explained, counts[here]),
        }
        filled = {name: np.array(part) for name, (part, _) in parts.items()}
        for name, (_, known) in parts.items():
            filled[name][here] = known
        return replace(others, mean=mean, **filled)


def _times(posterior: Posterior, factor: Array) -> Posterior:
    """Return the posterior times a factor; a point estimate stays its own effective factor."""
    mean = posterior.mean * factor
    is_point = posterior.effective is posterior.mean
    return replace(
        posterior, mean=mean, effective=mean if is_point else posterior.effective * factor
    )
