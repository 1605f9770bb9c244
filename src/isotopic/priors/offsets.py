"""Priors around the prior of Poisson weights: what is known of each sample beforehand."""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from isotopic.arrays import Array
from isotopic.priors.base import Evidence, Posterior, Prior, Totals, as_column
from isotopic.priors.wrappers import Wrapper


@dataclass(frozen=True, eq=False)
class WithSizeFactors(Wrapper):
    r"""Samples of known sizes: the prior is about the weights of a sample of size one.

    .. math:: x_{dv} \sim \operatorname{Poisson}\Big(s_d \sum_k h_{dk} t_{kv}\Big)

    A sample of size :math:`s_d` sees :math:`s_d` times the topics, so its weights :math:`h` absorb
    their counts with :math:`s_d` times the totals. Everybody else sees weights :math:`s_d h_{dk}`:
    the kernel, the mass and the topics need not know.

    Parameters
    ----------
    prior : Prior
        Of the weights :math:`h`. Not of proportions, which have no size.
    size_factors : ndarray of shape (samples,)
        The sizes :math:`s_d`; positive.
    """

    prior: Prior
    size_factors: Array = field(repr=False)

    @property
    def sizes(self) -> Array:  # type: ignore[override]
        """What each row was multiplied with."""
        return self.size_factors

    def rows(self, which: Array) -> Self:
        """Give the prior of some samples only."""
        return replace(self, prior=self.prior.rows(which), size_factors=self.sizes[which])

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take the factor with the sizes in it, or the parameters of the posterior."""
        own = values if self.is_bayesian else values / self._column(values)
        return self.sized(self.prior.at(own, self._seen(totals)))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Absorb the counts with as much of the topics as the size shows."""
        return self.sized(self.prior.absorb(counts, self._seen(totals)))

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure for size one."""
        return self.prior.gap(self.unsized(posterior), counts, self._seen(totals), copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Find the prior's counts."""
        return self.prior.implied_counts(self.unsized(posterior), mass, self._seen(totals))

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        """Pull at the weights for size one."""
        return self.prior.scale_derivative(self.unsized(posterior), copies)

    def inside(self, evidence: Evidence) -> Evidence:
        """Let the prior learn for size one."""
        return evidence._replace(totals=self._seen(evidence.totals))

    def sized(self, posterior: Posterior) -> Posterior:
        """Multiply the weights with the sizes."""
        return _times(posterior, self._column(posterior.mean))

    def unsized(self, posterior: Posterior) -> Posterior:
        """Give the weights for size one."""
        return _times(posterior, 1 / self._column(posterior.mean))

    def _seen(self, totals: Totals) -> Array:
        return np.asarray(as_column(self.sizes) * totals)

    def _column(self, like: Array) -> Array:
        return as_column(self.sizes.astype(like.dtype))


@dataclass(frozen=True, eq=False)
class WithFixedWeights(Wrapper):
    """Weights of which those of the first components are given, and the others inferred.

    With a topic that is given as well, a component is a known background.

    The prior sees components without counts and without totals in their place: of these it makes
    what it thought before, and they add nothing to its term.

    Parameters
    ----------
    prior : Prior
        Of all weights. Not of proportions.
    given : ndarray of shape (samples, given components)
    """

    prior: Prior
    given: Array = field(repr=False)

    def rows(self, which: Array) -> Self:
        """Give the prior of some samples only."""
        return replace(self, prior=self.prior.rows(which), given=self.given[which])

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Take what the prior takes, of the other weights."""
        if self.is_bayesian:
            counts = self.prior.at(values, totals).explained
            assert counts is not None
            return self.absorb(counts, totals)
        seen = self._without_totals(totals, values.shape)
        return self._joined(self.prior.at(self._without(values), seen), values)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Let the other weights absorb their counts."""
        seen = self._without_totals(totals, counts.shape)
        return self._joined(self.prior.absorb(self._without(counts), seen), counts)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Measure the other weights."""
        explained = posterior.explained
        others = replace(
            posterior,
            mean=self._without(posterior.mean),
            effective=self._without(posterior.effective),
            explained=None if explained is None else self._without(explained),
        )
        seen = self._without_totals(totals, counts.shape)
        return self.prior.gap(others, self._without(counts), seen, copies)

    def inside(self, evidence: Evidence) -> Evidence:
        """Let the prior learn from the other weights."""
        counts, squares, totals, copies = evidence
        squares = None if squares is None else self._without(squares)
        seen = self._without_totals(totals, counts.shape)
        return Evidence(self._without(counts), squares, seen, copies)

    def _without(self, side: Array) -> Array:
        """Put zeros in the place of what is given."""
        side = side.copy("K")
        side[:, : self.given.shape[1]] = 0
        return side

    def _without_totals(self, totals: Totals, shape: tuple[int, ...]) -> Array:
        return self._without(np.broadcast_to(np.asarray(totals, np.float64), shape))

    def _joined(self, others: Posterior, counts: Array) -> Posterior:
        """Put in what is given; it has no posterior."""
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
    """Multiply a posterior's values, keeping a point its own effective factor."""
    mean = posterior.mean * factor
    point = posterior.effective is posterior.mean
    return replace(posterior, mean=mean, effective=mean if point else posterior.effective * factor)
