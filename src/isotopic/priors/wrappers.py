"""Wrappers for what a user knows: sample weights, fixed topics, seeds, forbidden features."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from isotopic.arrays import Array
from isotopic.elementwise import row_sums
from isotopic.priors.base import Posterior, Prior, Totals, as_column
from isotopic.priors.bayesian import Bayesian
from isotopic.priors.hyperparameters import Evidence
from isotopic.priors.wrapper import Wrapper
from isotopic.registry import register


@register
@dataclass(frozen=True, eq=False)
class SampleWeighted(Wrapper):
    """Samples with sample weights.

    A sample with the sample weight two has the same weights as with one, and adds twice its counts
    to the topics: as if it occurred twice in the data.

    Parameters
    ----------
    prior : Prior
        The prior of the weights of a sample with the sample weight one.
    copies : ndarray of shape (samples,)
        The sample weights; positive.
    """

    prior: Prior
    copies: Array = field(repr=False)  # type: ignore[misc]

    @property
    def linear_penalty(self) -> float | None:  # type: ignore[override]
        """The strength of the inner prior's l1 penalty."""
        return self.prior.linear_penalty

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the weights of each sample, with the term of all its copies."""
        return self.repeated(self.prior.at(values, totals))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the weights of one copy of each sample, from the counts of all."""
        each = counts / as_column(self.copies.astype(counts.dtype))
        return self.repeated(self.prior.absorb(each, totals))

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Return the gap, with sample weights."""
        return self.prior.gap(posterior, counts, totals, self.copies)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Return the counts of all copies."""
        each = self.prior.implied_counts(posterior, mass / self.copies, totals)
        return np.asarray(each * as_column(self.copies))

    def scale_derivative(self, posterior: Posterior, copies: Array | None = None) -> Totals:
        """Return the derivative of the penalty of all copies."""
        return self.prior.scale_derivative(posterior, self.copies)

    def inner_evidence(self, evidence: Evidence) -> Evidence:
        """Return the evidence of one copy of each sample, with the sample weights."""
        copies = as_column(self.copies.astype(evidence.counts.dtype))
        squares = None if evidence.squares is None else evidence.squares / copies
        return Evidence(evidence.counts / copies, squares, evidence.totals, self.copies)

    def repeated(self, posterior: Posterior) -> Posterior:
        """Return the posterior with the term of each sample times its copies."""
        if posterior.terms is None:
            return posterior
        return replace(posterior, terms=posterior.terms * self.copies)


@register
@dataclass(frozen=True, eq=False)
class WithFixedTopics(Wrapper):
    """Topics of which the first ones are fixed, and the others learned.

    Parameters
    ----------
    prior : Prior
        Of the topics that are learned.
    held : ndarray of shape (fixed topics, features)
    """

    prior: Prior
    held: Array = field(repr=False)

    @property
    def held_rows(self) -> int:  # type: ignore[override]
        """The number of fixed topics."""
        return len(self.held)

    def check_shape(self, shape: tuple[int, int]) -> None:
        """Raise ValueError if a setting does not fit the topics that are learned."""
        self.prior.check_shape((shape[0] - len(self.held), shape[1]))

    def rows(self, which: Array) -> Self:
        """Return the prior of some topics, the fixed ones first."""
        held = which < len(self.held)
        if np.any(np.diff(held.astype(int)) > 0):
            raise ValueError("Fixed topics must come before the topics that are learned.")
        learned = self.prior.rows(which[~held] - len(self.held))
        return replace(self, prior=learned, held=self.held[which[held]])

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return the fixed topics, and what the prior makes of the other values."""
        return self._joined(self.prior.at(self._learned(values), self._learned(totals)), values)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return the fixed topics, and what the prior makes of the other counts."""
        learned = self.prior.absorb(self._learned(counts), self._learned(totals))
        return self._joined(learned, counts)

    def penalty(self, factor: Array) -> Array | None:
        """Return the penalty of each learned topic, and zero for fixed ones."""
        learned = self.prior.penalty(self._learned(factor))
        return None if learned is None else np.append(np.zeros(len(self.held)), learned)

    def slope(self, factor: Array) -> Totals:
        """Return the slope of learned topics, and zero for fixed ones."""
        whole = np.zeros_like(factor)
        whole[len(self.held) :] = self.prior.slope(self._learned(factor))
        return whole

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Return the gap of the topics that are learned."""
        learned = self._learned_part(posterior)
        return self.prior.gap(learned, self._learned(counts), self._learned(totals))

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Return the prior's counts of learned topics; fixed ones distribute their mass."""
        counts = posterior.mean * as_column(mass)
        learned = self._learned_part(posterior)
        counts[len(self.held) :] = self.prior.implied_counts(
            learned, self._learned(mass), self._learned(totals)
        )
        return np.asarray(counts)

    def initial_totals(self, counts: Array) -> Totals:
        """Return the sums of fixed topics, and the prior's for the others."""
        if self.is_normalized:
            return 1.0
        learned = self._learned(counts)
        totals = np.broadcast_to(self.prior.initial_totals(learned), len(learned))
        return np.append(self.held.sum(axis=1), totals)

    def predictive_factor(self, posterior: Posterior) -> Array:
        """Return the fixed topics, and the prior's factor of the others."""
        learned = self.prior.predictive_factor(self._learned_part(posterior))
        return np.asfortranarray(np.concatenate([self.held.astype(learned.dtype), learned]))

    def quantile(self, posterior: Posterior, probability: float) -> Array:
        """Return the quantiles of learned topics, and the fixed topics themselves."""
        prior: Any = self.prior
        learned = prior.quantile(self._learned_part(posterior), probability)
        return np.concatenate([self.held, learned])

    def next_to(self, scale_derivative: Totals) -> Self:
        """Return the prior of topics of unit norm, given the weights; see UnitNorm."""
        prior: Any = self.prior
        return self.around(prior.next_to(self._learned(scale_derivative)))

    def inner_evidence(self, evidence: Evidence) -> Evidence:
        """Return the evidence of the topics that are learned."""
        counts, squares, totals, copies = evidence
        squares = None if squares is None else self._learned(squares)
        return Evidence(self._learned(counts), squares, self._learned(totals), copies)

    def _learned(self, values: Any) -> Any:
        """Return the rows of the learned topics, in the layout of the kernels."""
        return values if np.ndim(values) == 0 else np.asfortranarray(values[len(self.held) :])

    def _learned_part(self, posterior: Posterior) -> Posterior:
        names = ("mean", "effective", "parameters", "rates", "explained")
        learned: dict[str, Any] = {name: getattr(posterior, name) for name in names}
        for name, part in learned.items():
            learned[name] = None if part is None else self._learned(part)
        return Posterior(**learned)

    def _joined(self, learned: Posterior, counts: Array) -> Posterior:
        """Return the posterior of all topics; fixed ones have no parameters."""
        n_held = len(self.held)
        whole: dict[str, Any] = {"terms": learned.terms}
        known = {
            "mean": self.held,
            "effective": self.held,
            "parameters": np.nan,
            "rates": np.nan,
            "explained": counts[:n_held],
        }
        for name, held in known.items():
            part = getattr(learned, name)
            if part is not None:
                whole[name] = np.empty((n_held + len(part), part.shape[1]), part.dtype, "F")
                whole[name][:n_held], whole[name][n_held:] = held, part
        if learned.effective is learned.mean:
            whole["effective"] = whole["mean"]
        if learned.scale is not None:
            whole["scale"] = np.append(np.ones(n_held), learned.scale)
        return Posterior(**whole)


@register
@dataclass(frozen=True, eq=False)
class Seeded(Wrapper):
    r"""A point estimate to whose counts some pseudo-counts are added.

    .. math:: \text{term} = -\sum \text{pseudo-counts} \cdot \log(\text{factor})

    is what the pseudo-counts, all explained by their own component, would add to the objective.

    Parameters
    ----------
    prior : Prior
    pseudo_counts : ndarray
        Of the shape of the factor, non-negative.
    """

    prior: Prior
    pseudo_counts: Array = field(repr=False)
    counts_only_parameter: ClassVar[str] = "seeds"

    @property
    def scale_tendency(self) -> str:
        """Seeds reward a larger factor, unless its norm is fixed."""
        return "grows" if self.prior.norm is None else "bounded"

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return what the prior makes of the values, with the term of the seeds."""
        return self._with_term(self.prior.at(values, totals))

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return what the prior makes of counts and seeds together."""
        return self._with_term(self.prior.absorb(self._with_seeds(counts), totals))

    def penalty(self, factor: Array) -> Array:
        """Return the penalty of each row, with the term of its seeds."""
        inner = self.prior.penalty(factor)
        logs = np.log(factor, out=np.zeros_like(factor), where=self.pseudo_counts > 0)
        return np.asarray((0.0 if inner is None else inner) - (self.pseudo_counts * logs).sum(1))

    def slope(self, factor: Array) -> Totals:
        """Return the derivative of the penalty with the term of the seeds."""
        seeds = self.pseudo_counts
        rewards = np.divide(seeds, factor, out=np.zeros_like(factor), where=seeds > 0)
        return np.asarray(self.prior.slope(factor) - rewards)

    def gap(
        self, posterior: Posterior, counts: Array, totals: Totals, copies: Array | None = None
    ) -> float:
        """Return the gap of counts and seeds together."""
        return self.prior.gap(posterior, self._with_seeds(counts), totals)

    def implied_counts(self, posterior: Posterior, mass: Array, totals: Totals) -> Array:
        """Return the prior's counts without the seeds."""
        whole = self.prior.implied_counts(posterior, mass + self.pseudo_counts.sum(axis=1), totals)
        return np.asarray(np.maximum(whole - self.pseudo_counts, 0))  # below zero by rounding only

    def next_to(self, scale_derivative: Totals) -> Self:
        """Return the prior with the seeds in the derivative: at unit norm scale gains nothing."""
        prior: Any = self.prior
        return self.around(prior.next_to(scale_derivative + self.pseudo_counts.sum(axis=1)))

    def _with_seeds(self, counts: Array) -> Array:
        return np.asarray(counts + self.pseudo_counts.astype(counts.dtype))

    def _with_term(self, posterior: Posterior) -> Posterior:
        some = self.pseudo_counts > 0
        with np.errstate(divide="ignore"):  # an impossible seed has an infinite term
            logs = np.log(posterior.effective[some], dtype=np.float64)
        own = np.array([-float(self.pseudo_counts[some] @ logs)])
        terms = own if posterior.terms is None else np.append(posterior.terms, own)
        return replace(posterior, terms=terms)


@register
@dataclass(frozen=True, eq=False)
class Forbidden(Wrapper):
    """A point estimate with some entries that are always zero.

    Parameters
    ----------
    prior : Prior
    forbidden : ndarray of bool
        Of the shape of the factor.
    """

    prior: Prior
    forbidden: Array = field(repr=False)

    def at(self, values: Array, totals: Totals) -> Posterior:
        """Return what the prior makes of the allowed values."""
        return self.prior.at(self._allowed(values.copy("K")), totals)

    def absorb(self, counts: Array, totals: Totals) -> Posterior:
        """Return what the prior makes of the allowed counts."""
        return self.prior.absorb(self._allowed(counts), totals)

    def _allowed(self, values: Array) -> Array:
        values[self.forbidden] = 0
        if self.norm is not None:  # a row of zeros becomes uniform over the allowed entries
            empty = row_sums(values) == 0
            values[empty] = ~self.forbidden[empty]
        return values


def seeded(prior: Prior, pseudo_counts: Array) -> Prior:
    """Return the prior that has seen these counts before the data."""
    if isinstance(prior, Bayesian):
        return prior.seeded(pseudo_counts)
    return Seeded(prior, pseudo_counts)


def forbidding(prior: Prior, forbidden: Array) -> Prior:
    """Return the prior that keeps these entries at zero."""
    if isinstance(prior, Bayesian):
        return prior.forbidding(forbidden)
    return Forbidden(prior, forbidden)
